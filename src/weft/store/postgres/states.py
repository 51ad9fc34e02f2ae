"""One state of a store, and what is remembered of the states that were read last."""

from weft.frozen import dataclass
from weft.model import View
from weft.recent import Recent
from weft.store.postgres.seen import Names
from weft.store.statistics import RememberedScans


@dataclass(frozen=True, slots=True)
class State:
    """What a store says of itself at one moment."""

    identity: str
    sequence: int
    embedder: str | None
    dimensions: int | None
    space: int
    version: int
    """The last write that touched a tenant of the view."""
    candidates: int
    """How many of the nearest the graph is walked for."""


class Counted:
    """Term statistics of one state of a view, as far as they were asked for; for any thread."""

    def __init__(self) -> None:
        self.totals: tuple[int, int] | None = None
        self.frequency: dict[int, int] = {}


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a store remembers between snapshots."""

    names: Names
    scans: RememberedScans
    counted: Recent[tuple[View, int], Counted]
