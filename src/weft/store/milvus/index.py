"""Search derived from a store and kept in Milvus, caught up by sequence.

Milvus holds one state, not several: while a catch-up replaces nodes, their numbers are written down first, and
readers take those nodes from their own snapshot. So a reader never misses what it may see, whatever the state.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from pymilvus import MilvusClient
from pymilvus.exceptions import MilvusException

from weft.errors import StoreGone
from weft.frozen import dataclass
from weft.model import Filter
from weft.ports import Proposals, Snapshot, Store, Tail
from weft.store.milvus.collection import (
    MOST,
    Collection,
    State,
    asked,
    condition_of,
    connected,
    consistency_of,
    gone,
)
from weft.store.overlay import PAGE, Known, Overlay, earlier_state, overlay_of
from weft.store.progress import Progress
from weft.store.records import LONGEST_FACET_VALUE
from weft.store.scope import EQUAL, cut_at_tie
from weft.store.weights import nothing, term_weights, wrong_width
from weft.vectors import cosines, norms, quantise, stacked

if TYPE_CHECKING:
    from weft.ports import Ids, Scores, Vectors

Found: TypeAlias = "tuple[Ids, Scores]"

_MARGIN: Final = 64
_PAGE_OF_CHANGES: Final = 1000
_TRIES: Final = 4
_NONE: Final[Found] = (np.zeros(0, np.int64), np.zeros(0))
_AWAY: Final = "Milvus does not answer: candidates come from the rest alone. "


@dataclass(frozen=True, slots=True)
class _Search:
    """One search in both places: what the collection is asked, what the overlay finds, and how ids are scored."""

    field: str
    question: Any
    own: Callable[[Overlay], Found]
    scored: Callable[[list[int]], Found]
    condition: str = ""


class MilvusIndex:
    """A ports.Index over a collection of Milvus; `address` names a server, or a file for the embedded form."""

    def __init__(self, address: str) -> None:
        self._address, self._level = address, consistency_of(address)
        self._guard = threading.Lock()
        self._connected: MilvusClient | None = None

    # --- reading ---

    def lexical(self, snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Proposals:
        """Passages that hold any of the terms, most promising first; ties at the cut are included."""
        weights, mean_length = term_weights(snapshot, term_hashes)
        if not weights or limit <= 0:
            return nothing()
        passing = _passing(snapshot, filter)

        def scored(ids: list[int]) -> Found:
            rows = snapshot.passages(ids)
            known = [Known(row.id, row.node_id, row.term_hashes, row.term_counts, b"") for row in rows]
            return overlay_of((), known).lexical(weights, mean_length, None, len(rows))

        def own(overlay: Overlay) -> Found:
            return overlay.lexical(weights, mean_length, passing, limit)

        return self._proposed(snapshot, filter, limit, _Search("terms", asked(weights), own, scored))

    def semantic(self, snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Proposals:
        """The passages nearest to the vector with their exact cosines; ties at the cut are included."""
        packed = quantise(np.asarray(vector, dtype=np.float32).reshape(1, -1))[0]
        stored = snapshot.embedder()
        if not stored or not packed or limit <= 0 or not snapshot.view.tenants:
            return nothing()
        if stored[1] != len(packed):
            return nothing(wrong_width(len(packed), stored))
        query, passing = np.frombuffer(packed, np.int8), _passing(snapshot, filter)

        def scored(ids: list[int]) -> Found:
            kept = [row.id for row in snapshot.passages(ids)]
            rows = zip(kept, quantise(snapshot.vectors(kept)), strict=True)
            pairs = [(number, row) for number, row in rows if row]
            matrix = stacked([row for _, row in pairs], len(packed))
            return np.array([number for number, _ in pairs], np.int64), cosines(matrix, norms(matrix), query)

        def own(overlay: Overlay) -> Found:
            return overlay.semantic(query, passing, limit)

        direction = query.astype(np.float32).tolist()
        search = _Search("vector", direction, own, scored, " and embedded == true")
        return self._proposed(snapshot, filter, limit, search)

    def _proposed(self, snapshot: Snapshot, filter: Filter, limit: int, search: _Search) -> Proposals:
        """What collection and snapshot propose together; words are left out, with a note, while Milvus is away."""
        try:
            with self._explained():
                return self._searched(snapshot, filter, limit, search)
        except StoreGone as error:
            return nothing(_AWAY + str(error))

    def _searched(self, snapshot: Snapshot, filter: Filter, limit: int, search: _Search) -> Proposals:
        collection, judged = self._collection(snapshot), _judged(snapshot, filter)
        for _ in range(_TRIES):
            state = collection.state()
            pinned = _pinned(snapshot, collection, state)
            if pinned is None:
                break
            condition = condition_of(snapshot.view, filter, pinned.overlay.masked.tolist(), judged)
            found = (
                _matching(collection, search, condition + search.condition, limit) if pinned.searchable else _NONE
            )
            # Nodes that were replaced between the two looks may be in neither of their states.
            if collection.state() == state:
                return Proposals(*cut_at_tie(*_joined(found, search.own(pinned.overlay)), limit), pinned.notes)
        return Proposals(*cut_at_tie(*search.own(_everything(snapshot)), limit), (_SCANNED,))

    def _collection(self, snapshot: Snapshot) -> Collection:
        dimensions = (snapshot.embedder() or ("", 0))[1]
        return Collection(self._client(), self._level, snapshot.identity, dimensions)

    def _client(self) -> MilvusClient:
        """The connection, made when it is first needed: who only opens a store need not wait for Milvus."""
        with self._guard:
            if self._connected is None:
                self._connected = connected(self._address)
            return self._connected

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except MilvusException as error:
            raise gone(self._address, error) from error

    # --- writing ---

    def catch_up(self, store: Store) -> int:
        """Bring the collection up to the store's sequence and return it."""
        with store.writing(), self._explained(), store.everything() as snapshot:
            collection = self._collection(snapshot)
            collection.make()
            state = collection.state()
            if state.progress.sequence > snapshot.sequence or state.progress.identity != snapshot.identity:
                collection.drop()
                collection.make()
                state = State(Progress(snapshot.identity))
            progress = state.progress
            while progress.sequence < snapshot.sequence:
                page = snapshot.tail(progress.sequence, _PAGE_OF_CHANGES)
                nodes = sorted({*page.changed_nodes, *(state.pending or ())})
                collection.save(State(progress, tuple(nodes)))
                collection.replace(nodes, page.passages)
                reached = snapshot.sequence if page.complete else page.sequence
                progress = progress.advanced(reached, page.changed_nodes)
                collection.save(State(progress))
            return snapshot.sequence

    def rebuild(self, store: Store) -> int:
        """Derive everything anew and return the sequence reached."""
        with self._explained(), store.everything() as snapshot:
            self._collection(snapshot).drop()
        return self.catch_up(store)

    # --- the rest ---

    def status(self) -> Mapping[str, str | int]:
        """The collections that there are, how far they have come and what they hold."""
        with self._explained():
            client = self._client()
            names = [name for name in client.list_collections() if name.startswith("weft_")]
            held = [
                Collection(client, self._level, *_parts(name)) for name in names if not name.endswith("_state")
            ]
            reached = max((each.state().progress.sequence for each in held), default=0)
            passages, vectors = (sum(each.count(what) for each in held) for what in ("", "embedded == true"))
        return {
            "engine": "milvus",
            "address": self._address.partition("?")[0],
            "consistency": self._level,
            "lexical_sequence": reached,
            "vector_sequence": reached,
            "passages": passages,
            "vectors": vectors,
            "bytes": 0,
        }

    def close(self) -> None:
        """Let go of the connection."""
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
    page = Tail(since, (), (), since == snapshot.sequence)
    while not page.complete:
        page = snapshot.tail(page.sequence, PAGE)
        nodes.update(page.changed_nodes)
    notes = (_SCANNED,) if len(nodes) > PAGE else ()
    return _Pinned(earlier_state(snapshot, sorted(nodes)), collection.exists(), notes)


