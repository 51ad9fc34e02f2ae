"""Search derived from a store and kept in Milvus, caught up by sequence.

Milvus holds one state, not several: while a catch-up replaces nodes, their numbers are written down first, and
readers take those nodes from their own snapshot. So a reader never misses what it may see, whatever the state.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np
from pymilvus import MilvusClient
from pymilvus.exceptions import MilvusException

from weft.errors import StoreGone
from weft.frozen import dataclass
from weft.model import STRONG, Filter
from weft.ports import Proposals, Snapshot, Store
from weft.store.milvus.catch_up import bring_up, pages
from weft.store.milvus.collection import Collection, State, connected, gone, level_of, read_place
from weft.store.milvus.entities import condition_of
from weft.store.milvus.search import Found, Search, by_meaning, by_words, matching
from weft.store.overlay import EXACT_BELOW, PAGE, Overlay, SmallViews, earlier_state, nothing
from weft.store.records import LONGEST_FACET_VALUE

if TYPE_CHECKING:
    from weft.ports.arrays import Vectors


_WRITING: Final = level_of(STRONG)
"""Whoever writes must know what was written last, whatever readers are content with."""
_TRIES: Final = 4
_NONE: Final[Found] = (np.zeros(0, np.int64), np.zeros(0))
_AWAY: Final = "Milvus does not answer: candidates come from the rest alone. "


class MilvusIndex:
    """A ports.Index over a collection of Milvus; `address` names a server, or a file for the embedded form."""

    def __init__(self, address: str, exact_below: int = EXACT_BELOW) -> None:
        self._place = read_place(address)
        self._exact_below, self._small = exact_below, SmallViews()
        self._guard = threading.Lock()
        self._connected: MilvusClient | None = None
        self._known: set[str] = set()

    # --- reading ---

    def lexical(self, snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Proposals:
        """Passages that hold any of the terms, most promising first; ties at the cut are included."""
        (found,) = self._proposed(snapshot, filter, [by_words(snapshot, term_hashes, filter, limit)])
        return found

    def semantic(self, snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Proposals:
        """The passages nearest to the vector with their exact cosines; ties at the cut are included."""
        (found,) = self._proposed(snapshot, filter, [by_meaning(snapshot, vector, filter, limit)])
        return found

    def both(
        self,
        snapshot: Snapshot,
        term_hashes: Sequence[int],
        vector: "Vectors",
        filter: Filter,
        limits: tuple[int, int],
    ) -> tuple[Proposals, Proposals]:
        """Both searches in one request, which Milvus answers from one state."""
        words = by_words(snapshot, term_hashes, filter, limits[0])
        near = by_meaning(snapshot, vector, filter, limits[1])
        found = self._proposed(snapshot, filter, [words, near])
        return found[0], found[1]

    def _proposed(
        self, snapshot: Snapshot, filter: Filter, wanted: Sequence[Search | Proposals]
    ) -> list[Proposals]:
        """What is known already, and what collection and snapshot propose for the rest; that is left out, with a
        note, while Milvus is away.
        """
        searches = [each for each in wanted if isinstance(each, Search)]
        small = self._small.of(snapshot, self._exact_below, _everything) if searches else None
        if small is not None:
            return [Proposals(*each.joined(_NONE, small)) if isinstance(each, Search) else each for each in wanted]
        try:
            with self._explained():
                found = iter(self._searched(snapshot, filter, searches) if searches else ())
        except StoreGone as error:
            found = iter([nothing(_AWAY + str(error)) for _ in searches])
        return [next(found) if isinstance(each, Search) else each for each in wanted]

    def _searched(self, snapshot: Snapshot, filter: Filter, searches: Sequence[Search]) -> list[Proposals]:
        collection, judged = self._collection(snapshot, self._level_for(snapshot)), _judged(snapshot, filter)
        for _ in range(_TRIES):
            state = collection.state()
            pinned = _pinned(snapshot, collection, state)
            if pinned is None:
                break
            condition = condition_of(snapshot.view, filter, pinned.overlay.masked.tolist(), judged)
            found = matching(collection, searches, condition) if pinned.searchable else [_NONE] * len(searches)
            # Nodes that were replaced between the two looks may be in neither of their states.
            if collection.state() == state:
                pairs = zip(searches, found, strict=True)
                return [Proposals(*each.joined(ours, pinned.overlay), pinned.notes) for each, ours in pairs]
        scanned = _everything(snapshot)
        return [Proposals(*each.joined(_NONE, scanned), (_SCANNED,)) for each in searches]

    def _level_for(self, snapshot: Snapshot) -> str:
        return level_of(snapshot.view.consistency) if snapshot.view.consistency else self._place.level

    def _collection(self, snapshot: Snapshot, level: str) -> Collection:
        dimensions = (snapshot.embedder() or ("", 0))[1]
        return self._loaded(Collection(self._client(), level, snapshot.identity, dimensions))

    def _loaded(self, collection: Collection) -> Collection:
        """The collection, of which the server has been told once that it is searched."""
        if collection.name not in self._known and collection.load():
            self._known.add(collection.name)
        return collection

    def _client(self) -> MilvusClient:
        """The connection, made when it is first needed: who only opens a store need not wait for Milvus."""
        with self._guard:
            if self._connected is None:
                self._connected = connected(self._place)
            return self._connected

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except MilvusException as error:
            raise gone(self._place, error) from error

    # --- writing ---

    def catch_up(self, store: Store) -> int:
        """Bring the collection up to the store's sequence and return it."""
        with store.writing(), self._explained(), store.everything() as snapshot:
            bring_up(self._collection(snapshot, _WRITING), snapshot, self._place)
            return snapshot.sequence

    def rebuild(self, store: Store) -> int:
        """Derive everything anew and return the sequence reached."""
        with self._explained(), store.everything() as snapshot:
            self._collection(snapshot, _WRITING).drop()
        return self.catch_up(store)

    # --- the rest ---

    def status(self) -> Mapping[str, str | int]:
        """The collections that there are, how far they have come and what they hold."""
        with self._explained():
            client = self._client()
            names = [name for name in client.list_collections() if name.startswith("weft_")]
            held = [
                self._loaded(Collection(client, self._place.level, *_parts(name)))
                for name in names
                if not name.endswith("_state")
            ]
            reached = max((each.state().progress.sequence for each in held), default=0)
            passages, vectors = (sum(each.count(what) for each in held) for what in ("", "embedded == true"))
        return {
            "engine": "milvus",
            "address": self._place.shown,
            "consistency": self._place.level,
            "lexical_sequence": reached,
            "vector_sequence": reached,
            "passages": passages,
            "vectors": vectors,
            "bytes": 0,
        }

    def close(self) -> None:
        """Let go of the connection."""
        self._small.clear()
        if self._connected is not None:
            self._connected.close()
            self._connected = None


