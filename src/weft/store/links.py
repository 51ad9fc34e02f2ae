"""Compare the edges of a write with the stored ones, and pack and read the neighbour lists that walks start from.

Every SQL store keeps one list for each node and tenant of its neighbours, so that a reader gets exactly what it
may see, degrees included, when the store leaves whole rows out. The engines read and write the rows; this module
knows their format and order, and which edges a write adds, changes and removes.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.errors import InvalidInput
from weft.model import Edge, EdgeSet
from weft.ports import Adjacency, Graph
from weft.store.records import Row

Arcs: TypeAlias = NDArray[np.void]
Integers: TypeAlias = NDArray[np.int64]
EdgeIdentity: TypeAlias = tuple[int, int, int, int]  # source key, maker, type, target key
EdgeStrength: TypeAlias = tuple[float, float, str]  # weight, confidence, evidence

MAX_LISTED_NEIGHBOURS: Final = 256
"""Neighbours that a list holds. Walks take far fewer of one node; a reader that wants more reads the edges
themselves. A larger number makes every write at a hub rewrite more bytes."""

_MAX_WEIGHT: Final = 3.4028234e38
"""The largest 32-bit float: neighbour lists keep weights in 32 bits, where a larger one would become infinite."""

# One neighbour in a stored list: old stores hold these bytes, so the layout is fixed.
ENTRY_DTYPE: Final = np.dtype(
    [("neighbour", "<i8"), ("tag", "<i8"), ("weight", "<f4"), ("type", "<u2"), ("kind", "<u2"), ("outward", "u1")]
)
# An arc is an edge seen from one of its ends, the owner: an entry together with the list that it belongs to.
ARC_DTYPE: Final = np.dtype([("owner", "<i8"), ("owner_tenant", "<i8"), ("tenant", "<i8"), *ENTRY_DTYPE.descr])

# The condition on an edge from node a to node b: it leads into another tenant only while the tenant that it
# starts in declares the other one shared.
SHARED_CONDITION: Final = (
    "(a.tenant_id = b.tenant_id OR EXISTS"
    " (SELECT 1 FROM shared s WHERE s.tenant_id = a.tenant_id AND s.shared_id = b.tenant_id))"
)
# CROSS JOIN makes SQLite read the tables in the order written: from the few owners to their edges, never the
# reverse.
OUTGOING_JOINS: Final = (
    "CROSS JOIN nodes a ON a.id = o.value CROSS JOIN edges e ON e.source_key = a.key_id"
    f" CROSS JOIN keys k ON k.id = e.target_key CROSS JOIN nodes b ON b.id = k.node_id AND {SHARED_CONDITION}"
)
INCOMING_JOINS: Final = (
    "CROSS JOIN nodes b ON b.id = o.value CROSS JOIN edges e ON e.target_key = b.key_id"
    f" CROSS JOIN keys k ON k.id = e.source_key CROSS JOIN nodes a ON a.id = k.node_id AND {SHARED_CONDITION}"
)
NEW_EDGE_JOINS: Final = (
    "CROSS JOIN edges e ON e.source_key = o.source_key AND e.maker_id = o.maker_id AND e.type_id = o.type_id"
    " AND e.target_key = o.target_key CROSS JOIN keys ka ON ka.id = e.source_key"
    " CROSS JOIN keys kb ON kb.id = e.target_key CROSS JOIN nodes a ON a.id = ka.node_id"
    f" CROSS JOIN nodes b ON b.id = kb.node_id AND {SHARED_CONDITION}"
)
# The columns of ARC_DTYPE, for an edge seen from its start and from its end.
OUTWARD_COLUMNS: Final = "a.id, a.tenant_id, b.tenant_id, b.id, b.tag, e.weight, e.type_id, b.kind_id, 1"
INWARD_COLUMNS: Final = "b.id, b.tenant_id, a.tenant_id, a.id, a.tag, e.weight, e.type_id, a.kind_id, 0"


# --- edges that a write changes ---------------------------------------------------------------------------


class EdgeChanges(NamedTuple):
    """The effect of writing a set: the edges that go, those whose values change, and those that are new."""

    gone: list[EdgeIdentity]
    altered: list[EdgeIdentity]
    new: list[EdgeIdentity]
    weakened: list[EdgeIdentity]
    """Those gone or with another weight, whose ends need their neighbour lists derived anew."""

    def __bool__(self) -> bool:
        return bool(self.gone or self.altered or self.new)


def compare_edges(
    present: Mapping[EdgeIdentity, EdgeStrength],
    wanted: Mapping[EdgeIdentity, EdgeStrength],
    scope: set[int] | None,
) -> EdgeChanges:
    """Compare a maker's present edges with the wanted ones; `scope` are the source keys that may lose edges."""
    # Outside its scope a set adds and changes edges, but removes none.
    gone = [edge for edge in present if edge not in wanted and (scope is None or edge[0] in scope)]
    altered = [edge for edge in wanted if edge in present and present[edge] != wanted[edge]]
    new = [edge for edge in wanted if edge not in present]
    # An edge that became stronger is among these too: its old entry must leave the lists.
    weakened = gone + [edge for edge in altered if present[edge][0] != wanted[edge][0]]
    return EdgeChanges(gone, altered, new, weakened)


