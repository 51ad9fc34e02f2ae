"""Packed terms of passages and the one lexical ordering score, computed over exactly what a reader may see."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import xxhash

from weft.ports import PassageRow, TermStatistics

if TYPE_CHECKING:
    from numpy.typing import NDArray


SATURATION: Final = 1.2
LENGTH_NORMALISATION: Final = 0.75
_COUNT_LIMIT: Final = 15
_REMEMBERED_TERMS: Final = 50_000


def term_hash(term: str) -> int:
    """The 32-bit identity of an analysed term, the same in every store."""
    return xxhash.xxh32_intdigest(term.encode("utf-8", "surrogatepass"))


class _Hashes(dict[str, int]):
    """The hash of every term met so far; forgets all when full, which changes no answer."""

    def __missing__(self, term: str) -> int:
        if len(self) >= _REMEMBERED_TERMS:
            self.clear()
        found = self[term] = term_hash(term)
        return found


_HASHES: Final = _Hashes()


def term_hashes(terms: Iterable[str]) -> list[int]:
    """The hashes of many terms in their order."""
    return [*map(_HASHES.__getitem__, terms)]


def pack(title: Sequence[int], body: Sequence[int]) -> tuple[bytes, bytes, int]:
    """Of hashed terms: the sorted hashes, one count byte each (title high, body low), and the length in terms."""
    counts = {each: times if times < _COUNT_LIMIT else _COUNT_LIMIT for each, times in Counter(body).items()}
    for each, times in Counter(title).items():
        counts[each] = counts.get(each, 0) | min(times, _COUNT_LIMIT) << 4
    hashes = sorted(counts)
    packed = np.array(hashes, dtype="<u4").tobytes()
    return packed, bytes(map(counts.__getitem__, hashes)), len(title) + len(body)


def inverse_frequency(statistics: TermStatistics, hashes: Sequence[int]) -> "NDArray[np.float64]":
    """How telling each term is: rare terms of the view weigh more."""
    frequency = np.array([statistics.frequency.get(each, 0) for each in hashes], dtype=np.float64)
    return np.log1p((statistics.passages - frequency + 0.5) / (frequency + 0.5))


def statistics_of(rows: Sequence[PassageRow], hashes: Sequence[int]) -> TermStatistics:
    """The statistics of just these passages."""
    wanted = np.array(sorted(hashes), dtype=np.uint32)
    _, position, _ = _matches(rows, wanted)
    counts = np.bincount(position, minlength=len(wanted)).tolist()
    length = sum(row.length for row in rows) / max(len(rows), 1)
    return TermStatistics(len(rows), length, dict(zip(wanted.tolist(), counts, strict=True)))


def gains(
    rows: Sequence[PassageRow], query: Mapping[int, float], statistics: TermStatistics, title_weight: float
) -> "NDArray[np.float64]":
    """What each term of the query, in ascending order, adds to the BM25 score of each passage."""
    shares = np.zeros((len(rows), len(query)))
    if not rows or not query:
        return shares
    wanted = np.array(sorted(query), dtype=np.uint32)
    weights = inverse_frequency(statistics, wanted.tolist()) * [query[int(each)] for each in wanted]
    owner, position, counts = _matches(rows, wanted)
    frequency = (counts & _COUNT_LIMIT) + title_weight * (counts >> 4)
    lengths = np.array([row.length for row in rows], dtype=np.float64)
    norm = SATURATION * (
        1 - LENGTH_NORMALISATION + LENGTH_NORMALISATION * lengths / max(statistics.mean_length, 1.0)
    )
    shares[owner, position] = weights[position] * frequency * (SATURATION + 1) / (frequency + norm[owner])
    return shares


def _matches(
    rows: Sequence[PassageRow], wanted: "NDArray[np.uint32]"
) -> "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]":
    """(row, place in wanted, packed count) of every wanted term in every row."""
    hashes = np.frombuffer(b"".join([row.term_hashes for row in rows]), dtype="<u4")
    counts = np.frombuffer(b"".join([row.term_counts for row in rows]), dtype=np.uint8)
    owner = np.repeat(np.arange(len(rows)), [len(row.term_counts) for row in rows])
    place = np.minimum(np.searchsorted(wanted, hashes), len(wanted) - 1)
    hit = wanted[place] == hashes
    return owner[hit], place[hit], counts[hit].astype(np.int64)
