"""Every store shows and hides by tenants, points in the sequence, and filters."""

from datetime import UTC, datetime

import pytest

from weft.model import Edge, Filter, View
from weft.ports import Store
from weft.testing.store_worlds import id_of, neighbours, passage, prepared, write_edges, write_nodes

# --- tenants -------------------------------------------------------------------------------------------


@pytest.fixture
def two_tenants(store: Store) -> Store:
    """Tenants a and b, each with keys `same` and its own; b links into a, which it declares shared."""
    store.share("b", ["a"])
    for tenant in "ab":
        write_nodes(
            store,
            prepared(
                "s:same", passage([1, 2]), tenant=tenant, title="Same", kind=f"kind-{tenant}", tags=(tenant,)
            ),
            prepared(f"s:{tenant}", passage([2]), tenant=tenant, title=f"Only {tenant}"),
        )
        write_edges(store, f"m-{tenant}@1", Edge("s:same", f"s:{tenant}", f"type-{tenant}", tenant=tenant))
    write_edges(store, "cross@1", Edge("s:b", "s:same", "crosses", 2.0, tenant="b", target_tenant="a"))
    return store


def test_a_reader_finds_only_its_own_tenant(two_tenants: Store) -> None:
    everything = [id_of(two_tenants, name, tenant) for name, tenant in (("s:same", "b"), ("s:b", "b"))]
    with two_tenants.snapshot(View(("a",))) as snapshot:
        found = snapshot.find(["Same", "s:same", "s:b", "Only b", *map(str, everything)])
        assert found == {name: (id_of(two_tenants, "s:same", "a"),) for name in ("Same", "s:same")}
        assert snapshot.nodes(everything) == {}
        assert snapshot.passages_of_nodes(everything) == []
        assert snapshot.adjacency(everything, 5).owner.tolist() == []
        assert snapshot.edges(everything) == []
        assert snapshot.changes_since(0, 100).changed_nodes == tuple(
            id_of(two_tenants, name, "a") for name in ("s:same", "s:a")
        )
        assert len(snapshot.matching_ids(Filter())) == 2
        assert len(snapshot.matching_ids(Filter(tags=("b",)))) == 0


def test_passages_of_another_tenant_are_not_read_by_id(two_tenants: Store) -> None:
    with two_tenants.snapshot_of_all_tenants() as snapshot:
        every = [passage.id for passage in snapshot.changes_since(0, 100).passages]
    with two_tenants.snapshot(View(("a",))) as snapshot:
        assert len(every) == 4
        assert len(snapshot.passages(every)) == 2


def test_links_and_degrees_count_only_what_the_view_holds(two_tenants: Store) -> None:
    alone, both = View(("a",)), View(("a", "b"))
    assert neighbours(two_tenants, "s:a", alone) == [("s:same", "type-a", 0)]
    with two_tenants.snapshot(alone) as snapshot:
        same = id_of(two_tenants, "s:same", "a")
        near = snapshot.adjacency([same], 5)
        assert dict(near.degree) == {same: 1}
        assert near.edge_types == ("type-a",)
        assert near.kinds == ("note",)
    with two_tenants.snapshot(both) as snapshot:
        near = snapshot.adjacency([same], 5)
        assert dict(near.degree) == {same: 2}
        assert [near.edge_types[number] for number in near.edge_type] == ["crosses", "type-a"]
        edge = snapshot.edges([same])[0][2]
        assert (edge.tenant, edge.target_tenant) == ("b", "a")


def test_a_link_into_a_tenant_that_is_not_shared_leads_nowhere_until_it_is(two_tenants: Store) -> None:
    write_edges(two_tenants, "cross@1", Edge("s:a", "s:b", "sneaks", tenant="a", target_tenant="b"))
    both = View(("a", "b"))
    assert ("s:b", "sneaks", 1) not in neighbours(two_tenants, "s:a", both)
    two_tenants.share("a", ["b", "a", "c"])
    assert two_tenants.shared("a") == ("b", "c")
    assert ("s:b", "sneaks", 1) in neighbours(two_tenants, "s:a", both)
    assert ("s:a", "sneaks", 0) in neighbours(two_tenants, "s:b", both)
    two_tenants.share("a", [])
    assert ("s:b", "sneaks", 1) not in neighbours(two_tenants, "s:a", both)
    assert two_tenants.shared("a") == ()


def test_statistics_and_status_count_only_the_view(two_tenants: Store) -> None:
    with two_tenants.snapshot(View(("a",))) as snapshot:
        assert dict(snapshot.statistics([1, 2, 3]).frequency) == {1: 1, 2: 2}
    status = two_tenants.status(View(("a",)))
    assert (status.nodes, status.passages, status.edges) == (2, 2, 1)
    assert (status.by_tenant, status.by_kind) == ({"a": 2}, {"kind-a": 1, "note": 1})
    assert (status.by_edge_type, status.by_source) == ({"type-a": 1}, {"notes": 2})
    assert two_tenants.status().edges == 3


