"""Look up what names stand for: numbers of tenants and kinds, what a view may see, nodes by filter or by name.

Views and filters are expressed as SQL conditions. Tables refer to each other by the numbers that stand for names
(tenants, kinds, edge types, makers, facets and keys); one write uses one `Numbers`, and all its parts share it.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import orjson
from msgspec import Struct

from weft.model import Filter, View
from weft.store.changes import NameNumbers
from weft.store.links import (
    INCOMING_JOINS,
    OUTGOING_JOINS,
)
from weft.store.records import (
    MAX_FACET_VALUE_LENGTH,
    Row,
    facet_groups,
    fold_name,
    may_be_made_of,
    to_id,
    to_microseconds,
)

if TYPE_CHECKING:
    from weft.ports.stores import Ids


_VALUES_PER_QUERY: Final = 500
"""Keys that one query looks up. Fewer mean more queries; SQLite before 3.32 takes at most 999 values."""
PLACEHOLDERS: Final = ", ".join("?" * _VALUES_PER_QUERY)


_BEHIND_A_WORD: Final = (("", "0"), (":", "A"), ("[", "_"), ("`", "a"), ("{", "\U0010ffff"))
"""Ranges of what may follow the first word of a folded name: nothing, or what no word is made of."""
WAITING_VECTORS: Final = "unembedded"
"""The name in `meta` of the range of passages that wait: the id after which they begin, and the last one's."""


