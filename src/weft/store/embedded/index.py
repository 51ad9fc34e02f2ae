"""Search a store with files derived from it in a folder: words by tantivy, vectors by a scan of columns.

The snapshot is the truth. Files that are behind it are completed with what changed since; files that are ahead
of it are corrected for what changed later; missing or damaged ones count as being at the start. So readers need
no lock, and a write is found as soon as the store has acknowledged it.

`catch_up` brings the files up to a store, page by page. Each kind of file has its own progress and commits it
together with what it adds, so that a writer may be killed at any point: the next one goes on from the last
commit.
"""

import contextlib
import os
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.errors import StoreBusy, StoreReadOnly
from weft.model import Filter
from weft.ports import Proposals, RecentChanges, Snapshot, Store
from weft.runtime.cache import LruCache
from weft.store.derived import (
    EMPTY_OVERLAY,
    MAX_EXACT_PASSAGES,
    NODES_PER_PAGE,
    Damaged,
    Overlay,
    Progress,
    Scope,
    SmallViews,
    changes_after,
    cut_at_tie,
    earlier_state,
    no_proposals,
    nodes_with_long_values,
    passing_nodes,
    quantise_query,
    read_terms,
    term_weights,
)
from weft.store.embedded import lexical, vectors
from weft.store.embedded.files import G, Generations, VerifiedFiles, record_digests
from weft.store.embedded.lexical import LexicalWriter
from weft.store.embedded.vector_writer import VectorWriter, start_columns

if TYPE_CHECKING:
    from weft.ports.stores import Ids, Scores, Vectors


_CACHED_OVERLAYS: Final = 8
"""Overlays that are kept, one for each view and distance between files and snapshot; each may hold a whole
store."""
_MAX_CACHED_ROWS: Final = 65_536
"""Rows of a scope that are kept for the next search. Searching more takes so long that choosing them again does
not matter."""
_LOCK_POLL_SECONDS: Final = 0.01
"""Pause between two tries to take the lock of the folder."""
# A note for the reader, where the files no longer know what changed since its snapshot.
_CHANGED_MEANWHILE: Final = (
    "The store was changed in bulk while it was being read: passages written meanwhile were left out. Ask again."
)

LEXICAL_FOLDER: Final = "lexical"
"""The folder of tantivy's files, which no other files may share."""
DAMAGE_MARK: Final = "damaged"
"""The file that a reader leaves when it met damage, to make the next writer start anew."""
_NODES_PER_PAGE: Final = 1000
"""Changed nodes that are in memory at once."""
_PASSAGES_PER_COMMIT: Final = 50_000
"""Passages after which a long catch-up commits. Each commit makes new segments, which must be merged; a killed
writer loses at most so much work."""

Writer = LexicalWriter | VectorWriter


