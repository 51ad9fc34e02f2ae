"""Search the shard that a snapshot was read from, or all shards of a snapshot of several."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from weft.errors import StoreError
from weft.model import Filter
from weft.ports import Proposals, Snapshot, Store
from weft.store.cluster.merged import MergedSnapshot
from weft.store.cluster.shard import Shard
from weft.store.cluster.store import ClusterStore
from weft.store.derived import cut_at_tie, term_weights
from weft.store.postgres.index import PostgresIndex
from weft.store.postgres.snapshot import PostgresSnapshot
from weft.store.postgres.store import PostgresStore

if TYPE_CHECKING:
    from weft.ports.stores import Vectors


class ClusterIndex:
    """A ports.Index over the indexes of the shards."""

    def __init__(self, store: ClusterStore) -> None:
        self._store = store

    def lexical(self, snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Proposals:
        """Return passages that hold any of the terms, most promising first; ties at the cut are included."""
        # Over all shards: what a word is worth on one of them does not compare with another.
        weights, mean_length = term_weights(snapshot, term_hashes)
        return self._search(
            snapshot, limit, lambda index, part: index.search_weighted(part, weights, mean_length, filter, limit)
        )

    def semantic(self, snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Proposals:
        """Return the passages nearest to the vector, with their exact cosines; ties at the cut are included."""
        return self._search(snapshot, limit, lambda index, part: index.semantic(part, vector, filter, limit))

    def search_both(
        self,
        snapshot: Snapshot,
        term_hashes: Sequence[int],
        vector: "Vectors",
        filter: Filter,
        limits: tuple[int, int],
    ) -> tuple[Proposals, Proposals]:
        """Do both searches, on all shards at once."""
        if isinstance(snapshot, PostgresSnapshot):
            return self._index_of(snapshot).search_both(snapshot, term_hashes, vector, filter, limits)
        return (
            self.lexical(snapshot, term_hashes, filter, limits[0]),
            self.semantic(snapshot, vector, filter, limits[1]),
        )

    def _search(
        self, snapshot: Snapshot, limit: int, search: Callable[[PostgresIndex, PostgresSnapshot], Proposals]
    ) -> Proposals:
        if isinstance(snapshot, PostgresSnapshot):
            return search(self._index_of(snapshot), snapshot)
        if not isinstance(snapshot, MergedSnapshot):
            raise StoreError("The index of a cluster searches clusters. Choose another --index.")
        found = snapshot.of_parts(lambda _, part: search(self._index_of(part), part))
        ids = np.concatenate([each.passage_ids * len(found) + number for number, each in enumerate(found)])
        scores = np.concatenate([each.scores for each in found])
        order = np.argsort(-scores, kind="stable")
        kept = cut_at_tie(ids[order], scores[order], limit)
        return Proposals(*kept, tuple(note for each in found for note in each.notes))

    def _index_of(self, snapshot: PostgresSnapshot) -> PostgresIndex:
        for shard in self._store.shards.values():
            # Not by identity: two shards may have been copied from one store, and then share it.
            if snapshot.pool.address == shard.address:
                return shard.index()
        raise StoreError("The snapshot was not read from a shard of this cluster.")

    def catch_up(self, store: Store) -> int:
        """Create the search indexes of the shards that were written to, and return the last sequence reached.

        A process that has written nothing looks at every shard that answers.
        """
        touched, self._store.touched = self._store.touched, set()
        shards = [self._store.shards[name] for name in sorted(touched)]
        if shards:
            return max(self._each(shards, lambda index, held: index.catch_up(held)))
        reached = [
            shard.try_using(lambda held, shard=shard: shard.index().catch_up(held))  # type: ignore[misc]
            for shard in self._store.shards.values()
        ]
        return max((sequence for sequence in reached if sequence is not None), default=0)

    def rebuild(self, store: Store) -> int:
        """Build the search indexes of every shard anew."""
        return max(self._each(self._store.shards.values(), lambda index, held: index.rebuild(held)))

    def status(self) -> Mapping[str, str | int]:
        """Return the entries and bytes of all shards that answer."""
        found = [each for each in self._each_that_answers() if each is not None]
        if not found:
            return {"engine": "postgresql", "lexical_sequence": 0, "vector_sequence": 0}
        counted = ("lexical_sequence", "vector_sequence", "passages", "vectors", "bytes")
        return {**found[0], **{name: sum(cast("int", each[name]) for each in found) for name in counted}}

    def _each(self, shards: Iterable[Shard], work: Callable[[PostgresIndex, PostgresStore], int]) -> list[int]:
        reached = []
        for shard in shards:
            with shard.using() as held:
                reached.append(work(shard.index(), held))
        return reached

    def _each_that_answers(self) -> list[Mapping[str, str | int] | None]:
        return [
            shard.try_using(lambda _, shard=shard: shard.index().status())  # type: ignore[misc]
            for shard in self._store.shards.values()
        ]

    def close(self) -> None:
        """Leave it to the store, which closes its shards."""
