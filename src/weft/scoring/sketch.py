"""Sketch texts by MinHash, so that near-duplicates are found without comparing all pairs, and compare them."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np
import xxhash

if TYPE_CHECKING:
    from numpy.typing import NDArray


_VALUES: Final = 32
"""MinHash values of a sketch, 128 bytes. Two neighbouring values are a band: texts that share none of the sixteen
bands are not compared. Stored with every node, so it can only change together with `PREPARATION`."""
_MAX_COMPARED_CHARACTERS: Final = 4000
"""Characters of two texts that are compared by edit distance, which takes quadratic time."""
_MIN_AGREEING_SHARE: Final = 0.35
"""The share of values in which two sketches agree when their texts are worth comparing. The share estimates how
many word pairs they have in common, so this is far below any similarity that counts as a duplicate."""
_MIN_WORDS_FOR_PAIRS: Final = 16
"""Below this many words single words are compared: one changed word would break too many pairs."""


def _multipliers() -> "tuple[NDArray[np.uint64], NDArray[np.uint64]]":
    """Return the constants of the hash functions, fixed for all time because sketches are stored."""
    words = [xxhash.xxh64_intdigest(f"sketch{index}".encode()) for index in range(2 * _VALUES)]
    return np.array(words[:_VALUES], np.uint64) | np.uint64(1), np.array(words[_VALUES:], np.uint64)


_MULTIPLY, _ADD = _multipliers()


def sketch(words: Sequence[int]) -> bytes:
    """Return MinHash values over a text's hashed words, or pairs of neighbours; empty for a text without words."""
    if not len(words):
        return b""
    hashed = np.array(words, dtype=np.uint64)
    # Pairs keep the order of words: the same words in another order are another text.
    shingles = hashed if len(hashed) < _MIN_WORDS_FOR_PAIRS else (hashed[:-1] << np.uint64(32)) | hashed[1:]
    spread = shingles[:, None] * _MULTIPLY + _ADD
    smallest: bytes = (spread.min(axis=0) >> np.uint64(32)).astype("<u4").tobytes()
    return smallest


def likely_pairs(sketches: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Yield pairs (earlier, later) of indexes whose sketches share a band and agree in enough values."""
    indexes = [index for index, values in enumerate(sketches) if len(values) == 4 * _VALUES]
    values = np.frombuffer(b"".join([sketches[index] for index in indexes]), dtype="<u4").reshape(-1, _VALUES)
    pairs = _pairs_sharing_a_band(values)
    agreeing = (values[pairs[:, 0]] == values[pairs[:, 1]]).mean(axis=1) >= _MIN_AGREEING_SHARE
    for earlier, later in pairs[agreeing].tolist():
        yield indexes[earlier], indexes[later]


def _pairs_sharing_a_band(values: "NDArray[np.uint32]") -> "NDArray[np.int64]":
    """Return pairs of rows with an equal band, by the later row, then the earlier."""
    # Two 32-bit values read as one 64-bit number are a band; sorting its column brings equal ones together.
    bands = np.ascontiguousarray(values).view("<u8")
    order = bands.argsort(axis=0, kind="stable")
    ranked = np.take_along_axis(bands, order, axis=0)
    rank, band = np.nonzero(ranked[1:] == ranked[:-1])
    runs: dict[tuple[int, int], list[int]] = {}
    equal = (band, ranked[rank, band], order[rank, band], order[rank + 1, band])
    for band_index, value, first, second in zip(*(column.tolist() for column in equal), strict=True):
        runs.setdefault((band_index, value), [first]).append(second)
    found = {pair for run in runs.values() for pair in combinations(run, 2)}
    ordered = sorted(found, key=lambda pair: (pair[1], pair[0]))
    return np.array(ordered, dtype=np.int64).reshape(-1, 2)


def similarity(left: str, right: str) -> float:
    """Return how alike two texts are, 0..1, by edit distance over folded words (long texts by their beginning)."""
    from rapidfuzz import fuzz

    return fuzz.ratio(_comparable(left), _comparable(right)) / 100.0


def _comparable(text: str) -> str:
    # Cut twice: the first keeps folding a long text cheap, the second comes after runs of blanks are gone.
    folded = text[: 2 * _MAX_COMPARED_CHARACTERS].casefold()
    return " ".join(folded.split())[:_MAX_COMPARED_CHARACTERS]
