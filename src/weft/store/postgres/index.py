"""Search a PostgreSQL store: exactly where there is little to search, by the server's engines where there is much.

The server keeps its indexes up to date in the transaction of each write; catching up only means creating them once
the store is large enough. A view or a filter that leaves few passages is read whole and searched exactly, which
gives the same answers as every other engine; what was read is kept until a tenant of the view changes.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, cast

import psycopg

from weft.errors import StoreError
from weft.model import Filter
from weft.ports import Proposals, Snapshot, Store
from weft.runtime.cache import LruCache
from weft.store.derived import (
    MAX_EXACT_PASSAGES,
    Overlay,
    OverlayPassage,
    build_overlay,
    cut_at_tie,
    no_proposals,
    quantise_query,
    term_weights,
)
from weft.store.postgres import search
from weft.store.postgres.connection import is_lost
from weft.store.postgres.encode import from_halfvecs
from weft.store.postgres.snapshot import PostgresSnapshot
from weft.store.postgres.store import PostgresStore

if TYPE_CHECKING:
    from weft.ports.stores import Ids, Vectors


_CACHED_SCOPES: Final = 32
"""The number of views and filters whose passages are kept, at most `exact_below` of them each."""


class PostgresIndex:
    """A ports.Index over the tables of a PostgreSQL store."""

    def __init__(self, store: PostgresStore, exact_below: int = MAX_EXACT_PASSAGES) -> None:
        self._store, self._exact_below = store, exact_below
        self._scopes = LruCache[tuple[object, ...], "tuple[Overlay | None, Ids | None]"](_CACHED_SCOPES)
        self._has_bm25 = False
        # Each thread uses a second connection beside that of its reader, so half as many threads find one.
        threads = store.address.connections // 2
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="weft-near") if threads else None

    # --- reading ---

    def lexical(self, snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Proposals:
        """Return passages that hold any of the terms, most promising first; ties at the cut are included."""
        weights, mean_length = term_weights(snapshot, term_hashes)
        return self.search_weighted(snapshot, weights, mean_length, filter, limit)

    def search_weighted(
        self, snapshot: Snapshot, weights: Mapping[int, float], mean_length: float, filter: Filter, limit: int
    ) -> Proposals:
        """Return passages that hold terms of these weights, which may be those of a larger view."""
        if not weights or limit <= 0:
            return no_proposals()
        reading = _require_postgres(snapshot)
        exact, nodes = self._scope(reading, filter)
        if exact is not None:
            return Proposals(*exact.lexical(weights, mean_length, None, limit))
        return Proposals(*search.search_words(reading, self._word_search(reading), weights, nodes, limit))

    def semantic(self, snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Proposals:
        """Return the passages nearest to the vector with their exact cosines; ties at the cut are included."""
        query = quantise_query(snapshot, vector, limit)
        if isinstance(query, Proposals):
            return query
        reading = _require_postgres(snapshot)
        exact, nodes = self._scope(reading, filter)
        if exact is not None:
            return Proposals(*cut_at_tie(*exact.semantic(query, None, limit), limit))
        return Proposals(*search.search_vectors(reading, query, nodes, limit))

    def search_both(
        self,
        snapshot: Snapshot,
        term_hashes: Sequence[int],
        vector: "Vectors",
        filter: Filter,
        limits: tuple[int, int],
    ) -> tuple[Proposals, Proposals]:
        """Do both searches, that of the graph on a second connection while the first one searches words."""
        reading = _require_postgres(snapshot)
        nearest: Future[Proposals | None] | None = None
        if self._threads is not None and self._scope(reading, filter)[0] is None:
            nearest = self._threads.submit(self._semantic_on_second, reading, vector, filter, limits[1])
        words = self.lexical(reading, term_hashes, filter, limits[0])
        # A search that no thread has begun by now is done sooner here.
        found = None if nearest is None or nearest.cancel() else nearest.result()
        return words, self.semantic(reading, vector, filter, limits[1]) if found is None else found

    def _semantic_on_second(
        self, snapshot: PostgresSnapshot, vector: "Vectors", filter: Filter, limit: int
    ) -> Proposals | None:
        """Return the proposals of `semantic`, or None where no second connection can be had."""
        try:
            with self._store.second_snapshot(snapshot) as twin:
                return None if twin is None else self.semantic(twin, vector, filter, limit)
        except psycopg.Error as error:
            if not is_lost(error):
                raise
            return None

    def _word_search(self, snapshot: PostgresSnapshot) -> str:
        """Return the engine for words: BM25 once its index is there, else tsvector, indexed or not."""
        if self._store.word_search == "bm25" and not self._has_bm25:
            self._has_bm25 = search.BM25_INDEX in search.read_indexes(snapshot)
        return self._store.word_search if self._has_bm25 else "tsvector"

    def _scope(self, snapshot: PostgresSnapshot, filter: Filter) -> "tuple[Overlay | None, Ids | None]":
        """Return all passages that may be found, where they are few; else the nodes that pass the filter.

        Of the pair the other one is None; both are None where nothing is filtered and there are many passages.
        """
        # Totals are cached, so a large view costs no query here.
        if filter.empty and snapshot.statistics(()).passages > self._exact_below:
            return None, None
        # The version changes only when a tenant of the view does: writes to others keep the cache.
        key = (snapshot.identity, snapshot.version, snapshot.space, snapshot.view, filter)
        return self._scopes.get_or_make(key, lambda: self._read_scope(snapshot, filter))

    def _read_scope(self, snapshot: PostgresSnapshot, filter: Filter) -> "tuple[Overlay | None, Ids | None]":
        nodes = None if filter.empty else snapshot.matching_ids(filter)
        # Nearly every node has a passage, so more nodes than that mean too many passages.
        is_small = nodes is None or len(nodes) <= self._exact_below
        overlay = _read_overlay(snapshot, nodes, self._exact_below) if is_small else None
        return overlay, nodes if overlay is None else None

    # --- writing ---

    def catch_up(self, store: Store) -> int:
        """Create the server's search indexes once there is enough to search, and return the store's sequence."""
        with store.snapshot_of_all_tenants() as snapshot:
            reading = _require_postgres(snapshot)
            statements = search.missing_index_statements(reading, self._store.word_search, self._exact_below)
        if statements and not self._store.read_only:
            with self._store.writing():
                for statement in (search.RAISE_BUILD_MEMORY, *statements, "RESET maintenance_work_mem"):
                    self._store.execute_outside_transaction(statement)
        return reading.sequence

    def rebuild(self, store: Store) -> int:
        """Build the server's search indexes anew and return the sequence reached."""
        with store.snapshot_of_all_tenants() as snapshot:
            names = search.read_indexes(_require_postgres(snapshot))
        with self._store.writing():
            for name in names:
                self._store.execute_outside_transaction(f"REINDEX INDEX {name}")
        return self.catch_up(store)

    # --- the rest ---

    def status(self) -> Mapping[str, str | int]:
        """Return the names and bytes of the indexes in the server, and the entries that they hold."""
        with self._store.snapshot_of_all_tenants() as snapshot:
            indexes = search.read_indexes(snapshot)
            vectors = snapshot.rows("SELECT count(*) FROM vectors WHERE space = %(space)s", space=snapshot.space)
            passages = snapshot.rows("SELECT count(*) FROM words")
        return {
            "engine": "postgresql",
            "lexical_sequence": snapshot.sequence,
            "vector_sequence": snapshot.sequence,
            "passages": passages[0][0],
            "vectors": vectors[0][0],
            "dimensions": snapshot.state.dimensions or 0,
            "words": self._store.word_search,
            "indexes": ", ".join(indexes) or "none yet: small stores are searched one passage at a time",
            "bytes": sum(indexes.values()),
        }

    def close(self) -> None:
        """Stop the threads and drop what was cached; the connections are closed by the store."""
        if self._threads is not None:
            self._threads.shutdown()
        self._scopes.clear()


