"""Look up what names stand for: numbers of tenants and kinds, what a view may see, nodes by filter or by name.

Views and filters are expressed as SQL conditions. Tables refer to each other by the numbers that stand for names
(tenants, kinds, edge types, makers, facets and keys); one write uses one `Numbers`, and all its parts share it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from msgspec import Struct

from weft.model import Filter, View
from weft.store.changes import NameNumbers
from weft.store.postgres.connection import ALL_TENANTS, Connection, CopyTarget, copy_rows, fetch_rows
from weft.store.postgres.encode import bigint_array, digest, name_md5
from weft.store.postgres.schema import MAX_OPENING_CHARACTERS
from weft.store.records import (
    MAX_FACET_VALUE_LENGTH,
    facet_groups,
    fold_name,
    may_be_made_of,
    to_id,
    to_microseconds,
)

if TYPE_CHECKING:
    from weft.ports.stores import Ids


KEYS: Final = CopyTarget("keys", id="int8", tenant_id="int4", digest="int8", node_id="int8", key="text")

TenantKey: TypeAlias = tuple[str, str]
"""(tenant, key)."""


_BY_KEY, _BY_NAME, BY_ID = range(3)
"""The ways in which a name finds nodes; where several do, the first one counts."""


def key_columns(keys: Sequence[tuple[int, str]]) -> tuple["Ids", "Ids", list[str]]:
    """Return (tenant number, key) pairs by column, with the digest by which keys are indexed in the middle."""
    texts = [key for _, key in keys]
    return bigint_array(tenant for tenant, _ in keys), bigint_array(map(digest, texts)), texts


class Numbers(NameNumbers):
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


# --- views, filters and names of nodes ---------------------------------------------------------------------


class Visibility(Struct, frozen=True):
    """The tenants a reader may see, by number, and the point in the sequence up to which it knows.

    Conditions name their values instead of holding them, so that one prepared statement serves every view.
    """

    tenants: Mapping[int, str]
    as_of: int | None = None
    sees_all: bool = False

    @property
    def values(self) -> dict[str, Any]:
        """The values that the conditions name."""
        return {"tenants": [] if self.sees_all else sorted(self.tenants), "as_of": self.as_of}

    @property
    def setting(self) -> str:
        """The value of the setting `weft.tenants`, which row-level security reads."""
        return ALL_TENANTS if self.sees_all else f"{{{','.join(map(str, sorted(self.tenants)))}}}"

    def by_tenant(self, column: str) -> str:
        """Return the condition that a column holds a visible tenant."""
        # A list of all tenants would only cost time.
        return "TRUE" if self.sees_all else f"{column} = ANY(%(tenants)s::integer[])"

    def of(self, alias: str) -> str:
        """Return the condition that a row with tenant_id and position is visible."""
        tenant = self.by_tenant(f"{alias}.tenant_id")
        return tenant if self.as_of is None else f"{tenant} AND {alias}.position <= %(as_of)s"


class NameCache:
    """Numbers of tenants, kinds and edge types, which never change and are therefore read once by a process."""

    def __init__(self) -> None:
        self._tenants: dict[str, int] = {}
        self._kinds: dict[int, str] = {}
        self._edge_types: dict[int, str] = {}
        self._all_tenants = (Visibility({}, sees_all=True), View(()))

    def known_visibility(self, view: View) -> Visibility | None:
        """Return the conditions for a view, or None when one of its tenants was not looked up yet."""
        if all(name in self._tenants for name in view.tenants):
            return self._visibility(view)
        return None

    def read_visibility(self, connection: Connection, view: View) -> Visibility:
        """Return the conditions for a view; tenants without any write have no number and are left out."""
        # Only tenants that were never looked up cost a round trip.
        missing = [name_md5(name) for name in view.tenants if name not in self._tenants]
        rows = fetch_rows(connection, "SELECT name, id FROM tenants WHERE md5(name) = ANY(%s)", (missing,))
        self._tenants.update(rows)
        return self._visibility(view)

    def _visibility(self, view: View) -> Visibility:
        numbers = {self._tenants[name]: name for name in view.tenants if name in self._tenants}
        return Visibility(numbers, view.as_of)

    def all_tenants(self, connection: Connection) -> tuple[Visibility, View]:
        """Return the conditions and the view for all tenants, for derived indexes and maintenance only."""
        known = self._all_tenants[0].tenants
        # Numbers only grow: reading those after the last one finds every new tenant.
        fresh = fetch_rows(connection, "SELECT id, name FROM tenants WHERE id > %s", (max(known, default=0),))
        if fresh:
            tenants = {**known, **dict(fresh)}
            self._all_tenants = Visibility(tenants, sees_all=True), View(tuple(sorted(tenants.values())))
        return self._all_tenants

    def kinds(self, connection: Connection, numbers: Iterable[int]) -> Mapping[int, str]:
        """Return the names of kinds, at least of those with these numbers."""
        return _complete(connection, self._kinds, "kinds", numbers)

    def edge_types(self, connection: Connection, numbers: Iterable[int]) -> Mapping[int, str]:
        """Return the names of edge types, at least of those with these numbers."""
        return _complete(connection, self._edge_types, "edge_types", numbers)


def _complete(
    connection: Connection, known: dict[int, str], table: str, numbers: Iterable[int]
) -> Mapping[int, str]:
    if any(number not in known for number in numbers):
        known.update(names_by_number(connection, table))
    return known


def matching_ids(connection: Connection, visible: Visibility, filter: Filter) -> "Ids":
    """Return the sorted ids of visible nodes that pass a filter.

    Such nodes have one of the kinds, one of the sources, all the tags and all the fields, and lie within the times
    and the sequence; a node without a time or a position in the sequence fails where a bound is given.
    """
    values: dict[str, Any] = dict(visible.values)
    groups = list(_facet_conditions(connection, filter, values))
    conditions = list(_bounds(filter, values))
    if groups and not conditions and visible.as_of is None:
        # The facets alone decide: their index answers without reading nodes.
        query = (
            f"SELECT f.node_id FROM facets f WHERE {visible.by_tenant('f.tenant_id')} AND f.facet_id = {groups[0]}"
        )
        query += "".join(_has_facet("f.node_id", group) for group in groups[1:])
    else:
        query = f"SELECT n.id FROM nodes n WHERE {visible.of('n')}"
        query += "".join(_has_facet("n.id", group) for group in groups)
        query += "".join(f" AND {condition}" for condition in conditions)
    rows = fetch_rows(connection, query, values)
    return np.unique(np.array([node_id for (node_id,) in rows], np.int64))


def _facet_conditions(connection: Connection, filter: Filter, values: dict[str, Any]) -> Iterator[str]:
    """Yield the comparison with the numbers of each group of facets; a node must have one of every group."""
    for index, names in enumerate(facet_groups(filter)):
        # By digest, because names of facets may be longer than an index takes.
        digests = [name_md5(name) for name in names]
        rows = fetch_rows(connection, "SELECT id FROM facet_names WHERE md5(name) = ANY(%s)", (digests,))
        values[f"group{index}"] = [number for (number,) in rows]
        yield f"ANY(%(group{index})s::integer[])"


def _has_facet(node: str, group: str) -> str:
    return f" AND EXISTS (SELECT 1 FROM facets g WHERE g.node_id = {node} AND g.facet_id = {group})"


def _bounds(filter: Filter, values: dict[str, Any]) -> Iterator[str]:
    """Yield the conditions that facets cannot answer: times, the sequence, and values too long to be facets."""
    time = "coalesce(n.modified, n.created)"
    bounds = {
        "since": (f"{time} >=", to_microseconds(filter.since)),
        "until": (f"{time} <=", to_microseconds(filter.until)),
        "sequence_from": ("n.sequence >=", filter.sequence_from),
        "sequence_to": ("n.sequence <=", filter.sequence_to),
    }
    for name, (condition, value) in bounds.items():
        if value is not None:
            values[name] = value
            yield f"{condition} %({name})s"
    for index, (field, text) in enumerate(filter.where):
        if len(text) > MAX_FACET_VALUE_LENGTH:
            values |= {f"field{index}": field, f"text{index}": text}
            yield f"n.fields::json ->> %(field{index})s = %(text{index})s"


def find_names(connection: Connection, visible: Visibility, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return ids for each name: the node with that key; else all with that bare key, title or alias; else that id.

    Ids come last because a note called "2024" must not depend on how many nodes were stored before it.
    """
    found = find_in_all_ways(connection, visible, names)
    return {name: tuple(node_id for _, _, node_id in sorted(ways[min(ways)])) for name, ways in found.items()}


