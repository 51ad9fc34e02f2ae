"""Apply one write: nodes, aliases, edges, units and importance, with all that is derived, in one transaction."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from weft.model import AliasSet, Node
from weft.ports import Changes
from weft.store.changes import touched_tenants
from weft.store.records import list_names
from weft.store.sqlite import links
from weft.store.sqlite.lookup import Numbers, names_by_number
from weft.store.sqlite.nodes import NodeWriter
from weft.store.sqlite.snapshot import read_sequence
from weft.store.statistics import Counts, Hashes, StatisticsDelta, net_terms

_IMPORTANCE_TOLERANCE: Final = 1e-9
"""Difference up to which importance counts as unchanged: PageRank computed again differs in the last bits, and
that must not make a new version of the store."""


def apply_changes(connection: sqlite3.Connection, changes: Changes) -> int:
    """Apply the changes inside the caller's transaction and return the sequence number after them."""
    sequence = read_sequence(connection)
    numbers, statistics = Numbers(connection), StatisticsDelta()
    links.begin_links(connection)
    # Nodes come first, because aliases and edges refer to their numbers.
    nodes_changed, written = NodeWriter(connection, numbers, statistics, sequence + 1).write(changes)
    _write_own_aliases(connection, numbers, [(node.node_id, node.prepared.node) for node in written])
    renamed: set[int] = set()
    for alias_set in changes.aliases:
        renamed |= _write_alias_set(connection, numbers, alias_set)
    # Names follow once keys, titles and aliases are all written.
    write_names(connection, renamed.union(node.node_id for node in written))
    # A list and not any(): every set must be written, whatever the one before changed.
    edges_changed = [links.write_edge_set(connection, numbers, edge_set) for edge_set in changes.edges]
    importance_changed = _write_importance(connection, numbers, changes.importance)
    _write_units(connection, numbers, changes.units)
    if not (nodes_changed or renamed or any(edges_changed) or importance_changed):
        # Units and their stamps may still have been written: they are no change that a reader could notice.
        return sequence
    # Derived last, from nodes and edges as they stay.
    _apply_statistics(connection, statistics)
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


