"""The progress of derived files: of which store they are, up to which sequence number, and what changed last."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import orjson

from weft.frozen import dataclass

FORMAT: Final = 1
"""The version of the stored JSON; files of another version are made anew."""
_FIELDS: Final = ("identity", "sequence", "recent", "names")
_MAX_RECENT_NODES: Final = 4096
"""Changed nodes that are listed for readers of older snapshots. The list is written with every commit; a reader
whose snapshot is older than it leaves out what was written since, and says so."""


class Damaged(Exception):
    """Derived files that cannot be used and must be made anew."""


@dataclass(frozen=True, slots=True)
class Progress:
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
