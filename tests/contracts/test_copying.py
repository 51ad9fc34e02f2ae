"""A copied store prints the same pages, wherever it went; an interrupted copy is gone on with."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_same_pages import QUESTIONS, filled

from backends import Backend, child_process
from weft import Edge, Node, Weft
from weft.api.reader import Reader
from weft.embed import open_embedder
from weft.errors import InvalidInput, StoreError
from weft.history import History
from weft.indexing.copy import CopyResult, copy_store
from weft.model import Alias, AliasSet
from weft.ports import Changes
from weft.store import OpenedStore
from worlds import NOW

Empty = Callable[..., Weft]


def weft_at(engine: Backend, place: str) -> Weft:
    """The store of an engine at a place, opened."""
    store = engine.store(place)
    pair = OpenedStore(store, engine.index(store, place), engine.folder)  # type: ignore[arg-type]
    return Weft(Reader(pair, open_embedder("static"), (), History(engine.folder)))


@pytest.fixture
def empty(backend: Backend) -> Iterator[Empty]:
    """Opens empty stores of the engine under trial, and embedded ones."""
    opened: list[Weft] = []

    def opening(place: str = "copied", embedded: bool = False) -> Weft:
        opened.append(weft_at(Backend("sqlite", backend.folder) if embedded else backend, place))
        return opened[-1]

    yield opening
    for weft in opened:
        weft.close()


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Weft]:
    """An embedded store with everything that a store can hold."""
    weft = filled(Backend("sqlite", tmp_path / "from"), 70)
    weft.share("default", "other")
    weft.put([Node("p:a", "note", title="A\0b")], [Edge("p:a", "world:1", "links", target_tenant="other")])
    given = {"p:a": (Alias("Given", "linker@1", 0.5),)}
    weft.store.write(Changes(aliases=(AliasSet("linker@1", "default", given),)))
    weft.put([], [Edge("p:nowhere", "p:a", "links")])
    yield weft
    weft.close()


def untold(stage: str, done: int, total: int | None) -> None:
    """Ignore the progress."""


def test_a_copy_and_the_copy_of_a_copy_print_the_same_pages(source: Weft, empty: Empty, backend: Backend) -> None:
    there, back = empty(), empty("back", embedded=True)
    first, second = source.copy_to(there), there.copy_to(back)
    assert first == second
    assert first.nodes == source.status().nodes
    for weft in (there, back):
        assert weft.verify() == ()
        assert weft.store.state().units == source.store.state().units
        assert weft.store.shared("default") == ("other",)
        for asked in QUESTIONS[:3]:
            assert weft.context(asked, now=NOW).text == source.context(asked, now=NOW).text
        assert [node.key for node in weft.show("Given")] == ["p:a"]


def copy_by_twenty(source: Weft, target: Weft, progress: Callable[[str, int, int | None], None]) -> CopyResult:
    return copy_store(source.store, target.store, target.reader.index, progress, nodes_per_portion=20)


def test_an_interrupted_copy_goes_on_where_it_stopped(source: Weft, empty: Empty, backend: Backend) -> None:
    def stopping(stage: str, done: int, total: int | None) -> None:
        if done >= 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_by_twenty(source, empty(), stopping)
    result: list[int] = []
    done = copy_by_twenty(source, empty(), lambda stage, count, total: result.append(count))
    assert done.resumed_after > 0
    assert result[0] == 60
    assert source.copy_to(empty()).resumed_after == 0


def die_while_copying(backend: Backend, source: str) -> None:
    """Copy a store portion by portion, and be killed in the middle."""

    def dying(stage: str, done: int, total: int | None) -> None:
        if done >= 40:
            os.kill(os.getpid(), signal.SIGKILL)

    copy_by_twenty(weft_at(Backend("sqlite", Path(source)), "world"), weft_at(backend, "copied"), dying)


def test_a_copy_that_was_killed_goes_on_where_it_stopped_and_holds_everything_in_the_end(
    source: Weft, empty: Empty, backend: Backend, tmp_path: Path
) -> None:
    killed = child_process(die_while_copying, backend, str(tmp_path / "from"))
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    target = empty()
    assert 0 < target.status().nodes < source.status().nodes
    done = source.copy_to(target)
    assert done.resumed_after > 0
    assert done.nodes == target.status().nodes == source.status().nodes
    assert target.verify() == ()
    asked = QUESTIONS[0]
    assert target.context(asked, now=NOW).text == source.context(asked, now=NOW).text


def test_a_store_with_something_else_in_it_is_not_copied_into(source: Weft, empty: Empty) -> None:
    other = empty()
    other.put([Node("q:x", "note", text="already here")])
    with pytest.raises(InvalidInput, match="1 nodes that did not come from this one"):
        source.copy_to(other)
    with pytest.raises(InvalidInput, match="the same one"):
        other.copy_to(other)


def test_a_copy_that_lost_something_is_told(source: Weft, empty: Empty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(source.store), "dangling_edges", lambda store: Changes())
    with pytest.raises(StoreError, match="The copy differs"):
        source.copy_to(empty())
