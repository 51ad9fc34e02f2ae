"""The right to write: one holder among all threads and processes that use a store."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import StoreBusy, StoreReadOnly
from weft.store.connection import read_only_message

if TYPE_CHECKING:
    from filelock import BaseFileLock


class WriteLock:
    """A lock that its own thread may take again; others wait up to `busy_seconds` and then get StoreBusy."""

    def __init__(self, folder: Path, busy_seconds: float) -> None:
        self._folder, self._busy_seconds = folder, busy_seconds
        self._thread = threading.RLock()
        self._file: BaseFileLock | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the right to write for the block."""
        started = time.monotonic()
        if not self._thread.acquire(timeout=self._busy_seconds):
            raise StoreBusy(self._busy_message())
        try:
            with self._held_file(self._busy_seconds - (time.monotonic() - started)):
                yield
        finally:
            self._thread.release()

    @contextmanager
    def _held_file(self, seconds: float) -> Iterator[None]:
        # Those who only read, which is most processes, start sooner without this library.
        from filelock import FileLock, Timeout

        if self._file is None:
            self._file = FileLock(self._folder / "write.lock", thread_local=False, poll_interval=0.01)
        try:
            self._file.acquire(timeout=max(seconds, 0.0))
        except Timeout as error:
            raise StoreBusy(self._busy_message()) from error
        except OSError as error:
            raise StoreReadOnly(read_only_message(self._folder / "write.lock")) from error
        try:
            yield
        finally:
            self._file.release()

    def _busy_message(self) -> str:
        return (
            f"Another writer has kept the store at {self._folder} for more than {self._busy_seconds:g} seconds. "
            "Wait for it to finish and try again, or allow a longer wait with busy_seconds."
        )
