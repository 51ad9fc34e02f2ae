"""Apply one write: nodes, aliases, edges, units and importance, with all that is derived, in one transaction.

Called by `PostgresStore.write` under the write lock; `nodes` and `links` write their parts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import orjson

from weft.model import AliasSet, Node
from weft.ports import Changes
from weft.store.changes import touched_tenants
from weft.store.postgres.connection import Connection, CopyTarget, copy_rows, fetch_rows
from weft.store.postgres.encode import bigint_array, digest
from weft.store.postgres.links import TouchedLists, write_edge_set
from weft.store.postgres.lookup import Numbers, key_columns, names_by_number
from weft.store.postgres.nodes import NodeWriter, stored_keys
from weft.store.records import list_names
from weft.store.statistics import Counts, StatisticsDelta, net_terms

_SAME_IMPORTANCE: Final = 1e-9
"""A difference below this is rounding: writing it would make pages and caches stale for nothing."""
_ALIASES: Final = CopyTarget(
    "aliases", node_id="int8", tenant_id="int4", maker_id="int4", confidence="float8", own="bool", alias="text"
)
_NAMES: Final = CopyTarget("names", node_id="int8", tenant_id="int4", digest="int8", name="text")


def apply_changes(connection: Connection, changes: Changes) -> int:
    """Apply the changes inside the caller's transaction and return the sequence number after them."""
    sequence, last_key = _lock_state(connection)
    numbers, statistics, touched = Numbers(connection, last_key), StatisticsDelta(), TouchedLists(connection)
    writer = NodeWriter(connection, numbers, statistics, touched, sequence + 1)
    # Nodes come first, because aliases and edges refer to their numbers.
    nodes_changed, written = writer.write(changes)
    _write_own_aliases(connection, numbers, [(item.node_id, item.prepared.node) for item in written])
    renamed: set[int] = set()
    for alias_set in changes.aliases:
        renamed |= _write_alias_set(connection, numbers, alias_set)
    # Names follow once keys, titles and aliases are all written.
    write_names(connection, renamed.union(item.node_id for item in written))
    numbers.assign_numbers("makers", (edge_set.maker for edge_set in changes.edges))
    # A list and not any(): every set must be written, whatever the one before changed.
    edges_changed = [write_edge_set(connection, numbers, touched, edge_set) for edge_set in changes.edges]
    importance_changed = _write_importance(connection, numbers, changes.importance)
    _write_units(connection, numbers, changes.units)
    connection.execute(
        # Even where nothing else changed, because numbers of keys may have been given out.
        "UPDATE state SET last_node = %s, last_passage = %s, last_key = %s",
        (writer.last_node, writer.last_passage, numbers.last_key),
    )
    if not (nodes_changed or renamed or any(edges_changed) or importance_changed):
        return sequence
    # Derived last, from nodes and edges as they stay.
    _apply_statistics(connection, statistics)
    touched.refresh(names_by_number(connection, "edge_types"))
    return next_sequence(connection, map(numbers.tenant, touched_tenants(changes)))


def _lock_state(connection: Connection) -> tuple[int, int]:
    """Return the sequence and the last number of a key, and lock their row so that writers cannot overlap."""
    (row,) = fetch_rows(connection, "SELECT sequence, last_key FROM state FOR UPDATE")
    return row[0], row[1]


def next_sequence(connection: Connection, tenants: Iterable[int]) -> int:
    """Take and return the next sequence number, and record it as the version of the tenants that were touched."""
    (row,) = fetch_rows(connection, "UPDATE state SET sequence = sequence + 1 RETURNING sequence")
    connection.execute(
        "INSERT INTO tenant_versions SELECT unnest(%s::integer[]), %s"
        " ON CONFLICT (tenant_id) DO UPDATE SET sequence = excluded.sequence",
        (list(tenants), row[0]),
    )
    return int(row[0])


def declare_shared(connection: Connection, tenant: str, shared: Iterable[str]) -> None:
    """Replace the tenants that a tenant's edges may lead to, and refresh the neighbour lists across tenants."""
    _, last_key = _lock_state(connection)
    numbers, touched = Numbers(connection, last_key), TouchedLists(connection)
    tenant_id = numbers.tenant(tenant)
    wanted = {numbers.tenant(name) for name in shared} - {tenant_id}
    rows = fetch_rows(connection, "SELECT shared_id FROM shared WHERE tenant_id = %s", (tenant_id,))
    # Declaring the same again must not make a new version of the store.
    if wanted == {shared_id for (shared_id,) in rows}:
        return
    touched.note_crossing(tenant_id)
    connection.execute("DELETE FROM shared WHERE tenant_id = %s", (tenant_id,))
    connection.execute("INSERT INTO shared SELECT %s, unnest(%s::integer[])", (tenant_id, sorted(wanted)))
    touched.refresh(names_by_number(connection, "edge_types"))
    next_sequence(connection, [tenant_id])


