"""Every way of reading a store shows one moment and its own tenants, and the same after every repair."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from backends import Backend
from weft.model import Alias, AliasSet, Edge, Filter, View
from weft.ports import Changes, Snapshot, Store
from weft.testing.store_worlds import OpenStore, passage, prepared, write_edges, write_nodes

MINE, BOTH = View(("mine",)), View(("mine", "theirs"))
NAMES = ("s:0", "0", "Title 1", "second", "s:2", "s:gone", "s:new", "Title new", "s:theirs", "3")
TERMS = range(12)
EVERY = range(20)
"""The numbers that the small worlds may have used, for nodes and for passages, seen or not."""
Reading = Callable[[Snapshot], Any]


def _adjacency(snapshot: Snapshot, fan_out: int) -> Any:
    near = snapshot.adjacency(EVERY, fan_out)
    columns = zip(
        *(each.tolist() for each in (near.owner, near.neighbour, near.tag, near.weight, near.outward)),
        [near.edge_types[number] for number in near.edge_type],
        [near.kinds[number] for number in near.kind],
        strict=True,
    )
    return list(columns), sorted(near.degree.items())


def _vectors(snapshot: Snapshot) -> Any:
    ids = [row.id for row in snapshot.passages_of_nodes(EVERY)]
    return np.round(snapshot.vectors(ids), 6).tolist()


READINGS: dict[str, Reading] = {
    "nodes": lambda snapshot: snapshot.nodes(EVERY),
    "names": lambda snapshot: snapshot.find(NAMES),
    "passages": lambda snapshot: snapshot.passages(EVERY),
    "passages of nodes": lambda snapshot: snapshot.passages_of_nodes(EVERY),
    "words": lambda snapshot: sorted(map(tuple, snapshot.all_terms())),
    "vectors": _vectors,
    "statistics": lambda snapshot: snapshot.statistics(TERMS),
    "nearest neighbours": lambda snapshot: _adjacency(snapshot, 1),
    "neighbours": lambda snapshot: _adjacency(snapshot, 50),
    "more neighbours than are kept": lambda snapshot: _adjacency(snapshot, 5000),
    "edges": lambda snapshot: snapshot.edges(EVERY),
    "two edges": lambda snapshot: snapshot.edges(EVERY, 2),
    "all nodes": lambda snapshot: snapshot.matching_ids(Filter()).tolist(),
    "nodes of a kind": lambda snapshot: snapshot.matching_ids(Filter(kinds=("task",))).tolist(),
    "nodes with a tag": lambda snapshot: snapshot.matching_ids(Filter(tags=("even",))).tolist(),
    "nodes of a source": lambda snapshot: snapshot.matching_ids(Filter(sources=("notes",))).tolist(),
    "nodes with a field": lambda snapshot: snapshot.matching_ids(Filter(where=(("n", "1"),))).tolist(),
    "nodes in a part of the sequence": lambda snapshot: snapshot.matching_ids(Filter(sequence_to=3)).tolist(),
    "the embedder": lambda snapshot: snapshot.embedder(),
}


@pytest.fixture(params=READINGS.values(), ids=READINGS.keys())
def reading(request: pytest.FixtureRequest) -> Reading:
    """One way of reading after the other."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(params=[MINE, BOTH, View(("mine",), as_of=3), View(())], ids=["mine", "both", "as of 3", "nobody"])
def view(request: pytest.FixtureRequest) -> View:
    """One reader after the other."""
    return request.param  # type: ignore[no-any-return]


def fill(store: Store) -> None:
    """A small world of one tenant with everything in it."""
    store.remember_embedder("test@1", 2)
    write_nodes(
        store,
        *(
            prepared(f"s:{n}", passage([n, 9], vector=bytes([n + 1, 3])), passage([n + 1], 1), tenant="mine",
                     title=f"Title {n}", kind=("note", "task")[n % 2], tags=("even",)[n % 2 :], fields={"n": n},
                     sequence=n, aliases=(Alias("second", "given@1"),) if n == 2 else ())
            for n in range(6)
        ),
    )  # fmt: skip
    edges = [Edge(f"s:{n}", f"s:{n + 1}", ("next", "then")[n % 2], n + 1.0, tenant="mine") for n in range(5)]
    write_edges(store, "m@1", *edges, Edge("s:0", "s:5", "next", tenant="mine"))


def disturb(store: Store, tenant: str) -> None:
    """Change everything of a tenant that there is to change."""
    node = prepared("s:new", passage([1, 2]), tenant=tenant, title="Title new", tags=("even",), fields={"n": 1})
    rewritten = prepared("s:1", passage([7]), tenant=tenant, title="Title 1 again", kind="rewritten", sequence=1)
    store.write(Changes(upserts=(node, rewritten), removes=((tenant, "s:2"),)))
    write_edges(store, "other@1", Edge("s:new", "s:0", "next", 9.0, tenant=tenant))
    given = {"s:0": (Alias("second", "m@1"),)}
    store.write(Changes(aliases=(AliasSet("m@1", tenant, given),), importance={(tenant, "s:3"): 0.9}))


def read(store: Store, view: View, reading: Reading) -> Any:
    with store.snapshot(view) as snapshot:
        return reading(snapshot)


def test_a_snapshot_answers_from_its_own_moment(open_store: OpenStore, reading: Reading) -> None:
    reader, writer = open_store(), open_store()
    fill(writer)
    before = read(reader, MINE, reading)
    with reader.snapshot(MINE) as snapshot:
        disturb(writer, "mine")
        assert reading(snapshot) == before


def test_another_tenant_changes_no_answer(store: Store, reading: Reading) -> None:
    fill(store)
    before = read(store, MINE, reading)
    store.share("theirs", ["mine"])
    disturb(store, "theirs")
    write_edges(store, "cross@1", Edge("s:new", "s:0", "next", 99.0, tenant="theirs", target_tenant="mine"))
    assert read(store, MINE, reading) == before


def test_who_opens_the_store_next_reads_the_same(open_store: OpenStore, reading: Reading) -> None:
    first = open_store()
    fill(first)
    disturb(first, "mine")
    before = read(first, BOTH, reading)
    first.close()
    assert read(open_store(), BOTH, reading) == before


def test_what_is_derived_anew_reads_the_same(store: Store, reading: Reading) -> None:
    fill(store)
    disturb(store, "mine")
    before = read(store, BOTH, reading)
    store.rebuild_derived()
    assert read(store, BOTH, reading) == before


def test_every_engine_answers_as_the_embedded_store_does(
    store: Store, backend: Backend, reading: Reading, view: View
) -> None:
    embedded = Backend("sqlite", backend.folder / "embedded").store()
    for each in (embedded, store):
        fill(each)
        disturb(each, "mine")
        disturb(each, "theirs")
    assert read(store, view, reading) == read(embedded, view, reading)
    embedded.close()
