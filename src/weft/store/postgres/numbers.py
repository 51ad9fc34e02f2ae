"""Numbers for names: tenants, kinds, edge types, makers, facets and keys, learned many at a time."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from weft.store.postgres.connection import Link, rows_of
from weft.store.postgres.copy_rows import Columns, copy_rows
from weft.store.postgres.encode import bigints, digest
from weft.store.sqlite.numbers import checked_number

if TYPE_CHECKING:
    from weft.ports.arrays import Ids


KEYS: Final = Columns("keys", id="int8", tenant_id="int4", digest="int8", node_id="int8", key="text")


def key_columns(places: Sequence[tuple[int, str]]) -> tuple["Ids", "Ids", list[str]]:
    """(tenant number, key) by column, with the digest by which keys are indexed in the middle."""
    keys = [key for _, key in places]
    return bigints(tenant for tenant, _ in places), bigints(map(digest, keys)), keys


class Numbers:
    """The numbers one write uses; made anew for every write, so that a write undone leaves nothing behind."""

    def __init__(self, link: Link, last_key: int) -> None:
        self._link = link
        self.last_key = last_key
        self._known: dict[tuple[str, str], int] = {}
        self._keys: dict[tuple[str, str], int] = {}

    def learn(self, table: str, names: Iterable[str]) -> None:
        """Give every one of these names a number."""
        unknown = sorted({name for name in names if (table, name) not in self._known})
        if not unknown:
            return
        self._look_up(table, unknown)
        fresh = [name for name in unknown if (table, name) not in self._known]
        if fresh:
            self._link.execute(f"INSERT INTO {table} (name) SELECT unnest(%s::text[])", (fresh,))
            self._look_up(table, fresh)

    def _look_up(self, table: str, names: list[str]) -> None:
        rows = rows_of(
            self._link,
            f"SELECT t.name, t.id FROM unnest(%s::text[]) o(name) JOIN {table} t ON md5(t.name) = md5(o.name)",
            (names,),
        )
        self._known.update(((table, name), number) for name, number in rows)

    def _number(self, table: str, name: str) -> int:
        if (table, name) not in self._known:
            self.learn(table, [name])
        return self._known[table, name]

    def tenant(self, name: str) -> int:
        """The number of a tenant, given now if it has none."""
        return self._number("tenants", name)

    def kind(self, name: str) -> int:
        """The number of a kind, given now if it has none."""
        return checked_number("kinds", name, self._number("kinds", name))

    def edge_type(self, name: str) -> int:
        """The number of an edge type, given now if it has none."""
        return checked_number("edge_types", name, self._number("edge_types", name))

    def maker(self, name: str) -> int:
        """The number of a maker, given now if it has none."""
        return self._number("makers", name)

    def facet(self, name: str) -> int:
        """The number of a facet, given now if it has none."""
        return self._number("facet_names", name)

    # --- keys --------------------------------------------------------------------------------------------

    def know_key(self, tenant: str, key: str, number: int) -> None:
        """Remember the number of a key."""
        self._keys[tenant, key] = number

    def next_key(self, tenant: str, key: str) -> int:
        """The number for a key that is about to be written."""
        self.last_key += 1
        self.know_key(tenant, key, self.last_key)
        return self.last_key

    def give_keys(self, places: Iterable[tuple[str, str]]) -> None:
        """Give every (tenant, key) a number."""
        unknown = sorted({place for place in places if place not in self._keys})
        self._look_up_keys(unknown)
        fresh = [place for place in unknown if place not in self._keys]
        rows = [
            (self.next_key(*place), self.tenant(place[0]), digest(place[1]), None, place[1]) for place in fresh
        ]
        copy_rows(self._link, KEYS, rows)

    def key(self, tenant: str, key: str) -> int:
        """The number of a key, given now if it has none."""
        if (tenant, key) not in self._keys:
            self.give_keys([(tenant, key)])
        return self._keys[tenant, key]

    def known_keys(self, tenant: str, keys: Iterable[str]) -> set[int]:
        """The numbers of those keys that a node or an edge has named."""
        asked = [(tenant, key) for key in dict.fromkeys(keys)]
        self._look_up_keys([place for place in asked if place not in self._keys])
        return {self._keys[each] for each in asked if each in self._keys}

    def _look_up_keys(self, places: list[tuple[str, str]]) -> None:
        if not places:
            return
        self.learn("tenants", (tenant for tenant, _ in places))
        names = {self.tenant(tenant): tenant for tenant, _ in places}
        rows = rows_of(
            self._link,
            "SELECT k.tenant_id, k.key, k.id FROM unnest(%s::integer[], %s::bigint[], %s::text[])"
            " o(tenant_id, digest, key) JOIN keys k ON k.digest = o.digest AND k.tenant_id = o.tenant_id"
            " AND k.key = o.key",
            key_columns([(self.tenant(tenant), key) for tenant, key in places]),
        )
        self._keys.update(((names[tenant_id], key), number) for tenant_id, key, number in rows)
