"""The packed neighbour lists always equal what the edges say, whatever happens in whichever order."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft.model import Edge, EdgeSet, Node, View
from weft.ports import Changes, PreparedNode
from weft.store import links
from weft.store.records import stable_tag
from weft.store.sqlite.store import SqliteStore

KEYS = ("a", "b", "c", "d", "e")
TENANTS = ("one", "two")
_WORLDS = count()
_KEY = st.sampled_from(KEYS)
_TENANT = st.sampled_from(TENANTS)
_EDGE = st.tuples(_KEY, _KEY, st.sampled_from("xy"), st.sampled_from([0.25, 0.5, 1.0]), _TENANT)
_STEP = st.one_of(
    st.tuples(st.just("upsert"), _TENANT, st.lists(_KEY, min_size=1, max_size=5), st.sampled_from("kl")),
    st.tuples(st.just("remove"), _TENANT, st.lists(_KEY, min_size=1, max_size=2), st.none()),
    st.tuples(st.sampled_from(("m", "n")), _TENANT, st.lists(_EDGE, max_size=8), st.none() | st.lists(_KEY)),
    st.tuples(st.just("share"), _TENANT, st.booleans(), st.none()),
)
Truth = tuple[dict[tuple[str, str], str], dict[tuple[str, str, str, str, str, str], float], dict[str, bool]]


@pytest.fixture(autouse=True)
def short_lists(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lists of three, so that a few edges already make a hub."""
    monkeypatch.setattr(links, "MAX_LISTED_NEIGHBOURS", 3)
    return


def _node(tenant: str, key: str, kind: str) -> PreparedNode:
    return PreparedNode(Node(key, kind, tenant), f"hash {kind}", (), 0, b"")


def _edge_set(maker: str, tenant: str, edges: list[tuple[str, str, str, float, str]], scope: object) -> EdgeSet:
    drawn = tuple(
        Edge(source, target, kind, weight, tenant=tenant, target_tenant=other)
        for source, target, kind, weight, other in edges
    )
    return EdgeSet(maker, tenant, drawn, None if scope is None else tuple(scope))  # type: ignore[arg-type]


def _do(store: SqliteStore, truth: Truth, step: tuple[str, str, object, object]) -> None:
    nodes, edges, shared = truth
    what, tenant, given_values, extra = step
    if what == "upsert":
        store.write(Changes(upserts=tuple(_node(tenant, key, extra) for key in given_values)))  # type: ignore
        nodes.update({(tenant, key): extra for key in given_values})  # type: ignore
    elif what == "remove":
        store.write(Changes(removes=tuple((tenant, key) for key in given_values)))  # type: ignore
        for key in given_values:  # type: ignore
            nodes.pop((tenant, key), None)
    elif what == "share":
        store.share(tenant, [name for name in TENANTS if name != tenant] if given_values else [])
        shared[tenant] = bool(given_values)
    else:
        edge_set = _edge_set(what, tenant, given_values, extra)  # type: ignore[arg-type]
        store.write(Changes(edges=(edge_set,)))
        _replace(edges, edge_set)


def _replace(edges: dict[tuple[str, str, str, str, str, str], float], given_set: EdgeSet) -> None:
    for place in list(edges):
        in_scope = given_set.scope is None or place[2] in given_set.scope
        if place[:2] == (given_set.maker, given_set.tenant) and in_scope:
            del edges[place]
    strongest: dict[tuple[str, str, str, str, str, str], float] = {}
    for edge in given_set.edges:
        place = (given_set.maker, edge.tenant, edge.source, edge.type, edge.target_tenant or "", edge.target)
        strongest[place] = max(edge.weight, strongest.get(place, 0.0))
    edges.update(strongest)


def _expected(truth: Truth, view: View, owner: tuple[str, str]) -> list[tuple[float, str, int, int, str]]:
    nodes, edges, shared = truth
    arcs = []
    for (_, tenant, source, kind, other, target), weight in edges.items():
        ends = (tenant, source), (other, target)
        if any(end not in nodes or end[0] not in view.tenants for end in ends) or not (
            tenant == other or shared.get(tenant)
        ):
            continue
        if ends[0] == owner:
            arcs.append((-weight, kind, stable_tag(*ends[1]), 1, nodes[ends[1]]))
        elif ends[1] == owner:
            arcs.append((-weight, kind, stable_tag(*ends[0]), 0, nodes[ends[0]]))
    return sorted(arcs)


def _seen(store: SqliteStore, view: View, owner: tuple[str, str], fan_out: int) -> tuple[list[object], int]:
    with store.snapshot(View((owner[0],))) as snapshot:
        ids = snapshot.find([owner[1]]).get(owner[1], ())
    with store.snapshot(view) as snapshot:
        near = snapshot.adjacency(ids, fan_out)
    columns = zip(near.weight, near.edge_type, near.tag, near.outward, near.kind, strict=True)
    arcs = [(-weight, near.edge_types[kind], tag, out, near.kinds[of]) for weight, kind, tag, out, of in columns]
    return arcs, sum(near.degree.values())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(_STEP, max_size=14))
def test_lists_and_degrees_equal_a_model_after_any_history(
    tmp_path: Path, steps: list[tuple[str, str, object, object]]
) -> None:
    store = SqliteStore.open(tmp_path / str(next(_WORLDS)))
    truth: Truth = {}, {}, {}
    for step in steps:
        _do(store, truth, step)
    for view in (View(("one",)), View(("two", "one"))):
        for owner in truth[0]:
            if owner[0] in view.tenants:
                expected = _expected(truth, view, owner)
                assert _seen(store, view, owner, 3) == (expected[:3], len(expected))
                assert _seen(store, view, owner, 50) == (expected, len(expected))
    assert store.verify() == ()
    store.close()
