"""Retrieve candidates: search for them, take what the caller brought, and measure them on one scale.

A search is made by words and by meaning, and both are fused by calibrated scores. The probes of a plan are asked,
and asked again for more where what they found is too short to fill the page. `assemble.py` calls the steps here
once for each topic of a request.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from weft.model import Candidate, Filter, Node
from weft.pipeline.plan import Plan, find_named_nodes, passes_filter, probe_filter
from weft.pipeline.query import Pool, Query, Reading, Scale, proposing_terms, read_cosines, sum_gains, understand
from weft.ports import CombinedIndex, Index, NodeRow, PassageRow, Proposals, Snapshot
from weft.profiles import fill
from weft.profiles.types import Fusion, Probe
from weft.scoring.bm25 import TermColumns, score_terms
from weft.text import find_body_start

if TYPE_CHECKING:
    from weft.pipeline.query import Floats


_PROPOSALS_PER_KEPT: Final = 3
"""Passages that an index is asked for, for each that is kept: its own order counts deleted passages and other
tenants, so that ours may put a lower one first. Fewer lose such passages, more cost time."""
_MIN_WITHOUT_KINDS: Final = 8
"""Where fewer candidates are found without the kinds that are left out, these are searched for after all."""
_MAX_UNCROWDED_PASSAGES: Final = 1_000
"""In a store of so few passages no kind can crowd out the others, and all are searched for."""
_MAX_GROWN_LIMIT: Final = 4_000
"""Candidates that a probe is asked for at most when it is asked again: each is measured, scored and listed. So
many turns of ten tokens fill a page of 32,000, in a second."""
_TOKENS_AROUND_TEXT: Final = 4
"""Tokens that a page spends on an item beside its text, at least: the marks of a heading, and blank lines."""

Relevance = Callable[[Candidate], float]
"""Returns the calibrated relevance of a candidate."""


class RetrievalResult(Struct, frozen=True):
    """The candidates of one probe, best first, the scale of their scores, and how many passages were searched."""

    candidates: tuple[Candidate, ...] = ()
    scale: Scale = Scale()
    searched: int = 0
    notes: tuple[str, ...] = ()


class Gathered(Struct, frozen=True):
    """The candidates of a request, the query they are measured against, and figures and notes about the search."""

    candidates: tuple[Candidate, ...]
    query: Query
    searched: int
    reached: int
    deepest: int
    notes: tuple[str, ...]
    scale: Scale = field(default_factory=Scale)
    relevance: float = 0.0
    """The calibrated relevance of the best candidate that a search found."""
    relevance_of: Callable[[Candidate], float] | None = None
    """Returns the calibrated relevance of a candidate."""
    is_list: bool = False
    """Whether the question asks for a list that the shape of it found: nothing else belongs on the page."""
    brought: Mapping[tuple[str, str], tuple[Candidate, ...]] = field(default_factory=dict)
    """The candidates that the caller brought for parts of subjects, by subject's key and part's name."""


def search(
    query: Query, probe: Probe, filter: Filter, fusion: Fusion, snapshot: Snapshot, index: Index
) -> RetrievalResult:
    """Return the candidates for one probe, at most `probe.limit` nodes, by relevance, then tenant and key."""
    limit = max(fusion.pool, probe.limit)
    lexical, semantic = _propose(query, probe.match, filter, limit, snapshot=snapshot, index=index)
    cosines: dict[int, float] = {}
    if semantic is not None:
        cosines = dict(zip(semantic.passage_ids.tolist(), semantic.scores.tolist(), strict=True))
    ids = list(dict.fromkeys([*(lexical.passage_ids.tolist() if lexical is not None else ()), *cosines]))
    # A search by meaning alone must not be scored by words.
    measured_query = query if lexical is not None else replace(query, terms={})
    rows, term_gains = _keep_best(snapshot.passages(ids), measured_query, cosines.keys(), limit, fusion)
    cosine = read_cosines(rows, cosines, query if semantic is not None else None, snapshot)
    pool = Pool.measure(rows, measured_query, cosine, None, fusion, term_gains=term_gains)
    notes = (lexical.notes if lexical else ()) + (semantic.notes if semantic else ())
    return RetrievalResult(_rank(pool, probe, cosines.keys(), snapshot), pool.scale, len(ids), notes)


def _propose(
    query: Query, match: str, filter: Filter, limit: int, *, snapshot: Snapshot, index: Index
) -> tuple[Proposals | None, Proposals | None]:
    """Return what the index proposes by words and by meaning; None for a search that was not made."""
    terms = proposing_terms(query) if match != "vector" and query.terms else None
    vector = query.vector if match != "bm25" else None
    # A server that runs both searches in one request answers sooner than one asked twice.
    if terms is not None and vector is not None and isinstance(index, CombinedIndex):
        return index.search_both(snapshot, terms, vector, filter, (_PROPOSALS_PER_KEPT * limit, limit))
    lexical = None if terms is None else index.lexical(snapshot, terms, filter, _PROPOSALS_PER_KEPT * limit)
    if vector is None or query.quality_vector is None:
        return lexical, None if vector is None else index.semantic(snapshot, vector, filter, limit)
    from weft.pipeline.quality import search_twice

    return lexical, search_twice(vector, query.quality_vector, filter, limit, snapshot, index)


def _keep_best(
    rows: Sequence[PassageRow], query: Query, found_by_meaning: Collection[int], limit: int, fusion: Fusion
) -> "tuple[Sequence[PassageRow], Floats]":
    """Return the rows found by meaning and, by our own score, the best `limit` rows with all that tie with the
    last; and what each term adds to each of them."""
    term_gains = score_terms(TermColumns.of(rows), query.terms, query.statistics, fusion.title_weight)
    if len(rows) <= limit:
        return rows, term_gains
    scores = sum_gains(term_gains)
    lowest = np.partition(scores, len(rows) - limit)[len(rows) - limit]
    kept = [
        index
        for index, score in enumerate(scores.tolist())
        if score >= lowest or rows[index].id in found_by_meaning
    ]
    return [rows[index] for index in kept], term_gains[kept]


def _rank(
    pool: Pool, probe: Probe, found_by_meaning: Collection[int], snapshot: Snapshot
) -> tuple[Candidate, ...]:
    best = {
        node: pool.best(node) for node in pool.indices if not probe.floor or pool.passes_floor(node, probe.floor)
    }
    highest = sorted(best.values(), reverse=True)[: probe.limit]
    # Everything that ties with the last one is loaded, so that the cut falls by key and not by chance.
    kept = [node for node, relevance in best.items() if relevance >= highest[-1] and relevance > 0]
    stored = snapshot.nodes(kept)
    candidates = [_make_candidate(stored[node], pool, found_by_meaning, probe) for node in kept if node in stored]
    return tuple(sorted(candidates, key=_relevance_order)[: probe.limit])


def _relevance_order(candidate: Candidate) -> tuple[float, str, str]:
    return -candidate.parts.get("relevance", 0.0), candidate.node.tenant, candidate.node.key


def _make_candidate(stored: NodeRow, pool: Pool, found_by_meaning: Collection[int], probe: Probe) -> Candidate:
    parts, covers, spans, words = pool.measure_node(stored.node)
    by_words = parts["lexical"] > 0
    by_meaning = any(pool.rows[index].id in found_by_meaning for index in pool.indices[stored.node.id])
    return Candidate(
        node=stored.node,
        parts=parts,
        probe=probe.name,
        match_source="hybrid" if by_words and by_meaning else "vector" if by_meaning else "bm25",
        root=stored.node.key,
        covers=covers,
        spans=spans,
        text_tokens=stored.text_tokens,
        sketch=stored.sketch,
        words=words,
    )


def find_starts(
    names: Sequence[str], snapshot: Snapshot, probe: str
) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """Return candidates for the nodes with these names, in the order given, and the names that match nothing."""
    found = snapshot.find(names)
    ids = list(dict.fromkeys(node_id for name in names for node_id in found.get(name, ())))
    stored = snapshot.nodes(ids)
    rows = [stored[node_id] for node_id in ids if node_id in stored]
    candidates = tuple(
        Candidate(
            node=row.node,
            parts={"start": 1.0},
            probe=probe,
            root=row.node.key,
            text_tokens=row.text_tokens,
            sketch=row.sketch,
        )
        for row in rows
    )
    return candidates, tuple(name for name in names if not found.get(name))


def measure_nodes(nodes: Sequence[int], query: Query, fusion: Fusion, snapshot: Snapshot) -> dict[int, float]:
    """Return the relevance of the nodes among themselves, by id; nothing when the question is empty."""
    if not nodes or not (query.terms or query.vector is not None):
        return {}
    rows = snapshot.passages_of_nodes(nodes)
    score = sum_gains(score_terms(TermColumns.of(rows), query.terms, query.statistics, fusion.title_weight))
    cosine = read_cosines(rows, {}, query, snapshot)
    # A node is as relevant as its best passage: a long text is not held against it.
    best: dict[int, float] = {}
    relevances = Scale.of(score, cosine).relevance(score, cosine, fusion).tolist()
    for row, relevance in zip(rows, relevances, strict=True):
        best[row.node_id] = max(relevance, best.get(row.node_id, 0.0))
    return best


def add_relevance(
    candidates: Sequence[Candidate], query: Query, scale: Scale, fusion: Fusion, snapshot: Snapshot
) -> tuple[Candidate, ...]:
    """Return the candidates, with relevance and matching passages for those that no search found."""
    unmeasured = [
        candidate.node.id for candidate in candidates if "relevance" not in candidate.parts and candidate.node.id
    ]
    if not unmeasured or not (query.terms or query.vector is not None):
        return tuple(candidates)
    rows = snapshot.passages_of_nodes(unmeasured)
    cosine = read_cosines(rows, {}, query, snapshot)
    # On the scale of the search, so that walked and searched candidates can be compared.
    pool = Pool.measure(rows, query, cosine, scale if scale != Scale() else None, fusion)
    return tuple([_with_relevance(candidate, pool) for candidate in candidates])


def _with_relevance(candidate: Candidate, pool: Pool) -> Candidate:
    if "relevance" in candidate.parts or candidate.node.id not in pool.indices:
        return candidate
    measures, covers, spans, words = pool.measure_node(candidate.node)
    return replace(candidate, parts={**candidate.parts, **measures}, spans=spans, covers=covers, words=words)


def split_into_passages(
    candidates: Sequence[Candidate],
    query: Query,
    scale: Scale,
    fusion: Fusion,
    snapshot: Snapshot,
    *,
    matched: bool = False,
) -> tuple[Candidate, ...]:
    """Return every passage of the candidates as a candidate of its own, without a title that the text repeats.

    A text of one passage without such a title stays as it is. With `matched`, only those passages are returned
    that end where a span of their candidate does.
    """
    rows = snapshot.passages_of_nodes([candidate.node.id for candidate in candidates if candidate.node.id])
    passage_counts = Counter(row.node_id for row in rows)
    # By its end, because a span may begin later than its passage, behind the title.
    ends: dict[int, set[int]] | None = None
    if matched:
        ends = {candidate.node.id: {end for _, end in candidate.spans} for candidate in candidates}
    if ends is not None and scale != Scale():
        # Unmatched passages need no score, unless they make the scale.
        rows = [row for row in rows if passage_counts[row.node_id] == 1 or row.passage.end in ends[row.node_id]]
    cosine = read_cosines(rows, {}, query, snapshot)
    pool = Pool.measure(rows, query, cosine, scale if scale != Scale() else None, fusion)
    passages: list[Candidate] = []
    for candidate in candidates:
        if candidate.window is not None:
            # The part to show was chosen before, by the shape of the question.
            passages.append(_with_relevance(candidate, pool))
            continue
        node, text_start = candidate.node.id, find_body_start(candidate.node.text, candidate.node.title)
        if passage_counts[node] > 1 or (passage_counts[node] and text_start):
            passages += [
                _make_passage(candidate, pool, index, text_start)
                for index in pool.indices.get(node, ())
                if ends is None or rows[index].passage.end in ends[node]
            ]
        else:
            passages.append(_with_relevance(candidate, pool))
    return tuple(passages)


def _make_passage(candidate: Candidate, pool: Pool, index: int, text_start: int) -> Candidate:
    start, end = pool.rows[index].passage.start, pool.rows[index].passage.end
    span = (max(start, min(text_start, end)), end)
    lexical, covers = pool.lexical_match(index, candidate.node)
    semantic = max(0.0, pool.cosine[index])
    measures = {"relevance": pool.relevance[index], "lexical": lexical, "semantic": semantic}
    # The stored count is that of the whole text, so a passage has none.
    return replace(
        candidate,
        parts={**candidate.parts, **measures},
        spans=(span,),
        covers=covers,
        window=span,
        text_tokens=None,
    )


def brought_candidates(plan: Plan, snapshot: Snapshot) -> tuple[Candidate, ...]:
    """Return the caller's candidates that pass the filter; their score stands for what our searches measure."""
    part_names = _part_names(plan)
    brought = [candidate for candidate in _filtered_candidates(plan) if not _is_for_part(candidate, part_names)]
    stored = snapshot.nodes(sorted({candidate.node.id for candidate in brought if candidate.node.id}))
    # Sections admit by probe, so a candidate without one counts as found by the first.
    first_probe = plan.profile.probes[0].name
    return tuple(
        replace(
            _with_trusted_count(candidate, stored),
            parts={
                "relevance": candidate.score,
                "lexical": candidate.score,
                "semantic": candidate.score,
                **candidate.parts,
            },
            node=_with_own_id(candidate.node, stored),
            probe=candidate.probe or first_probe,
            root=candidate.node.key,
        )
        for candidate in brought
    )


