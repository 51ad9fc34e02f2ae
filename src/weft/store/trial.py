"""Try changes of a store that nobody else sees and that are undone: what a page would be after a correction."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from weft.errors import InvalidInput
from weft.model import Filter
from weft.ports import Index, Proposals, Snapshot, Store
from weft.store.open import OpenedStore
from weft.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from weft.ports.stores import Vectors
    from weft.store.open import AnyIndex, AnyStore

_FIRST_SEQUENCE: Final = 2**40
"""The number from which the writes of trials are counted, which no store reaches by real ones: caches know the
state of a store by the number of its last write."""
_WRITES_OF_A_TRIAL: Final = 2**20
"""Numbers of writes that one trial may use, so that two trials of a process never share one."""

_trials = count()


class UnwrittenIndex:
    """An index that never catches up: what was tried is scanned from the snapshot, and enters no file."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def lexical(self, snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Proposals:
        """Return what the index proposes for some terms."""
        return self._index.lexical(snapshot, term_hashes, filter, limit)

    def semantic(self, snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Proposals:
        """Return what the index proposes for a vector."""
        return self._index.semantic(snapshot, vector, filter, limit)

    def catch_up(self, store: Store) -> int:
        """Return the sequence of the store, and write nothing."""
        with store.snapshot_of_all_tenants() as snapshot:
            return snapshot.sequence

    def status(self) -> Mapping[str, str | int]:
        """Return the facts about the index."""
        return self._index.status()

    def close(self) -> None:
        """Do nothing: the index belongs to the store that is not tried."""


@contextmanager
def open_trial(store: "AnyStore", index: "AnyIndex", folder: Path) -> Iterator[OpenedStore]:
    """Open a store again for changes that only the block sees; `folder` takes what would be written beside it."""
    sequence = _FIRST_SEQUENCE + next(_trials) * _WRITES_OF_A_TRIAL
    unwritten = cast("AnyIndex", UnwrittenIndex(index))
    if isinstance(store, SqliteStore):
        from weft.store.sqlite.trial import try_changes

        with try_changes(store, sequence) as tried:
            yield OpenedStore(tried, unwritten, folder)
        return
    from weft.store.postgres.store import PostgresStore
    from weft.store.postgres.trial import try_changes as try_on_server

    if not isinstance(store, PostgresStore):
        raise InvalidInput(
            f"A change is tried on one shard of a cluster. Name the shard of the tenant with --store, of "
            f"{store.location}."
        )
    with try_on_server(store, sequence) as tried_there:
        yield OpenedStore(tried_there, unwritten, folder)