class EdgeNumbers(Protocol):
    """The numbers that edges are written under; a name that has none yet is given one."""

    def maker(self, name: str) -> int: ...

    def edge_type(self, name: str) -> int: ...

    def key(self, tenant: str, key: str) -> int: ...

    def known_keys(self, tenant: str, keys: Iterable[str]) -> set[int]: ...


def wanted_edges(numbers: EdgeNumbers, edge_set: EdgeSet) -> dict[EdgeIdentity, EdgeStrength]:
    """Return the edges of a set by number, each once and at its strongest; refuse what no store can hold."""
    maker_id = numbers.maker(edge_set.maker)
    wanted: dict[EdgeIdentity, EdgeStrength] = {}
    # Looks up all keys at once, so that numbers.key() below finds them without a query each.
    numbers.known_keys(edge_set.tenant, [key for edge in edge_set.edges for key in (edge.source, edge.target)])
    for edge in edge_set.edges:
        if edge.tenant != edge_set.tenant or not (
            abs(edge.weight) <= _MAX_WEIGHT and math.isfinite(edge.confidence)
        ):
            raise _refusal(edge, edge_set)
        target_tenant = edge_set.tenant if edge.target_tenant is None else edge.target_tenant
        source_key = numbers.key(edge_set.tenant, edge.source)
        identity = (source_key, maker_id, numbers.edge_type(edge.type), numbers.key(target_tenant, edge.target))
        strength = (float(edge.weight), float(edge.confidence), edge.evidence)
        # The strongest wins, ties by confidence and evidence, so that the order of edges does not matter.
        wanted[identity] = max(strength, wanted.get(identity, strength))
    return wanted


def _refusal(edge: Edge, edge_set: EdgeSet) -> InvalidInput:
    where = f"The edge {edge.source!r} -> {edge.target!r} ({edge.type}) by {edge_set.maker!r}"
    if edge.tenant != edge_set.tenant:
        return InvalidInput(
            f"{where} says tenant {edge.tenant!r}, its set says {edge_set.tenant!r}. "
            "An edge starts in the tenant of its set: give both the same one."
        )
    return InvalidInput(
        f"{where} has weight {edge.weight} and confidence {edge.confidence}. "
        f"Allowed are finite numbers, and weights up to {_MAX_WEIGHT:g}: leave the edge out or correct them."
    )


# --- neighbour lists -------------------------------------------------------------------------------------


def rank_edge_types(types: Mapping[int, str]) -> Integers:
    """Return for each edge type, indexed by its id, its rank in the order of their names."""
    ranks = np.zeros(max(types, default=0) + 1, np.int64)
    for rank, type_id in enumerate(sorted(types, key=types.__getitem__)):
        ranks[type_id] = rank
    return ranks


def arc_order(arcs: Arcs, ranks: Integers, *groups: Integers) -> Integers:
    """Return the order by the groups, first one first, then by weight, edge type name, tag and direction.

    Ids never decide, because they depend on the order in which nodes were stored.
    """
    # lexsort takes its last key first.
    keys = [arcs["outward"], arcs["tag"], ranks[arcs["type"]], -arcs["weight"], *reversed(groups)]
    return np.lexsort(keys)


def group_starts(*groups: Integers) -> Integers:
    """Return the indexes at which a new group begins in sorted columns."""
    if not len(groups[0]):
        return np.zeros(0, np.int64)
    changes = np.logical_or.reduce([group[1:] != group[:-1] for group in groups])
    return np.concatenate([[0], np.flatnonzero(changes) + 1])


