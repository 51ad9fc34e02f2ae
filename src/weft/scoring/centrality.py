"""Rank the nodes of a graph by their links: PageRank, over all of it or from chosen nodes, and betweenness.

Every sum is over arrays in one fixed order, so results are the same to the last digit every time.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]


DAMPING: Final = 0.85
"""The chance that a random walker follows an edge instead of starting anew: the value of the original PageRank.
Higher, rank flows further and the rounds settle more slowly; lower, all nodes rank more alike."""
MAX_ROUNDS: Final = 100
"""Rounds after which ranking stops. With the damping above, 100 rounds leave less than 1e-7 of the first error."""
TOLERANCE: Final = 1e-10
"""The greatest change of a rank, as a share of the mean rank, at which it has settled: far below what is
printed."""

_MAX_FOLLOWED_LINKS: Final = 4_000_000
"""About how many links `betweenness` follows, which bounds its time: larger graphs are measured from fewer
nodes."""
_MIN_START_NODES: Final = 4
"""Nodes that `betweenness` starts from at least, however large the graph is."""


def pagerank(
    nodes: int,
    source: "Integers",
    target: "Integers",
    weight: "Floats",
    *,
    home: "Floats | None" = None,
    restart: float = 1.0 - DAMPING,
    max_rounds: int = MAX_ROUNDS,
    tolerance: float = TOLERANCE,
) -> "Floats":
    """Return the share of time that a random walker spends at each node, following edges and starting anew at
    times.

    In each round the walker starts anew with the chance `restart`, else follows an edge. Without `home`, it starts
    at any node, follows the edges of a node in proportion to their weights, and goes anywhere from a node without
    edges.

    With `home`, the chance of each node to be started from, which sum to 1, the rank is personalised: `weight` is
    then the chance itself that the walker takes an edge. Chances of a node that sum to less than 1 stand for edges
    that lead out of the graph, and what leaves over them is lost, so the ranks sum to less than 1 too.

    Ranking stops after `max_rounds`, or before when no rank changes by more than `tolerance` times the mean rank;
    a tolerance of 0 makes it take all rounds.
    """
    import numpy as np

    damping = 1.0 - restart
    chance, dangling = weight, None
    started: Floats | float
    if home is None:
        leaving = np.bincount(source, weights=weight, minlength=nodes)
        chance, dangling = weight / leaving[source], leaving == 0
        rank, started = np.full(nodes, 1.0 / nodes), restart / nodes
    else:
        rank, started = home, restart * home
    for _ in range(max_rounds):
        flow = np.bincount(target, weights=rank[source] * chance, minlength=nodes)
        # A walker at a node without edges goes anywhere; else its rank would leak away in every round.
        if dangling is not None:
            flow = flow + rank[dangling].sum() / nodes
        previous, rank = rank, damping * flow + started
        if tolerance and np.abs(rank - previous).max() < tolerance / nodes:
            break
    return rank


def betweenness(nodes: int, source: "Integers", target: "Integers") -> "Floats":
    """Return the share of shortest paths over each node, the highest being 1, summed from evenly spread nodes."""
    import numpy as np

    first, other = _neighbour_lists(nodes, source, target)
    total = np.zeros(nodes)
    # Evenly spread and not random, so that the result is the same every time.
    starts = min(nodes, max(_MAX_FOLLOWED_LINKS // max(len(other), 1), _MIN_START_NODES))
    for start in np.unique(np.linspace(0, nodes - 1, starts).astype(np.int64)).tolist():
        total += _dependence(start, nodes, first, other)
    highest = total.max(initial=0.0)
    return total / highest if highest > 0 else total


def _neighbour_lists(nodes: int, source: "Integers", target: "Integers") -> "tuple[Integers, Integers]":
    """Return where each node's neighbours begin, and all neighbours, each pair once in either direction."""
    import numpy as np

    apart = source != target
    # A pair is one number, so that sorting and removing duplicates is a single pass.
    pairs = np.concatenate([source[apart] * nodes + target[apart], target[apart] * nodes + source[apart]])
    pairs.sort()
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    owner = pairs // nodes
    first = np.zeros(nodes + 1, np.int64)
    first[1:] = np.cumsum(np.bincount(owner, minlength=nodes))
    return first, pairs - owner * nodes


def _dependence(start: int, nodes: int, first: "Integers", other: "Integers") -> "Floats":
    """Return how much of what can be reached from one node is reached over each of the others.

    This is Brandes' algorithm, a level of the breadth-first search at a time.
    """
    import numpy as np

    distance = np.full(nodes, -1, dtype=np.int64)
    paths = np.zeros(nodes)
    distance[start], paths[start] = 0, 1.0
    steps: list[tuple[Integers, Integers]] = []
    reached = np.array([start], dtype=np.int64)
    while len(reached):
        level = len(steps) + 1
        here, there = _links_from(reached, first, other)
        # Links within a level, or back to the last, are on no shortest path.
        forward = distance[there] < 0
        here, there = here[forward], there[forward]
        distance[there] = level
        reached = np.flatnonzero(distance == level)
        paths += np.bincount(there, weights=paths[here], minlength=nodes)
        steps.append((here, there))
    dependence = np.zeros(nodes)
    for here, there in reversed(steps):
        shares = paths[here] / paths[there] * (1.0 + dependence[there])
        dependence += np.bincount(here, weights=shares, minlength=nodes)
    # A path does not pass over the node that it begins at.
    dependence[start] = 0.0
    return dependence


def _links_from(owners: "Integers", first: "Integers", other: "Integers") -> "tuple[Integers, Integers]":
    """Return both ends of all links of the owners."""
    import numpy as np

    counts = first[owners + 1] - first[owners]
    before = np.cumsum(counts) - counts
    indexes = np.arange(counts.sum()) - np.repeat(before - first[owners], counts)
    return np.repeat(owners, counts), other[indexes]
