"""Bring derived files up to a store, page by page.

Each kind of file has its own progress and commits it together with what it adds, so that a writer may be killed at
any point: the next one goes on from the last commit.
"""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from weft.ports import RecentChanges, Snapshot
from weft.store.derived import Damaged, Progress
from weft.store.embedded import lexical, vectors
from weft.store.embedded.files import VerifiedFiles, record_digests
from weft.store.embedded.lexical import LexicalWriter
from weft.store.embedded.vector_writer import VectorWriter, start_columns

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
