"""Search derived from a store and kept in a folder beside it: lexical by tantivy where there is much to search,
semantic by an exact scan.

The truth is the snapshot. Derived files that are behind it are completed with what the snapshot says changed
since; files that are ahead of it are corrected for what changed later; missing or damaged ones count as being at
the start. So readers need no lock, and a write is found as soon as the store has acknowledged it.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.cache import Recent
from weft.errors import StoreBusy, StoreReadOnly
from weft.model import Filter
from weft.ports import Proposals, Snapshot, Store
from weft.store.embedded import lexical, vectors
from weft.store.embedded.catch_up import DAMAGED, LEXICAL, catch_up
from weft.store.embedded.files import G, Generations, Intact
from weft.store.overlay import (
    EXACT_BELOW,
    NOTHING,
    PAGE,
    Overlay,
    SmallViews,
    asked_vector,
    changes_after,
    earlier_state,
    nothing,
    term_weights,
    terms_of,
)
from weft.store.progress import Damaged
from weft.store.records import LONGEST_FACET_VALUE
from weft.store.scope import Scope, cut_at_tie

if TYPE_CHECKING:
    from weft.ports.arrays import Ids, Scores, Vectors


_OVERLAYS: Final = 8
_MOST_REMEMBERED: Final = 65_536
"""Of more rows than these the search itself takes so long that finding them again does not matter."""
_CHANGED_MEANWHILE: Final = (
    "The store was changed in bulk while it was being read: passages written meanwhile were left out. Ask again."
)


class EmbeddedIndex:
    """A ports.Index over files in a folder.

    Given the store, readers too make the files when there are none that serve, or they are far behind.
    """

    def __init__(
        self,
        folder: Path,
        store: Store | None = None,
        busy_seconds: float = 60.0,
        exact_below: int = EXACT_BELOW,
    ) -> None:
        self._folder, self._store, self._busy_seconds = folder, store, busy_seconds
        self._exact_below, self._small = exact_below, SmallViews()
        self._intact: Intact = set()
        words = folder / LEXICAL
        self._lexical = Generations(words / "meta.json", partial(lexical.open_generation, words, self._intact))
        self._vectors = Generations(
            vectors.state_path(folder), partial(vectors.open_generation, folder, self._intact)
        )
        self._overlays = Recent[Any, Overlay](_OVERLAYS)
        self._writer_lock = threading.Lock()
        self._looking_through = threading.RLock()

    # --- reading ---

    def lexical(self, snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Proposals:
        """Passages that hold any of the terms, most promising first; ties at the cut are included."""
        weights, mean_length = term_weights(snapshot, term_hashes)
        if not weights or limit <= 0:
            return nothing()
        small = self._small.of(snapshot, self._exact_below, terms_of)
        if small is not None:
            return Proposals(*small.lexical(weights, mean_length, _passing(snapshot, filter), limit))
        generation, overlay, notes = self._pinned(self._lexical, snapshot)
        found = []
        if generation:
            scope = Scope(snapshot.view, filter, overlay.masked, _judged_for_terms(snapshot, filter))
            try:
                found.append(generation.search(weights, scope, limit))
            except Damaged:
                self._report_damage(self._lexical)
                return self.lexical(snapshot, term_hashes, filter, limit)
        if len(overlay.ids):
            found.append(overlay.lexical(weights, mean_length, _passing(snapshot, filter), limit))
        return Proposals(*_existing(snapshot, found, overlay), notes)

    def semantic(self, snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Proposals:
        """The passages nearest to the vector with their exact cosines; ties at the cut are included."""
        query = asked_vector(snapshot, vector, limit)
        if isinstance(query, Proposals):
            return query
        generation, overlay, notes = self._pinned(self._vectors, snapshot)
        found = []
        if generation and generation.state.dimensions == len(query):
            found.append(generation.search(query, _rows(generation, overlay, snapshot, filter), limit))
        if len(overlay.ids):
            found.append(overlay.semantic(query, _passing(snapshot, filter), limit))
        ids, scores = _existing(snapshot, found, overlay)
        return Proposals(*cut_at_tie(ids, scores, limit), notes)

    def _pinned(
        self, generations: Generations[G], snapshot: Snapshot, may_write: bool = True
    ) -> tuple[G | None, Overlay, tuple[str, ...]]:
        """The state of the derived files to ask, and what the snapshot says beside it."""
        generation = generations.nearest(snapshot.identity, snapshot.sequence)
        since = generation.progress.sequence if generation else 0
        if since > snapshot.sequence and generation:
            return self._ahead(generation, snapshot)
        if since == snapshot.sequence:
            return generation, NOTHING, ()
        key = (since, snapshot.identity, snapshot.sequence, snapshot.view)
        overlay = self._overlays.get(key)
        if overlay is not None:
            return generation, overlay, _scanned(overlay)
        # What is missing may be everything: one reader of a process looks it through, and the others wait.
        with self._looking_through:
            if (
                key in self._overlays
                or generations.nearest(snapshot.identity, snapshot.sequence) is not generation
            ):
                return self._pinned(generations, snapshot, may_write)
            first = snapshot.tail(since, PAGE)
            needed = generation is None or not first.complete
            if may_write and needed and self._caught_up_for_others():
                return self._pinned(generations, snapshot, may_write=False)
            overlay = self._overlays.put(key, changes_after(snapshot, since, first))
        return generation, overlay, _scanned(overlay)

    def _ahead(self, generation: G, snapshot: Snapshot) -> tuple[G, Overlay, tuple[str, ...]]:
        key = (generation.progress.sequence, snapshot.identity, snapshot.sequence, snapshot.view)
        changed = generation.progress.changed_since(snapshot.sequence)
        overlay = self._overlays.get(key) or self._overlays.put(key, earlier_state(snapshot, changed or ()))
        return generation, overlay, () if changed is not None else (_CHANGED_MEANWHILE,)

    # --- writing ---

    def catch_up(self, store: Store) -> int:
        """Bring the derived files up to the store's sequence and return it."""
        self._store = store
        try:
            with self._writing(self._busy_seconds), store.everything() as snapshot:
                return catch_up(self._folder, snapshot, self._intact)
        except StoreReadOnly:
            with store.everything() as snapshot:
                if self._is_caught_up(snapshot):
                    return snapshot.sequence
            raise

    def _is_caught_up(self, snapshot: Snapshot) -> bool:
        """Whether both searches can be answered from the files alone."""
        states = (
            self._lexical.nearest(snapshot.identity, snapshot.sequence),
            self._vectors.nearest(snapshot.identity, snapshot.sequence),
        )
        return all(state and state.progress.sequence == snapshot.sequence for state in states)

    def rebuild(self, store: Store) -> int:
        """Derive everything anew from the store and return the sequence reached."""
        self._report_damage(self._lexical)
        self._report_damage(self._vectors)
        return self.catch_up(store)

    def _caught_up_for_others(self) -> bool:
        """Catch up if nobody is doing so and the folder takes writes; whether it was done."""
        if self._store is None:
            return False
        try:
            with self._writing(0.0), self._store.everything() as snapshot:
                catch_up(self._folder, snapshot, self._intact)
        except (StoreBusy, StoreReadOnly):
            return False
        return True

    @contextmanager
    def _writing(self, seconds: float) -> Iterator[None]:
        """Hold the right to write the folder; raises StoreBusy or StoreReadOnly."""
        # Those who only read start sooner without this library.
        from filelock import FileLock, Timeout

        if not self._writer_lock.acquire(timeout=seconds):
            raise StoreBusy(self._busy(seconds))
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self._folder / "index.lock", timeout=seconds, poll_interval=0.01):
                yield
        except Timeout as error:
            raise StoreBusy(self._busy(seconds)) from error
        except (OSError, Damaged) as error:
            raise StoreReadOnly(
                f"The search index in {self._folder} cannot be written: {error}. Searches scan the store itself; "
                "make the folder writable, or copy the store to a disk that takes writes."
            ) from error
        finally:
            self._writer_lock.release()

    def _busy(self, seconds: float) -> str:
        return (
            f"The search index in {self._folder} has been kept by another writer for more than {seconds:g} "
            "seconds. Wait for it to finish; until then searches scan the store itself."
        )

    def _report_damage(self, generations: Generations[Any]) -> None:
        """Leave a mark that makes the next writer start anew, and stop using the files."""
        generations.let_go()
        with suppress(OSError):
            (self._folder / DAMAGED).touch()

    # --- the rest ---

    def status(self) -> Mapping[str, str | int]:
        """Sequences reached, entries held and bytes on disk."""
        words, rows = self._lexical.latest(), self._vectors.latest()
        files = [path for path in self._folder.rglob("*") if path.is_file()] if self._folder.is_dir() else []
        return {
            "folder": str(self._folder),
            "lexical_sequence": words.progress.sequence if words else 0,
            "vector_sequence": rows.progress.sequence if rows else 0,
            "passages": words.searcher.num_docs - 1 if words else 0,
            "vectors": rows.state.rows - rows.state.dead if rows else 0,
            "dimensions": rows.state.dimensions if rows else 0,
            "bytes": sum(path.stat().st_size for path in files),
        }

    def close(self) -> None:
        """Let go of the files."""
        self._lexical.let_go()
        self._vectors.let_go()
        self._overlays.clear()
        self._small.clear()


