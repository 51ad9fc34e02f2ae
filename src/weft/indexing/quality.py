"""Give the passages of an embedded store the vectors of a better embedder, in the order of their worth.

The store is searched by its static vectors meanwhile, and by the better ones as they arrive. Writers wait for one
small transaction at most; an interrupted run is continued by the next.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from filelock import FileLock, Timeout

from weft.indexing.prepare import embedded_text
from weft.indexing.reembed import embed_their_snippets
from weft.ports import Embedder, ReportProgress
from weft.scoring.similarity import quantise
from weft.store import SqliteStore
from weft.store.sqlite.quality_vectors import (
    begin_quality,
    count_without_quality,
    finish_quality,
    next_without_quality,
    store_quality,
)
from weft.store.sqlite.vector_change import WaitingPassage

PASSAGES_PER_BATCH: Final = 32
"""Passages that are embedded and written together, half a second of work: an interruption repeats no more."""
CODE: Final = frozenset({"class", "function", "interface", "method", "type", "file", "module"})
"""Kinds that come after notes and documents: questions about code are answered well by their names."""
HISTORY: Final = frozenset({"commit"})
"""Kinds that come last: there are many, and few questions ask for them."""


def embed_quality(
    store: SqliteStore,
    quality: Embedder,
    progress: ReportProgress,
    *,
    passages_per_batch: int = PASSAGES_PER_BATCH,
) -> int:
    """Embed all passages that wait for a vector of the better embedder, and return their number.

    While another process does the same, nothing is done.
    """
    folder = store.path / "derived"
    folder.mkdir(exist_ok=True)
    try:
        with FileLock(folder / "quality.lock", timeout=0):
            begin_quality(store, quality.name, quality.dimensions)
            total, done = store.read(count_without_quality), 0
            # Looked at again and again: others may write meanwhile.
            while embedded := _embed_all(store, quality, passages_per_batch, progress, done, total):
                done += embedded
            finish_quality(store)
            return done
    except Timeout:
        return 0


def _embed_all(
    store: SqliteStore, quality: Embedder, limit: int, progress: ReportProgress, done: int, total: int
) -> int:
    """Go through all passages that wait once, and return how many there were."""
    embedded = 0
    for kinds in _kinds_by_worth(store):
        after = 0
        while waiting := store.read(partial(next_without_quality, kinds=kinds, after=after, limit=limit)):
            vectors = _embed_passages(store, quality, waiting)
            store_quality(store, vectors)
            after, embedded = waiting[-1].row.id, embedded + len(vectors)
            progress("embedding", done + embedded, max(total, done + embedded))
    return embedded


def _kinds_by_worth(store: SqliteStore) -> list[list[str]]:
    """Return the kinds of the store's nodes in three groups: notes and documents, code, commits."""
    with store.snapshot_of_all_tenants() as snapshot:
        kinds = sorted(snapshot.kinds())
    others = [kind for kind in kinds if kind not in CODE | HISTORY]
    return [others, [kind for kind in kinds if kind in CODE], [kind for kind in kinds if kind in HISTORY]]


def _embed_passages(
    store: SqliteStore, quality: Embedder, waiting: Sequence[WaitingPassage]
) -> list[tuple[int, bytes]]:
    with store.snapshot_of_all_tenants() as snapshot:
        nodes = snapshot.nodes(sorted({each.row.node_id for each in waiting}))
    # A node that was removed meanwhile takes its passages with it.
    present = [(nodes[each.row.node_id].node, each) for each in waiting if each.row.node_id in nodes]
    vectors = quantise(quality.embed([embedded_text(node, each.row.passage) for node, each in present]))
    # All of one width: a text without a word has a vector of zeros.
    return [
        (each.row.id, b"".join([part.ljust(quality.dimensions, b"\0") for part in (vector, *parts)]))
        for (_, each), vector, parts in zip(present, vectors, embed_their_snippets(quality, present), strict=True)
    ]
