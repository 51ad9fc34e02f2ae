"""Two sets of vectors in one store: those that are searched, and those of a coming embedder until the switch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.errors import InvalidInput
from weft.ports import PassageRow
from weft.store.postgres.connection import Link, connect, explained, rows_of
from weft.store.postgres.copy_rows import copy_rows, half_precision
from weft.store.postgres.encode import bigints
from weft.store.postgres.nodes import VECTORS
from weft.store.postgres.search import MEMORY_TO_BUILD, graph_name, graph_statement, is_broken
from weft.store.postgres.write import names_by_number, next_sequence
from weft.store.records import PASSAGE_COLUMNS, passage_rows

if TYPE_CHECKING:
    from weft.store.postgres.store import PostgresStore


def begin_space(store: "PostgresStore", name: str, dimensions: int) -> int:
    """The number of the set that a new embedder fills: a fresh one, or the one it has begun."""

    def begun(link: Link) -> int:
        (known,) = rows_of(
            link, "SELECT space, embedder, dimensions, next_embedder, next_dimensions FROM state FOR UPDATE"
        )
        if known[1:3] == (name, dimensions):
            raise InvalidInput(f"The vectors of this store are made by {name!r} already. Choose another embedder.")
        coming = int(known[0]) + 1
        if known[3:] != (name, dimensions):
            link.execute("DELETE FROM vectors WHERE space = %s", (coming,))
            link.execute("UPDATE state SET next_embedder = %s, next_dimensions = %s", (name, dimensions))
        return coming

    return store.transact(begun)


def waiting_passages(store: "PostgresStore", space: int, after: int, limit: int) -> list[PassageRow]:
    """The next passages by id that have no vector in a set."""
    with store.everything() as snapshot:
        rows = snapshot.rows(
            f"SELECT {PASSAGE_COLUMNS} FROM passages p WHERE p.id > %(after)s AND NOT EXISTS (SELECT 1"
            " FROM vectors v WHERE v.space = %(space)s AND v.passage_id = p.id) ORDER BY p.id LIMIT %(limit)s",
            after=after,
            space=space,
            limit=limit,
        )
    return passage_rows(rows)


def add_vectors(store: "PostgresStore", space: int, vectors: Sequence[tuple[int, bytes]]) -> None:
    """Add (passage, vector) to a set, for the passages that are still there."""
    held = {number: vector for number, vector in vectors if vector}

    def added(link: Link) -> None:
        ids = bigints(held)
        rows = rows_of(link, "SELECT id, node_id, tenant_id, position FROM passages WHERE id = ANY(%s)", (ids,))
        link.execute("DELETE FROM vectors WHERE space = %s AND passage_id = ANY(%s)", (space, ids))
        copy_rows(link, VECTORS, [(space, *row, len(held[row[0]]), half_precision(held[row[0]])) for row in rows])

    store.transact(added)


def make_graph(store: "PostgresStore", space: int, dimensions: int) -> None:
    """Make the index over a set while others read and write."""
    with explained(store.address), connect(store.address) as link:
        link.execute(MEMORY_TO_BUILD)
        if is_broken(link, graph_name(space, dimensions)):
            link.execute(f"DROP INDEX CONCURRENTLY {graph_name(space, dimensions)}", prepare=False)
        link.execute(graph_statement(space, dimensions, "CONCURRENTLY"), prepare=False)


def switch_space(store: "PostgresStore", space: int) -> int:
    """Search the new set from now on, and tell derived indexes that every node changed; returns the sequence."""

    def switched(link: Link) -> int:
        sequence = next_sequence(link, names_by_number(link, "tenants"))
        link.execute(
            "UPDATE state SET space = %s, embedder = next_embedder, dimensions = next_dimensions,"
            " next_embedder = NULL, next_dimensions = NULL",
            (space,),
        )
        link.execute("UPDATE nodes SET changed = %s", (sequence,))
        return sequence

    return store.transact(switched)


def clear_space(store: "PostgresStore", space: int) -> None:
    """Remove a set that is searched no more, with its graph."""

    def cleared(link: Link) -> None:
        widths = rows_of(link, "SELECT DISTINCT dimensions FROM vectors WHERE space = %s", (space,))
        for (width,) in widths:
            link.execute(f"DROP INDEX IF EXISTS {graph_name(space, width)}")
        link.execute("DELETE FROM vectors WHERE space = %s", (space,))

    store.transact(cleared)
