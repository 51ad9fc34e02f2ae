"""A store of an earlier model of Weft stays readable, and the first write gives it the vectors of this one."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from weft import Node, Weft
from weft.embed.static import static_embedder
from weft.errors import EmbedderMismatch, InvalidInput
from weft.indexing.ingest import IndexingContext
from weft.indexing.reembed import count_waiting_passages, embed_waiting, settle_embedder
from weft.indexing.write import put
from weft.tokens import DEFAULT_ENCODING, counter_for

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COUNT, _ = counter_for(DEFAULT_ENCODING)
LONG = " ".join(f"On day {day} the keeper trimmed the wick and wrote the weather down." for day in range(60))
NODES = [
    Node(key="s:lamp", kind="note", title="Harbour lamp", text=LONG),
    Node(key="s:sea", kind="note", title="The sea", text="Waves rise before a gale."),
    Node(key="s:other", kind="note", title="Elsewhere", text="A field of barley.", tenant="east"),
    Node(
        key="s:trim",
        kind="function",
        title="trim",
        summary="Shorten the wick.",
        text="def trim(wick): wick.cut()",
        language="python",
    ),
    *(
        Node(key=f"s:{number}", kind="note", title=f"Note {number}", text=f"Rope {number}.")
        for number in range(20)
    ),
]


class EarlierModel:
    """The present model with its values in another order: what an earlier table of Weft would give."""

    name = "weft-static-0"
    dimensions = 256
    embeds_snippets = True

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return static_embedder().embed(texts)[:, ::-1]


class ForeignModel(EarlierModel):
    """A model that is not Weft's own."""

    name = "onnx:0123"


def make_store(folder: Path, embed: object, nodes: Sequence[Node] = NODES) -> Path:
    with Weft.open(folder) as weft:
        put(IndexingContext(weft.store, weft.reader.index, embed, COUNT), nodes)  # type: ignore[arg-type]
    return folder


def stored_vectors(folder: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(folder / "weft.sqlite") as connection:
        return connection.execute(
            "SELECT n.tenant_id, n.key, p.ordinal, v.vector, p.snippets FROM passages p JOIN nodes n"
            " ON n.id = p.node_id LEFT JOIN vectors v ON v.passage_id = p.id ORDER BY 1, 2, 3"
        ).fetchall()


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    return make_store(tmp_path / "fresh", static_embedder())


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return make_store(tmp_path / "old", EarlierModel())


def test_a_store_of_an_earlier_model_answers_by_words_and_says_what_to_type(old: Path) -> None:
    with Weft.open(old) as weft:
        page = weft.context("harbour lamp", now=NOW)
        assert "wick" in page.text
        assert [note for note in page.notes if "'weft-static-0'" in note and "`weft reembed`" in note]
        assert weft.search("harbour lamp").candidates[0].node.key == "s:lamp"
        assert weft.status().embedder == "weft-static-0", "asking changes nothing"


def test_the_first_write_embeds_everything_as_a_new_store_would(old: Path, fresh: Path) -> None:
    assert stored_vectors(old) != stored_vectors(fresh)
    with Weft.open(old) as weft:
        weft.put(Node(key="s:new", kind="note", title="New", text="A new rope."))
        weft.delete("s:new")
        assert weft.status().embedder == static_embedder().name
        page = weft.context("harbour lamp", now=NOW)
        assert weft.verify() == ()
    assert stored_vectors(old) == stored_vectors(fresh)
    with Weft.open(fresh) as weft:
        expected = weft.context("harbour lamp", now=NOW)
    assert (page.text, page.notes) == (expected.text, expected.notes)


def test_indexing_embeds_what_its_sources_do_not_bring_as_well(old: Path, tmp_path: Path) -> None:
    (tmp_path / "tide.md").write_text("# Tide\n\nThe tide turns at six.\n", encoding="utf-8")
    stages: dict[str, int] = {}
    with Weft.open(old) as weft:
        weft.index(tmp_path / "tide.md", progress=lambda stage, done, total: stages.update({stage: done}))
        assert weft.status().vectors == weft.status().passages
        assert weft.search("tide").candidates[0].node.title == "Tide"
    assert stages["embedding anew"] > len(NODES)


DYING = """
import os, signal, sys
from weft import Weft
from weft.embed import open_embedder
from weft.indexing.reembed import embed_waiting, settle_embedder

def die(stage, done, total):
    if done >= 10:
        os.kill(os.getpid(), signal.SIGKILL)

with Weft.open(sys.argv[1]) as weft, weft.store.writing():
    settle_embedder(weft.store, open_embedder("static"))
    embed_waiting(weft.store, open_embedder("static"), die, passages_per_batch=5)
"""


def test_a_change_that_was_killed_is_told_and_continued_by_the_next_one(old: Path, fresh: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", DYING, old], check=False)
    assert killed.returncode == -signal.SIGKILL
    with Weft.open(old) as weft:
        waiting = count_waiting_passages(weft.store)
        assert waiting == weft.status().passages - 10 == weft.status().passages - weft.status().vectors
        page = weft.context("harbour lamp", now=NOW)
        assert "wick" in page.text
        assert [note for note in page.notes if f"{waiting} passages wait" in note]
        with Weft.open(old.parent / "copy") as other, pytest.raises(InvalidInput, match="weft reembed"):
            weft.copy_to(other)
        assert weft.reembed() == waiting
        assert weft.reembed() == 0
        assert not [note for note in weft.context("harbour lamp", now=NOW).notes if "wait" in note]
    assert stored_vectors(old) == stored_vectors(fresh)


def test_another_model_is_not_replaced_by_a_write_but_by_the_command(tmp_path: Path, fresh: Path) -> None:
    foreign = make_store(tmp_path / "foreign", ForeignModel())
    with Weft.open(foreign) as weft:
        with pytest.raises(EmbedderMismatch, match="weft reembed"):
            weft.put(Node(key="s:new", kind="note", title="New"))
        assert weft.status().embedder == "onnx:0123"
        weft.reembed()
    assert stored_vectors(foreign) == stored_vectors(fresh)


def test_a_store_without_an_embedder_cannot_be_embedded(old: Path) -> None:
    with Weft.open(old, embedder=None) as weft, pytest.raises(InvalidInput, match="--embedder"):
        weft.reembed()


def test_an_embedder_that_fits_leaves_nothing_to_do(fresh: Path) -> None:
    with Weft.open(fresh) as weft, weft.store.writing():
        sequence = weft.status().sequence
        settle_embedder(weft.store, static_embedder())
        assert embed_waiting(weft.store, static_embedder(), lambda stage, done, total: None) == 0
        assert weft.status().sequence == sequence
