"""Pool the connections of readers: one pool for the primary, one for a replica, and the choice between the two.

Snapshots take their connections from here. One that broke is replaced before a snapshot gets it.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout

from weft.errors import StoreError
from weft.store.open import Address
from weft.store.postgres.connection import Connection, bounding_silence, configure, connect, is_lost

_SPARE_WAIT_SECONDS: Final = 0.001
"""A second connection only helps when it is idle: a longer wait is better spent searching on the first one."""
_PROBE_SECONDS: Final = 2.0
"""The longest wait for a server's sequence number; another server can answer in its place."""
_AWAY_SECONDS: Final = 5.0
"""A server that did not answer is not asked again for so long, so that few questions pay for the wait."""
_SHORTEST_WAIT_SECONDS: Final = 0.1
"""Even past its deadline a reader waits this long for a connection, enough to get one that is idle."""
_REPLICA_AS_IT_IS: Final = ("bounded", "eventually")
"""The consistencies that may miss the latest writes, for which a replica need not have caught up."""


class ReaderPool:
    """A pool of reading connections to one server.

    `wait_seconds` limits the wait for a server that is away or for a connection that is in use, and
    `spare_wait_seconds` the wait for a second connection.
    """

    def __init__(self, address: Address, server: str, wait_seconds: float) -> None:
        self.address, self.server = address, server
        self._wait_seconds, self.spare_wait_seconds = wait_seconds, _SPARE_WAIT_SECONDS
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            bounding_silence(server),
            # A store that is only opened costs the server no connection.
            min_size=0,
            max_size=address.connections,
            kwargs={"autocommit": True},
            configure=lambda connection: configure(connection, address),
            open=False,
            timeout=wait_seconds,
            reconnect_timeout=wait_seconds,
        )
        self._guard = threading.Lock()
        self._closed = False
        self._away_until = 0.0

    @contextmanager
    def reading(self, first_statements: str) -> Iterator[tuple[Connection, TupleRow]]:
        """Give the block a connection in a read transaction, and the row that the first statements end with."""
        connection, row = self._begin(first_statements)
        try:
            yield connection, row
        finally:
            self._put_back(connection)

    @contextmanager
    def spare_reading(self, first_statements: str) -> Iterator[tuple[Connection, TupleRow] | None]:
        """Give the block a second connection, or None where none is idle; the pool then opens one more."""
        try:
            connection = self._pool.getconn(timeout=self.spare_wait_seconds)
        except PoolTimeout:
            yield None
            return
        try:
            yield connection, _begin_reading(connection, first_statements)
        finally:
            self._put_back(connection)

    def sequence(self) -> int | None:
        """Return the number of the last write that this server has, or None while it is away."""
        if time.monotonic() < self._away_until:
            return None
        try:
            return self._read_sequence()
        except psycopg.Error as error:
            if not is_lost(error):
                raise
        # Set without a lock: at worst two threads ask the server that is away.
        self._away_until = time.monotonic() + _AWAY_SECONDS
        return None

    def close(self) -> None:
        """Close the connections that are idle now, and the others when they come back."""
        with self._guard:
            self._closed = True
        self._pool.close()

    def _begin(self, first_statements: str) -> tuple[Connection, TupleRow]:
        """Begin a read transaction, and drop connections that the server has closed meanwhile until one works."""
        deadline = time.monotonic() + self._wait_seconds
        while True:
            connection = self._take(deadline)
            try:
                return connection, _begin_reading(connection, first_statements)
            except psycopg.Error as error:
                self._put_back(connection)
                if not is_lost(error) or time.monotonic() > deadline:
                    raise

    def _read_sequence(self) -> int:
        try:
            connection = self._take(time.monotonic() + _PROBE_SECONDS)
            try:
                return _sequence(connection)
            finally:
                self._pool.putconn(connection)
        except psycopg.Error as error:
            if not is_lost(error):
                raise
        # Either all connections of the pool are in use or the server is away: only a new connection can tell.
        with connect(self.address, self.server, _PROBE_SECONDS) as connection:
            return _sequence(connection)

    def _take(self, deadline: float) -> Connection:
        with self._guard:
            if self._closed:
                raise StoreError(f"The store at {self.address.display} is closed. Open it again.")
            if self._pool.closed:
                self._pool.open()
        return self._pool.getconn(timeout=max(_SHORTEST_WAIT_SECONDS, deadline - time.monotonic()))

    def _put_back(self, connection: Connection) -> None:
        with suppress(psycopg.Error):
            if not connection.closed:
                # Nothing was written, and after a rollback psycopg would prepare every statement anew.
                connection.execute("COMMIT", prepare=False)
        self._pool.putconn(connection)


class ReaderPools:
    """The pools of the servers that a store is read from: the primary, and a replica if there is one."""

    def __init__(self, address: Address, wait_seconds: float) -> None:
        self.primary = ReaderPool(address, address.server, wait_seconds)
        self.replica = ReaderPool(address, address.replica, wait_seconds) if address.replica else None

    def choose(self, consistency: str = "") -> ReaderPool:
        """Return the pool of the replica while it has caught up or the primary is away, else that of the primary.

        With a consistency that may miss the latest writes the replica is read even when it is behind.
        """
        if self.replica is None:
            return self.primary
        # Asked first: a write in between then only makes the replica seem behind, never ahead.
        copied = self.replica.sequence()
        if copied is None:
            return self.primary
        if consistency in _REPLICA_AS_IT_IS:
            return self.replica
        written = self.primary.sequence()
        return self.replica if written is None or copied >= written else self.primary

    def lag(self) -> int | None:
        """Return how many writes the replica is behind; None without a replica or while a server is away."""
        if self.replica is None:
            return None
        copied, written = self.replica.sequence(), self.primary.sequence()
        return None if copied is None or written is None else written - copied

    def close(self) -> None:
        """Close the connections that are idle now, and the others when they come back."""
        for pool in (self.primary, self.replica):
            if pool is not None:
                pool.close()


def _begin_reading(connection: Connection, first_statements: str) -> TupleRow:
    """Begin a read transaction and return the row that the statements end with, all in one round trip."""
    cursor = connection.execute(
        f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {first_statements}", prepare=False
    )
    # Each statement has a result of its own; the row is in the last one.
    while cursor.nextset():
        pass
    return cursor.fetchone() or ()


def _sequence(connection: Connection) -> int:
    row = connection.execute("SELECT sequence FROM state").fetchone()
    return int(row[0]) if row else 0
