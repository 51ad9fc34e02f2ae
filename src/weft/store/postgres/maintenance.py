"""Look after the store: count what a view holds, rebuild what is derived, and verify that all agrees."""

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.ports import StoreStatus
from weft.store.links import SHARED_CONDITION
from weft.store.open import Address
from weft.store.postgres.connection import Connection, CopyTarget, copy_rows, fetch_rows
from weft.store.postgres.encode import bigint_array
from weft.store.postgres.links import TouchedLists, read_arcs
from weft.store.postgres.lookup import Numbers, names_by_number
from weft.store.postgres.nodes import FACETS
from weft.store.postgres.schema import SCHEMA_VERSION
from weft.store.postgres.write import write_names
from weft.store.records import list_facets, unpack_fields, unpack_texts
from weft.store.statistics import PASSAGES_PER_BATCH, ScannedStatistics, count_statistics

if TYPE_CHECKING:
    from weft.store.postgres.snapshot import PostgresSnapshot


_NODES_PER_BATCH: Final = 2000
"""Nodes whose derived rows are made or checked at once; more take more memory and save few round trips."""
_DERIVED_TABLES: Final = ("adjacency", "facets", "names", "term_statistics", "tenant_statistics")
"""Tables without anything of their own: every row follows from nodes, passages, aliases and edges."""
_TERM_STATISTICS: Final = CopyTarget("term_statistics", tenant_id="int4", term_hash="int8", frequency="int8")


# --- status ----------------------------------------------------------------------------------------------


def read_status(snapshot: "PostgresSnapshot", address: Address) -> StoreStatus:
    """Return counts and versions; only the rows that the view sees are counted."""
    visible, embedder = snapshot.visible, snapshot.embedder()
    by_tenant = _counts(snapshot, f"SELECT n.tenant_id, count(*) FROM nodes n WHERE {visible.of('n')} GROUP BY 1")
    by_edge_type = _counts(
        snapshot,
        f"SELECT y.name, count(*) FROM edges e {_edge_ends(snapshot)} JOIN edge_types y ON y.id = e.type_id"
        f" WHERE {visible.of('a')} AND {visible.of('b')} AND {SHARED_CONDITION} GROUP BY 1 ORDER BY 1",
    )
    return StoreStatus(
        location=address.display,
        schema_version=SCHEMA_VERSION,
        sequence=snapshot.sequence,
        nodes=sum(by_tenant.values()),
        passages=_count(snapshot, f"passages p WHERE {visible.of('p')}"),
        edges=sum(by_edge_type.values()),
        vectors=_count(snapshot, f"vectors v WHERE v.space = {snapshot.space} AND {visible.of('v')}"),
        embedder=embedder[0] if embedder else None,
        bytes=_read_bytes(snapshot, address.schema),
        by_tenant={visible.tenants[number]: count for number, count in by_tenant.items()},
        by_kind=_counts_by_facet(snapshot, "kind:"),
        by_source=_counts_by_facet(snapshot, "source:"),
        by_edge_type=by_edge_type,
    )


def read_engine(connection: Connection) -> dict[str, str | int]:
    """Return the versions of the server and its extensions, and whether row-level security applies to us."""
    version, is_fenced = fetch_rows(
        connection,
        "SELECT current_setting('server_version'), NOT (rolsuper OR rolbypassrls) FROM pg_roles"
        " WHERE rolname = current_user",
    )[0]
    extensions = fetch_rows(
        connection,
        "SELECT extname::text, extversion FROM pg_extension WHERE extname IN ('vector', 'pg_textsearch')",
    )
    return {
        "engine": "PostgreSQL",
        "version": version.split()[0],
        **dict(sorted(extensions)),
        "row_security": "on" if is_fenced else "off",
    }


def _edge_ends(snapshot: "PostgresSnapshot") -> str:
    """Return the joins of an edge with both its ends, as `a` and `b`."""
    # Keys know their tenant; nodes are only read where the point from which they are known matters.
    if snapshot.visible.as_of is None:
        return (
            "JOIN keys a ON a.id = e.source_key AND a.node_id IS NOT NULL"
            " JOIN keys b ON b.id = e.target_key AND b.node_id IS NOT NULL"
        )
    return (
        "JOIN keys ka ON ka.id = e.source_key JOIN nodes a ON a.id = ka.node_id"
        " JOIN keys kb ON kb.id = e.target_key JOIN nodes b ON b.id = kb.node_id"
    )


def _counts_by_facet(snapshot: "PostgresSnapshot", prefix: str) -> dict[str, int]:
    visible = snapshot.visible
    nodes = "" if visible.as_of is None else "JOIN nodes n ON n.id = f.node_id"
    condition = visible.by_tenant("f.tenant_id") if visible.as_of is None else visible.of("n")
    return _counts(
        snapshot,
        f"SELECT substr(m.name, {len(prefix) + 1}), count(*) FROM facet_names m JOIN facets f ON f.facet_id = m.id"
        # Prefixes are our own words, so they may stand in the text of the query.
        f" {nodes} WHERE starts_with(m.name, '{prefix}') AND {condition} GROUP BY 1 ORDER BY 1",
    )


def _read_bytes(snapshot: "PostgresSnapshot", schema: str) -> int:
    """Return the size of all tables with their indexes, but without the search indexes, which are derived."""
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


# --- deriving anew ---------------------------------------------------------------------------------------


