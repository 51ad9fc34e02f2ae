"""Look up and give out the numbers that stand for names: tenants, kinds, edge types, makers, facets and keys."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from weft.errors import StoreError

_MAX_PACKED_NUMBER: Final = 0xFFFF
"""Neighbour lists keep kinds and edge types in two bytes."""
_VALUES_PER_QUERY: Final = 500
"""Keys that one query looks up. Fewer mean more queries; SQLite before 3.32 takes at most 999 values."""
PLACEHOLDERS: Final = ", ".join("?" * _VALUES_PER_QUERY)


def padded_groups(values: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the values in groups that fill PLACEHOLDERS; the last value is repeated where a group is too short.

    So one prepared statement serves groups of every size.
    """
    for start in range(0, len(values), _VALUES_PER_QUERY):
        group = [*values[start : start + _VALUES_PER_QUERY]]
        yield (*group, *group[-1:] * (_VALUES_PER_QUERY - len(group)))


class Numbers:
    """The numbers that one write uses; made anew for every write, so that a write undone leaves nothing behind."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[str, str], int] = {}
        self._keys: dict[tuple[str, str], int] = {}

    def tenant(self, name: str) -> int:
        """Return the number of a tenant, giving it one if it has none."""
        return self._number("tenants", name)

    def kind(self, name: str) -> int:
        """Return the number of a kind, giving it one if it has none."""
        return checked_number("kinds", name, self._number("kinds", name))

    def edge_type(self, name: str) -> int:
        """Return the number of an edge type, giving it one if it has none."""
        return checked_number("edge_types", name, self._number("edge_types", name))

    def maker(self, name: str) -> int:
        """Return the number of a maker, giving it one if it has none."""
        return self._number("makers", name)

    def facet(self, name: str) -> int:
        """Return the number of a facet, giving it one if it has none."""
        return self._number("facet_names", name)

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


def checked_number(table: str, name: str, number: int) -> int:
    """Return the number, or raise StoreError when neighbour lists cannot hold it."""
    if number > _MAX_PACKED_NUMBER:
        raise StoreError(
            f"{name!r} would be number {number} of {table}; a store holds at most {_MAX_PACKED_NUMBER}. "
            "Kinds and edge types are meant to be few: put what differs from node to node into fields or tags."
        )
    return number


def names_by_number(connection: sqlite3.Connection, table: str) -> dict[int, str]:
    """Return all names of a table by their number."""
    return dict(connection.execute(f"SELECT id, name FROM {table}").fetchall())
