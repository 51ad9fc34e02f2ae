"""Neighbour lists kept ready for walking: per node and neighbour tenant the strongest edges, packed.

A list is split by the neighbour's tenant so that a reader can be given exactly what it may see, degrees
included, by leaving whole rows out.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.ports import Adjacency
from weft.store.records import Row

Arcs: TypeAlias = NDArray[np.void]
Integers: TypeAlias = NDArray[np.int64]

KEPT: Final = 256  # a walk that wants more neighbours of one node reads the edges themselves
ENTRY: Final = np.dtype(
    [("neighbour", "<i8"), ("tag", "<i8"), ("weight", "<f4"), ("type", "<u2"), ("kind", "<u2"), ("outward", "u1")]
)
ARC: Final = np.dtype([("owner", "<i8"), ("owner_tenant", "<i8"), ("tenant", "<i8"), *ENTRY.descr])

# An edge into another tenant leads somewhere only while the tenant it starts in declares the other one shared.
SHARED: Final = (
    "(a.tenant_id = b.tenant_id OR EXISTS"
    " (SELECT 1 FROM shared s WHERE s.tenant_id = a.tenant_id AND s.shared_id = b.tenant_id))"
)
LINKS_OUT: Final = (
    "CROSS JOIN nodes a ON a.id = o.value CROSS JOIN edges e ON e.source_key = a.key_id"
    f" CROSS JOIN keys k ON k.id = e.target_key CROSS JOIN nodes b ON b.id = k.node_id AND {SHARED}"
)
LINKS_IN: Final = (
    "CROSS JOIN nodes b ON b.id = o.value CROSS JOIN edges e ON e.target_key = b.key_id"
    f" CROSS JOIN keys k ON k.id = e.source_key CROSS JOIN nodes a ON a.id = k.node_id AND {SHARED}"
)
LINKS_FRESH: Final = (
    "CROSS JOIN edges e ON e.source_key = o.source_key AND e.maker_id = o.maker_id AND e.type_id = o.type_id"
    " AND e.target_key = o.target_key CROSS JOIN keys ka ON ka.id = e.source_key"
    " CROSS JOIN keys kb ON kb.id = e.target_key CROSS JOIN nodes a ON a.id = ka.node_id"
    f" CROSS JOIN nodes b ON b.id = kb.node_id AND {SHARED}"
)
OUTWARD: Final = "a.id, a.tenant_id, b.tenant_id, b.id, b.tag, e.weight, e.type_id, b.kind_id, 1"
INWARD: Final = "b.id, b.tenant_id, a.tenant_id, a.id, a.tag, e.weight, e.type_id, a.kind_id, 0"


def arcs_of(connection: sqlite3.Connection, owners: str, parameters: Row, visible: str = "1") -> Arcs:
    """Every edge end at the owners, a self-edge once; `owners` is a table with a column `value`.

    `visible` is a condition on the nodes a (where the edge starts) and b (where it leads).
    """
    outward = f"SELECT {OUTWARD} FROM {owners} o {LINKS_OUT} WHERE {visible}"
    inward = f"SELECT {INWARD} FROM {owners} o {LINKS_IN} WHERE a.id <> b.id AND {visible}"
    rows = connection.execute(outward, parameters).fetchall() + connection.execute(inward, parameters).fetchall()
    return np.array(rows, dtype=ARC)


def type_ranks(types: Mapping[int, str]) -> Integers:
    """The place of each edge type, by id, in the order of their names."""
    ranks = np.zeros(max(types, default=0) + 1, np.int64)
    for rank, type_id in enumerate(sorted(types, key=types.__getitem__)):
        ranks[type_id] = rank
    return ranks


def order_of(arcs: Arcs, ranks: Integers, *groups: Integers) -> Integers:
    """The order by the groups, first one first, then strongest, edge type name, tag, direction; never by id."""
    keys = [arcs["outward"], arcs["tag"], ranks[arcs["type"]], -arcs["weight"], *reversed(groups)]
    return np.lexsort(keys)


def starts_of(*groups: Integers) -> Integers:
    """Where a new group begins in sorted columns."""
    if not len(groups[0]):
        return np.zeros(0, np.int64)
    changes = np.logical_or.reduce([group[1:] != group[:-1] for group in groups])
    return np.concatenate([[0], np.flatnonzero(changes) + 1])


# --- keeping the lists -----------------------------------------------------------------------------------


def refresh(connection: sqlite3.Connection, types: Mapping[int, str]) -> None:
    """Bring the lists up to date for temp.stale (nodes to derive anew) and temp.fresh (edges to merge in).

    Merging keeps a hub cheap: an added edge never needs the hub's other edges, only its list and its degree.
    """
    rebuilt = arcs_of(connection, "(SELECT node_id AS value FROM temp.stale)", ())
    connection.execute("DELETE FROM adjacency WHERE node_id IN (SELECT node_id FROM temp.stale)")
    added = _fresh_arcs(connection)
    kept, hidden = listed_arcs(_lists(connection, np.unique(added["owner"]).tolist()))
    rows = packed_lists(np.concatenate([rebuilt, added, kept]), hidden, type_ranks(types))
    connection.executemany("INSERT OR REPLACE INTO adjacency VALUES (?, ?, ?, ?, ?)", rows)


def _fresh_arcs(connection: sqlite3.Connection) -> Arcs:
    stale = "NOT IN (SELECT node_id FROM temp.stale)"
    rows = connection.execute(
        f"SELECT {OUTWARD} FROM temp.fresh o {LINKS_FRESH} WHERE a.id {stale}"
        f" UNION ALL SELECT {INWARD} FROM temp.fresh o {LINKS_FRESH} WHERE b.id {stale} AND a.id <> b.id"
    ).fetchall()
    return np.array(rows, dtype=ARC)


def _lists(connection: sqlite3.Connection, owners: Sequence[int]) -> list[Row]:
    return connection.execute(
        "SELECT l.node_id, l.owner_tenant_id, l.tenant_id, l.degree, l.packed FROM json_each(?) j"
        " CROSS JOIN adjacency l ON l.node_id = j.value",
        (str(owners),),
    ).fetchall()


def listed_arcs(rows: Sequence[Row]) -> tuple[Arcs, dict[tuple[int, int], int]]:
    """The arcs in stored lists, and by (owner, tenant) how many more there are than the list holds.

    Rows are (node id, tenant of the node, tenant of its neighbours, degree, packed).
    """
    entries = np.frombuffer(b"".join(row[4] for row in rows), ENTRY)
    sizes = [len(row[4]) // ENTRY.itemsize for row in rows]
    arcs = np.zeros(len(entries), ARC)
    for name in ENTRY.names or ():
        arcs[name] = entries[name]
    for place, name in enumerate(("owner", "owner_tenant", "tenant")):
        arcs[name] = np.repeat(np.array([row[place] for row in rows], np.int64), sizes)
    hidden = {(row[0], row[2]): row[3] - size for row, size in zip(rows, sizes, strict=True)}
    return arcs, hidden


def packed_lists(arcs: Arcs, hidden: Mapping[tuple[int, int], int], ranks: Integers) -> list[Row]:
    """Rows of (node id, tenant of its neighbours, tenant of the node, degree, packed), strongest arcs first."""
    if not len(arcs):
        return []
    arcs = arcs[order_of(arcs, ranks, arcs["owner"], arcs["tenant"])]
    entries = np.zeros(len(arcs), ENTRY)
    for name in ENTRY.names or ():
        entries[name] = arcs[name]
    starts = starts_of(arcs["owner"], arcs["tenant"])
    stops = [*starts[1:].tolist(), len(arcs)]
    firsts = arcs[starts]
    owners, tenants, owner_tenants = (firsts[name].tolist() for name in ("owner", "tenant", "owner_tenant"))
    packed = entries.tobytes()
    rows = []
    for place, (start, stop) in enumerate(zip(starts.tolist(), stops, strict=True)):
        group = owners[place], tenants[place]
        degree = stop - start + hidden.get(group, 0)
        last = min(stop, start + KEPT)
        blob = packed[start * ENTRY.itemsize : last * ENTRY.itemsize]
        rows.append((*group, owner_tenants[place], degree, blob))
    return rows


# --- reading them ----------------------------------------------------------------------------------------


def listed_adjacency(
    rows: Sequence[Row], asked: Sequence[int], fan_out: int, types: Mapping[int, str], kinds: Mapping[int, str]
) -> Adjacency:
    """Neighbours from stored lists, given as rows of (node id, degree, packed)."""
    lists: dict[int, list[bytes]] = {}
    degree: dict[int, int] = {}
    for node_id, count, packed in rows:
        lists.setdefault(node_id, []).append(packed[: fan_out * ENTRY.itemsize])
        degree[node_id] = degree.get(node_id, 0) + count
    parts = [(node_id, part) for node_id in asked if node_id in lists for part in lists[node_id]]
    entries = np.frombuffer(b"".join(part for _, part in parts), ENTRY)
    sizes = [len(part) // ENTRY.itemsize for _, part in parts]
    owner = np.repeat(np.array([node_id for node_id, _ in parts], np.int64), sizes)
    if len(parts) > len(lists):
        owner, entries = _strongest(owner, entries, asked, fan_out, type_ranks(types))
    return _named(owner, entries, degree, types, kinds)


def counted_adjacency(
    arcs: Arcs, asked: Sequence[int], fan_out: int, types: Mapping[int, str], kinds: Mapping[int, str]
) -> Adjacency:
    """Neighbours from the edges themselves, for views and fan-outs that the stored lists cannot answer."""
    owners, counts = np.unique(arcs["owner"], return_counts=True)
    degree = dict(zip(owners.tolist(), counts.tolist(), strict=True))
    owner, arcs = _strongest(arcs["owner"], arcs, asked, fan_out, type_ranks(types))
    return _named(owner, arcs, degree, types, kinds)


def _strongest(
    owner: Integers, arcs: Arcs, asked: Sequence[int], fan_out: int, ranks: Integers
) -> tuple[Integers, Arcs]:
    place = {node_id: number for number, node_id in enumerate(asked)}
    group = np.array([place[node_id] for node_id in owner.tolist()], np.int64)
    order = order_of(arcs, ranks, group)
    owner, arcs, group = owner[order], arcs[order], group[order]
    starts = starts_of(group)
    sizes = np.diff(np.append(starts, len(group)))
    kept = np.arange(len(group)) - np.repeat(starts, sizes) < fan_out
    return owner[kept], arcs[kept]


def _named(
    owner: Integers, arcs: Arcs, degree: dict[int, int], types: Mapping[int, str], kinds: Mapping[int, str]
) -> Adjacency:
    edge_type, edge_types = _numbered(arcs["type"], types)
    kind, kind_names = _numbered(arcs["kind"], kinds)
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


def _numbered(column: NDArray[Any], names: Mapping[int, str]) -> tuple[Integers, tuple[str, ...]]:
    """Numbers into the sorted names that occur, so that no other tenant's names and no storage order show."""
    present = np.flatnonzero(np.bincount(column)).tolist()
    ordered = sorted(present, key=names.__getitem__)
    numbers = np.zeros(max(present, default=0) + 1, np.int64)
    numbers[ordered] = np.arange(len(ordered))
    return numbers[column], tuple(names[number] for number in ordered)


