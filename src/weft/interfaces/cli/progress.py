"""A progress bar on stderr for work that takes longer than a second, only on a terminal."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from weft.indexing.ingest import Progress


_DELAY_SECONDS: Final = 1.0
"""How long work takes before a bar appears: shorter work needs none, and Rich takes a while to load."""


@contextmanager
def show_progress(stage: str, delay: float = _DELAY_SECONDS) -> "Iterator[Progress]":
    """Yield a function to report progress to; a bar appears after `delay` seconds, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield _ignore_progress
        return
    bar = ProgressBar(stage, delay)
    try:
        yield bar
    finally:
        bar.end()


def _ignore_progress(stage: str, done: int, total: int | None) -> None:
    """Do nothing: a pipe gets no progress bar."""


class ProgressBar:
    """A bar that is called with (stage, done, total) as work goes on, and appears after a delay."""

    def __init__(self, stage: str, delay: float = _DELAY_SECONDS) -> None:
        self._stage, self._done = stage, 0
        self._total: int | None = None
        self._bar: Bar | None = None
        # The timer's thread draws the bar while the working thread reports to it.
        self._lock = threading.Lock()
        self._timer = threading.Timer(delay, self._appear)
        self._timer.daemon = True
        self._timer.start()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        with self._lock:
            self._stage, self._done, self._total = stage, done, total
            self._update()

    def end(self) -> None:
        """Remove the bar, or prevent it from appearing."""
        self._timer.cancel()
        with self._lock:
            if self._bar is not None:
                self._bar.stop()

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, TimeElapsedColumn

        with self._lock:
            # The work may have ended while Rich was loading.
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
