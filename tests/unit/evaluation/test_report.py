"""Every ranking measure agrees with an independent computation."""

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, R, nDCG

from weft.evaluation.report import mean, ndcg, percentile, recall, reciprocal_rank

DOCUMENTS = [f"d{number}" for number in range(30)]
RANKINGS = st.lists(st.sampled_from(DOCUMENTS), unique=True)
GOLD = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(1, 4), min_size=1, max_size=15)


@given(RANKINGS, GOLD)
def test_recall_ndcg_and_reciprocal_rank_are_those_of_trec_eval(ranking: list[str], gold: dict[str, int]) -> None:
    measures = [R @ 5, R @ 10, nDCG @ 10, RR]
    # An empty ranking is no run at all there; one miss stands in for it.
    run = {"q": {name: float(-index) for index, name in enumerate(ranking or ["elsewhere"])}}
    expected = ir_measures.calc_aggregate(measures, {"q": gold}, run)
    assert recall(ranking, gold, 5) == pytest.approx(expected[R @ 5])
    assert recall(ranking, gold, 10) == pytest.approx(expected[R @ 10])
    assert ndcg(ranking, gold, 10) == pytest.approx(expected[nDCG @ 10])
    assert reciprocal_rank(ranking, gold) == pytest.approx(expected[RR])


def test_percentiles_lie_between_their_neighbours() -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5
    assert percentile([1.0, 2.0], 0.95) == pytest.approx(1.95)
    assert percentile([], 0.5) == mean([]) == 0.0
