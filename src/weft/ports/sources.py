"""What holds knowledge outside, and how its reading is told."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, runtime_checkable

from weft.frozen import dataclass
from weft.model import Edge, Node


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing a source could not use: where, and why. It is reported and counted, never fatal."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unit:
    """What one independently changing part of a source holds (a file, a commit, a batch of records).

    `name` identifies the unit within its source; `stamp` changes whenever its content may have changed, so
    that an unchanged unit need not be read again. Nodes of a unit that are gone next time are removed.
    """

    name: str
    stamp: str
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    problems: tuple[Problem, ...] = ()


class Source(Protocol):
    """Something outside that holds knowledge. Keys of its nodes begin with `<name>:`."""

    name: str

    @property
    def maker(self) -> str:
        """Who draws this source's edges, with the version of its reader."""
        ...

    def identity(self) -> str:
        """What tells this place from another source of the same name; empty when the source is gone."""
        ...

    def units(self) -> Iterable[tuple[str, str]]:
        """The (name, stamp) of every unit there is now, cheaply, in a stable order."""
        ...

    def read(self, unit: str) -> Unit:
        """One unit, read and understood; an empty stamp says that it cannot be read now and stays as it was."""
        ...


@runtime_checkable
class Resumable(Protocol):
    """A source that asks only for what changed: it is told what is stored before its units are listed."""

    def resume(self, known: Mapping[str, str]) -> None:
        """Go on from the units that are stored, by name and stamp; an empty stamp says that it must be read."""
        ...


Tell = Callable[[str, int, int | None], None]
"""Told (stage, done, total) as work goes on; the total is None while unknown."""


def untold(stage: str, done: int, total: int | None) -> None:
    """Nobody watches the progress."""


@runtime_checkable
class Telling(Protocol):
    """A source, or a part of one, whose units take long to list."""

    def tell_to(self, tell: Tell) -> None:
        """Say from now on how far listing has come."""
        ...


@runtime_checkable
class Remarking(Protocol):
    """A source, or a part of one, that can tell what it passed over."""

    def remarks(self) -> Mapping[str, int]:
        """How many files or folders were left out, or read in part, when the units were last listed, by reason."""
        ...


@runtime_checkable
class Releasing(Protocol):
    """A source, or a part of one, that keeps much in memory while its units are read."""

    def let_go(self) -> None:
        """Give that memory back; whoever reads another unit waits until it is there again."""
        ...