def _write_importance(
    connection: Connection, numbers: Numbers, importance: Mapping[tuple[str, str], float]
) -> bool:
    """Set importance and return whether any changed.

    The nodes stay untouched: searches do not depend on importance, so nothing is indexed again.
    """
    if not importance:
        return False
    numbers.assign_numbers("tenants", (tenant for tenant, _ in importance))
    keys = key_columns([(numbers.tenant(tenant), key) for tenant, key in importance])
    changed = connection.execute(
        "UPDATE marks m SET value = o.value FROM unnest(%s::integer[], %s::bigint[], %s::text[],"
        " %s::double precision[]) o(tenant_id, digest, key, value) JOIN keys k"
        " ON k.digest = o.digest AND k.tenant_id = o.tenant_id AND k.key = o.key WHERE m.node_id = k.node_id"
        f" AND abs(m.value - o.value) > {_SAME_IMPORTANCE}",
        (*keys, list(map(float, importance.values()))),
    )
    return changed.rowcount > 0


def _write_units(connection: Connection, numbers: Numbers, units: Sequence[tuple[str, str, str, str]]) -> None:
    if not units:
        return
    numbers.assign_numbers("tenants", (tenant for tenant, *_ in units))
    # A unit that is named twice gets its last stamp, as if the two had been written one after the other.
    stamps = {(numbers.tenant(tenant), source, unit): stamp for tenant, source, unit, stamp in units}
    columns: list[list[Any]] = [list(column) for column in zip(*stamps, strict=True)]
    connection.execute(
        "DELETE FROM units u USING unnest(%s::integer[], %s::text[], %s::text[]) o(tenant_id, source, unit)"
        " WHERE u.tenant_id = o.tenant_id AND md5(u.source) = md5(o.source) AND md5(u.unit) = md5(o.unit)",
        columns,
    )
    connection.execute(
        "INSERT INTO units SELECT o.* FROM unnest(%s::integer[], %s::text[], %s::text[], %s::text[])"
        " o(tenant_id, source, unit, stamp) WHERE o.stamp <> ''",
        [*columns, list(stamps.values())],
    )


# --- statistics ------------------------------------------------------------------------------------------


def _apply_statistics(connection: Connection, statistics: StatisticsDelta) -> None:
    """Add the changes to the stored statistics, in the same few statements for any number of tenants."""
    deltas = statistics.by_tenant()
    if not deltas:
        return
    totals = np.array([(tenant, delta.nodes, delta.passages, delta.length) for tenant, delta in deltas], np.int64)
    connection.execute(
        "INSERT INTO tenant_statistics AS t SELECT * FROM unnest(%s::integer[], %s::bigint[], %s::bigint[],"
        " %s::bigint[]) ON CONFLICT (tenant_id) DO UPDATE SET nodes = t.nodes + excluded.nodes,"
        " passages = t.passages + excluded.passages, total_length = t.total_length + excluded.total_length",
        list(totals.T),
    )
    terms = [net_terms(delta) for _, delta in deltas]
    owners = np.repeat(totals[:, 0], [len(hashes) for hashes, _ in terms])
    hashes, change = (np.concatenate(column).astype(np.int64) for column in zip(*terms, strict=True))
    _apply_terms(connection, owners, hashes, change)


def _apply_terms(connection: Connection, owners: Counts, hashes: Counts, change: Counts) -> None:
    connection.execute(
        "INSERT INTO term_statistics AS t SELECT * FROM unnest(%s::integer[], %s::bigint[], %s::bigint[])"
        " ON CONFLICT (tenant_id, term_hash) DO UPDATE SET frequency = t.frequency + excluded.frequency",
        (owners, hashes, change),
    )
    fewer = change < 0
    if fewer.any():
        # Only a term that lost passages can have reached zero.
        connection.execute(
            "DELETE FROM term_statistics t USING unnest(%s::integer[], %s::bigint[]) o(tenant_id, term_hash)"
            " WHERE t.tenant_id = o.tenant_id AND t.term_hash = o.term_hash AND t.frequency = 0",
            (owners[fewer], hashes[fewer]),
        )


# --- aliases ---------------------------------------------------------------------------------------------


