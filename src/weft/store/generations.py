"""The few latest states of derived files that this process has open, so that each reader finds one that suits."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from weft.store.progress import Damaged, Progress

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
