"""Which links of a node with too many of them are followed: the strongest, or those that lead to what matters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.frozen import dataclass
from weft.ports import Adjacency

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDE: Final = 2_000
"""How many links of a node are looked at to find the most relevant of them."""
FIRST_STEP: Final = 5_000
LATER: Final = 300
"""How many nodes the first step of a walk weighs by relevance, and each later one; strong links come first."""

Relevance = Callable[[Sequence[int]], Mapping[int, float]]
"""How much each of some nodes has to do with the question, by id; nodes without an answer are left out."""


@dataclass(slots=True)
class Scales:
    """Weighs nodes by relevance, each at most once."""

    relevance: Relevance
    known: dict[int, float] = field(default_factory=dict)

    def weigh(self, nodes: Sequence[int]) -> None:
        """Find out about the nodes that were not weighed before."""
        fresh = [node for node in nodes if node not in self.known]
        found = self.relevance(fresh) if fresh else {}
        self.known.update((node, found.get(node, 0.0)) for node in fresh)

    def of(self, node: int) -> float:
        """The relevance of a node; 0 when it was not weighed."""
        return self.known.get(node, 0.0)


def strongest_first(
    near: Adjacency, allowed: "NDArray[np.bool_]", weight: "NDArray[np.float64]"
) -> "NDArray[np.int64]":
    """The places of the allowed edges, each node's strongest first by these weights."""
    places: NDArray[np.int64] = np.flatnonzero(allowed)
    _, first, group = np.unique(near.owner[places], return_index=True, return_inverse=True)
    return places[np.lexsort((places, -weight[places], first[group]))]


def most_relevant(
    near: Adjacency,
    allowed: "NDArray[np.bool_]",
    weight: "NDArray[np.float64]",
    bounds: tuple[int, int],
    scales: Scales,
) -> "NDArray[np.bool_]":
    """The allowed edges, of a node with too many only those that lead to the most relevant neighbours.

    `bounds` are how many links a node may keep, and how many neighbours are weighed.
    """
    fan_out, weighed = bounds
    owners, counts = np.unique(near.owner[allowed], return_counts=True)
    wide = owners[counts > fan_out]
    if not len(wide):
        return allowed
    crowded = allowed & np.isin(near.owner, wide)
    scales.weigh(list(dict.fromkeys(near.neighbour[crowded].tolist()))[:weighed])
    kept = allowed & ~crowded
    for owner in wide.tolist():
        places = np.flatnonzero(crowded & (near.owner == owner))
        worth = np.array([scales.of(node) for node in near.neighbour[places].tolist()]) * weight[places]
        order = np.lexsort((near.tag[places], -weight[places], -np.round(worth, 9)))
        kept[places[order[:fan_out]]] = True
    return kept
