"""Questions and starting points become candidates: lexical and semantic search, fused by calibrated scores."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.candidates import told
from weft.frozen import dataclass
from weft.model import Candidate, Filter, Node
from weft.phrases import Phrase, held, phrases
from weft.ports import Embedder, Index, NodeRow, PassageRow, Proposals, SideBySide, Snapshot, TermStatistics
from weft.profile import Fusion, Probe
from weft.terms import gains, inverse_frequency, statistics_of, term_hashes
from weft.text import analyze, below_title

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_PROPOSING_TERMS: Final = 24
_FREQUENT: Final = 0.2
_QUESTION_LIMIT: Final = 20_000
_SPANS: Final = 4
_MARGIN: Final = 3
"""How many times the passages that are kept an index is asked for."""
_FEW: Final = 400
"""Of more nodes than this that a filter leaves, the statistics of the whole view tell as much."""
_RECALLED: Final = 0.5
_FADING: Final = 0.8
"""What the turn before the question weighs, and how much of that each turn before it."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question as the searches see it: its terms with their weights, its vector, the view's statistics, and
    the words that stand side by side in it."""

    text: str
    terms: Mapping[int, float]
    vector: "NDArray[np.float32] | None"
    statistics: TermStatistics
    phrases: tuple[Phrase, ...] = ()

    def weights(self) -> dict[int, float]:
        """How telling each term of the question is in this view."""
        terms = sorted(self.terms)
        return dict(zip(terms, inverse_frequency(self.statistics, terms).tolist(), strict=True))

    def mass(self) -> dict[int, float]:
        """How much of the question each of its terms is: how telling it is, by how often it is asked."""
        return {term: weight * self.terms[term] for term, weight in self.weights().items()}


@dataclass(frozen=True, slots=True)
class Scale:
    """What raw scores mean: the best BM25 score and the best cosine of a search; others are shares of them."""

    lexical_top: float = 0.0
    cosine_top: float = 0.0

    @classmethod
    def of(cls, score: "Floats", cosine: "Floats") -> "Scale":
        """The scale of some scores by themselves."""
        return cls(float(score.max(initial=0.0)), float(cosine.max(initial=0.0)))

    def lexical(self, score: "Floats") -> "Floats":
        """BM25 as a share of the best."""
        return _share(score, self.lexical_top)

    def relevance(self, score: "Floats", cosine: "Floats", fusion: Fusion) -> "Floats":
        """The convex sum of both shares; a search that found nothing leaves its weight to the other."""
        lexical = fusion.lexical if self.lexical_top > 0 else 0.0
        semantic = fusion.semantic if self.cosine_top > 0 else 0.0
        total = (lexical + semantic) or 1.0
        fused = lexical * _share(score, self.lexical_top) + semantic * _share(cosine, self.cosine_top)
        return np.round(fused / total, 9)


def _scores(added: "Floats") -> "Floats":
    """BM25 of each passage, from what each term adds to it."""
    scores: Floats = np.round(added.sum(axis=1), 9)
    return scores


def _share(score: "Floats", top: float) -> "Floats":
    return np.clip(score / top, 0.0, 1.0) if top > 0 else np.zeros(len(score))


@dataclass(frozen=True, slots=True)
class Found:
    """What one probe found, best first; the scale of its scores; how much was searched; what was missing."""

    candidates: tuple[Candidate, ...] = ()
    scale: Scale = Scale()
    searched: int = 0
    notes: tuple[str, ...] = ()


def understand(question: str, snapshot: Snapshot, embed: Embedder | None, history: Sequence[str] = ()) -> Query:
    """The question's terms, vector and statistics, coloured by the turns before it, latest first."""
    asked = question[:_QUESTION_LIMIT]
    turns = [
        (asked, 1.0),
        *((turn[:_QUESTION_LIMIT], _RECALLED * _FADING**age) for age, turn in enumerate(history)),
    ]
    said = [analyze(turn) for turn, _ in turns]
    terms = {term: float(count) for term, count in Counter(term_hashes(said[0])).items()}
    for words, (_, weight) in zip(said[1:], turns[1:], strict=True):
        # A term repeated from turn to turn tells no more than where it weighs most.
        terms |= {term: max(terms.get(term, 0.0), weight) for term in term_hashes(words)}
    query = Query(asked, terms, _vector(turns, embed), snapshot.statistics(tuple(terms)))
    return replace(query, phrases=phrases(said[0], query.weights()))


