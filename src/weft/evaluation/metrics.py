"""How good a ranking is, against graded judgements: recall, nDCG and reciprocal rank."""

import math
from collections.abc import Collection, Mapping, Sequence


def recall(ranking: Sequence[str], gold: Collection[str], depth: int) -> float:
    """The share of the gold among the first `depth`."""
    return len(set(ranking[:depth]) & set(gold)) / len(gold)


def ndcg(ranking: Sequence[str], gold: Mapping[str, int], depth: int) -> float:
    """The gain of the first `depth`, discounted by log2 of the rank, as a share of the best possible."""
    best = _gain(sorted(gold.values(), reverse=True)[:depth])
    return _gain([gold.get(document, 0) for document in ranking[:depth]]) / best


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(place + 2) for place, grade in enumerate(grades))


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str]) -> float:
    """One over the rank of the first gold document, 0 when there is none."""
    return next((1 / rank for rank, document in enumerate(ranking, start=1) if document in gold), 0.0)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a share of the values lie, between neighbours in proportion; 0 when there are none."""
    ordered = sorted(values)
    if not ordered:
        return 0.0
    place = (len(ordered) - 1) * share
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low + (high - low) * (place - math.floor(place))


def mean(values: Sequence[float]) -> float:
    """The mean, 0 when there are no values."""
    return math.fsum(values) / len(values) if values else 0.0
