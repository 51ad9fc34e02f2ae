"""Connections to one server: how they are opened, and who may write."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from weft.errors import StoreBusy, StoreError
from weft.store.addresses import Address
from weft.store.postgres.arrays import know_arrays
from weft.store.postgres.failures import is_lost, is_passing
from weft.store.postgres.texts import digest, know_texts

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
