"""What links say about subjects, as relations to draw in a tree."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from weft.model import Candidate, Json
from weft.ports import Adjacency, NodeRow, Snapshot
from weft.subjects.neighbours import WIDTH

FIELD = "relationships"


def with_relations(
    subjects: Sequence[Candidate], relations: Mapping[str, str], snapshot: Snapshot
) -> tuple[Candidate, ...]:
    """The subjects, their links of these types told in a field; from its other end a link has its other name."""
    if not relations or not subjects:
        return tuple(subjects)
    near = snapshot.adjacency([each.node.id for each in subjects if each.node.id], WIDTH)
    told = np.array([name in relations for name in near.edge_types] or [False])[near.edge_type]
    stored = snapshot.nodes(np.unique(near.neighbour[told]).tolist())
    return tuple(_related(each, relations, near, stored) for each in subjects)


def _related(
    subject: Candidate, relations: Mapping[str, str], near: Adjacency, stored: Mapping[int, NodeRow]
) -> Candidate:
    order = {name: place for place, name in enumerate(relations)}
    found: dict[tuple[str, str], tuple[int, float]] = {}
    for at in np.flatnonzero(near.owner == subject.node.id).tolist():
        type, row = near.edge_types[near.edge_type[at]], stored.get(int(near.neighbour[at]))
        if type in relations and row is not None:
            name = type if near.outward[at] else relations[type]
            found.setdefault((name, row.node.title or row.node.key), (order[type], -float(near.weight[at])))
    if not found:
        return subject
    ranked = sorted(found, key=lambda one: (*found[one], one))
    drawn: list[Json] = [{"type": name, "title": title} for name, title in ranked]
    return replace(subject, node=replace(subject.node, fields={**subject.node.fields, FIELD: drawn}))
