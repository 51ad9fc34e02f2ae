"""The bounds of one search: which passages it may return, and where its results are cut."""

from typing import TYPE_CHECKING, Final

import numpy as np

from weft.frozen import dataclass
from weft.model import Filter, View
from weft.store import records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Scores = NDArray[np.float64]


MAX_TIES: Final = 4096
"""Passages that may tie with the last one and still be returned. A common title can tie thousands; the callers
order all that they get, so this bounds their work."""
SCORE_TOLERANCE: Final = 1e-6
"""Relative difference up to which two scores tie: engines add the same parts up in different orders."""

# milvus/entities.py still imports these two from here.
microseconds = records.to_microseconds
position_of = records.known_position


@dataclass(frozen=True, slots=True)
class Scope:
    """The passages of derived files that count: seen through the view, passing the filter, not of masked nodes.

    `nodes` are the ids that pass those parts of the filter which only the snapshot can judge; None means all
    nodes.
    """

    view: View
    filter: Filter
    masked: "Ids"
    nodes: "Ids | None" = None


def cut_at_tie(ids: "Ids", scores: "Scores", limit: int) -> "tuple[Ids, Scores]":
    """Return the best `limit` and those that tie with the last of them, by falling score and rising id."""
    order = np.lexsort((ids, -scores))
    ids, scores = ids[order], scores[order]
    if limit <= 0 or len(ids) <= limit:
        return ids[: max(limit, 0)], scores[: max(limit, 0)]
    last = scores[limit - 1]
    count = min(int(np.count_nonzero(scores >= last - abs(last) * SCORE_TOLERANCE)), limit + MAX_TIES)
    return ids[:count], scores[:count]
