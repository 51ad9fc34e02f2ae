"""Every store keeps edges and neighbours as its contract says."""

import pytest

from weft.errors import InvalidInput
from weft.model import Edge, EdgeSet, View
from weft.ports import Changes, Store
from weft.store.records import stable_tag
from weft.testing.store_worlds import degree, id_of, neighbours, prepared, write_edges, write_nodes

# --- edges ---------------------------------------------------------------------------------------------


def test_a_dangling_edge_leads_somewhere_once_its_end_exists_and_no_longer_when_it_goes(store: Store) -> None:
    write_nodes(store, prepared("notes:a"))
    write_edges(store, "notes@1", Edge("notes:a", "notes:b", "links"))
    assert neighbours(store, "notes:a") == []
    write_nodes(store, prepared("notes:b"))
    assert neighbours(store, "notes:a") == [("notes:b", "links", 1)]
    assert neighbours(store, "notes:b") == [("notes:a", "links", 0)]
    store.write(Changes(removes=(("default", "notes:b"),)))
    assert neighbours(store, "notes:a") == []
    write_nodes(store, prepared("notes:b"))
    assert neighbours(store, "notes:a") == [("notes:b", "links", 1)]


def test_edges_written_before_both_of_their_nodes_appear_with_them(store: Store) -> None:
    write_edges(store, "m@1", Edge("notes:a", "notes:b", "links"), Edge("notes:a", "notes:a", "self"))
    write_nodes(store, prepared("notes:b"), prepared("notes:a"))
    assert neighbours(store, "notes:a") == [("notes:b", "links", 1), ("notes:a", "self", 1)]
    assert degree(store, "notes:a") == 2


def test_relinking_replaces_only_what_its_own_maker_drew_in_scope(store: Store) -> None:
    write_nodes(store, *(prepared(f"notes:{name}") for name in "abc"))
    write_edges(store, "one@1", Edge("notes:a", "notes:b", "x"), Edge("notes:b", "notes:c", "x"))
    write_edges(store, "two@1", Edge("notes:a", "notes:b", "y"))
    write_edges(store, "one@1", Edge("notes:a", "notes:c", "x"), scope=("notes:a",))
    assert neighbours(store, "notes:a") == [("notes:c", "x", 1), ("notes:b", "y", 1)]
    assert sorted(neighbours(store, "notes:c")) == [("notes:a", "x", 0), ("notes:b", "x", 0)]
    store.write(Changes(edges=(EdgeSet("one@1", "default", ()),)))
    assert neighbours(store, "notes:a") == [("notes:b", "y", 1)]
    assert neighbours(store, "notes:c") == []


def test_the_same_edges_again_change_nothing(store: Store) -> None:
    write_nodes(store, prepared("notes:a"), prepared("notes:b"))
    edge = Edge("notes:a", "notes:b", "x", 0.5, 0.9, "said so")
    sequence = write_edges(store, "one@1", edge)
    assert write_edges(store, "one@1", edge) == sequence
    assert write_edges(store, "one@1", Edge("notes:a", "notes:b", "x", 0.5, 0.9, "otherwise")) == sequence + 1


def test_neighbours_come_strongest_first_with_ties_by_type_tag_and_direction(store: Store) -> None:
    names = ["notes:hub", *(f"notes:{number}" for number in range(6))]
    write_nodes(store, *(prepared(name) for name in names))
    write_edges(
        store,
        "m@1",
        Edge("notes:hub", "notes:0", "z", 0.5),
        Edge("notes:hub", "notes:1", "a", 0.5),
        Edge("notes:2", "notes:hub", "a", 0.9),
        *(Edge("notes:hub", f"notes:{number}", "m", 0.5) for number in (3, 4, 5)),
    )
    tied = sorted((f"notes:{number}" for number in (3, 4, 5)), key=lambda key: stable_tag("default", key))
    expected = ["notes:2", "notes:1", *tied, "notes:0"]
    assert [key for key, _, _ in neighbours(store, "notes:hub")] == expected
    assert [key for key, _, _ in neighbours(store, "notes:hub", fan_out=2)] == expected[:2]
    assert [key for key, _, _ in neighbours(store, "notes:hub", fan_out=1000)] == expected
    assert degree(store, "notes:hub") == 6


