"""What the server's errors mean, in words and with what to do next."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg_pool import PoolTimeout

from weft.errors import (
    InvalidInput,
    StoreAway,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreGone,
    StoreReadOnly,
    WeftError,
)
from weft.store.addresses import OWN_PARAMETERS, Address
from weft.store.postgres.encode import digest, know_arrays, know_texts
from weft.store.records import not_unicode

_GONE: Final = ("08", "57P")
_AGAIN: Final = ("40001", "40P01")
_DAMAGED: Final = ("XX001", "XX002")


@contextmanager
def explained(address: Address) -> Iterator[None]:
    """Turn the server's errors inside the block into ours."""
    try:
        yield
    except (psycopg.Error, PoolTimeout) as error:
        raise explain(error, address) from error
    except UnicodeEncodeError as error:
        raise not_unicode(error) from error
    except OverflowError as error:
        raise _value(str(error), address) from error


def is_lost(error: BaseException) -> bool:
    """Whether the connection is gone, so that the same work may succeed on another one."""
    if isinstance(error, PoolTimeout):
        return True
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    return error.sqlstate is None or error.sqlstate.startswith(_GONE)


def is_passing(error: BaseException) -> bool:
    """Whether the same work may succeed when it is done once more."""
    return is_lost(error) or (isinstance(error, psycopg.Error) and error.sqlstate in _AGAIN)


def explain(error: Exception, address: Address) -> WeftError:
    """Our error for one of the server's."""
    where, message = address.shown, " ".join(str(error).split())
    state = getattr(error, "sqlstate", None) or ""
    if refusal := _refused(message, where):
        return refusal
    if is_lost(error):
        kind = StoreAway if isinstance(error, PoolTimeout) else StoreGone
        return kind(
            f"The database at {where} cannot be reached ({message}). Check that the server runs and can be "
            "connected to; questions and writes go on by themselves once it is back."
        )
    if state[:2] in ("22", "23", "54"):
        return _value(message, address)
    return _trouble(state, message, address)


def _trouble(state: str, message: str, address: Address) -> StoreError:
    where = address.shown
    # A quota or a limit on the size of files comes as an internal error.
    if state == "53100" or "could not extend file" in message:
        return StoreError(
            f"The disk of the server at {where} is full; nothing was written. Make room and try again."
        )
    if state in ("55P03", *_AGAIN):
        return StoreBusy(f"{where} is kept busy by another writer ({message}). Try again when it has finished.")
    if state in ("25006", "42501"):
        return StoreReadOnly(
            f"{where} takes no writes from this user ({message}). Connect to the primary with a user that owns "
            "the store, or index into another store with --store."
        )
    if state in ("42P01", "42703", "3F000") or state in _DAMAGED:
        return StoreCorrupt(
            f"The schema {address.schema!r} at {where} cannot be read as a Weft store ({message}). Restore it "
            "from a copy, or choose another with ?schema=NAME."
        )
    return StoreError(f"The database at {where} cannot be used ({message}). `weft doctor` looks closer.")


def _value(message: str, address: Address) -> InvalidInput:
    return InvalidInput(
        f"A value does not fit the store at {address.shown} ({message}); nothing was written. Allowed are whole "
        "numbers of at most 64 bits with sign, numbers that are not NaN, and each passage of a node once: correct "
        "the source that gave it."
    )


def _refused(message: str, where: str) -> WeftError | None:
    """The answer to a connection that the server turns away; such errors come without a code."""
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


Link = Connection[TupleRow]
T = TypeVar("T")

EVERYTHING: Final = "*"
_LOCKS: Final = 0x57454654  # "WEFT": the class of our advisory locks
_PATIENCE: Final = 0.05
_SETTINGS: Final = "SET jit = off; SET hnsw.max_scan_tuples = 200000; SET client_min_messages = warning"


def connect(address: Address, server: str = "", seconds: float = 10.0) -> Link:
    """A connection of our own that commits every statement unless told otherwise."""
    link = psycopg.connect(
        server or address.server, autocommit=True, prepare_threshold=0, connect_timeout=max(2, int(seconds))
    )
    configure(link, address)
    return link