_SCANNED: Final = (
    "The search index in Milvus is missing or far behind: the rest was scanned in the store. Results are complete "
    "but slower; `weft doctor --repair` brings it up to date."
)


@dataclass(frozen=True, slots=True)
class _Pinned:
    """What the snapshot says instead of the collection, and whether the collection is there to be asked."""

    overlay: Overlay
    searchable: bool
    notes: tuple[str, ...] = ()


def _pinned(snapshot: Snapshot, collection: Collection, state: State) -> _Pinned | None:
    """How a collection in this state is asked on behalf of the snapshot; None when it must not be asked at all."""
    since = state.progress.sequence
    changed = state.progress.changed_since(snapshot.sequence)
    if state.pending is None or changed is None:
        return None
    if since > snapshot.sequence:
        return _Pinned(earlier_state(snapshot, sorted({*changed, *state.pending})), searchable=True)
    nodes = set(state.pending)
    for page in pages(snapshot, since, PAGE):
        nodes.update(page.changed_nodes)
    notes = (_SCANNED,) if len(nodes) > PAGE else ()
    return _Pinned(earlier_state(snapshot, sorted(nodes)), collection.exists(), notes)


def _judged(snapshot: Snapshot, filter: Filter) -> list[int] | None:
    """Nodes that hold the field values that are too long to be facets, or None when none is asked for."""
    long = tuple(pair for pair in filter.where if len(pair[1]) > LONGEST_FACET_VALUE)
    return snapshot.matching(Filter(where=long)).tolist() if long else None


def _everything(snapshot: Snapshot) -> Overlay:
    return earlier_state(snapshot, snapshot.matching(Filter()).tolist())


def _parts(name: str) -> tuple[str, int]:
    identity, _, dimensions = name.removeprefix("weft_").split("_")
    return identity, int(dimensions)
