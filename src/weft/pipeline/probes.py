"""Ask the probes of a plan, and ask again for more where what was found is too short to fill the page.

A probe searches by words and by meaning, finds nodes by their name, or by how much others refer to them.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from weft.model import Candidate, Filter
from weft.pipeline.plan import Plan, find_named_nodes, passes_filter, probe_filter
from weft.pipeline.query import Query, Reading, understand
from weft.pipeline.retrieve import RetrievalResult, search
from weft.profiles import fill
from weft.profiles.types import Probe

_MIN_WITHOUT_KINDS: Final = 8
"""Where fewer candidates are found without the kinds that are left out, these are searched for after all."""
_MAX_UNCROWDED_PASSAGES: Final = 1_000
"""In a store of so few passages no kind can crowd out the others, and all are searched for."""
_MAX_GROWN_LIMIT: Final = 1_000
"""Candidates that a probe is asked for at most when it is asked again: each is measured, scored and listed."""
_TOKENS_AROUND_TEXT: Final = 4
"""Tokens that a page spends on an item beside its text, at least: the marks of a heading, and blank lines."""

Relevance = Callable[[Candidate], float]
"""Returns the calibrated relevance of a candidate."""


def ask_probes(
    plan: Plan, query: Query, reading: Reading, relevance_of: Relevance, without: tuple[str, ...] = ()
) -> list[RetrievalResult]:
    """Return what each probe of the plan finds; nothing where the request brings or names all it wants.

    Searches leave out the kinds in `without` where there are enough nodes of other kinds.
    """
    probes = plan.probes()
    # A start node alone is walked from, not searched for, unless the profile's probes ask on their own.
    has_question = (
        bool(plan.request.question)
        or not plan.request.start
        or any("{question}" not in probe.question for probe in probes)
    )
    if plan.request.candidates is not None or not has_question:
        return []
    found = []
    # What several probes find belongs to the one that is asked only at times: its section was made for that.
    for probe in sorted(probes, key=lambda probe: probe.when is None):
        text = fill(probe.question, plan.values)
        probe_query = query if text == query.text else understand(text, reading.snapshot, reading.embedder)
        filter = probe_filter(plan, probe)
        if filter is not None:
            result = _ask_probe(probe_query, probe, filter, plan, reading, without)
            limit = _limit_to_fill(result.candidates, probe, plan, relevance_of)
            if limit > probe.limit:
                larger = replace(probe, limit=limit)
                result = _ask_probe(probe_query, larger, filter, plan, reading, without)
            found.append(result)
    return found


def _limit_to_fill(candidates: Sequence[Candidate], probe: Probe, plan: Plan, relevance_of: Relevance) -> int:
    """Return the limit with which the probe would find enough text for the budget; its own where it has.

    Nothing is sought further where the last candidate is noise, or the page will be silent.
    """
    if not probe.grows or plan.budget is None or len(candidates) < probe.limit:
        return probe.limit
    tokens = sum([(candidate.text_tokens or 0) + _TOKENS_AROUND_TEXT for candidate in candidates])
    if tokens >= plan.budget or any(candidate.text_tokens is None for candidate in candidates):
        return probe.limit
    is_silent = max(map(relevance_of, candidates)) < plan.floor
    if is_silent or relevance_of(candidates[-1]) < plan.noise:
        return probe.limit
    return min(math.ceil(probe.limit * plan.budget / tokens), _MAX_GROWN_LIMIT)


def _ask_probe(
    query: Query, probe: Probe, filter: Filter, plan: Plan, reading: Reading, without: tuple[str, ...]
) -> RetrievalResult:
    if probe.match == "names":
        named = find_named_nodes(
            query.text, reading.snapshot, probe.name, lambda node: passes_filter(node, filter)
        )
        return RetrievalResult(named[: probe.limit])
    if probe.match == "rank":
        # Only questions that ask for a map pay for loading this.
        from weft.pipeline.repository_map import find_most_referenced

        return find_most_referenced(probe, filter, reading.snapshot)
    fusion, snapshot, index = plan.profile.fusion, reading.snapshot, reading.index
    is_crowded = query.statistics.passages > _MAX_UNCROWDED_PASSAGES
    kinds = snapshot.kinds() if without and is_crowded and not filter.kinds else ()
    kept = tuple(kind for kind in kinds if kind not in without)
    if kept and len(kept) < len(kinds):
        narrowed = search(query, probe, replace(filter, kinds=kept), fusion, snapshot, index)
        if len(narrowed.candidates) >= _MIN_WITHOUT_KINDS:
            return narrowed
    return search(query, probe, filter, fusion, snapshot, index)
