"""Write and read edges: a maker's set replaces the edges that it drew before, and neighbour lists follow.

A neighbour list holds the strongest neighbours of a node in one packed row: walks read it instead of edges.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.model import EdgeSet
from weft.store.links import (
    ARC_DTYPE,
    INCOMING_JOINS,
    INWARD_COLUMNS,
    NEW_EDGE_JOINS,
    OUTGOING_JOINS,
    OUTWARD_COLUMNS,
    Arcs,
    EdgeIdentity,
    EdgeStrength,
    compare_edges,
    pack_lists,
    rank_edge_types,
    unpack_lists,
    wanted_edges,
)
from weft.store.postgres.connection import Connection, CopyTarget, copy_rows, fetch_rows
from weft.store.postgres.encode import bigint_array
from weft.store.postgres.lookup import Numbers

if TYPE_CHECKING:
    from weft.ports.stores import Ids


_EDGES: Final = CopyTarget(
    "edges",
    source_key="int8",
    maker_id="int4",
    type_id="int4",
    target_key="int8",
    tenant_id="int4",
    weight="float8",
    confidence="float8",
    evidence="text",
)
_LISTS: Final = CopyTarget(
    "adjacency", node_id="int8", tenant_id="int4", owner_tenant_id="int4", degree="int8", packed="bytea"
)
_EDGE_IDENTITIES: Final = (
    "unnest(%(source)s::bigint[], %(maker)s::integer[], %(type)s::integer[], %(target)s::bigint[])"
    " o(source_key, maker_id, type_id, target_key)"
)
_SAME_EDGE: Final = (
    "e.source_key = o.source_key AND e.maker_id = o.maker_id AND e.type_id = o.type_id"
    " AND e.target_key = o.target_key"
)


# CROSS JOIN dictates the order of joins to SQLite, which has no statistics; the server finds a better one itself.
LINKS_OUT: Final = OUTGOING_JOINS.replace("CROSS JOIN", "JOIN")
LINKS_IN: Final = INCOMING_JOINS.replace("CROSS JOIN", "JOIN")
_LINKS_FRESH: Final = NEW_EDGE_JOINS.replace("CROSS JOIN", "JOIN")


class TouchedLists:
    """The neighbour lists that a write touches: nodes whose list is derived anew, and edges to merge in."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.stale: set[int] = set()
        self.fresh: set[EdgeIdentity] = set()

    def note_disturbed(self, node_ids: Sequence[int]) -> None:
        """Note that the lists of these nodes and of all their neighbours must be derived anew."""
        # One query a direction: an OR over both columns would use neither index.
        for near, far in (("source", "target"), ("target", "source")):
            rows = fetch_rows(
                self._connection,
                f"SELECT k.node_id FROM nodes n JOIN edges e ON e.{near}_key = n.key_id"
                f" JOIN keys k ON k.id = e.{far}_key WHERE n.id = ANY(%s) AND k.node_id IS NOT NULL",
                (bigint_array(node_ids),),
            )
            self.stale.update(node_id for (node_id,) in rows)
        self.stale.update(node_ids)

    def note_appeared(self, key_ids: "Ids") -> None:
        """Note that these keys got a node, so that edges which named them before must be merged in."""
        rows = fetch_rows(
            self._connection,
            "SELECT source_key, maker_id, type_id, target_key FROM edges WHERE source_key = ANY(%(keys)s)"
            " UNION SELECT source_key, maker_id, type_id, target_key FROM edges WHERE target_key = ANY(%(keys)s)",
            {"keys": key_ids},
        )
        self.fresh.update(rows)

    def note_weakened(self, edges: Iterable[EdgeIdentity]) -> None:
        """Note that the lists at both ends of edges that are gone or changed must be derived anew."""
        # A weaker edge may let in one that the list had no room for; only all edges can tell which.
        ends = sorted({key_id for edge in edges for key_id in (edge[0], edge[3])})
        if ends:
            rows = fetch_rows(
                self._connection,
                "SELECT node_id FROM keys WHERE id = ANY(%s) AND node_id IS NOT NULL",
                (bigint_array(ends),),
            )
            self.stale.update(node_id for (node_id,) in rows)

    def note_crossing(self, tenant_id: int) -> None:
        """Note that the lists at both ends of edges from this tenant into another must be derived anew."""
        rows = fetch_rows(
            self._connection,
            "SELECT a.node_id, b.node_id FROM edges e JOIN keys a ON a.id = e.source_key"
            " JOIN keys b ON b.id = e.target_key WHERE e.tenant_id = %s AND b.tenant_id <> e.tenant_id",
            (tenant_id,),
        )
        self.stale.update(node_id for row in rows for node_id in row if node_id is not None)

    def refresh(self, types: Mapping[int, str]) -> None:
        """Bring the lists up to date.

        An added edge is merged into the list that is there: a hub's other edges are never read for it.
        """
        if not self.stale and not self.fresh:
            return
        stale = sorted(self.stale)
        rebuilt = read_arcs(self._connection, stale)
        added = self._read_fresh_arcs()
        owners = np.unique(added["owner"]).tolist()
        lists = fetch_rows(
            self._connection,
            "SELECT node_id, owner_tenant_id, tenant_id, degree, packed FROM adjacency WHERE node_id = ANY(%s)",
            (bigint_array(owners),),
        )
        # Degrees say how many neighbours a list had no room for.
        kept, hidden = unpack_lists(lists)
        rows = pack_lists(np.concatenate([rebuilt, added, kept]), hidden, rank_edge_types(types))
        self._connection.execute("DELETE FROM adjacency WHERE node_id = ANY(%s)", (bigint_array(stale + owners),))
        copy_rows(self._connection, _LISTS, rows)

    def _read_fresh_arcs(self) -> Arcs:
        if not self.fresh:
            return np.zeros(0, ARC_DTYPE)
        rows = fetch_rows(
            self._connection,
            f"SELECT {OUTWARD_COLUMNS} FROM {_EDGE_IDENTITIES} {_LINKS_FRESH}"
            f" UNION ALL SELECT {INWARD_COLUMNS} FROM {_EDGE_IDENTITIES} {_LINKS_FRESH}"
            " WHERE a.id <> b.id",
            _identity_columns(sorted(self.fresh)),
        )
        # A stale list is derived from all edges, the fresh ones among them.
        return np.array([row for row in rows if row[0] not in self.stale], dtype=ARC_DTYPE)


