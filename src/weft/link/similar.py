"""Nodes that say nearly the same become `similar` neighbours: the nearest few by meaning, over a threshold."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from weft.model import Filter
from weft.ports import Index, Snapshot

if TYPE_CHECKING:
    from weft.ports.arrays import Vectors

SIMILAR_MAKER: Final = "link:similar@1"
SIMILAR_EDGE: Final = "similar"
NEAREST: Final = 5
DEFAULT_THRESHOLD: Final = 0.75
_PASSAGES: Final = 60


def nearest(snapshot: Snapshot, index: Index, node_id: int, threshold: float) -> tuple[tuple[int, float], ...]:
    """The nodes at least so near to one, as (id, cosine), nearest first; at most a few dozen are looked at."""
    vector = _vector(snapshot, node_id)
    if vector is None:
        return ()
    found = index.semantic(snapshot, vector, Filter(), _PASSAGES)
    rows = snapshot.passages(found.passage_ids.tolist())
    cosine = dict(zip(found.passage_ids.tolist(), found.scores.tolist(), strict=True))
    best: dict[int, float] = {}
    for row in rows:
        if row.node_id != node_id and cosine[row.id] >= threshold:
            best[row.node_id] = max(best.get(row.node_id, 0.0), round(cosine[row.id], 6))
    keys = {number: stored.node.key for number, stored in snapshot.nodes(sorted(best)).items()}
    return tuple(sorted(((each, best[each]) for each in keys), key=lambda pair: (-pair[1], keys[pair[0]])))


def _vector(snapshot: Snapshot, node_id: int) -> "Vectors | None":
    """What a node is about as a whole: the mean of its passages."""
    import numpy as np

    passages: Sequence[int] = [row.id for row in snapshot.passages_of([node_id])]
    vectors = snapshot.vectors(passages)
    mean = vectors.sum(axis=0) if len(vectors) else np.zeros(0, np.float32)
    length = float(np.linalg.norm(mean))
    return (mean / length).astype(np.float32) if length else None
