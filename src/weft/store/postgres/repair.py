"""Checking a PostgreSQL store, and deriving anew whatever is derived."""

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.store.postgres.aliases import write_names
from weft.store.postgres.arrays import bigints
from weft.store.postgres.connection import Link, rows_of
from weft.store.postgres.copying import Columns, copy_rows
from weft.store.postgres.links import Touched, arcs_of
from weft.store.postgres.nodes import FACETS
from weft.store.postgres.numbers import Numbers
from weft.store.postgres.write import names_by_number
from weft.store.records import facets_of, unpacked_fields, unpacked_texts
from weft.store.statistics import COUNTED_AT_ONCE, ScannedStatistics, counted_statistics

if TYPE_CHECKING:
    from weft.store.postgres.snapshot import PostgresSnapshot

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
