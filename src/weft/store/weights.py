"""What every index needs before it searches: the weights of terms in a view, and words for finding nothing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.ports import Proposals, Snapshot
from weft.store.lexical import inverse_frequency
from weft.vectors import quantise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weft.ports.arrays import Vectors

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


def asked_vector(snapshot: Snapshot, vector: "Vectors", limit: int) -> "NDArray[np.int8] | Proposals":
    """A question's vector in the form of the stored ones; no proposals where it can find nothing."""
    query = np.frombuffer(quantise(np.asarray(vector, dtype=np.float32).reshape(1, -1))[0], dtype=np.int8)
    stored = snapshot.embedder()
    if not stored or not len(query) or limit <= 0 or not snapshot.view.tenants:
        return nothing()
    return query if stored[1] == len(query) else nothing(_wrong_width(len(query), stored))


def _wrong_width(given: int, stored: tuple[str, int]) -> str:
    """What a reader is told whose vector was made by another embedder than those in the store."""
    return (
        f"Semantic search was left out: the question's vector has {given} dimensions, those in the store have "
        f"{stored[1]} (made by {stored[0]}). Ask with that embedder, or embed the store again."
    )
