"""Which nodes pass a filter."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.model import Filter
from weft.store.filters import facet_groups
from weft.store.postgres.connection import Link, rows_of
from weft.store.postgres.seen import Seen
from weft.store.postgres.texts import name_digest
from weft.store.records import LONGEST_FACET_VALUE, to_microseconds

if TYPE_CHECKING:
    from weft.ports.arrays import Ids


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
