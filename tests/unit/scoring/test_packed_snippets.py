"""Packed snippets: what is packed is unpacked, and vectors of another embedder are not."""

import numpy as np
import pytest

from weft.model import Passage
from weft.ports import PassageRow
from weft.scoring.bm25 import pack
from weft.scoring.similarity import quantise
from weft.scoring.snippets import Snippet, SnippetRow, pack_snippets, snippet_cosines, unpack_snippets, weigh_prose

ROW = PassageRow(7, 1, Passage(0, 10, 90, 1, 4), 12, b"\1\0\0\0", b"\1")


def made(start: int, end: int, terms: list[int], vector: list[float]) -> Snippet:
    hashes, counts, length = pack([], terms)
    return Snippet(start, end, end - start, hashes, counts, length, quantise(np.array([vector]))[0])


def test_what_is_packed_is_unpacked() -> None:
    first, second = made(10, 40, [3, 5, 5], [1.0, 0.0]), made(42, 90, [8], [0.0, 1.0])
    found = unpack_snippets([ROW], {7: pack_snippets([first, second], "static")}, "static")
    assert [(row.passage_id, row.start, row.end, row.tokens, row.length) for row in found.rows] == [
        (7, 10, 40, 30, 3),
        (7, 42, 90, 48, 1),
    ]
    assert [row.term_hashes for row in found.rows] == [first.term_hashes, second.term_hashes]
    assert [row.term_counts for row in found.rows] == [first.term_counts, second.term_counts]
    assert snippet_cosines(found, np.array([1.0, 0.0], dtype=np.float32)).tolist() == [1.0, 0.0]


def test_a_passage_of_one_snippet_is_packed_as_its_tokens() -> None:
    packed = pack_snippets([Snippet(10, 90, 33)], "static")
    assert len(packed) < 30
    (row,) = unpack_snippets([ROW], {7: packed}, "static").rows
    assert (row.start, row.end, row.tokens, row.term_hashes) == (10, 90, 33, ROW.term_hashes)


def test_a_passage_stored_without_snippets_is_one() -> None:
    (row,) = unpack_snippets([ROW], {}, "static").rows
    assert (row.start, row.end, row.tokens) == (10, 90, 0)


def test_vectors_of_another_embedder_are_left_out() -> None:
    packed = pack_snippets([made(10, 40, [3], [1.0, 0.0]), made(42, 90, [8], [0.0, 1.0])], "other")
    found = unpack_snippets([ROW], {7: packed}, "static")
    assert not found.vectors
    assert np.isnan(snippet_cosines(found, np.array([1.0, 0.0], dtype=np.float32))).all()


def test_a_snippet_without_a_known_word_has_a_vector_of_zeros() -> None:
    hashes, counts, length = pack([], [4])
    unknown = Snippet(42, 90, 9, hashes, counts, length)
    packed = pack_snippets([made(10, 40, [3], [1.0, 0.0]), unknown], "static")
    found = unpack_snippets([ROW], {7: packed}, "static")
    assert snippet_cosines(found, np.array([1.0, 0.0], dtype=np.float32)).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "text",
    [
        'The keeper said: "Nine barrels, and not one more." So it was written.',
        "See [the list of barrels](stores/oil.md) and [[Lamp]] before the winter comes and the oil is gone.",
        "| lamp | oil |\n| the harbour lamp | nine barrels of whale oil in winter |",
    ],
)
def test_prose_with_quotations_links_and_tables_counts_in_full(text: str) -> None:
    assert weigh_prose(text, SnippetRow(1, 0, len(text), 0, 0, b"", b"")) > 0.95


def test_data_counts_for_less_than_half() -> None:
    text = '{"lamp": {"oil": "whale", "barrels": [9, 12]}, "keeper": "Maren"},'
    assert weigh_prose(text, SnippetRow(1, 0, len(text), 0, 0, b"", b"")) < 0.5
