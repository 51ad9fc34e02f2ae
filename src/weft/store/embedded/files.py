"""Digests of the engine's files, which never change once written: a file that differs is damaged."""

import mmap
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

import orjson
import xxhash

from weft.store.progress import Damaged, Progress

Intact = set[tuple[str, str]]
"""(name, digest) of what was found to be as it was written, so that it is not read through again."""


def record_digests(folder: Path, record: Path) -> None:
    """Write down the digests of all files in the folder; those already known are not read again."""
    known = _recorded(record)
    digests = {path.name: known.get(path.name) or _digest(path) for path in _lasting(folder)}
    draft = record.with_suffix(".draft")
    draft.write_bytes(orjson.dumps(digests))
    draft.replace(record)


def check_digests(folder: Path, record: Path, intact: Intact) -> None:
    """Raise Damaged when a file differs from what was recorded; files not recorded yet are taken as they are."""
    known = _recorded(record)
    for path in _lasting(folder):
        expected = known.get(path.name)
        if expected is None or (path.name, expected) in intact:
            continue
        try:
            found = _digest(path)
        except FileNotFoundError:
            # A writer has just merged it into another.
            continue
        if found != expected:
            raise Damaged(f"{path.name} differs from what was written")
        intact.add((path.name, expected))


def _lasting(folder: Path) -> list[Path]:
    """The files that are written once: their names begin with the id of a segment."""
    return sorted(path for path in folder.iterdir() if len(path.name.partition(".")[0]) == 32)


def _recorded(record: Path) -> dict[str, str]:
    try:
        known = orjson.loads(record.read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _digest(path: Path) -> str:
    digest = xxhash.xxh3_64()
    with path.open("rb") as file:
        # An empty file cannot be mapped. The others are not copied: every program that opens a store reads them.
        if os.fstat(file.fileno()).st_size:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                digest.update(content)
    return digest.hexdigest()


_KEPT: Final = 3


class Generation(Protocol):
    """A state of derived files that stays as it is while it is open."""

    @property
    def progress(self) -> Progress: ...


G = TypeVar("G", bound=Generation)


class Generations(Generic[G]):
    """Opens newer states as they appear and hands out the one nearest to a snapshot; safe between threads."""

    def __init__(self, head: Path, opened: Callable[[], G]) -> None:
        self._head, self._opened = head, opened
        self._items: list[G] = []
        self._mark: tuple[int, ...] | None = None
        self._lock = threading.Lock()

    def nearest(self, identity: str, sequence: int) -> G | None:
        """The newest state not beyond the sequence, else the oldest beyond it, else None."""
        with self._lock:
            best = self._best(identity, sequence)
            if best is None or best.progress.sequence != sequence:
                self._refresh()
                best = self._best(identity, sequence)
            return best

    def let_go(self) -> None:
        """Forget all open states; the files are opened again once they have changed."""
        with self._lock:
            self._items = []

    def latest(self) -> G | None:
        """The newest state there is."""
        with self._lock:
            self._refresh()
            return self._items[-1] if self._items else None

    def _best(self, identity: str, sequence: int) -> G | None:
        usable = [item for item in self._items if item.progress.identity == identity]
        behind = [item for item in usable if item.progress.sequence <= sequence]
        if behind:
            return max(behind, key=lambda item: item.progress.sequence)
        return min(usable, key=lambda item: item.progress.sequence, default=None)

    def _refresh(self) -> None:
        mark = _mark(self._head)
        if mark is None or mark == self._mark:
            return
        self._mark = mark
        try:
            newest = self._opened()
        except Damaged:
            # Whoever may write makes the files anew; until then the snapshot is scanned.
            return
        others = [item for item in self._items if item.progress.sequence != newest.progress.sequence]
        self._items = [*others[1 - _KEPT :], newest]


def _mark(head: Path) -> tuple[int, ...] | None:
    """What changes whenever the file is replaced, or None when it is not there."""
    try:
        status = head.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size
