"""Search a store in Milvus, in a collection that is derived from the store and follows it by sequence number.

Milvus holds one state, while readers have snapshots of several. A catch-up writes down the ids of the nodes it is
about to replace, and readers take those nodes, and all that changed since, from their own snapshot. So a reader
never misses what it may see, whatever the state of the collection.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import Struct
from pymilvus import MilvusClient
from pymilvus.exceptions import MilvusException

from weft.errors import StoreUnreachable
from weft.model import STRONG, Filter
from weft.ports import Proposals, Snapshot, Store
from weft.store.derived import (
    MAX_EXACT_PASSAGES,
    NODES_PER_PAGE,
    Overlay,
    SmallViews,
    earlier_state,
    no_proposals,
    nodes_with_long_values,
)
from weft.store.milvus.catch_up import CatchUpLimits, bring_up_to_date, tail_pages
from weft.store.milvus.collection import (
    Collection,
    CollectionState,
    connect,
    consistency_level,
    read_milvus_address,
    unreachable,
)
from weft.store.milvus.search import (
    Found,
    Search,
    filter_expression,
    search_collection,
    vector_search,
    word_search,
)

if TYPE_CHECKING:
    from weft.ports.stores import Vectors


_WRITER_LEVEL: Final = consistency_level(STRONG)
"""A writer must know what was written last, whatever consistency readers choose."""
_MAX_TRIES: Final = 4
"""Searches that a catch-up overtook are repeated so often before the store is searched instead."""
_NO_RESULTS: Final[Found] = (np.zeros(0, np.int64), np.zeros(0))
_AWAY: Final = "Milvus does not answer: candidates come from the rest alone. "
_SCANNED: Final = (
    "The search index in Milvus is missing or far behind: the rest was scanned in the store. Results are complete "
    "but slower; `weft doctor --repair` brings it up to date."
)


class MilvusIndex:
    """A ports.Index over a collection of Milvus.

    `address` names a server, or a file for the embedded form. Views of up to `exact_below` passages are searched
    in the store.
    """

    def __init__(
        self, address: str, exact_below: int = MAX_EXACT_PASSAGES, limits: CatchUpLimits | None = None
    ) -> None:
        self._address = read_milvus_address(address)
        self._exact_below, self._small_views = exact_below, SmallViews()
        self.limits = limits or CatchUpLimits()
        self._guard = threading.Lock()
        self._connection: MilvusClient | None = None
        self._loaded: set[str] = set()
        """Names of the collections that the server was asked to load."""

    # --- reading ---

    def lexical(self, snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Proposals:
        """Return passages that hold any of the terms, most promising first; ties at the cut are included."""
        (found,) = self._propose(snapshot, filter, [word_search(snapshot, term_hashes, filter, limit)])
        return found

    def semantic(self, snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Proposals:
        """Return the passages nearest to the vector with their exact cosines; ties at the cut are included."""
        (found,) = self._propose(snapshot, filter, [vector_search(snapshot, vector, filter, limit)])
        return found

    def search_both(
        self,
        snapshot: Snapshot,
        term_hashes: Sequence[int],
        vector: "Vectors",
        filter: Filter,
        limits: tuple[int, int],
    ) -> tuple[Proposals, Proposals]:
        """Do both searches in one request, which Milvus answers from one state."""
        words = word_search(snapshot, term_hashes, filter, limits[0])
        nearest = vector_search(snapshot, vector, filter, limits[1])
        found = self._propose(snapshot, filter, [words, nearest])
        return found[0], found[1]

    def _propose(
        self, snapshot: Snapshot, filter: Filter, requested: Sequence[Search | Proposals]
    ) -> list[Proposals]:
        """Do the searches and return their proposals in order, among proposals that are known already.

        While Milvus is away the searches propose nothing, with a note.
        """
        searches = [search for search in requested if isinstance(search, Search)]
        small = self._small_views.get(snapshot, self._exact_below, _read_view) if searches else None
        if small is not None:
            return [
                Proposals(*search.combine(_NO_RESULTS, small)) if isinstance(search, Search) else search
                for search in requested
            ]
        try:
            with self._translate_errors():
                found = iter(self._search(snapshot, filter, searches) if searches else ())
        except StoreUnreachable as error:
            found = iter([no_proposals(_AWAY + str(error)) for _ in searches])
        return [next(found) if isinstance(search, Search) else search for search in requested]

    def _search(self, snapshot: Snapshot, filter: Filter, searches: Sequence[Search]) -> list[Proposals]:
        """Search the collection, with what the snapshot says instead where the two differ."""
        consistency = snapshot.view.consistency
        level = consistency_level(consistency) if consistency else self._address.level
        collection, nodes = self._collection(snapshot, level), nodes_with_long_values(snapshot, filter)
        # No transaction spans the state and the search, so the state is compared before and after.
        for _ in range(_MAX_TRIES):
            state = collection.state()
            difference = _read_difference(snapshot, collection, state)
            if difference is None:
                break
            overlay = difference.overlay
            condition = filter_expression(snapshot.view, filter, overlay.masked, nodes)
            found = [_NO_RESULTS] * len(searches)
            if difference.is_searchable:
                found = search_collection(collection, searches, condition)
            # Nodes that were replaced between the two looks may be in neither of their states.
            if collection.state() == state:
                pairs = zip(searches, found, strict=True)
                return [Proposals(*search.combine(ours, overlay), difference.notes) for search, ours in pairs]
        scanned = _read_view(snapshot)
        return [Proposals(*search.combine(_NO_RESULTS, scanned), (_SCANNED,)) for search in searches]

    def _collection(self, snapshot: Snapshot, level: str) -> Collection:
        dimensions = (snapshot.embedder() or ("", 0))[1]
        return self._load(
            Collection(self._client(), level, snapshot.identity, dimensions, self.limits.pending_nodes)
        )

    def _load(self, collection: Collection) -> Collection:
        """Have the server load the collection once, and return it."""
        # Once a process: loading before every search would cost a request each.
        if collection.name not in self._loaded and collection.load():
            self._loaded.add(collection.name)
        return collection

    def _client(self) -> MilvusClient:
        # Connected at the first use: a caller that only opens a store need not wait for Milvus.
        with self._guard:
            if self._connection is None:
                self._connection = connect(self._address)
            return self._connection

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except MilvusException as error:
            raise unreachable(self._address, error) from error

    # --- writing ---

    def catch_up(self, store: Store) -> int:
        """Bring the collection up to the store's sequence and return it."""
        # Under the store's write lock, because Milvus has none of its own.
        with store.writing(), self._translate_errors(), store.snapshot_of_all_tenants() as snapshot:
            collection = self._collection(snapshot, _WRITER_LEVEL)
            bring_up_to_date(collection, snapshot, self._address, self.limits)
            return snapshot.sequence

    def rebuild(self, store: Store) -> int:
        """Derive everything anew and return the sequence reached."""
        with self._translate_errors(), store.snapshot_of_all_tenants() as snapshot:
            self._collection(snapshot, _WRITER_LEVEL).drop()
        return self.catch_up(store)

    # --- the rest ---

    def status(self) -> Mapping[str, str | int]:
        """Return how far the collections of all stores in this Milvus have come, and how much they hold."""
        with self._translate_errors():
            client = self._client()
            names = [name for name in client.list_collections() if name.startswith("weft_")]
            collections = [
                self._load(Collection(client, self._address.level, *_identity_and_dimensions(name)))
                for name in names
                if not name.endswith("_state")
            ]
            reached = max((collection.state().progress.sequence for collection in collections), default=0)
            passages, vectors = (
                sum(collection.count(condition) for collection in collections)
                for condition in ("", "embedded == true")
            )
        return {
            "engine": "milvus",
            "address": self._address.shown,
            "consistency": self._address.level,
            "lexical_sequence": reached,
            "vector_sequence": reached,
            "passages": passages,
            "vectors": vectors,
            "bytes": 0,
        }

    def close(self) -> None:
        """Close the connection and drop what was cached."""
        self._small_views.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class _Difference(Struct, frozen=True):
    """The passages that differ between snapshot and collection, and whether there is a collection to search."""

    overlay: Overlay
    is_searchable: bool
    notes: tuple[str, ...] = ()