def declare_shared(connection: sqlite3.Connection, tenant: str, shared: Iterable[str]) -> None:
    """Replace the tenants that a tenant's edges may lead to, and update the neighbour lists that this changes."""
    numbers = Numbers(connection)
    tenant_id = numbers.tenant(tenant)
    wanted = {numbers.tenant(name) for name in shared} - {tenant_id}
    rows = connection.execute("SELECT shared_id FROM shared WHERE tenant_id = ?", (tenant_id,)).fetchall()
    # Declaring the same again must not make a new version of the store.
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
        # All nodes are read, because nearly all are weighed: to look them up by key would take longer.
        stored = connection.execute(
            "SELECT k.key, n.node_id, n.value FROM keys k CROSS JOIN importance n ON n.node_id = k.node_id"
            " WHERE k.tenant_id = ?",
            (numbers.tenant(tenant),),
        )
        changed += [
            (values[key], node_id)
            for key, node_id, before in stored
            if key in values and abs(before - values[key]) > _IMPORTANCE_TOLERANCE
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


# --- statistics ------------------------------------------------------------------------------------------


def _apply_statistics(connection: sqlite3.Connection, statistics: StatisticsDelta) -> None:
    """Add what a write changed to the stored counts, inside the caller's transaction."""
    for tenant_id, delta in statistics.by_tenant():
        connection.execute(
            "INSERT INTO tenant_statistics VALUES (?, ?, ?, ?) ON CONFLICT (tenant_id) DO UPDATE SET nodes ="
            " nodes + excluded.nodes, passages = passages + excluded.passages,"
            " total_length = total_length + excluded.total_length",
            (tenant_id, delta.nodes, delta.passages, delta.length),
        )
        _apply_terms(connection, tenant_id, *net_terms(delta))


def _apply_terms(connection: sqlite3.Connection, tenant_id: int, hashes: Hashes, change: Counts) -> None:
    rows = [(tenant_id, term, by) for term, by in zip(hashes.tolist(), change.tolist(), strict=True)]
    connection.executemany(
        "INSERT INTO term_statistics VALUES (?, ?, ?)"
        " ON CONFLICT (tenant_id, term_hash) DO UPDATE SET frequency = frequency + excluded.frequency",
        rows,
    )
    # Only a term that became rarer can have reached zero.
    connection.executemany(
        "DELETE FROM term_statistics WHERE tenant_id = ? AND term_hash = ? AND frequency = 0",
        [(tenant_id, term) for term in hashes[change < 0].tolist()],
    )


# --- aliases ---------------------------------------------------------------------------------------------


def _write_own_aliases(
    connection: sqlite3.Connection, numbers: Numbers, nodes: Sequence[tuple[int, Node]]
) -> None:
    """Replace the aliases that came with the nodes themselves; those that linkers made stay."""
    connection.execute(
        "DELETE FROM aliases WHERE node_id IN (SELECT value FROM json_each(?)) AND own",
        (str([node_id for node_id, _ in nodes]),),
    )
    connection.executemany(
        # A node may list an alias twice; the last one counts.
        "INSERT OR REPLACE INTO aliases VALUES (?, ?, ?, ?, 1)",
        [
            (node_id, alias.text, numbers.maker(alias.maker), float(alias.confidence))
            for node_id, node in nodes
            for alias in node.aliases
        ],
    )


def _write_alias_set(connection: sqlite3.Connection, numbers: Numbers, alias_set: AliasSet) -> set[int]:
    """Replace the maker's aliases in the set's scope and return the nodes whose aliases changed."""
    maker_id = numbers.maker(alias_set.maker)
    changed = set()
    for node_id, wanted in _wanted_aliases(connection, numbers, alias_set).items():
        present = dict(
            connection.execute(
                "SELECT alias, confidence FROM aliases WHERE node_id = ? AND maker_id = ?", (node_id, maker_id)
            ).fetchall()
        )
        # Only what differs is written: a node whose aliases changed makes a new version of the store.
        if present != wanted:
            changed.add(node_id)
            connection.execute("DELETE FROM aliases WHERE node_id = ? AND maker_id = ?", (node_id, maker_id))
            connection.executemany(
                "INSERT INTO aliases VALUES (?, ?, ?, ?, 0)",
                [(node_id, text, maker_id, confidence) for text, confidence in wanted.items()],
            )
    return changed


def write_names(connection: sqlite3.Connection, node_ids: Iterable[int]) -> None:
    """Derive anew the names under which the nodes are found."""
    ids = (str(sorted(node_ids)),)
    aliases: dict[int, list[str]] = {}
    for node_id, alias in connection.execute(
        "SELECT a.node_id, a.alias FROM json_each(?) j CROSS JOIN aliases a ON a.node_id = j.value", ids
    ):
        aliases.setdefault(node_id, []).append(alias)
    nodes = connection.execute(
        "SELECT n.id, n.tenant_id, n.key, n.title FROM json_each(?) j CROSS JOIN nodes n ON n.id = j.value", ids
    )
    rows = [
        (node_id, name, tenant_id)
        for node_id, tenant_id, key, title in nodes
        for name in list_names(key, title, aliases.get(node_id, ()))
    ]
    # Replaced as a whole, because a name may come from the key, the title and an alias at once.
    connection.execute("DELETE FROM names WHERE node_id IN (SELECT value FROM json_each(?))", ids)
    connection.executemany("INSERT INTO names VALUES (?, ?, ?)", rows)


def _wanted_aliases(
    connection: sqlite3.Connection, numbers: Numbers, alias_set: AliasSet
) -> dict[int, dict[str, float]]:
    """Return the aliases that every node in scope shall have from this maker; keys without a node are left out."""
    wanted: dict[int, dict[str, float]] = {}
    if alias_set.scope is None:
        rows = connection.execute(
            "SELECT DISTINCT a.node_id FROM aliases a JOIN nodes n ON n.id = a.node_id"
            " WHERE a.maker_id = ? AND n.tenant_id = ?",
            (numbers.maker(alias_set.maker), numbers.tenant(alias_set.tenant)),
        )
        # A node that the set does not name loses the aliases it had from this maker.
        wanted = {node_id: {} for (node_id,) in rows}
    for key in (*(alias_set.scope or ()), *alias_set.aliases):
        row = connection.execute(
            "SELECT node_id FROM keys WHERE tenant_id = ? AND key = ?", (numbers.tenant(alias_set.tenant), key)
        ).fetchone()
        if row and row[0] is not None:
            wanted[row[0]] = {alias.text: float(alias.confidence) for alias in alias_set.aliases.get(key, ())}
    return wanted
