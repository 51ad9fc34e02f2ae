"""PageRank over a whole graph and from chosen nodes, to the last bit as the two formulas say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from weft.scoring.centrality import DAMPING, MAX_ROUNDS, TOLERANCE, pagerank

NODES = 8
Floats = NDArray[np.float64]
Edges = tuple[NDArray[np.int64], NDArray[np.int64], Floats]

EDGES = st.lists(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.floats(0.01, 10.0)), min_size=1, max_size=30
)


def columns(edges: list[tuple[int, int, float]]) -> Edges:
    source, target, weight = zip(*edges, strict=True)
    return np.array(source, np.int64), np.array(target, np.int64), np.array(weight, np.float64)


def over_the_whole_graph(source: NDArray[np.int64], target: NDArray[np.int64], weight: Floats) -> Floats:
    leaving = np.bincount(source, weights=weight, minlength=NODES)
    share = weight / leaving[source]
    stuck = leaving == 0
    rank = np.full(NODES, 1.0 / NODES)
    for _ in range(MAX_ROUNDS):
        flow = np.bincount(target, weights=rank[source] * share, minlength=NODES)
        moved = DAMPING * (flow + rank[stuck].sum() / NODES) + (1.0 - DAMPING) / NODES
        settled = np.abs(moved - rank).max() < TOLERANCE / NODES
        rank = moved
        if settled:
            break
    return rank


def from_home(home: Floats, edges: Edges, restart: float, rounds: int) -> Floats:
    source, target, chance = edges
    rank = home
    for _ in range(rounds):
        rank = restart * home + (1 - restart) * np.bincount(target, rank[source] * chance, NODES)
    return rank


@settings(max_examples=200, deadline=None)
@given(EDGES)
def test_over_the_whole_graph_every_bit_is_that_of_the_formula(edges: list[tuple[int, int, float]]) -> None:
    assert pagerank(NODES, *columns(edges)).tobytes() == over_the_whole_graph(*columns(edges)).tobytes()


@settings(max_examples=200, deadline=None)
@given(EDGES, st.floats(0.01, 0.99), st.lists(st.floats(1e-6, 1.0), min_size=NODES, max_size=NODES))
def test_from_home_every_bit_is_that_of_the_formula(
    edges: list[tuple[int, int, float]], restart: float, starts: list[float]
) -> None:
    source, target, weight = columns(edges)
    home = np.array(starts) / np.array(starts).sum()
    chance = weight / (2 * np.bincount(source, weight, NODES))[source]
    ranked = pagerank(NODES, source, target, chance, home=home, restart=restart, max_rounds=25, tolerance=0.0)
    assert ranked.tobytes() == from_home(home, (source, target, chance), restart, 25).tobytes()


def test_the_whole_rank_is_shared_out_and_more_goes_where_more_edges_lead() -> None:
    rank = pagerank(3, *columns([(0, 2, 1.0), (1, 2, 1.0)]))
    assert rank.sum() == pytest.approx(1.0)
    assert rank[2] > rank[0] == rank[1]


def test_from_home_what_is_near_ranks_above_what_is_far_and_what_cannot_be_reached_has_none() -> None:
    home = np.array([1.0, 0.0, 0.0, 0.0])
    rank = pagerank(4, *columns([(0, 1, 1.0), (1, 2, 1.0), (3, 0, 1.0)]), home=home, restart=0.5)
    assert rank[0] > rank[1] > rank[2] > rank[3] == 0.0


def test_home_is_left_as_it_was() -> None:
    home = np.array([0.5, 0.5])
    pagerank(2, *columns([(0, 1, 1.0)]), home=home)
    assert home.tolist() == [0.5, 0.5]


def test_it_stops_when_ranks_have_settled_and_after_all_rounds_without_a_tolerance() -> None:
    edges = columns([(0, 1, 1.0), (1, 0, 0.5), (1, 2, 0.5)])
    settled, rounds = pagerank(3, *edges), pagerank(3, *edges, max_rounds=500, tolerance=0.0)
    assert np.allclose(settled, rounds, atol=1e-9)
    assert not np.array_equal(pagerank(3, *edges, max_rounds=1), settled)
