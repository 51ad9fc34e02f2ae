"""The parts that every derived search index shares: the bounds of one search, and the progress of its files."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import orjson
from msgspec import Struct
from msgspec.structs import replace

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


class Scope(Struct, frozen=True):
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


FORMAT: Final = 1
"""The version of the stored JSON; files of another version are made anew."""
_FIELDS: Final = ("identity", "sequence", "recent", "names")
_MAX_RECENT_NODES: Final = 4096
"""Changed nodes that are listed for readers of older snapshots. The list is written with every commit; a reader
whose snapshot is older than it leaves out what was written since, and says so."""


class Damaged(Exception):
    """Derived files that cannot be used and must be made anew."""


class Progress(Struct, frozen=True):
    """The state that is saved together with derived data, in one atomic step.

    `recent` holds (since, until, node ids) of the last catch-ups without a gap. A reader whose snapshot is older
    than the files learns from it which nodes to take from the snapshot instead. `names` are stored as their index.
    """

    identity: str
    sequence: int = 0
    recent: tuple[tuple[int, int, tuple[int, ...]], ...] = ()
    names: tuple[str, ...] = ()

    def advanced(self, sequence: int, changed_nodes: Sequence[int]) -> "Progress":
        """Return the progress after catching up to a sequence number up to which these nodes changed."""
        entries = [*self.recent, (self.sequence, sequence, tuple(changed_nodes))]
        total = sum(len(nodes) for _, _, nodes in entries)
        while entries and total > _MAX_RECENT_NODES:
            total -= len(entries.pop(0)[2])
        return replace(self, sequence=sequence, recent=tuple(entries))

    def changed_since(self, sequence: int) -> tuple[int, ...] | None:
        """Return the ids of nodes that changed after a sequence number, or None when `recent` begins later."""
        if sequence >= self.sequence:
            return ()
        if not self.recent or self.recent[0][0] > sequence:
            return None
        return tuple(sorted({node for _, until, nodes in self.recent if until > sequence for node in nodes}))

    def with_names(self, names: Sequence[str]) -> "Progress":
        """Return the progress with these names added; a name keeps its index, which serves as its code."""
        known = set(self.names)
        return replace(self, names=(*self.names, *(name for name in dict.fromkeys(names) if name not in known)))


def pack_progress(progress: Progress) -> bytes:
    """Return the progress as JSON."""
    return orjson.dumps({"format": FORMAT, **{name: getattr(progress, name) for name in _FIELDS}})


def unpack_progress(data: bytes) -> Progress | None:
    """Return the progress read back from JSON, or None when it is damaged or of another format."""
    try:
        fields = orjson.loads(data)
        if fields.pop("format") != FORMAT:
            return None
        recent = tuple((since, until, tuple(nodes)) for since, until, nodes in fields["recent"])
        return Progress(fields["identity"], int(fields["sequence"]), recent, tuple(fields["names"]))
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
        return None
