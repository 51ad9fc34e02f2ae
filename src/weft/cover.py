"""An order that covers the whole question: what an item above has told counts less for the items below it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.candidates import told
from weft.model import Candidate
from weft.profile import Score

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PICKS: Final = 80
"""Below this many items the order no longer decides what is printed."""


def cover(ranked: Sequence[Candidate], rule: Score, weights: Mapping[str, float]) -> tuple[Candidate, ...]:
    """The candidates in the order of what each adds to those before it, with that as their score.

    Scores only fall, so the order stays one by score; ties keep the order given, which is total.
    """
    weight = weights.get("lexical", 0.0)
    terms = sorted({term for each in ranked for term in each.covers})
    if not rule.coverage or not weight or not terms:
        return tuple(ranked)
    gains = np.array([[each.covers.get(term, 0.0) for term in terms] for each in ranked])
    share = weight * _factors(ranked, weights)
    return _picked(ranked, gains, share, rule.coverage)


def _factors(ranked: Sequence[Candidate], weights: Mapping[str, float]) -> "NDArray[np.float64]":
    """What boosts and lenses multiplied each candidate's sum by."""
    sums = [sum(each.parts.get(name, 0.0) * weight for name, weight in weights.items()) for each in ranked]
    return np.array([each.score / base if base > 0 else 1.0 for each, base in zip(ranked, sums, strict=True)])


def _picked(
    ranked: Sequence[Candidate], gains: "NDArray[np.float64]", share: "NDArray[np.float64]", coverage: float
) -> tuple[Candidate, ...]:
    scores = np.array([each.score for each in ranked])
    # Under what is told, a term is worth a share less: `spent` grows from 0 towards 1 for each.
    weighed, used = gains * share[:, None], gains / np.maximum(gains.max(axis=0), 1e-12)
    spent = np.zeros(gains.shape[1])
    order: list[tuple[int, float]] = []
    for _ in range(min(len(ranked), _PICKS)):
        worth = scores - weighed @ spent
        place = int(worth.argmax())
        order.append((place, round(float(worth[place]), 6)))
        scores[place] = -np.inf
        spent += (1.0 - spent) * coverage * used[place]
    rest = np.round(scores - weighed @ spent, 6)
    order += [
        (place, float(rest[place])) for place in np.argsort(-rest, kind="stable")[: len(ranked) - len(order)]
    ]
    return tuple([_rescored(ranked[place], max(score, 0.0)) for place, score in order])


def _rescored(candidate: Candidate, score: float) -> Candidate:
    repeated = round(candidate.score - score, 6)
    return told(candidate, {**candidate.parts, "repeated": -repeated}, score=score) if repeated > 0 else candidate
