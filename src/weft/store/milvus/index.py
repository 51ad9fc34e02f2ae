"""Search derived from a store and kept in Milvus, caught up by sequence.

Milvus holds one state, not several: while a catch-up replaces nodes, their numbers are written down first, and
readers take those nodes from their own snapshot. So a reader never misses what it may see, whatever the state.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from pymilvus.exceptions import MilvusException

from weft.errors import StoreGone
from weft.model import Filter
from weft.ports import Proposals, Snapshot, Store, Tail
from weft.store.milvus.collection import MOST, Collection, State, asked, condition_of, connected, gone
from weft.store.overlay import PAGE, Known, Overlay, earlier_state, overlay_of
from weft.store.progress import Progress
from weft.store.records import LONGEST_FACET_VALUE
from weft.store.scope import EQUAL, cut_at_tie
from weft.store.weights import nothing, term_weights, wrong_width
from weft.vectors import cosines, norms, quantise, stacked

if TYPE_CHECKING:
    from weft.ports import Ids, Scores, Vectors

Scored: TypeAlias = "Callable[[list[int]], tuple[Ids, Scores]]"

_MARGIN: Final = 64
_PENDING: Final = 5000
_WRITTEN_AT_ONCE: Final = 1000
_AWAY: Final = "Milvus does not answer: candidates come from the rest alone. "


class MilvusIndex:
    """A ports.Index over a collection of Milvus; `address` names a server, or a file for the embedded form."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._client, self._level = connected(address)
        self._writer = threading.Lock()

    # --- reading ---

    def lexical(self, snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Proposals:
        """Passages that hold any of the terms, most promising first; ties at the cut are included."""
        weights, mean_length = term_weights(snapshot, term_hashes)
        if not weights or limit <= 0:
            return nothing()
        try:
            collection, overlay, notes = self._pinned(snapshot)
            own = overlay.lexical(weights, mean_length, _passing(snapshot, filter), limit)
            condition = condition_of(snapshot.view, filter, overlay.masked.tolist(), _judged(snapshot, filter))

            def scored(ids: list[int]) -> "tuple[Ids, Scores]":
                rows = snapshot.passages(ids)
                known = [Known(row.id, row.node_id, row.term_hashes, row.term_counts, b"") for row in rows]
                return overlay_of((), known).lexical(weights, mean_length, None, len(rows))

            found = _searched(collection, "terms", asked(weights), condition, limit, scored)
        except StoreGone as error:
            return nothing(_AWAY + str(error))
        return Proposals(*cut_at_tie(*_joined(found, own), limit), notes)

    def semantic(self, snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Proposals:
        """The passages nearest to the vector with their exact cosines; ties at the cut are included."""
        packed = quantise(np.asarray(vector, dtype=np.float32).reshape(1, -1))[0]
        stored = snapshot.embedder()
        if not stored or not packed or limit <= 0 or not snapshot.view.tenants:
            return nothing()
        if stored[1] != len(packed):
            return nothing(wrong_width(len(packed), stored))
        query = np.frombuffer(packed, np.int8)
        try:
            collection, overlay, notes = self._pinned(snapshot)
            own = overlay.semantic(query, _passing(snapshot, filter), limit)
            condition = condition_of(snapshot.view, filter, overlay.masked.tolist(), _judged(snapshot, filter))

            def scored(ids: list[int]) -> "tuple[Ids, Scores]":
                kept = [row.id for row in snapshot.passages(ids)]
                rows = zip(kept, quantise(snapshot.vectors(kept)), strict=True)
                pairs = [(number, row) for number, row in rows if row]
                matrix = stacked([row for _, row in pairs], len(packed))
                return np.array([number for number, _ in pairs], np.int64), cosines(matrix, norms(matrix), query)

            direction = query.astype(np.float32).tolist()
            found = _searched(collection, "vector", direction, f"{condition} and embedded == true", limit, scored)
        except StoreGone as error:
            return nothing(_AWAY + str(error))
        return Proposals(*cut_at_tie(*_joined(found, own), limit), notes)

    def _pinned(self, snapshot: Snapshot) -> tuple[Collection | None, Overlay, tuple[str, ...]]:
        """The collection to ask, and what the snapshot says instead of it."""
        with self._explained():
            collection = self._collection(snapshot)
            state = collection.state()
        since = state.progress.sequence
        if since > snapshot.sequence:
            changed = state.progress.changed_since(snapshot.sequence)
            if changed is None:
                return None, _everything(snapshot), (_SCANNED,)
            return collection, earlier_state(snapshot, sorted({*changed, *state.pending})), ()
        nodes = set(state.pending)
        page = Tail(since, (), (), since == snapshot.sequence)
        while not page.complete:
            page = snapshot.tail(page.sequence, PAGE)
            nodes.update(page.changed_nodes)
        overlay = earlier_state(snapshot, sorted(nodes))
        return collection if collection.exists() else None, overlay, (_SCANNED,) if len(nodes) > PAGE else ()

    def _collection(self, snapshot: Snapshot) -> Collection:
        dimensions = (snapshot.embedder() or ("", 0))[1]
        return Collection(self._client, self._level, snapshot.identity, dimensions)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except MilvusException as error:
            raise gone(self._address, error) from error

    # --- writing ---

    def catch_up(self, store: Store) -> int:
        """Bring the collection up to the store's sequence and return it."""
        with self._writer, self._explained(), store.everything() as snapshot:
            collection = self._collection(snapshot)
            collection.make()
            state = collection.state()
            if state.progress.sequence > snapshot.sequence or state.progress.identity != snapshot.identity:
                collection.drop()
                collection.make()
                state = State(Progress(snapshot.identity))
            progress = state.progress
            while progress.sequence < snapshot.sequence:
                page = snapshot.tail(progress.sequence, _WRITTEN_AT_ONCE)
                nodes = sorted({*page.changed_nodes, *state.pending})
                collection.save(State(progress, tuple(nodes) if len(nodes) <= _PENDING else ()))
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
            names = [name for name in self._client.list_collections() if name.startswith("weft_")]
            held = [
                Collection(self._client, self._level, *_parts(name))
                for name in names
                if not name.endswith("_state")
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
        self._client.close()


_SCANNED: Final = (
    "The search index in Milvus is missing or far behind: the rest was scanned in the store. Results are complete "
    "but slower; `weft doctor --repair` brings it up to date."
)


def _searched(
    collection: Collection | None, field: str, data: Any, condition: str, limit: int, scored: Scored
) -> "tuple[Ids, Scores]":
    """What the collection proposes, by our own score; more is asked for while the cut falls among equals."""
    wanted = limit + _MARGIN
    while collection is not None:
        ids = collection.search(field, data, condition, wanted)
        found, scores = scored(ids)
        ranked = np.sort(scores)[::-1]
        enough = len(ranked) > limit and ranked[-1] < ranked[limit - 1] * (1 - EQUAL)
        if len(ids) < min(wanted, MOST) or enough or wanted >= MOST:
            return found, scores
        wanted = min(4 * wanted, MOST)
    return np.zeros(0, np.int64), np.zeros(0)


def _joined(*found: "tuple[Ids, Scores]") -> "tuple[Ids, Scores]":
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
