"""Measure passages against a question: put their scores on one scale, and sum up each node by its passages."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.frozen import dataclass
from weft.model import Node
from weft.pipeline.query import Query
from weft.ports import PassageRow, Snapshot
from weft.profiles.types import Fusion
from weft.scoring.bm25 import score_terms
from weft.text.phrases import Phrase, held

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


_MAX_SPANS: Final = 4
"""Passages of a node that are kept as its best ones; an excerpt of a page seldom has room for more."""

NodeMeasures = tuple[dict[str, float], dict[int, float], tuple[tuple[int, int], ...], bytes]
"""Scores by name, the gain of each term and phrase, the spans of the best passages, and their packed terms."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The best BM25 score and the best cosine of a search; other scores are shares of these."""

    lexical_top: float = 0.0
    cosine_top: float = 0.0

    @classmethod
    def of(cls, score: "Floats", cosine: "Floats") -> "Scale":
        """Return the scale on which the best of these scores is 1."""
        return cls(float(score.max(initial=0.0)), float(cosine.max(initial=0.0)))

    def lexical(self, score: "Floats") -> "Floats":
        """Return BM25 scores as shares of the best."""
        return _share(score, self.lexical_top)

    def relevance(self, score: "Floats", cosine: "Floats", fusion: Fusion) -> "Floats":
        """Return the convex sum of both shares; a search that found nothing leaves its weight to the other."""
        lexical = fusion.lexical if self.lexical_top > 0 else 0.0
        semantic = fusion.semantic if self.cosine_top > 0 else 0.0
        total = (lexical + semantic) or 1.0
        fused = lexical * _share(score, self.lexical_top) + semantic * _share(cosine, self.cosine_top)
        return np.round(fused / total, 9)


def _share(score: "Floats", top: float) -> "Floats":
    return np.clip(score / top, 0.0, 1.0) if top > 0 else np.zeros(len(score))


def sum_gains(term_gains: "Floats") -> "Floats":
    """Return the BM25 score of each passage: the sum of what its terms add."""
    scores: Floats = np.round(term_gains.sum(axis=1), 9)
    return scores


def read_cosines(
    rows: Sequence[PassageRow], known: Mapping[int, float], query: Query | None, snapshot: Snapshot
) -> "Floats":
    """Return the cosine of every row, computed from the stored vectors where the search did not return it."""
    cosine = np.array([known.get(row.id, 0.0) for row in rows], dtype=np.float64)
    missing = [index for index, row in enumerate(rows) if row.id not in known]
    if query is not None and query.vector is not None and missing:
        vectors = snapshot.vectors([rows[index].id for index in missing])
        # In double precision, so that the position of a row in the matrix does not show after rounding.
        cosine[missing] = np.round(vectors.astype(np.float64) @ query.vector.astype(np.float64), 6)
    return cosine


@dataclass(frozen=True, slots=True)
class Pool:
    """Passages with their scores on one scale; `indices` lists the passages of each node, by node id."""

    rows: Sequence[PassageRow]
    scale: Scale
    terms: Sequence[int]
    gains: Sequence[Sequence[float]]
    relevance: Sequence[float]
    lexical: Sequence[float]
    cosine: Sequence[float]
    indices: Mapping[int, list[int]]
    phrases: Mapping[Phrase, float]

    @classmethod
    def measure(
        cls,
        rows: Sequence[PassageRow],
        query: Query,
        cosine: "Floats",
        scale: Scale | None,
        fusion: Fusion,
        *,
        term_gains: "Floats | None" = None,
    ) -> "Pool":
        """Measure the rows against the query on the given scale, or on their own where it is None.

        `term_gains` saves computing what each term adds to each row where the caller knows it already.
        """
        indices: dict[int, list[int]] = {}
        for index, row in enumerate(rows):
            indices.setdefault(row.node_id, []).append(index)
        if term_gains is None:
            term_gains = score_terms(rows, query.terms, query.statistics, fusion.title_weight)
        score = sum_gains(term_gains)
        known = scale or Scale.of(score, cosine)
        # Plain lists, because most nodes have one passage, for which an array is slower than a look-up.
        relevance, lexical = known.relevance(score, cosine, fusion).tolist(), known.lexical(score).tolist()
        scaled = np.round(term_gains / (known.lexical_top or 1.0), 9).tolist()
        phrases: dict[Phrase, float] = {}
        if fusion.phrase_weight:
            phrases = {phrase: round(fusion.phrase_weight * phrase.share, 9) for phrase in query.phrases}
        terms = sorted(query.terms)
        return cls(rows, known, terms, scaled, relevance, lexical, cosine.tolist(), indices, phrases)

    def best(self, node: int) -> float:
        """Return the relevance of a node's best passage."""
        return max([self.relevance[index] for index in self.indices[node]])

    def passes_floor(self, node: int, floor: float) -> bool:
        """Return whether a node shares a word with the question, or is similar enough without one."""
        return any(self.lexical[index] > 0 or self.cosine[index] >= floor for index in self.indices[node])

    def measure_node(self, node: Node) -> NodeMeasures:
        """Return the best of each score over a node's passages, the gain of each term and phrase of the question,
        the spans of the best passages, and the packed hashes of their terms."""
        indices = self.indices[node.id]
        if len(indices) == 1:
            return self._measure_single(indices[0], node)
        lexical, covers = self.lexical_match(
            max(indices, key=lambda index: (self.lexical[index], -self.rows[index].passage.ordinal)), node
        )
        semantic = max(0.0, *[self.cosine[index] for index in indices])
        best_first = sorted(indices, key=lambda index: (-self.relevance[index], self.rows[index].passage.ordinal))
        rows = [self.rows[index] for index in best_first[:_MAX_SPANS]]
        return (
            {"relevance": self.best(node.id), "lexical": lexical, "semantic": semantic},
            covers,
            tuple([(row.passage.start, row.passage.end) for row in rows]),
            b"".join([row.term_hashes for row in rows]),
        )

    def _measure_single(self, index: int, node: Node) -> NodeMeasures:
        """Return the same for a node of one passage, as most are, without sorting anything."""
        row, (lexical, covers) = self.rows[index], self.lexical_match(index, node)
        parts = {"relevance": self.relevance[index], "lexical": lexical, "semantic": max(0.0, self.cosine[index])}
        return parts, covers, ((row.passage.start, row.passage.end),), row.term_hashes

    def lexical_match(self, index: int, node: Node) -> tuple[float, dict[int, float]]:
        """Return the lexical score of a node's passage, and the gain of each term and phrase of the question."""
        covers = {term: gain for term, gain in zip(self.terms, self.gains[index], strict=True) if gain > 0}
        if not self.phrases:
            return round(self.lexical[index], 9), covers
        passage = self.rows[index].passage
        matches = held(self.phrases, covers, node.title, node.text[passage.start : passage.end])
        # A phrase counts like a term of its own, so that coverage treats its repetition the same way.
        covers |= {phrase.key: self.phrases[phrase] for phrase in matches}
        return round(self.lexical[index] + sum([self.phrases[phrase] for phrase in matches]), 9), covers
