"""Passages measured against a question: their calibrated scores, and what is said of a node by its passages."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.frozen import dataclass
from weft.model import Node
from weft.pipeline.query import Query
from weft.ports import PassageRow, Snapshot
from weft.profiles.types import Fusion
from weft.scoring.bm25 import gains
from weft.text.phrases import Phrase, held

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


_SPANS: Final = 4

Measured = tuple[dict[str, float], dict[int, float], tuple[tuple[int, int], ...], bytes]
"""Scores by name, what each term and phrase adds, where the best passages stand, and their packed terms."""


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


def scores_of(added: "Floats") -> "Floats":
    """BM25 of each passage, from what each term adds to it."""
    scores: Floats = np.round(added.sum(axis=1), 9)
    return scores


def _share(score: "Floats", top: float) -> "Floats":
    return np.clip(score / top, 0.0, 1.0) if top > 0 else np.zeros(len(score))


def all_cosines(
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
class Pool:
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
    ) -> "Pool":
        """The rows measured against the query, on the given scale or their own; `added` where it is known."""
        places: dict[int, list[int]] = {}
        for place, row in enumerate(rows):
            places.setdefault(row.node_id, []).append(place)
        if added is None:
            added = gains(rows, query.terms, query.statistics, fusion.title_weight)
        score = scores_of(added)
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

    def measured(self, node: Node) -> Measured:
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

    def _measured_alone(self, place: int, node: Node) -> Measured:
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