def find_in_all_ways(
    connection: Connection, visible: Visibility, names: Sequence[str]
) -> dict[str, dict[int, list[tuple[str, str, int]]]]:
    """Return (tenant, key, id) of the nodes of each name, by the way in which the name was found."""
    names = list(dict.fromkeys(names))
    folded = [fold_name(name) for name in names]
    # One round trip tries all three ways; it is the first thing that most questions do.
    rows = fetch_rows(
        connection,
        f"SELECT {_BY_KEY}, o.place, n.tenant_id, n.key, n.id"
        " FROM unnest(%(digests)s::bigint[], %(names)s::text[]) WITH ORDINALITY"
        " o(digest, key, place) JOIN keys k ON k.digest = o.digest AND k.key = o.key"
        f" JOIN nodes n ON n.id = k.node_id WHERE {visible.by_tenant('k.tenant_id')} AND {visible.of('n')}"
        f" UNION ALL SELECT {_BY_NAME}, o.place, n.tenant_id, n.key, n.id"
        " FROM unnest(%(folded_digests)s::bigint[], %(folded)s::text[]) WITH ORDINALITY o(digest, name, place)"
        f" JOIN names s ON s.digest = o.digest AND s.name = o.name JOIN nodes n ON n.id = s.node_id"
        f" WHERE {visible.of('n')}"
        f" UNION ALL SELECT {BY_ID}, o.place, n.tenant_id, n.key, n.id FROM unnest(%(ids)s::bigint[])"
        f" WITH ORDINALITY o(id, place) JOIN nodes n ON n.id = o.id WHERE {visible.of('n')}",
        {
            **visible.values,
            "digests": [digest(name) for name in names],
            "names": names,
            "folded_digests": [digest(name) for name in folded],
            "folded": folded,
            "ids": [to_id(name) for name in names],
        },
    )
    found: dict[int, dict[int, list[tuple[str, str, int]]]] = {}
    for way, ordinality, tenant_id, key, node_id in rows:
        found.setdefault(ordinality, {}).setdefault(way, []).append((visible.tenants[tenant_id], key, node_id))
    return {names[ordinality - 1]: ways for ordinality, ways in sorted(found.items())}


def find_nodes_named_by(connection: Connection, visible: Visibility, words: Collection[str]) -> list[int]:
    """Return the ids of the nodes that may have a name made of these words alone, in order."""
    # Names without a first word of ASCII have an empty one, and are all read.
    openings = sorted({word[:MAX_OPENING_CHARACTERS] for word in words if word.isascii()} | {""})
    rows = fetch_rows(
        connection,
        "SELECT m.node_id, m.name FROM names m WHERE m.opening = ANY(%(openings)s)"
        f" AND {visible.by_tenant('m.tenant_id')}",
        {**visible.values, "openings": openings},
    )
    return sorted({node_id for node_id, name in rows if may_be_made_of(name, words)})
