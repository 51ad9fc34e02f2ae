"""Writing edges and keeping the neighbour lists that they touch."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.model import EdgeSet
from weft.store import adjacency
from weft.store.adjacency import ARC, Arcs
from weft.store.postgres.connection import Link, rows_of
from weft.store.postgres.copy_rows import Columns, copy_rows
from weft.store.postgres.encode import bigints
from weft.store.postgres.numbers import Numbers
from weft.store.sqlite.links import Identity, Strength, edge_changes, wanted_edges

if TYPE_CHECKING:
    from weft.ports.arrays import Ids


_EDGES: Final = Columns(
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
_LISTS: Final = Columns(
    "adjacency", node_id="int8", tenant_id="int4", owner_tenant_id="int4", degree="int8", packed="bytea"
)
_IDENTITIES: Final = (
    "unnest(%(source)s::bigint[], %(maker)s::integer[], %(type)s::integer[], %(target)s::bigint[])"
    " o(source_key, maker_id, type_id, target_key)"
)
_SAME: Final = (
    "e.source_key = o.source_key AND e.maker_id = o.maker_id AND e.type_id = o.type_id"
    " AND e.target_key = o.target_key"
)


def plain_joins(query: str) -> str:
    """A query of the embedded store, whose planner needs the order of joins told, for one that finds it."""
    return query.replace("CROSS JOIN", "JOIN")


LINKS_OUT: Final = plain_joins(adjacency.LINKS_OUT)
LINKS_IN: Final = plain_joins(adjacency.LINKS_IN)
LINKS_FRESH: Final = plain_joins(adjacency.LINKS_FRESH)


class Touched:
    """Which neighbour lists a write touches: nodes to derive anew, and edges to merge in."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.stale: set[int] = set()
        self.fresh: set[Identity] = set()

    def disturb(self, node_ids: Sequence[int]) -> None:
        """The lists of these nodes and of all their neighbours must be derived anew."""
        for near, far in (("source", "target"), ("target", "source")):
            rows = rows_of(
                self._link,
                f"SELECT k.node_id FROM nodes n JOIN edges e ON e.{near}_key = n.key_id"
                f" JOIN keys k ON k.id = e.{far}_key WHERE n.id = ANY(%s) AND k.node_id IS NOT NULL",
                (bigints(node_ids),),
            )
            self.stale.update(node_id for (node_id,) in rows)
        self.stale.update(node_ids)

    def appear(self, key_ids: "Ids") -> None:
        """Edges that named these keys before there was a node lead somewhere now."""
        rows = rows_of(
            self._link,
            "SELECT source_key, maker_id, type_id, target_key FROM edges WHERE source_key = ANY(%(keys)s)"
            " UNION SELECT source_key, maker_id, type_id, target_key FROM edges WHERE target_key = ANY(%(keys)s)",
            {"keys": key_ids},
        )
        self.fresh.update(rows)

    def weaken(self, edges: Iterable[Identity]) -> None:
        """Both ends of edges that are gone or changed must be derived anew."""
        ends = sorted({key_id for edge in edges for key_id in (edge[0], edge[3])})
        if ends:
            rows = rows_of(
                self._link, "SELECT node_id FROM keys WHERE id = ANY(%s) AND node_id IS NOT NULL", (bigints(ends),)
            )
            self.stale.update(node_id for (node_id,) in rows)

    def cross(self, tenant_id: int) -> None:
        """The lists at both ends of every edge that leads from this tenant into another must be derived anew."""
        rows = rows_of(
            self._link,
            "SELECT a.node_id, b.node_id FROM edges e JOIN keys a ON a.id = e.source_key"
            " JOIN keys b ON b.id = e.target_key WHERE e.tenant_id = %s AND b.tenant_id <> e.tenant_id",
            (tenant_id,),
        )
        self.stale.update(node_id for row in rows for node_id in row if node_id is not None)

    def refresh(self, types: Mapping[int, str]) -> None:
        """Bring the lists up to date; an added edge never needs a hub's other edges, only its list and degree."""
        if not self.stale and not self.fresh:
            return
        stale = sorted(self.stale)
        rebuilt = arcs_of(self._link, stale)
        added = self._fresh_arcs()
        owners = np.unique(added["owner"]).tolist()
        kept, hidden = adjacency.listed_arcs(_lists(self._link, owners))
        rows = adjacency.packed_lists(np.concatenate([rebuilt, added, kept]), hidden, adjacency.type_ranks(types))
        self._link.execute("DELETE FROM adjacency WHERE node_id = ANY(%s)", (bigints(stale + owners),))
        copy_rows(self._link, _LISTS, rows)

    def _fresh_arcs(self) -> Arcs:
        if not self.fresh:
            return np.zeros(0, ARC)
        rows = rows_of(
            self._link,
            f"SELECT {adjacency.OUTWARD} FROM {_IDENTITIES} {LINKS_FRESH}"
            f" UNION ALL SELECT {adjacency.INWARD} FROM {_IDENTITIES} {LINKS_FRESH} WHERE a.id <> b.id",
            _columns(sorted(self.fresh)),
        )
        return np.array([row for row in rows if row[0] not in self.stale], dtype=ARC)


