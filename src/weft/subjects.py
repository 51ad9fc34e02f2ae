"""The parts of a subject: for each entity (say), what defines it, what ties it to others, where it is used."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.model import Candidate, Step
from weft.ports import Adjacency, NodeRow, Snapshot
from weft.profile import Part

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WIDTH: Final = 64
"""How many neighbours of a subject are looked at."""


@dataclass(frozen=True, slots=True)
class SubjectPart:
    """The candidates of one part of one subject, unscored."""

    subject: Candidate
    part: Part
    candidates: tuple[Candidate, ...]


def parts_of(
    subjects: Sequence[Candidate], parts: Sequence[Part], kinds: Sequence[str], snapshot: Snapshot
) -> tuple[SubjectPart, ...]:
    """For every subject and part, in order, the nodes that may fill it."""
    near = snapshot.adjacency([each.node.id for each in subjects if each.node.id], _WIDTH)
    ids = np.unique(near.neighbour).tolist()
    stored = snapshot.nodes(ids)
    linked = _linked_subjects(ids, kinds, snapshot)
    return tuple(
        SubjectPart(subject, part, _candidates(subject, part, near, stored, linked))
        for subject in subjects
        for part in parts
    )


def _linked_subjects(ids: Sequence[int], kinds: Sequence[str], snapshot: Snapshot) -> dict[int, int]:
    """How many different nodes of the subjects' kinds each node is linked with."""
    near = snapshot.adjacency(ids, _WIDTH)
    alike = np.array([not kinds or kind in kinds for kind in near.kinds] or [True])[near.kind]
    pairs = {
        (owner, other)
        for owner, other in zip(near.owner[alike].tolist(), near.neighbour[alike].tolist(), strict=True)
    }
    linked: dict[int, int] = {}
    for owner, _ in pairs:
        linked[owner] = linked.get(owner, 0) + 1
    return linked


def _candidates(
    subject: Candidate, part: Part, near: Adjacency, stored: dict[int, NodeRow], linked: dict[int, int]
) -> tuple[Candidate, ...]:
    if not part.via:
        return (subject,)
    taken: dict[int, Candidate] = {}
    for at in np.flatnonzero(_followed(subject, part, near)).tolist():
        node = int(near.neighbour[at])
        if node in taken or node not in stored or not _fits(part, linked.get(node, 0)):
            continue
        taken[node] = _reached(subject, stored[node], near, at)
    return tuple(taken.values())


def _followed(subject: Candidate, part: Part, near: Adjacency) -> "NDArray[np.bool_]":
    follows = np.array([name in part.via for name in near.edge_types] or [False])
    mask: NDArray[np.bool_] = (near.owner == subject.node.id) & follows[near.edge_type]
    if part.direction != "both":
        mask &= near.outward == (1 if part.direction == "out" else 0)
    return mask


def _fits(part: Part, linked: int) -> bool:
    return part.links == "any" or (linked > 1) == (part.links == "several")


def _reached(subject: Candidate, row: NodeRow, near: Adjacency, at: int) -> Candidate:
    weight = float(near.weight[at])
    direction = "out" if near.outward[at] else "in"
    step = Step(row.node.key, near.edge_types[near.edge_type[at]], weight, direction, row.node.id)
    return Candidate(
        node=row.node,
        parts={"edge": weight, "walk": round(subject.parts.get("walk", 0.0) * weight, 9)},
        probe=subject.probe,
        distance=subject.distance + 1,
        root=subject.root,
        path=(*subject.path, step),
        text_tokens=row.text_tokens,
        sketch=row.sketch,
    )
