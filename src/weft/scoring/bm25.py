"""Pack the terms of passages, and score passages by BM25 over exactly the passages that a reader may see."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import xxhash

from weft.ports import PassageRow, TermStatistics

if TYPE_CHECKING:
    from numpy.typing import NDArray


SATURATION: Final = 1.2
"""BM25's k1, at its usual value: how slowly further occurrences of a term stop adding to the score."""
LENGTH_NORMALISATION: Final = 0.75
"""BM25's b, at its usual value: how much long passages are held against, from 0 (not) to 1 (in proportion)."""
_MAX_COUNT: Final = 15
"""The highest count that is kept of a term: four bits. Saturation makes further occurrences worth next to
nothing."""
_TITLE_SHIFT: Final = 4
"""A count byte has the title's count in its high four bits and the body's in the low ones."""
_CACHED_TERM_HASHES: Final = 50_000
"""Terms whose hash is remembered, a few megabytes: most of the vocabulary of a collection."""


class TermRow(Protocol):
    """Anything with packed terms: a stored passage, or a snippet of one."""

    @property
    def length(self) -> int:
        """The number of its terms."""
        ...

    @property
    def term_hashes(self) -> bytes:
        """The hashes of its distinct terms, ascending."""
        ...

    @property
    def term_counts(self) -> bytes:
        """A count byte for each of them."""
        ...


def term_hash(term: str) -> int:
    """Return the 32-bit identity of an analysed term, the same in every store."""
    return xxhash.xxh32_intdigest(term.encode("utf-8", "surrogatepass"))


class _HashCache(dict[str, int]):
    """The hash of every term met so far; it is emptied when full, which changes no answer."""

    def __missing__(self, term: str) -> int:
        if len(self) >= _CACHED_TERM_HASHES:
            self.clear()
        hashed = self[term] = term_hash(term)
        return hashed


_HASHES: Final = _HashCache()


def term_hashes(terms: Iterable[str]) -> list[int]:
    """Return the hashes of many terms in their order."""
    # A dict subclass and `map` keep this loop out of Python: it runs over every term that is indexed.
    return [*map(_HASHES.__getitem__, terms)]


def pack(title: Sequence[int], body: Sequence[int]) -> tuple[bytes, bytes, int]:
    """Return the sorted hashes of some hashed terms, a count byte for each, and their number in all."""
    # Without `min`, which is a call for each term of everything that is indexed.
    counts = {term: times if times < _MAX_COUNT else _MAX_COUNT for term, times in Counter(body).items()}
    for term, times in Counter(title).items():
        counts[term] = counts.get(term, 0) | min(times, _MAX_COUNT) << _TITLE_SHIFT
    hashes = sorted(counts)
    packed = np.array(hashes, dtype="<u4").tobytes()
    return packed, bytes(map(counts.__getitem__, hashes)), len(title) + len(body)


def inverse_frequency(statistics: TermStatistics, hashes: Sequence[int]) -> "NDArray[np.float64]":
    """Return the weight of each term: terms that are rare in the view weigh more."""
    frequency = np.array([statistics.frequency.get(term, 0) for term in hashes], dtype=np.float64)
    # One is added to the usual quotient, so that a term in most passages never weighs below 0.
    return np.log1p((statistics.passages - frequency + 0.5) / (frequency + 0.5))


def passage_statistics(rows: Sequence[PassageRow], hashes: Sequence[int]) -> TermStatistics:
    """Return the statistics of just these passages."""
    terms = np.array(sorted(hashes), dtype=np.uint32)
    _, column, _ = _matches(rows, terms)
    counts = np.bincount(column, minlength=len(terms)).tolist()
    length = sum(row.length for row in rows) / max(len(rows), 1)
    return TermStatistics(len(rows), length, dict(zip(terms.tolist(), counts, strict=True)))


def score_terms(
    rows: Sequence[TermRow], query: Mapping[int, float], statistics: TermStatistics, title_weight: float
) -> "NDArray[np.float64]":
    """Return what each term of the query, in ascending order, adds to the BM25 score of each passage."""
    scores = np.zeros((len(rows), len(query)))
    if not rows or not query:
        return scores
    # Ascending, as the packed hashes are, for binary search; callers rely on this order too.
    terms = np.array(sorted(query), dtype=np.uint32)
    weights = inverse_frequency(statistics, terms.tolist()) * [query[int(term)] for term in terms]
    row, column, counts = _matches(rows, terms)
    frequency = (counts & _MAX_COUNT) + title_weight * (counts >> _TITLE_SHIFT)
    lengths = np.array([passage.length for passage in rows], dtype=np.float64)
    # An empty view has a mean length of 0, by which nothing may be divided.
    norm = SATURATION * (
        1 - LENGTH_NORMALISATION + LENGTH_NORMALISATION * lengths / max(statistics.mean_length, 1.0)
    )
    scores[row, column] = weights[column] * frequency * (SATURATION + 1) / (frequency + norm[row])
    return scores


def _matches(
    rows: Sequence[TermRow], terms: "NDArray[np.uint32]"
) -> "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]":
    """Return the row, the index of the term, and the count byte of every one of the terms in every row."""
    # One pass over the terms of all rows at once, because a loop over rows in Python would be slow.
    hashes = np.frombuffer(b"".join([row.term_hashes for row in rows]), dtype="<u4")
    counts = np.frombuffer(b"".join([row.term_counts for row in rows]), dtype=np.uint8)
    row_index = np.repeat(np.arange(len(rows)), [len(row.term_counts) for row in rows])
    # A hash above all terms would point outside of the array.
    term_index = np.minimum(np.searchsorted(terms, hashes), len(terms) - 1)
    hit = terms[term_index] == hashes
    return row_index[hit], term_index[hit], counts[hit].astype(np.int64)
