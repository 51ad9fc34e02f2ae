"""List what matches a question, as `weft search` does: searched once, ordered, and cut at the floor.

Nothing is followed or printed. Where code was found, `score.py` orders it by more than its words.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from weft.errors import InvalidInput
from weft.model import CALIBRATED, SEARCH_MATCHES, Candidate, Filter
from weft.pipeline.plan import check_floor
from weft.pipeline.query import Query, Reading, understand
from weft.pipeline.relevance import Gauge, describe_silence, evidence_of, names_something
from weft.pipeline.retrieve import RetrievalResult, search
from weft.pipeline.score import order_code
from weft.pipeline.shapes import CODE_KINDS, COMMIT, asks_history, read_shapes
from weft.profiles.types import Fusion, Probe

_ORDERED: Final = 120
"""Candidates that are put in order: the file that is asked for is among the first ten by words in two thirds of
the questions about code, and among these in nearly all."""


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
