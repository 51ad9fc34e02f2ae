"""Pack the snippets of a passage into a few bytes when it is stored, and unpack them for many passages at once.

A packed passage is a header and a row a snippet (where it begins and ends in the node's text, its tokens, length
and number of terms), then the terms of all snippets, the counts of these, and the vectors. A passage of one
snippet is packed as its tokens alone: all else is known of the passage itself.
"""

import re
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import xxhash
from msgspec import Struct

from weft.ports import PassageRow
from weft.scoring.bm25 import TermColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCORE_DECIMALS: Final = 6
"""Decimals of a snippet's score, so that the last bits of a sum decide nothing."""
_HEADER: Final = struct.Struct("<HHI")
"""Number of snippets, dimensions of their vectors, and the embedder that made these."""
_ROW: Final = struct.Struct("<IIIHH")
"""Start, end, tokens, length in terms, and number of distinct terms of one snippet."""
_COLUMNS: Final = np.dtype(
    [("start", "<u4"), ("end", "<u4"), ("tokens", "<u4"), ("length", "<u2"), ("terms", "<u2")]
)
"""The same rows as columns."""
_MAX_SHORT: Final = 65_535

_DATA_MARKS: Final = b'{}[]"<>=;$'
_PROSE_MARKS: Final = 0.08
"""The share of such marks among the characters that prose with quotations and links has too."""
_DATA_STEP: Final = 4.0
"""How much less a snippet counts by its share of marks beyond that: JSON, with a quarter of marks, counts a third.
Of 0, 2 and 4, the last answered most questions about documents, in both halves of the judged sets."""
_MIN_DATA_FACTOR: Final = 0.3

_IMPORT_LINE: Final = re.compile(
    r"\s*(?:(?:pub )?use [\w{:]|(?:static )?import\b|from \S+ import\b|#\s*include\b|using [\w.= ]+;"
    r"|package [\w.]+;?$|require(?:_relative)?\b|extern crate\b|(?:pub )?mod \w+;|alias [A-Z]\w*\."
    r"|(?:const|let|var) [\w{}, ]+ = require\(|['\"]use strict|export [*{][^=]* from\b|# frozen_string_literal)"
)
_ADDRESSES: Final = re.compile(
    r"(?:^[ \t]*(?:\[(?!\^)[^\[\]\n]+\]|\.\.[ ]_[^:\n]+):[ \t]+<?(?:[\w.#/-]+/|#|\w+:)\S*[^\n]*(?:\n|\Z))+",
    re.MULTILINE,
)
"""Lines that only give the addresses of links which stand elsewhere."""
_LEGAL_LINE: Final = re.compile(
    r"(?i)\W*(?:copyright\b|licen[cs]ed under|SPDX-|(?:you may )?not use this file|you may obtain a copy"
    r"|https?://\S*license|unless required by applicable|distributed (?:under|on an)|without warranties"
    r"|see the license|limitations under|all rights reserved|permission is hereby)"
)
_FRAME_LINE: Final = re.compile(r"""\s*(?:[\w\s.:*"'/{}()-]{1,60},|"[\w./-]+"|\W*)\s*\Z""")
"""A line that may go on a list of imports, or only opens or closes something: it counts neither way."""
_MIN_IMPORT_FACTOR: Final = 0.5
"""How much of its match the head of a file keeps that only imports: it repeats names and says nothing about them.
At 0.3 two of 128 questions for a file lost it on a page of 500 tokens, at 0.65 one of 54 lost its answer."""

_HEADING: Final = re.compile(r"\s*#{1,6}[ \t]")
"""The beginning of a snippet that opens with a heading in Markdown."""
_NO_TEXT: Final = re.compile(r"\s*")
_HEADING_CHARACTERS: Final = 40
"""Characters of a snippet in which a heading must begin."""
_MAX_HEADINGS: Final = 40
"""Snippets, best first, that are looked at for headings; those behind them are seldom printed."""
_BELOW_HEADING_SHARE: Final = 0.8
"""How much of the lead of a snippet with a heading the next one gets. Of 74 questions about documents, one fewer
has its answer on 1,000 tokens with 0.5, and none more with 1."""

