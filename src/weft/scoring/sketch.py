"""A small fingerprint of a text, from which near-duplicates are found without comparing all pairs."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np
import xxhash

if TYPE_CHECKING:
    from numpy.typing import NDArray


_VALUES: Final = 32
"""Two neighbouring values are a band: texts that share none of the sixteen are not compared."""
_COMPARED: Final = 4000
_LIKELY: Final = 0.35
_SHORT: Final = 16
"""Below this many words single words are compared: one changed word would break too many pairs."""


def _multipliers() -> "tuple[NDArray[np.uint64], NDArray[np.uint64]]":
    words = [xxhash.xxh64_intdigest(f"sketch{place}".encode()) for place in range(2 * _VALUES)]
    return np.array(words[:_VALUES], np.uint64) | np.uint64(1), np.array(words[_VALUES:], np.uint64)


_MULTIPLY, _ADD = _multipliers()


def sketch(words: Sequence[int]) -> bytes:
    """MinHash values over a text's hashed words, or pairs of neighbours; empty for a text without words."""
    if not len(words):
        return b""
    hashed = np.array(words, dtype=np.uint64)
    shingles = hashed if len(hashed) < _SHORT else (hashed[:-1] << np.uint64(32)) | hashed[1:]
    spread = shingles[:, None] * _MULTIPLY + _ADD
    smallest: bytes = (spread.min(axis=0) >> np.uint64(32)).astype("<u4").tobytes()
    return smallest


def likely_pairs(sketches: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Pairs (earlier, later) of places whose sketches share a band and agree in enough values."""
    places = [place for place, each in enumerate(sketches) if len(each) == 4 * _VALUES]
    values = np.frombuffer(b"".join([sketches[place] for place in places]), dtype="<u4").reshape(-1, _VALUES)
    pairs = _sharing_a_band(values)
    agreeing = (values[pairs[:, 0]] == values[pairs[:, 1]]).mean(axis=1) >= _LIKELY
    for earlier, later in pairs[agreeing].tolist():
        yield places[earlier], places[later]


def _sharing_a_band(values: "NDArray[np.uint32]") -> "NDArray[np.int64]":
    """Pairs of rows with an equal band, by the later row, then the earlier."""
    bands = np.ascontiguousarray(values).view("<u8")
    order = bands.argsort(axis=0, kind="stable")
    ranked = np.take_along_axis(bands, order, axis=0)
    at, band = np.nonzero(ranked[1:] == ranked[:-1])
    runs: dict[tuple[int, int], list[int]] = {}
    equal = (band, ranked[at, band], order[at, band], order[at + 1, band])
    for place, value, first, second in zip(*(column.tolist() for column in equal), strict=True):
        runs.setdefault((place, value), [first]).append(second)
    found = {pair for run in runs.values() for pair in combinations(run, 2)}
    ordered = sorted(found, key=lambda pair: (pair[1], pair[0]))
    return np.array(ordered, dtype=np.int64).reshape(-1, 2)


def similarity(left: str, right: str) -> float:
    """How alike two texts are, 0..1, by edit distance over folded words (long texts by their beginning)."""
    from rapidfuzz import fuzz

    return fuzz.ratio(_plain(left), _plain(right)) / 100.0


def _plain(text: str) -> str:
    return " ".join(text[: 2 * _COMPARED].casefold().split())[:_COMPARED]