class EmbeddedIndex:
    """A `ports.Index` over files in a folder.

    An index that knows the store lets readers too make the files, where there are none or they are far behind.
    Views of up to `exact_below` passages are searched for words without any files.
    """

    def __init__(
        self,
        folder: Path,
        store: Store | None = None,
        busy_seconds: float = 60.0,
        exact_below: int = MAX_EXACT_PASSAGES,
    ) -> None:
        self._folder, self._store, self._busy_seconds = folder, store, busy_seconds
        self._exact_below, self._small = exact_below, SmallViews()
        self._verified: VerifiedFiles = set()
        words = folder / LEXICAL_FOLDER
        # tantivy replaces meta.json with every commit.
        self._lexical = Generations(words / "meta.json", partial(lexical.open_generation, words, self._verified))
        self._vectors = Generations(
            vectors.state_path(folder), partial(vectors.open_generation, folder, self._verified)
        )
        self._overlays = LruCache[Any, Overlay](_CACHED_OVERLAYS)
        self._writer_lock = threading.Lock()
        self._scan_lock = threading.RLock()

    # --- reading -----------------------------------------------------------------------------------------

    def lexical(self, snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Proposals:
        """Return passages that hold any of the terms, most promising first; ties at the cut are included."""
        weights, mean_length = term_weights(snapshot, term_hashes)
        if not weights or limit <= 0:
            return no_proposals()
        # Few passages are compared sooner than the engine is loaded.
        small = self._small.get(snapshot, self._exact_below, read_terms)
        if small is not None:
            return Proposals(*small.lexical(weights, mean_length, passing_nodes(snapshot, filter), limit))
        generation, overlay, notes = self._choose_state(self._lexical, snapshot)
        found = []
        if generation:
            scope = Scope(snapshot.view, filter, overlay.masked, nodes_with_long_values(snapshot, filter))
            try:
                found.append(generation.search(weights, scope, limit))
            except Damaged:
                # Marking closes the files, so the second try has them made anew or scans the snapshot.
                self._mark_damage(self._lexical)
                return self.lexical(snapshot, term_hashes, filter, limit)
        if len(overlay.ids):
            found.append(overlay.lexical(weights, mean_length, passing_nodes(snapshot, filter), limit))
        return Proposals(*_merge(snapshot, found, overlay), notes)

    def semantic(self, snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Proposals:
        """Return the passages nearest to the vector with their exact cosines; ties at the cut are included."""
        query = quantise_query(snapshot, vector, limit)
        if isinstance(query, Proposals):
            return query
        generation, overlay, notes = self._choose_state(self._vectors, snapshot)
        found = []
        # The files may still hold the vectors of the embedder before this one.
        if generation and generation.state.dimensions == len(query):
            rows = _rows_in_scope(generation, overlay, snapshot, filter)
            found.append(generation.search(query, rows, limit))
        if len(overlay.ids):
            found.append(overlay.semantic(query, passing_nodes(snapshot, filter), limit))
        ids, scores = _merge(snapshot, found, overlay)
        return Proposals(*cut_at_tie(ids, scores, limit), notes)

    def _choose_state(
        self, generations: Generations[G], snapshot: Snapshot, may_write: bool = True
    ) -> tuple[G | None, Overlay, tuple[str, ...]]:
        """Return the state of the files to search, the overlay that corrects it, and notes for the reader."""
        generation = generations.nearest(snapshot.identity, snapshot.sequence)
        since = generation.progress.sequence if generation else 0
        if since > snapshot.sequence and generation:
            return self._correct_newer_state(generation, snapshot)
        if since == snapshot.sequence:
            return generation, EMPTY_OVERLAY, ()
        key = (since, snapshot.identity, snapshot.sequence, snapshot.view)
        overlay = self._overlays.get(key)
        if overlay is not None:
            return generation, overlay, _scan_notes(overlay)
        # What is missing may be the whole store: one thread of a process scans it, and the others wait.
        with self._scan_lock:
            # Another thread may have scanned it, or opened a newer state, in the meantime.
            if (
                key in self._overlays
                or generations.nearest(snapshot.identity, snapshot.sequence) is not generation
            ):
                return self._choose_state(generations, snapshot, may_write)
            first = snapshot.changes_since(since, NODES_PER_PAGE)
            is_far_behind = generation is None or not first.complete
            if may_write and is_far_behind and self._try_catch_up():
                return self._choose_state(generations, snapshot, may_write=False)
            overlay = self._overlays.put(key, changes_after(snapshot, since, first))
        return generation, overlay, _scan_notes(overlay)

    def _correct_newer_state(self, generation: G, snapshot: Snapshot) -> tuple[G, Overlay, tuple[str, ...]]:
        key = (generation.progress.sequence, snapshot.identity, snapshot.sequence, snapshot.view)
        # Unknown where the files are too far ahead: then nothing is masked, and a note says so.
        changed = generation.progress.changed_since(snapshot.sequence)
        overlay = self._overlays.get(key) or self._overlays.put(key, earlier_state(snapshot, changed or ()))
        return generation, overlay, () if changed is not None else (_CHANGED_MEANWHILE,)

    # --- writing -----------------------------------------------------------------------------------------

    def catch_up(self, store: Store) -> int:
        """Bring the derived files up to the store's sequence and return it."""
        self._store = store
        try:
            with self._write_lock(self._busy_seconds), store.snapshot_of_all_tenants() as snapshot:
                return catch_up(self._folder, snapshot, self._verified)
        except StoreReadOnly:
            # A copy on a disk that takes no writes is as good as any while nothing is missing.
            with store.snapshot_of_all_tenants() as snapshot:
                if self._is_caught_up(snapshot):
                    return snapshot.sequence
            raise

    def _is_caught_up(self, snapshot: Snapshot) -> bool:
        """Return whether both searches can be answered from the files alone."""
        states = (
            self._lexical.nearest(snapshot.identity, snapshot.sequence),
            self._vectors.nearest(snapshot.identity, snapshot.sequence),
        )
        return all(state and state.progress.sequence == snapshot.sequence for state in states)

    def rebuild(self, store: Store) -> int:
        """Derive everything anew from the store and return the sequence reached."""
        self._mark_damage(self._lexical)
        self._mark_damage(self._vectors)
        return self.catch_up(store)

    def _try_catch_up(self) -> bool:
        """Catch up unless another writer is at it or the folder takes no writes; return whether it was done."""
        if self._store is None:
            return False
        try:
            # Without waiting: a reader can scan instead.
            with self._write_lock(0.0), self._store.snapshot_of_all_tenants() as snapshot:
                catch_up(self._folder, snapshot, self._verified)
        except (StoreBusy, StoreReadOnly):
            return False
        return True

    @contextmanager
    def _write_lock(self, seconds: float) -> Iterator[None]:
        """Hold the right to write the folder for the block; raise StoreBusy or StoreReadOnly."""
        # Most processes only read, and start sooner without this library.
        from filelock import FileLock, Timeout

        # The file lock keeps processes apart, this one the threads of a process.
        if not self._writer_lock.acquire(timeout=seconds):
            raise StoreBusy(self._busy_message(seconds))
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self._folder / "index.lock", timeout=seconds, poll_interval=_LOCK_POLL_SECONDS):
                yield
        except Timeout as error:
            raise StoreBusy(self._busy_message(seconds)) from error
        except (OSError, Damaged) as error:
            raise StoreReadOnly(
                f"The search index in {self._folder} cannot be written: {error}. Searches scan the store itself; "
                "make the folder writable, or copy the store to a disk that takes writes."
            ) from error
        finally:
            self._writer_lock.release()

    def _busy_message(self, seconds: float) -> str:
        return (
            f"The search index in {self._folder} has been kept by another writer for more than {seconds:g} "
            "seconds. Wait for it to finish; until then searches scan the store itself."
        )

    def _mark_damage(self, generations: Generations[Any]) -> None:
        """Leave a mark that makes the next writer start anew, and stop using the files."""
        generations.clear()
        with suppress(OSError):
            (self._folder / DAMAGE_MARK).touch()

    # --- status and closing ------------------------------------------------------------------------------

    def status(self) -> Mapping[str, str | int]:
        """Return the sequence numbers reached, how many entries the files hold, and their bytes on disk."""
        words, rows = self._lexical.latest(), self._vectors.latest()
        return {
            "folder": str(self._folder),
            "lexical_sequence": words.progress.sequence if words else 0,
            "vector_sequence": rows.progress.sequence if rows else 0,
            # One document is the marker.
            "passages": words.searcher.num_docs - 1 if words else 0,
            "vectors": rows.state.rows - rows.state.dead if rows else 0,
            "dimensions": rows.state.dimensions if rows else 0,
            "bytes": _count_bytes(self._folder),
        }

    def close(self) -> None:
        """Close the files and drop what was cached."""
        self._lexical.clear()
        self._vectors.clear()
        self._overlays.clear()
        self._small.clear()


def _count_bytes(folder: Path) -> int:
    """Return the bytes of the files in a folder; files that another process replaces meanwhile count nothing."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(where, name).stat().st_size
    return total


def _rows_in_scope(
    generation: vectors.VectorGeneration, overlay: Overlay, snapshot: Snapshot, filter: Filter
) -> "Ids | None":
    """Return the rows that a search may return; None means all."""
    # The same filter is asked for again and again, and between two writes its rows stay the same.
    key = (snapshot.sequence, snapshot.view, filter)
    cached = generation.row_cache.get(key)
    if cached is not None:
        return cached
    # There is no column for these parts of a filter, so the snapshot answers them.
    without_columns = Filter(tags=filter.tags, where=filter.where)
    nodes = None if without_columns.empty else snapshot.matching_ids(without_columns)
    rows = generation.rows(Scope(snapshot.view, filter, overlay.masked, nodes))
    return rows if rows is None or len(rows) > _MAX_CACHED_ROWS else generation.row_cache.put(key, rows)


def _merge(snapshot: Snapshot, found: "Sequence[tuple[Ids, Scores]]", overlay: Overlay) -> "tuple[Ids, Scores]":
    """Return all that was found, best first, without passages that the snapshot lacks."""
    ids = np.concatenate([ids for ids, _ in found] or [np.zeros(0, dtype=np.int64)])
    scores = np.concatenate([scores for _, scores in found] or [np.zeros(0)])
    order = np.lexsort((ids, -scores))
    ids, scores = ids[order], scores[order]
    # Files at the snapshot's own sequence number hold nothing that it lacks.
    if overlay is not EMPTY_OVERLAY:
        kept = np.isin(ids, [row.id for row in snapshot.passages(ids.tolist())])
        ids, scores = ids[kept], scores[kept]
    return ids, scores


def _scan_notes(overlay: Overlay) -> tuple[str, ...]:
    """Return the note for a reader whose search had to scan much of the store."""
    if len(overlay.ids) < NODES_PER_PAGE:
        return ()
    return (
        f"The search index is missing, damaged or far behind: {len(overlay.ids)} passages were scanned in "
        "the store. Results are complete but slower; `weft index` brings the search index up to date.",
    )


# --- catching up -------------------------------------------------------------------------------------------


def catch_up(folder: Path, snapshot: Snapshot, verified: VerifiedFiles) -> int:
    """Bring the files in the folder up to the snapshot and return its sequence; the caller holds the lock.

    Files that are missing, damaged, of another format, of another store or beyond the snapshot are made anew.
    `verified` remembers which files were found to be as they were written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # Readers may not delete files that others have open; they leave it to the writer.
    if (folder / DAMAGE_MARK).exists():
        _remove_derived(folder)
    try:
        _write(folder, snapshot, verified)
    # Once more from nothing; if that fails too, it is not the files that are broken.
    except Damaged:
        _remove_derived(folder)
        _write(folder, snapshot, verified)
    return snapshot.sequence


def _remove_derived(folder: Path) -> None:
    # The mark of damage goes last: a writer that is killed before leaves it for the next one.
    shutil.rmtree(folder / LEXICAL_FOLDER, ignore_errors=True)
    vectors.state_path(folder).unlink(missing_ok=True)
    (folder / DAMAGE_MARK).unlink(missing_ok=True)


def _write(folder: Path, snapshot: Snapshot, verified: VerifiedFiles) -> None:
    progress = _lexical_progress(folder, snapshot, verified)
    state = _vector_state(folder, snapshot, verified)
    # A writer may have been killed between the commits of the two kinds of files.
    since = min(progress.sequence, state.progress.sequence)
    if since == snapshot.sequence:
        return
    first = snapshot.changes_since(since, _NODES_PER_PAGE)
    writers: list[Writer] = []
    with contextlib.ExitStack() as stack:
        if state.progress.sequence < snapshot.sequence:
            writers.append(VectorWriter(folder, state))
        if progress.sequence < snapshot.sequence:
            words = LexicalWriter(folder / LEXICAL_FOLDER, progress, bulk=not first.complete)
            # Called in reverse: closing merges segments, and only then are the files final.
            stack.callback(record_digests, folder / LEXICAL_FOLDER, lexical.digests_path(folder / LEXICAL_FOLDER))
            stack.callback(words.close)
            writers.append(words)
        for sequence in _add_pages(snapshot, first, writers):
            for writer in writers:
                if writer.progress.sequence < sequence:
                    writer.commit(sequence)


def _add_pages(snapshot: Snapshot, page: RecentChanges, writers: list[Writer]) -> Iterator[int]:
    """Add each page to the writers that lack it, and yield the sequence numbers at which to commit."""
    pending = 0
    while True:
        # The last page reaches the snapshot even where the last writes changed no node.
        reached = snapshot.sequence if page.complete else page.sequence
        for writer in writers:
            if writer.progress.sequence < reached:
                writer.add(page.changed_nodes, page.passages)
        pending += len(page.passages)
        if reached == snapshot.sequence or pending >= _PASSAGES_PER_COMMIT:
            pending = 0
            yield reached
        if reached == snapshot.sequence:
            return
        page = snapshot.changes_since(reached, _NODES_PER_PAGE)


def _lexical_progress(folder: Path, snapshot: Snapshot, verified: VerifiedFiles) -> Progress:
    try:
        progress = lexical.open_generation(folder / LEXICAL_FOLDER, verified).progress
    except Damaged:
        return Progress(snapshot.identity)
    return progress if _continues(progress, snapshot) else Progress(snapshot.identity)


def _vector_state(folder: Path, snapshot: Snapshot, verified: VerifiedFiles) -> vectors.VectorState:
    dimensions = (snapshot.embedder() or ("", 0))[1]
    try:
        state = vectors.open_generation(folder, verified).state
    except Damaged:
        return start_columns(folder, snapshot.identity, dimensions)
    # Another embedder needs rows of another width.
    if _continues(state.progress, snapshot) and state.dimensions == dimensions:
        return state
    return start_columns(folder, snapshot.identity, dimensions)


def _continues(progress: Progress, snapshot: Snapshot) -> bool:
    """Return whether the files are of this store, and not of a later state that a restored copy has lost."""
    return progress.identity == snapshot.identity and progress.sequence <= snapshot.sequence
