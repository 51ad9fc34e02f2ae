"""Connect to a PostgreSQL server: open connections, fetch and copy rows, lock out other writers, translate errors.

Every other module of this package reads and writes through a connection from here.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow
from psycopg_pool import PoolTimeout

from weft.errors import (
    InvalidInput,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreReadOnly,
    StoreTimedOut,
    StoreUnreachable,
    WeftError,
)
from weft.store.open import OWN_PARAMETERS, Address
from weft.store.postgres.encode import digest, register_array_adapter, register_text_adapters
from weft.store.records import not_unicode_error

Connection: TypeAlias = psycopg.Connection[TupleRow]
T = TypeVar("T")

ALL_TENANTS: Final = "*"
"""The value of the setting `weft.tenants` with which row-level security shows every tenant."""
_SILENCE: Final = {
    **{"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3},
    **{"tcp_user_timeout": 10_000, "connect_timeout": 10},
}
"""When a connection over a network counts as lost, unless the address says otherwise: after ten seconds in which
nothing came back (the fourth is in milliseconds). The system's own would take hours."""
_SETTINGS: Final = (
    "SET jit = off; SET hnsw.max_scan_tuples = 200000; SET client_min_messages = warning;"
    # The same at the server, or a writer that was cut off would keep all others out for hours.
    " SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3;"
    " SET tcp_user_timeout = 10000"
)
"""Compiling costs more than our short queries take. The graph is walked through at most so many passages: with
pgvector's default of 20,000 a filter that few passages meet would leave a search without results."""
_SHORTEST_CONNECT_SECONDS: Final = 2
"""libpq takes whole seconds, and no fewer than two."""

_ROW_SECURITY: Final[WeakKeyDictionary[Connection, bool]] = WeakKeyDictionary()
"""Whether row-level security applies to the user of each connection, asked once for each."""
_ADVISORY_LOCK_CLASS: Final = 0x57454654
"""The letters WEFT: keeps our advisory locks apart from those of other programs in the same database."""
_FIRST_RETRY_SECONDS: Final = 0.05
"""The pause before the first retry of a write; it doubles each time. A serialization failure is over at once."""
_LONGEST_RETRY_SECONDS: Final = 1.0
"""A server that restarts is noticed within this time after it is back."""

# Codes of errors: https://www.postgresql.org/docs/current/errcodes-appendix.html
_LOST_CONNECTION_CLASSES: Final = ("08", "57P")
"""Connection exceptions, and shutdown or crash of the server."""
_RETRYABLE_STATES: Final = ("40001", "40P01")
"""Serialization failure and deadlock: the server undid the work, which may succeed when it is done again."""
_DAMAGED_STATES: Final = ("XX001", "XX002")
"""Corrupted data and corrupted indexes."""
_NOT_OUR_TABLES_STATES: Final = ("42P01", "42703", "3F000")
"""Undefined table, column or schema."""
_BAD_VALUE_CLASSES: Final = ("22", "23", "54")
"""Data exceptions, violated constraints, and values beyond the server's limits."""


def connect(address: Address, server: str = "", seconds: float = 10.0) -> Connection:
    """Open a connection outside the pools that commits every statement on its own."""
    connection = psycopg.connect(
        bounding_silence(server or address.server),
        autocommit=True,
        prepare_threshold=0,
        connect_timeout=max(_SHORTEST_CONNECT_SECONDS, int(seconds)),
    )
    configure(connection, address)
    return connection


def bounding_silence(server: str) -> str:
    """Return the address of a server with when a connection counts as lost, unless it says so itself."""
    try:
        given = conninfo_to_dict(server)
    except psycopg.ProgrammingError:
        # Whoever connects is told what is wrong with it.
        return server
    return make_conninfo(server, **{name: value for name, value in _SILENCE.items() if name not in given})


def configure(connection: Connection, address: Address) -> None:
    """Set up a new connection: our schema first in its path, our types, and our settings."""
    register_text_adapters(connection)
    register_array_adapter(connection)
    # Every statement is prepared at its first use: questions send the same few over and over.
    connection.prepare_threshold = 0
    rows = connection.execute(
        "SELECT DISTINCT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        " WHERE e.extname IN ('vector', 'pg_textsearch')",
        prepare=False,
    ).fetchall()
    # Extensions may be installed in a schema of their own, and their types must be found.
    path = ", ".join(f'"{name}"' for name in dict.fromkeys([address.schema, *(row[0] for row in rows), "public"]))
    connection.execute(f"SET search_path = {path}; {_SETTINGS}", prepare=False)


def fetch_rows(connection: Connection, query: str, values: Any = None, *, reuse_plan: bool = True) -> list[Any]:
    """Return all rows of a query, fetched in the binary form.

    `reuse_plan` prepares the statement; turn it off where the best plan depends on the values.
    """
    return connection.cursor(binary=True).execute(query, values, prepare=reuse_plan).fetchall()


# --- adding rows by the thousand -------------------------------------------------------------------------


