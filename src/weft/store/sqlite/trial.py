"""Change a SQLite store inside one transaction that is undone at the end."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from weft.store.sqlite.connection import ReaderPool, connect_writer
from weft.store.sqlite.store import SqliteStore


class TrialStore(SqliteStore):
    """A store that reads and writes on one connection, inside a transaction that somebody else ends."""

    _begin, _keep, _undo = "SAVEPOINT one_write", "RELEASE one_write", "ROLLBACK TO one_write"

    def __init__(self, store: SqliteStore, connection: sqlite3.Connection) -> None:
        super().__init__(store.path, store.busy_seconds, read_only=False)
        self._writer = connection
        self._pool = _OpenTransaction(store, connection)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Do nothing: the right to write is held for the whole trial."""
        yield

    @contextmanager
    def writing_now(self) -> Iterator[bool]:
        """Yield True: the right to write is held for the whole trial."""
        yield True

    def close(self) -> None:
        """Do nothing: the connection is closed with the trial."""


class _OpenTransaction(ReaderPool):
    """A pool of one connection, whose readers see what the transaction has written so far."""

    def __init__(self, store: SqliteStore, connection: sqlite3.Connection) -> None:
        super().__init__(store.file, store.busy_seconds)
        self._connection = connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give the block the connection as it is."""
        yield self._connection


@contextmanager
def try_changes(store: SqliteStore, sequence: int) -> Iterator[TrialStore]:
    """Give the block a store whose writes, numbered from `sequence` on, only the block sees."""
    with store.writing(), closing(connect_writer(store.file, store.busy_seconds)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute("UPDATE meta SET value = ? WHERE name = 'sequence'", (sequence,))
            yield TrialStore(store, connection)
        finally:
            connection.execute("ROLLBACK")
