"""Connections to one SQLite file: how they are opened, pooled, and how their errors read."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from weft.errors import InvalidInput, StoreBusy, StoreCorrupt, StoreError, StoreReadOnly, WeftError

if TYPE_CHECKING:
    from filelock import BaseFileLock


_MAPPED_BYTES: Final = (1 << 31) - (1 << 16)
"""As much of the file as SQLite maps at most."""
_IDLE_CONNECTIONS: Final = 8


def writable(folder: Path, file: Path) -> bool:
    """Whether this process may create and change the store's files."""
    return os.access(folder, os.W_OK) and (not file.exists() or os.access(file, os.W_OK))


def connect_writer(file: Path, busy_seconds: float) -> sqlite3.Connection:
    """A connection that writes: committed means safe against the death of the process.

    With WAL and synchronous=NORMAL a power cut may undo the last commits, but never leaves half of one.
    """
    connection = _connect(_address(file, "rwc"), busy_seconds, mapped=False)
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA wal_autocheckpoint = 4000")
    connection.execute("PRAGMA journal_size_limit = 67108864")
    connection.execute("PRAGMA cache_size = -32768")
    return connection


def connect_reader(file: Path, busy_seconds: float, *, mapped: bool = True) -> sqlite3.Connection:
    """A connection that only reads, also where the disk takes no writes."""
    try:
        return _probed(_address(file, "ro"), busy_seconds, mapped)
    except sqlite3.OperationalError:
        # A WAL store on a disk where its -shm file cannot be made can only be read as a file nobody changes.
        if writable(file.parent, file):
            raise
        return _probed(_address(file, "ro") + "&immutable=1", busy_seconds, mapped)


def _probed(address: str, busy_seconds: float, mapped: bool) -> sqlite3.Connection:
    connection = _connect(address, busy_seconds, mapped)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _address(file: Path, mode: str) -> str:
    return f"file:{quote(file.resolve().as_posix())}?mode={mode}"


def _connect(address: str, busy_seconds: float, mapped: bool) -> sqlite3.Connection:
    """A connection; `mapped` for whoever comes back to the same pages: all that was read counts as memory held."""
    connection = sqlite3.connect(
        address,
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES if mapped else 0}")
    return connection


class ReaderPool:
    """Reading connections that are lent out one at a time; any thread may borrow."""

    def __init__(self, file: Path, busy_seconds: float, *, mapped: bool = True) -> None:
        self._file, self._busy_seconds, self._mapped = file, busy_seconds, mapped
        self._idle: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection inside one read transaction, which ends with the block."""
        connection = self._borrow()
        try:
            connection.execute("BEGIN")
            yield connection
        finally:
            self._give_back(connection)

    def close(self) -> None:
        """Close what is idle now and the rest when it comes back."""
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _borrow(self) -> sqlite3.Connection:
        with self._guard:
            if self._closed:
                raise StoreError(f"The store at {self._file} is closed. Open it again with SqliteStore.open().")
            if self._idle:
                return self._idle.pop()
        return connect_reader(self._file, self._busy_seconds, mapped=self._mapped)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        with self._guard:
            if not self._closed and len(self._idle) < _IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()


@contextmanager
def explained(file: Path) -> Iterator[None]:
    """Turn SQLite's errors inside the block into ours, with what to do next."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explain(error, file) from error


def _explain(error: sqlite3.Error, file: Path) -> WeftError:
    message = str(error)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy(f"{file} is kept busy by another program ({message}). Try again when it has finished.")
    if code == sqlite3.SQLITE_READONLY:
        return StoreReadOnly(read_only_message(file))
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreCorrupt(
            f"{file} cannot be read as a Weft store ({message}). "
            "Restore it from a copy, or move it away and run `weft index` again."
        )
    if code == sqlite3.SQLITE_CONSTRAINT:
        return InvalidInput(
            f"A value does not fit the store at {file} ({message}); nothing was written. Allowed are numbers that "
            "are not NaN, and each passage of a node once: correct the source that gave it."
        )
    if code == sqlite3.SQLITE_FULL:
        return StoreError(f"The disk of {file} is full; nothing was written. Make room and try again.")
    return StoreError(
        f"{file} cannot be used ({message}). Check the folder and its permissions, or `weft doctor`."
    )


def read_only_message(file: Path) -> str:
    """What a writer is told about a store that takes no writes."""
    return (
        f"{file} can only be read: the file, its folder or its disk takes no writes, or it was opened read-only. "
        "Change the permissions, or index into another folder with --store."
    )


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
