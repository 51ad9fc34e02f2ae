"""A progress bar for whatever takes longer than a second, on stderr and only on a terminal."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from weft.indexing.ingest import Progress


_PATIENCE: Final = 1.0


@contextmanager
def watched(stage: str) -> "Iterator[Progress]":
    """What to tell about the work in the block; a bar appears when it has taken a second."""
    if not sys.stderr.isatty():
        yield _unseen
        return
    watch = Watch(stage)
    try:
        yield watch
    finally:
        watch.end()


def _unseen(stage: str, done: int, total: int | None) -> None:
    """Nobody looks at a progress bar in a pipe."""


class Watch:
    """Told (stage, done, total) as work goes on, it shows them once a second has passed."""

    def __init__(self, stage: str) -> None:
        self._stage, self._done = stage, 0
        self._total: int | None = None
        self._bar: Bar | None = None
        self._guard = threading.Lock()
        self._timer = threading.Timer(_PATIENCE, self._show)
        self._timer.daemon = True
        self._timer.start()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        with self._guard:
            self._stage, self._done, self._total = stage, done, total
            self._update()

    def end(self) -> None:
        """Take the bar away, or see to it that it never appears."""
        self._timer.cancel()
        with self._guard:
            if self._bar is not None:
                self._bar.stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, TimeElapsedColumn

        with self._guard:
            if self._timer.finished.is_set():
                return
            console = Console(stderr=True)
            columns = (*Progress.get_default_columns(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=console, transient=True)
            self._bar.add_task(self._stage, total=None)
            self._bar.start()
            self._update()

    def _update(self) -> None:
        if self._bar is not None:
            task = self._bar.tasks[0]
            # Rich takes a total of None as "leave it", but a new stage may not know its total.
            task.total = self._total
            self._bar.update(task.id, description=self._stage, completed=self._done)