def _write_own_aliases(connection: Connection, numbers: Numbers, nodes: Sequence[tuple[int, Node]]) -> None:
    """Replace the aliases that came with the nodes themselves; those from linkers stay."""
    ids = bigint_array(node_id for node_id, _ in nodes)
    connection.execute("DELETE FROM aliases WHERE node_id = ANY(%s) AND own", (ids,))
    numbers.assign_numbers("makers", (alias.maker for _, node in nodes for alias in node.aliases))
    # A dict keeps the last of aliases that a node lists twice: the table has no constraint to refuse them.
    rows = {
        (node_id, alias.text, alias.maker): (
            *(node_id, numbers.tenant(node.tenant), numbers.maker(alias.maker)),
            *(float(alias.confidence), True, alias.text),
        )
        for node_id, node in nodes
        for alias in node.aliases
    }
    copy_rows(connection, _ALIASES, rows.values())


def _write_alias_set(connection: Connection, numbers: Numbers, alias_set: AliasSet) -> set[int]:
    """Replace the maker's aliases in the set's scope and return the nodes whose aliases changed."""
    maker_id, tenant_id = numbers.maker(alias_set.maker), numbers.tenant(alias_set.tenant)
    wanted = _wanted_aliases(connection, maker_id, tenant_id, alias_set)
    present: dict[int, dict[str, float]] = {node_id: {} for node_id in wanted}
    for node_id, alias, confidence in fetch_rows(
        connection,
        "SELECT node_id, alias, confidence FROM aliases WHERE node_id = ANY(%s) AND maker_id = %s",
        (bigint_array(wanted), maker_id),
    ):
        present[node_id][alias] = confidence
    # Only what differs is written: nodes whose aliases changed count as changed, and so does the store.
    changed = {node_id for node_id in wanted if present[node_id] != wanted[node_id]}
    connection.execute(
        "DELETE FROM aliases WHERE node_id = ANY(%s) AND maker_id = %s", (bigint_array(changed), maker_id)
    )
    rows = [
        (node_id, tenant_id, maker_id, confidence, False, text)
        for node_id in sorted(changed)
        for text, confidence in wanted[node_id].items()
    ]
    copy_rows(connection, _ALIASES, rows)
    return changed


def write_names(connection: Connection, node_ids: Iterable[int]) -> None:
    """Derive anew the names under which the nodes are found, and the packed aliases that are read with them."""
    ids = bigint_array(sorted(node_ids))
    if not len(ids):
        return
    aliases: dict[int, list[tuple[str, str, float]]] = {}
    for node_id, *alias in fetch_rows(
        connection,
        "SELECT DISTINCT a.node_id, a.alias, m.name, a.confidence FROM aliases a JOIN makers m"
        " ON m.id = a.maker_id WHERE a.node_id = ANY(%s)",
        (ids,),
    ):
        aliases.setdefault(node_id, []).append(tuple(alias))
    nodes = fetch_rows(connection, "SELECT id, tenant_id, key, title FROM nodes WHERE id = ANY(%s)", (ids,))
    connection.execute("DELETE FROM names WHERE node_id = ANY(%s)", (ids,))
    copy_rows(
        connection,
        _NAMES,
        [
            (node_id, tenant_id, digest(name), name)
            for node_id, tenant_id, key, title in nodes
            for name in list_names(key, title, [alias[0] for alias in aliases.get(node_id, ())])
        ],
    )
    connection.execute(
        "UPDATE marks m SET aliases = o.aliases FROM unnest(%s::bigint[], %s::text[]) o(node_id, aliases)"
        " WHERE m.node_id = o.node_id AND m.aliases IS DISTINCT FROM o.aliases",
        (ids, [_pack(aliases.get(node_id)) for node_id in ids.tolist()]),
    )


def _pack(aliases: list[tuple[str, str, float]] | None) -> str | None:
    return orjson.dumps(sorted(aliases)).decode() if aliases else None


def _wanted_aliases(
    connection: Connection, maker_id: int, tenant_id: int, alias_set: AliasSet
) -> dict[int, dict[str, float]]:
    """Return the aliases that every node in scope shall have from this maker; keys without a node are skipped."""
    wanted: dict[int, dict[str, float]] = {}
    if alias_set.scope is None:
        rows = fetch_rows(
            connection,
            "SELECT DISTINCT node_id FROM aliases WHERE maker_id = %s AND tenant_id = %s",
            (maker_id, tenant_id),
        )
        wanted = {node_id: {} for (node_id,) in rows}
    keys = list(dict.fromkeys((*(alias_set.scope or ()), *alias_set.aliases)))
    stored = stored_keys(connection, [(tenant_id, key) for key in keys])
    for key in keys:
        node_id = stored[tenant_id, key].node_id if (tenant_id, key) in stored else None
        if node_id is not None:
            wanted[node_id] = {alias.text: float(alias.confidence) for alias in alias_set.aliases.get(key, ())}
    return wanted