def brought_for_parts(plan: Plan) -> dict[tuple[str, str], tuple[Candidate, ...]]:
    """Return the caller's candidates for parts of subjects, by the subject's key and the part's name."""
    part_names = _part_names(plan)
    parts: dict[tuple[str, str], tuple[Candidate, ...]] = {}
    for candidate in _filtered_candidates(plan) if part_names else ():
        if _is_for_part(candidate, part_names):
            key = (candidate.root, candidate.probe)
            parts[key] = (*parts.get(key, ()), _with_trusted_count(candidate, {}))
    return parts


def _filtered_candidates(plan: Plan) -> list[Candidate]:
    candidates = plan.request.candidates or ()
    return [candidate for candidate in candidates if passes_filter(candidate.node, plan.request.filter)]


def _part_names(plan: Plan) -> frozenset[str]:
    return frozenset(part.name for section in plan.sections() for part in section.parts)


def _is_for_part(candidate: Candidate, part_names: frozenset[str]) -> bool:
    """Return whether a candidate was brought for a part: it is reached from a subject, by the part's name."""
    return candidate.distance > 0 and candidate.probe in part_names


def _with_trusted_count(candidate: Candidate, stored: Mapping[int, NodeRow]) -> Candidate:
    """Drop the candidate's token count, unless it is the one that is stored for this text."""
    row = stored.get(candidate.node.id)
    if row is not None and row.node.text == candidate.node.text and row.text_tokens == candidate.text_tokens:
        return candidate
    return replace(candidate, text_tokens=None)


