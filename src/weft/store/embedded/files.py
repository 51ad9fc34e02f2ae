"""Verify derived files by their digests, and keep the states of them that readers have open.

The engine writes each of its segment files once, so a file that differs from its recorded digest is damaged.
"""

import mmap
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

import orjson
import xxhash

from weft.runtime.files import replace_file
from weft.store.derived import Damaged, Progress

VerifiedFiles: TypeAlias = set[tuple[str, str]]
"""(name, digest) of the files that were found to be as they were written, which need not be read again."""

_SEGMENT_ID_LENGTH: Final = 32
"""Characters of the id with which tantivy begins the name of a segment's files."""
_MAX_OPEN_STATES: Final = 3
"""States that stay open for readers of older snapshots. Each keeps its files mapped, even when they are
deleted."""


def record_digests(folder: Path, record: Path) -> None:
    """Write the digests of all segment files in the folder to `record`; those already known are not read again."""
    known = _read_digests(record)
    digests = {path.name: known.get(path.name) or _file_digest(path) for path in _segment_files(folder)}
    replace_file(record, orjson.dumps(digests))


def check_digests(folder: Path, record: Path, verified: VerifiedFiles) -> None:
    """Raise Damaged when a file differs from its recorded digest; files without one are taken as they are."""
    known = _read_digests(record)
    for path in _segment_files(folder):
        expected = known.get(path.name)
        if expected is None or (path.name, expected) in verified:
            continue
        try:
            found = _file_digest(path)
        except FileNotFoundError:
            # A writer has just merged it into another.
            continue
        if found != expected:
            raise Damaged(f"{path.name} differs from what was written")
        verified.add((path.name, expected))


def _segment_files(folder: Path) -> list[Path]:
    # The other files of the engine are replaced with every commit.
    return sorted(path for path in folder.iterdir() if len(path.name.partition(".")[0]) == _SEGMENT_ID_LENGTH)


def _read_digests(record: Path) -> dict[str, str]:
    try:
        known = orjson.loads(record.read_bytes())
    # The record is written last: a writer that was killed before leaves files without one.
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _file_digest(path: Path) -> str:
    digest = xxhash.xxh3_64()
    with path.open("rb") as file:
        # An empty file cannot be mapped. The others are not copied: every program that opens a store reads them.
        if os.fstat(file.fileno()).st_size:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                digest.update(content)
    return digest.hexdigest()


class Generation(Protocol):
    """A state of derived files that stays as it is while it is open."""

    @property
    def progress(self) -> Progress: ...


G = TypeVar("G", bound=Generation)


class Generations(Generic[G]):
    """The open states of derived files, to which newer ones are added as they appear; safe between threads.

    `head` is the file that a writer replaces with every commit, and `open_newest` opens the state it describes.
    """

    def __init__(self, head: Path, open_newest: Callable[[], G]) -> None:
        self._head, self._open_newest = head, open_newest
        self._items: list[G] = []
        self._head_stamp: tuple[int, ...] | None = None
        self._lock = threading.Lock()

    def nearest(self, identity: str, sequence: int) -> G | None:
        """Return the newest state not beyond the sequence, else the oldest beyond it, else None."""
        with self._lock:
            best = self._best(identity, sequence)
            # Most snapshots find their own state open, and the files need not be looked at.
            if best is None or best.progress.sequence != sequence:
                self._refresh()
                best = self._best(identity, sequence)
            return best

    def clear(self) -> None:
        """Drop all open states; the files are opened again once they have changed."""
        with self._lock:
            self._items = []

    def latest(self) -> G | None:
        """Return the newest state there is."""
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
        stamp = _file_stamp(self._head)
        if stamp is None or stamp == self._head_stamp:
            return
        # Remembered before opening: a damaged state is not tried again until it was replaced.
        self._head_stamp = stamp
        try:
            newest = self._open_newest()
        except Damaged:
            # The next writer makes the files anew; until then searches scan the snapshot.
            return
        others = [item for item in self._items if item.progress.sequence != newest.progress.sequence]
        # The states dropped here are closed when their last reader is done.
        self._items = [*others[1 - _MAX_OPEN_STATES :], newest]


def _file_stamp(path: Path) -> tuple[int, ...] | None:
    """Return values that change whenever the file is replaced, or None when it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size