def test_an_empty_view_sees_nothing(two_tenants: Store) -> None:
    with two_tenants.snapshot(View(())) as snapshot:
        assert snapshot.find(["Same", "1"]) == {}
        assert snapshot.nodes([1, 2, 3, 4]) == {}
        assert len(snapshot.matching_ids(Filter())) == 0
        assert snapshot.statistics([1, 2]).passages == 0
        assert snapshot.changes_since(0, 10).changed_nodes == ()


# --- as of ---------------------------------------------------------------------------------------------


@pytest.fixture
def story(store: Store) -> Store:
    """A hero from the start, a twist in chapter 5 that is known from chapter 9, an undated note."""
    write_nodes(
        store,
        prepared("s:hero", passage([1]), sequence=1, kind="person", tags=("t",)),
        prepared("s:twist", passage([1, 2]), sequence=5, known_from=9, tags=("t",)),
        prepared("s:flashback", passage([3]), sequence=20, known_from=2, tags=("t",)),
        prepared("s:undated", passage([1]), tags=("t",)),
    )
    write_edges(store, "m@1", *(Edge("s:hero", f"s:{name}", "x") for name in ("twist", "flashback", "undated")))
    return store


@pytest.mark.parametrize(
    ("as_of", "known"), [(0, []), (1, ["hero"]), (5, ["flashback", "hero"]), (9, ["flashback", "hero", "twist"])]
)
def test_a_view_as_of_a_point_sees_only_what_is_known_by_then(story: Store, as_of: int, known: list[str]) -> None:
    view = View(as_of=as_of)
    names = ["s:hero", "s:twist", "s:flashback", "s:undated"]
    ids = [id_of(story, name) for name in names]
    with story.snapshot(view) as snapshot:
        assert sorted(snapshot.find(names)) == [f"s:{name}" for name in known]
        assert sorted(row.node.key for row in snapshot.nodes(ids).values()) == [f"s:{name}" for name in known]
        assert len(snapshot.passages_of_nodes(ids)) == len(known)
        assert len(snapshot.matching_ids(Filter(tags=("t",)))) == len(known)
        assert len(snapshot.changes_since(0, 10).passages) == len(known)
        assert sum(snapshot.adjacency(ids, 9).degree.values()) == max(0, 2 * (len(known) - 1))
        assert len(snapshot.edges(ids)) == max(0, len(known) - 1)
        assert snapshot.statistics([1]).passages == len(known)
    assert story.status(view).nodes == len(known)


def test_statistics_as_of_a_point_follow_later_writes(story: Store) -> None:
    with story.snapshot(View(as_of=1)) as snapshot:
        assert dict(snapshot.statistics([1, 2]).frequency) == {1: 1}
    write_nodes(story, prepared("s:new", passage([1, 2]), sequence=0))
    with story.snapshot(View(as_of=1)) as snapshot:
        assert dict(snapshot.statistics([1, 2]).frequency) == {1: 2, 2: 1}


# --- filters -------------------------------------------------------------------------------------------


def test_filters_ask_for_kind_tag_source_field_time_and_sequence(store: Store) -> None:
    write_nodes(
        store,
        prepared(
            "s:a", kind="x", tags=("p", "q"), source="one", sequence=1, created=datetime(2024, 1, 1, tzinfo=UTC)
        ),
        prepared(
            "s:b", kind="y", tags=("q",), source="two", sequence=2, fields={"n": 3, "ok": True, "s": "v" * 80}
        ),
        prepared("s:c", kind="y", source="two", modified=datetime(2025, 1, 1, tzinfo=UTC), fields={"n": "3"}),
    )
    keys = {id_of(store, f"s:{name}"): name for name in "abc"}
    cases = {
        "abc": Filter(),
        "a": Filter(kinds=("x",)),
        "ab": Filter(tags=("q",)),
        "abc ": Filter(kinds=("x", "y")),
        "b": Filter(tags=("q",), sources=("two", "none")),
        "a   ": Filter(tags=("p", "q")),
        "bc": Filter(where=(("n", "3"),)),
        "b ": Filter(where=(("n", "3"), ("ok", "true"))),
        "b  ": Filter(where=(("s", "v" * 80),)),
        "c": Filter(since=datetime(2024, 6, 1, tzinfo=UTC)),
        "a ": Filter(until=datetime(2024, 6, 1, tzinfo=UTC)),
        "b   ": Filter(sequence_from=2),
        "a  ": Filter(sequence_to=1, tags=("q",)),
        "": Filter(kinds=("none",)),
    }
    with store.snapshot(View()) as snapshot:
        for expected, wanted in cases.items():
            assert "".join(keys[number] for number in snapshot.matching_ids(wanted).tolist()) == expected.strip()
