"""List what no search needs: edges by page and by maker, keys by tag and unit, sharing, and recent changes."""

import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import orjson

from weft.model import Edge
from weft.ports import Graph, RecentChanges
from weft.store.links import SHARED_CONDITION, graph_from_lists
from weft.store.records import (
    TAIL_COLUMNS,
    EdgeCursor,
    ListedEdge,
    Row,
    last_whole_sequence,
    listed_edge,
    tail_passages,
)
from weft.store.sqlite.lookup import Visibility

# Without statistics SQLite would rather look up the tenant and sort everything.
_NODES_BY_CHANGE: Final = "nodes n INDEXED BY nodes_changed"
_TOMBSTONES_BY_CHANGE: Final = "tombstones n INDEXED BY tombstones_changed"
_MAX_SEQUENCE: Final = (1 << 63) - 1
"""The largest sequence number that a column holds; as an upper bound it means all changes."""
_LAST_CHARACTER: Final = "\U0010ffff"
"""The largest character: a prefix followed by it is above all names that begin with the prefix."""


def page_of_edges(
    connection: sqlite3.Connection,
    visible: Visibility,
    after: EdgeCursor,
    limit: int,
    ends: tuple[int | None, int | None] = (None, None),
) -> list[ListedEdge]:
    """Return the next edges by source id, type and target id; `ends` asks for one source or target."""
    conditions = [
        f"{end}.id = {int(number)}" for end, number in zip("ab", ends, strict=True) if number is not None
    ]
    # With max() SQLite takes the other columns from the row of the maximum, so from the strongest edge.
    rows = connection.execute(
        "SELECT a.id, b.id, a.tenant_id, b.tenant_id, a.key, b.key, y.name, max(e.weight), e.confidence,"
        " e.evidence, group_concat(m.name, char(10)), e.type_id FROM nodes a CROSS JOIN edges e"
        " ON e.source_key = a.key_id CROSS JOIN keys k ON k.id = e.target_key"
        f" CROSS JOIN nodes b ON b.id = k.node_id AND {SHARED_CONDITION} JOIN edge_types y ON y.id = e.type_id"
        f" JOIN makers m ON m.id = e.maker_id WHERE {visible.of('a')} AND {visible.of('b')} AND a.id >= ?"
        f" AND (a.id, e.type_id, b.id) > (?, ?, ?) {''.join(f' AND {condition}' for condition in conditions)}"
        " GROUP BY a.id, e.type_id, b.id ORDER BY a.id, e.type_id, b.id LIMIT ?",
        (after[0], *after, limit),
    ).fetchall()
    return [listed_edge(row, visible.tenants) for row in rows]


def drawn_edges(connection: sqlite3.Connection, tenant: str, key: str, maker: str) -> tuple[Edge, ...]:
    """Return every edge that a maker drew from one key, whether it leads to a node or not."""
    rows = connection.execute(
        "SELECT b.key, y.name, e.weight, e.confidence, e.evidence, o.name FROM tenants t JOIN keys a"
        " ON a.tenant_id = t.id JOIN makers m ON m.name = ? JOIN edges e ON e.source_key = a.id"
        " AND e.maker_id = m.id JOIN keys b ON b.id = e.target_key JOIN tenants o ON o.id = b.tenant_id"
        " JOIN edge_types y ON y.id = e.type_id WHERE t.name = ? AND a.key = ? ORDER BY y.name, b.key, o.name",
        (maker, tenant, key),
    ).fetchall()
    return tuple(
        # None stands for the tenant that the edge starts in, as in edges from sources.
        Edge(key, target, name, weight, confidence, evidence, tenant, None if owner == tenant else owner)
        for target, name, weight, confidence, evidence, owner in rows
    )


