"""One write: nodes, aliases, edges, units and importance, with all that is derived, in one transaction."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from weft.ports import Changes
from weft.store.postgres import aliases
from weft.store.postgres.connection import Link, rows_of
from weft.store.postgres.links import Touched, write_edge_set
from weft.store.postgres.nodes import NodeWriter
from weft.store.postgres.numbers import Numbers, key_columns
from weft.store.sqlite.write import touched_tenants
from weft.store.statistics import Counts, StatisticsDelta, net_terms

_SAME_IMPORTANCE: Final = 1e-9


def apply_changes(link: Link, changes: Changes) -> int:
    """Apply the changes inside the caller's transaction and return the sequence number after them."""
    sequence, last_key = _state(link)
    numbers, statistics, touched = Numbers(link, last_key), StatisticsDelta(), Touched(link)
    writer = NodeWriter(link, numbers, statistics, touched, sequence + 1)
    nodes_changed, written = writer.write(changes)
    aliases.write_own_aliases(link, numbers, [(place.node_id, place.prepared.node) for place in written])
    renamed: set[int] = set()
    for alias_set in changes.aliases:
        renamed |= aliases.write_alias_set(link, numbers, alias_set)
    aliases.write_names(link, renamed.union(place.node_id for place in written))
    numbers.learn("makers", (each.maker for each in changes.edges))
    edges_changed = [write_edge_set(link, numbers, touched, edge_set) for edge_set in changes.edges]
    importance_changed = _write_importance(link, numbers, changes.importance)
    _write_units(link, numbers, changes.units)
    numbered = "UPDATE state SET last_node = %s, last_passage = %s, last_key = %s"
    link.execute(numbered, (writer.last_node, writer.last_passage, numbers.last_key))
    if not (nodes_changed or renamed or any(edges_changed) or importance_changed):
        return sequence
    apply_statistics(link, statistics)
    touched.refresh(names_by_number(link, "edge_types"))
    return next_sequence(link, map(numbers.tenant, touched_tenants(changes)))


def _state(link: Link) -> tuple[int, int]:
    """The sequence and the last number of a key; the row is locked, so that writers cannot overlap."""
    (row,) = rows_of(link, "SELECT sequence, last_key FROM state FOR UPDATE")
    return row[0], row[1]


def names_by_number(link: Link, table: str) -> dict[int, str]:
    """All names of a table by their number."""
    return dict(rows_of(link, f"SELECT id, name FROM {table}"))


def next_sequence(link: Link, tenants: Iterable[int]) -> int:
    """Take the next sequence number for what this transaction changed, and note whose knowledge that is."""
    (row,) = rows_of(link, "UPDATE state SET sequence = sequence + 1 RETURNING sequence")
    link.execute(
        "INSERT INTO tenant_versions SELECT unnest(%s::integer[]), %s"
        " ON CONFLICT (tenant_id) DO UPDATE SET sequence = excluded.sequence",
        (list(tenants), row[0]),
    )
    return int(row[0])


def apply_statistics(link: Link, statistics: StatisticsDelta) -> None:
    """Write what a change adds to and takes from the statistics, at once for all tenants, however many."""
    deltas = statistics.by_tenant()
    if not deltas:
        return
    totals = np.array([(tenant, delta.nodes, delta.passages, delta.length) for tenant, delta in deltas], np.int64)
    link.execute(
        "INSERT INTO tenant_statistics AS t SELECT * FROM unnest(%s::integer[], %s::bigint[], %s::bigint[],"
        " %s::bigint[]) ON CONFLICT (tenant_id) DO UPDATE SET nodes = t.nodes + excluded.nodes,"
        " passages = t.passages + excluded.passages, total_length = t.total_length + excluded.total_length",
        list(totals.T),
    )
    terms = [net_terms(delta) for _, delta in deltas]
    owners = np.repeat(totals[:, 0], [len(hashes) for hashes, _ in terms])
    hashes, change = (np.concatenate(column).astype(np.int64) for column in zip(*terms, strict=True))
    _apply_terms(link, owners, hashes, change)


def _apply_terms(link: Link, owners: Counts, hashes: Counts, change: Counts) -> None:
    link.execute(
        "INSERT INTO term_statistics AS t SELECT * FROM unnest(%s::integer[], %s::bigint[], %s::bigint[])"
        " ON CONFLICT (tenant_id, term_hash) DO UPDATE SET frequency = t.frequency + excluded.frequency",
        (owners, hashes, change),
    )
    fewer = change < 0
    if fewer.any():
        link.execute(
            "DELETE FROM term_statistics t USING unnest(%s::integer[], %s::bigint[]) o(tenant_id, term_hash)"
            " WHERE t.tenant_id = o.tenant_id AND t.term_hash = o.term_hash AND t.frequency = 0",
            (owners[fewer], hashes[fewer]),
        )


def declare_shared(link: Link, tenant: str, shared: Iterable[str]) -> None:
    """Replace the tenants that a tenant's edges may lead to; edges between the two come and go accordingly."""
    _, last_key = _state(link)
    numbers, touched = Numbers(link, last_key), Touched(link)
    tenant_id = numbers.tenant(tenant)
    wanted = {numbers.tenant(name) for name in shared} - {tenant_id}
    rows = rows_of(link, "SELECT shared_id FROM shared WHERE tenant_id = %s", (tenant_id,))
    if wanted == {shared_id for (shared_id,) in rows}:
        return
    touched.cross(tenant_id)
    link.execute("DELETE FROM shared WHERE tenant_id = %s", (tenant_id,))
    link.execute("INSERT INTO shared SELECT %s, unnest(%s::integer[])", (tenant_id, sorted(wanted)))
    touched.refresh(names_by_number(link, "edge_types"))
    next_sequence(link, [tenant_id])


def _write_importance(link: Link, numbers: Numbers, importance: Mapping[tuple[str, str], float]) -> bool:
    """Set importance without touching the nodes: searches do not depend on it, so nothing is indexed again."""
    if not importance:
        return False
    numbers.learn("tenants", (tenant for tenant, _ in importance))
    places = key_columns([(numbers.tenant(tenant), key) for tenant, key in importance])
    changed = link.execute(
        "UPDATE marks m SET value = o.value FROM unnest(%s::integer[], %s::bigint[], %s::text[],"
        " %s::double precision[]) o(tenant_id, digest, key, value) JOIN keys k"
        " ON k.digest = o.digest AND k.tenant_id = o.tenant_id AND k.key = o.key WHERE m.node_id = k.node_id"
        f" AND abs(m.value - o.value) > {_SAME_IMPORTANCE}",
        (*places, list(map(float, importance.values()))),
    )
    return changed.rowcount > 0


def _write_units(link: Link, numbers: Numbers, units: Sequence[tuple[str, str, str, str]]) -> None:
    if not units:
        return
    numbers.learn("tenants", (tenant for tenant, *_ in units))
    last = {(numbers.tenant(tenant), source, unit): stamp for tenant, source, unit, stamp in units}
    columns: list[list[Any]] = [list(column) for column in zip(*last, strict=True)]
    link.execute(
        "DELETE FROM units u USING unnest(%s::integer[], %s::text[], %s::text[]) o(tenant_id, source, unit)"
        " WHERE u.tenant_id = o.tenant_id AND md5(u.source) = md5(o.source) AND md5(u.unit) = md5(o.unit)",
        columns,
    )
    link.execute(
        "INSERT INTO units SELECT o.* FROM unnest(%s::integer[], %s::text[], %s::text[], %s::text[])"
        " o(tenant_id, source, unit, stamp) WHERE o.stamp <> ''",
        [*columns, list(last.values())],
    )