def _passing(snapshot: Snapshot, filter: Filter) -> "Ids | None":
    """Nodes that pass the filter, or None when all do."""
    return None if filter.empty else snapshot.matching(filter)


def _rows(
    generation: vectors.VectorGeneration, overlay: Overlay, snapshot: Snapshot, filter: Filter
) -> "Ids | None":
    """The rows that a search may return; None is all.

    Those who ask for one kind or on one axis ask so again, and between two writes the answer is the same.
    """
    key = (snapshot.sequence, snapshot.view, filter)
    known = generation.chosen.get(key)
    if known is not None:
        return known
    # There is no column for these parts of a filter.
    narrowed = Filter(tags=filter.tags, where=filter.where)
    judged = None if narrowed.empty else snapshot.matching(narrowed)
    rows = generation.rows(Scope(snapshot.view, filter, overlay.masked, judged))
    return rows if rows is None or len(rows) > _MOST_REMEMBERED else generation.chosen.put(key, rows)


def _judged_for_terms(snapshot: Snapshot, filter: Filter) -> "Ids | None":
    """Nodes that hold the field values that are too long to be facets, or None when none is asked for."""
    long = tuple(pair for pair in filter.where if len(pair[1]) > LONGEST_FACET_VALUE)
    return snapshot.matching(Filter(where=long)) if long else None


def _existing(snapshot: Snapshot, found: "Sequence[tuple[Ids, Scores]]", overlay: Overlay) -> "tuple[Ids, Scores]":
    """All that was found, best first, without what the snapshot lacks."""
    ids = np.concatenate([ids for ids, _ in found] or [np.zeros(0, dtype=np.int64)])
    scores = np.concatenate([scores for _, scores in found] or [np.zeros(0)])
    order = np.lexsort((ids, -scores))
    ids, scores = ids[order], scores[order]
    if overlay is not NOTHING:
        kept = np.isin(ids, [row.id for row in snapshot.passages(ids.tolist())])
        ids, scores = ids[kept], scores[kept]
    return ids, scores


def _scanned(overlay: Overlay) -> tuple[str, ...]:
    if len(overlay.ids) < PAGE:
        return ()
    return (
        f"The search index is missing, damaged or far behind: {len(overlay.ids)} passages were scanned in "
        "the store. Results are complete but slower; `weft index` brings the search index up to date.",
    )