def _vector(turns: Sequence[tuple[str, float]], embed: Embedder | None) -> "NDArray[np.float32] | None":
    """The weighted mean of the turns' vectors, of unit length."""
    said = [(turn, weight) for turn, weight in turns if turn.strip()]
    if embed is None or not said:
        return None
    vectors = embed.embed([turn for turn, _ in said])
    if len(said) == 1:
        return np.asarray(vectors[0], dtype=np.float32)
    mean = np.array([weight for _, weight in said]) @ vectors.astype(np.float64)
    length = float(np.linalg.norm(mean))
    unit: NDArray[np.float32] = (mean / (length or 1.0)).astype(np.float32)
    return unit


def narrow(query: Query, filter: Filter, snapshot: Snapshot) -> Query:
    """The query for the few nodes that a filter leaves: what most of them say tells them apart less.

    A term then weighs by the geometric mean of how rare it is among them and in the whole view.
    """
    if not query.terms or not (filter.where or filter.tags):
        return query
    ids = snapshot.matching(filter)
    if not 1 < len(ids) <= _FEW:
        return query
    terms = sorted(query.terms)
    here = inverse_frequency(statistics_of(snapshot.passages_of(ids.tolist()), terms), terms)
    factor = np.sqrt(here / inverse_frequency(query.statistics, terms)).round(9).tolist()
    weighed = {term: query.terms[term] * each for term, each in zip(terms, factor, strict=True)}
    return replace(query, terms=weighed)


def search(query: Query, probe: Probe, filter: Filter, fusion: Fusion, snapshot: Snapshot, index: Index) -> Found:
    """Candidates for one probe, at most `probe.limit` nodes, ordered by relevance, then tenant and key."""
    most = max(fusion.pool, probe.limit)
    lexical, semantic = _proposed(query, probe.match, filter, most, (snapshot, index))
    near = _cosines(semantic)
    ids = list(dict.fromkeys([*(lexical.passage_ids.tolist() if lexical is not None else ()), *near]))
    measured = query if lexical is not None else replace(query, terms={})
    rows, added = _foremost(snapshot.passages(ids), measured, near.keys(), most, fusion)
    cosine = _all_cosines(rows, near, query if semantic is not None else None, snapshot)
    pool = _Pool.of(rows, measured, cosine, None, fusion, added=added)
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
    score = _scores(added)
    least = np.partition(score, len(rows) - most)[len(rows) - most]
    kept = [at for at, each in enumerate(score.tolist()) if each >= least or rows[at].id in near]
    return [rows[at] for at in kept], added[kept]


def proposing_terms(query: Query) -> tuple[int, ...]:
    """The rarest terms of the query: very frequent ones only order candidates, they do not propose any."""
    frequency = query.statistics.frequency
    known = sorted((frequency[term], term) for term in query.terms if frequency.get(term, 0) > 0)
    ceiling = max(_FREQUENT * query.statistics.passages, known[0][0] if known else 0)
    return tuple(term for count, term in known if count <= ceiling)[:_PROPOSING_TERMS]


def _cosines(semantic: Proposals | None) -> dict[int, float]:
    if semantic is None:
        return {}
    return dict(zip(semantic.passage_ids.tolist(), semantic.scores.tolist(), strict=True))


def _all_cosines(
    rows: Sequence[PassageRow], known: Mapping[int, float], query: Query | None, snapshot: Snapshot
) -> "Floats":
    """The cosine of every row: those the search did not return are computed from the stored vectors."""
    cosine = np.array([known.get(row.id, 0.0) for row in rows], dtype=np.float64)
    missing = [place for place, row in enumerate(rows) if row.id not in known]
    if query is not None and query.vector is not None and missing:
        vectors = snapshot.vectors([rows[place].id for place in missing])
        # In double precision, so that the place of a row in the matrix does not show after rounding.
        cosine[missing] = np.round(vectors.astype(np.float64) @ query.vector.astype(np.float64), 6)
    return cosine