def padded_groups(values: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the values in groups that fill PLACEHOLDERS; the last value is repeated where a group is too short.

    So one prepared statement serves groups of every size.
    """
    for start in range(0, len(values), _VALUES_PER_QUERY):
        group = [*values[start : start + _VALUES_PER_QUERY]]
        yield (*group, *group[-1:] * (_VALUES_PER_QUERY - len(group)))


class Numbers(NameNumbers):
    """The numbers that one write uses; made anew for every write, so that a write undone leaves nothing behind."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[str, str], int] = {}
        self._keys: dict[tuple[str, str], int] = {}

    def key(self, tenant: str, key: str) -> int:
        """Return the number of a key, giving it one if it has none."""
        found = self._keys.get((tenant, key)) or self.known_key(tenant, key)
        return self.new_key(tenant, key, None) if found is None else found

    def new_key(self, tenant: str, key: str, node_id: int | None) -> int:
        """Give a number to a key that has none yet, and return it."""
        row = self._connection.execute(
            "INSERT INTO keys (tenant_id, key, node_id) VALUES (?, ?, ?)", (self.tenant(tenant), key, node_id)
        )
        return self._keys.setdefault((tenant, key), int(row.lastrowid or 0))

    def known_key(self, tenant: str, key: str) -> int | None:
        """Return the number of a key, or None when no node and no edge has named it yet."""
        row = self._connection.execute(
            "SELECT id FROM keys WHERE tenant_id = ? AND key = ?", (self.tenant(tenant), key)
        ).fetchone()
        return None if row is None else self._keys.setdefault((tenant, key), int(row[0]))

    def known_keys(self, tenant: str, keys: Iterable[str]) -> set[int]:
        """Return the numbers of those keys that a node or an edge has named, looked up with few queries."""
        asked = [(tenant, key) for key in dict.fromkeys(keys)]
        for group in padded_groups([key for _, key in asked if (tenant, key) not in self._keys]):
            rows = self._connection.execute(
                f"SELECT key, id FROM keys WHERE tenant_id = ? AND key IN ({PLACEHOLDERS})",
                (self.tenant(tenant), *group),
            )
            self._keys.update(((tenant, key), number) for key, number in rows)
        return {self._keys[pair] for pair in asked if pair in self._keys}

    def _number(self, table: str, name: str) -> int:
        number = self._known.get((table, name))
        if number is None:
            # Nearly every name is known already, so looking it up first saves a write.
            row = self._connection.execute(f"SELECT id FROM {table} WHERE name = ?", (name,)).fetchone()
            if row is None:
                row = (self._connection.execute(f"INSERT INTO {table} (name) VALUES (?)", (name,)).lastrowid,)
            number = self._known[table, name] = int(row[0] or 0)
        return number


def names_by_number(connection: sqlite3.Connection, table: str) -> dict[int, str]:
    """Return all names of a table by their number."""
    return dict(connection.execute(f"SELECT id, name FROM {table}").fetchall())


# --- views, filters and names of nodes ---------------------------------------------------------------------


class Visibility(Struct, frozen=True):
    """The tenants that a reader may see, by number, and the point in the sequence up to which it knows."""

    tenants: dict[int, str]
    as_of: int | None

    def by_tenant(self, column: str) -> str:
        """Return the condition that a column holds a visible tenant."""
        # Our own numbers may stand in the text of a query; SQLite also takes an empty list, which nothing is in.
        return f"{column} IN ({', '.join(map(str, sorted(self.tenants)))})"

    def of(self, alias: str) -> str:
        """Return the condition that a row with tenant_id and position is visible."""
        tenant = self.by_tenant(f"{alias}.tenant_id")
        # A row without a position has NULL there and fails: nothing says that it is known yet.
        return tenant if self.as_of is None else f"{tenant} AND {alias}.position <= {int(self.as_of)}"


def read_visibility(connection: sqlite3.Connection, view: View | None) -> Visibility:
    """Return what a view may see; None sees all tenants."""
    tenants = names_by_number(connection, "tenants")
    if view is None:
        return Visibility(tenants, None)
    return Visibility({number: name for number, name in tenants.items() if name in view.tenants}, view.as_of)


def matching_ids(connection: sqlite3.Connection, visible: Visibility, filter: Filter) -> "Ids":
    """Return the sorted ids of visible nodes that pass the filter.

    They have one of the kinds, one of the sources, all the tags and all the fields, and lie within the times and
    the sequence. A node without a time or a position in the sequence fails where the filter asks for one.
    """
    # A facet that no node has gets an empty group, and the filter then finds nothing.
    groups = [_facet_ids(connection, group) for group in facet_groups(filter)]
    # The smallest group first: SQLite goes through it and looks the others up by node.
    groups.sort(key=lambda group: _count_nodes(connection, visible, group))
    conditions = list(_conditions(filter))
    if groups:
        query = f"SELECT f.node_id AS value FROM {_facet_rows(visible, groups[0])}"
        for group in groups[1:]:
            query += f" AND EXISTS (SELECT 1 FROM facets g WHERE g.node_id = f.node_id AND g.facet_id IN {group})"
    # Rows of facets know neither times nor positions; only for these are the nodes read.
    if conditions or visible.as_of is not None or not groups:
        among = f" AND n.id IN ({query})" if groups else ""
        query = f"SELECT n.id AS value FROM nodes n WHERE {visible.of('n')}{among}"
    query += "".join(f" AND {condition}" for condition, _ in conditions)
    # One long text is read three times as fast as a row for each id.
    values = [value for _, values in conditions for value in values]
    found = connection.execute(f"SELECT json_group_array(value) FROM ({query})", values).fetchone()[0]
    ids = np.sort(np.array(orjson.loads(found), np.int64))
    # A node may have several facets of one group: a tag as written, and in small letters. `np.unique` would do the
    # same, but loads more of numpy than a hook has time for.
    return ids[np.diff(ids, prepend=-1) > 0]


def _facet_ids(connection: sqlite3.Connection, names: Sequence[str]) -> str:
    found = (connection.execute("SELECT id FROM facet_names WHERE name = ?", (name,)).fetchone() for name in names)
    return f"({', '.join(str(row[0]) for row in found if row)})"


def _count_nodes(connection: sqlite3.Connection, visible: Visibility, group: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {_facet_rows(visible, group)}").fetchone()[0])


def _facet_rows(visible: Visibility, group: str) -> str:
    return f"facets f WHERE f.facet_id IN {group} AND {visible.by_tenant('f.tenant_id')}"


def _conditions(filter: Filter) -> Iterator[tuple[str, list[object]]]:
    """Yield the conditions on a node that facets cannot express, each with its values."""
    time = "coalesce(n.modified, n.created)"
    for condition, value in (
        (f"{time} >= ?", to_microseconds(filter.since)),
        (f"{time} <= ?", to_microseconds(filter.until)),
        ("n.sequence >= ?", filter.sequence_from),
        ("n.sequence <= ?", filter.sequence_to),
    ):
        if value is not None:
            yield condition, [value]
    for name, text in filter.where:
        if len(text) > MAX_FACET_VALUE_LENGTH:
            yield "EXISTS (SELECT 1 FROM json_each(n.fields) v WHERE v.key = ? AND v.value = ?)", [name, text]


def find_nodes_named_by(connection: sqlite3.Connection, visible: Visibility, words: Collection[str]) -> list[int]:
    """Return the ids of the nodes that may have a name made of these words alone, in order."""
    # The empty word stands for names that begin with a mark, such as a quotation mark.
    ranges = [(word + first, word + end) for word in ("", *words) for first, end in _BEHIND_A_WORD]
    rows = connection.execute(
        "SELECT m.node_id, m.name FROM json_each(?) j CROSS JOIN names m"
        " ON m.name >= json_extract(j.value, '$[0]') AND m.name < json_extract(j.value, '$[1]')"
        f" WHERE {visible.by_tenant('m.tenant_id')}",
        (orjson.dumps(ranges).decode(),),
    )
    return sorted({node_id for node_id, name in rows if may_be_made_of(name, words)})


def find_names(
    connection: sqlite3.Connection, visible: Visibility, names: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    """Return ids for each name: the node with that key; else all with that bare key, title or alias; else that id.

    Ids come last because a note called "2024" must not depend on how many nodes were stored before it.
    """

    def find(values: Iterable[object], tables: str) -> dict[object, tuple[int, ...]]:
        """Return the ids of visible nodes by the value that leads to them through the tables."""
        asked = list(dict.fromkeys(values))
        if not asked:
            return {}
        # All at once, because a statement costs as much as several rows.
        encoded = msgspec.json.encode(asked).decode()
        listed: str = "json_each(?)"
        given: list[object] = [encoded]
        if "\\u0000" in encoded:
            # SQLite ends a text in JSON at a zero byte, but not one that is given by itself.
            listed, given = f"(SELECT column1 AS value FROM (VALUES {', '.join(['(?)'] * len(asked))}))", asked
        rows = connection.execute(
            f"SELECT j.value, n.tenant_id, n.key, n.id FROM {listed} j {tables} WHERE {visible.of('n')}", given
        ).fetchall()
        # By tenant name and key: ids depend on the order in which nodes were stored.
        rows.sort(key=lambda row: (visible.tenants[row[1]], row[2]))
        found: dict[object, tuple[int, ...]] = {}
        for value, _, _, node_id in rows:
            found[value] = (*found.get(value, ()), node_id)
        return found

    # The tenant is compared in `keys` too, because its index begins with the tenant. CROSS JOIN goes from the name
    # to its nodes; SQLite might try every node of the tenant instead.
    by_key = find(
        names,
        f"CROSS JOIN keys k ON {visible.by_tenant('k.tenant_id')} AND k.key = j.value"
        " CROSS JOIN nodes n ON n.id = k.node_id",
    )
    folded = {name: fold_name(name) for name in names if name not in by_key}
    by_name = find(
        folded.values(), "CROSS JOIN names s ON s.name = j.value CROSS JOIN nodes n ON n.id = s.node_id"
    )
    numbers = {name: to_id(name) for name in folded if folded[name] not in by_name}
    by_id = find(filter(None, numbers.values()), "CROSS JOIN nodes n ON n.id = j.value")
    found = {name: by_key.get(name) or by_name.get(folded[name]) or by_id.get(numbers[name]) for name in names}
    return {name: ids for name, ids in found.items() if ids}


def read_edges(connection: sqlite3.Connection, owners: str, visible: str, limit: int) -> list[Row]:
    """Return the edges at the owners (a JSON list), strongest first, ties by type, keys, tenants and maker.

    Rows are (source id, target id, source tenant, target tenant, source key, target key, type, weight,
    confidence, evidence).
    """
    columns = (
        "a.id AS source_id, b.id AS target_id, a.tenant_id AS source_tenant, b.tenant_id AS target_tenant,"
        " a.key AS source_key, b.key AS target_key, e.type_id, e.maker_id, e.weight, e.confidence, e.evidence"
    )
    # UNION drops the second copy of an edge that has both ends among the owners.
    both = " UNION ".join(
        f"SELECT {columns} FROM json_each(:owners) o {ends} WHERE {visible}"
        for ends in (OUTGOING_JOINS, INCOMING_JOINS)
    )
    return connection.execute(
        "SELECT l.source_id, l.target_id, l.source_tenant, l.target_tenant, l.source_key, l.target_key, y.name,"
        f" l.weight, l.confidence, l.evidence FROM ({both}) l JOIN edge_types y ON y.id = l.type_id"
        " JOIN makers m ON m.id = l.maker_id JOIN tenants s ON s.id = l.source_tenant"
        " JOIN tenants t ON t.id = l.target_tenant"
        " ORDER BY l.weight DESC, y.name, l.source_key, l.target_key, s.name, t.name, m.name LIMIT :limit",
        {"owners": owners, "limit": limit},
    ).fetchall()


def read_meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return what the store knows of itself, by name: its sequence and identity, who made its vectors."""
    return dict(connection.execute("SELECT name, value FROM meta").fetchall())


def count_waiting(connection: sqlite3.Connection, meta: Mapping[str, Any] | None = None) -> int:
    """Return the number of passages that wait for a vector of the store's embedder."""
    waiting = waiting_range(read_meta(connection) if meta is None else meta)
    if waiting is None:
        return 0
    return int(connection.execute("SELECT count(*) FROM passages WHERE id > ? AND id <= ?", waiting).fetchone()[0])


def waiting_range(meta: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the range of passages that wait for a vector: the id after which it begins, and the last one."""
    if WAITING_VECTORS not in meta:
        return None
    after, last = orjson.loads(meta[WAITING_VECTORS])
    return int(after), int(last)
