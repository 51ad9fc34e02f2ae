"""Rows are read once between two writes, and never seen by those who may not see them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from weft.indexing.prepare import prepare
from weft.model import Edge, EdgeSet, Node, View
from weft.ports import Changes
from weft.runtime.cache import CachedRows
from weft.store import SqliteStore
from weft.store.sqlite.snapshot import SqliteSnapshot
from weft.tokens import counter_for

COUNT, _ = counter_for("cl100k_base")
HERE = View(("default",))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / ".weft")
    yield store
    store.close()


def put(store: SqliteStore, *nodes: Node) -> None:
    store.write(Changes(upserts=prepare([(node, "") for node in nodes], None, COUNT)))


def texts(store: SqliteStore, keys: Sequence[str], view: View = HERE) -> list[str]:
    with store.snapshot(view) as snapshot:
        ids = [each for found in snapshot.find(keys).values() for each in found]
        return [row.node.text for row in snapshot.nodes(ids).values()]


def test_rows_are_the_same_objects_until_the_store_changes(store: SqliteStore) -> None:
    put(store, Node("a:1", "note", text="one"))
    with store.snapshot(HERE) as first, store.snapshot(HERE) as second:
        assert first.nodes([1])[1] is second.nodes([1])[1]
        assert first.passages_of_nodes([1])[0] is second.passages_of_nodes([1])[0]
        assert first.passages([1])[0] is second.passages([1])[0]


def test_a_changed_node_is_read_anew(store: SqliteStore) -> None:
    put(store, Node("a:1", "note", text="one"))
    assert texts(store, ["a:1"]) == ["one"]
    put(store, Node("a:1", "note", text="two"))
    assert texts(store, ["a:1"]) == ["two"]


def test_a_snapshot_goes_on_to_see_what_it_saw_while_others_read_what_is_new(store: SqliteStore) -> None:
    put(store, Node("a:1", "note", text="one"))
    with store.snapshot(HERE) as before:
        put(store, Node("a:1", "note", text="two"))
        assert texts(store, ["a:1"]) == ["two"]
        assert [row.node.text for row in before.nodes([1]).values()] == ["one"]


def test_what_one_view_has_read_stays_unseen_by_another(store: SqliteStore) -> None:
    put(store, Node("a:1", "note", "ours", text="one"))
    assert texts(store, ["a:1"], View(("ours",))) == ["one"]
    with store.snapshot(View(("theirs",))) as other:
        assert not other.nodes([1])
        assert not other.passages_of_nodes([1])


def test_rows_come_in_the_order_asked_with_absent_ones_left_out(store: SqliteStore) -> None:
    put(store, *(Node(f"a:{each}", "note", text=str(each)) for each in (1, 2, 3)))
    with store.snapshot(HERE) as snapshot:
        snapshot.nodes([2])
        assert list(snapshot.nodes([3, 9, 2, 1])) == [3, 2, 1]
        assert [row.node_id for row in snapshot.passages_of_nodes([3, 9, 1])] == [3, 1]


def test_the_links_of_a_hub_are_read_once_and_again_when_they_change(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, *(Node(f"a:{each}", "note") for each in range(300)))
    edges = tuple(Edge("a:0", f"a:{each}", "names", each / 300) for each in range(1, 300))
    store.write(Changes(edges=(EdgeSet("m@1", "default", edges),)))
    read: list[object] = []
    arcs = SqliteSnapshot._read_arcs
    monkeypatch.setattr(SqliteSnapshot, "_read_arcs", lambda *given: read.append(given) or arcs(*given))

    def neighbours() -> list[int]:
        with store.snapshot(HERE) as snapshot:
            return snapshot.adjacency([1], 280).neighbour.tolist()

    assert neighbours() == neighbours() == [*range(300, 20, -1)]
    assert len(read) == 1
    store.write(Changes(edges=(EdgeSet("m@1", "default", edges[:-1]),)))
    assert neighbours() == [*range(299, 19, -1)]
    assert len(read) == 2


def test_reading_through_everything_keeps_nothing() -> None:
    cache = CachedRows[str](4_000, 1_000)
    assert len(cache.get_rows(range(5_000), lambda asked: {each: str(each) for each in asked})) == 5_000
    assert not cache


def test_what_is_kept_stays_below_a_limit() -> None:
    cache = CachedRows[str](4_000, 1_000)
    for start in range(0, 20_000, 500):
        asked = range(start, start + 500)
        assert cache.get_rows(asked, lambda missing: {each: str(each) for each in missing})[start] == str(start)
    assert len(cache) <= 4_000
