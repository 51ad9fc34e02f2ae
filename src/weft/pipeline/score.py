"""Signals become one score; the parts are kept, because explaining a ranking is a feature."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from heapq import heapify, heappop, heapreplace
from typing import Final

from weft.model import Candidate
from weft.profiles.types import Lens, Score
from weft.scoring.candidates import only_named, told


def score(
    candidates: Sequence[Candidate], rule: Score, lens: Lens, now: datetime, absent: Collection[str]
) -> tuple[Candidate, ...]:
    """The candidates with their score and its parts, in the one total order: score, then tenant and key.

    `absent` are signals this request cannot have at all (no embedder, say): the profile states the weights to
    use then, for all candidates alike.
    """
    scored = [*map(_scorer(rule, weights_of(rule, absent), lens, now), candidates)]
    return tuple(sorted(scored, key=lambda each: _order(each, rule.start_first)))


def weights_of(rule: Score, absent: Collection[str]) -> Mapping[str, float]:
    """The weights in force when some signals are absent from the request."""
    for signal, weights in rule.without.items():
        if signal in absent:
            return weights
    return rule.weights


def _order(candidate: Candidate, start_first: bool) -> tuple[bool, float, str, str]:
    later = start_first and "start" not in candidate.parts
    return later, -candidate.score, candidate.node.tenant, candidate.node.key


def _scorer(
    rule: Score, weights: Mapping[str, float], lens: Lens, now: datetime
) -> Callable[[Candidate], Candidate]:
    """What gives a candidate its score; plain loops, because every candidate of every page runs through them."""
    readers = {name: _reader(name, rule, now) for name in (*weights, *rule.boosts)}
    if lens.named_with is not None and "relevance" in readers:
        readers["relevance"] = lambda candidate: _own_relevance(candidate, lens)
    weighed, boosted, product = tuple(weights.items()), tuple(rule.boosts.items()), rule.combine == "product"
    raises = bool(lens.raise_tags or lens.raise_kinds)

    def scored(candidate: Candidate) -> Candidate:
        known = candidate.parts
        parts = {**known}
        for name, read in readers.items():
            parts[name] = known.get(name, 0.0) if read is None else read(candidate)
        base = 1.0 if product else 0.0
        for name, weight in weighed:
            base = base * parts[name] ** weight if product else base + parts[name] * weight
        boosts = 1.0
        for name, boost in boosted:
            boosts *= 1.0 + boost * parts[name]
        raised = _raised(candidate, lens) if raises else 1.0
        if raised != 1.0:
            parts["raised"] = raised
        return told(candidate, parts, score=round(base * boosts * raised, 6))

    return scored


def _raised(candidate: Candidate, lens: Lens) -> float:
    """What the lens multiplies this candidate's score by: for its kind, and for a tag that says more."""
    kind = candidate.node.kind
    told = {kind} if kind in lens.raise_kinds else set()
    by_tag = [lens.raise_tags[tag] for tag in candidate.node.tags if tag in lens.raise_tags and tag not in told]
    return lens.raise_kinds.get(kind, 1.0) * max(by_tag, default=1.0)


def _reader(name: str, rule: Score, now: datetime) -> Callable[[Candidate], float] | None:
    """What reads a signal off a candidate; None for one that is only told among its parts."""
    if name == "distance":
        return lambda candidate: _closeness(candidate.distance, rule)
    if name == "recency":
        return lambda candidate: _recency(
            candidate.node.modified or candidate.node.created, rule.half_life_days, now
        )
    if name == "importance":
        return lambda candidate: candidate.node.importance
    if name == "table":
        return lambda candidate: rule.table.get(str(candidate.node.fields.get(rule.table_field, "")), 0.0)
    if name == "edge":
        return lambda candidate: candidate.parts.get("edge", 1.0)
    return None


def _own_relevance(candidate: Candidate, lens: Lens) -> float:
    """How relevant a candidate is; the words of what only quotes a passage are the passage's, and not its own."""
    return 0.0 if only_named(candidate, lens.named_with) else candidate.parts.get("relevance", 0.0)


def _closeness(distance: int, rule: Score) -> float:
    return round(1.0 / (distance + 1) if rule.distance == "decay" else 1.0 / max(distance, 1), 9)


def _recency(time: datetime | None, half_life_days: float, now: datetime) -> float:
    """1 for now or later, halved every half-life; 0 for what carries no date."""
    if time is None:
        return 0.0
    days = max((now - time).total_seconds(), 0.0) / 86_400
    return round(float(0.5 ** (days / half_life_days)), 9)


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
