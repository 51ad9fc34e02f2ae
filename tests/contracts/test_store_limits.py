"""Every store bears texts, lists and numbers at the edge of what is allowed."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from weft.errors import InvalidInput
from weft.model import Alias, Edge, Filter, View
from weft.ports import Changes, NodeRow, Store
from weft.testing.store_worlds import degree, id_of, neighbours, passage, prepared, write_edges, write_nodes

MANY = 3000
KEPT: dict[str, dict[str, Any]] = {
    "a text of a megabyte": {"text": "word " * 200_000},
    "a title of 100,000 characters": {"title": "é" * 100_000},
    "a summary of 100,000 characters": {"summary": "摘" * 100_000},
    "thousands of tags": {"tags": tuple(f"tag {n}" for n in range(MANY))},
    "a tag of 20,000 characters": {"tags": ("t" * 20_000,)},
    "hundreds of fields": {"fields": {f"field {n}": n for n in range(500)}},
    "a field of 20,000 characters": {"fields": {"f" * 20_000: "v" * 20_000}},
    "fields within fields": {"fields": {"a": [[[[[[{"b": [1]}]]]]]]}},
    "hundreds of aliases": {"aliases": tuple(Alias(f"alias {n:03}", "m@1") for n in range(500))},
    "an alias of 20,000 characters": {"aliases": (Alias("a" * 20_000, "m@1"),)},
    "the largest numbers": {"sequence": (1 << 63) - 1, "known_from": (1 << 63) - 1, "importance": 1.7e308},
    "the smallest numbers": {"sequence": -(1 << 63), "known_from": -(1 << 63), "importance": 5e-324},
    "the first and the last moment": {
        "created": datetime(1, 1, 1, tzinfo=UTC),
        "modified": datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    },
    "a kind of 20,000 characters": {"kind": "k" * 20_000},
    "nothing at all": {"title": "", "text": "", "summary": "", "tags": (), "fields": {}},
}


def only_node(store: Store, view: View | None = None) -> NodeRow:
    """The one node that a view sees."""
    with store.snapshot(view or View()) as snapshot:
        (row,) = snapshot.nodes(snapshot.matching_ids(Filter()).tolist()).values()
    return row


@pytest.mark.parametrize("values", KEPT.values(), ids=KEPT.keys())
def test_what_is_large_is_kept_whole(store: Store, values: dict[str, Any]) -> None:
    write_nodes(store, prepared("s:a", **values))
    node = only_node(store).node
    assert {name: getattr(node, name) for name in values} == values
    assert store.verify() == ()


REFUSED: dict[str, dict[str, Any]] = {
    "a sequence beyond 64 bits": {"sequence": 1 << 63},
    "a place to be known from beyond 64 bits": {"known_from": -(1 << 63) - 1},
    "an importance that is no number": {"importance": float("nan")},
    "a field that is no JSON": {"fields": {"a": object()}},
    "a whole number that JSON does not carry": {"fields": {"a": 1 << 64}},
    "half of a character in a key": {"key": "s:\ud800"},
    "half of a character in a title": {"title": "\udfff"},
    "half of a character in a tag": {"tags": ("\ud800",)},
    "half of a character in a kind": {"kind": "\ud800"},
    "half of a character in a tenant": {"tenant": "\ud800"},
    "half of a character in an alias": {"aliases": (Alias("\ud800", "m@1"),)},
}


@pytest.mark.parametrize("values", REFUSED.values(), ids=REFUSED.keys())
def test_what_no_store_can_keep_is_refused_and_nothing_is_written(store: Store, values: dict[str, Any]) -> None:
    given = {"key": "s:bad", **values}
    with pytest.raises(InvalidInput):
        write_nodes(store, prepared("s:good"), prepared(given.pop("key"), **given))
    assert store.status().nodes == store.status().sequence == 0
    assert write_nodes(store, prepared("s:good")) == 1


@pytest.mark.parametrize("length", [255, 256, 2000, 3000, 8192, 70_000])
def test_a_key_of_any_length_is_found_and_linked(store: Store, length: int) -> None:
    long, longer = "s:" + "k" * length, "s:" + "k" * length + "!"
    write_nodes(store, prepared(long), prepared(longer))
    write_edges(store, "m@1", Edge(long, longer, "next"))
    assert neighbours(store, long) == [(longer, "next", 1)]
    assert store.hashes("default", [long]).keys() == {long}
    store.write(Changes(removes=(("default", long),)))
    assert only_node(store).node.key == longer


@pytest.mark.parametrize("length", [255, 2000, 8192, 70_000])
def test_a_tenant_of_any_length_is_told_from_one_that_begins_like_it(store: Store, length: int) -> None:
    long, longer = "t" * length, "t" * length + "!"
    write_nodes(store, prepared("s:a", tenant=long), prepared("s:b", tenant=longer))
    assert [only_node(store, View((tenant,))).node.key for tenant in (long, longer)] == ["s:a", "s:b"]


def test_a_node_may_have_thousands_of_passages(store: Store) -> None:
    write_nodes(store, prepared("s:a", *(passage([n], n) for n in range(MANY))))
    with store.snapshot(View()) as snapshot:
        rows = snapshot.passages_of_nodes([id_of(store, "s:a")])
        assert [row.passage.ordinal for row in rows] == list(range(MANY))
        assert snapshot.statistics([0, MANY - 1, MANY]).frequency == {0: 1, MANY - 1: 1}


def test_a_passage_may_hold_tens_of_thousands_of_terms(store: Store) -> None:
    terms = range(1 << 31, (1 << 31) + 50_000)
    write_nodes(store, prepared("s:a", passage(terms)))
    with store.snapshot(View()) as snapshot:
        (row,) = snapshot.passages_of_nodes([id_of(store, "s:a")])
        assert np.frombuffer(row.term_hashes, "<u4").tolist() == list(terms)
        assert len(snapshot.statistics(terms).frequency) == 50_000


@pytest.mark.parametrize("dimensions", [1, 2, 2000, 4000, 5000])
def test_vectors_may_have_any_width(store: Store, dimensions: int) -> None:
    store.remember_embedder("wide@1", dimensions)
    write_nodes(store, prepared("s:a", passage([1], vector=b"\x7f" * dimensions)))
    with store.snapshot(View()) as snapshot:
        (row,) = snapshot.passages_of_nodes([id_of(store, "s:a")])
        vector = snapshot.vectors([row.id])
    assert vector.shape == (1, dimensions)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


def test_a_hub_may_have_thousands_of_neighbours(store: Store) -> None:
    write_nodes(store, *(prepared(f"s:{n}") for n in range(MANY + 1)))
    write_edges(store, "m@1", *(Edge("s:0", f"s:{n}", "next", float(n)) for n in range(1, MANY + 1)))
    assert degree(store, "s:0") == MANY
    assert neighbours(store, "s:0", fan_out=2) == [(f"s:{MANY}", "next", 1), (f"s:{MANY - 1}", "next", 1)]
    assert len(neighbours(store, "s:0", fan_out=MANY)) == MANY


def test_lists_of_tens_of_thousands_may_be_asked_for(store: Store) -> None:
    write_nodes(store, prepared("s:a"), prepared("s:b"))
    ids = [id_of(store, "s:b"), *range(1000, 70_000), id_of(store, "s:a")]
    with store.snapshot(View()) as snapshot:
        assert [row.node.key for row in snapshot.nodes(ids).values()] == ["s:b", "s:a"]
        assert len(snapshot.passages(ids)) == len(snapshot.passages_of_nodes(ids)) == 2
        assert snapshot.vectors(ids).shape[0] == len(ids)
        assert len(snapshot.statistics(range(70_000)).frequency) == 1
        assert snapshot.edges(ids) == snapshot.adjacency(ids, 3).owner.tolist() == []
        assert set(snapshot.find([f"s:{n}" for n in range(MANY)] + ["s:a"])) == {"s:a"}
    assert set(store.hashes("default", [f"s:{n}" for n in range(MANY)] + ["s:a"])) == {"s:a"}


def test_a_reader_may_see_thousands_of_tenants(store: Store) -> None:
    write_nodes(store, *(prepared("s:a", tenant=f"t{n}") for n in range(MANY)))
    with store.snapshot(View(tuple(f"t{n}" for n in range(MANY)))) as snapshot:
        assert len(snapshot.matching_ids(Filter())) == len(snapshot.find(["s:a"])["s:a"]) == MANY
        assert snapshot.statistics([1]).frequency == {1: MANY}


def test_a_filter_may_name_thousands_of_kinds(store: Store) -> None:
    write_nodes(store, *(prepared(f"s:{n}", kind=f"k{n}") for n in range(3)))
    with store.snapshot(View()) as snapshot:
        assert len(snapshot.matching_ids(Filter(kinds=tuple(f"k{n}" for n in range(MANY))))) == 3


@pytest.mark.parametrize("weight", [0.0, 5e-324, 3e38])
def test_an_edge_may_weigh_anything_that_a_list_of_neighbours_can_hold(store: Store, weight: float) -> None:
    write_nodes(store, prepared("s:a"), prepared("s:b"))
    write_edges(store, "m@1", Edge("s:a", "s:b", "next", weight, evidence="e" * 20_000))
    with store.snapshot(View()) as snapshot:
        ((_, _, edge),) = snapshot.edges([id_of(store, "s:a")])
    assert (edge.weight, edge.evidence) == (weight, "e" * 20_000)


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), 1e39])
def test_an_edge_that_weighs_more_is_refused(store: Store, weight: float) -> None:
    with pytest.raises(InvalidInput, match=r"weights up to 3\.40282e\+38"):
        write_edges(store, "m@1", Edge("s:a", "s:b", "next", weight))


@pytest.mark.parametrize("limit", [0, 1, 10**9])
def test_pages_may_have_any_size(store: Store, limit: int) -> None:
    write_nodes(store, prepared("s:a"), prepared("s:b"))
    write_edges(store, "m@1", Edge("s:a", "s:b", "next"), Edge("s:b", "s:a", "next"))
    with store.snapshot(View()) as snapshot:
        ids = snapshot.matching_ids(Filter()).tolist()
        assert len(snapshot.edges(ids, limit)) == min(limit, 2)
        assert len(snapshot.adjacency(ids, limit).owner) == 2 * min(limit, 2)
        assert snapshot.changes_since(0, limit).changed_nodes == tuple(ids)
