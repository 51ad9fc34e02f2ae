"""Betweenness: the nodes over which others are linked."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from weft.scoring.centrality import betweenness

Pairs = list[tuple[int, int]]


def measured(nodes: int, pairs: Pairs) -> NDArray[np.float64]:
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return betweenness(nodes, ends[:, 0], ends[:, 1])


def shortest_ways(nodes: int, pairs: Pairs) -> NDArray[np.float64]:
    """The same by looking at every pair: distances and numbers of ways by breadth-first search."""
    beside = [{b for a, b in pairs if a == n} | {a for a, b in pairs if b == n} for n in range(nodes)]
    distance, ways = np.full((nodes, nodes), np.inf), np.zeros((nodes, nodes))
    for start in range(nodes):
        distance[start, start], ways[start, start], level = 0, 1, [start]
        while level:
            found = sorted({b for a in level for b in beside[a] if distance[start, b] == np.inf})
            for b in found:
                distance[start, b] = distance[start, level[0]] + 1
                ways[start, b] = sum(ways[start, a] for a in level if b in beside[a])
            level = found
    over = np.zeros(nodes)
    for s in range(nodes):
        for t in range(nodes):
            for v in range(nodes):
                between = v not in (s, t) and s != t and np.isfinite(distance[s, t])
                if between and distance[s, v] + distance[v, t] == distance[s, t]:
                    over[v] += ways[s, v] * ways[v, t] / ways[s, t]
    return over / over.max() if over.max() > 0 else over


def test_the_middle_of_a_path_is_what_the_ends_are_linked_over() -> None:
    assert measured(3, [(0, 1), (1, 2)]).tolist() == [0.0, 1.0, 0.0]


def test_without_ways_over_anybody_all_are_zero() -> None:
    assert measured(2, [(0, 1)]).tolist() == [0.0, 0.0]
    assert measured(3, [(0, 0)]).tolist() == [0.0, 0.0, 0.0]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14))
def test_it_is_the_share_of_shortest_ways(pairs: Pairs) -> None:
    pairs = [(a, b) for a, b in pairs if a != b]
    assert np.allclose(measured(7, pairs), shortest_ways(7, pairs))
