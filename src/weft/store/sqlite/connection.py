"""Connect to one SQLite file: open and pool connections, lock out other writers, translate SQLite's errors."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from weft.errors import InvalidInput, StoreBusy, StoreCorrupt, StoreError, StoreReadOnly, StoreTooNew, WeftError
from weft.runtime import deadline
from weft.store.sqlite.schema import APPLICATION_ID, SCHEMA_VERSION

if TYPE_CHECKING:
    from filelock import BaseFileLock


_MAX_IDLE_CONNECTIONS: Final = 8
"""Reading connections that stay open for the next reader. Each holds its own page cache and prepared statements; a
server that answers more questions at once opens the others anew."""
_CACHED_STATEMENTS: Final = 256
"""Prepared statements that a connection keeps. One question uses some dozens, and their text depends on the
view."""
_CHECKPOINT_PAGES: Final = 4000
"""Pages in the write-ahead log (16 MB) before a commit copies them into the file. SQLite's 1000 would make a long
indexing run copy the same pages more often; more would slow readers, who search the log first."""
_LOG_BYTES_KEPT: Final = 67_108_864
"""Size (64 MB) to which the write-ahead log is cut back after a large write."""
_WRITER_CACHE_KIB: Final = 32_768
"""Page cache of the writer, which maps nothing; SQLite's 2 MB would be too small for the indexes of a large
store."""
_LOG_PART_BYTES: Final = 1 << 20
"""Bytes of the log that are written again at once."""
_INSTRUCTIONS_BETWEEN_CHECKS: Final = 100_000
"""Instructions of SQLite between two looks at the deadline: about a millisecond."""
_LOCK_POLL_SECONDS: Final = 0.01
"""Pause between two tries to take the lock file; SQLite writes usually take a few milliseconds."""


def is_writable(folder: Path, file: Path) -> bool:
    """Return whether this process may create and change the store's files."""
    return os.access(folder, os.W_OK) and (not file.exists() or os.access(file, os.W_OK))


def connect_writer(file: Path, busy_seconds: float) -> sqlite3.Connection:
    """Open a connection that writes; what it committed survives the death of the process and of the machine."""
    connection = _connect(_file_uri(file, "rwc"), busy_seconds)
    # Setting the mode takes a lock even where it changes nothing.
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        connection.execute("PRAGMA journal_mode = WAL")
    # With NORMAL a power cut would undo the last commits, which were acknowledged. One sync of the log at a commit
    # takes a few milliseconds; indexing commits seldom.
    connection.execute("PRAGMA synchronous = FULL")
    # SQLite checks references only when asked to, and deleting a node relies on their cascades.
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES_KEPT}")
    connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
    try:
        _settle_log(file)
    except OSError as error:
        connection.close()
        raise StoreError(
            f"The disk of {file} takes no writes ({error.strerror}); nothing was written. Check it and try again."
        ) from error
    return connection


def _settle_log(file: Path) -> None:
    """Write the log of a store again as it is read; to be called by the holder of the right to write.

    A sync that failed may have lost a part of the log for good, though the system still shows it. After a loss of
    power the log would end there, and what was acknowledged since would be gone.
    """
    with suppress(FileNotFoundError), file.with_name(f"{file.name}-wal").open("r+b") as log:
        while part := log.read(_LOG_PART_BYTES):
            log.seek(-len(part), os.SEEK_CUR)
            log.write(part)
        if log.tell():
            log.flush()
            os.fsync(log.fileno())


def connect_reader(file: Path, busy_seconds: float) -> sqlite3.Connection:
    """Open a connection that only reads, also where the disk takes no writes."""
    try:
        return _connect_and_probe(_file_uri(file, "ro"), busy_seconds)
    except sqlite3.OperationalError:
        # Where the -shm file of a WAL store cannot be made, SQLite reads the store only as one that never changes.
        if is_writable(file.parent, file):
            raise
        return _connect_and_probe(_file_uri(file, "ro") + "&immutable=1", busy_seconds)


def _connect_and_probe(uri: str, busy_seconds: float) -> sqlite3.Connection:
    # SQLite opens files lazily: only the first query shows whether the file can be read.
    connection = _connect(uri, busy_seconds)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _file_uri(file: Path, mode: str) -> str:
    return f"{file.resolve().as_uri()}?mode={mode}"


def _connect(uri: str, busy_seconds: float) -> sqlite3.Connection:
    """Open a connection, which maps nothing into memory.

    A map saves copying from the system's cache, which a page hardly notices, and all that was ever touched counts
    as memory of the process.
    """
    connection = sqlite3.connect(
        uri,
        uri=True,
        timeout=busy_seconds,
        # Transactions are begun by us: the module would begin them at the first change only.
        isolation_level=None,
        # A pool gives a connection to one thread at a time, but not always to the same one.
        check_same_thread=False,
        cached_statements=_CACHED_STATEMENTS,
    )
    # Sorts and temporary tables are small; files for them would be made and deleted at every write.
    connection.execute("PRAGMA temp_store = MEMORY")
    # Some builds of SQLite map by default.
    connection.execute("PRAGMA mmap_size = 0")
    return connection


