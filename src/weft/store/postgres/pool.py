"""Connections lent to readers: replaced when they break, and those of a replica while it has every write."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout

from weft.errors import StoreError
from weft.store.addresses import Address
from weft.store.postgres.connection import Link, configure, connect, is_lost

_PATIENCE: Final = 2.0
_AT_ONCE: Final = 0.001
_AS_IT_IS: Final = ("bounded", "eventually")
_LET_BE: Final = 5.0
"""Seconds that a server is waited for where another one can answer, and that it is then not asked again."""


class Lending:
    """A pool of reading connections to one server; a broken one is replaced without the borrower's noticing."""

    def __init__(self, address: Address, server: str, seconds: float) -> None:
        self.address, self.server, self._seconds = address, server, seconds
        self._pool: ConnectionPool[Link] = ConnectionPool(
            server,
            min_size=0,
            max_size=address.connections,
            kwargs={"autocommit": True},
            configure=lambda link: configure(link, address),
            open=False,
            timeout=seconds,
            reconnect_timeout=seconds,
        )
        self._guard = threading.Lock()
        self._closed = False
        self._away_until = 0.0

    @contextmanager
    def reading(self, opening: str) -> Iterator[tuple[Link, TupleRow]]:
        """A connection inside one read transaction, and the row that the statements that open it end with."""
        link, row = self._begun(opening)
        try:
            yield link, row
        finally:
            self._give_back(link)

    @contextmanager
    def spare(self, opening: str) -> Iterator[tuple[Link, TupleRow] | None]:
        """The same on one more connection, or None where none is idle; the pool then grows for the next time."""
        try:
            link = self._pool.getconn(timeout=_AT_ONCE)
        except PoolTimeout:
            yield None
            return
        try:
            yield link, _opened(link, opening)
        finally:
            self._give_back(link)

    def sequence(self) -> int | None:
        """The last write that this server has, or None while it is away; it is then let be for a while."""
        if time.monotonic() < self._away_until:
            return None
        try:
            return self._asked_sequence()
        except psycopg.Error as error:
            if not is_lost(error):
                raise
        self._away_until = time.monotonic() + _LET_BE
        return None

    def _asked_sequence(self) -> int:
        try:
            link = self._borrow(time.monotonic() + _PATIENCE)
            try:
                return _sequence_of(link)
            finally:
                self._pool.putconn(link)
        except psycopg.Error as error:
            if not is_lost(error):
                raise
        # Either all connections of the pool are in use, or the server is away: a new connection tells.
        with connect(self.address, self.server, _PATIENCE) as link:
            return _sequence_of(link)

    def close(self) -> None:
        """Close what is idle now and the rest when it comes back."""
        with self._guard:
            self._closed = True
        self._pool.close()

    def _begun(self, opening: str) -> tuple[Link, TupleRow]:
        """A fresh transaction; connections that the server has dropped meanwhile are let go one after another."""
        deadline = time.monotonic() + self._seconds
        while True:
            link = self._borrow(deadline)
            try:
                return link, _opened(link, opening)
            except psycopg.Error as error:
                self._give_back(link)
                if not is_lost(error) or time.monotonic() > deadline:
                    raise

    def _borrow(self, deadline: float) -> Link:
        with self._guard:
            if self._closed:
                raise StoreError(f"The store at {self.address.shown} is closed. Open it again.")
            if self._pool.closed:
                self._pool.open()
        return self._pool.getconn(timeout=max(0.1, deadline - time.monotonic()))

    def _give_back(self, link: Link) -> None:
        with suppress(psycopg.Error):
            if not link.closed:
                # Nothing was written, and after a rollback psycopg would prepare every statement anew.
                link.execute("COMMIT", prepare=False)
        self._pool.putconn(link)


class Readers:
    """The servers that a store is read from: the primary, and a replica if there is one."""

    def __init__(self, address: Address, seconds: float) -> None:
        self._primary = Lending(address, address.server, seconds)
        self._replica = Lending(address, address.replica, seconds) if address.replica else None

    def best(self, consistency: str = "") -> Lending:
        """The replica while it has caught up with the primary or the primary is away, else the primary.

        Who is content with less than every acknowledged write gets the replica as it is.
        """
        if self._replica is None:
            return self._primary
        copied = self._replica.sequence()
        if copied is None:
            return self._primary
        if consistency in _AS_IT_IS:
            return self._replica
        written = self._primary.sequence()
        return self._replica if written is None or copied >= written else self._primary

    def lag(self) -> int | None:
        """How many writes the replica is behind, or None when there is none or one of the two does not answer."""
        if self._replica is None:
            return None
        copied, written = self._replica.sequence(), self._primary.sequence()
        return None if copied is None or written is None else written - copied

    def close(self) -> None:
        """Close all connections that are idle now and the rest when they come back."""
        for lending in (self._primary, self._replica):
            if lending is not None:
                lending.close()


def _opened(link: Link, opening: str) -> TupleRow:
    """Begin a read transaction; the row that the statements which open it end with."""
    cursor = link.execute(f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {opening}", prepare=False)
    while cursor.nextset():
        pass
    return cursor.fetchone() or ()


def _sequence_of(link: Link) -> int:
    row = link.execute("SELECT sequence FROM state").fetchone()
    return int(row[0]) if row else 0
