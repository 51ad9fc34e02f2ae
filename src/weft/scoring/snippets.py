"""Pack the snippets of a passage into a few bytes when it is stored, and unpack them for many passages at once.

A packed passage is a header and a row a snippet (where it begins and ends in the node's text, its tokens, length
and number of terms), then the terms of all snippets, the counts of these, and the vectors. A passage of one
snippet is packed as its tokens alone: all else is known of the passage itself.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import xxhash
from msgspec import Struct

from weft.ports import PassageRow

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEADER: Final = struct.Struct("<HHI")
"""Number of snippets, dimensions of their vectors, and the embedder that made these."""
_ROW: Final = struct.Struct("<IIIHH")
"""Start, end, tokens, length in terms, and number of distinct terms of one snippet."""
_MAX_SHORT: Final = 65_535

_DATA_MARKS: Final = b'{}[]"<>=;$'
_PROSE_MARKS: Final = 0.08
"""The share of such marks among the characters that prose with quotations and links has too."""
_DATA_STEP: Final = 4.0
"""How much less a snippet counts by its share of marks beyond that: JSON, with a quarter of marks, counts a third.
Of 0, 2 and 4, the last answered most questions about documents, in both halves of the judged sets."""
_MIN_DATA_FACTOR: Final = 0.3


class Snippet(Struct, frozen=True):
    """One snippet before it is packed; hashes, counts and vector are as those of a passage."""

    start: int
    end: int
    tokens: int
    term_hashes: bytes = b""
    term_counts: bytes = b""
    length: int = 0
    vector: bytes = b""


class SnippetRow(Struct, frozen=True):
    """One stored snippet with the values that scoring needs; `passage_id` is that of the passage it stands in."""

    passage_id: int
    start: int
    end: int
    tokens: int
    length: int
    term_hashes: bytes
    term_counts: bytes


class SnippetColumns(Struct, frozen=True):
    """The snippets of some passages in reading order, and the vectors of those that have one."""

    rows: tuple[SnippetRow, ...]
    vectors: Mapping[int, bytes]
    """Int8 vectors by the index of the row."""


def embedder_mark(name: str) -> int:
    """Return a number by which vectors of one embedder are told from those of another."""
    return xxhash.xxh32_intdigest(name.encode())


def pack_snippets(snippets: Sequence[Snippet], embedder: str = "") -> bytes:
    """Return the snippets of one passage as bytes."""
    dimensions = max((len(snippet.vector) for snippet in snippets), default=0)
    # One vector width for all: a snippet without a known word has a vector of zeros.
    vectors = b"".join([snippet.vector.ljust(dimensions, b"\0") for snippet in snippets])
    rows = b"".join([
        _ROW.pack(
            snippet.start,
            snippet.end,
            snippet.tokens,
            min(snippet.length, _MAX_SHORT),
            min(len(snippet.term_counts), _MAX_SHORT),
        )
        for snippet in snippets
    ])  # fmt: skip
    hashes = b"".join([snippet.term_hashes for snippet in snippets])
    counts = b"".join([snippet.term_counts for snippet in snippets])
    mark = embedder_mark(embedder) if dimensions else 0
    return _HEADER.pack(len(snippets), dimensions, mark) + rows + hashes + counts + vectors


def snippet_spans(stored: bytes) -> list[tuple[int, int]]:
    """Return where the snippets of a packed passage begin and end in its node's text; none if it has only one."""
    number = _HEADER.unpack_from(stored)[0] if stored else 0
    if number < 2:
        return []
    rows = stored[_HEADER.size : _HEADER.size + number * _ROW.size]
    return [(start, end) for start, end, *_ in _ROW.iter_unpack(rows)]


