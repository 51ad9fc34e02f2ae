"""A small fingerprint of a text, from which near-duplicates are found without comparing all pairs."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import xxhash

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VALUES: Final = 32
_ROWS_PER_BAND: Final = 2
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
    shingles = np.unique(hashed if len(hashed) < _SHORT else (hashed[:-1] << np.uint64(32)) | hashed[1:])
    spread = shingles[:, None] * _MULTIPLY + _ADD
    smallest: bytes = (spread.min(axis=0) >> np.uint64(32)).astype("<u4").tobytes()
    return smallest


def likely_pairs(sketches: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Pairs (earlier, later) of places whose sketches share a band and agree in enough values."""
    values = [np.frombuffer(each, dtype="<u4") for each in sketches]
    bands: dict[tuple[int, bytes], list[int]] = {}
    width = 4 * _ROWS_PER_BAND
    for place, each in enumerate(sketches):
        near: set[int] = set()
        for start in range(0, len(each), width):
            members = bands.setdefault((start, each[start : start + width]), [])
            near.update(members)
            members.append(place)
        for other in sorted(near):
            if float(np.mean(values[other] == values[place])) >= _LIKELY:
                yield other, place


def similarity(left: str, right: str) -> float:
    """How alike two texts are, 0..1, by edit distance over folded words (long texts by their beginning)."""
    from rapidfuzz import fuzz

    return fuzz.ratio(_plain(left), _plain(right)) / 100.0


def _plain(text: str) -> str:
    return " ".join(text[: 2 * _COMPARED].casefold().split())[:_COMPARED]
