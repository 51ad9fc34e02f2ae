"""Counts of what a view holds, and what server holds it."""

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.ports import StoreStatus
from weft.store.addresses import Address
from weft.store.adjacency import SHARED
from weft.store.postgres.aliases import write_names
from weft.store.postgres.connection import Link, rows_of
from weft.store.postgres.copy_rows import Columns, copy_rows
from weft.store.postgres.encode import bigints
from weft.store.postgres.links import Touched, arcs_of
from weft.store.postgres.nodes import FACETS
from weft.store.postgres.numbers import Numbers
from weft.store.postgres.schema import SCHEMA_VERSION
from weft.store.postgres.write import names_by_number
from weft.store.records import facets_of, unpacked_fields, unpacked_texts
from weft.store.statistics import COUNTED_AT_ONCE, ScannedStatistics, counted_statistics

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


_BATCH: Final = 2000
_DERIVED: Final = ("adjacency", "facets", "names", "term_statistics", "tenant_statistics")
_TERMS: Final = Columns("term_statistics", tenant_id="int4", term_hash="int8", frequency="int8")


def rebuild_derived(link: Link) -> None:
    """Derive neighbour lists, names, facets and statistics anew inside the caller's transaction."""
    for table in _DERIVED:
        link.execute(f"DELETE FROM {table}")
    numbers = Numbers(link, rows_of(link, "SELECT last_key FROM state FOR UPDATE")[0][0])
    kinds, types = names_by_number(link, "kinds"), names_by_number(link, "edge_types")
    for tenant_id in sorted(names_by_number(link, "tenants")):
        _rebuild_statistics(link, tenant_id)
    after = 0
    while ids := _next_ids(link, after):
        after = ids[-1]
        write_names(link, ids)
        _rebuild_facets(link, numbers, kinds, ids)
        touched = Touched(link)
        touched.stale.update(ids)
        touched.refresh(types)


def _next_ids(link: Link, after: int) -> list[int]:
    rows = rows_of(link, "SELECT id FROM nodes WHERE id > %s ORDER BY id LIMIT %s", (after, _BATCH))
    return [node_id for (node_id,) in rows]


def _scanned(link: Link, tenant_id: int) -> ScannedStatistics:
    with link.cursor(binary=True) as cursor:
        cursor.execute("SELECT length, term_hashes FROM passages WHERE tenant_id = %s", (tenant_id,))
        return counted_statistics(iter(lambda: cursor.fetchmany(COUNTED_AT_ONCE), []))


def _rebuild_statistics(link: Link, tenant_id: int) -> None:
    scanned = _scanned(link, tenant_id)
    link.execute(
        "INSERT INTO tenant_statistics SELECT %s, count(*), %s, %s FROM nodes WHERE tenant_id = %s",
        (tenant_id, scanned.passages, scanned.total_length, tenant_id),
    )
    terms = zip(scanned.hashes.tolist(), scanned.counts.tolist(), strict=True)
    copy_rows(link, _TERMS, [(tenant_id, term, count) for term, count in terms])


def _rebuild_facets(link: Link, numbers: Numbers, kinds: dict[int, str], ids: list[int]) -> None:
    found = {
        (node_id, tenant_id): facets_of(kinds[kind_id], source, unpacked_texts(tags), unpacked_fields(fields))
        for node_id, tenant_id, kind_id, source, tags, fields in rows_of(
            link,
            "SELECT id, tenant_id, kind_id, source, tags, fields FROM nodes WHERE id = ANY(%s)",
            (bigints(ids),),
        )
    }
    numbers.learn("facet_names", (facet for facets in found.values() for facet in facets))
    rows = [
        (node_id, numbers.facet(facet), tenant) for (node_id, tenant), facets in found.items() for facet in facets
    ]
    copy_rows(link, FACETS, rows)


def verify(snapshot: "PostgresSnapshot") -> tuple[str, ...]:
    """What is inconsistent, in words; nothing when the store is sound."""
    link = snapshot.link
    return (*_lost_keys(link), *_wrong_statistics(link), *_wrong_lists(link))


def _lost_keys(link: Link) -> list[str]:
    lost = "SELECT count(*) FROM nodes n LEFT JOIN keys k ON k.id = n.key_id WHERE k.node_id IS DISTINCT FROM n.id"
    count = rows_of(link, lost)[0][0]
    return [f"keys: {count} nodes are not found by their key"] if count else []


def _wrong_statistics(link: Link) -> list[str]:
    problems = []
    for tenant_id, name in sorted(names_by_number(link, "tenants").items()):
        scanned = _scanned(link, tenant_id)
        stored = rows_of(
            link,
            "SELECT term_hash, frequency FROM term_statistics WHERE tenant_id = %s ORDER BY term_hash",
            (tenant_id,),
        )
        terms = np.array(stored, np.int64).reshape(-1, 2)
        same = np.array_equal(terms[:, 0], scanned.hashes) and np.array_equal(terms[:, 1], scanned.counts)
        nodes = rows_of(link, "SELECT count(*) FROM nodes WHERE tenant_id = %s", (tenant_id,))[0][0]
        totals = rows_of(
            link, "SELECT nodes, passages, total_length FROM tenant_statistics WHERE tenant_id = %s", (tenant_id,)
        )
        if not same or (totals or [(0, 0, 0)])[0] != (nodes, scanned.passages, scanned.total_length):
            problems.append(f"statistics: those of tenant {name!r} differ from its passages")
    return problems


def _wrong_lists(link: Link) -> list[str]:
    """Nodes whose stored degrees differ from their edges."""
    wrong, after = 0, 0
    while ids := _next_ids(link, after):
        arcs = arcs_of(link, ids)
        stored = rows_of(
            link, "SELECT node_id, tenant_id, degree FROM adjacency WHERE node_id = ANY(%s)", (bigints(ids),)
        )
        counted = Counter(zip(arcs["owner"].tolist(), arcs["tenant"].tolist(), strict=True))
        degrees = {(owner, tenant): degree for owner, tenant, degree in stored}
        wrong += len({place[0] for place in {*counted, *degrees} if counted[place] != degrees.get(place, 0)})
        after = ids[-1]
    return [f"neighbours: the lists of {wrong} nodes differ from their edges"] if wrong else []