def replace_vectors(stored: bytes, vectors: Sequence[bytes], embedder: str) -> bytes:
    """Return a packed passage of several snippets with other vectors of these."""
    number = _HEADER.unpack_from(stored)[0]
    at = _HEADER.size + number * _ROW.size
    # Five bytes a term: four of its hash and one of its count.
    end = at + 5 * sum(row[4] for row in _ROW.iter_unpack(stored[_HEADER.size : at]))
    dimensions = max(map(len, vectors), default=0)
    header = _HEADER.pack(number, dimensions, embedder_mark(embedder) if dimensions else 0)
    return header + stored[_HEADER.size : end] + b"".join([vector.ljust(dimensions, b"\0") for vector in vectors])


def unpack_snippets(
    passages: Sequence[PassageRow], packed: Mapping[int, bytes], embedder: str | None
) -> SnippetColumns:
    """Return the snippets of the passages; vectors of another embedder than this one are left out.

    A passage that is stored without snippets is one snippet.
    """
    mark = embedder_mark(embedder) if embedder is not None else -1
    rows: list[SnippetRow] = []
    vectors: dict[int, bytes] = {}
    for passage in passages:
        stored = packed.get(passage.id, b"")
        if len(stored) <= _HEADER.size + _ROW.size:
            rows.append(_whole_passage(passage, stored))
            continue
        number, dimensions, made_by = _HEADER.unpack_from(stored)
        at = _HEADER.size + number * _ROW.size
        table = list(_ROW.iter_unpack(stored[_HEADER.size : at]))
        terms = sum(row[4] for row in table)
        counts_at = at + 4 * terms
        vectors_at = counts_at + terms
        first = 0
        for index, (start, end, tokens, length, own) in enumerate(table):
            if dimensions and made_by == mark:
                low = vectors_at + index * dimensions
                vectors[len(rows)] = stored[low : low + dimensions]
            rows.append(
                SnippetRow(
                    passage.id,
                    start,
                    end,
                    tokens,
                    length,
                    stored[at + 4 * first : at + 4 * (first + own)],
                    stored[counts_at + first : counts_at + first + own],
                )
            )
            first += own
    return SnippetColumns(tuple(rows), vectors)


def _whole_passage(passage: PassageRow, stored: bytes) -> SnippetRow:
    """Return a passage as its only snippet; its tokens are 0 where they were not counted when it was stored."""
    tokens = _ROW.unpack_from(stored, _HEADER.size)[2] if len(stored) == _HEADER.size + _ROW.size else 0
    span = passage.passage
    return SnippetRow(
        passage.id, span.start, span.end, tokens, passage.length, passage.term_hashes, passage.term_counts
    )


def snippet_cosines(columns: SnippetColumns, query: "NDArray[np.float32]") -> "NDArray[np.float64]":
    """Return the cosine of each snippet with the query; NaN for those without a vector of their own."""
    cosines = np.full(len(columns.rows), np.nan)
    known = [index for index, vector in columns.vectors.items() if len(vector) == len(query)]
    if known:
        matrix = np.frombuffer(b"".join([columns.vectors[index] for index in known]), dtype=np.int8)
        wide = matrix.reshape(len(known), len(query)).astype(np.float32)
        lengths = np.linalg.norm(wide, axis=1)
        # Rounded, so that the order of addition on another machine does not show.
        cosines[known] = np.round((wide @ query) / np.where(lengths > 0, lengths, 1.0), 6)
    return cosines


def share_of_best(scores: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return scores as shares of the highest one."""
    top = scores.max(initial=0.0)
    return scores / top if top > 0 else scores


def stretch(cosines: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return cosines on a scale from the lowest to the highest: they all lie close together."""
    low, high = cosines.min(initial=1.0), cosines.max(initial=-1.0)
    return (cosines - low) / (high - low) if high > low else np.ones(len(cosines))


def weigh_prose(text: str, row: SnippetRow) -> float:
    """Return the factor for a snippet of a document: below 1 for data and markup, which repeat names and explain
    nothing."""
    written = text[row.start : row.end].encode("utf-8", "replace")
    marks = len(written) - len(written.translate(None, _DATA_MARKS))
    share = marks / max(len(written) - written.count(b" ") - written.count(b"\n"), 1)
    return max(1 - _DATA_STEP * max(share - _PROSE_MARKS, 0.0), _MIN_DATA_FACTOR)
