"""Bringing derived files up to a store: page by page, each file with its own progress, safe to be killed."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from weft.ports import Snapshot, Tail
from weft.store.embedded import lexical, vectors
from weft.store.embedded.files import Intact, record_digests
from weft.store.embedded.lexical import LexicalWriter
from weft.store.embedded.vectors import VectorWriter, started
from weft.store.progress import Damaged, Progress

LEXICAL: Final = "lexical"
DAMAGED: Final = "damaged"
_PAGE: Final = 1000
_COMMIT: Final = 50_000

Writer = LexicalWriter | VectorWriter


def catch_up(folder: Path, snapshot: Snapshot, intact: Intact) -> int:
    """Bring the files in the folder up to the snapshot and return its sequence; the caller holds the lock.

    Files that are missing, damaged, of another format, of another store or beyond the snapshot start anew.
    `intact` remembers which vectors were found to be as they were written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / DAMAGED).exists():
        _forget(folder)
    try:
        _write(folder, snapshot, intact)
    except Damaged:
        _forget(folder)
        _write(folder, snapshot, intact)
    return snapshot.sequence


def _forget(folder: Path) -> None:
    """Remove everything derived but the lock, the mark of damage last."""
    shutil.rmtree(folder / LEXICAL, ignore_errors=True)
    vectors.state_path(folder).unlink(missing_ok=True)
    (folder / DAMAGED).unlink(missing_ok=True)


def _write(folder: Path, snapshot: Snapshot, intact: Intact) -> None:
    progress, state = _lexical_progress(folder, snapshot, intact), _vector_state(folder, snapshot, intact)
    since = min(progress.sequence, state.progress.sequence)
    if since == snapshot.sequence:
        return
    first = snapshot.tail(since, _PAGE)
    writers: list[Writer] = []
    with contextlib.ExitStack() as stack:
        if state.progress.sequence < snapshot.sequence:
            writers.append(VectorWriter(folder, state))
        if progress.sequence < snapshot.sequence:
            words = LexicalWriter(folder / LEXICAL, progress, bulk=not first.complete)
            stack.callback(record_digests, folder / LEXICAL, lexical.digests_path(folder / LEXICAL))
            stack.callback(words.close)
            writers.append(words)
        for sequence in _pages(snapshot, first, writers):
            for writer in writers:
                if writer.progress.sequence < sequence:
                    writer.commit(sequence)


def _pages(snapshot: Snapshot, page: Tail, writers: list[Writer]) -> Iterator[int]:
    """Hand each page to the writers that lack it; yields the sequences at which to commit."""
    pending = 0
    while True:
        reached = snapshot.sequence if page.complete else page.sequence
        for writer in writers:
            if writer.progress.sequence < reached:
                writer.add(page.changed_nodes, page.passages)
        pending += len(page.passages)
        if reached == snapshot.sequence or pending >= _COMMIT:
            pending = 0
            yield reached
        if reached == snapshot.sequence:
            return
        page = snapshot.tail(reached, _PAGE)


def _lexical_progress(folder: Path, snapshot: Snapshot, intact: Intact) -> Progress:
    try:
        progress = lexical.open_generation(folder / LEXICAL, intact).progress
    except Damaged:
        return Progress(snapshot.identity)
    return progress if _continues(progress, snapshot) else Progress(snapshot.identity)


def _vector_state(folder: Path, snapshot: Snapshot, intact: Intact) -> vectors.VectorState:
    dimensions = (snapshot.embedder() or ("", 0))[1]
    try:
        state = vectors.open_generation(folder, intact).state
    except Damaged:
        return started(folder, snapshot.identity, dimensions)
    if _continues(state.progress, snapshot) and state.dimensions == dimensions:
        return state
    return started(folder, snapshot.identity, dimensions)


def _continues(progress: Progress, snapshot: Snapshot) -> bool:
    """Whether the files are of this store and not from a future that it has lost."""
    return progress.identity == snapshot.identity and progress.sequence <= snapshot.sequence
