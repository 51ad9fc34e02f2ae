"""Writing edges: a maker's set replaces what it drew before, and the touched neighbour lists are noted."""

import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

from weft.errors import InvalidInput
from weft.model import Edge, EdgeSet
from weft.store.sqlite.numbers import Numbers

Identity: TypeAlias = tuple[int, int, int, int]  # source key, maker, type, target key
Strength: TypeAlias = tuple[float, float, str]  # weight, confidence, evidence

_HEAVIEST: Final = 3.4028234e38
"""Lists of neighbours keep weights in 32 bits."""
_TEMPORARY: Final = (
    "CREATE TEMP TABLE IF NOT EXISTS stale (node_id INTEGER PRIMARY KEY)",
    "CREATE TEMP TABLE IF NOT EXISTS fresh (source_key INTEGER, maker_id INTEGER, type_id INTEGER,"
    " target_key INTEGER, PRIMARY KEY (source_key, maker_id, type_id, target_key)) WITHOUT ROWID",
    "DELETE FROM temp.stale",
    "DELETE FROM temp.fresh",
)


def begin_links(connection: sqlite3.Connection) -> None:
    """Start noting which neighbour lists a write touches."""
    for statement in _TEMPORARY:
        connection.execute(statement)


def note_disturbed(connection: sqlite3.Connection, node_ids: Sequence[tuple[int]]) -> None:
    """The lists of these nodes and of all their neighbours must be derived anew."""
    neighbours = (
        "INSERT OR IGNORE INTO temp.stale SELECT k.node_id FROM nodes n CROSS JOIN edges e"
        " ON e.{near}_key = n.key_id CROSS JOIN keys k ON k.id = e.{far}_key"
        " WHERE n.id = ? AND k.node_id IS NOT NULL"
    )
    connection.executemany(neighbours.format(near="source", far="target"), node_ids)
    connection.executemany(neighbours.format(near="target", far="source"), node_ids)
    connection.executemany("INSERT OR IGNORE INTO temp.stale VALUES (?)", node_ids)


def note_appeared(connection: sqlite3.Connection, key_ids: Sequence[tuple[int]]) -> None:
    """Edges that named these keys before there was a node lead somewhere now."""
    for end in ("source", "target"):
        connection.executemany(
            "INSERT OR IGNORE INTO temp.fresh SELECT source_key, maker_id, type_id, target_key FROM edges"
            f" WHERE {end}_key = ?",
            key_ids,
        )


def note_crossing(connection: sqlite3.Connection, tenant_id: int) -> None:
    """The lists at both ends of every edge that leads from this tenant into another must be derived anew."""
    for end in ("a", "b"):
        connection.execute(
            f"INSERT OR IGNORE INTO temp.stale SELECT {end}.node_id FROM keys a CROSS JOIN edges e"
            " ON e.source_key = a.id CROSS JOIN keys b ON b.id = e.target_key WHERE a.tenant_id = ?"
            f" AND b.tenant_id <> a.tenant_id AND {end}.node_id IS NOT NULL",
            (tenant_id,),
        )


def write_edge_set(connection: sqlite3.Connection, numbers: Numbers, given: EdgeSet) -> bool:
    """Replace the maker's edges in the set's scope and return whether anything changed."""
    wanted = wanted_edges(numbers, given)
    change = edge_changes(_present(connection, numbers, given, wanted), wanted, _scope(numbers, given))
    _note_ends(connection, change.weakened)
    _delete(connection, change.gone)
    _insert(connection, [(*edge, *wanted[edge]) for edge in (*change.altered, *change.new)])
    connection.executemany("INSERT OR IGNORE INTO temp.fresh VALUES (?, ?, ?, ?)", change.new)
    return bool(change)


class EdgeChanges(NamedTuple):
    """What writing a set does: edges that go, that say something else, and that are new."""

    gone: list[Identity]
    altered: list[Identity]
    new: list[Identity]
    weakened: list[Identity]
    """Those gone or with another weight, whose ends need their neighbour lists derived anew."""

    def __bool__(self) -> bool:
        return bool(self.gone or self.altered or self.new)


def edge_changes(
    present: Mapping[Identity, Strength], wanted: Mapping[Identity, Strength], scope: set[int] | None
) -> EdgeChanges:
    """How the present edges of a maker become the wanted ones; `scope` are the source keys that may lose edges."""
    gone = [edge for edge in present if edge not in wanted and (scope is None or edge[0] in scope)]
    altered = [edge for edge in wanted if edge in present and present[edge] != wanted[edge]]
    new = [edge for edge in wanted if edge not in present]
    weakened = gone + [edge for edge in altered if present[edge][0] != wanted[edge][0]]
    return EdgeChanges(gone, altered, new, weakened)


