"""Embed a whole PostgreSQL store with another embedder; the old vectors are searched until the switch."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from weft.indexing.prepare import embedded_text
from weft.ports import Embedder
from weft.scoring.vectors import quantise

if TYPE_CHECKING:
    from weft.ports import PassageRow
    from weft.store.postgres import PostgresStore


_PASSAGES_PER_BATCH: Final = 500
"""Passages embedded and written together: an interruption repeats at most so many."""

ReembedProgress = Callable[[int, int], None]
"""Called with the number of passages embedded so far and the id of the last one."""


def reembed(store: "PostgresStore", embed: Embedder, progress: ReembedProgress) -> int:
    """Embed every passage anew and then switch to the new vectors in one step; return the sequence after it.

    An interrupted run is resumed with the passages that have no vector yet. Others may write meanwhile: the
    passages they add are embedded before the switch, the last of them while writers wait.
    """
    from weft.store.postgres import vector_spaces

    space = vector_spaces.begin_space(store, embed.name, embed.dimensions)
    last = _embed_missing(store, space, embed, 0, progress)
    vector_spaces.build_graph(store, space, embed.dimensions)
    with store.writing():
        _embed_missing(store, space, embed, last, progress)
        sequence = vector_spaces.switch_space(store, space)
    vector_spaces.clear_space(store, space - 1)
    return sequence


def is_embedded(store: "PostgresStore", embed: Embedder) -> bool:
    """Whether the vectors in use are this embedder's already; if so, those before them are removed.

    A process that was killed after the switch leaves the old vectors behind.
    """
    from weft.store.postgres import vector_spaces

    with store.snapshot_of_all_tenants() as snapshot:
        if snapshot.embedder() != (embed.name, embed.dimensions):
            return False
    vector_spaces.clear_space(store, snapshot.space - 1)
    return True


def _embed_missing(
    store: "PostgresStore", space: int, embed: Embedder, after: int, progress: ReembedProgress
) -> int:
    """Embed the passages after an id that lack a vector, and return the last id."""
    from weft.store.postgres import vector_spaces

    done = 0
    while rows := vector_spaces.passages_without_vector(store, space, after, _PASSAGES_PER_BATCH):
        vectors = quantise(embed.embed(_read_texts(store, rows)))
        vector_spaces.add_vectors(
            store, space, [(row.id, vector) for row, vector in zip(rows, vectors, strict=True)]
        )
        after, done = rows[-1].id, done + len(rows)
        progress(done, after)
    return after


def _read_texts(store: "PostgresStore", rows: "Sequence[PassageRow]") -> list[str]:
    with store.snapshot_of_all_tenants() as snapshot:
        nodes = snapshot.nodes([row.node_id for row in rows])
    # A node that was removed meanwhile has no text, and its passages take no vector.
    return [embedded_text(nodes[row.node_id].node, row.passage) if row.node_id in nodes else "" for row in rows]
