"""An order that covers the whole question: what an item above has told counts less for the items below it."""

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from typing import Final

from weft.candidates import told
from weft.model import Candidate
from weft.profile import Score

_PICKS: Final = 80
"""Below this many items the order no longer decides what is printed."""
_LEAST: Final = 1e-12


def cover(ranked: Sequence[Candidate], rule: Score, weights: Mapping[str, float]) -> tuple[Candidate, ...]:
    """The candidates in the order of what each adds to those before it, with that as their score.

    Scores only fall, so the order stays one by score; ties keep the order given, which is total.
    """
    if not rule.coverage or not weights.get("lexical") or not any(each.covers for each in ranked):
        return tuple(ranked)
    return _picked(ranked, _shares(ranked, weights), rule.coverage)


def _shares(ranked: Sequence[Candidate], weights: Mapping[str, float]) -> list[float]:
    """What a candidate's score has for all of its lexical part: boosts and lenses multiplied its sum."""
    sums = [sum([each.parts.get(name, 0.0) * weight for name, weight in weights.items()]) for each in ranked]
    factors = [each.score / base if base > 0 else 1.0 for each, base in zip(ranked, sums, strict=True)]
    return [weights["lexical"] * factor for factor in factors]


def _picked(ranked: Sequence[Candidate], shares: Sequence[float], coverage: float) -> tuple[Candidate, ...]:
    """The best of what is left, again and again.

    What a candidate adds only falls, so one that was counted anew and is still ahead of all others is the best:
    few are counted each time. Sums are made term by term, so that they are the same on every machine.
    """
    most = _most(ranked)
    # Under what is told, a term is worth a share less: `spent` grows from 0 towards 1 for each.
    spent = dict.fromkeys(most, 0.0)

    def worth(place: int) -> float:
        each = ranked[place]
        told_before = sum([gain * spent[term] for term, gain in each.covers.items()])
        return each.score - shares[place] * told_before

    waiting = [(-each.score, place, 0) for place, each in enumerate(ranked)]
    heapify(waiting)
    order: list[tuple[int, float]] = []
    for turn in range(min(len(ranked), _PICKS)):
        while waiting[0][2] < turn:
            heapreplace(waiting, (-worth(waiting[0][1]), waiting[0][1], turn))
        fallen, place, _ = heappop(waiting)
        order.append((place, round(-fallen, 6)))
        for term, gain in ranked[place].covers.items():
            spent[term] += (1.0 - spent[term]) * coverage * gain / most[term]
    rest = sorted([(-round(worth(place), 6), place) for _, place, _ in waiting])
    order += [(place, -fallen) for fallen, place in rest]
    return tuple([_rescored(ranked[place], max(score, 0.0)) for place, score in order])


def _most(ranked: Sequence[Candidate]) -> dict[int, float]:
    """What each term adds to the candidate that tells most of it."""
    most: dict[int, float] = {}
    for each in ranked:
        for term, gain in each.covers.items():
            most[term] = max(gain, most.get(term, _LEAST))
    return most


def _rescored(candidate: Candidate, score: float) -> Candidate:
    repeated = round(candidate.score - score, 6)
    return told(candidate, {**candidate.parts, "repeated": -repeated}, score=score) if repeated > 0 else candidate