class EdgeNumbers(Protocol):
    """The numbers that edges are written under, given where there is none yet."""

    def maker(self, name: str) -> int: ...

    def edge_type(self, name: str) -> int: ...

    def key(self, tenant: str, key: str) -> int: ...

    def known_keys(self, tenant: str, keys: Iterable[str]) -> set[int]: ...


def wanted_edges(numbers: EdgeNumbers, given: EdgeSet) -> dict[Identity, Strength]:
    """The edges of a set by their numbers, each once and at its strongest; refuses what no store can hold."""
    maker_id = numbers.maker(given.maker)
    wanted: dict[Identity, Strength] = {}
    numbers.known_keys(given.tenant, [key for edge in given.edges for key in (edge.source, edge.target)])
    for edge in given.edges:
        if edge.tenant != given.tenant or not (abs(edge.weight) <= _HEAVIEST and math.isfinite(edge.confidence)):
            raise _refused(edge, given)
        target_tenant = given.tenant if edge.target_tenant is None else edge.target_tenant
        source_key = numbers.key(given.tenant, edge.source)
        identity = (source_key, maker_id, numbers.edge_type(edge.type), numbers.key(target_tenant, edge.target))
        strength = (float(edge.weight), float(edge.confidence), edge.evidence)
        wanted[identity] = max(strength, wanted.get(identity, strength))
    return wanted


def _refused(edge: Edge, given: EdgeSet) -> InvalidInput:
    where = f"The edge {edge.source!r} -> {edge.target!r} ({edge.type}) by {given.maker!r}"
    if edge.tenant != given.tenant:
        return InvalidInput(
            f"{where} says tenant {edge.tenant!r}, its set says {given.tenant!r}. "
            "An edge starts in the tenant of its set: give both the same one."
        )
    return InvalidInput(
        f"{where} has weight {edge.weight} and confidence {edge.confidence}. "
        f"Allowed are finite numbers, and weights up to {_HEAVIEST:g}: leave the edge out or correct them."
    )


def _scope(numbers: Numbers, given: EdgeSet) -> set[int] | None:
    return None if given.scope is None else numbers.known_keys(given.tenant, given.scope)


def _present(
    connection: sqlite3.Connection, numbers: Numbers, given: EdgeSet, wanted: Iterable[Identity]
) -> dict[Identity, Strength]:
    columns = "e.source_key, e.maker_id, e.type_id, e.target_key, e.weight, e.confidence, e.evidence"
    maker_id = numbers.maker(given.maker)
    if given.scope is None:
        rows = connection.execute(
            f"SELECT {columns} FROM edges e CROSS JOIN keys k ON k.id = e.source_key"
            " WHERE e.maker_id = ? AND k.tenant_id = ?",
            (maker_id, numbers.tenant(given.tenant)),
        ).fetchall()
    else:
        key_ids = sorted(numbers.known_keys(given.tenant, given.scope) | {edge[0] for edge in wanted})
        rows = connection.execute(
            f"SELECT {columns} FROM json_each(?) j CROSS JOIN edges e ON e.source_key = j.value"
            " AND e.maker_id = ?",
            (str(key_ids), maker_id),
        ).fetchall()
    return {row[:4]: row[4:] for row in rows}


def _note_ends(connection: sqlite3.Connection, edges: Sequence[Identity]) -> None:
    ends = {(key_id,) for edge in edges for key_id in (edge[0], edge[3])}
    connection.executemany(
        "INSERT OR IGNORE INTO temp.stale SELECT node_id FROM keys WHERE id = ? AND node_id IS NOT NULL",
        sorted(ends),
    )


def _delete(connection: sqlite3.Connection, edges: Sequence[Identity]) -> None:
    connection.executemany(
        "DELETE FROM edges WHERE source_key = ? AND maker_id = ? AND type_id = ? AND target_key = ?", edges
    )


def _insert(connection: sqlite3.Connection, rows: Sequence[tuple[int, int, int, int, float, float, str]]) -> None:
    connection.executemany(
        "INSERT INTO edges VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET weight = excluded.weight,"
        " confidence = excluded.confidence, evidence = excluded.evidence",
        rows,
    )
