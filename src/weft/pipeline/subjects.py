"""What links say about subjects, as relations to draw in a tree."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from weft.frozen import dataclass
from weft.model import Candidate, Json
from weft.pipeline.subject_passages import WIDTH, Divide, Neighbours, Tellings, names_of
from weft.ports import Adjacency, NodeRow, Snapshot
from weft.profiles.types import Part
from weft.scoring.candidates import told
from weft.text import named_in

__all__ = ["SubjectPart", "parts_of", "with_relations"]

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


@dataclass(frozen=True, slots=True)
class SubjectPart:
    """The candidates of one part of one subject, unscored."""

    subject: Candidate
    part: Part
    candidates: tuple[Candidate, ...]


def parts_of(
    subjects: Sequence[Candidate],
    parts: Sequence[Part],
    kinds: Sequence[str],
    snapshot: Snapshot,
    divide: Divide,
    relevance: Mapping[int, float],
) -> tuple[SubjectPart, ...]:
    """For every subject and part, in order, what may fill it.

    `divide` cuts nodes into passages; `relevance`, by node id, is what is known of the texts before they are
    opened, and decides which of very many are.
    """
    near = Neighbours.of(subjects, parts, kinds, snapshot)
    tellings = Tellings.of(subjects, parts, near, snapshot, divide, relevance)
    return tuple(
        SubjectPart(subject, part, _candidates(subject, part, near, tellings))
        for subject in subjects
        for part in parts
    )


def _candidates(subject: Candidate, part: Part, near: Neighbours, tellings: Tellings) -> tuple[Candidate, ...]:
    if not part.via:
        return (_pointed(subject),)
    return tellings.passages(subject, part) if part.unit == "passage" else near.candidates(subject, part)


def _pointed(subject: Candidate) -> Candidate:
    """A subject with the place where its own text names it, unless the question points to a part of this."""
    text = subject.node.text
    if any(end - start < len(text) for start, end in subject.spans):
        return subject
    return told(subject, subject.parts, spans=tuple(named_in(text, names_of(subject.node), (0, len(text)))[:1]))
