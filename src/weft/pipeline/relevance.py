"""Calibrate relevance, and keep silent where the store has nothing to say.

Relevance is the probability, from 0 to 1, that the store speaks to a question, or a candidate does. It is a
logistic function of what retrieval has measured already, so it reads nothing: which share of the question a
candidate holds, its cosine, which share the view has seen at all, how many terms the question has, how many
passages the view has, and how many names of the question it has never seen. `bench/calibration.py` fits the
constants and prints how well they hold.

The floor is a relevance. Below it the page is a sentence, words of the question that the store has never seen,
and up to three pointers to what came nearest; a question of several words that comes near it gets a short page.
Above it, what a search found is left out if it lies far below, so that nothing is printed only to fill the page.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.model import Candidate, Detail
from weft.pipeline.calibration import CALIBRATIONS, Calibration, Evidence
from weft.pipeline.neighbours import only_acknowledges
from weft.pipeline.plan import Plan
from weft.pipeline.query import Query
from weft.pipeline.retrieve import Gathered
from weft.pipeline.sections import Layout, Refusal, split_received
from weft.pipeline.shape_phrases import Shape
from weft.pipeline.shapes import is_listed
from weft.pipeline.slots import HeadingCost, Reason, section_slot
from weft.pipeline.standing import StandingRules, asks_about_person, has_profile, leave_out_stated
from weft.ports import Embedder, Snapshot, TermStatistics
from weft.profiles.types import Frame, Section
from weft.scoring.bm25 import inverse_frequency, term_hash
from weft.text import analyze, find_proper_names
from weft.text.sentences import is_about_whole
from weft.text.terms import STOP_WORDS

CALIBRATED_EMBEDDERS: Final = frozenset({"weft-static-1"})
"""Embedders whose cosines the constants were fitted on; those of others lie elsewhere, so words alone decide."""
_MAX_TERMS: Final = 24
"""Terms of a question beyond these add no further trust: a pasted log is no better understood than a paragraph."""
_MAX_PASSAGES: Final = 1000
"""Passages of a view beyond these change nothing: the best of many is better by chance only while they are few."""
_MAX_UNKNOWN_NAMES: Final = 2
"""Unknown names that count: two tell as much as five that the question is about something else."""
_MAX_LISTED_WORDS: Final = 5
"""Words that a note lists as unknown: enough to see a wrong word, few enough for one line."""
_MAX_LISTED_CHARACTERS: Final = 40
_MAX_READ_CHARACTERS: Final = 2_000
"""Characters of a question that are read for unknown words: a pasted log is full of them."""
_ORDERS: Final = frozenset(
    analyze(
        "clarify debug demonstrate describe elaborate explain find fix hello help hey hi implement improve"
        " investigate kindly list look optimise optimize please pls plz refactor show summarise summarize support"
        " tell thanks walk"
    )
)
"""Terms that say what is to be done with an answer. Where a store has never seen one, a question is no less about
the store."""
_ORDER_HASHES: Final = frozenset(map(term_hash, _ORDERS))
_WORD: Final = re.compile(r"[^\W_][\w.:+#'’-]*")
_ENDING: Final = re.compile(r"(?:['’]s?|[.:'’-]+)\Z")

NEAREST: Final = Section("nearest", heading="Nearest", detail=(Detail.POINTER,))
"""The section of a silent page: names only, which a page does not cite as sources."""
_MAX_NEAREST: Final = 3
"""Pointers on a silent page: enough to see what the store is about, few enough to cost next to nothing."""
_MIN_TOKENS_FOR_NEAREST: Final = 300
"""A smaller budget takes the sentence alone: pointers would push it off the page."""
_NOTHING: Final = "Nothing here speaks to this question."
_DOUBT: Final = "This came nearest, and may not answer the question."
_ASK_FOR_MORE: Final = "A floor of 0 (`--floor 0`) prints more of it."
_ASK_ON: Final = "Ask in other words, or with a floor of 0 (`--floor 0`) for the nearest matches."
_SURELY_WANTED: Final = 0.5
"""The value of a shape from which on a candidate is what was asked for, and not only of its kind."""
_HISTORY_PART: Final = f"shape_{Shape.HISTORY}"
"""The value of a commit that was searched for by words, which says nothing about how well it matched."""
_FACTOR_PART: Final = "shape_factor"
_PARTS_BY_KIND: Final = frozenset(
    f"shape_{shape}" for shape in (Shape.TESTS, Shape.FLOW, Shape.EXAMPLE, Shape.MANIFEST, Shape.AUTOMATION)
)
"""The values of what is found by its kind, whatever the question is about: tests, calls, a manifest."""
_REACHED_PARTS: Final = frozenset({
    *("start", "named", "bridge"),
    # Every turn of the person is counted, the one that a search hardly found like the one that none found.
    *(f"shape_{shape}" for shape in (Shape.ORDER, Shape.COUNT, Shape.SUMMARY)),
})  # fmt: skip
"""The values of what something else than a search for the question speaks for."""
_MAX_UNKNOWN_SHARE: Final = 0.4
"""A question of which words that the store has never seen are so much is about something else, although a shape
finds tests or a manifest for it: "which dependencies does the cheese industry have?"."""
_SHAPE_HASHES: Final = frozenset(
    map(
        term_hash,
        analyze(
            "minimum oldest earliest newest latest supported required version dependency add write new another"
            " custom test"
        ),
    )
)
"""Terms by which such shapes are read, as in "minimum Node version"; they are no part of what it is about."""
_FOUND_BY_SEARCH: Final = frozenset({"hybrid", "bm25", "vector"})
"""The sources of matches that were found for the words or the meaning of the question."""


def evidence_of(query: Query, embedder: Embedder | None, match: str = "hybrid") -> Evidence:
    """Return by what a question is measured: by its cosines only where they are on the scale of the constants."""
    if query.vector is None or embedder is None or embedder.name not in CALIBRATED_EMBEDDERS:
        return Evidence.WORDS
    return {"vector": Evidence.MEANING, "bm25": Evidence.WORDS}.get(match, Evidence.WORDS_AND_MEANING)


class Measures(Struct, frozen=True):
    """The measures of a candidate that its relevance is made of."""

    coverage: float
    cosine: float
    known: float
    terms: float
    passages: float
    unknown_names: float

    def log_odds(self, calibration: Calibration) -> float:
        """Return the logarithm of the odds that the candidate speaks to the question."""
        return (
            calibration.coverage * self.coverage
            + calibration.cosine * self.cosine
            + calibration.known * self.known
            + calibration.terms * self.terms
            + calibration.passages * self.passages
            + calibration.unknown_names * self.unknown_names
            + calibration.constant
        )


class Gauge(Struct, frozen=True):
    """The measure of one question: `shares` says which share of the question each of its terms is, `known` which
    share of it the view has seen."""

    shares: Mapping[int, float]
    known: float
    terms: float
    passages: float
    unknown_names: float
    calibration: Calibration

    @classmethod
    def of(cls, query: Query, evidence: Evidence) -> "Gauge":
        """Return the gauge for a question in its view."""
        # A term of an earlier turn weighs less than one of the question, and a repeated one no more than once.
        frequency = query.statistics.frequency
        asked = {
            term: min(weight, 1.0)
            for term, weight in query.terms.items()
            if frequency.get(term, 0) or term not in _ORDER_HASHES
        }
        rarities = _rarities(query.statistics, sorted(asked))
        weights = {term: asked[term] * rarities[term] for term in asked}
        total = sum(weights.values()) or 1.0
        unknown = len(unknown_names(query)[:_MAX_UNKNOWN_NAMES])
        shares = {term: weight / total for term, weight in weights.items()}
        return cls(
            shares=shares,
            known=sum([shares[term] for term in sorted(shares) if frequency.get(term, 0)]),
            terms=math.log1p(min(sum(asked.values()), _MAX_TERMS)),
            passages=math.log1p(min(query.statistics.passages, _MAX_PASSAGES)),
            unknown_names=float(unknown),
            calibration=CALIBRATIONS[evidence],
        )

    def measures(self, candidate: Candidate) -> Measures:
        """Return the measures of a candidate."""
        # Sorted, because the last digits of a sum depend on its order.
        coverage = sum([self.shares[term] for term in sorted(candidate.covers) if term in self.shares])
        cosine = candidate.parts.get("semantic", 0.0)
        return Measures(coverage, cosine, self.known, self.terms, self.passages, self.unknown_names)

    def relevance(self, candidate: Candidate) -> float:
        """Return the probability that the candidate speaks to the question."""
        measures, calibration = self.measures(candidate), self.calibration
        # The other measures are about the question: they say nothing for a candidate that shares nothing with it.
        if calibration.coverage * measures.coverage + calibration.cosine * measures.cosine <= 0:
            return 0.0
        return round(1 / (1 + math.exp(-measures.log_odds(calibration))), 6)

    def best(self, candidates: Iterable[Candidate]) -> float:
        """Return the probability that the store speaks to the question: that of the best candidate."""
        return max([self.relevance(candidate) for candidate in candidates], default=0.0)


def _rarities(statistics: TermStatistics, terms: Sequence[int]) -> dict[int, float]:
    """Return how telling each term is; one that was never seen is taken for one that was seen once.

    Among few passages a term that is seen nowhere would else outweigh all the others by far.
    """
    seen = {term: max(count, 1) for term, count in statistics.frequency.items()}
    smoothed = replace(
        statistics, passages=max(statistics.passages, 1), frequency={term: seen.get(term, 1) for term in terms}
    )
    return dict(zip(terms, inverse_frequency(smoothed, terms).tolist(), strict=True))


# --- words that the store does not know --------------------------------------------------------------------


def unknown_names(query: Query) -> tuple[str, ...]:
    """Return the names of the question, by their capitals, that the view has never seen, in its order."""
    text = query.text[:_MAX_READ_CHARACTERS]
    words = [word for name in find_proper_names(text) for word in _WORD.findall(name)]
    return _unknown(words, query.statistics)


def unknown_words(query: Query) -> tuple[str, ...]:
    """Return the words of the question that the view has never seen, in its order."""
    return _unknown(_WORD.findall(query.text[:_MAX_READ_CHARACTERS]), query.statistics)


def _unknown(words: Iterable[str], statistics: TermStatistics) -> tuple[str, ...]:
    known = statistics.frequency
    unknown: dict[str, str] = {}
    for written in words:
        word = _ENDING.sub("", written)
        if len(word) < 2 or word.lower() in STOP_WORDS:
            continue
        terms = analyze(word)
        if _ORDERS.issuperset(terms) or any(known.get(term_hash(term), 0) for term in terms):
            continue
        unknown.setdefault(word.casefold(), word)
    return tuple(unknown.values())


def describe_unknown(words: Sequence[str], as_of: int | None = None) -> str:
    """Return a sentence that names words which the store, or a story so far, never mentions; or nothing."""
    named = [
        word if len(word) <= _MAX_LISTED_CHARACTERS else f"{word[:_MAX_LISTED_CHARACTERS]}…"
        for word in words[:_MAX_LISTED_WORDS]
    ]
    if not named:
        return ""
    listed = named[0] if len(named) == 1 else f"{', '.join(named[:-1])} or {named[-1]}"
    return (
        f"Nothing here mentions {listed}."
        if as_of is None
        else f"Up to chapter {as_of} nothing mentions {listed}."
    )


# --- judging -----------------------------------------------------------------------------------------------


def speaks(plan: Plan, gathered: Gathered, snapshot: Snapshot, *, about_whole: bool | None = None) -> bool:
    """Return whether there is something to say to the question of one topic.

    `about_whole` tells that the question is about all that is stored; None judges by its words.
    """
    request = plan.request
    if gathered.relevance >= plan.floor or not gathered.candidates:
        return True
    # What the caller names or brings is wanted, and a profile's own questions are not the caller's.
    if request.start or request.candidates is not None or not request.question.strip():
        return True
    if _finds_surely(gathered):
        return True
    whole = is_about_whole(request.question) if about_whole is None else about_whole
    if whole or names_something(gathered.query, snapshot):
        return True
    # What people told about themselves shares no word with a question for it.
    return asks_about_person(request.question) and has_profile(snapshot)


def _finds_surely(gathered: Gathered) -> bool:
    """Return whether a shape found what is asked for: by a name, or by its kind where most words are known."""
    unsure = {_HISTORY_PART} if _knows_words(gathered.query) else {_HISTORY_PART, *_PARTS_BY_KIND}
    return any(
        value >= _SURELY_WANTED
        for candidate in gathered.candidates
        for name, value in candidate.parts.items()
        if name.startswith("shape_") and name != _FACTOR_PART and name not in unsure
    )


def _knows_words(query: Query) -> bool:
    """Return whether words that the store has never seen are but a small part of the question."""
    weights = {term: weight for term, weight in query.term_weights().items() if term not in _SHAPE_HASHES}
    unknown = sum([weight for term, weight in weights.items() if not query.statistics.frequency.get(term)])
    return unknown < _MAX_UNKNOWN_SHARE * sum(weights.values())


def names_something(query: Query, snapshot: Snapshot) -> bool:
    """Return whether a question does nothing but name a node, or is one word that the store holds."""
    question = query.text.strip()
    if not question:
        return False
    if snapshot.find([question]).get(question):
        return True
    if len(question.split()) > 1:
        return False
    return any(query.statistics.frequency.get(term_hash(term), 0) for term in analyze(question)[:1])


def unknown_names_note(plan: Plan, query: Query) -> tuple[str, ...]:
    """Return a note about the names of the question that the store has never seen."""
    if plan.request.candidates is not None or not query.statistics.passages:
        return ()
    sentence = describe_unknown(unknown_names(query), plan.request.view.as_of)
    return (sentence,) if sentence else ()


# --- the page that says so ---------------------------------------------------------------------------------


def silent_plan(plan: Plan, query: Query) -> Plan:
    """Return the plan of a page that says that there is nothing, with its standing rules.

    A profile without words for an empty page prints nothing then.
    """
    stated = plan.profile.frame
    if not stated.empty:
        return replace(plan, profile=replace(plan.profile, sections=(), frame=Frame(title="", empty="")))
    frame = Frame(title=stated.title, empty=describe_silence(query, plan.request.view.as_of))
    rules = tuple(section for section in plan.profile.sections if section.standing == "rules")
    return replace(plan, profile=replace(plan.profile, sections=(*rules, NEAREST), frame=frame))


def describe_silence(query: Query, as_of: int | None = None) -> str:
    """Return the sentences of a page that has nothing: that it has not, unknown words, and how to ask on."""
    return " ".join(filter(None, (_NOTHING, describe_unknown(unknown_words(query), as_of), _ASK_ON)))


def describe_doubt(query: Query, as_of: int | None = None) -> str:
    """Return the sentences of a page that may not answer its question."""
    return " ".join(filter(None, (_DOUBT, describe_unknown(unknown_words(query), as_of), _ASK_FOR_MORE)))


def lay_out_silence(plan: Plan, gathered: Gathered, standing: StandingRules, heading_cost: HeadingCost) -> Layout:
    """Return the layout of a silent page: standing rules, what came nearest as pointers, and all else refused."""
    scored = [
        replace(candidate, score=gathered.relevance_of(candidate)) if gathered.relevance_of else candidate
        for candidate in leave_out_stated(plan, gathered.candidates)
    ]
    # What was found comes before what links led to, which shares nothing with the question itself. A text whose
    # value holds no longer comes last, because a pointer has no mark.
    ranked = sorted(
        scored,
        key=lambda each: (each.node.ref in standing.replaced, each.distance > 0, -each.score, *each.node.ref),
    )
    fresh, received = split_received(plan, standing.by_section.get("rules", ()))
    takes_more = plan.budget is None or plan.budget >= _MIN_TOKENS_FOR_NEAREST
    nearest = ranked[:_MAX_NEAREST] if takes_more and plan.sections() else []
    refusals = [_refuse(candidate, plan.floor, NEAREST.name) for candidate in ranked[len(nearest) :]]
    slots = [
        section_slot(plan, each, tuple(fresh if each.standing else nearest), heading_cost)
        for each in plan.sections()
        if takes_more or not each.standing
    ]
    return Layout(tuple(slots), (*refusals, *received), is_silent=True)


def _refuse(candidate: Candidate, floor: float, section: str = "") -> Refusal:
    reason = Reason.BELOW_FLOOR.value.format(relevance=f"{candidate.score:.2f}", floor=f"{floor:g}")
    return Refusal(candidate, section, reason)


# --- single candidates -------------------------------------------------------------------------------------


def drop_noise(
    plan: Plan, candidates: Sequence[Candidate], gathered: Gathered
) -> tuple[list[Candidate], list[Refusal]]:
    """Return the candidates worth printing, and refusals for those that a search found far below the floor.

    What the question names, and what links or names lead to, stays whatever its words say.
    """
    if gathered.is_list:
        return _keep_listed(candidates)
    relevance_of, least = gathered.relevance_of, plan.noise
    # A question that is answered for another reason than its words must not be measured by them.
    is_measured = plan.request.candidates is None and gathered.relevance >= plan.floor
    if relevance_of is None or not is_measured or is_about_whole(plan.request.question):
        return list(candidates), []
    kept, refused = [], []
    for candidate in candidates:
        is_filler = only_acknowledges(candidate)
        needed = plan.floor if is_filler else least
        relevance = relevance_of(candidate) if is_filler or _is_only_found(candidate) else 1.0
        if relevance >= needed:
            kept.append(candidate)
        else:
            refused.append(_refuse(replace(candidate, score=relevance), needed))
    return kept, refused


def _keep_listed(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Refusal]]:
    """Return the candidates that a list consists of, and refusals for all others."""
    listed, refused = [], []
    for candidate in candidates:
        if is_listed(candidate):
            listed.append(candidate)
        else:
            refused.append(Refusal(candidate, "", Reason.NOT_ASKED_FOR.value))
    return listed, refused


def _is_only_found(candidate: Candidate) -> bool:
    """Return whether nothing but a search for the question speaks for a candidate."""
    if candidate.distance or candidate.match_source not in _FOUND_BY_SEARCH:
        return False
    parts = candidate.parts
    # Most have none of these parts, which is told at once.
    return _REACHED_PARTS.isdisjoint(parts) or not any(parts.get(name, 0.0) > 0 for name in _REACHED_PARTS)
