"""Retrieve candidates: search by words and by meaning, fuse both by calibrated scores, and find named starts."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from weft.model import Candidate, Filter
from weft.pipeline.query import Pool, Query, Scale, proposing_terms, read_cosines, sum_gains
from weft.ports import CombinedIndex, Index, NodeRow, PassageRow, Proposals, Snapshot
from weft.profiles.types import Fusion, Probe
from weft.scoring.bm25 import score_terms
from weft.text import find_body_start

if TYPE_CHECKING:
    from weft.pipeline.query import Floats


_PROPOSALS_PER_KEPT: Final = 3
"""Passages that an index is asked for, for each that is kept: its own order counts deleted passages and other
tenants, so that ours may put a lower one first. Fewer lose such passages, more cost time."""


class RetrievalResult(Struct, frozen=True):
    """The candidates of one probe, best first, the scale of their scores, and how many passages were searched."""

    candidates: tuple[Candidate, ...] = ()
    scale: Scale = Scale()
    searched: int = 0
    notes: tuple[str, ...] = ()


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
    return (
        None if terms is None else index.lexical(snapshot, terms, filter, _PROPOSALS_PER_KEPT * limit),
        None if vector is None else index.semantic(snapshot, vector, filter, limit),
    )


def _keep_best(
    rows: Sequence[PassageRow], query: Query, found_by_meaning: Collection[int], limit: int, fusion: Fusion
) -> "tuple[Sequence[PassageRow], Floats]":
    """Return the rows found by meaning and, by our own score, the best `limit` rows with all that tie with the
    last; and what each term adds to each of them."""
    term_gains = score_terms(rows, query.terms, query.statistics, fusion.title_weight)
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
    score = sum_gains(score_terms(rows, query.terms, query.statistics, fusion.title_weight))
    cosine = read_cosines(rows, {}, query, snapshot)
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
