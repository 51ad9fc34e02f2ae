"""List what matches a question, as `weft search` does: searched once, ordered, and cut at the floor.

Nothing is followed or printed. Where code was found, it is ordered by more than its words.
"""

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from weft.errors import InvalidInput
from weft.model import CALIBRATED, SEARCH_MATCHES, Candidate, Filter, Node
from weft.pipeline.plan import check_floor
from weft.pipeline.query import Query, Reading, understand
from weft.pipeline.relevance import Gauge, describe_silence, evidence_of, names_something
from weft.pipeline.retrieve import RetrievalResult, search
from weft.pipeline.score import (
    NAME_SEPARATOR,
    SCORE_DECIMALS,
    file_lifts,
    file_of,
    find_export,
    is_sample,
    name_share,
    path_worth,
)
from weft.pipeline.shapes import CODE_KINDS, COMMIT, DEFINITION_KINDS, asks_history, read_shapes, spell_names
from weft.profiles.types import Fusion, Probe
from weft.text import analyze, looks_like_code

_ORDERED: Final = 120
"""Candidates that are put in order: the file that is asked for is among the first ten by words in two thirds of
the questions about code, and among these in nearly all."""

# What each sign adds to a relevance between 0 and 1, in round numbers, chosen by hand with all seven repositories
# of a benchmark of code search in view. Free fits on some of them reached 0.83 and 0.92 on the others.
_CODE: Final = 0.15
"""For code, which is what people search a repository for, before documents that describe it."""
_TITLE: Final = 0.15
"""For a definition whose name is made of words of the question only."""
_NAMED_TYPE: Final = 0.4
"""For a class or type that the question calls by its very name: it comes before all that uses it."""
_NAMED_FUNCTION: Final = 0.2
"""The same for a function or method; many have the same name."""
_SAMPLE_FACTOR: Final = 0.6
"""The factor for tests, examples, documents' snippets and code that is kept for compatibility."""
_FILE_LIFT: Final = 0.3
"""For the best piece of the file of which the most other pieces match; a part of it for other files."""
_FURTHER_PIECE_FACTOR: Final = 0.4
"""The factor for each further piece of a file, so that the first ten show several files."""
_TYPE_KINDS: Final = frozenset({"class", "interface", "type"})
_ASKS_FOR_SAMPLES: Final = re.compile(
    r"(?i)\b(?:tests?|tested|specs?|examples?|samples?|demos?|benchmarks?|fixtures?)\b"
)
_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*")


def search_above(floor: float, question: str, probe: Probe, filter: Filter, reading: Reading) -> RetrievalResult:
    """Search by one probe, and return the candidates down to the last above the floor, with their relevance."""
    if probe.match not in SEARCH_MATCHES:
        raise InvalidInput(f"A search matches by one of {', '.join(SEARCH_MATCHES)}, not by {probe.match!r}.")
    query = understand(question, reading.snapshot, reading.embedder)
    fusion, least = Fusion(), check_floor(floor)
    # Judged by as many candidates as a page is, so that both agree on what there is nothing about.
    wide = replace(probe, limit=max(probe.limit, fusion.pool, _ORDERED))
    allowed = _without_history(question, filter, reading)
    found = search(query, wide, allowed, fusion, reading.snapshot, reading.index)
    gauge = Gauge.of(query, evidence_of(query, reading.embedder, probe.match))
    if gauge.best(found.candidates) < least and names_something(query, reading.snapshot):
        least = 0.0
    # Who asks for words alone, or for meaning alone, wants their order.
    ordered = order_code(found.candidates, question) if probe.match == "hybrid" else found.candidates
    kept = calibrate(ordered, gauge, least)[: probe.limit]
    below = min(len(ordered), probe.limit) - len(kept)
    notes = (*found.notes, *query.notes, *_search_notes(query, kept, below, least))
    return replace(found, candidates=kept, notes=notes)


def _without_history(question: str, filter: Filter, reading: Reading) -> Filter:
    """Return the filter without commits where there is code to find and nobody asks for history."""
    kinds = reading.snapshot.kinds()
    has_both = COMMIT in kinds and not set(kinds).isdisjoint(CODE_KINDS)
    if filter.kinds or not has_both or asks_history(read_shapes(question)):
        return filter
    return replace(filter, kinds=tuple(kind for kind in kinds if kind != COMMIT))