def tagged_keys(
    connection: sqlite3.Connection, tenant: str, tag: str, kinds: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the keys of a tenant's nodes that carry a tag, in order, if given only those of some kinds."""
    of_kinds = " AND n.kind_id IN (SELECT id FROM kinds WHERE name IN (SELECT value FROM json_each(?)))"
    rows = connection.execute(
        "SELECT n.key FROM facet_names m JOIN tenants t ON t.name = ? JOIN facets f ON f.facet_id = m.id"
        f" AND f.tenant_id = t.id JOIN nodes n ON n.id = f.node_id WHERE m.name = ?{of_kinds if kinds else ''}"
        " ORDER BY n.key",
        (tenant, f"tag:{tag}", *([orjson.dumps(list(kinds)).decode()] if kinds else ())),
    ).fetchall()
    return tuple(key for (key,) in rows)


def read_graph(connection: sqlite3.Connection, tenant: str) -> Graph:
    """Return the nodes of a tenant and the links between them."""
    nodes = connection.execute(
        # Of the few texts with the word, the second condition takes those where it names a field.
        "SELECT n.id, n.key, instr(n.fields, '\"importance\"') AND json_type(n.fields, '$.importance') IS NOT NULL"
        " FROM tenants t CROSS JOIN nodes n ON n.tenant_id = t.id WHERE t.name = ?",
        (tenant,),
    ).fetchall()
    lists = connection.execute(
        "SELECT l.node_id, l.degree, l.packed FROM tenants t CROSS JOIN nodes n ON n.tenant_id = t.id"
        " CROSS JOIN adjacency l ON l.node_id = n.id AND l.tenant_id = t.id WHERE t.name = ?",
        (tenant,),
    ).fetchall()
    return graph_from_lists(nodes, lists, partial(_read_links_between, connection))


def _read_links_between(connection: sqlite3.Connection, ids: Sequence[int]) -> list[Row]:
    return connection.execute(
        "SELECT a.id, k.node_id, e.weight FROM json_each(?1) j CROSS JOIN nodes a ON a.id = j.value"
        " CROSS JOIN edges e ON e.source_key = a.key_id CROSS JOIN keys k ON k.id = e.target_key"
        " WHERE k.node_id IN (SELECT value FROM json_each(?1))",
        (str(list(ids)),),
    ).fetchall()


def tenant_versions(connection: sqlite3.Connection, visible: Visibility) -> tuple[tuple[str, int], ...]:
    """Return for each visible tenant that holds nodes, by name, the number of the last write that touched it."""
    rows = connection.execute(
        # A tenant that was last written by schema version 1 has no version yet.
        "SELECT s.tenant_id, coalesce(v.sequence, 0) FROM tenant_statistics s LEFT JOIN tenant_versions v"
        f" ON v.tenant_id = s.tenant_id WHERE s.nodes > 0 AND {visible.by_tenant('s.tenant_id')}"
    ).fetchall()
    return tuple(sorted((visible.tenants[tenant], sequence) for tenant, sequence in rows))


def read_edge_makers(connection: sqlite3.Connection, prefix: str) -> tuple[tuple[str, str], ...]:
    """Return (maker, tenant) of all edges whose maker's name begins with a prefix."""
    rows = connection.execute(
        "SELECT DISTINCT m.name, t.name FROM makers m CROSS JOIN edges e ON e.maker_id = m.id"
        " CROSS JOIN keys k ON k.id = e.source_key CROSS JOIN tenants t ON t.id = k.tenant_id"
        " WHERE m.name >= ? AND m.name < ? ORDER BY m.name, t.name",
        (prefix, prefix + _LAST_CHARACTER),
    )
    return tuple((maker, tenant) for maker, tenant in rows)


def read_unit_stamps(connection: sqlite3.Connection, tenant: str, source: str) -> dict[str, str]:
    """Return the remembered stamp of each unit of a source."""
    rows = connection.execute(
        "SELECT u.unit, u.stamp FROM units u JOIN tenants t ON t.id = u.tenant_id"
        " WHERE t.name = ? AND u.source = ? ORDER BY u.unit",
        (tenant, source),
    )
    return dict(rows.fetchall())


def read_unit_keys(connection: sqlite3.Connection, source: str, unit: str) -> tuple[tuple[str, str], ...]:
    """Return (tenant, key) of the nodes that a unit brought."""
    rows = connection.execute(
        "SELECT t.name, n.key FROM tenants t CROSS JOIN nodes n ON n.tenant_id = t.id"
        " WHERE n.source = ? AND n.unit = ? ORDER BY t.name, n.key",
        (source, unit),
    )
    return tuple((tenant, key) for tenant, key in rows)


def read_shared_tenants(connection: sqlite3.Connection, tenant: str) -> tuple[str, ...]:
    """Return the tenants that a tenant's links may point to, by name."""
    return _read_sharing(connection, "t.name", "o.name", tenant)


def read_linking_tenants(connection: sqlite3.Connection, tenant: str) -> tuple[str, ...]:
    """Return the tenants whose links may point to a tenant, by name."""
    return _read_sharing(connection, "o.name", "t.name", tenant)


def _read_sharing(connection: sqlite3.Connection, fixed: str, listed: str, tenant: str) -> tuple[str, ...]:
    rows = connection.execute(
        f"SELECT {listed} FROM shared s JOIN tenants t ON t.id = s.tenant_id"
        f" JOIN tenants o ON o.id = s.shared_id WHERE {fixed} = ? ORDER BY {listed}",
        (tenant,),
    )
    return tuple(name for (name,) in rows)


def read_tail(
    connection: sqlite3.Connection,
    visible: Visibility,
    *,
    kinds: Mapping[int, str],
    since: int,
    limit: int,
    sequence: int,
) -> RecentChanges:
    """Return the changes after `since`, about `limit` nodes of them.

    A reader that goes on from the tail's sequence number misses none. All that one write changed stays together,
    even beyond the limit: it was once in memory in one piece.
    """
    # One more than fits shows whether there are more.
    max_nodes = max(limit, 1)
    next_changes = _read_changes(connection, visible, (since, _MAX_SEQUENCE, max_nodes + 1))[: max_nodes + 1]
    until = last_whole_sequence([number for number, _ in next_changes], max_nodes)
    reached = sequence if until is None else until
    span = (since, reached)
    changed = f"n.changed > ? AND n.changed <= ? AND {visible.of('n')}"
    nodes = connection.execute(f"SELECT {TAIL_COLUMNS} FROM {_NODES_BY_CHANGE} WHERE {changed}", span).fetchall()
    passages = connection.execute(
        f"SELECT n.id, p.id, p.term_hashes, p.term_counts, v.vector FROM {_NODES_BY_CHANGE} CROSS JOIN passages p"
        f" ON p.node_id = n.id LEFT JOIN vectors v ON v.passage_id = p.id WHERE {changed}"
        " ORDER BY n.changed, n.id, p.ordinal",
        span,
    ).fetchall()
    # Removed nodes are listed too: an index must drop their passages.
    void = tuple(node_id for _, node_id in _read_changes(connection, visible, (*span, -1)))
    return RecentChanges(reached, void, tail_passages(nodes, passages, visible.tenants, kinds), until is None)


def _read_changes(
    connection: sqlite3.Connection, visible: Visibility, span: tuple[int, int, int]
) -> list[tuple[int, int]]:
    """Return (sequence number, id) of nodes changed or removed after `since` and up to `until`, in order.

    `span` is (since, until, limit); the limit holds for changes and removals apart, and -1 means all.
    The view's point in the sequence does not count on purpose: what an index holds of a changed node is void
    whether the reader knows the node yet or not.
    """
    found = []
    for number, table in (("n.id", _NODES_BY_CHANGE), ("n.node_id", _TOMBSTONES_BY_CHANGE)):
        found += connection.execute(
            f"SELECT n.changed, {number} FROM {table} WHERE n.changed > ? AND n.changed <= ?"
            f" AND {visible.by_tenant('n.tenant_id')} ORDER BY n.changed LIMIT ?",
            span,
        ).fetchall()
    return sorted(found)