_MARK, _BLANK, _OTHER = range(3)
_CLASSES: Final = bytes(
    _MARK if byte in _DATA_MARKS else _BLANK if byte in b" \n" else _OTHER for byte in range(256)
)
"""The class of every byte, for `bytes.translate`."""


class Snippet(Struct, frozen=True):
    """One snippet before it is packed; hashes, counts and vector are as those of a passage."""

    start: int
    end: int
    tokens: int
    term_hashes: bytes = b""
    term_counts: bytes = b""
    length: int = 0
    vector: bytes = b""


class SnippetColumns(Struct, frozen=True):
    """The snippets of some passages in reading order, as parallel columns.

    `passage` is the index of a snippet's passage. `vectors` are those of the snippets in `with_vector`, by index.
    """

    passage: "NDArray[np.int64]"
    start: "NDArray[np.int64]"
    end: "NDArray[np.int64]"
    tokens: "NDArray[np.int64]"
    terms: TermColumns
    with_vector: "NDArray[np.int64]"
    vectors: "NDArray[np.int8]"


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
    sizes: list[int] = []
    tables: list[bytes] = []
    hashes: list[bytes] = []
    counts: list[bytes] = []
    vectors: dict[int, bytes] = {}
    # Cut out by passage; what the snippets of a passage have is told apart for all passages at once.
    for index, passage in enumerate(passages):
        stored = packed.get(passage.id, b"")
        if len(stored) <= _HEADER.size + _ROW.size:
            sizes.append(1)
            tables.append(_whole_passage(passage, stored))
            hashes.append(passage.term_hashes)
            counts.append(passage.term_counts)
            continue
        number, dimensions, made_by = _HEADER.unpack_from(stored)
        at = _HEADER.size + number * _ROW.size
        vectors_at = len(stored) - number * dimensions
        # Five bytes a term: four of its hash and one of its count.
        counts_at = vectors_at - (vectors_at - at) // 5
        sizes.append(number)
        tables.append(stored[_HEADER.size : at])
        hashes.append(stored[at:counts_at])
        counts.append(stored[counts_at:vectors_at])
        if dimensions and made_by == mark:
            vectors[index] = stored[vectors_at:]
    table = np.frombuffer(b"".join(tables), dtype=_COLUMNS)
    own_terms = TermColumns(
        np.frombuffer(b"".join(hashes), dtype="<u4"),
        np.frombuffer(b"".join(counts), dtype=np.uint8),
        table["terms"].astype(np.int64),
        table["length"].astype(np.float64),
    )
    start, end, tokens = (table[name].astype(np.int64) for name in ("start", "end", "tokens"))
    passage_index = np.repeat(np.arange(len(passages)), sizes)
    return SnippetColumns(passage_index, start, end, tokens, own_terms, *_stack_vectors(vectors, sizes))


def _whole_passage(passage: PassageRow, stored: bytes) -> bytes:
    """Return the row of a passage as its only snippet; without tokens where they were not counted."""
    tokens = _ROW.unpack_from(stored, _HEADER.size)[2] if len(stored) == _HEADER.size + _ROW.size else 0
    span, terms = passage.passage, len(passage.term_counts)
    return _ROW.pack(span.start, span.end, tokens, min(passage.length, _MAX_SHORT), min(terms, _MAX_SHORT))


def _stack_vectors(
    vectors: Mapping[int, bytes], sizes: Sequence[int]
) -> "tuple[NDArray[np.int64], NDArray[np.int8]]":
    """Return the snippets that have a vector, and the vectors, one a row; `vectors` are by passage."""
    if not vectors:
        return np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int8)
    is_known = np.zeros(len(sizes), dtype=np.bool_)
    is_known[list(vectors)] = True
    known = np.flatnonzero(np.repeat(is_known, sizes))
    return known, np.frombuffer(b"".join(vectors.values()), dtype=np.int8).reshape(len(known), -1)


def snippet_cosines(columns: SnippetColumns, query: "NDArray[np.float32]") -> "NDArray[np.float64]":
    """Return the cosine of each snippet with the query; NaN for those without a vector of their own."""
    cosines = np.full(len(columns.start), np.nan)
    if columns.vectors.shape[1] == len(query):
        wide = columns.vectors.astype(np.float32)
        lengths = np.sqrt(np.vecdot(wide, wide))
        # Not by `@`, whose threads wait for each other longer than one of them needs; and rounded, so that the
        # order of addition on another machine does not show.
        cosines[columns.with_vector] = np.round(np.vecdot(wide, query) / np.where(lengths > 0, lengths, 1.0), 6)
    return cosines


