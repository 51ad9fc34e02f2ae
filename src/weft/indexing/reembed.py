"""Vectors of another embedder for a whole store, made beside those in use, which are searched until the switch."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from weft.indexing.prepare import embedded_text
from weft.ports import Embedder
from weft.scoring.vectors import quantise

if TYPE_CHECKING:
    from weft.ports import PassageRow
    from weft.store.postgres import PostgresStore


_BATCH: Final = 500

Tell = Callable[[int, int], None]
"""Told how many passages have their vector, and up to which one."""


def reembed(store: "PostgresStore", embed: Embedder, tell: Tell) -> int:
    """Embed every passage anew and then switch to the new vectors in one step; returns the sequence after it.

    Interrupted, it goes on with the passages that have none yet. Others may write meanwhile: what they add is
    embedded before the switch, the last of it while they wait.
    """
    from weft.store.postgres import vector_spaces

    space = vector_spaces.begin_space(store, embed.name, embed.dimensions)
    last = _fill(store, space, embed, 0, tell)
    vector_spaces.make_graph(store, space, embed.dimensions)
    with store.writing():
        _fill(store, space, embed, last, tell)
        sequence = vector_spaces.switch_space(store, space)
    vector_spaces.clear_space(store, space - 1)
    return sequence


def is_embedded(store: "PostgresStore", embed: Embedder) -> bool:
    """Whether the vectors in use are this embedder's already; the ones before may have outlived their worker."""
    from weft.store.postgres import vector_spaces

    with store.everything() as snapshot:
        if snapshot.embedder() != (embed.name, embed.dimensions):
            return False
    vector_spaces.clear_space(store, snapshot.space - 1)
    return True


def _fill(store: "PostgresStore", space: int, embed: Embedder, after: int, tell: Tell) -> int:
    """Embed the passages after an id that lack a vector, and return the last id."""
    from weft.store.postgres import vector_spaces

    done = 0
    while rows := vector_spaces.waiting_passages(store, space, after, _BATCH):
        vectors = quantise(embed.embed(_texts(store, rows)))
        vector_spaces.add_vectors(
            store, space, [(row.id, vector) for row, vector in zip(rows, vectors, strict=True)]
        )
        after, done = rows[-1].id, done + len(rows)
        tell(done, after)
    return after


def _texts(store: "PostgresStore", rows: "Sequence[PassageRow]") -> list[str]:
    with store.everything() as snapshot:
        nodes = snapshot.nodes([row.node_id for row in rows])
    # A node that was removed meanwhile has no text, and its passages take no vector.
    return [embedded_text(nodes[row.node_id].node, row.passage) if row.node_id in nodes else "" for row in rows]