def arcs_of(
    link: Link, owners: Sequence[int], visible: str = "TRUE", values: Mapping[str, Any] | None = None
) -> Arcs:
    """Every edge end at the owners, a self-edge once; `visible` is a condition on the nodes a and b."""
    asked = {**(values or {}), "owners": bigints(owners)}
    table = "unnest(%(owners)s::bigint[]) o(value)"
    outward = f"SELECT {adjacency.OUTWARD} FROM {table} {LINKS_OUT} WHERE {visible}"
    inward = f"SELECT {adjacency.INWARD} FROM {table} {LINKS_IN} WHERE a.id <> b.id AND {visible}"
    rows = rows_of(link, f"{outward} UNION ALL {inward}", asked) if owners else []
    return np.array(rows, dtype=ARC)


def write_edge_set(link: Link, numbers: Numbers, touched: Touched, given: EdgeSet) -> bool:
    """Replace the maker's edges in the set's scope and return whether anything changed."""
    ends = [(given.tenant, edge.source) for edge in given.edges]
    ends += [(edge.target_tenant or given.tenant, edge.target) for edge in given.edges]
    numbers.give_keys(ends)
    wanted = wanted_edges(numbers, given)
    scope = None if given.scope is None else numbers.known_keys(given.tenant, given.scope)
    change = edge_changes(_present(link, numbers, given, wanted, scope), wanted, scope)
    touched.weaken(change.weakened)
    if change.gone or change.altered:
        link.execute(
            f"DELETE FROM edges e USING {_IDENTITIES} WHERE {_SAME}", _columns(change.gone + change.altered)
        )
    tenant_id = numbers.tenant(given.tenant)
    copy_rows(link, _EDGES, [(*edge, tenant_id, *wanted[edge]) for edge in (*change.altered, *change.new)])
    touched.fresh.update(change.new)
    return bool(change)


def _present(
    link: Link, numbers: Numbers, given: EdgeSet, wanted: Iterable[Identity], scope: set[int] | None
) -> dict[Identity, Strength]:
    columns = "source_key, maker_id, type_id, target_key, weight, confidence, evidence"
    maker_id = numbers.maker(given.maker)
    if scope is None:
        rows = rows_of(
            link,
            f"SELECT {columns} FROM edges WHERE maker_id = %s AND tenant_id = %s",
            (maker_id, numbers.tenant(given.tenant)),
        )
    else:
        key_ids = bigints(sorted(scope | {edge[0] for edge in wanted}))
        rows = rows_of(
            link, f"SELECT {columns} FROM edges WHERE maker_id = %s AND source_key = ANY(%s)", (maker_id, key_ids)
        )
    return {row[:4]: row[4:] for row in rows}


def _columns(edges: Sequence[Identity]) -> dict[str, "Ids"]:
    columns = np.array(edges, np.int64).reshape(-1, 4).T
    return dict(zip(("source", "maker", "type", "target"), columns, strict=True))


def _lists(link: Link, owners: Sequence[int]) -> list[Any]:
    return rows_of(
        link,
        "SELECT node_id, owner_tenant_id, tenant_id, degree, packed FROM adjacency WHERE node_id = ANY(%s)",
        (bigints(owners),),
    )
