"""What every index needs before it searches: the weights of terms in a view, and words for finding nothing."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from weft.ports import Proposals, Snapshot
from weft.store.lexical import inverse_frequency

_TERMS: Final = 256


def term_weights(snapshot: Snapshot, term_hashes: Sequence[int]) -> tuple[dict[int, float], float]:
    """The weight of each term that the view holds, rarest first, and the view's mean length of a passage."""
    if not term_hashes or not snapshot.view.tenants:
        return {}, 0.0
    statistics = snapshot.statistics(sorted(set(term_hashes)))
    held = sorted((count, term) for term, count in statistics.frequency.items() if count > 0)
    weights = {term: inverse_frequency(statistics.passages, count) for count, term in held[:_TERMS]}
    return weights, statistics.mean_length


def nothing(*notes: str) -> Proposals:
    """No proposals, and why."""
    return Proposals(np.zeros(0, dtype=np.int64), np.zeros(0), notes)


def wrong_width(given: int, stored: tuple[str, int]) -> str:
    """What a reader is told whose vector was made by another embedder than those in the store."""
    return (
        f"Semantic search was left out: the question's vector has {given} dimensions, those in the store have "
        f"{stored[1]} (made by {stored[0]}). Ask with that embedder, or embed the store again."
    )