@dataclass(frozen=True, slots=True)
class _Pool:
    """Passages with their calibrated scores, and the places of each node's passages."""

    rows: Sequence[PassageRow]
    scale: Scale
    terms: Sequence[int]
    gains: Sequence[Sequence[float]]
    relevance: Sequence[float]
    lexical: Sequence[float]
    cosine: Sequence[float]
    places: Mapping[int, list[int]]
    phrases: Mapping[Phrase, float]

    @classmethod
    def of(
        cls,
        rows: Sequence[PassageRow],
        query: Query,
        cosine: "Floats",
        scale: Scale | None,
        fusion: Fusion,
        *,
        added: "Floats | None" = None,
    ) -> "_Pool":
        """The rows measured against the query, on the given scale or their own; `added` where it is known."""
        places: dict[int, list[int]] = {}
        for place, row in enumerate(rows):
            places.setdefault(row.node_id, []).append(place)
        if added is None:
            added = gains(rows, query.terms, query.statistics, fusion.title_weight)
        score = _scores(added)
        known = scale or Scale.of(score, cosine)
        # Plain lists, because most nodes have one passage, for which an array is slower than a look-up.
        relevance, lexical = known.relevance(score, cosine, fusion).tolist(), known.lexical(score).tolist()
        told = np.round(added / (known.lexical_top or 1.0), 9).tolist()
        together = {each: round(fusion.phrase_weight * each.share, 9) for each in query.phrases}
        asked = together if fusion.phrase_weight else {}
        return cls(rows, known, sorted(query.terms), told, relevance, lexical, cosine.tolist(), places, asked)

    def best(self, node: int) -> float:
        """The relevance of a node's best passage."""
        return max([self.relevance[place] for place in self.places[node]])

    def reaches(self, node: int, floor: float) -> bool:
        """Whether a node shares a word with the question, or is alike enough without one."""
        return any(self.lexical[place] > 0 or self.cosine[place] >= floor for place in self.places[node])

    def measured(self, node: Node) -> "_Measured":
        """The best of each score over a node's passages, what each term and phrase of the question adds to the
        lexical one, where the best passages stand in the text, and the packed hashes of their terms."""
        places = self.places[node.id]
        if len(places) == 1:
            return self._measured_alone(places[0], node)
        lexical, covers = self.said(
            max(places, key=lambda at: (self.lexical[at], -self.rows[at].passage.ordinal)), node
        )
        semantic = max(0.0, *[self.cosine[at] for at in places])
        foremost = sorted(places, key=lambda at: (-self.relevance[at], self.rows[at].passage.ordinal))[:_SPANS]
        rows = [self.rows[at] for at in foremost]
        return (
            {"relevance": self.best(node.id), "lexical": lexical, "semantic": semantic},
            covers,
            tuple([(row.passage.start, row.passage.end) for row in rows]),
            b"".join([row.term_hashes for row in rows]),
        )

    def _measured_alone(self, place: int, node: Node) -> "_Measured":
        """The same for a node of one passage, as most are."""
        row, (lexical, covers) = self.rows[place], self.said(place, node)
        parts = {"relevance": self.relevance[place], "lexical": lexical, "semantic": max(0.0, self.cosine[place])}
        return parts, covers, ((row.passage.start, row.passage.end),), row.term_hashes

    def said(self, place: int, node: Node) -> tuple[float, dict[int, float]]:
        """The lexical score of a node's passage, and what each term and phrase of the question adds to it."""
        covers = {term: gain for term, gain in zip(self.terms, self.gains[place], strict=True) if gain > 0}
        if not self.phrases:
            return round(self.lexical[place], 9), covers
        passage = self.rows[place].passage
        together = held(self.phrases, covers, node.title, node.text[passage.start : passage.end])
        covers |= {phrase.key: self.phrases[phrase] for phrase in together}
        return round(self.lexical[place] + sum([self.phrases[phrase] for phrase in together]), 9), covers


_Measured = tuple[dict[str, float], dict[int, float], tuple[tuple[int, int], ...], bytes]


def _rank(pool: _Pool, probe: Probe, near: Collection[int], snapshot: Snapshot) -> tuple[Candidate, ...]:
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


def _candidate(stored: NodeRow, pool: _Pool, near: Collection[int], probe: Probe) -> Candidate:
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
    score = _scores(gains(rows, query.terms, query.statistics, fusion.title_weight))
    cosine = _all_cosines(rows, {}, query, snapshot)
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
    cosine = _all_cosines(rows, {}, query, snapshot)
    pool = _Pool.of(rows, query, cosine, scale if scale != Scale() else None, fusion)
    return tuple([_related(each, pool) for each in candidates])


def _related(candidate: Candidate, pool: _Pool) -> Candidate:
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
    cosine = _all_cosines(rows, {}, query, snapshot)
    pool = _Pool.of(rows, query, cosine, scale if scale != Scale() else None, fusion)
    parts: list[Candidate] = []
    for each in candidates:
        node, first = each.node.id, below_title(each.node.text, each.node.title)
        if whole[node] > 1 or (whole[node] and first):
            places = [at for at in pool.places.get(node, ()) if ends is None or rows[at].passage.end in ends[node]]
            parts += [_passage(each, pool, place, first) for place in places]
        else:
            parts.append(_related(each, pool))
    return tuple(parts)


def _passage(candidate: Candidate, pool: _Pool, place: int, first: int) -> Candidate:
    start, end = pool.rows[place].passage.start, pool.rows[place].passage.end
    span = (max(start, min(first, end)), end)
    lexical, covers = pool.said(place, candidate.node)
    semantic = max(0.0, pool.cosine[place])
    signals = {"relevance": pool.relevance[place], "lexical": lexical, "semantic": semantic}
    return told(candidate, {**candidate.parts, **signals}, spans=(span,), covers=covers, window=span)
