"""Change a PostgreSQL store inside one transaction that is undone at the end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar, cast

import psycopg
from psycopg.rows import TupleRow

from weft.store.postgres.connection import (
    ALL_TENANTS,
    Connection,
    WriteLock,
    connect,
    fetch_rows,
    translate_errors,
)
from weft.store.postgres.pool import ReaderPools
from weft.store.postgres.store import PostgresStore

T = TypeVar("T")


class TrialStore(PostgresStore):
    """A store that reads and writes on one connection, inside a transaction that somebody else ends."""

    def __init__(self, store: PostgresStore, connection: Connection) -> None:
        super().__init__(store.address, store.word_search, store.busy_seconds, read_only=False)
        transaction = _OpenTransaction(connection)
        # It has the methods of both that a store calls, and no connections of its own.
        self._lock, self.pools = cast("WriteLock", transaction), cast("ReaderPools", transaction)


class _OpenTransaction:
    """The lock of writers and the pool of readers of a trial: one connection, as it is."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @contextmanager
    def held(self) -> Iterator[None]:
        """Do nothing: the write lock is held for the whole trial."""
        yield

    def transact(self, work: Callable[[Connection], T]) -> T:
        """Do the work so that all of it counts or nothing, and return its result."""
        with self._keeping_tenants(), self._connection.transaction():
            self._connection.execute(f"SELECT set_config('weft.tenants', '{ALL_TENANTS}', true)")
            return work(self._connection)

    def choose(self, consistency: str = "") -> "_OpenTransaction":
        """Return the pool itself: what was tried is on no other server."""
        return self

    @contextmanager
    def reading(self, first_statements: str) -> Iterator[tuple[Connection, TupleRow]]:
        """Give the block the connection, and the row that the first statements end with."""
        with self._keeping_tenants():
            cursor = self._connection.execute(first_statements, prepare=False)
            while cursor.nextset():
                pass
            yield self._connection, cursor.fetchone() or ()

    @contextmanager
    def _keeping_tenants(self) -> Iterator[None]:
        """Show the block's tenants only to the block: readers of a trial stand inside each other."""
        setting = "current_setting('weft.tenants', true)"
        ((before,),) = fetch_rows(self._connection, f"SELECT {setting}")
        try:
            yield
        finally:
            # After an error the server refuses every statement, and the transaction ends anyway.
            with suppress(psycopg.Error):
                self._connection.execute("SELECT set_config('weft.tenants', %s, true)", (before or "",))

    @contextmanager
    def spare_reading(self, first_statements: str) -> Iterator[None]:
        """Yield None: a second connection would not see what was tried."""
        yield None

    def lag(self) -> None:
        """Return None: there is no replica."""

    def close(self) -> None:
        """Do nothing: the connection is closed by who opened it."""


@contextmanager
def try_changes(store: PostgresStore, sequence: int) -> Iterator[TrialStore]:
    """Give the block a store whose writes, numbered from `sequence` on, only the block sees."""
    with (
        store.writing(),
        translate_errors(store.address),
        connect(store.address) as connection,
        connection.transaction(force_rollback=True),
    ):
        connection.execute(f"SELECT set_config('weft.tenants', '{ALL_TENANTS}', true)")
        connection.execute("UPDATE state SET sequence = %s", (sequence,))
        yield TrialStore(store, connection)