def _matching(collection: Collection, search: _Search, condition: str, limit: int) -> Found:
    """What the collection proposes, by our own score; more is asked for while the cut falls among equals."""
    wanted = limit + _MARGIN
    while True:
        ids = collection.search(search.field, search.question, condition, wanted)
        found, scores = search.scored(ids)
        ranked = np.sort(scores)[::-1]
        enough = len(ranked) > limit and ranked[-1] < ranked[limit - 1] * (1 - EQUAL)
        if len(ids) < min(wanted, MOST) or enough or wanted >= MOST:
            return found, scores
        wanted = min(4 * wanted, MOST)


def _joined(*found: Found) -> Found:
    return np.concatenate([ids for ids, _ in found]), np.concatenate([scores for _, scores in found])


def _passing(snapshot: Snapshot, filter: Filter) -> "Ids | None":
    return None if filter.empty else snapshot.matching(filter)


def _judged(snapshot: Snapshot, filter: Filter) -> list[int] | None:
    """Nodes that hold the field values that are too long to be facets, or None when none is asked for."""
    long = tuple(pair for pair in filter.where if len(pair[1]) > LONGEST_FACET_VALUE)
    return snapshot.matching(Filter(where=long)).tolist() if long else None


def _everything(snapshot: Snapshot) -> Overlay:
    return earlier_state(snapshot, snapshot.matching(Filter()).tolist())


def _parts(name: str) -> tuple[str, int]:
    identity, _, dimensions = name.removeprefix("weft_").split("_")
    return identity, int(dimensions)
