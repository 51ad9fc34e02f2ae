"""Changes on trial: what was written is read inside, nobody else sees it, and nothing of it stays."""

from pathlib import Path

from weft.model import Edge, Filter, View
from weft.ports import Changes, Store
from weft.store.trial import open_trial
from weft.testing.index_world import OpenIndex, found, write
from weft.testing.index_world import prepared as animal
from weft.testing.store_worlds import OpenStore, prepared, write_edges, write_nodes

VIEW = View(("acme",))


def titles(store: Store) -> list[str]:
    with store.snapshot(VIEW) as snapshot:
        return sorted(row.node.title for row in snapshot.nodes(snapshot.matching_ids(Filter()).tolist()).values())


def test_what_is_tried_is_seen_inside_only_and_is_gone_after(open_store: OpenStore, tmp_path: Path) -> None:
    store, other = open_store(), open_store()
    write_nodes(store, *(prepared(f"s:{name}", tenant="acme", title=name) for name in ("ash", "birch")))
    sequence = store.last_sequence()
    with open_trial(store, None, tmp_path) as opened:  # type: ignore[arg-type]
        write_nodes(opened.store, prepared("s:cedar", tenant="acme", title="cedar"))
        write_edges(opened.store, "m@1", Edge("s:cedar", "s:ash", "near", tenant="acme"))
        opened.store.write(Changes(removes=(("acme", "s:birch"),), units=(("acme", "s", "unit", "stamp"),)))
        assert titles(opened.store) == ["ash", "cedar"]
        assert opened.store.units("acme", "s") == {"unit": "stamp"}
        assert opened.store.last_sequence() > sequence
        for outside in (store, other):
            assert titles(outside) == ["ash", "birch"]
            assert outside.units("acme", "s") == {}
            assert outside.last_sequence() == sequence
    assert titles(store) == titles(other) == ["ash", "birch"]
    write_nodes(store, prepared("s:dogwood", tenant="acme", title="dogwood"))
    assert titles(store) == titles(other) == ["ash", "birch", "dogwood"]
    assert not store.verify()


def test_two_trials_never_share_the_number_of_a_write(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    write_nodes(store, prepared("s:ash", tenant="acme", title="ash"))
    seen = []
    for name in ("elm", "fir"):
        with open_trial(store, None, tmp_path) as opened:  # type: ignore[arg-type]
            write_nodes(opened.store, prepared(f"s:{name}", tenant="acme", title=name))
            assert titles(opened.store) == ["ash", name]
            seen.append(opened.store.last_sequence())
    assert len({*seen, store.last_sequence()}) == 3


def test_a_trial_that_fails_leaves_the_store_as_it_was(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    write_nodes(store, prepared("s:ash", tenant="acme", title="ash"))
    try:
        with open_trial(store, None, tmp_path) as opened:  # type: ignore[arg-type]
            write_nodes(opened.store, prepared("s:elm", tenant="acme", title="elm"))
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    assert titles(store) == ["ash"]
    write_nodes(store, prepared("s:fir", tenant="acme", title="fir"))
    assert titles(store) == ["ash", "fir"]


def test_a_search_finds_what_is_tried_and_the_index_stays_as_it_was(
    world: Store, open_index: OpenIndex, tmp_path: Path
) -> None:
    write(world, animal("a", "red fox"), animal("b", "grey owl"))
    index = open_index()
    index.catch_up(world)
    with open_trial(world, index, tmp_path) as opened:  # type: ignore[arg-type]
        write(opened.store, animal("c", "red elk"), animal("a", "blue fox"))
        assert opened.index.catch_up(opened.store) == opened.store.last_sequence()
        assert found(opened.index, opened.store, "red")[0] == ["c"]
        assert found(index, world, "red")[0] == ["a"]
    assert found(index, world, "red")[0] == ["a"]
    write(world, animal("d", "red hen"))
    index.catch_up(world)
    assert sorted(found(index, world, "red")[0]) == ["a", "d"]
