"""Search inside the server: words by BM25 or tsvector, vectors by an HNSW graph, ordered by our own arithmetic.

The server keeps its indexes in the transaction of each write, so there is nothing to catch up with but making
them once the store is large enough. A view or a filter that leaves few passages is read whole and searched
exactly, which gives the same answers as every other engine; it is remembered until a tenant of the view changes.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, cast

import psycopg

from weft.cache import Recent
from weft.errors import StoreError
from weft.model import Filter
from weft.ports import Proposals, Snapshot, Store
from weft.store.overlay import EXACT_BELOW, Known, Overlay, asked_vector, nothing, overlay_of, term_weights
from weft.store.postgres import search
from weft.store.postgres.connection import is_lost
from weft.store.postgres.copy_rows import received
from weft.store.postgres.snapshot import PostgresSnapshot
from weft.store.postgres.store import PostgresStore
from weft.store.scope import cut_at_tie

if TYPE_CHECKING:
    from weft.ports.arrays import Ids, Vectors


_REMEMBERED: Final = 32


class PostgresIndex:
    """A ports.Index over the tables of a PostgreSQL store."""

    def __init__(self, store: PostgresStore, exact_below: int = EXACT_BELOW) -> None:
        self._store, self._exact_below = store, exact_below
        self._recent = Recent[tuple[object, ...], "tuple[Overlay | None, Ids | None]"](_REMEMBERED)
        self._has_bm25 = False
        # Who reads through one connection needs a second one for this.
        most = store.address.connections // 2
        self._threads = ThreadPoolExecutor(most, thread_name_prefix="weft-near") if most else None

    # --- reading ---

    def lexical(self, snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Proposals:
        """Passages that hold any of the terms, most promising first; ties at the cut are included."""
        weights, mean_length = term_weights(snapshot, term_hashes)
        if not weights or limit <= 0:
            return nothing()
        ours = _ours(snapshot)
        few, nodes = self._few(ours, filter)
        if few is not None:
            return Proposals(*few.lexical(weights, mean_length, None, limit))
        return Proposals(*search.by_words(ours, self._engine(ours), weights, nodes, limit))

    def semantic(self, snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Proposals:
        """The passages nearest to the vector with their exact cosines; ties at the cut are included."""
        query = asked_vector(snapshot, vector, limit)
        if isinstance(query, Proposals):
            return query
        ours = _ours(snapshot)
        few, nodes = self._few(ours, filter)
        if few is not None:
            return Proposals(*cut_at_tie(*few.semantic(query, None, limit), limit))
        return Proposals(*search.by_vector(ours, query, nodes, limit))

    def both(
        self,
        snapshot: Snapshot,
        term_hashes: Sequence[int],
        vector: "Vectors",
        filter: Filter,
        limits: tuple[int, int],
    ) -> tuple[Proposals, Proposals]:
        """Both searches; the graph is walked through a second connection while the first one looks up words."""
        ours = _ours(snapshot)
        near: Future[Proposals | None] | None = None
        if self._threads is not None and self._few(ours, filter)[0] is None:
            near = self._threads.submit(self._semantic_beside, ours, vector, filter, limits[1])
        words = self.lexical(ours, term_hashes, filter, limits[0])
        found = None if near is None or near.cancel() else near.result()
        return words, self.semantic(ours, vector, filter, limits[1]) if found is None else found

    def _semantic_beside(
        self, snapshot: PostgresSnapshot, vector: "Vectors", filter: Filter, limit: int
    ) -> Proposals | None:
        """What `semantic` returns, or None where there is no second connection to ask."""
        try:
            with self._store.beside(snapshot) as twin:
                return None if twin is None else self.semantic(twin, vector, filter, limit)
        except psycopg.Error as error:
            if not is_lost(error):
                raise
            return None

    def _engine(self, snapshot: PostgresSnapshot) -> str:
        """How words are searched now: by BM25 once its index is there, else by tsvector, indexed or not."""
        if self._store.words == "bm25" and not self._has_bm25:
            self._has_bm25 = search.BM25_INDEX in search.present(snapshot)
        return self._store.words if self._has_bm25 else "tsvector"

    def _few(self, snapshot: PostgresSnapshot, filter: Filter) -> "tuple[Overlay | None, Ids | None]":
        """All that may be found, where that is little; else the nodes that pass the filter, or None for all."""
        if filter.empty and snapshot.statistics(()).passages > self._exact_below:
            return None, None
        key = (snapshot.identity, snapshot.version, snapshot.space, snapshot.view, filter)
        return self._recent.get_or_make(key, lambda: self._looked_up(snapshot, filter))

    def _looked_up(self, snapshot: PostgresSnapshot, filter: Filter) -> "tuple[Overlay | None, Ids | None]":
        nodes = None if filter.empty else snapshot.matching(filter)
        few = nodes is None or len(nodes) <= self._exact_below
        overlay = _read(snapshot, nodes, self._exact_below) if few else None
        return overlay, nodes if overlay is None else None

    # --- writing ---

    def catch_up(self, store: Store) -> int:
        """Make the server's search indexes once there is enough to search, and return the store's sequence."""
        with store.everything() as snapshot:
            ours = _ours(snapshot)
            missing = search.missing(ours, self._store.words, self._exact_below)
        if missing and not self._store.read_only:
            self._make(missing)
        return ours.sequence

    def _make(self, statements: Sequence[str]) -> None:
        with self._store.writing():
            self._store.execute_alone(search.MEMORY_TO_BUILD)
            for statement in statements:
                self._store.execute_alone(statement)
            self._store.execute_alone("RESET maintenance_work_mem")

    def rebuild(self, store: Store) -> int:
        """Make the server's search indexes anew and return the sequence reached."""
        with store.everything() as snapshot:
            made = search.present(_ours(snapshot))
        with self._store.writing():
            for name in made:
                self._store.execute_alone(f"REINDEX INDEX {name}")
        return self.catch_up(store)

    # --- the rest ---

    def status(self) -> Mapping[str, str | int]:
        """Which indexes there are, entries held and bytes in the server."""
        with self._store.everything() as snapshot:
            made = search.present(snapshot)
            vectors = snapshot.rows("SELECT count(*) FROM vectors WHERE space = %(space)s", space=snapshot.space)
            passages = snapshot.rows("SELECT count(*) FROM words")
        return {
            "engine": "postgresql",
            "lexical_sequence": snapshot.sequence,
            "vector_sequence": snapshot.sequence,
            "passages": passages[0][0],
            "vectors": vectors[0][0],
            "dimensions": snapshot.state.dimensions or 0,
            "words": self._store.words,
            "indexes": ", ".join(made) or "none yet: small stores are searched one passage at a time",
            "bytes": sum(made.values()),
        }

    def close(self) -> None:
        """Forget what was remembered; the connections are the store's."""
        if self._threads is not None:
            self._threads.shutdown()
        self._recent.clear()


