"""What one search may return, and where its results end."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.frozen import dataclass
from weft.model import Filter, View
from weft.ports import TailPassage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Scores = NDArray[np.float64]


TIES: Final = 4096
EQUAL: Final = 1e-6
_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


@dataclass(frozen=True, slots=True)
class Scope:
    """Which passages of the derived files count: seen through the view, passing the filter, not of masked nodes.

    `nodes` are the ids that pass those parts of the filter which only the snapshot can judge; None is all.
    """

    view: View
    filter: Filter
    masked: "Ids"
    nodes: "Ids | None" = None


def cut_at_tie(ids: "Ids", scores: "Scores", limit: int) -> "tuple[Ids, Scores]":
    """The best `limit`, and those that tie with the last of them, by falling score and rising id."""
    order = np.lexsort((ids, -scores))
    ids, scores = ids[order], scores[order]
    if limit <= 0 or len(ids) <= limit:
        return ids[: max(limit, 0)], scores[: max(limit, 0)]
    last = scores[limit - 1]
    count = min(int(np.count_nonzero(scores >= last - abs(last) * EQUAL)), limit + TIES)
    return ids[:count], scores[:count]


def microseconds(moment: datetime | None) -> int | None:
    """Microseconds since 1970 in UTC."""
    return None if moment is None else (moment - _EPOCH) // timedelta(microseconds=1)


def position_of(passage: TailPassage) -> int | None:
    """From where in the sequence the passage is known."""
    return passage.sequence if passage.known_from is None else passage.known_from
