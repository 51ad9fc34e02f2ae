"""Give all passages of a store the vectors of another embedder, resumed after an interruption.

An embedded store is searched by words, and by the new vectors as they arrive. A store on a server has room for two
sets of vectors, and the old ones are searched until the switch.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from weft.embed import is_own_model
from weft.errors import EmbedderMismatch
from weft.indexing.prepare import embed_passages, embed_snippets, title_and_heading
from weft.model import Node
from weft.ports import Embedder, Index, ReportProgress, Store
from weft.scoring.snippets import replace_vectors, snippet_spans
from weft.store import SqliteStore
from weft.store.sqlite.lookup import count_waiting
from weft.store.sqlite.snapshot import read_embedder
from weft.store.sqlite.vector_change import (
    NewVectors,
    WaitingPassage,
    begin_change,
    finish_change,
    next_waiting,
    store_vectors,
)

if TYPE_CHECKING:
    from weft.ports import PassageRow
    from weft.store.open import AnyStore
    from weft.store.postgres import PostgresStore


PASSAGES_PER_BATCH: Final = 500
"""Passages of a store that are embedded again and written together: an interruption repeats at most so many."""

ReembedProgress = Callable[[int, int], None]
"""Called with the number of passages embedded so far and the id of the last one."""


# --- an embedded store -------------------------------------------------------------------------------------------


def settle_embedder(store: Store, embed: Embedder | None) -> None:
    """Record the embedder of what is about to be written; raise EmbedderMismatch if the store has another one's.

    A store with the vectors of an earlier model of Weft's own, which is gone, changes to the present one.
    """
    if embed is None:
        return
    try:
        store.remember_embedder(embed.name, embed.dimensions)
    except EmbedderMismatch:
        if not isinstance(store, SqliteStore) or not _is_outdated(store, embed):
            raise
        begin_change(store, embed.name, embed.dimensions)


def _is_outdated(store: SqliteStore, embed: Embedder) -> bool:
    stored = store.read(read_embedder)
    return stored is not None and is_own_model(stored[0]) and is_own_model(embed.name)


def embed_waiting(
    store: Store,
    embed: Embedder | None,
    progress: ReportProgress,
    *,
    passages_per_batch: int = PASSAGES_PER_BATCH,
) -> int:
    """Embed the passages that still wait for a vector of the store's embedder, and return their number."""
    total = count_waiting_passages(store) if embed is not None else 0
    if embed is None or not isinstance(store, SqliteStore) or not total:
        return 0
    done = 0
    while waiting := store.read(lambda connection: next_waiting(connection, passages_per_batch)):
        store_vectors(store, _embed_passages(store, embed, waiting))
        done += len(waiting)
        progress("embedding anew", done, total)
    finish_change(store)
    return done


def count_waiting_passages(store: Store) -> int:
    """Return the number of passages that wait for a vector; on a server, where all are switched at once, 0."""
    return store.read(count_waiting) if isinstance(store, SqliteStore) else 0


def reembed_store(store: "AnyStore", index: Index, embed: Embedder, progress: ReportProgress) -> int:
    """Give every passage of any store a vector of this embedder; return how many passages had none of it yet."""
    embedded = 0

    def count(done: int, last: int) -> None:
        nonlocal embedded
        embedded = done
        progress("embedding anew", done, None)

    if not isinstance(store, SqliteStore):
        for server in store.servers():
            if not is_embedded(server, embed):
                reembed(server, embed, count)
    else:
        with store.writing():
            if store.read(read_embedder) != (embed.name, embed.dimensions):
                begin_change(store, embed.name, embed.dimensions)
            embedded = embed_waiting(store, embed, progress)
    index.catch_up(store)
    return embedded


def _embed_passages(store: SqliteStore, embed: Embedder, waiting: Sequence[WaitingPassage]) -> list[NewVectors]:
    with store.snapshot_of_all_tenants() as snapshot:
        nodes = snapshot.nodes(sorted({each.row.node_id for each in waiting}))
    owned = [(nodes[each.row.node_id].node, each) for each in waiting]
    vectors = embed_passages(embed, [(node, each.row.passage) for node, each in owned])
    return [
        NewVectors(each.row.id, vector, replace_vectors(each.snippets, parts, embed.name) if parts else b"")
        for each, vector, parts in zip(waiting, vectors, embed_their_snippets(embed, owned), strict=True)
    ]


def embed_their_snippets(embed: Embedder, owned: Sequence[tuple[Node, WaitingPassage]]) -> Iterator[list[bytes]]:
    """Yield for each passage, given with its node, the vectors of its snippets."""
    texts = [[node.text[start:end] for start, end in snippet_spans(each.snippets)] for node, each in owned]
    headings = [title_and_heading(node, each.row.passage) for node, each in owned]
    snippets = iter(embed_snippets(embed, list(zip(headings, texts, strict=True))))
    for own in texts:
        yield list(islice(snippets, len(own)))


# --- a store on a server -----------------------------------------------------------------------------------------


def reembed(
    store: "PostgresStore",
    embed: Embedder,
    progress: ReembedProgress,
    *,
    passages_per_batch: int = PASSAGES_PER_BATCH,
) -> int:
    """Embed every passage anew and then switch to the new vectors in one step; return the sequence after it.

    An interrupted run is resumed with the passages that have no vector yet. Others may write meanwhile: the
    passages they add are embedded before the switch, the last of them while writers wait.
    """
    from weft.store.postgres import vector_spaces

    space = vector_spaces.begin_space(store, embed.name, embed.dimensions)

    def embed_missing(after: int) -> int:
        """Embed the passages after an id that lack a vector, and return the last id."""
        done = 0
        while rows := vector_spaces.passages_without_vector(store, space, after, passages_per_batch):
            present = _with_nodes(store, rows)
            vectors = embed_passages(embed, [(node, row.passage) for node, row in present])
            vector_spaces.add_vectors(
                store, space, [(row.id, vector) for (_, row), vector in zip(present, vectors, strict=True)]
            )
            after, done = rows[-1].id, done + len(rows)
            progress(done, after)
        return after

    # Writers are held up only for what they added during the long first pass and the building of the graph.
    last = embed_missing(0)
    vector_spaces.build_graph(store, space, embed.dimensions)
    with store.writing():
        embed_missing(last)
        sequence = vector_spaces.switch_space(store, space)
    vector_spaces.clear_space(store, space - 1)
    return sequence


def is_embedded(store: "PostgresStore", embed: Embedder) -> bool:
    """Return whether the vectors in use are this embedder's already; if so, those before them are removed.

    A process that was killed after the switch leaves the old vectors behind.
    """
    from weft.store.postgres import vector_spaces

    with store.snapshot_of_all_tenants() as snapshot:
        if snapshot.embedder() != (embed.name, embed.dimensions):
            return False
    vector_spaces.clear_space(store, snapshot.space - 1)
    return True


def _with_nodes(store: "PostgresStore", rows: "Sequence[PassageRow]") -> "list[tuple[Node, PassageRow]]":
    with store.snapshot_of_all_tenants() as snapshot:
        nodes = snapshot.nodes([row.node_id for row in rows])
    # A node that was removed meanwhile takes its passages with it.
    return [(nodes[row.node_id].node, row) for row in rows if row.node_id in nodes]
