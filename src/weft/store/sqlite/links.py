"""Write and read edges: a maker's set replaces the edges that it drew before, and neighbour lists follow.

While a write runs, two temporary tables note what it does to the lists: `stale` holds the nodes whose lists are
derived anew, `fresh` the edges that are merged into the lists of their ends. `refresh_lists` then brings the
lists up to date.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from weft.model import EdgeSet
from weft.store.links import (
    ARC_DTYPE,
    INCOMING_JOINS,
    INWARD_COLUMNS,
    NEW_EDGE_JOINS,
    OUTGOING_JOINS,
    OUTWARD_COLUMNS,
    Arcs,
    EdgeIdentity,
    EdgeStrength,
    compare_edges,
    pack_lists,
    rank_edge_types,
    unpack_lists,
    wanted_edges,
)
from weft.store.records import Row
from weft.store.sqlite.lookup import Numbers

_TEMPORARY_TABLES: Final = (
    "CREATE TEMP TABLE IF NOT EXISTS stale (node_id INTEGER PRIMARY KEY)",
    "CREATE TEMP TABLE IF NOT EXISTS fresh (source_key INTEGER, maker_id INTEGER, type_id INTEGER,"
    " target_key INTEGER, PRIMARY KEY (source_key, maker_id, type_id, target_key)) WITHOUT ROWID",
    # The tables live as long as the writer's connection and may hold rows of an earlier write.
    "DELETE FROM temp.stale",
    "DELETE FROM temp.fresh",
)


# --- noting which lists a write touches ------------------------------------------------------------------


def begin_links(connection: sqlite3.Connection) -> None:
    """Start noting which neighbour lists a write touches."""
    for statement in _TEMPORARY_TABLES:
        connection.execute(statement)


def note_disturbed(connection: sqlite3.Connection, node_ids: Sequence[tuple[int]]) -> None:
    """Note that the lists of these nodes and of all their neighbours must be derived anew."""
    neighbours = (
        "INSERT OR IGNORE INTO temp.stale SELECT k.node_id FROM nodes n CROSS JOIN edges e"
        " ON e.{near}_key = n.key_id CROSS JOIN keys k ON k.id = e.{far}_key"
        " WHERE n.id = ? AND k.node_id IS NOT NULL"
    )
    # One statement a direction: an OR over both columns would use neither index.
    connection.executemany(neighbours.format(near="source", far="target"), node_ids)
    connection.executemany(neighbours.format(near="target", far="source"), node_ids)
    connection.executemany("INSERT OR IGNORE INTO temp.stale VALUES (?)", node_ids)


def note_appeared(connection: sqlite3.Connection, key_ids: Sequence[tuple[int]]) -> None:
    """Note that edges at these keys, drawn before the keys had a node, lead somewhere now."""
    for end in ("source", "target"):
        connection.executemany(
            "INSERT OR IGNORE INTO temp.fresh SELECT source_key, maker_id, type_id, target_key FROM edges"
            f" WHERE {end}_key = ?",
            key_ids,
        )


def note_crossing(connection: sqlite3.Connection, tenant_id: int) -> None:
    """Note that the lists at both ends of every edge from this tenant into another must be derived anew."""
    for end in ("a", "b"):
        connection.execute(
            f"INSERT OR IGNORE INTO temp.stale SELECT {end}.node_id FROM keys a CROSS JOIN edges e"
            " ON e.source_key = a.id CROSS JOIN keys b ON b.id = e.target_key WHERE a.tenant_id = ?"
            f" AND b.tenant_id <> a.tenant_id AND {end}.node_id IS NOT NULL",
            (tenant_id,),
        )


def refresh_lists(connection: sqlite3.Connection, types: Mapping[int, str]) -> None:
    """Derive the lists of temp.stale anew and merge the edges of temp.fresh into the other lists.

    Merging keeps a hub cheap: an added edge never needs the hub's other edges, only its list and its degree.
    """
    rebuilt = read_arcs(connection, "(SELECT node_id AS value FROM temp.stale)", ())
    # A node that lost its last neighbour gets no new row, so its old one must go.
    connection.execute("DELETE FROM adjacency WHERE node_id IN (SELECT node_id FROM temp.stale)")
    added = _read_fresh_arcs(connection)
    stored = connection.execute(
        "SELECT l.node_id, l.owner_tenant_id, l.tenant_id, l.degree, l.packed FROM json_each(?) j"
        " CROSS JOIN adjacency l ON l.node_id = j.value",
        (str(np.unique(added["owner"]).tolist()),),
    ).fetchall()
    kept, hidden = unpack_lists(stored)
    rows = pack_lists(np.concatenate([rebuilt, added, kept]), hidden, rank_edge_types(types))
    connection.executemany("INSERT OR REPLACE INTO adjacency VALUES (?, ?, ?, ?, ?)", rows)


def _read_fresh_arcs(connection: sqlite3.Connection) -> Arcs:
    # Deriving a stale node's list anew has found its fresh edges already.
    stale = "NOT IN (SELECT node_id FROM temp.stale)"
    rows = connection.execute(
        f"SELECT {OUTWARD_COLUMNS} FROM temp.fresh o {NEW_EDGE_JOINS} WHERE a.id {stale}"
        f" UNION ALL SELECT {INWARD_COLUMNS} FROM temp.fresh o {NEW_EDGE_JOINS}"
        f" WHERE b.id {stale} AND a.id <> b.id"
    ).fetchall()
    return np.array(rows, dtype=ARC_DTYPE)


# --- reading edges ---------------------------------------------------------------------------------------


def read_arcs(connection: sqlite3.Connection, owners: str, parameters: Row, visible: str = "1") -> Arcs:
    """Return every edge end at the owners, a self-edge once; `owners` is a table with a column `value`.

    `visible` is a condition on the nodes a (where the edge starts) and b (where it leads).
    """
    outward = f"SELECT {OUTWARD_COLUMNS} FROM {owners} o {OUTGOING_JOINS} WHERE {visible}"
    inward = f"SELECT {INWARD_COLUMNS} FROM {owners} o {INCOMING_JOINS} WHERE a.id <> b.id AND {visible}"
    rows = connection.execute(outward, parameters).fetchall() + connection.execute(inward, parameters).fetchall()
    return np.array(rows, dtype=ARC_DTYPE)


# --- writing a maker's edges -----------------------------------------------------------------------------


def write_edge_set(connection: sqlite3.Connection, numbers: Numbers, edge_set: EdgeSet) -> bool:
    """Replace the maker's edges in the set's scope and return whether anything changed."""
    wanted = wanted_edges(numbers, edge_set)
    # Keys of the scope that nothing has named yet have no edges to lose.
    scope = None if edge_set.scope is None else numbers.known_keys(edge_set.tenant, edge_set.scope)
    change = compare_edges(_read_present(connection, numbers, edge_set, scope, wanted), wanted, scope)
    # A weaker edge may let in one that the list had no room for; only all edges can tell which.
    ends = {(key_id,) for edge in change.weakened for key_id in (edge[0], edge[3])}
    connection.executemany(
        "INSERT OR IGNORE INTO temp.stale SELECT node_id FROM keys WHERE id = ? AND node_id IS NOT NULL",
        sorted(ends),
    )
    connection.executemany(
        "DELETE FROM edges WHERE source_key = ? AND maker_id = ? AND type_id = ? AND target_key = ?", change.gone
    )
    connection.executemany(
        "INSERT INTO edges VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET weight = excluded.weight,"
        " confidence = excluded.confidence, evidence = excluded.evidence",
        [(*edge, *wanted[edge]) for edge in (*change.altered, *change.new)],
    )
    # Lists hold neither confidence nor evidence, so edges that changed only there are not merged anew.
    connection.executemany("INSERT OR IGNORE INTO temp.fresh VALUES (?, ?, ?, ?)", change.new)
    return bool(change)


def _read_present(
    connection: sqlite3.Connection,
    numbers: Numbers,
    edge_set: EdgeSet,
    scope: set[int] | None,
    wanted: Iterable[EdgeIdentity],
) -> dict[EdgeIdentity, EdgeStrength]:
    """Return the maker's edges that the set may replace: all of its tenant, or those that start in its scope."""
    columns = "e.source_key, e.maker_id, e.type_id, e.target_key, e.weight, e.confidence, e.evidence"
    maker_id = numbers.maker(edge_set.maker)
    if scope is None:
        rows = connection.execute(
            f"SELECT {columns} FROM edges e CROSS JOIN keys k ON k.id = e.source_key"
            " WHERE e.maker_id = ? AND k.tenant_id = ?",
            (maker_id, numbers.tenant(edge_set.tenant)),
        ).fetchall()
    else:
        # A set may draw edges from keys outside its scope: these are compared too, but none of them is removed.
        key_ids = sorted(scope | {edge[0] for edge in wanted})
        rows = connection.execute(
            f"SELECT {columns} FROM json_each(?) j CROSS JOIN edges e ON e.source_key = j.value"
            " AND e.maker_id = ?",
            (str(key_ids), maker_id),
        ).fetchall()
    return {row[:4]: row[4:] for row in rows}
