"""Fill the parts of subjects: what each part of a `for_each` section may print, and the relations for its tree."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from weft.model import Candidate, Json
from weft.pipeline.subject_passages import (
    MAX_NEIGHBOURS,
    Neighbours,
    SplitIntoPassages,
    SubjectPassages,
    spelled_names,
)
from weft.ports import Adjacency, NodeRow, Snapshot
from weft.profiles.types import Part
from weft.text import find_name_spans

_RELATIONS_FIELD: Final = "relationships"
"""The field in which the block `tree` looks for relations."""


class SubjectPart(Struct, frozen=True):
    """The candidates of one part of one subject."""

    subject: Candidate
    part: Part
    candidates: tuple[Candidate, ...]


def fill_parts(
    subjects: Sequence[Candidate],
    parts: Sequence[Part],
    kinds: Sequence[str],
    snapshot: Snapshot,
    split: SplitIntoPassages,
    relevance: Mapping[int, float],
) -> tuple[SubjectPart, ...]:
    """Return what may fill every part of every subject, in order and unscored.

    `split` cuts nodes into passages; `relevance`, by node id, is what is known of the texts before they are read,
    and decides which of very many are.
    """
    neighbours = Neighbours.read(subjects, parts, kinds, snapshot)
    passages = SubjectPassages.read(subjects, parts, neighbours, snapshot, split, relevance)
    return tuple(
        SubjectPart(subject, part, _part_candidates(subject, part, neighbours, passages))
        for subject in subjects
        for part in parts
    )


def _part_candidates(
    subject: Candidate, part: Part, neighbours: Neighbours, passages: SubjectPassages
) -> tuple[Candidate, ...]:
    if not part.via:
        return (_with_own_mention(subject),)
    source = passages if part.unit == "passage" else neighbours
    return source.candidates(subject, part)


def _with_own_mention(subject: Candidate) -> Candidate:
    """Point a subject to where its own text names it, unless the question points to a part of the text."""
    text = subject.node.text
    # A span over the whole text points to nothing in it.
    if any(end - start < len(text) for start, end in subject.spans):
        return subject
    mentions = find_name_spans(text, spelled_names(subject.node), (0, len(text)))
    return replace(subject, spans=tuple(mentions[:1]))


def with_relations(
    subjects: Sequence[Candidate], relations: Mapping[str, str], snapshot: Snapshot
) -> tuple[Candidate, ...]:
    """Return the subjects with their links of these types in a field; from its end a link is named otherwise."""
    if not relations or not subjects:
        return tuple(subjects)
    near = snapshot.adjacency([subject.node.id for subject in subjects if subject.node.id], MAX_NEIGHBOURS)
    is_relation = np.array([name in relations for name in near.edge_types] or [False])[near.edge_type]
    stored = snapshot.nodes(np.unique(near.neighbour[is_relation]).tolist())
    return tuple(_with_own_relations(subject, relations, near, stored) for subject in subjects)


def _with_own_relations(
    subject: Candidate, relations: Mapping[str, str], near: Adjacency, stored: Mapping[int, NodeRow]
) -> Candidate:
    type_order = {name: number for number, name in enumerate(relations)}
    found: dict[tuple[str, str], tuple[int, float]] = {}
    for edge in np.flatnonzero(near.owner == subject.node.id).tolist():
        edge_type, row = near.edge_types[near.edge_type[edge]], stored.get(int(near.neighbour[edge]))
        if edge_type in relations and row is not None:
            name = edge_type if near.outward[edge] else relations[edge_type]
            rank = (type_order[edge_type], -float(near.weight[edge]))
            found.setdefault((name, row.node.title or row.node.key), rank)
    if not found:
        return subject
    ranked = sorted(found, key=lambda relation: (*found[relation], relation))
    drawn: list[Json] = [{"type": name, "title": title} for name, title in ranked]
    return replace(subject, node=replace(subject.node, fields={**subject.node.fields, _RELATIONS_FIELD: drawn}))