def _read(snapshot: PostgresSnapshot, nodes: "Ids | None", most: int) -> Overlay | None:
    """The passages of the nodes, or of the whole view, unless they are more than `most`."""
    width = snapshot.state.dimensions or 0
    rows = snapshot.rows(
        "SELECT p.id, p.node_id, p.term_hashes, p.term_counts, halfvec_send(v.vector) FROM passages p"
        " LEFT JOIN vectors v ON v.space = %(space)s AND v.passage_id = p.id AND v.dimensions = %(width)s"
        f" WHERE {'TRUE' if nodes is None else 'p.node_id = ANY(%(nodes)s)'} AND {snapshot.seen.of('p')}"
        " LIMIT %(limit)s",
        planned_once=False,
        nodes=nodes,
        space=snapshot.space,
        width=width,
        limit=most + 1,
    )
    if len(rows) > most:
        return None
    vectors = received([row[-1] for row in rows], width)
    pairs = zip(rows, vectors, strict=True)
    return overlay_of((), [Known(row[0], row[1], row[2], row[3], vector) for row, vector in pairs])


def _ours(snapshot: Snapshot) -> PostgresSnapshot:
    if not isinstance(snapshot, PostgresSnapshot):
        kind = type(cast("Any", snapshot)).__name__
        raise StoreError(f"The PostgreSQL index searches PostgreSQL stores, not {kind}. Choose another --index.")
    return snapshot