def share_of_best(scores: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return scores as shares of the highest one."""
    top = scores.max(initial=0.0)
    return scores / top if top > 0 else scores


def stretch(cosines: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return cosines on a scale from the lowest to the highest: they all lie close together."""
    low, high = cosines.min(initial=1.0), cosines.max(initial=-1.0)
    return (cosines - low) / (high - low) if high > low else np.ones(len(cosines))


def raise_below_headings(
    scores: "NDArray[np.float64]", texts: Sequence[str], owner: "NDArray[np.int64]", columns: SnippetColumns
) -> "NDArray[np.float64]":
    """Return the scores, with more for the snippet that goes on below the heading of one of the best.

    What a heading names is told below it, often in words of its own. `owner` is the index of each snippet's text;
    an empty text has no headings.
    """
    raised = scores.copy()
    for index in np.argsort(-scores, kind="stable")[:_MAX_HEADINGS].tolist():
        following, text = index + 1, texts[owner[index]]
        if not text or following == len(scores) or owner[following] != owner[index]:
            continue
        begins, ends, goes_on = int(columns.start[index]), int(columns.end[index]), int(columns.start[following])
        if (
            _HEADING.match(text, begins, begins + _HEADING_CHARACTERS)
            and not _HEADING.match(text, goes_on, goes_on + _HEADING_CHARACTERS)
            and _NO_TEXT.fullmatch(text, ends, goes_on)
        ):
            lead = max(float(scores[index] - scores[following]), 0.0)
            raised[following] = max(raised[following], scores[following] + _BELOW_HEADING_SHARE * lead)
    return raised


def weigh_prose(snippets: Sequence[str]) -> "NDArray[np.float64]":
    """Return the factor for each snippet of a document: below 1 for data and markup, which repeat names and
    explain nothing; 1 for an empty one."""
    written = [snippet.encode("utf-8", "replace") for snippet in snippets]
    ends = np.cumsum([len(snippet) for snippet in written], dtype=np.int64)
    classes = np.frombuffer(b"".join(written).translate(_CLASSES), dtype=np.uint8)
    marks, blanks = (_count_by_run(classes == number, ends) for number in (_MARK, _BLANK))
    share = marks / np.maximum(np.diff(ends, prepend=0) - blanks, 1)
    factors = np.maximum(1 - _DATA_STEP * np.maximum(share - _PROSE_MARKS, 0.0), _MIN_DATA_FACTOR)
    addresses = np.array(
        [_share_of_addresses(snippet) if "]: " in snippet or ".. _" in snippet else 0.0 for snippet in snippets]
    )
    return np.minimum(factors, 1 - (1 - _MIN_DATA_FACTOR) * addresses)


def _share_of_addresses(snippet: str) -> float:
    """Return the share of a snippet, by characters, that only gives addresses of links."""
    return sum(len(found.group()) for found in _ADDRESSES.finditer(snippet)) / max(len(snippet), 1)


def weigh_imports(snippets: Sequence[str]) -> "NDArray[np.float64]":
    """Return the factor for each snippet of code: below 1 by the share of lines that import or are a licence."""
    # Most pages show no head of a file, and then all snippets that come here are empty.
    return np.array([_import_factor(snippet) if snippet else 1.0 for snippet in snippets], dtype=np.float64)


def _import_factor(snippet: str) -> float:
    lines = [line for line in snippet.split("\n") if line.strip()]
    idle = sum(1 for line in lines if _IMPORT_LINE.match(line) or _LEGAL_LINE.match(line))
    if not idle:
        return 1.0
    telling = sum(
        1 for line in lines if not (_FRAME_LINE.match(line) or _IMPORT_LINE.match(line) or _LEGAL_LINE.match(line))
    )
    return 1 - (1 - _MIN_IMPORT_FACTOR) * idle / (idle + telling)


def _count_by_run(is_counted: "NDArray[np.bool_]", ends: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Return how many are counted in each of the runs that end there."""
    return np.diff(np.searchsorted(np.flatnonzero(is_counted), ends), prepend=0)
