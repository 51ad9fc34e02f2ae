"""Keep silent where the store has nothing to say: judge questions by the floor, and lay out the page that says it.

The floor is a probability (relevance.py). Below it the page is a sentence, words of the question that the store
has never seen, and up to three pointers to what came nearest. Above it, what a search found is left out if it lies
far below the floor, so that nothing is printed only to fill the page.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from weft.model import Candidate, Detail, Filter
from weft.pipeline.plan import Plan, check_floor
from weft.pipeline.query import Query, Reading, understand
from weft.pipeline.relevance import (
    Gauge,
    calibrate,
    describe_unknown,
    evidence_of,
    is_about_whole,
    unknown_names,
    unknown_words,
)
from weft.pipeline.retrieve import Gathered, RetrievalResult, search
from weft.pipeline.sections import Layout, Refusal
from weft.pipeline.slots import HeadingCost, Outcome, Reason, section_slot
from weft.ports import Snapshot
from weft.profiles.types import Frame, Fusion, Probe, Section
from weft.scoring.bm25 import term_hash
from weft.text import analyze

NEAREST: Final = Section("nearest", heading="Nearest", detail=(Detail.POINTER,))
"""The section of a silent page: names only, which a page does not cite as sources."""
_MAX_NEAREST: Final = 3
"""Pointers on a silent page: enough to see what the store is about, few enough to cost next to nothing."""
_MIN_TOKENS_FOR_NEAREST: Final = 300
"""A smaller budget takes the sentence alone: pointers would push it off the page."""
_NOTHING: Final = "Nothing here speaks to this question."
_ASK_ON: Final = "Ask in other words, or with a floor of 0 (`--floor 0`) for the nearest matches."
_SURELY_WANTED: Final = 0.5
"""The value of a shape from which on a candidate is what was asked for, and not only of its kind."""
_NOISE_SHARE: Final = 0.05
"""A candidate whose relevance is below this share of the floor is noise. A larger share drops texts that answer in
other words than were asked: at 0.1 a judged page in a hundred and fifty loses its answer, at 0.05 none does."""
_FOUND_BY_SEARCH: Final = frozenset({"hybrid", "bm25", "vector"})
"""The sources of matches that were found for the words or the meaning of the question."""


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
    # A shape finds what is asked for by name, link or place, whatever words are used.
    if any(candidate.parts.get("shape", 0.0) >= _SURELY_WANTED for candidate in gathered.candidates):
        return True
    whole = is_about_whole(request.question) if about_whole is None else about_whole
    return whole or names_something(gathered.query, snapshot)


def names_something(query: Query, snapshot: Snapshot) -> bool:
    """Return whether a question does nothing but name a node, or is one word that the store holds."""
    question = query.text.strip()
    if not question:
        return False
    # Only questions below the floor come here, so the look-up costs no page anything.
    if snapshot.find([question]).get(question):
        return True
    if len(question.split()) > 1:
        return False
    return any(query.statistics.frequency.get(term_hash(term), 0) for term in analyze(question)[:1])


def unknown_names_note(plan: Plan, query: Query) -> tuple[str, ...]:
    """Return a note about the names of the question that the store has never seen."""
    if plan.request.candidates is not None or not query.statistics.passages:
        return ()
    sentence = describe_unknown(unknown_names(query))
    return (sentence,) if sentence else ()


# --- the page that says so ---------------------------------------------------------------------------------


def silent_plan(plan: Plan, query: Query) -> Plan:
    """Return the plan of a page that only says that there is nothing, under the title of the profile."""
    frame = Frame(title=plan.profile.frame.title, empty=describe_silence(query))
    return replace(plan, profile=replace(plan.profile, sections=(NEAREST,), frame=frame))


def describe_silence(query: Query) -> str:
    """Return the sentences of a page that has nothing: that it has not, unknown words, and how to ask on."""
    return " ".join(filter(None, (_NOTHING, describe_unknown(unknown_words(query)), _ASK_ON)))


def lay_out_silence(plan: Plan, gathered: Gathered, heading_cost: HeadingCost) -> Layout:
    """Return the layout of a silent page: what came nearest as pointers, and all else refused."""
    scored = [
        replace(candidate, score=gathered.gauge.relevance(candidate)) if gathered.gauge else candidate
        for candidate in gathered.candidates
    ]
    # What was found comes before what links led to, which shares nothing with the question itself.
    ranked = sorted(scored, key=lambda candidate: (candidate.distance > 0, -candidate.score, *candidate.node.ref))
    takes_pointers = plan.budget is None or plan.budget >= _MIN_TOKENS_FOR_NEAREST
    nearest = ranked[:_MAX_NEAREST] if takes_pointers else []
    refusals = [_refuse(candidate, plan.floor, NEAREST.name) for candidate in ranked[len(nearest) :]]
    return Layout((section_slot(plan, NEAREST, tuple(nearest), heading_cost),), tuple(refusals), is_silent=True)


def _refuse(candidate: Candidate, floor: float, section: str = "") -> Refusal:
    reason = Reason.BELOW_FLOOR.value.format(relevance=f"{candidate.score:.2f}", floor=f"{floor:g}")
    return Refusal(candidate, section, reason)


# --- a search ----------------------------------------------------------------------------------------------


def search_above(floor: float, question: str, probe: Probe, filter: Filter, reading: Reading) -> RetrievalResult:
    """Search by one probe, and return the candidates down to the last above the floor, with their relevance."""
    query = understand(question, reading.snapshot, reading.embedder)
    fusion, least = Fusion(), check_floor(floor)
    # Judged by as many candidates as a page is, so that both agree on what there is nothing about.
    wide = replace(probe, limit=max(probe.limit, fusion.pool))
    found = search(query, wide, filter, fusion, reading.snapshot, reading.index)
    gauge = Gauge.of(query, evidence_of(query, reading.embedder, probe.match))
    if gauge.best(found.candidates) < least and names_something(query, reading.snapshot):
        least = 0.0
    kept = calibrate(found.candidates, gauge, least)[: probe.limit]
    below = min(len(found.candidates), probe.limit) - len(kept)
    notes = (*found.notes, *query.notes, *_search_notes(query, kept, below, least))
    return replace(found, candidates=kept, notes=notes)


def _search_notes(query: Query, kept: Sequence[Candidate], below: int, floor: float) -> tuple[str, ...]:
    if not below:
        return ()
    if not kept:
        return (describe_silence(query),)
    further = "1 further match is" if below == 1 else f"{below} further matches are"
    return (f"{further} below the floor of {floor:g}, and left out.",)


# --- single candidates -------------------------------------------------------------------------------------


def drop_noise(
    plan: Plan, candidates: Sequence[Candidate], gathered: Gathered
) -> tuple[list[Candidate], list[Refusal]]:
    """Return the candidates worth printing, and refusals for those that a search found far below the floor.

    What the question names, and what links or names lead to, stays whatever its words say.
    """
    gauge, least = gathered.gauge, _NOISE_SHARE * plan.floor
    # A question that is answered for another reason than its words must not be measured by them.
    is_judged = plan.request.candidates is None and gathered.relevance >= plan.floor
    if gauge is None or not is_judged or is_about_whole(plan.request.question):
        return list(candidates), []
    kept, refused = [], []
    for candidate in candidates:
        relevance = gauge.relevance(candidate) if _is_only_found(candidate) else 1.0
        if relevance >= least:
            kept.append(candidate)
        else:
            refused.append(_refuse(replace(candidate, score=relevance), least))
    return kept, refused


def _is_only_found(candidate: Candidate) -> bool:
    """Return whether nothing but a search for the question speaks for a candidate."""
    parts = candidate.parts
    is_reached = candidate.distance or any(parts.get(name, 0.0) > 0 for name in ("start", "named", "bridge"))
    return candidate.match_source in _FOUND_BY_SEARCH and not is_reached


def all_told_note(outcomes: Sequence[Outcome], noise: int) -> tuple[str, ...]:
    """Return the note of a page that is short because only noise is left."""
    if not noise or any(outcome.reason.wants_room for outcome in outcomes):
        return ()
    weaker = "1 weaker candidate is" if noise == 1 else f"{noise} weaker candidates are"
    return (f"All that is relevant is on the page: {weaker} left out.",)
