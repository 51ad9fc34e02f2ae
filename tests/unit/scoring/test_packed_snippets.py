"""Packed snippets: what is packed is unpacked, and vectors of another embedder are not."""

import numpy as np
import pytest

from weft.model import Passage
from weft.ports import PassageRow
from weft.scoring.bm25 import pack
from weft.scoring.similarity import quantise
from weft.scoring.snippets import (
    Snippet,
    pack_snippets,
    snippet_cosines,
    unpack_snippets,
    weigh_imports,
    weigh_prose,
)

ROW = PassageRow(7, 1, Passage(0, 10, 90, 1, 4), 12, b"\1\0\0\0", b"\1")


def made(start: int, end: int, terms: list[int], vector: list[float]) -> Snippet:
    hashes, counts, length = pack([], terms)
    return Snippet(start, end, end - start, hashes, counts, length, quantise(np.array([vector]))[0])


def test_what_is_packed_is_unpacked() -> None:
    first, second = made(10, 40, [3, 5, 5], [1.0, 0.0]), made(42, 90, [8], [0.0, 1.0])
    found = unpack_snippets([ROW], {7: pack_snippets([first, second], "static")}, "static")
    assert (found.passage.tolist(), found.start.tolist(), found.end.tolist()) == ([0, 0], [10, 42], [40, 90])
    assert (found.tokens.tolist(), found.terms.lengths.tolist()) == ([30, 48], [3, 1])
    assert found.terms.hashes.tobytes() == first.term_hashes + second.term_hashes
    assert found.terms.counts.tobytes() == first.term_counts + second.term_counts
    assert found.terms.sizes.tolist() == [2, 1]
    assert snippet_cosines(found, np.array([1.0, 0.0], dtype=np.float32)).tolist() == [1.0, 0.0]


def test_a_passage_of_one_snippet_is_packed_as_its_tokens() -> None:
    packed = pack_snippets([Snippet(10, 90, 33)], "static")
    assert len(packed) < 30
    found = unpack_snippets([ROW], {7: packed}, "static")
    assert (found.start.tolist(), found.end.tolist(), found.tokens.tolist()) == ([10], [90], [33])
    assert found.terms.hashes.tobytes() == ROW.term_hashes


def test_a_passage_stored_without_snippets_is_one() -> None:
    found = unpack_snippets([ROW], {}, "static")
    assert (found.start.tolist(), found.end.tolist(), found.tokens.tolist()) == ([10], [90], [0])


def test_snippets_and_vectors_of_several_passages_stay_with_their_own() -> None:
    other = PassageRow(8, 2, Passage(0, 0, 50, 1, 2), 3, b"\2\0\0\0\4\0\0\0", b"\1\2")
    packed = pack_snippets([made(10, 40, [3], [1.0, 0.0]), made(42, 90, [8, 9], [0.0, 1.0])], "static")
    found = unpack_snippets([other, ROW, other], {7: packed}, "static")
    assert found.passage.tolist() == [0, 1, 1, 2]
    assert found.terms.sizes.tolist() == [2, 1, 2, 2]
    assert found.terms.hashes.tolist() == [2, 4, 3, 8, 9, 2, 4]
    cosines = snippet_cosines(found, np.array([0.0, 1.0], dtype=np.float32))
    assert np.isnan(cosines).tolist() == [True, False, False, True]
    assert cosines[1:3].tolist() == [0.0, 1.0]


def test_no_passages_have_no_snippets() -> None:
    found = unpack_snippets([], {}, "static")
    assert len(found.start) == len(snippet_cosines(found, np.array([1.0], dtype=np.float32))) == 0


def test_vectors_of_another_embedder_are_left_out() -> None:
    packed = pack_snippets([made(10, 40, [3], [1.0, 0.0]), made(42, 90, [8], [0.0, 1.0])], "other")
    found = unpack_snippets([ROW], {7: packed}, "static")
    assert not len(found.vectors)
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
    assert weigh_prose([text])[0] > 0.95


def test_data_counts_for_less_than_half() -> None:
    text = '{"lamp": {"oil": "whale", "barrels": [9, 12]}, "keeper": "Maren"},'
    assert weigh_prose(["Nine barrels of oil.", text, ""]).tolist() == [1.0, pytest.approx(0.3, abs=0.2), 1.0]


@pytest.mark.parametrize(
    "text",
    [
        "[oil]: https://oil.example/barrels\n[rope]: ./rope.md#knots\n",
        ".. _oil: https://oil.example\n.. _rope: https://rope.example",
    ],
)
def test_addresses_of_links_count_less_than_prose(text: str) -> None:
    prose = "Nine barrels of oil stand on the quay, and the rope is dry. See [oil]."
    assert weigh_prose([text])[0] == pytest.approx(0.3, abs=0.05)
    assert weigh_prose([f"{prose}\n\n{text[:34]}"])[0] > 0.7
    assert weigh_prose(["[^1]: A footnote explains what the rope is for."]).tolist() == [1.0]


HEADS = {
    "python": '"""Queue."""\nimport os\nfrom typing import (\n    Final,\n    Any,\n)\n\nfrom shop import now\n',
    "java": """/*
 * Copyright (C) 2008 Some Inc.
 *
 * Licensed under the Apache License, Version 2.0
 */

package shop;

import shop.Order;
import static shop.Tax.of;
""",
    "go": 'package shop\n\nimport (\n\t"fmt"\n\t"net/http"\n)\n',
    "rust": "use std::{\n    fmt,\n    io::Read,\n};\nuse crate::order::Order;\nmod tax;\n",
    "javascript": "'use strict'\n\nvar order = require('./order')\nimport { tax } from './tax'\n",
    "ruby": "# frozen_string_literal: true\n\nrequire_relative 'order'\n",
}


@pytest.mark.parametrize("language", HEADS)
def test_a_head_of_a_file_that_only_imports_counts_little(language: str) -> None:
    assert weigh_imports([HEADS[language]])[0] < 0.7


def test_what_a_file_says_between_its_definitions_counts_whole() -> None:
    texts = [
        "LIMIT = 4096\nWAIT = 0.5\n",
        "module Shop\n  autoload :Order, 'shop/order'\n  autoload :Tax, 'shop/tax'\n",
        "// Orders wait here until somebody takes them.\nconst queue = new Queue(LIMIT)\n",
        "",
    ]
    assert weigh_imports(texts).tolist() == [1.0] * len(texts)


def test_a_head_counts_more_the_more_it_says_besides() -> None:
    head = "import os\nimport sys\n"
    telling = head + "LIMIT = limit_of(os.environ)\n" * 6
    assert weigh_imports([head])[0] < weigh_imports([telling])[0] < 1
