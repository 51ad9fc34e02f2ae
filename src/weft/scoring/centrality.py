"""How many shortest ways between others lead over each node, the same to the last digit every time."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]


_EFFORT: Final = 4_000_000
"""How many links are followed at most, roughly: larger graphs are measured from fewer nodes."""
_FEWEST: Final = 4


def betweenness(nodes: int, source: "Integers", target: "Integers") -> "Floats":
    """The share of shortest ways over each node, the highest being 1, summed from evenly spread nodes."""
    import numpy as np

    first, other = _neighbours(nodes, source, target)
    total = np.zeros(nodes)
    spread = min(nodes, max(_EFFORT // max(len(other), 1), _FEWEST))
    for start in np.unique(np.linspace(0, nodes - 1, spread).astype(np.int64)).tolist():
        total += _dependence(start, nodes, first, other)
    highest = total.max(initial=0.0)
    return total / highest if highest > 0 else total


def _neighbours(nodes: int, source: "Integers", target: "Integers") -> "tuple[Integers, Integers]":
    """Everybody's neighbours one after another, each pair once in either direction, and where each list begins."""
    import numpy as np

    apart = source != target
    ends = np.unique(
        np.concatenate([source[apart] * nodes + target[apart], target[apart] * nodes + source[apart]])
    )
    owner, other = ends // nodes, ends % nodes
    return np.searchsorted(owner, np.arange(nodes + 1)), other


def _dependence(start: int, nodes: int, first: "Integers", other: "Integers") -> "Floats":
    """How much of what can be reached from one node is reached over each of the others."""
    import numpy as np

    distance = np.full(nodes, -1, dtype=np.int64)
    ways = np.zeros(nodes)
    distance[start], ways[start] = 0, 1.0
    steps: list[tuple[Integers, Integers]] = []
    reached = np.array([start], dtype=np.int64)
    while len(reached):
        level = len(steps) + 1
        here, there = _links_of(reached, first, other)
        reached = np.unique(there[distance[there] < 0])
        distance[reached] = level
        forward = distance[there] == level
        here, there = here[forward], there[forward]
        ways += np.bincount(there, weights=ways[here], minlength=nodes)
        steps.append((here, there))
    gained = np.zeros(nodes)
    for here, there in reversed(steps):
        shares = ways[here] / ways[there] * (1.0 + gained[there])
        gained += np.bincount(here, weights=shares, minlength=nodes)
    gained[start] = 0.0
    return gained


def _links_of(owners: "Integers", first: "Integers", other: "Integers") -> "tuple[Integers, Integers]":
    """Both ends of all links of the owners."""
    import numpy as np

    counts = first[owners + 1] - first[owners]
    before = np.cumsum(counts) - counts
    places = np.arange(counts.sum()) - np.repeat(before - first[owners], counts)
    return np.repeat(owners, counts), other[places]


def pagerank(nodes: int, source: "Integers", target: "Integers", weight: "Floats") -> "Floats":
    """The stationary share of a random walker who follows edges by weight and sometimes starts anew."""
    import numpy as np

    leaving = np.bincount(source, weights=weight, minlength=nodes)
    share = weight / leaving[source]
    stuck = leaving == 0
    rank = np.full(nodes, 1.0 / nodes)
    for _ in range(_MOST_ROUNDS):
        flow = np.bincount(target, weights=rank[source] * share, minlength=nodes)
        moved = DAMPING * (flow + rank[stuck].sum() / nodes) + (1.0 - DAMPING) / nodes
        settled = np.abs(moved - rank).max() < _CLOSE_ENOUGH / nodes
        rank = moved
        if settled:
            break
    return rank


DAMPING: Final = 0.85
_MOST_ROUNDS: Final = 100
_CLOSE_ENOUGH: Final = 1e-10
