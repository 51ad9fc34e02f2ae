"""Counts of what a view holds."""

import sqlite3
from pathlib import Path
from typing import Any

from weft.ports import StoreStatus
from weft.store.adjacency import SHARED
from weft.store.schema import SCHEMA_VERSION
from weft.store.snapshot import embedder_of
from weft.store.visibility import Visibility
from weft.store.write import sequence_of


def read_status(connection: sqlite3.Connection, file: Path, visible: Visibility) -> StoreStatus:
    """Counts and versions; only what the view sees is counted."""
    embedder = embedder_of(connection)
    by_tenant = _counts(
        connection, f"SELECT n.tenant_id, count(*) FROM nodes n WHERE {visible.of('n')} GROUP BY 1"
    )
    by_edge_type = _by_edge_type(connection, visible)
    return StoreStatus(
        location=str(file.parent),
        schema_version=SCHEMA_VERSION,
        sequence=sequence_of(connection),
        nodes=sum(by_tenant.values()),
        passages=_count(connection, f"passages p WHERE {visible.of('p')}"),
        edges=sum(by_edge_type.values()),
        vectors=_count(connection, f"vectors v JOIN passages p ON p.id = v.passage_id WHERE {visible.of('p')}"),
        embedder=embedder[0] if embedder else None,
        bytes=sum(part.stat().st_size for part in sorted(file.parent.glob(f"{file.name}*"))),
        by_tenant={visible.tenants[number]: count for number, count in by_tenant.items()},
        by_kind=_by_facet(connection, visible, "kind:"),
        by_source=_by_facet(connection, visible, "source:"),
        by_edge_type=by_edge_type,
    )


def _by_facet(connection: sqlite3.Connection, visible: Visibility, prefix: str) -> dict[str, int]:
    known = "" if visible.as_of is None else "JOIN nodes n ON n.id = f.node_id"
    condition = visible.by_tenant("f.tenant_id") if visible.as_of is None else visible.of("n")
    return _counts(
        connection,
        f"SELECT substr(m.name, {len(prefix) + 1}), count(*) FROM facet_names m CROSS JOIN facets f"
        f" ON f.facet_id = m.id {known} WHERE m.name >= ? AND m.name < ? AND {condition} GROUP BY 1 ORDER BY 1",
        (prefix, prefix[:-1] + ";"),
    )


def _by_edge_type(connection: sqlite3.Connection, visible: Visibility) -> dict[str, int]:
    return _counts(
        connection,
        "SELECT y.name, count(*) FROM edges e JOIN keys ka ON ka.id = e.source_key JOIN keys kb"
        " ON kb.id = e.target_key JOIN nodes a ON a.id = ka.node_id JOIN nodes b ON b.id = kb.node_id"
        f" JOIN edge_types y ON y.id = e.type_id WHERE {visible.of('a')} AND {visible.of('b')} AND {SHARED}"
        " GROUP BY 1 ORDER BY 1",
    )


def _count(connection: sqlite3.Connection, rows: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {rows}").fetchone()[0])


def _counts(connection: sqlite3.Connection, query: str, values: tuple[str, ...] = ()) -> dict[Any, int]:
    return dict(connection.execute(query, values).fetchall())
