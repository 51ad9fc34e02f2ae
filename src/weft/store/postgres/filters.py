"""What a view lets through, as conditions for SQL whose text is the same for every view of a kind."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.frozen import dataclass
from weft.model import Filter, View
from weft.store.postgres.connection import EVERYTHING, Link, rows_of
from weft.store.postgres.encode import digest, name_digest
from weft.store.postgres.write import names_by_number
from weft.store.records import LONGEST_FACET_VALUE, folded_name, to_microseconds
from weft.store.sqlite.filters import facet_groups

if TYPE_CHECKING:
    from weft.ports.arrays import Ids


@dataclass(frozen=True, slots=True)
class Seen:
    """The tenants a reader may see, by number, and the point in the sequence up to which it knows."""

    tenants: Mapping[int, str]
    as_of: int | None = None
    whole: bool = False

    @property
    def values(self) -> dict[str, Any]:
        """The values that the conditions name."""
        return {"tenants": [] if self.whole else sorted(self.tenants), "as_of": self.as_of}

    @property
    def setting(self) -> str:
        """What row-level security is told."""
        return EVERYTHING if self.whole else f"{{{','.join(map(str, sorted(self.tenants)))}}}"

    def by_tenant(self, column: str) -> str:
        """The condition that a column holds a visible tenant."""
        return "TRUE" if self.whole else f"{column} = ANY(%(tenants)s::integer[])"

    def of(self, alias: str) -> str:
        """The condition that a row with tenant_id and position is visible."""
        tenant = self.by_tenant(f"{alias}.tenant_id")
        return tenant if self.as_of is None else f"{tenant} AND {alias}.position <= %(as_of)s"


class Names:
    """Names that never change their number, remembered by a process once it has seen them."""

    def __init__(self) -> None:
        self._tenants: dict[str, int] = {}
        self._kinds: dict[int, str] = {}
        self._edge_types: dict[int, str] = {}
        self._everyone = (Seen({}, whole=True), View(()))

    def known(self, view: View) -> Seen | None:
        """The conditions for a view whose tenants are all remembered."""
        if all(name in self._tenants for name in view.tenants):
            return self._seen(view)
        return None

    def seen(self, link: Link, view: View) -> Seen:
        """The conditions for a view; tenants that nobody has written to are not there to be seen."""
        missing = [name_digest(name) for name in view.tenants if name not in self._tenants]
        rows = rows_of(link, "SELECT name, id FROM tenants WHERE md5(name) = ANY(%s)", (missing,))
        self._tenants.update(rows)
        return self._seen(view)

    def _seen(self, view: View) -> Seen:
        known = {self._tenants[name]: name for name in view.tenants if name in self._tenants}
        return Seen(known, view.as_of)

    def everything(self, link: Link) -> tuple[Seen, View]:
        """All tenants, for derived indexes and maintenance only; only those that came since last time are read."""
        known = self._everyone[0].tenants
        fresh = rows_of(link, "SELECT id, name FROM tenants WHERE id > %s", (max(known, default=0),))
        if fresh:
            tenants = {**known, **dict(fresh)}
            self._everyone = Seen(tenants, whole=True), View(tuple(sorted(tenants.values())))
        return self._everyone

    def kinds(self, link: Link, numbers: Iterable[int]) -> Mapping[int, str]:
        """The names of kinds, among them these."""
        return _complete(link, self._kinds, "kinds", numbers)

    def edge_types(self, link: Link, numbers: Iterable[int]) -> Mapping[int, str]:
        """The names of edge types, among them these."""
        return _complete(link, self._edge_types, "edge_types", numbers)


def _complete(link: Link, known: dict[int, str], table: str, numbers: Iterable[int]) -> Mapping[int, str]:
    if any(number not in known for number in numbers):
        known.update(names_by_number(link, table))
    return known


def matching_ids(link: Link, seen: Seen, wanted: Filter) -> "Ids":
    """Sorted ids of visible nodes that have one of the kinds, one of the sources, all the tags, all the fields,
    and lie within the times and the sequence; a node without a time or place in it fails where one is asked for.
    """
    values: dict[str, Any] = dict(seen.values)
    groups = list(_groups(link, wanted, values))
    conditions = list(_conditions(wanted, values))
    if groups and not conditions and seen.as_of is None:
        query = (
            f"SELECT f.node_id FROM facets f WHERE {seen.by_tenant('f.tenant_id')} AND f.facet_id = {groups[0]}"
        )
        query += "".join(_having("f.node_id", group) for group in groups[1:])
    else:
        query = f"SELECT n.id FROM nodes n WHERE {seen.of('n')}"
        query += "".join(_having("n.id", group) for group in groups)
        query += "".join(f" AND {condition}" for condition in conditions)
    rows = rows_of(link, query, values)
    return np.unique(np.array([node_id for (node_id,) in rows], np.int64))


def _groups(link: Link, wanted: Filter, values: dict[str, Any]) -> Iterator[str]:
    """For each group of facets the numbers of which a node must have one, as a value of the query."""
    for place, names in enumerate(facet_groups(wanted)):
        digests = [name_digest(name) for name in names]
        rows = rows_of(link, "SELECT id FROM facet_names WHERE md5(name) = ANY(%s)", (digests,))
        values[f"group{place}"] = [number for (number,) in rows]
        yield f"ANY(%(group{place})s::integer[])"


def _having(node: str, group: str) -> str:
    return f" AND EXISTS (SELECT 1 FROM facets g WHERE g.node_id = {node} AND g.facet_id = {group})"


def _conditions(wanted: Filter, values: dict[str, Any]) -> Iterator[str]:
    time = "coalesce(n.modified, n.created)"
    bounds = {
        "since": (f"{time} >=", to_microseconds(wanted.since)),
        "until": (f"{time} <=", to_microseconds(wanted.until)),
        "sequence_from": ("n.sequence >=", wanted.sequence_from),
        "sequence_to": ("n.sequence <=", wanted.sequence_to),
    }
    for name, (condition, value) in bounds.items():
        if value is not None:
            values[name] = value
            yield f"{condition} %({name})s"
    for place, (field, text) in enumerate(wanted.where):
        if len(text) > LONGEST_FACET_VALUE:
            values |= {f"field{place}": field, f"text{place}": text}
            yield f"n.fields::json ->> %(field{place})s = %(text{place})s"


_BY_KEY, _BY_NAME, _BY_ID = range(3)


def find_names(link: Link, seen: Seen, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Ids for each name: the node with that key; else all with that bare key, title or alias; else that id.

    Ids come last because a note called "2024" must not depend on how many nodes were stored before it.
    """
    asked = list(dict.fromkeys(names))
    folded = [folded_name(name) for name in asked]
    found = rows_of(
        link,
        f"SELECT {_BY_KEY}, o.place, n.tenant_id, n.key, n.id"
        " FROM unnest(%(digests)s::bigint[], %(names)s::text[]) WITH ORDINALITY"
        " o(digest, key, place) JOIN keys k ON k.digest = o.digest AND k.key = o.key"
        f" JOIN nodes n ON n.id = k.node_id WHERE {seen.by_tenant('k.tenant_id')} AND {seen.of('n')}"
        f" UNION ALL SELECT {_BY_NAME}, o.place, n.tenant_id, n.key, n.id"
        " FROM unnest(%(folded_digests)s::bigint[], %(folded)s::text[]) WITH ORDINALITY o(digest, name, place)"
        f" JOIN names s ON s.digest = o.digest AND s.name = o.name JOIN nodes n ON n.id = s.node_id"
        f" WHERE {seen.of('n')}"
        f" UNION ALL SELECT {_BY_ID}, o.place, n.tenant_id, n.key, n.id FROM unnest(%(ids)s::bigint[])"
        f" WITH ORDINALITY o(id, place) JOIN nodes n ON n.id = o.id WHERE {seen.of('n')}",
        {
            **seen.values,
            "digests": [digest(name) for name in asked],
            "names": asked,
            "folded_digests": [digest(name) for name in folded],
            "folded": folded,
            "ids": [_number(name) for name in asked],
        },
    )
    ways: dict[int, dict[int, list[tuple[str, str, int]]]] = {}
    for way, place, tenant_id, key, number in found:
        ways.setdefault(place, {}).setdefault(way, []).append((seen.tenants[tenant_id], key, number))
    return {
        asked[place - 1]: tuple(number for _, _, number in sorted(ways[place][min(ways[place])]))
        for place in sorted(ways)
    }


def _number(name: str) -> int | None:
    return int(name) if name.isascii() and name.isdigit() and len(name) <= 18 else None