def _with_own_id(node: Node, stored: Mapping[int, NodeRow]) -> Node:
    """Drop an id that came from outside, unless it is this store's id for the node, and not another store's."""
    row = stored.get(node.id)
    is_ours = row is not None and (row.node.tenant, row.node.key) == (node.tenant, node.key)
    return node if is_ours or not node.id else replace(node, id=0)


def merge_candidates(candidates: Iterable[Candidate], plan: Plan) -> tuple[Candidate, ...]:
    """Return one candidate for each node; where sections stand alone, one for each node and probe."""
    by_probe = plan.profile.dedupe.scope == "section"
    # The first to arrive gives its probe and path; starts and what the caller brought come first.
    merged: dict[tuple[str, str, str], Candidate] = {}
    for candidate in candidates:
        key = (candidate.node.tenant, candidate.node.key, candidate.probe if by_probe else "")
        known = merged.get(key)
        if known is None:
            merged[key] = candidate
            continue
        # Where several found it, it keeps the best of each score.
        parts = {**candidate.parts, **known.parts}
        for name in candidate.parts.keys() & known.parts.keys():
            parts[name] = max(candidate.parts[name], known.parts[name])
        merged[key] = replace(
            known,
            parts=parts,
            spans=known.spans or candidate.spans,
            words=known.words or candidate.words,
            match_source=known.match_source or candidate.match_source,
        )
    return tuple(merged.values())


# --- the probes of a plan -----------------------------------------------------------------------------------


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