class CopyTarget:
    """The columns of a table with their types, in the order in which rows give them."""

    def __init__(self, table: str, **types: str) -> None:
        names, staging = ", ".join(types), f"pg_temp.aside_{table}"
        self.types = tuple(types.values())
        self.copy_to_table = f"COPY {table} ({names}) FROM STDIN (FORMAT BINARY)"
        self.copy_to_staging = f"COPY {staging} ({names}) FROM STDIN (FORMAT BINARY)"
        self.create_staging = (
            f"CREATE TEMP TABLE IF NOT EXISTS aside_{table} ON COMMIT DELETE ROWS"
            f" AS SELECT {names} FROM {table} WITH NO DATA"
        )
        self.move_from_staging = (
            f"INSERT INTO {table} ({names}) SELECT {names} FROM {staging}; DELETE FROM {staging}"
        )


def copy_rows(connection: Connection, target: CopyTarget, rows: Iterable[Sequence[Any]]) -> None:
    """Add the rows to a table.

    The server refuses COPY into a table whose row-level security applies to the user; the rows then go through a
    temporary table, from which INSERT may take them.
    """
    rows = list(rows)
    if not rows:
        return
    if connection not in _ROW_SECURITY:
        _ROW_SECURITY[connection] = bool(fetch_rows(connection, "SELECT row_security_active('nodes')")[0][0])
    if not _ROW_SECURITY[connection]:
        _copy(connection, target.copy_to_table, target, rows)
        return
    # Made at the first use: the temporary table lasts as long as the connection.
    connection.execute(target.create_staging, prepare=False)
    _copy(connection, target.copy_to_staging, target, rows)
    connection.execute(target.move_from_staging, prepare=False)


def _copy(connection: Connection, statement: str, target: CopyTarget, rows: Iterable[Sequence[Any]]) -> None:
    with connection.cursor().copy(statement) as copy:
        copy.set_types(target.types)
        for row in rows:
            copy.write_row(row)


# --- the write lock --------------------------------------------------------------------------------------


class WriteLock:
    """A lock on writing with one holder among all threads, processes and machines that use a store.

    It is an advisory lock of the server, held by a connection of its own that every write of the holder uses. When
    that connection breaks, the lock is gone with it; the work is then done again from the start on a new one, as
    writing the same changes twice changes nothing.
    """

    def __init__(self, address: Address, busy_seconds: float) -> None:
        self._address, self._busy_seconds = address, busy_seconds
        self._thread = threading.RLock()
        self._depth = 0
        self._connection: Connection | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the block; the same thread may take it again."""
        if not self._thread.acquire(timeout=self._busy_seconds):
            raise StoreBusy(self._busy_message())
        try:
            if not self._depth:
                self._retry(self._lock)
            self._depth += 1
            yield
        finally:
            # The depth is still 0 when the lock could not be taken.
            self._depth = max(self._depth - 1, 0)
            if not self._depth:
                self._unlock()
            self._thread.release()

    def transact(self, work: Callable[[Connection], T]) -> T:
        """Do the work inside one transaction under the lock, and return its result."""

        def attempt() -> T:
            connection = self._locked_connection()
            with connection.transaction():
                # Row-level security would hide the other tenants' rows from the writer as well.
                connection.execute(f"SELECT set_config('weft.tenants', '{ALL_TENANTS}', true)")
                return work(connection)

        with self.held():
            return self._retry(attempt)

    def execute_outside_transaction(self, statement: str) -> None:
        """Execute a statement that the server refuses inside a transaction, under the lock."""
        with self.held():
            self._retry(lambda: self._locked_connection().execute(statement, prepare=False))

    def close(self) -> None:
        """Close the connection, and with it release the lock."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _retry(self, work: Callable[[], T]) -> T:
        """Do the work and return its result; repeat it for a while when the server is away or undid it."""
        deadline, pause = time.monotonic() + self._busy_seconds, _FIRST_RETRY_SECONDS
        while True:
            try:
                return work()
            except psycopg.Error as error:
                # The next try opens a new connection and takes the lock again.
                if is_lost(error):
                    self.close()
                if not _is_transient(error) or time.monotonic() + pause > deadline or _is_refusal(error):
                    raise
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_RETRY_SECONDS)

    def _locked_connection(self) -> Connection:
        """Return the connection that holds the lock, and take the lock again if the connection was lost."""
        if self._connection is None or self._connection.closed:
            self._lock()
        if self._connection is None:
            raise StoreError(f"The connection to {self._address.display} was closed while writing. Try again.")
        return self._connection

    def _lock(self) -> None:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._address)
        try:
            # Waited for in the server, which serves writers in the order of their coming.
            self._connection.execute(f"SET lock_timeout = {int(1000 * self._busy_seconds)}", prepare=False)
            self._connection.execute("SELECT pg_advisory_lock(%s, %s)", advisory_lock(self._address))
        except psycopg.errors.LockNotAvailable as error:
            raise StoreBusy(self._busy_message()) from error

    def _unlock(self) -> None:
        if self._connection is not None and not self._connection.closed:
            # A connection that broke has released the lock already.
            with suppress(psycopg.Error):
                self._connection.execute("SELECT pg_advisory_unlock(%s, %s)", advisory_lock(self._address))

    def _busy_message(self) -> str:
        return (
            f"Another writer has kept the store at {self._address.display} for more than {self._busy_seconds:g} "
            "seconds. Wait for it to finish and try again, or allow a longer wait with busy_seconds."
        )


