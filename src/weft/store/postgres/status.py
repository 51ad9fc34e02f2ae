"""Counts of what a view holds, and what server holds it."""

from typing import TYPE_CHECKING, Any

from weft.ports import StoreStatus
from weft.store.addresses import Address
from weft.store.adjacency import SHARED
from weft.store.postgres.connection import Link, rows_of
from weft.store.postgres.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from weft.store.postgres.snapshot import PostgresSnapshot


def read_status(snapshot: "PostgresSnapshot", address: Address) -> StoreStatus:
    """Counts and versions; only what the view sees is counted."""
    seen, embedder = snapshot.seen, snapshot.embedder()
    by_tenant = _counts(snapshot, f"SELECT n.tenant_id, count(*) FROM nodes n WHERE {seen.of('n')} GROUP BY 1")
    by_edge_type = _counts(
        snapshot,
        f"SELECT y.name, count(*) FROM edges e {_ends(snapshot)} JOIN edge_types y ON y.id = e.type_id"
        f" WHERE {seen.of('a')} AND {seen.of('b')} AND {SHARED} GROUP BY 1 ORDER BY 1",
    )
    return StoreStatus(
        location=address.shown,
        schema_version=SCHEMA_VERSION,
        sequence=snapshot.sequence,
        nodes=sum(by_tenant.values()),
        passages=_count(snapshot, f"passages p WHERE {seen.of('p')}"),
        edges=sum(by_edge_type.values()),
        vectors=_count(snapshot, f"vectors v WHERE v.space = {snapshot.space} AND {seen.of('v')}"),
        embedder=embedder[0] if embedder else None,
        bytes=_bytes(snapshot, address.schema),
        by_tenant={seen.tenants[number]: count for number, count in by_tenant.items()},
        by_kind=_by_facet(snapshot, "kind:"),
        by_source=_by_facet(snapshot, "source:"),
        by_edge_type=by_edge_type,
    )


def read_engine(link: Link) -> dict[str, str | int]:
    """The versions of the server and its extensions, and whether row-level security holds this user back."""
    version, held = rows_of(
        link,
        "SELECT current_setting('server_version'), NOT (rolsuper OR rolbypassrls) FROM pg_roles"
        " WHERE rolname = current_user",
    )[0]
    extensions = rows_of(
        link, "SELECT extname::text, extversion FROM pg_extension WHERE extname IN ('vector', 'pg_textsearch')"
    )
    fence = {"row_security": "on" if held else "off"}
    return {"engine": "PostgreSQL", "version": version.split()[0], **dict(sorted(extensions)), **fence}


def _ends(snapshot: "PostgresSnapshot") -> str:
    """What joins an edge with both its nodes; keys tell enough unless it matters from when nodes are known."""
    if snapshot.seen.as_of is None:
        return (
            "JOIN keys a ON a.id = e.source_key AND a.node_id IS NOT NULL"
            " JOIN keys b ON b.id = e.target_key AND b.node_id IS NOT NULL"
        )
    return (
        "JOIN keys ka ON ka.id = e.source_key JOIN nodes a ON a.id = ka.node_id"
        " JOIN keys kb ON kb.id = e.target_key JOIN nodes b ON b.id = kb.node_id"
    )


def _by_facet(snapshot: "PostgresSnapshot", prefix: str) -> dict[str, int]:
    seen = snapshot.seen
    known = "" if seen.as_of is None else "JOIN nodes n ON n.id = f.node_id"
    condition = seen.by_tenant("f.tenant_id") if seen.as_of is None else seen.of("n")
    return _counts(
        snapshot,
        f"SELECT substr(m.name, {len(prefix) + 1}), count(*) FROM facet_names m JOIN facets f ON f.facet_id = m.id"
        f" {known} WHERE starts_with(m.name, '{prefix}') AND {condition} GROUP BY 1 ORDER BY 1",
    )


def _bytes(snapshot: "PostgresSnapshot", schema: str) -> int:
    """The size of all tables with their indexes but without those for searching, which are derived."""
    (row,) = snapshot.rows(
        "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint"
        " - (SELECT coalesce(sum(pg_relation_size(i.oid)), 0)::bigint FROM pg_class i JOIN pg_namespace s"
        " ON s.oid = i.relnamespace WHERE s.nspname = %(schema)s"
        " AND i.relname LIKE 'search\\_%%') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = %(schema)s AND c.relkind = 'r'",
        schema=schema,
    )
    return int(row[0])


def _count(snapshot: "PostgresSnapshot", rows: str) -> int:
    return int(snapshot.rows(f"SELECT count(*) FROM {rows}")[0][0])


def _counts(snapshot: "PostgresSnapshot", query: str) -> dict[Any, int]:
    return dict(snapshot.rows(query))