def test_owners_come_in_the_order_asked_with_exact_columns(store: Store) -> None:
    write_nodes(store, prepared("notes:a", kind="person"), prepared("notes:b", kind="place"), prepared("notes:c"))
    write_edges(store, "m@1", Edge("notes:a", "notes:b", "near", 0.25))
    first, second, alone = (id_of(store, f"notes:{name}") for name in "abc")
    with store.snapshot(View()) as snapshot:
        near = snapshot.adjacency([alone, second, first, second, 99], 5)
    assert near.owner.tolist() == [second, first]
    assert near.neighbour.tolist() == [first, second]
    assert near.tag.tolist() == [stable_tag("default", "notes:a"), stable_tag("default", "notes:b")]
    assert near.weight.tolist() == [0.25, 0.25]
    assert near.outward.tolist() == [0, 1]
    assert [near.kinds[number] for number in near.kind] == ["person", "place"]
    assert dict(near.degree) == {first: 1, second: 1}


def test_a_hub_keeps_an_exact_degree_and_its_strongest_edges_as_edges_come_and_go(store: Store) -> None:
    write_nodes(store, prepared("notes:hub"), *(prepared(f"notes:{number}") for number in range(300)))
    for start in range(0, 300, 60):
        part = range(start, start + 60)
        edges = tuple(Edge(f"notes:{number}", "notes:hub", "in", number / 300) for number in part)
        write_edges(store, "m@1", *edges, scope=tuple(edge.source for edge in edges))
    assert degree(store, "notes:hub") == 300
    assert neighbours(store, "notes:hub", fan_out=2) == [("notes:299", "in", 0), ("notes:298", "in", 0)]
    assert len(neighbours(store, "notes:hub", fan_out=400)) == 300
    store.write(Changes(removes=(("default", "notes:299"),)))
    write_edges(store, "m@1", Edge("notes:298", "notes:hub", "in", 0.0), scope=("notes:298",))
    assert degree(store, "notes:hub") == 299
    assert neighbours(store, "notes:hub", fan_out=2) == [("notes:297", "in", 0), ("notes:296", "in", 0)]
    assert neighbours(store, "notes:hub", fan_out=256) == neighbours(store, "notes:hub", fan_out=257)[:256]


def test_a_neighbour_that_changes_its_kind_is_seen_with_the_new_one(store: Store) -> None:
    write_nodes(store, prepared("notes:a"), prepared("notes:b", kind="old"))
    write_edges(store, "m@1", Edge("notes:a", "notes:b", "x"))
    write_nodes(store, prepared("notes:b", kind="new"))
    with store.snapshot(View()) as snapshot:
        assert snapshot.adjacency([id_of(store, "notes:a")], 5).kinds == ("new",)


def test_full_edges_tell_weight_confidence_and_evidence_strongest_first(store: Store) -> None:
    write_nodes(store, *(prepared(f"notes:{name}") for name in "abc"))
    weak = Edge("notes:a", "notes:b", "x", 0.2, 0.7, "page 3")
    strong = Edge("notes:c", "notes:a", "x", 0.8)
    write_edges(store, "m@1", weak, strong, Edge("notes:b", "notes:c", "x"))
    first, second, third = (id_of(store, f"notes:{name}") for name in "abc")
    with store.snapshot(View()) as snapshot:
        assert snapshot.edges([first]) == [(third, first, strong), (first, second, weak)]
        assert snapshot.edges([first, second, third], limit=1)[0][2].weight == 1.0
        assert len(snapshot.edges([first, second, third])) == 3


def test_an_edge_that_disagrees_with_its_set_or_has_no_number_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInput, match="tenant"):
        store.write(Changes(edges=(EdgeSet("m@1", "a", (Edge("x", "y", "t", tenant="b"),)),)))
    with pytest.raises(InvalidInput, match="finite"):
        write_edges(store, "m@1", Edge("x", "y", "t", float("nan")))