def _search_notes(query: Query, kept: Sequence[Candidate], below: int, floor: float) -> tuple[str, ...]:
    if not below:
        return ()
    if not kept:
        return (describe_silence(query),)
    further = "1 further match is" if below == 1 else f"{below} further matches are"
    return (f"{further} below the floor of {floor:g}, and left out.",)


def calibrate(ranked: Sequence[Candidate], gauge: Gauge, floor: float) -> tuple[Candidate, ...]:
    """Return the ranked candidates of a search down to the last one above the floor, with their relevance.

    An earlier candidate counts as at least as relevant as those behind it, so that scores never rise.
    """
    kept: list[Candidate] = []
    best = 0.0
    for candidate in reversed(ranked):
        best = max(best, gauge.relevance(candidate))
        if best >= floor:
            kept.append(replace(candidate, parts={**candidate.parts, CALIBRATED: best}))
    return tuple(reversed(kept))


# --- the order of code ---------------------------------------------------------------------------------------


def order_code(candidates: Sequence[Candidate], question: str) -> tuple[Candidate, ...]:
    """Return the candidates in the order in which a reader of code wants them; as they are where none is code."""
    if not any(candidate.node.kind in CODE_KINDS for candidate in candidates):
        return tuple(candidates)
    terms, names = frozenset(analyze(question)), frozenset(_IDENTIFIER.findall(question))
    spelled = frozenset(spell_names(question))
    wants_samples = _ASKS_FOR_SAMPLES.search(question) is not None
    worth = [_worth(each, terms, names, spelled, wants_samples=wants_samples) for each in candidates]
    lifted = _lift_best_pieces(candidates, worth)
    # Stable, so that what is worth the same keeps the order of the search, which is total.
    by_worth = sorted(range(len(candidates)), key=lambda index: -lifted[index])
    seen: dict[str, int] = {}
    for index in by_worth:
        file = file_of(candidates[index].node)
        lifted[index] = round(lifted[index] * _FURTHER_PIECE_FACTOR ** seen.get(file, 0), SCORE_DECIMALS)
        seen[file] = seen.get(file, 0) + 1
    return tuple(
        replace(candidates[index], score=lifted[index])
        for index in sorted(by_worth, key=lambda index: -lifted[index])
    )


def _worth(
    candidate: Candidate,
    terms: frozenset[str],
    names: frozenset[str],
    spelled: frozenset[str],
    *,
    wants_samples: bool,
) -> float:
    """Return the relevance of one candidate with all that its file and its name add to it."""
    node, worth = candidate.node, candidate.parts.get("relevance", 0.0)
    worth += _name_worth(node, terms)
    if node.kind in CODE_KINDS:
        worth += _CODE
    if node.kind in DEFINITION_KINDS:
        own_name = NAME_SEPARATOR.split(node.title)[-1]
        is_type = node.kind in _TYPE_KINDS
        # Two words that only stand together may spell the name of a function by chance.
        if own_name in names or node.title in names or (is_type and own_name.lower() in spelled):
            worth += _NAMED_TYPE if is_type else _NAMED_FUNCTION
    elif any(looks_like_code(name) and find_export(name, node) for name in names):
        worth += _NAMED_FUNCTION
    return worth * _SAMPLE_FACTOR if is_sample(node) and not wants_samples else worth


def _name_worth(node: Node, terms: frozenset[str]) -> float:
    """Return what the words of a file's path and of a definition's name add."""
    worth = path_worth(node, terms)
    if node.kind in DEFINITION_KINDS:
        worth += _TITLE * name_share(NAME_SEPARATOR.split(node.title)[-1], terms)
    return worth


def _lift_best_pieces(candidates: Sequence[Candidate], worth: Sequence[float]) -> list[float]:
    """Return what candidates are worth, the best piece of each file raised by the other pieces that match."""
    lifts = file_lifts(candidates, worth)
    return [round(value + _FILE_LIFT * lift, SCORE_DECIMALS) for value, lift in zip(worth, lifts, strict=True)]