def advisory_lock(address: Address) -> tuple[int, int]:
    """Return the two numbers that name the advisory lock of a store."""
    # The server takes two signed 32-bit numbers: schemas of one database get different locks.
    return _ADVISORY_LOCK_CLASS, digest(address.schema) & 0x7FFFFFFF


# --- errors ----------------------------------------------------------------------------------------------


@contextmanager
def translate_errors(address: Address) -> Iterator[None]:
    """Raise our errors in place of those that the server or psycopg raises inside the block."""
    try:
        yield
    except (psycopg.Error, PoolTimeout) as error:
        raise _translate_error(error, address) from error
    except UnicodeEncodeError as error:
        raise not_unicode_error(error) from error
    except OverflowError as error:
        raise _invalid_value(str(error), address) from error


def is_lost(error: BaseException) -> bool:
    """Return whether the connection is gone, so that the same work may succeed on another one."""
    if isinstance(error, PoolTimeout):
        return True
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    # libpq reports a broken connection without a code.
    return error.sqlstate is None or error.sqlstate.startswith(_LOST_CONNECTION_CLASSES)


def _is_transient(error: BaseException) -> bool:
    """Return whether the same work may succeed when it is done again."""
    return is_lost(error) or (isinstance(error, psycopg.Error) and error.sqlstate in _RETRYABLE_STATES)


def _translate_error(error: Exception, address: Address) -> WeftError:
    """Return our error for one of the server's, with the next step for the user."""
    where, message = address.display, " ".join(str(error).split())
    state = getattr(error, "sqlstate", None) or ""
    # Before the others: a refused connection looks like a lost one.
    if refusal := _connection_refusal(message, where):
        return refusal
    if is_lost(error):
        kind = StoreTimedOut if isinstance(error, PoolTimeout) else StoreUnreachable
        return kind(
            f"The database at {where} cannot be reached ({message}). Check that the server runs and can be "
            "connected to; questions and writes go on by themselves once it is back."
        )
    if state[:2] in _BAD_VALUE_CLASSES:
        return _invalid_value(message, address)
    return _error_of_state(state, message, address)


def _error_of_state(state: str, message: str, address: Address) -> StoreError:
    where = address.display
    # A disk quota or a limit on the size of files has no code of its own: the server reports an internal error.
    if state == "53100" or "could not extend file" in message:
        return StoreError(
            f"The disk of the server at {where} is full; nothing was written. Make room and try again."
        )
    if state in ("55P03", *_RETRYABLE_STATES):
        return StoreBusy(f"{where} is kept busy by another writer ({message}). Try again when it has finished.")
    if state in ("25006", "42501"):
        return StoreReadOnly(
            f"{where} takes no writes from this user ({message}). Connect to the primary with a user that owns "
            "the store, or index into another store with --store."
        )
    if state in (*_NOT_OUR_TABLES_STATES, *_DAMAGED_STATES):
        return StoreCorrupt(
            f"The schema {address.schema!r} at {where} cannot be read as a Weft store ({message}). Restore it "
            "from a copy, or choose another with ?schema=NAME."
        )
    return StoreError(f"The database at {where} cannot be used ({message}). `weft doctor` looks closer.")


def _invalid_value(message: str, address: Address) -> InvalidInput:
    return InvalidInput(
        f"A value does not fit the store at {address.display} ({message}); nothing was written. Allowed are whole "
        "numbers of at most 64 bits with sign, numbers that are not NaN, and each passage of a node once: correct "
        "the source that gave it."
    )


def _connection_refusal(message: str, where: str) -> WeftError | None:
    """Return our error for a connection that the server turned away, or None for any other error.

    libpq gives these errors no code, so only its message distinguishes them.
    """
    if "invalid URI query parameter" in message:
        return InvalidInput(
            f"{where}: {message}. Beside what PostgreSQL takes, a URL may say {', '.join(OWN_PARAMETERS)}."
        )
    if "password authentication failed" in message or "no password supplied" in message:
        return StoreError(
            f"{where} refused the user or the password. Give the right ones in the URL, in PGPASSWORD or in "
            "~/.pgpass."
        )
    if "does not exist" in message and ("database" in message or "role" in message) and "FATAL" in message:
        return StoreError(f"{where} has no such database or user ({message}). Create it, or correct the URL.")
    if "too many" in message and ("clients" in message or "connection" in message):
        return StoreBusy(
            f"{where} takes no more connections ({message}). Lower ?connections=N, or raise its limit."
        )
    return None


def _is_refusal(error: psycopg.Error) -> bool:
    """Return whether the server turned the connection away for good, which waiting does not change."""
    message = str(error)
    return "authentication failed" in message or "does not exist" in message or "no password" in message
