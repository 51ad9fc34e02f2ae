"""Preparing in another process gives what preparing here gives."""

import os
import threading
from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from weft.embed.static import StaticEmbedder, static_embedder
from weft.indexing.prepare import NodePreparer, embed_passages, embedded_text, prepare
from weft.model import Node, Origin, Passage
from weft.ports import Embedder, PreparedNode
from weft.tokens import EncodingCounter

COUNT = EncodingCounter("cl100k_base")
BATCHES = [
    [
        (Node(f"w:{batch}.{place}", "note", text=f"Lamp {place} of pier {batch}.", origin=Origin("w")), "unit")
        for place in range(5)
    ]
    for batch in range(4)
]


class _Locked:
    """An embedder that cannot be pickled for another process."""

    name, dimensions = "locked", 4

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.full((len(texts), 4), 0.5, dtype=np.float32)


@pytest.mark.parametrize("embed", [None, static_embedder(), _Locked()], ids=["none", "static", "unpicklable"])
def test_batches_come_back_in_order_as_prepared_alone(
    embed: Embedder | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    with NodePreparer(embed, COUNT, start_after=0) as preparer:
        waiting = [preparer.submit_nodes(batch) for batch in BATCHES]
        assert [pending() for pending in waiting] == [prepare(batch, embed, COUNT) for batch in BATCHES]


@pytest.mark.parametrize(
    ("language", "imports"),
    [
        ("python", "import os\nfrom weft.model import (\n    Node,\n    Passage,\n)\n"),
        ("go", 'package weft\nimport (\n\t"fmt"\n\t"os"\n)\n'),
        ("rust", "use std::io;\n"),
        ("c", "#include <stdio.h>\n"),
        ("javascript", 'const fs = require("fs");\nimport { tidy } from "./tidy.js";\n'),
    ],
)
def test_the_vector_of_code_is_that_of_the_code_without_its_imports(language: str, imports: str) -> None:
    body = "fit(page)\n"
    node = Node("code:a", "file", title="a", language=language, text=f"{imports}{body}")
    assert embedded_text(node, Passage(0, 0, len(node.text), 1, 9)) == f"a\n{body}"


def test_prose_about_imports_is_embedded_as_it_stands() -> None:
    node = Node("notes:a", "note", title="a", language="markdown", text="import tariffs rise\n")
    assert embedded_text(node, Passage(0, 0, len(node.text), 1, 1)) == "a\nimport tariffs rise\n"


def test_the_vector_of_a_file_is_that_of_the_comment_at_its_head() -> None:
    comment = '"""Enforce the budget of a page: shares and levels of detail decide what is printed."""'
    node = Node("code:a", "file", title="a", language="python", text=f"{comment}\n\nLIMIT = 3\n")
    assert embedded_text(node, Passage(0, 0, len(node.text), 1, 3)) == f"a\n{comment}"


def test_a_licence_at_the_head_of_a_file_says_nothing_about_it() -> None:
    node = Node(
        "code:a",
        "file",
        title="a",
        language="go",
        text="// Copyright 2026 of all who wrote this file, and more\nvar a\n",
    )
    assert embedded_text(node, Passage(0, 0, len(node.text), 1, 2)) == f"a\n{node.text}"


def test_the_vector_of_code_leans_towards_what_its_summary_says() -> None:
    embedder = static_embedder()
    body = "def f(a):\n    return a.hour * 3600 + a.minute * 60"
    nodes = [
        (Node("w:plain", "function", title="f", text=body, language="python"), "unit"),
        (
            Node("w:described", "function", title="f", summary="Seconds of a day.", text=body, language="python"),
            "unit",
        ),
        (Node("w:prose", "note", title="f", summary="Seconds of a day.", text=body), "unit"),
    ]
    asked = embedder.embed(["how many seconds of the day"])[0]
    stored = [np.frombuffer(each.passages[0].vector, dtype=np.int8) for each in prepare(nodes, embedder, COUNT)]
    plain, described, prose = (float(vector @ asked / np.linalg.norm(vector)) for vector in stored)
    assert described > plain + 0.05
    assert prose == plain


SENTENCES = " ".join(
    f"The keeper of lamp {number} writes down how much oil the lamp of the pier burnt in that night."
    for number in range(40)
)
TEXTS = {
    "sentences": SENTENCES,
    "accents and another script": SENTENCES.replace("keeper", "gardien fatigué").replace("pier", "\u6e2f"),
    "a word cut between two snippets": "lamplight" * 200,
    "no blanks between sentences": SENTENCES.replace(". ", "."),
    "blank lines and headings": f"# Lamps\n\n{SENTENCES}\n\n\n## Oil\n\n  {SENTENCES}\n",
    "longer than what is read of a text": "\u6e2f" * 70_000,
}


@pytest.mark.parametrize("text", [*TEXTS.values()], ids=[*TEXTS])
@pytest.mark.parametrize("language", [None, "markdown", "python"])
def test_the_vector_of_a_passage_is_that_of_its_whole_text_however_its_words_are_read(
    text: str, language: str | None
) -> None:
    node = Node("w:1", "note", title="The lamp-lighter’s Book", text=text, language=language)
    prepared = prepare([(node, "unit")], static_embedder(), COUNT)[0]
    passages = [each.passage for each in prepared.passages]
    assert [each.vector for each in prepared.passages] == embed_passages(
        static_embedder(), [(node, each) for each in passages]
    )


def test_the_words_of_prose_are_read_once_for_snippets_and_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    characters: list[int] = []
    tokens = StaticEmbedder._tokens

    def counted(self: StaticEmbedder, text: str) -> list[int]:
        characters.append(len(text))
        return tokens(self, text)

    monkeypatch.setattr(StaticEmbedder, "_tokens", counted)
    prepare([(Node("w:1", "note", title="Lamps", text=SENTENCES), "unit")], static_embedder(), COUNT)
    assert len(SENTENCES) * 0.9 < sum(characters) < len(SENTENCES) * 1.1


def test_every_passage_of_a_note_leans_towards_the_summary_that_its_author_wrote() -> None:
    embedder = static_embedder()
    body = "# Panels\n\n" + "Press the third button.\n" * 60 + "\n# Doors\n\n" + "Turn the key twice.\n" * 60
    plain = Node("w:plain", "note", title="f", text=body, language="markdown")
    described = replace(plain, key="w:described", summary="How to switch the lights off.")
    asked = embedder.embed([described.summary])[0]
    nearness = [
        [float(vector @ asked / np.linalg.norm(vector)) for vector in _vectors(each)]
        for each in prepare([(plain, "unit"), (described, "unit")], embedder, COUNT)
    ]
    assert len(nearness[0]) > 1
    assert all(far + 0.05 < near for far, near in zip(*nearness, strict=True))


def _vectors(node: PreparedNode) -> list[NDArray[np.int8]]:
    return [np.frombuffer(each.vector, dtype=np.int8) for each in node.passages]