def configure(link: Link, address: Address) -> None:
    """Make a new connection speak of our schema and our texts."""
    know_texts(link)
    know_arrays(link)
    link.prepare_threshold = 0
    rows = link.execute(
        "SELECT DISTINCT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        " WHERE e.extname IN ('vector', 'pg_textsearch')",
        prepare=False,
    ).fetchall()
    path = ", ".join(f'"{name}"' for name in dict.fromkeys([address.schema, *(row[0] for row in rows), "public"]))
    link.execute(f"SET search_path = {path}; {_SETTINGS}", prepare=False)


class Writing:
    """The right to write: one holder among all threads, processes and machines that use a store.

    It is a session lock of the server on a connection of its own, which every write of the holder uses. When that
    connection breaks the lock is gone with it; the work is then done again from the start on a new one, which is
    safe because writing the same changes twice changes nothing.
    """

    def __init__(self, address: Address, busy_seconds: float) -> None:
        self._address, self._busy_seconds = address, busy_seconds
        self._thread = threading.RLock()
        self._depth = 0
        self._link: Link | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the right to write for the block; the same thread may take it again."""
        if not self._thread.acquire(timeout=self._busy_seconds):
            raise StoreBusy(self._busy())
        try:
            if not self._depth:
                self._again(self._lock)
            self._depth += 1
            yield
        finally:
            self._depth = max(self._depth - 1, 0)
            if not self._depth:
                self._unlock()
            self._thread.release()

    def transact(self, work: Callable[[Link], T]) -> T:
        """What the work returns, done inside one transaction by the holder of the right to write."""

        def attempt() -> T:
            link = self._locked()
            with link.transaction():
                link.execute(f"SELECT set_config('weft.tenants', '{EVERYTHING}', true)")
                return work(link)

        with self.held():
            return self._again(attempt)

    def direct(self, statement: str) -> None:
        """Execute a statement that must stand outside a transaction, under the right to write."""
        with self.held():
            self._again(lambda: self._locked().execute(statement, prepare=False))

    def close(self) -> None:
        """Let go of the connection."""
        if self._link is not None:
            self._link.close()
            self._link = None

    def _again(self, work: Callable[[], T]) -> T:
        """What the work returns, tried anew while the server is away or undid it, as long as writers wait."""
        deadline, pause = time.monotonic() + self._busy_seconds, _PATIENCE
        while True:
            try:
                return work()
            except psycopg.Error as error:
                if is_lost(error):
                    self.close()
                if not is_passing(error) or time.monotonic() + pause > deadline or _is_refusal(error):
                    raise
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    def _locked(self) -> Link:
        """The connection that holds the lock, taken again after a loss."""
        if self._link is None or self._link.closed:
            self._lock()
        if self._link is None:
            raise StoreError(f"The connection to {self._address.shown} was closed while writing. Try again.")
        return self._link

    def _lock(self) -> None:
        if self._link is None or self._link.closed:
            self._link = connect(self._address)
        try:
            self._link.execute(f"SET lock_timeout = {int(1000 * self._busy_seconds)}", prepare=False)
            self._link.execute("SELECT pg_advisory_lock(%s, %s)", lock_of(self._address))
        except psycopg.errors.LockNotAvailable as error:
            raise StoreBusy(self._busy()) from error

    def _unlock(self) -> None:
        if self._link is not None and not self._link.closed:
            with suppress(psycopg.Error):
                self._link.execute("SELECT pg_advisory_unlock(%s, %s)", lock_of(self._address))

    def _busy(self) -> str:
        return (
            f"Another writer has kept the store at {self._address.shown} for more than {self._busy_seconds:g} "
            "seconds. Wait for it to finish and try again, or allow a longer wait with busy_seconds."
        )


def lock_of(address: Address) -> tuple[int, int]:
    """The two numbers of the advisory lock of a store."""
    return _LOCKS, digest(address.schema) & 0x7FFFFFFF


def _is_refusal(error: psycopg.Error) -> bool:
    """Whether the server answered that it will not have us, which waiting does not change."""
    message = str(error)
    return "authentication failed" in message or "does not exist" in message or "no password" in message


def rows_of(link: Link, query: str, values: Any = None, *, planned_once: bool = True) -> list[Any]:
    """All rows of a query, fetched in the binary form; `planned_once` unless the best plan hangs on the values."""
    return link.cursor(binary=True).execute(query, values, prepare=planned_once).fetchall()