def rebuild_derived(connection: Connection) -> None:
    """Derive neighbour lists, names, facets and statistics anew inside the caller's transaction."""
    for table in _DERIVED_TABLES:
        connection.execute(f"DELETE FROM {table}")
    # FOR UPDATE keeps other writers out, who would give out the same numbers.
    numbers = Numbers(connection, fetch_rows(connection, "SELECT last_key FROM state FOR UPDATE")[0][0])
    kinds, types = names_by_number(connection, "kinds"), names_by_number(connection, "edge_types")
    for tenant_id in sorted(names_by_number(connection, "tenants")):
        _rebuild_statistics(connection, tenant_id)
    # In batches, so that a store of any size is derived anew in bounded memory.
    after = 0
    while ids := _next_ids(connection, after):
        after = ids[-1]
        write_names(connection, ids)
        _rebuild_facets(connection, numbers, kinds, ids)
        touched = TouchedLists(connection)
        touched.stale.update(ids)
        touched.refresh(types)


def _next_ids(connection: Connection, after: int) -> list[int]:
    rows = fetch_rows(
        connection, "SELECT id FROM nodes WHERE id > %s ORDER BY id LIMIT %s", (after, _NODES_PER_BATCH)
    )
    return [node_id for (node_id,) in rows]


def _scan_statistics(connection: Connection, tenant_id: int) -> ScannedStatistics:
    with connection.cursor(binary=True) as cursor:
        cursor.execute("SELECT length, term_hashes FROM passages WHERE tenant_id = %s", (tenant_id,))
        return count_statistics(iter(lambda: cursor.fetchmany(PASSAGES_PER_BATCH), []))


def _rebuild_statistics(connection: Connection, tenant_id: int) -> None:
    scanned = _scan_statistics(connection, tenant_id)
    connection.execute(
        "INSERT INTO tenant_statistics SELECT %s, count(*), %s, %s FROM nodes WHERE tenant_id = %s",
        (tenant_id, scanned.passages, scanned.total_length, tenant_id),
    )
    terms = zip(scanned.hashes.tolist(), scanned.counts.tolist(), strict=True)
    copy_rows(connection, _TERM_STATISTICS, [(tenant_id, term, count) for term, count in terms])


def _rebuild_facets(connection: Connection, numbers: Numbers, kinds: dict[int, str], ids: list[int]) -> None:
    facets = {
        (node_id, tenant_id): list_facets(kinds[kind_id], source, unpack_texts(tags), unpack_fields(fields))
        for node_id, tenant_id, kind_id, source, tags, fields in fetch_rows(
            connection,
            "SELECT id, tenant_id, kind_id, source, tags, fields FROM nodes WHERE id = ANY(%s)",
            (bigint_array(ids),),
        )
    }
    numbers.assign_numbers("facet_names", (name for names in facets.values() for name in names))
    rows = [
        (node_id, numbers.facet(name), tenant_id)
        for (node_id, tenant_id), names in facets.items()
        for name in names
    ]
    copy_rows(connection, FACETS, rows)


# --- checking --------------------------------------------------------------------------------------------


def verify(snapshot: "PostgresSnapshot") -> tuple[str, ...]:
    """Return a sentence for each inconsistency; none when the store is sound."""
    connection = snapshot.connection
    return (*_lost_keys(connection), *_wrong_statistics(connection), *_wrong_lists(connection))


def _lost_keys(connection: Connection) -> list[str]:
    lost = "SELECT count(*) FROM nodes n LEFT JOIN keys k ON k.id = n.key_id WHERE k.node_id IS DISTINCT FROM n.id"
    count = fetch_rows(connection, lost)[0][0]
    return [f"keys: {count} nodes are not found by their key"] if count else []


def _wrong_statistics(connection: Connection) -> list[str]:
    problems = []
    for tenant_id, name in sorted(names_by_number(connection, "tenants").items()):
        scanned = _scan_statistics(connection, tenant_id)
        stored = fetch_rows(
            connection,
            "SELECT term_hash, frequency FROM term_statistics WHERE tenant_id = %s ORDER BY term_hash",
            (tenant_id,),
        )
        terms = np.array(stored, np.int64).reshape(-1, 2)
        is_same = np.array_equal(terms[:, 0], scanned.hashes) and np.array_equal(terms[:, 1], scanned.counts)
        nodes = fetch_rows(connection, "SELECT count(*) FROM nodes WHERE tenant_id = %s", (tenant_id,))[0][0]
        totals = fetch_rows(
            connection,
            "SELECT nodes, passages, total_length FROM tenant_statistics WHERE tenant_id = %s",
            (tenant_id,),
        )
        if not is_same or (totals or [(0, 0, 0)])[0] != (nodes, scanned.passages, scanned.total_length):
            problems.append(f"statistics: those of tenant {name!r} differ from its passages")
    return problems


def _wrong_lists(connection: Connection) -> list[str]:
    """Compare the stored degrees of all nodes with their edges."""
    wrong, after = 0, 0
    while ids := _next_ids(connection, after):
        arcs = read_arcs(connection, ids)
        stored = fetch_rows(
            connection,
            "SELECT node_id, tenant_id, degree FROM adjacency WHERE node_id = ANY(%s)",
            (bigint_array(ids),),
        )
        # Degrees count all edges, while lists are cut: so degrees alone can be compared.
        counted = Counter(zip(arcs["owner"].tolist(), arcs["tenant"].tolist(), strict=True))
        degrees = {(owner, tenant): degree for owner, tenant, degree in stored}
        wrong += len({pair[0] for pair in {*counted, *degrees} if counted[pair] != degrees.get(pair, 0)})
        after = ids[-1]
    return [f"neighbours: the lists of {wrong} nodes differ from their edges"] if wrong else []