def _read_difference(snapshot: Snapshot, collection: Collection, state: CollectionState) -> _Difference | None:
    """Return how the snapshot differs from a collection in this state; None when that cannot be told."""
    since = state.progress.sequence
    changed = state.progress.changed_since(snapshot.sequence)
    if state.pending is None or changed is None:
        return None
    if since > snapshot.sequence:
        # The collection is ahead: what changed after the snapshot is taken from the snapshot.
        overlay = earlier_state(snapshot, sorted({*changed, *state.pending}))
        return _Difference(overlay, is_searchable=True)
    nodes = set(state.pending)
    for page in tail_pages(snapshot, since, NODES_PER_PAGE):
        nodes.update(page.changed_nodes)
    notes = (_SCANNED,) if len(nodes) > NODES_PER_PAGE else ()
    return _Difference(earlier_state(snapshot, sorted(nodes)), collection.exists(), notes)


def _read_view(snapshot: Snapshot) -> Overlay:
    """Return all passages that the view holds."""
    return earlier_state(snapshot, snapshot.matching_ids(Filter()).tolist())


def _identity_and_dimensions(name: str) -> tuple[str, int]:
    """Return the store's identity and the vectors' width from the name of a collection."""
    identity, _, dimensions = name.removeprefix("weft_").split("_")
    return identity, int(dimensions)
