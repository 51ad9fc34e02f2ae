"""Questions and starting points become candidates: lexical and semantic search, fused by calibrated scores."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.frozen import dataclass
from weft.model import Candidate, Filter
from weft.pipeline.query import Query, proposing_terms
from weft.pipeline.relevance import Pool, Scale, all_cosines, scores_of
from weft.ports import Index, NodeRow, PassageRow, Proposals, SideBySide, Snapshot
from weft.profiles.types import Fusion, Probe
from weft.scoring.bm25 import gains
from weft.scoring.candidates import told
from weft.text import below_title

if TYPE_CHECKING:
    from weft.pipeline.relevance import Floats


_MARGIN: Final = 3
"""How many times the passages that are kept an index is asked for."""


@dataclass(frozen=True, slots=True)
class Found:
    """What one probe found, best first; the scale of its scores; how much was searched; what was missing."""

    candidates: tuple[Candidate, ...] = ()
    scale: Scale = Scale()
    searched: int = 0
    notes: tuple[str, ...] = ()


def search(query: Query, probe: Probe, filter: Filter, fusion: Fusion, snapshot: Snapshot, index: Index) -> Found:
    """Candidates for one probe, at most `probe.limit` nodes, ordered by relevance, then tenant and key."""
    most = max(fusion.pool, probe.limit)
    lexical, semantic = _proposed(query, probe.match, filter, most, (snapshot, index))
    near = _cosines(semantic)
    ids = list(dict.fromkeys([*(lexical.passage_ids.tolist() if lexical is not None else ()), *near]))
    measured = query if lexical is not None else replace(query, terms={})
    rows, added = _foremost(snapshot.passages(ids), measured, near.keys(), most, fusion)
    cosine = all_cosines(rows, near, query if semantic is not None else None, snapshot)
    pool = Pool.of(rows, measured, cosine, None, fusion, added=added)
    notes = (lexical.notes if lexical else ()) + (semantic.notes if semantic else ())
    return Found(_rank(pool, probe, near.keys(), snapshot), pool.scale, len(ids), notes)


def _proposed(
    query: Query, match: str, filter: Filter, most: int, desk: tuple[Snapshot, Index]
) -> tuple[Proposals | None, Proposals | None]:
    """What the index proposes by words and by meaning; None for a search that was not made."""
    snapshot, index = desk
    terms = proposing_terms(query) if match != "vector" and query.terms else None
    vector = query.vector if match != "bm25" else None
    if terms is not None and vector is not None and isinstance(index, SideBySide):
        return index.both(snapshot, terms, vector, filter, (_MARGIN * most, most))
    return (
        None if terms is None else index.lexical(snapshot, terms, filter, _MARGIN * most),
        None if vector is None else index.semantic(snapshot, vector, filter, most),
    )


def _foremost(
    rows: Sequence[PassageRow], query: Query, near: Collection[int], most: int, fusion: Fusion
) -> "tuple[Sequence[PassageRow], Floats]":
    """The rows found by meaning, and by our own score the best `most` of those found by words, with ties; beside
    them what each term adds to each.

    Engines propose more than is kept, because their own order knows of deleted passages and other tenants.
    """
    added = gains(rows, query.terms, query.statistics, fusion.title_weight)
    if len(rows) <= most:
        return rows, added
    score = scores_of(added)
    least = np.partition(score, len(rows) - most)[len(rows) - most]
    kept = [at for at, each in enumerate(score.tolist()) if each >= least or rows[at].id in near]
    return [rows[at] for at in kept], added[kept]


def _cosines(semantic: Proposals | None) -> dict[int, float]:
    if semantic is None:
        return {}
    return dict(zip(semantic.passage_ids.tolist(), semantic.scores.tolist(), strict=True))


def _rank(pool: Pool, probe: Probe, near: Collection[int], snapshot: Snapshot) -> tuple[Candidate, ...]:
    best = {node: pool.best(node) for node in pool.places if not probe.floor or pool.reaches(node, probe.floor)}
    cut = sorted(best.values(), reverse=True)[: probe.limit]
    # Everything that ties with the last one is loaded, so that the cut falls by key and not by chance.
    kept = [node for node, value in best.items() if value >= cut[-1] and value > 0]
    stored = snapshot.nodes(kept)
    candidates = [_candidate(stored[node], pool, near, probe) for node in kept if node in stored]
    return tuple(sorted(candidates, key=by_relevance)[: probe.limit])


def by_relevance(candidate: Candidate) -> tuple[float, str, str]:
    """The total order of search results."""
    return -candidate.parts.get("relevance", 0.0), candidate.node.tenant, candidate.node.key


def _candidate(stored: NodeRow, pool: Pool, near: Collection[int], probe: Probe) -> Candidate:
    parts, covers, spans, words = pool.measured(stored.node)
    found_near = any(pool.rows[place].id in near for place in pool.places[stored.node.id])
    return Candidate(
        node=stored.node,
        parts=parts,
        probe=probe.name,
        match_source=_match_source(parts["lexical"] > 0, found_near),
        root=stored.node.key,
        covers=covers,
        spans=spans,
        text_tokens=stored.text_tokens,
        sketch=stored.sketch,
        words=words,
    )


def _match_source(lexical: bool, semantic: bool) -> str:
    if lexical and semantic:
        return "hybrid"
    return "vector" if semantic else "bm25"


def begin(names: Sequence[str], snapshot: Snapshot, probe: str) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """Candidates for nodes named outright, in the order given, and the names that match nothing."""
    ids = snapshot.find(names)
    wanted = list(dict.fromkeys(each for name in names for each in ids.get(name, ())))
    stored = snapshot.nodes(wanted)
    candidates = tuple(
        Candidate(
            node=stored[each].node,
            parts={"start": 1.0},
            probe=probe,
            root=stored[each].node.key,
            text_tokens=stored[each].text_tokens,
            sketch=stored[each].sketch,
        )
        for each in wanted
        if each in stored
    )
    return candidates, tuple(name for name in names if not ids.get(name))


def relevance_of(nodes: Sequence[int], query: Query, fusion: Fusion, snapshot: Snapshot) -> dict[int, float]:
    """How much each of the nodes has to do with the query, among themselves; nothing when nothing is asked."""
    if not nodes or not (query.terms or query.vector is not None):
        return {}
    rows = snapshot.passages_of(nodes)
    score = scores_of(gains(rows, query.terms, query.statistics, fusion.title_weight))
    cosine = all_cosines(rows, {}, query, snapshot)
    best: dict[int, float] = {}
    for row, each in zip(rows, Scale.of(score, cosine).relevance(score, cosine, fusion).tolist(), strict=True):
        best[row.node_id] = max(each, best.get(row.node_id, 0.0))
    return best


def relate(
    candidates: Sequence[Candidate], query: Query, scale: Scale, fusion: Fusion, snapshot: Snapshot
) -> tuple[Candidate, ...]:
    """The candidates, those that no search found now with their own relevance and matching passages."""
    unknown = [each.node.id for each in candidates if "relevance" not in each.parts and each.node.id]
    if not unknown or not (query.terms or query.vector is not None):
        return tuple(candidates)
    rows = snapshot.passages_of(unknown)
    cosine = all_cosines(rows, {}, query, snapshot)
    pool = Pool.of(rows, query, cosine, scale if scale != Scale() else None, fusion)
    return tuple([_related(each, pool) for each in candidates])


def _related(candidate: Candidate, pool: Pool) -> Candidate:
    node = candidate.node.id
    if "relevance" in candidate.parts or node not in pool.places:
        return candidate
    signals, covers, spans, words = pool.measured(candidate.node)
    return told(candidate, {**candidate.parts, **signals}, spans=spans, covers=covers, words=words)


def divide(
    candidates: Sequence[Candidate],
    query: Query,
    scale: Scale,
    fusion: Fusion,
    snapshot: Snapshot,
    *,
    matched: bool = False,
) -> tuple[Candidate, ...]:
    """Every passage of the candidates as a candidate of its own, without a title that the text repeats.

    What is one passage long, and has no such title, stays as it is. With `matched`, only those passages that end
    where a span of their candidate does.
    """
    rows = snapshot.passages_of([each.node.id for each in candidates if each.node.id])
    whole = Counter(row.node_id for row in rows)
    ends = {each.node.id: {end for _, end in each.spans} for each in candidates} if matched else None
    if ends is not None and scale != Scale():
        rows = [row for row in rows if whole[row.node_id] == 1 or row.passage.end in ends[row.node_id]]
    cosine = all_cosines(rows, {}, query, snapshot)
    pool = Pool.of(rows, query, cosine, scale if scale != Scale() else None, fusion)
    parts: list[Candidate] = []
    for each in candidates:
        node, first = each.node.id, below_title(each.node.text, each.node.title)
        if whole[node] > 1 or (whole[node] and first):
            places = [at for at in pool.places.get(node, ()) if ends is None or rows[at].passage.end in ends[node]]
            parts += [_passage(each, pool, place, first) for place in places]
        else:
            parts.append(_related(each, pool))
    return tuple(parts)


def _passage(candidate: Candidate, pool: Pool, place: int, first: int) -> Candidate:
    start, end = pool.rows[place].passage.start, pool.rows[place].passage.end
    span = (max(start, min(first, end)), end)
    lexical, covers = pool.said(place, candidate.node)
    semantic = max(0.0, pool.cosine[place])
    signals = {"relevance": pool.relevance[place], "lexical": lexical, "semantic": semantic}
    return told(candidate, {**candidate.parts, **signals}, spans=(span,), covers=covers, window=span)
