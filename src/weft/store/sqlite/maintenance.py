"""Look after the embedded store: count what a view holds, rebuild what is derived, and verify that all agrees."""

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np

from weft.ports import StoreStatus
from weft.store.links import SHARED_CONDITION
from weft.store.records import list_facets, unpack_fields, unpack_texts
from weft.store.sqlite import links
from weft.store.sqlite.lookup import Numbers, Visibility, names_by_number
from weft.store.sqlite.schema import SCHEMA_VERSION
from weft.store.sqlite.snapshot import read_embedder, read_quality, read_sequence, scan_statistics
from weft.store.sqlite.write import write_names

_NODES_PER_BATCH: Final = 2000
"""Nodes that are rebuilt or verified at once; bounds the memory that their edges take."""
_MAX_REPORTED_ROWS: Final = 20
"""Damaged rows that are reported one by one; a broken file could report millions."""
_DERIVED_TABLES: Final = ("adjacency", "facets", "facet_names", "names", "term_statistics", "tenant_statistics")
"""Tables without anything of their own: every row follows from nodes, passages, aliases and edges."""


def read_status(connection: sqlite3.Connection, file: Path, visible: Visibility) -> StoreStatus:
    """Return counts and versions; only what the view sees is counted."""
    embedder = read_embedder(connection)
    by_tenant = _counts(
        connection, f"SELECT n.tenant_id, count(*) FROM nodes n WHERE {visible.of('n')} GROUP BY 1"
    )
    by_edge_type = _counts_by_edge_type(connection, visible)
    return StoreStatus(
        location=str(file.parent),
        schema_version=SCHEMA_VERSION,
        sequence=read_sequence(connection),
        nodes=sum(by_tenant.values()),
        passages=_count(connection, f"passages p WHERE {visible.of('p')}"),
        edges=sum(by_edge_type.values()),
        vectors=_count(connection, f"vectors v JOIN passages p ON p.id = v.passage_id WHERE {visible.of('p')}"),
        embedder=embedder[0] if embedder else None,
        # The write-ahead log and its index stand beside the file.
        bytes=sum(part.stat().st_size for part in sorted(file.parent.glob(f"{file.name}*"))),
        by_tenant={visible.tenants[number]: count for number, count in by_tenant.items()},
        by_kind=_counts_by_facet(connection, visible, "kind:"),
        by_source=_counts_by_facet(connection, visible, "source:"),
        by_edge_type=by_edge_type,
        quality_vectors=None
        if read_quality(connection) is None
        else _count(
            connection, f"quality_vectors q JOIN passages p ON p.id = q.passage_id WHERE {visible.of('p')}"
        ),
    )


def _counts_by_facet(connection: sqlite3.Connection, visible: Visibility, prefix: str) -> dict[str, int]:
    # Facets know their tenant; only a view that ends at a point in the sequence needs the nodes.
    joined = "" if visible.as_of is None else "JOIN nodes n ON n.id = f.node_id"
    condition = visible.by_tenant("f.tenant_id") if visible.as_of is None else visible.of("n")
    return _counts(
        connection,
        f"SELECT substr(m.name, {len(prefix) + 1}), count(*) FROM facet_names m CROSS JOIN facets f"
        f" ON f.facet_id = m.id {joined} WHERE m.name >= ? AND m.name < ? AND {condition} GROUP BY 1 ORDER BY 1",
        # ";" follows ":" in ASCII, so the two bounds hold all names that begin with the prefix.
        (prefix, prefix[:-1] + ";"),
    )


def _counts_by_edge_type(connection: sqlite3.Connection, visible: Visibility) -> dict[str, int]:
    return _counts(
        connection,
        "SELECT y.name, count(*) FROM edges e JOIN keys ka ON ka.id = e.source_key JOIN keys kb"
        " ON kb.id = e.target_key JOIN nodes a ON a.id = ka.node_id JOIN nodes b ON b.id = kb.node_id"
        f" JOIN edge_types y ON y.id = e.type_id WHERE {visible.of('a')} AND {visible.of('b')}"
        f" AND {SHARED_CONDITION}"
        " GROUP BY 1 ORDER BY 1",
    )


