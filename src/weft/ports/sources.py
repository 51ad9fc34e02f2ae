"""Declare what indexing requires of a source, and the optional abilities that a source may add.

Indexing asks with `isinstance` for each optional protocol and does without where a source lacks it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, runtime_checkable

from msgspec import Struct

from weft.model import Edge, Node


class Problem(Struct, frozen=True):
    """One thing that a source could not use: where it stands, and why. Indexing reports it and goes on."""

    where: str
    reason: str


class Unit(Struct, frozen=True):
    """The content of one part of a source that changes on its own: a file, a commit, a batch of records.

    `name` identifies the unit within its source; `stamp` changes whenever its content may have changed, so
    that an unchanged unit is not read again. A node that is missing from the unit at its next reading is
    removed from the store. `skipped` says why a unit without nodes was not read, as in `ListsSkipped`.
    """

    name: str
    stamp: str
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    problems: tuple[Problem, ...] = ()
    skipped: str = ""


class Source(Protocol):
    """A place outside Weft that holds knowledge. The keys of its nodes must begin with `<name>:`."""

    name: str

    @property
    def maker(self) -> str:
        """The name and version of the reader, stored as the maker of every edge that it draws.

        A new version makes indexing read all units again.
        """
        ...

    def identity(self) -> str:
        """Return a fingerprint that distinguishes this place from another source of the same name.

        An empty string says that the source no longer exists.
        """
        ...

    def units(self) -> Iterable[tuple[str, str]]:
        """List the (name, stamp) of every unit that exists now, in a stable order and without reading contents."""
        ...

    def read(self, unit: str) -> Unit:
        """Read one unit and return its nodes and edges.

        A unit that cannot be read now is returned with an empty stamp: the store keeps what it has of it.
        """
        ...


@runtime_checkable
class Resumable(Protocol):
    """A source that fetches only what changed: it must know what is stored before it lists its units."""

    def resume(self, known: Mapping[str, str]) -> None:
        """Take the stored units, stamp by name; a unit with an empty stamp must be read again."""
        ...


ReportProgress = Callable[[str, int, int | None], None]
"""A callback for (stage, done, total) while work goes on; the total is None as long as it is unknown."""


def ignore_progress(stage: str, done: int, total: int | None) -> None:
    """Do nothing: the progress callback for callers that show none."""


@runtime_checkable
class ReportsProgress(Protocol):
    """A source, or a part of one, that takes long to list its units and can report how far it is."""

    def report_progress_to(self, report: ReportProgress) -> None:
        """Call `report` from now on as the listing advances."""
        ...


@runtime_checkable
class CountsSkipped(Protocol):
    """A source, or a part of one, that counts what it did not read."""

    def count_skipped(self) -> Mapping[str, int]:
        """Return how many files or folders the last listing skipped or read only in part, by reason."""
        ...


@runtime_checkable
class ListsSkipped(Protocol):
    """A source, or a part of one, that names the files and folders it did not read."""

    def list_skipped(self) -> Mapping[str, str]:
        """Return the reason for each file, or folder (its name ends in `/`), that the last listing skipped.

        What follows `: ` in a reason is a detail: reasons that differ only in it are counted as one.
        """
        ...


@runtime_checkable
class HoldsMemory(Protocol):
    """A source, or a part of one, that keeps much in memory while its units are read."""

    def release_memory(self) -> None:
        """Free that memory. Reading another unit afterwards still works, but first builds it again."""
        ...
