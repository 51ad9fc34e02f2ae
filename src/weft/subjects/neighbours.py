"""The nodes around subjects: which links lead to them, and how many subjects each is linked with."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.candidates import told
from weft.frozen import dataclass
from weft.model import Candidate, Node, Step
from weft.ports import Adjacency, NodeRow, Snapshot
from weft.profile import Part

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDTH: Final = 64
"""How many neighbours of a subject are looked at."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The links of some subjects, and what they lead to for parts that take whole nodes."""

    near: Adjacency
    kinds: Sequence[str]
    stored: Mapping[int, NodeRow]
    linked: Mapping[int, Sequence[int]]

    @classmethod
    def of(
        cls, subjects: Sequence[Candidate], parts: Sequence[Part], kinds: Sequence[str], snapshot: Snapshot
    ) -> "Neighbours":
        """What is around the subjects; nodes are read only where a part prints them."""
        near = snapshot.adjacency([each.node.id for each in subjects if each.node.id], WIDTH)
        whole = [part for part in parts if part.via and part.unit == "node"]
        ids = sorted({node for part in whole for node in near.neighbour[_over(part, near)].tolist()})
        linked = linked_with(ids, kinds, snapshot) if any(part.links != "any" for part in whole) else {}
        return cls(near, kinds, snapshot.nodes(ids), linked)

    def places(self, subject: Candidate, part: Part) -> list[int]:
        """Where the links stand that a part follows from a subject, strongest first."""
        mask = (self.near.owner == subject.node.id) & _over(part, self.near)
        return [int(place) for place in np.flatnonzero(mask)]

    def candidates(self, subject: Candidate, part: Part) -> tuple[Candidate, ...]:
        """The nodes that a part takes, each once."""
        taken: dict[int, Candidate] = {}
        for at in self.places(subject, part):
            node = int(self.near.neighbour[at])
            if node not in taken and node in self.stored and _fits(part, len(self.linked.get(node, ()))):
                row = self.stored[node]
                found = Candidate(row.node, text_tokens=row.text_tokens, sketch=row.sketch)
                taken[node] = self.reached(subject, found, at)
        return tuple(taken.values())

    def reached(self, subject: Candidate, found: Candidate, at: int) -> Candidate:
        """A candidate as it is reached from a subject over the link at a place."""
        weight = float(self.near.weight[at])
        walk = round(subject.parts.get("walk", 0.0) * weight, 9)
        return told(
            found,
            {**found.parts, "edge": weight, "walk": walk},
            probe=subject.probe,
            distance=subject.distance + 1,
            root=subject.root,
            path=(*subject.path, self._step(found.node, at)),
        )

    def _step(self, node: Node, at: int) -> Step:
        near = self.near
        direction = "out" if near.outward[at] else "in"
        return Step(node.key, near.edge_types[near.edge_type[at]], float(near.weight[at]), direction, node.id)


def _over(part: Part, near: Adjacency) -> "NDArray[np.bool_]":
    """Which links are of a type and direction that the part follows."""
    follows = np.array([name in part.via for name in near.edge_types] or [False])
    mask: NDArray[np.bool_] = follows[near.edge_type]
    if part.direction != "both":
        mask = mask & (near.outward == (1 if part.direction == "out" else 0))
    return mask


def linked_with(ids: Sequence[int], kinds: Sequence[str], snapshot: Snapshot) -> dict[int, list[int]]:
    """The different nodes of the subjects' kinds that each node is linked with, strongest first."""
    near = snapshot.adjacency(ids, WIDTH)
    alike = np.array([not kinds or kind in kinds for kind in near.kinds] or [True])[near.kind]
    linked: dict[int, dict[int, None]] = {}
    for owner, other in zip(near.owner[alike].tolist(), near.neighbour[alike].tolist(), strict=True):
        linked.setdefault(owner, {})[other] = None
    return {owner: list(others) for owner, others in linked.items()}


def _fits(part: Part, linked: int) -> bool:
    """Whether a part takes what is linked with so many subjects."""
    return part.links == "any" or (linked > 1) == (part.links == "several")
