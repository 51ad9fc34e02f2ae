"""Edges one page at a time, what one maker drew from a node, and the last write that touched each tenant."""

import sqlite3
from collections.abc import Mapping
from typing import Final, NamedTuple

from weft.model import Edge
from weft.store.adjacency import SHARED
from weft.store.records import Row, edge_of
from weft.store.visibility import Visibility

Place = tuple[int, int, int]
"""Where a page of edges ended: source id, number of the type, target id."""

START: Final[Place] = (0, 0, 0)


class ListedEdge(NamedTuple):
    """An edge between two nodes, with all who drew it; the strongest of them gives its weight."""

    source_id: int
    target_id: int
    edge: Edge
    makers: tuple[str, ...]
    place: Place


def page_of_edges(
    connection: sqlite3.Connection,
    visible: Visibility,
    after: Place,
    limit: int,
    ends: tuple[int | None, int | None] = (None, None),
) -> list[ListedEdge]:
    """The next edges by source id, type and target id; `ends` asks for one source or target."""
    wanted = [f"{end}.id = {int(number)}" for end, number in zip("ab", ends, strict=True) if number is not None]
    rows = connection.execute(
        "SELECT a.id, b.id, a.tenant_id, b.tenant_id, a.key, b.key, y.name, max(e.weight), e.confidence,"
        " e.evidence, group_concat(m.name, char(10)), e.type_id FROM nodes a CROSS JOIN edges e"
        " ON e.source_key = a.key_id CROSS JOIN keys k ON k.id = e.target_key"
        f" CROSS JOIN nodes b ON b.id = k.node_id AND {SHARED} JOIN edge_types y ON y.id = e.type_id"
        f" JOIN makers m ON m.id = e.maker_id WHERE {visible.of('a')} AND {visible.of('b')} AND a.id >= ?"
        f" AND (a.id, e.type_id, b.id) > (?, ?, ?) {''.join(f' AND {each}' for each in wanted)}"
        " GROUP BY a.id, e.type_id, b.id ORDER BY a.id, e.type_id, b.id LIMIT ?",
        (after[0], *after, limit),
    ).fetchall()
    return [listed_edge(row, visible.tenants) for row in rows]


def listed_edge(row: Row, tenants: Mapping[int, str]) -> ListedEdge:
    """An edge from (the columns of `edge_of`, makers by line, number of the type)."""
    *ends, makers, type_id = row
    drawn = tuple(sorted(makers.split("\n")))
    return ListedEdge(row[0], row[1], edge_of(tuple(ends), tenants), drawn, (row[0], type_id, row[1]))


def drawn_edges(connection: sqlite3.Connection, tenant: str, key: str, maker: str) -> tuple[Edge, ...]:
    """Every edge that a maker drew from one key, whether it leads to a node or not."""
    rows = connection.execute(
        "SELECT b.key, y.name, e.weight, e.confidence, e.evidence, o.name FROM tenants t JOIN keys a"
        " ON a.tenant_id = t.id JOIN makers m ON m.name = ? JOIN edges e ON e.source_key = a.id"
        " AND e.maker_id = m.id JOIN keys b ON b.id = e.target_key JOIN tenants o ON o.id = b.tenant_id"
        " JOIN edge_types y ON y.id = e.type_id WHERE t.name = ? AND a.key = ? ORDER BY y.name, b.key, o.name",
        (maker, tenant, key),
    ).fetchall()
    return tuple(
        Edge(key, target, name, weight, confidence, evidence, tenant, None if owner == tenant else owner)
        for target, name, weight, confidence, evidence, owner in rows
    )


def tagged_keys(connection: sqlite3.Connection, tenant: str, tag: str) -> tuple[str, ...]:
    """The keys of a tenant's nodes that carry a tag, in order."""
    rows = connection.execute(
        "SELECT n.key FROM facet_names m JOIN tenants t ON t.name = ? JOIN facets f ON f.facet_id = m.id"
        " AND f.tenant_id = t.id JOIN nodes n ON n.id = f.node_id WHERE m.name = ? ORDER BY n.key",
        (tenant, f"tag:{tag}"),
    ).fetchall()
    return tuple(key for (key,) in rows)


def tenant_versions(connection: sqlite3.Connection, visible: Visibility) -> tuple[tuple[str, int], ...]:
    """For each visible tenant that holds nodes the number of the last write that touched it, by name."""
    rows = connection.execute(
        "SELECT s.tenant_id, coalesce(v.sequence, 0) FROM tenant_statistics s LEFT JOIN tenant_versions v"
        f" ON v.tenant_id = s.tenant_id WHERE s.nodes > 0 AND {visible.by_tenant('s.tenant_id')}"
    ).fetchall()
    return tuple(sorted((visible.tenants[tenant], sequence) for tenant, sequence in rows))
