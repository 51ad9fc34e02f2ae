"""How a question is put to the collection: by words, by meaning, or by both in one request."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from weft.frozen import dataclass
from weft.model import Filter
from weft.ports import Proposals, Snapshot
from weft.scoring.vectors import cosines, norms, quantise, stacked
from weft.store.milvus.collection import MOST, Collection, Question
from weft.store.milvus.entities import asked
from weft.store.overlay import Known, Overlay, asked_vector, nothing, overlay_of, term_weights
from weft.store.scope import EQUAL, cut_at_tie

if TYPE_CHECKING:
    from weft.ports.arrays import Ids, Scores, Vectors


Found: TypeAlias = "tuple[Ids, Scores]"

_MARGIN: Final = 64


@dataclass(frozen=True, slots=True)
class Search:
    """One search in both places: what the collection is asked, what the overlay finds, and how ids are scored."""

    field: str
    data: Any
    limit: int
    own: Callable[[Overlay], Found]
    scored: Callable[[list[int]], Found]
    condition: str = ""

    def joined(self, proposed: Found, overlay: Overlay) -> Found:
        """The best of what the collection proposes and the overlay holds, with ties at the cut."""
        ids, scores = zip(proposed, self.own(overlay), strict=True)
        return cut_at_tie(np.concatenate(ids), np.concatenate(scores), self.limit)


def by_words(snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Search | Proposals:
    """The search for the terms; nothing where none of them tells anything."""
    weights, mean_length = term_weights(snapshot, term_hashes)
    if not weights or limit <= 0:
        return nothing()
    passing = _passing(snapshot, filter)

    def own(overlay: Overlay) -> Found:
        return overlay.lexical(weights, mean_length, passing, limit)

    def scored(ids: list[int]) -> Found:
        rows = snapshot.passages(ids)
        known = [Known(row.id, row.node_id, row.term_hashes, row.term_counts, b"") for row in rows]
        return overlay_of((), known).lexical(weights, mean_length, None, len(rows))

    return Search("terms", asked(weights), limit, own, scored)


def by_meaning(snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Search | Proposals:
    """The search for what is near the vector; nothing where there are no vectors like it."""
    query = asked_vector(snapshot, vector, limit)
    if isinstance(query, Proposals):
        return query
    passing = _passing(snapshot, filter)

    def own(overlay: Overlay) -> Found:
        return overlay.semantic(query, passing, limit)

    def scored(ids: list[int]) -> Found:
        kept = [row.id for row in snapshot.passages(ids)]
        rows = zip(kept, quantise(snapshot.vectors(kept)), strict=True)
        pairs = [(number, row) for number, row in rows if row]
        matrix = stacked([row for _, row in pairs], len(query))
        return np.array([number for number, _ in pairs], np.int64), cosines(matrix, norms(matrix), query)

    return Search("vector", query.astype(np.float32).tolist(), limit, own, scored, " and embedded == true")


def _passing(snapshot: Snapshot, filter: Filter) -> "Ids | None":
    return None if filter.empty else snapshot.matching(filter)


def matching(collection: Collection, searches: Sequence[Search], condition: str) -> list[Found]:
    """What the collection proposes for each search, by our own score, all of it found in one request.

    More is asked for while a cut falls among equals.
    """
    most, factor = MOST // len(searches), 1
    while True:
        wanted = [min(factor * (each.limit + _MARGIN), most) for each in searches]
        pairs = zip(searches, wanted, strict=True)
        ids = collection.search(
            [Question(each.field, each.data, condition + each.condition, limit) for each, limit in pairs]
        )
        found = [each.scored(ids) for each in searches]
        settled = [
            limit == most or _is_settled(scores, each.limit, limit)
            for each, limit, (_, scores) in zip(searches, wanted, found, strict=True)
        ]
        if all(settled):
            return found
        factor *= 4


def _is_settled(scores: "Scores", limit: int, wanted: int) -> bool:
    """Whether the best `limit` are known: there is no more, or what comes after them is worse.

    What other searches of the request found may be among the scores; it can only make the best ones better.
    """
    ranked = np.sort(scores)[::-1]
    return len(ranked) < wanted or bool(ranked[wanted - 1] < ranked[limit - 1] * (1 - EQUAL))
