"""Search the collection by words, by meaning, or by both in one request.

Milvus proposes, and every proposal is scored again by our own arithmetic from the snapshot.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import orjson
from msgspec import Struct

from weft.model import Filter, View
from weft.ports import Proposals, Snapshot
from weft.scoring.similarity import cosines, norms, quantise, stack_rows
from weft.store.derived import (
    SCORE_TOLERANCE,
    Overlay,
    OverlayPassage,
    build_overlay,
    cut_at_tie,
    no_proposals,
    passing_nodes,
    quantise_query,
    term_weights,
)
from weft.store.milvus.collection import ABSENT, LAST_TERM, MAX_RESULTS, Collection, FieldQuery, shorten_name
from weft.store.records import facet_groups, to_microseconds

if TYPE_CHECKING:
    from weft.ports.stores import Ids, Scores, Vectors


Found: TypeAlias = "tuple[Ids, Scores]"

_MARGIN: Final = 64
"""Passages asked for beyond the limit: the scores of Milvus are approximate, and so is its cut."""
_GROWTH: Final = 4
"""The factor by which more passages are asked for while the cut falls among equals."""


class Search(Struct, frozen=True):
    """One search of both the collection and the overlay.

    `field`, `data` and `condition` are sent to the collection, `search_overlay` finds passages in the overlay, and
    `score` gives the passages that the collection proposed our own score.
    """

    field: str
    data: Any
    limit: int
    search_overlay: Callable[[Overlay], Found]
    score: Callable[[list[int]], Found]
    condition: str = ""

    def combine(self, proposed: Found, overlay: Overlay) -> Found:
        """Return the best of what the collection proposed and the overlay holds, with ties at the cut."""
        ids, scores = zip(proposed, self.search_overlay(overlay), strict=True)
        return cut_at_tie(np.concatenate(ids), np.concatenate(scores), self.limit)


def word_search(snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Search | Proposals:
    """Return the search for the terms, or no proposals where the view holds none of them."""
    weights, mean_length = term_weights(snapshot, term_hashes)
    if not weights or limit <= 0:
        return no_proposals()
    nodes = passing_nodes(snapshot, filter)

    def search_overlay(overlay: Overlay) -> Found:
        return overlay.lexical(weights, mean_length, nodes, limit)

    def score(ids: list[int]) -> Found:
        rows = snapshot.passages(ids)
        known = [OverlayPassage(row.id, row.node_id, row.term_hashes, row.term_counts, b"") for row in rows]
        return build_overlay((), known).lexical(weights, mean_length, None, len(rows))

    return Search("terms", _query_terms(weights), limit, search_overlay, score)


def vector_search(snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Search | Proposals:
    """Return the search for the neighbours of the vector, or no proposals where the store has no such vectors."""
    query = quantise_query(snapshot, vector, limit)
    if isinstance(query, Proposals):
        return query
    nodes = passing_nodes(snapshot, filter)

    def search_overlay(overlay: Overlay) -> Found:
        return overlay.semantic(query, nodes, limit)

    def score(ids: list[int]) -> Found:
        visible = [row.id for row in snapshot.passages(ids)]
        rows = zip(visible, quantise(snapshot.vectors(visible)), strict=True)
        pairs = [(passage_id, row) for passage_id, row in rows if row]
        matrix = stack_rows([row for _, row in pairs], len(query))
        return np.array([passage_id for passage_id, _ in pairs], np.int64), cosines(matrix, norms(matrix), query)

    # A passage without a vector has zeros in the collection, which are near to everything.
    condition = " and embedded == true"
    return Search("vector", query.astype(np.float32).tolist(), limit, search_overlay, score, condition)


def search_collection(collection: Collection, searches: Sequence[Search], condition: str) -> list[Found]:
    """Return the collection's proposals for each search by our own score, all found in one request.

    More are asked for while a cut falls among equals.
    """
    # Several searches of one request share its limit on results.
    most, factor = MAX_RESULTS // len(searches), 1
    while True:
        limits = [min(factor * (search.limit + _MARGIN), most) for search in searches]
        ids = collection.search(
            [
                FieldQuery(search.field, search.data, condition + search.condition, limit)
                for search, limit in zip(searches, limits, strict=True)
            ]
        )
        found = [search.score(ids) for search in searches]
        if all(
            limit == most or _is_settled(scores, search.limit, limit)
            for search, limit, (_, scores) in zip(searches, limits, found, strict=True)
        ):
            return found
        factor *= _GROWTH


def _is_settled(scores: "Scores", limit: int, wanted: int) -> bool:
    """Return whether the best `limit` are known: there are no more, or those after them are worse.

    Results of the other searches of the request may be among the scores; they can only make the best ones better.
    """
    ranked = np.sort(scores)[::-1]
    return len(ranked) < wanted or bool(ranked[wanted - 1] < ranked[limit - 1] * (1 - SCORE_TOLERANCE))


# --- questions in the form that Milvus reads -------------------------------------------------------------


def _query_terms(weights: Mapping[int, float]) -> dict[int, float]:
    """Return a query as a sparse vector: the weights that the view gives its terms."""
    return {min(term, LAST_TERM): weight for term, weight in weights.items() if math.isfinite(weight)}


def filter_expression(view: View, filter: Filter, masked: "Ids", nodes: "Ids | None") -> str:
    """Return the condition for entities that the view and the filter let through.

    Entities of `masked` nodes are left out; `nodes` limits them to these nodes, unless it is None.
    """
    parts = [f"tenant in {_quote_names(view.tenants)}"]
    parts += [f"ARRAY_CONTAINS_ANY(facets, {_quote_names(group)})" for group in facet_groups(filter)]
    bounds = (
        ("position", None, view.as_of),
        ("sequence", filter.sequence_from, filter.sequence_to),
        ("time", to_microseconds(filter.since), to_microseconds(filter.until)),
    )
    # Absent numbers lie below every bound, so an upper bound alone needs a lower one too.
    for name, low, high in bounds:
        if low is not None or high is not None:
            parts.append(f"{name} >= {ABSENT + 1 if low is None else low}")
        if high is not None:
            parts.append(f"{name} <= {high}")
    hidden = sorted(masked.tolist())
    if hidden:
        parts.append(f"node not in {hidden}")
    if nodes is not None:
        # No node has the id 0: without nodes nothing matches.
        parts.append(f"node in {nodes.tolist()}" if len(nodes) else "node == 0")
    return " and ".join(parts)


def _quote_names(names: Iterable[str]) -> str:
    return orjson.dumps([shorten_name(name) for name in names]).decode()
