"""Numbers for names: tenants, kinds, edge types, makers, facets and keys, looked up once per write."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from weft.errors import StoreError

_MOST_PACKED: Final = 0xFFFF  # neighbour lists keep kinds and edge types in two bytes


AT_ONCE: Final = 500
MARKS: Final = ", ".join("?" * AT_ONCE)


def padded(values: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The values in groups that fill MARKS; the last one is repeated, so that one statement serves them all."""
    for start in range(0, len(values), AT_ONCE):
        some = [*values[start : start + AT_ONCE]]
        yield (*some, *some[-1:] * (AT_ONCE - len(some)))


class Numbers:
    """The numbers one write uses; made anew for every write, so that a write undone leaves nothing behind."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[str, str], int] = {}
        self._keys: dict[tuple[str, str], int] = {}

    def tenant(self, name: str) -> int:
        """The number of a tenant, given now if it has none."""
        return self._number("tenants", name)

    def kind(self, name: str) -> int:
        """The number of a kind, given now if it has none."""
        return self._packable("kinds", name)

    def edge_type(self, name: str) -> int:
        """The number of an edge type, given now if it has none."""
        return self._packable("edge_types", name)

    def maker(self, name: str) -> int:
        """The number of a maker, given now if it has none."""
        return self._number("makers", name)

    def facet(self, name: str) -> int:
        """The number of a facet, given now if it has none."""
        return self._number("facet_names", name)

    def key(self, tenant: str, key: str) -> int:
        """The number of a key, given now if it has none."""
        found = self._keys.get((tenant, key)) or self.known_key(tenant, key)
        return self.new_key(tenant, key, None) if found is None else found

    def new_key(self, tenant: str, key: str, node_id: int | None) -> int:
        """The number given to a key that has none yet."""
        row = self._connection.execute(
            "INSERT INTO keys (tenant_id, key, node_id) VALUES (?, ?, ?)", (self.tenant(tenant), key, node_id)
        )
        return self._keys.setdefault((tenant, key), int(row.lastrowid or 0))

    def known_key(self, tenant: str, key: str) -> int | None:
        """The number of a key, or None when no node and no edge has named it yet."""
        row = self._connection.execute(
            "SELECT id FROM keys WHERE tenant_id = ? AND key = ?", (self.tenant(tenant), key)
        ).fetchone()
        return None if row is None else self._keys.setdefault((tenant, key), int(row[0]))

    def known_keys(self, tenant: str, keys: Iterable[str]) -> set[int]:
        """The numbers of those keys that a node or an edge has named, learned all at once."""
        asked = [(tenant, key) for key in dict.fromkeys(keys)]
        for some in padded([key for _, key in asked if (tenant, key) not in self._keys]):
            rows = self._connection.execute(
                f"SELECT key, id FROM keys WHERE tenant_id = ? AND key IN ({MARKS})", (self.tenant(tenant), *some)
            )
            self._keys.update(((tenant, key), number) for key, number in rows)
        return {self._keys[each] for each in asked if each in self._keys}

    def _number(self, table: str, name: str) -> int:
        number = self._known.get((table, name))
        if number is None:
            row = self._connection.execute(f"SELECT id FROM {table} WHERE name = ?", (name,)).fetchone()
            if row is None:
                row = (self._connection.execute(f"INSERT INTO {table} (name) VALUES (?)", (name,)).lastrowid,)
            number = self._known[table, name] = int(row[0] or 0)
        return number

    def _packable(self, table: str, name: str) -> int:
        return checked_number(table, name, self._number(table, name))


def checked_number(table: str, name: str, number: int) -> int:
    """The number, if neighbour lists can hold it."""
    if number > _MOST_PACKED:
        raise StoreError(
            f"{name!r} would be number {number} of {table}; a store holds at most {_MOST_PACKED}. "
            "Kinds and edge types are meant to be few: put what differs from node to node into fields or tags."
        )
    return number


def names_by_number(connection: sqlite3.Connection, table: str) -> dict[int, str]:
    """All names of a table by their number."""
    return dict(connection.execute(f"SELECT id, name FROM {table}").fetchall())