def unpack_lists(rows: Sequence[Row]) -> tuple[Arcs, dict[tuple[int, int], int]]:
    """Return the arcs in stored lists, and by (owner, tenant) how many more there are than the list holds.

    Rows are (node id, tenant of the node, tenant of its neighbours, degree, packed).
    """
    entries = np.frombuffer(b"".join(row[4] for row in rows), ENTRY_DTYPE)
    sizes = [len(row[4]) // ENTRY_DTYPE.itemsize for row in rows]
    arcs = np.zeros(len(entries), ARC_DTYPE)
    for name in ENTRY_DTYPE.names or ():
        arcs[name] = entries[name]
    for column, name in enumerate(("owner", "owner_tenant", "tenant")):
        arcs[name] = np.repeat(np.array([row[column] for row in rows], np.int64), sizes)
    hidden = {(row[0], row[2]): row[3] - size for row, size in zip(rows, sizes, strict=True)}
    return arcs, hidden


def find_cut_lists(rows: Sequence[Row]) -> set[int]:
    """Return the nodes with more neighbours than their lists hold; rows are those of `unpack_lists`."""
    return {row[0] for row in rows if row[3] > len(row[4]) // ENTRY_DTYPE.itemsize}


def pack_lists(
    arcs: Arcs, hidden: Mapping[tuple[int, int], int], ranks: Integers, most: int | None = None
) -> list[Row]:
    """Return rows of (node id, tenant of its neighbours, tenant of the node, degree, packed arcs by strength).

    `hidden` counts by (owner, tenant) the arcs that only the degree knows of, because the list had no room for
    them; `most` is how many arcs a list holds, where it is not one to be stored.
    """
    if not len(arcs):
        return []
    arcs = arcs[arc_order(arcs, ranks, arcs["owner"], arcs["tenant"])]
    entries = np.zeros(len(arcs), ENTRY_DTYPE)
    for name in ENTRY_DTYPE.names or ():
        entries[name] = arcs[name]
    most = MAX_LISTED_NEIGHBOURS if most is None else most
    starts = group_starts(arcs["owner"], arcs["tenant"])
    stops = [*starts[1:].tolist(), len(arcs)]
    firsts = arcs[starts]
    owners, tenants, owner_tenants = (firsts[name].tolist() for name in ("owner", "tenant", "owner_tenant"))
    packed = entries.tobytes()
    rows = []
    for index, (start, stop) in enumerate(zip(starts.tolist(), stops, strict=True)):
        group = owners[index], tenants[index]
        degree = stop - start + hidden.get(group, 0)
        last = min(stop, start + most)
        # The list is cut and the degree is not: readers still see how many neighbours there are.
        blob = packed[start * ENTRY_DTYPE.itemsize : last * ENTRY_DTYPE.itemsize]
        rows.append((*group, owner_tenants[index], degree, blob))
    return rows


def graph_from_lists(
    nodes: Sequence[Row], lists: Sequence[Row], read_links_between: Callable[[Sequence[int]], Sequence[Row]]
) -> Graph:
    """Return the graph of a tenant from its nodes and from the lists of its neighbours within the tenant.

    Nodes are rows of (id, key, whether it has an importance of its own), lists of (node id, degree, packed). The
    links of a node whose list has no room for all of them are taken from the lists of its neighbours. Those
    between two such nodes are read by the function from the ids: rows of (source id, target id, weight).
    """
    sizes = np.array([len(packed) for _, _, packed in lists], np.int64) // ENTRY_DTYPE.itemsize
    owners = np.array([node_id for node_id, _, _ in lists], np.int64)
    hubs = owners[np.array([degree for _, degree, _ in lists], np.int64) > sizes]
    entries = np.frombuffer(b"".join(packed for _, _, packed in lists), ENTRY_DTYPE)
    owner, neighbour, outward = np.repeat(owners, sizes), entries["neighbour"], entries["outward"] == 1
    # Each link is listed at both of its ends, and counted once: where it starts, or else where a hub's link ends.
    kept = ~np.isin(owner, hubs) & (outward | np.isin(neighbour, hubs))
    source, target = np.where(outward, owner, neighbour)[kept], np.where(outward, neighbour, owner)[kept]
    between = np.array(read_links_between(hubs.tolist()) if len(hubs) else [], np.float64).reshape(-1, 3)
    ids = np.array([row[0] for row in nodes], np.int64)
    order = np.argsort(ids)
    ends = [
        order[np.searchsorted(ids, np.concatenate([end, between[:, column].astype(np.int64)]), sorter=order)]
        for column, end in enumerate((source, target))
    ]
    # The lists hold weights in 32 bits, and a link weighs the same wherever it is read.
    weight = np.concatenate([entries["weight"][kept], between[:, 2].astype(np.float32)]).astype(np.float64)
    return Graph([row[1] for row in nodes], [bool(row[2]) for row in nodes], ends[0], ends[1], weight)


def adjacency_from_lists(
    rows: Sequence[Row], asked: Sequence[int], fan_out: int, types: Mapping[int, str], kinds: Mapping[int, str]
) -> Adjacency:
    """Return neighbours from stored lists, which come as rows of (node id, degree, packed)."""
    lists: dict[int, list[bytes]] = {}
    degree: dict[int, int] = {}
    for node_id, count, packed in rows:
        # Lists are stored strongest first, so the rest of one cannot be among the strongest.
        lists.setdefault(node_id, []).append(packed[: fan_out * ENTRY_DTYPE.itemsize])
        degree[node_id] = degree.get(node_id, 0) + count
    parts = [(node_id, part) for node_id in asked if node_id in lists for part in lists[node_id]]
    entries = np.frombuffer(b"".join(part for _, part in parts), ENTRY_DTYPE)
    sizes = [len(part) // ENTRY_DTYPE.itemsize for _, part in parts]
    owner = np.repeat(np.array([node_id for node_id, _ in parts], np.int64), sizes)
    # A node with one list has it in order already; only lists of several tenants must be merged.
    if len(parts) > len(lists):
        owner, entries = _strongest(owner, entries, asked, fan_out, rank_edge_types(types))
    return _with_names(owner, entries, degree, types, kinds)


def adjacency_from_arcs(
    arcs: Arcs, asked: Sequence[int], fan_out: int, types: Mapping[int, str], kinds: Mapping[int, str]
) -> Adjacency:
    """Return neighbours from the edges themselves, for views and fan-outs that the stored lists cannot answer."""
    owners, counts = np.unique(arcs["owner"], return_counts=True)
    degree = dict(zip(owners.tolist(), counts.tolist(), strict=True))
    owner, arcs = _strongest(arcs["owner"], arcs, asked, fan_out, rank_edge_types(types))
    return _with_names(owner, arcs, degree, types, kinds)


def _strongest(
    owner: Integers, arcs: Arcs, asked: Sequence[int], fan_out: int, ranks: Integers
) -> tuple[Integers, Arcs]:
    """Keep the strongest `fan_out` arcs of each owner, in the order in which the owners were asked for."""
    rank = {node_id: index for index, node_id in enumerate(asked)}
    group = np.array([rank[node_id] for node_id in owner.tolist()], np.int64)
    order = arc_order(arcs, ranks, group)
    owner, arcs, group = owner[order], arcs[order], group[order]
    starts = group_starts(group)
    sizes = np.diff(np.append(starts, len(group)))
    kept = np.arange(len(group)) - np.repeat(starts, sizes) < fan_out
    return owner[kept], arcs[kept]


def _with_names(
    owner: Integers, arcs: Arcs, degree: dict[int, int], types: Mapping[int, str], kinds: Mapping[int, str]
) -> Adjacency:
    edge_type, edge_types = _index_names(arcs["type"], types)
    kind, kind_names = _index_names(arcs["kind"], kinds)
    return Adjacency(
        owner,
        arcs["neighbour"].astype(np.int64),
        arcs["tag"].astype(np.int64),
        arcs["weight"].astype(np.float64),
        edge_type,
        kind,
        arcs["outward"].astype(np.int64),
        degree,
        edge_types,
        kind_names,
    )


def _index_names(column: NDArray[Any], names: Mapping[int, str]) -> tuple[Integers, tuple[str, ...]]:
    """Replace the ids in a column by indexes into the sorted names that occur, and return these names too.

    The result shows neither the names of other tenants nor the order in which names were stored.
    """
    present = np.flatnonzero(np.bincount(column)).tolist()
    # Sorted by name, because numbers tell who stored something first.
    ordered = sorted(present, key=names.__getitem__)
    indexes = np.zeros(max(present, default=0) + 1, np.int64)
    indexes[ordered] = np.arange(len(ordered))
    return indexes[column], tuple(names[name_id] for name_id in ordered)