def read_arcs(
    connection: Connection, owners: Sequence[int], visible: str = "TRUE", values: Mapping[str, Any] | None = None
) -> Arcs:
    """Return every edge end at the owners, a self-edge once; `visible` is a condition on the nodes a and b."""
    if not owners:
        return np.zeros(0, ARC_DTYPE)
    table = "unnest(%(owners)s::bigint[]) o(value)"
    outward = f"SELECT {OUTWARD_COLUMNS} FROM {table} {LINKS_OUT} WHERE {visible}"
    inward = f"SELECT {INWARD_COLUMNS} FROM {table} {LINKS_IN} WHERE a.id <> b.id AND {visible}"
    rows = fetch_rows(
        connection, f"{outward} UNION ALL {inward}", {**(values or {}), "owners": bigint_array(owners)}
    )
    return np.array(rows, dtype=ARC_DTYPE)


def write_edge_set(connection: Connection, numbers: Numbers, touched: TouchedLists, edge_set: EdgeSet) -> bool:
    """Replace the maker's edges in the set's scope and return whether anything changed."""
    ends = [(edge_set.tenant, edge.source) for edge in edge_set.edges]
    ends += [(edge.target_tenant or edge_set.tenant, edge.target) for edge in edge_set.edges]
    # All at once: looking up the ends of one edge after the other would take a round trip each.
    numbers.assign_keys(ends)
    wanted = wanted_edges(numbers, edge_set)
    scope = None if edge_set.scope is None else numbers.known_keys(edge_set.tenant, edge_set.scope)
    change = compare_edges(_read_present(connection, numbers, edge_set, wanted, scope), wanted, scope)
    touched.note_weakened(change.weakened)
    # COPY cannot update, so edges that change are deleted and added again.
    if change.gone or change.altered:
        connection.execute(
            f"DELETE FROM edges e USING {_EDGE_IDENTITIES} WHERE {_SAME_EDGE}",
            _identity_columns(change.gone + change.altered),
        )
    tenant_id = numbers.tenant(edge_set.tenant)
    copy_rows(connection, _EDGES, [(*edge, tenant_id, *wanted[edge]) for edge in (*change.altered, *change.new)])
    touched.fresh.update(change.new)
    return bool(change)


def _read_present(
    connection: Connection,
    numbers: Numbers,
    edge_set: EdgeSet,
    wanted: Iterable[EdgeIdentity],
    scope: set[int] | None,
) -> dict[EdgeIdentity, EdgeStrength]:
    """Return the maker's stored edges that the set may replace or repeat."""
    columns = "source_key, maker_id, type_id, target_key, weight, confidence, evidence"
    maker_id = numbers.maker(edge_set.maker)
    if scope is None:
        rows = fetch_rows(
            connection,
            f"SELECT {columns} FROM edges WHERE maker_id = %s AND tenant_id = %s",
            (maker_id, numbers.tenant(edge_set.tenant)),
        )
    else:
        key_ids = bigint_array(sorted(scope | {edge[0] for edge in wanted}))
        rows = fetch_rows(
            connection,
            f"SELECT {columns} FROM edges WHERE maker_id = %s AND source_key = ANY(%s)",
            (maker_id, key_ids),
        )
    return {row[:4]: row[4:] for row in rows}


def _identity_columns(edges: Sequence[EdgeIdentity]) -> dict[str, "Ids"]:
    columns = np.array(edges, np.int64).reshape(-1, 4).T
    # Columns instead of rows, because the server takes arrays and unnests them.
    return dict(zip(("source", "maker", "type", "target"), columns, strict=True))
