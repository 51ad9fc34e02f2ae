"""One shard of a cluster: opened when it is first needed, and left alone for a while when it does not answer."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, TypeVar

from weft.errors import StoreError, StoreUnreachable
from weft.store.open import Address
from weft.store.postgres.connection import Connection, connect, translate_errors
from weft.store.postgres.index import PostgresIndex
from weft.store.postgres.store import PostgresStore

T = TypeVar("T")
_READER_SECONDS: Final = 3.0
"""The longest wait of a reader for the server of a shard: less than for a single store, because readers of other
shards share their threads with it."""
_AWAY_SECONDS: Final = 5.0
"""A shard that did not answer is not asked again for so long: those who ask for its tenants are told at once, and
take no time from the others."""
_PROBE_SECONDS: Final = 2.0
"""The wait of the one who then looks whether it is back."""


class Shard:
    """The store and the index of one shard; it may be used from any thread."""

    def __init__(self, address: Address, *, create: bool, read_only: bool, busy_seconds: float) -> None:
        self.name, self.address = address.shard, address
        self._options = (create, read_only, busy_seconds)
        self._guard = threading.Lock()
        self._opened: tuple[PostgresStore, PostgresIndex] | None = None
        self._away_until = 0.0
        self._is_away = False
        self.embedder: tuple[str, int] | None = None
        """The embedder that this process has told the shard of."""

    @contextmanager
    def using(self, tenants: Sequence[str] = ()) -> Iterator[PostgresStore]:
        """Give the block the shard's store; raise StoreUnreachable that names the tenants while it is away."""
        try:
            self._look_for_it()
            yield self._open()[0]
        except StoreUnreachable as error:
            # All connections may be in use: only a server that takes no new one is away.
            if not self._is_away and not self._answers():
                # Set without a lock: at worst two threads look for the same shard.
                self._is_away, self._away_until = True, time.monotonic() + _AWAY_SECONDS
            raise type(error)(self._describe(tenants, str(error))) from error
        self._is_away = False

    def index(self) -> PostgresIndex:
        """Return the index of the shard, which is open already."""
        return self._open()[1]

    def try_using(self, work: Callable[[PostgresStore], T]) -> T | None:
        """Return what the work gives, or None while the shard is away."""
        try:
            with self.using() as store:
                return work(store)
        except StoreUnreachable:
            return None

    def transact(self, work: Callable[[Connection], T]) -> T:
        """Do the work in one transaction under the write lock of the shard."""
        with self.using() as store:
            return store.transact(work)

    def promote(self) -> None:
        """Let the standby of this shard take over: from now on it is the one that is written to."""
        with translate_errors(self.address), connect(self.address, self.address.replica) as connection:
            connection.execute("SELECT pg_promote()")
        self._is_away, self._away_until = False, 0.0

    def close(self) -> None:
        """Close the connections."""
        with self._guard:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened[1].close()
            opened[0].close()

    def _open(self) -> tuple[PostgresStore, PostgresIndex]:
        with self._guard:
            if self._opened is None:
                create, read_only, busy_seconds = self._options
                store = PostgresStore.open(
                    self.address,
                    create=create,
                    read_only=read_only,
                    busy_seconds=busy_seconds,
                    reader_seconds=_READER_SECONDS,
                )
                self._opened = store, PostgresIndex(store)
            return self._opened

    def _look_for_it(self) -> None:
        """Return where the shard may be used; of those who come while it is away, one at a time looks for it."""
        if not self._is_away:
            return
        if time.monotonic() < self._away_until:
            raise StoreUnreachable("it did not answer a moment ago")
        self._away_until = time.monotonic() + _AWAY_SECONDS
        if not self._answers():
            raise StoreUnreachable("it still does not answer")

    def _answers(self) -> bool:
        """Tell whether the primary or the standby takes a connection."""
        for server in filter(None, (self.address.server, self.address.replica)):
            with suppress(StoreError), translate_errors(self.address):
                connect(self.address, server, _PROBE_SECONDS).close()
                return True
        return False

    def _describe(self, tenants: Sequence[str], reason: str) -> str:
        named = ", ".join(map(repr, tenants[:5]))
        held = f", which holds {'tenant' if len(tenants) == 1 else 'tenants'} {named}," if tenants else ""
        return (
            f"The shard {self.name!r}{held} is away ({reason}). Other shards are answered as before; try again in "
            "a moment, or let its standby take over with `weft cluster promote`."
        )