def _count(connection: sqlite3.Connection, rows: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {rows}").fetchone()[0])


def _counts(connection: sqlite3.Connection, query: str, values: tuple[str, ...] = ()) -> dict[Any, int]:
    return dict(connection.execute(query, values).fetchall())


# --- rebuilding ------------------------------------------------------------------------------------------


def remove_unused(connection: sqlite3.Connection) -> None:
    """Remove facets that no node has and edges without nodes: they quote what was removed."""
    connection.execute("DELETE FROM facet_names WHERE id NOT IN (SELECT facet_id FROM facets)")
    # Edges between two keys without nodes lead nowhere, and their evidence quotes what was there.
    gone = "SELECT id FROM keys WHERE node_id IS NULL"
    connection.execute(f"DELETE FROM edges WHERE source_key IN ({gone}) AND target_key IN ({gone})")


def rebuild_derived(connection: sqlite3.Connection) -> None:
    """Derive neighbour lists, names, facets and statistics anew inside the caller's transaction."""
    for table in _DERIVED_TABLES:
        connection.execute(f"DELETE FROM {table}")
    numbers = Numbers(connection)
    kinds, types = names_by_number(connection, "kinds"), names_by_number(connection, "edge_types")
    for tenant_id in sorted(names_by_number(connection, "tenants")):
        _rebuild_statistics(connection, tenant_id)
    after = 0
    while ids := _next_ids(connection, after):
        after = ids[-1]
        write_names(connection, ids)
        _rebuild_facets(connection, numbers, kinds, ids)
        # Batch by batch, because the edges of all nodes at once may not fit into memory.
        links.begin_links(connection)
        connection.executemany("INSERT INTO temp.stale VALUES (?)", [(node_id,) for node_id in ids])
        links.refresh_lists(connection, types)


def _next_ids(connection: sqlite3.Connection, after: int) -> list[int]:
    rows = connection.execute("SELECT id FROM nodes WHERE id > ? ORDER BY id LIMIT ?", (after, _NODES_PER_BATCH))
    return [node_id for (node_id,) in rows]


def _rebuild_statistics(connection: sqlite3.Connection, tenant_id: int) -> None:
    scanned = scan_statistics(connection, f"p.tenant_id = {tenant_id}")
    connection.execute(
        "INSERT INTO tenant_statistics SELECT ?, count(*), ?, ? FROM nodes WHERE tenant_id = ?",
        (tenant_id, scanned.passages, scanned.total_length, tenant_id),
    )
    terms = zip(scanned.hashes.tolist(), scanned.counts.tolist(), strict=True)
    connection.executemany(f"INSERT INTO term_statistics VALUES ({tenant_id}, ?, ?)", terms)


def _rebuild_facets(
    connection: sqlite3.Connection, numbers: Numbers, kinds: dict[int, str], ids: list[int]
) -> None:
    for node_id, tenant_id, kind_id, source, tags, fields in connection.execute(
        "SELECT id, tenant_id, kind_id, source, tags, fields FROM nodes WHERE id BETWEEN ? AND ?",
        (ids[0], ids[-1]),
    ).fetchall():
        facets = list_facets(kinds[kind_id], source, unpack_texts(tags), unpack_fields(fields))
        rows = [(node_id, numbers.facet(facet), tenant_id) for facet in facets]
        connection.executemany("INSERT INTO facets VALUES (?, ?, ?)", rows)


# --- verifying -------------------------------------------------------------------------------------------


def verify(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Return what is inconsistent, in words; nothing when the store is sound."""
    pages = connection.execute(f"PRAGMA quick_check({_MAX_REPORTED_ROWS})")
    damage = [f"file: {row[0]}" for row in pages if row[0] != "ok"]
    if damage:
        # The other checks would only stumble over the same pages.
        return tuple(damage)
    return (*_broken_references(connection), *_wrong_statistics(connection), *_wrong_lists(connection))


def _broken_references(connection: sqlite3.Connection) -> list[str]:
    found = [
        f"references: row {row[1]} of {row[0]} has no {row[2]}"
        for row in connection.execute("PRAGMA foreign_key_check").fetchmany(_MAX_REPORTED_ROWS)
    ]
    # No reference leads from a node to its key, so SQLite does not check this one.
    lost = "SELECT count(*) FROM nodes n LEFT JOIN keys k ON k.id = n.key_id WHERE k.node_id IS NOT n.id"
    count = connection.execute(lost).fetchone()[0]
    return [*found, *([f"keys: {count} nodes are not found by their key"] if count else [])]


def _wrong_statistics(connection: sqlite3.Connection) -> list[str]:
    problems = []
    for tenant_id, name in sorted(names_by_number(connection, "tenants").items()):
        scanned = scan_statistics(connection, f"p.tenant_id = {tenant_id}")
        stored = connection.execute(
            "SELECT term_hash, frequency FROM term_statistics WHERE tenant_id = ? ORDER BY term_hash", (tenant_id,)
        ).fetchall()
        terms = np.array(stored, np.int64).reshape(-1, 2)
        same = np.array_equal(terms[:, 0], scanned.hashes) and np.array_equal(terms[:, 1], scanned.counts)
        (nodes,) = connection.execute("SELECT count(*) FROM nodes WHERE tenant_id = ?", (tenant_id,)).fetchone()
        totals = connection.execute(
            "SELECT nodes, passages, total_length FROM tenant_statistics WHERE tenant_id = ?", (tenant_id,)
        ).fetchone()
        if not same or (totals or (0, 0, 0)) != (nodes, scanned.passages, scanned.total_length):
            problems.append(f"statistics: those of tenant {name!r} differ from its passages")
    return problems


def _wrong_lists(connection: sqlite3.Connection) -> list[str]:
    """Report how many nodes have stored degrees that differ from their edges."""
    wrong, after = 0, 0
    while ids := _next_ids(connection, after):
        owners = "(SELECT id AS value FROM nodes WHERE id > ? AND id <= ?)"
        arcs = links.read_arcs(connection, owners, (after, ids[-1]))
        stored = connection.execute(
            "SELECT node_id, tenant_id, degree FROM adjacency WHERE node_id > ? AND node_id <= ?", (after, ids[-1])
        ).fetchall()
        # Degrees count all edges, while lists are cut: so degrees alone can be compared.
        counted = Counter(zip(arcs["owner"].tolist(), arcs["tenant"].tolist(), strict=True))
        degrees = {(owner, tenant): degree for owner, tenant, degree in stored}
        wrong += len({pair[0] for pair in {*counted, *degrees} if counted[pair] != degrees.get(pair, 0)})
        after = ids[-1]
    return [f"neighbours: the lists of {wrong} nodes differ from their edges"] if wrong else []