def full_edges(connection: sqlite3.Connection, owners: str, visible: str, limit: int) -> list[Row]:
    """Edges at the owners (a JSON list), strongest first, ties by type, keys, tenants and maker.

    Rows are (source id, target id, source tenant, target tenant, source key, target key, type, weight,
    confidence, evidence).
    """
    columns = (
        "a.id AS source_id, b.id AS target_id, a.tenant_id AS source_tenant, b.tenant_id AS target_tenant,"
        " a.key AS source_key, b.key AS target_key, e.type_id, e.maker_id, e.weight, e.confidence, e.evidence"
    )
    both = " UNION ".join(
        f"SELECT {columns} FROM json_each(:owners) o {ends} WHERE {visible}" for ends in (LINKS_OUT, LINKS_IN)
    )
    return connection.execute(
        "SELECT l.source_id, l.target_id, l.source_tenant, l.target_tenant, l.source_key, l.target_key, y.name,"
        f" l.weight, l.confidence, l.evidence FROM ({both}) l JOIN edge_types y ON y.id = l.type_id"
        " JOIN makers m ON m.id = l.maker_id JOIN tenants s ON s.id = l.source_tenant"
        " JOIN tenants t ON t.id = l.target_tenant"
        " ORDER BY l.weight DESC, y.name, l.source_key, l.target_key, s.name, t.name, m.name LIMIT :limit",
        {"owners": owners, "limit": limit},
    ).fetchall()
