"""How far derived files have come: whose they are, up to which sequence, and what changed last."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import orjson

from weft.frozen import dataclass

FORMAT: Final = 1
_REMEMBERED_NODES: Final = 4096


class Damaged(Exception):
    """The derived files cannot be used and must be made anew."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The state that is saved together with derived data, in one atomic step.

    `recent` holds (since, until, node ids) of the last catch-ups without a gap. A reader whose snapshot is older
    than the files learns from it which nodes to take from the snapshot instead.
    """

    identity: str
    sequence: int = 0
    recent: tuple[tuple[int, int, tuple[int, ...]], ...] = ()
    names: tuple[str, ...] = ()

    def advanced(self, sequence: int, changed_nodes: Sequence[int]) -> "Progress":
        """The progress after catching up to a sequence in which these nodes changed."""
        entries = [*self.recent, (self.sequence, sequence, tuple(changed_nodes))]
        total = sum(len(nodes) for _, _, nodes in entries)
        while entries and total > _REMEMBERED_NODES:
            total -= len(entries.pop(0)[2])
        return replace(self, sequence=sequence, recent=tuple(entries))

    def changed_since(self, sequence: int) -> tuple[int, ...] | None:
        """Ids of nodes that changed after a sequence, or None when that is longer ago than we remember."""
        if sequence >= self.sequence:
            return ()
        if not self.recent or self.recent[0][0] > sequence:
            return None
        return tuple(sorted({node for _, until, nodes in self.recent if until > sequence for node in nodes}))

    def naming(self, names: Sequence[str]) -> "Progress":
        """The progress with these names known; a name keeps its place, which serves as its code."""
        known = set(self.names)
        return replace(self, names=(*self.names, *(name for name in dict.fromkeys(names) if name not in known)))


def packed(progress: Progress) -> bytes:
    """The progress as JSON."""
    return orjson.dumps({"format": FORMAT, **{name: getattr(progress, name) for name in _FIELDS}})


def unpacked(data: bytes) -> Progress | None:
    """The progress read back, or None when it is damaged or of another format."""
    try:
        fields = orjson.loads(data)
        if fields.pop("format") != FORMAT:
            return None
        recent = tuple((since, until, tuple(nodes)) for since, until, nodes in fields["recent"])
        return Progress(fields["identity"], int(fields["sequence"]), recent, tuple(fields["names"]))
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
        return None


_FIELDS: Final = ("identity", "sequence", "recent", "names")
