"""Apply one write: nodes, aliases, edges, units and importance, with all that is derived, in one transaction."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Final

import orjson

from weft.ports import Changes
from weft.store.sqlite import aliases, links
from weft.store.sqlite.nodes import NodeWriter
from weft.store.sqlite.numbers import Numbers, names_by_number
from weft.store.sqlite.term_statistics import write_statistics
from weft.store.statistics import StatisticsDelta

_IMPORTANCE_TOLERANCE: Final = 1e-9
"""Difference up to which importance counts as unchanged: PageRank computed again differs in the last bits, and
that must not make a new version of the store."""


def read_sequence(connection: sqlite3.Connection) -> int:
    """Return the number of the last write that changed something."""
    return int(connection.execute("SELECT value FROM meta WHERE name = 'sequence'").fetchone()[0])


def apply_changes(connection: sqlite3.Connection, changes: Changes) -> int:
    """Apply the changes inside the caller's transaction and return the sequence number after them."""
    sequence = read_sequence(connection)
    numbers, statistics = Numbers(connection), StatisticsDelta()
    links.begin_links(connection)
    nodes_changed, written = NodeWriter(connection, numbers, statistics, sequence + 1).write(changes)
    aliases.write_own_aliases(connection, numbers, [(node.node_id, node.prepared.node) for node in written])
    renamed: set[int] = set()
    for alias_set in changes.aliases:
        renamed |= aliases.write_alias_set(connection, numbers, alias_set)
    aliases.write_names(connection, renamed.union(node.node_id for node in written))
    edges_changed = [links.write_edge_set(connection, numbers, edge_set) for edge_set in changes.edges]
    importance_changed = _write_importance(connection, numbers, changes.importance)
    _write_units(connection, numbers, changes.units)
    if not (nodes_changed or renamed or any(edges_changed) or importance_changed):
        # Units and their stamps may still have been written: they are no change that a reader could notice.
        return sequence
    write_statistics(connection, statistics)
    links.refresh_lists(connection, names_by_number(connection, "edge_types"))
    return next_sequence(connection, map(numbers.tenant, touched_tenants(changes)))


def next_sequence(connection: sqlite3.Connection, tenants: Iterable[int]) -> int:
    """Take the next sequence number and record it as the version of the tenants that the transaction changed."""
    connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'sequence'")
    sequence = read_sequence(connection)
    connection.executemany(
        f"INSERT OR REPLACE INTO tenant_versions VALUES (?, {sequence})", [(tenant,) for tenant in tenants]
    )
    return sequence


def touched_tenants(changes: Changes) -> list[str]:
    """Return the tenants whose pages the changes may alter; an edge alters only what readers of its start see."""
    owners = {prepared.node.tenant for prepared in changes.upserts}
    owners.update(tenant for tenant, _ in (*changes.removes, *changes.importance))
    owners.update(edge_set.tenant for edge_set in changes.edges)
    owners.update(alias_set.tenant for alias_set in changes.aliases)
    return sorted(owners)


def declare_shared(connection: sqlite3.Connection, tenant: str, shared: Iterable[str]) -> None:
    """Replace the tenants that a tenant's edges may lead to, and update the neighbour lists that this changes."""
    numbers = Numbers(connection)
    tenant_id = numbers.tenant(tenant)
    wanted = {numbers.tenant(name) for name in shared} - {tenant_id}
    rows = connection.execute("SELECT shared_id FROM shared WHERE tenant_id = ?", (tenant_id,)).fetchall()
    if wanted == {shared_id for (shared_id,) in rows}:
        return
    links.begin_links(connection)
    links.note_crossing(connection, tenant_id)
    connection.execute("DELETE FROM shared WHERE tenant_id = ?", (tenant_id,))
    connection.executemany(f"INSERT INTO shared VALUES ({tenant_id}, ?)", [(other,) for other in sorted(wanted)])
    links.refresh_lists(connection, names_by_number(connection, "edge_types"))
    next_sequence(connection, [tenant_id])


def _write_importance(
    connection: sqlite3.Connection, numbers: Numbers, importance: Mapping[tuple[str, str], float]
) -> bool:
    """Set importance and return whether any value changed.

    The nodes themselves stay untouched: searches do not depend on importance, so no index has to read them again.
    """
    by_tenant: dict[str, dict[str, float]] = {}
    for (tenant, key), value in importance.items():
        by_tenant.setdefault(tenant, {})[key] = float(value)
    changed: list[tuple[float, int]] = []
    for tenant, values in by_tenant.items():
        stored = connection.execute(
            "SELECT k.key, n.node_id, n.value FROM json_each(?) j CROSS JOIN keys k ON k.tenant_id = ?"
            " AND k.key = j.value CROSS JOIN importance n ON n.node_id = k.node_id",
            (orjson.dumps(list(values)).decode(), numbers.tenant(tenant)),
        )
        changed += [
            (values[key], node_id)
            for key, node_id, before in stored
            if abs(before - values[key]) > _IMPORTANCE_TOLERANCE
        ]
    connection.executemany("UPDATE importance SET value = ? WHERE node_id = ?", changed)
    return bool(changed)


def _write_units(
    connection: sqlite3.Connection, numbers: Numbers, units: Iterable[tuple[str, str, str, str]]
) -> None:
    for tenant, source, unit, stamp in units:
        unit_key = (numbers.tenant(tenant), source, unit)
        if stamp:
            connection.execute("INSERT OR REPLACE INTO units VALUES (?, ?, ?, ?)", (*unit_key, stamp))
        else:
            connection.execute("DELETE FROM units WHERE tenant_id = ? AND source = ? AND unit = ?", unit_key)