class ReaderPool:
    """A pool of reading connections, each used by one thread at a time; any thread may take one."""

    def __init__(self, file: Path, busy_seconds: float) -> None:
        self._file, self._busy_seconds = file, busy_seconds
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give the block a connection inside one read transaction, which ends with the block."""
        connection = self._take()
        limit = deadline.current()
        try:
            if limit is not None:
                # A query that runs past the time of its answer is stopped inside SQLite.
                connection.set_progress_handler(limit.is_over, _INSTRUCTIONS_BETWEEN_CHECKS)
            # Deferred, so it takes no lock and its moment is that of the first query.
            connection.execute("BEGIN")
            yield connection
        finally:
            if limit is not None:
                connection.set_progress_handler(None, 0)
            self._put_back(connection)

    def close(self) -> None:
        """Close the idle connections now and the others when their blocks end."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise StoreError(f"The store at {self._file} is closed. Open it again with SqliteStore.open().")
            if self._idle:
                return self._idle.pop()
        return connect_reader(self._file, self._busy_seconds)

    def _put_back(self, connection: sqlite3.Connection) -> None:
        # An open transaction would keep the write-ahead log from being cut back.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        with self._lock:
            if not self._closed and len(self._idle) < _MAX_IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()


@contextmanager
def translate_errors(file: Path) -> Iterator[None]:
    """Turn SQLite's errors inside the block into errors of Weft that say what to do next."""
    try:
        yield
    except sqlite3.Error as error:
        # A query that was stopped because its time was over says so itself.
        deadline.check()
        raise _translate_error(error, file) from error


def _translate_error(error: sqlite3.Error, file: Path) -> WeftError:
    message = str(error)
    # The low byte is the primary code; extended codes only add detail to it.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy(f"{file} is kept busy by another program ({message}). Try again when it has finished.")
    if code == sqlite3.SQLITE_READONLY:
        return StoreReadOnly(read_only_message(file))
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreCorrupt(
            f"{file} cannot be read as a Weft store ({message}). Restore a backup with `weft restore`, save "
            "what can be read with `weft doctor --repair`, or move it away and run `weft index` again."
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
    """Return the message for a writer of a store that takes no writes."""
    return (
        f"{file} can only be read: the file, its folder or its disk takes no writes, or it was opened read-only. "
        "Change the permissions, or index into another folder with --store."
    )


class WriteLock:
    """The right to write a store, within the process and between processes.

    The thread that holds it may take it again; others wait up to `busy_seconds` and then get StoreBusy.
    """

    def __init__(self, folder: Path, busy_seconds: float) -> None:
        self._folder, self._busy_seconds = folder, busy_seconds
        self._thread_lock = threading.RLock()
        self._file_lock: BaseFileLock | None = None

    @contextmanager
    def held(self, wait_seconds: float | None = None) -> Iterator[None]:
        """Hold the right to write for the block; wait for it as long as given, or up to `busy_seconds`."""
        wait_seconds = self._busy_seconds if wait_seconds is None else wait_seconds
        started = time.monotonic()
        if not self._thread_lock.acquire(timeout=wait_seconds):
            raise StoreBusy(self._busy_message())
        try:
            # Both locks share one deadline, so that nobody waits twice as long as allowed.
            with self._hold_file(wait_seconds - (time.monotonic() - started)):
                yield
        finally:
            self._thread_lock.release()

    @contextmanager
    def _hold_file(self, seconds: float) -> Iterator[None]:
        # Most processes only read, and start sooner without this library.
        from filelock import FileLock, Timeout

        if self._file_lock is None:
            # Not local to a thread: the lock above lets in one thread at a time, which may be another one.
            self._file_lock = FileLock(
                self._folder / "write.lock", thread_local=False, poll_interval=_LOCK_POLL_SECONDS
            )
        try:
            self._file_lock.acquire(timeout=max(seconds, 0.0))
        except Timeout as error:
            raise StoreBusy(self._busy_message()) from error
        # The lock file cannot be made where the folder takes no writes.
        except OSError as error:
            raise StoreReadOnly(read_only_message(self._folder / "write.lock")) from error
        try:
            yield
        finally:
            self._file_lock.release()

    def _busy_message(self) -> str:
        return (
            f"Another writer has kept the store at {self._folder} for more than {self._busy_seconds:g} seconds. "
            "Wait for it to finish and try again, or allow a longer wait with busy_seconds."
        )


def read_version(connection: sqlite3.Connection, location: str) -> int:
    """Return the schema version of an open file; refuse files of a newer Weft and files that are not a store."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    is_weft = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    # An empty file becomes a store; one with foreign tables is somebody else's.
    if tables and not is_weft:
        raise StoreCorrupt(
            f"{location} is an SQLite database, but not a Weft store. "
            "Choose another folder with --store, or move that file away and run `weft index` again."
        )
    if version > SCHEMA_VERSION:
        raise StoreTooNew(
            f"{location} has schema version {version}; this Weft reads up to version {SCHEMA_VERSION}. "
            "Update Weft (pip install --upgrade weft-context), or index into another folder with --store."
        )
    return version
