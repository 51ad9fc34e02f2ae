"""Which nodes pass a filter."""

import sqlite3
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from weft.model import Filter
from weft.store.records import LONGEST_FACET_VALUE, to_microseconds
from weft.store.visibility import Visibility

if TYPE_CHECKING:
    from weft.ports import Ids


def matching_ids(connection: sqlite3.Connection, visible: Visibility, wanted: Filter) -> "Ids":
    """Sorted ids of visible nodes that have one of the kinds, one of the sources, all the tags, all the fields,
    and lie within the times and the sequence; a node without a time or place in it fails where one is asked for.
    """
    groups = list(_facet_groups(wanted))
    conditions = list(_conditions(wanted))
    query = " INTERSECT ".join([_by_facets(visible, len(group)) for group in groups])
    values: list[object] = [facet for group in groups for facet in group]
    if conditions or visible.as_of is not None or not groups:
        inside = f" AND n.id IN ({query})" if groups else ""
        query = f"SELECT n.id FROM nodes n WHERE {visible.of('n')}{inside}"
        for condition, parameters in conditions:
            query += f" AND {condition}"
            values += parameters
    rows = connection.execute(query, values).fetchall()
    return np.sort(np.array([node_id for (node_id,) in rows], np.int64))


def _facet_groups(wanted: Filter) -> Iterator[list[str]]:
    for prefix, values in (("kind", wanted.kinds), ("source", wanted.sources)):
        if values:
            yield [f"{prefix}:{value}" for value in values]
    for tag in wanted.tags:
        yield [f"tag:{tag}"]
    for name, value in wanted.where:
        if len(value) <= LONGEST_FACET_VALUE:
            yield [f"field:{name}={value}"]


def _by_facets(visible: Visibility, count: int) -> str:
    return (
        "SELECT f.node_id FROM facet_names m CROSS JOIN facets f ON f.facet_id = m.id"
        f" WHERE m.name IN ({', '.join('?' * count)}) AND {visible.by_tenant('f.tenant_id')}"
    )


def _conditions(wanted: Filter) -> Iterator[tuple[str, list[object]]]:
    time = "coalesce(n.modified, n.created)"
    for condition, value in (
        (f"{time} >= ?", to_microseconds(wanted.since)),
        (f"{time} <= ?", to_microseconds(wanted.until)),
        ("n.sequence >= ?", wanted.sequence_from),
        ("n.sequence <= ?", wanted.sequence_to),
    ):
        if value is not None:
            yield condition, [value]
    for name, text in wanted.where:
        if len(text) > LONGEST_FACET_VALUE:
            yield "EXISTS (SELECT 1 FROM json_each(n.fields) v WHERE v.key = ? AND v.value = ?)", [name, text]
