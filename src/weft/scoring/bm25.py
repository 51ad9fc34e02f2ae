"""Pack the terms of passages, and score passages by BM25 over exactly the passages that a reader may see."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import xxhash
from msgspec import Struct

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
_LOW_BITS: Final = 0xFFF
"""The bits of a hash that are looked up before the whole: a table of 4 kB, which the processor keeps at hand."""
_CACHED_TERM_HASHES: Final = 50_000
"""Terms whose hash is remembered, a few megabytes: most of the vocabulary of a collection."""


class TermColumns(Struct, frozen=True):
    """The packed terms of some texts, one after the other: of stored passages, or of snippets.

    `hashes` are those of each text's distinct terms, ascending, `counts` has a byte for each of them, `sizes` says
    how many there are of each text, and `lengths` how many terms it has with repetitions.
    """

    hashes: "NDArray[np.uint32]"
    counts: "NDArray[np.uint8]"
    sizes: "NDArray[np.int64]"
    lengths: "NDArray[np.float64]"

    @classmethod
    def of(cls, rows: Sequence[PassageRow]) -> "TermColumns":
        """Return the terms of some passages."""
        return cls(
            np.frombuffer(b"".join([row.term_hashes for row in rows]), dtype="<u4"),
            np.frombuffer(b"".join([row.term_counts for row in rows]), dtype=np.uint8),
            np.array([len(row.term_counts) for row in rows], dtype=np.int64),
            np.array([row.length for row in rows], dtype=np.float64),
        )


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
    # Plain loops: most texts are snippets of some twenty terms, for which making a Counter takes longer.
    counts: dict[int, int] = {}
    for term in body:
        counts[term] = counts.get(term, 0) + 1
    if counts and max(counts.values()) > _MAX_COUNT:
        counts = {term: min(times, _MAX_COUNT) for term, times in counts.items()}
    in_title: dict[int, int] = {}
    for term in title:
        in_title[term] = in_title.get(term, 0) + 1
    for term, times in in_title.items():
        counts[term] = counts.get(term, 0) | min(times, _MAX_COUNT) << _TITLE_SHIFT
    hashes = sorted(counts)
    packed = struct.pack(f"<{len(hashes)}I", *hashes)
    return packed, bytes(map(counts.__getitem__, hashes)), len(title) + len(body)


def inverse_frequency(statistics: TermStatistics, hashes: Sequence[int]) -> "NDArray[np.float64]":
    """Return the weight of each term: terms that are rare in the view weigh more."""
    frequency = np.array([statistics.frequency.get(term, 0) for term in hashes], dtype=np.float64)
    # One is added to the usual quotient, so that a term in most passages never weighs below 0.
    return np.log1p((statistics.passages - frequency + 0.5) / (frequency + 0.5))


def passage_statistics(rows: Sequence[PassageRow], hashes: Sequence[int]) -> TermStatistics:
    """Return the statistics of just these passages."""
    terms = np.array(sorted(hashes), dtype=np.uint32)
    _, column, _ = _matches(TermColumns.of(rows), terms)
    counts = np.bincount(column, minlength=len(terms)).tolist()
    length = sum(row.length for row in rows) / max(len(rows), 1)
    return TermStatistics(len(rows), length, dict(zip(terms.tolist(), counts, strict=True)))


def score_terms(
    texts: TermColumns, query: Mapping[int, float], statistics: TermStatistics, title_weight: float
) -> "NDArray[np.float64]":
    """Return what each term of the query, in ascending order, adds to the BM25 score of each text."""
    scores = np.zeros((len(texts.sizes), len(query)))
    if not len(texts.sizes) or not query:
        return scores
    # Ascending, as the packed hashes are, for binary search; callers rely on this order too.
    terms = np.array(sorted(query), dtype=np.uint32)
    weights = inverse_frequency(statistics, terms.tolist()) * [query[int(term)] for term in terms]
    row, column, counts = _matches(texts, terms)
    frequency = (counts & _MAX_COUNT) + title_weight * (counts >> _TITLE_SHIFT)
    # An empty view has a mean length of 0, by which nothing may be divided.
    norm = SATURATION * (
        1 - LENGTH_NORMALISATION + LENGTH_NORMALISATION * texts.lengths / max(statistics.mean_length, 1.0)
    )
    scores[row, column] = weights[column] * frequency * (SATURATION + 1) / (frequency + norm[row])
    return scores


def _matches(
    texts: TermColumns, terms: "NDArray[np.uint32]"
) -> "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]":
    """Return the text, the index of the term, and the count byte of every one of the terms in every text."""
    # One pass over the terms of all texts at once, because a loop over texts in Python would be slow. Few of them
    # are terms of the query, so that only their lowest bits are looked up at first.
    possible = np.flatnonzero(_low_bits(terms)[texts.hashes & _LOW_BITS])
    hashes = texts.hashes[possible]
    # A hash above all terms would point outside of the array.
    term_index = np.minimum(np.searchsorted(terms, hashes), len(terms) - 1)
    hit = terms[term_index] == hashes
    found = possible[hit]
    row_index = np.searchsorted(np.cumsum(texts.sizes), found, side="right")
    return row_index, term_index[hit], texts.counts[found].astype(np.int64)


def _low_bits(terms: "NDArray[np.uint32]") -> "NDArray[np.bool_]":
    """Return for every value of the lowest bits whether one of the terms ends in it."""
    known = np.zeros(_LOW_BITS + 1, dtype=np.bool_)
    known[terms & _LOW_BITS] = True
    return known
