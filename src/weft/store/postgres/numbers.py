"""Look up and give out the numbers that stand for names: tenants, kinds, edge types, makers, facets and keys.

Tables refer to each other by these numbers. One write uses one `Numbers`, and every part of the write shares it.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from weft.store.postgres.connection import Connection, CopyTarget, copy_rows, fetch_rows
from weft.store.postgres.encode import bigint_array, digest
from weft.store.sqlite.numbers import checked_number

if TYPE_CHECKING:
    from weft.ports.stores import Ids


KEYS: Final = CopyTarget("keys", id="int8", tenant_id="int4", digest="int8", node_id="int8", key="text")

TenantKey: TypeAlias = tuple[str, str]
"""(tenant, key)."""


def key_columns(keys: Sequence[tuple[int, str]]) -> tuple["Ids", "Ids", list[str]]:
    """Return (tenant number, key) pairs by column, with the digest by which keys are indexed in the middle."""
    texts = [key for _, key in keys]
    return bigint_array(tenant for tenant, _ in keys), bigint_array(map(digest, texts)), texts


class Numbers:
    """The numbers one write uses; made anew for every write, so that a write undone leaves nothing behind."""

    def __init__(self, connection: Connection, last_key: int) -> None:
        self._connection = connection
        self.last_key = last_key
        self._known: dict[tuple[str, str], int] = {}
        self._keys: dict[TenantKey, int] = {}

    def assign_numbers(self, table: str, names: Iterable[str]) -> None:
        """Give each of these names a number if it has none, all in a few round trips."""
        unknown = sorted({name for name in names if (table, name) not in self._known})
        if not unknown:
            return
        self._look_up(table, unknown)
        fresh = [name for name in unknown if (table, name) not in self._known]
        if fresh:
            self._connection.execute(f"INSERT INTO {table} (name) SELECT unnest(%s::text[])", (fresh,))
            self._look_up(table, fresh)

    def _look_up(self, table: str, names: list[str]) -> None:
        # By digest: an index of the server refuses values as long as some names are.
        rows = fetch_rows(
            self._connection,
            f"SELECT t.name, t.id FROM unnest(%s::text[]) o(name) JOIN {table} t ON md5(t.name) = md5(o.name)",
            (names,),
        )
        self._known.update(((table, name), number) for name, number in rows)

    def _number(self, table: str, name: str) -> int:
        if (table, name) not in self._known:
            self.assign_numbers(table, [name])
        return self._known[table, name]

    def tenant(self, name: str) -> int:
        """Return the number of a tenant, assigned now if it has none."""
        return self._number("tenants", name)

    def kind(self, name: str) -> int:
        """Return the number of a kind, assigned now if it has none."""
        return checked_number("kinds", name, self._number("kinds", name))

    def edge_type(self, name: str) -> int:
        """Return the number of an edge type, assigned now if it has none."""
        return checked_number("edge_types", name, self._number("edge_types", name))

    def maker(self, name: str) -> int:
        """Return the number of a maker, assigned now if it has none."""
        return self._number("makers", name)

    def facet(self, name: str) -> int:
        """Return the number of a facet, assigned now if it has none."""
        return self._number("facet_names", name)

    # --- keys --------------------------------------------------------------------------------------------

    def remember_key(self, tenant: str, key: str, number: int) -> None:
        """Remember the number of a key that was read elsewhere."""
        self._keys[tenant, key] = number

    def next_key(self, tenant: str, key: str) -> int:
        """Return the next free number, for a key whose row the caller is about to write."""
        self.last_key += 1
        self.remember_key(tenant, key, self.last_key)
        return self.last_key

    def assign_keys(self, keys: Iterable[TenantKey]) -> None:
        """Give every (tenant, key) a number if it has none, and write the rows of those that are new."""
        unknown = sorted({pair for pair in keys if pair not in self._keys})
        self._look_up_keys(unknown)
        fresh = [pair for pair in unknown if pair not in self._keys]
        rows = [(self.next_key(tenant, key), self.tenant(tenant), digest(key), None, key) for tenant, key in fresh]
        copy_rows(self._connection, KEYS, rows)

    def key(self, tenant: str, key: str) -> int:
        """Return the number of a key, assigned now if it has none."""
        if (tenant, key) not in self._keys:
            self.assign_keys([(tenant, key)])
        return self._keys[tenant, key]

    def known_keys(self, tenant: str, keys: Iterable[str]) -> set[int]:
        """Return the numbers of those keys that a node or an edge has named."""
        pairs = [(tenant, key) for key in dict.fromkeys(keys)]
        self._look_up_keys([pair for pair in pairs if pair not in self._keys])
        return {self._keys[pair] for pair in pairs if pair in self._keys}

    def _look_up_keys(self, keys: list[TenantKey]) -> None:
        if not keys:
            return
        self.assign_numbers("tenants", (tenant for tenant, _ in keys))
        names = {self.tenant(tenant): tenant for tenant, _ in keys}
        rows = fetch_rows(
            self._connection,
            "SELECT k.tenant_id, k.key, k.id FROM unnest(%s::integer[], %s::bigint[], %s::text[])"
            " o(tenant_id, digest, key) JOIN keys k ON k.digest = o.digest AND k.tenant_id = o.tenant_id"
            " AND k.key = o.key",
            key_columns([(self.tenant(tenant), key) for tenant, key in keys]),
        )
        self._keys.update(((names[tenant_id], key), number) for tenant_id, key, number in rows)


def names_by_number(connection: Connection, table: str) -> dict[int, str]:
    """Return all names of a table by their number."""
    return dict(fetch_rows(connection, f"SELECT id, name FROM {table}"))