def _read_overlay(snapshot: PostgresSnapshot, nodes: "Ids | None", most: int) -> Overlay | None:
    """Return the passages of the nodes, or of the whole view, unless they are more than `most`."""
    dimensions = snapshot.state.dimensions or 0
    rows = snapshot.rows(
        "SELECT p.id, p.node_id, p.term_hashes, p.term_counts, halfvec_send(v.vector) FROM passages p"
        " LEFT JOIN vectors v ON v.space = %(space)s AND v.passage_id = p.id AND v.dimensions = %(width)s"
        f" WHERE {'TRUE' if nodes is None else 'p.node_id = ANY(%(nodes)s)'} AND {snapshot.visible.of('p')}"
        " LIMIT %(limit)s",
        reuse_plan=False,
        nodes=nodes,
        space=snapshot.space,
        width=dimensions,
        # One more than allowed tells that there are too many.
        limit=most + 1,
    )
    if len(rows) > most:
        return None
    if nodes is None:
        snapshot.keep_all_terms(row[2] for row in rows)
    vectors = from_halfvecs([row[-1] for row in rows], dimensions)
    pairs = zip(rows, vectors, strict=True)
    return build_overlay((), [OverlayPassage(row[0], row[1], row[2], row[3], vector) for row, vector in pairs])


def _require_postgres(snapshot: Snapshot) -> PostgresSnapshot:
    if not isinstance(snapshot, PostgresSnapshot):
        kind = type(cast("Any", snapshot)).__name__
        raise StoreError(f"The PostgreSQL index searches PostgreSQL stores, not {kind}. Choose another --index.")
    return snapshot
