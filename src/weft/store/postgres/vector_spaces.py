"""Fill and switch vector spaces: a store may hold the vectors of two embedders, the present and the next one.

Called by `reembed` in `weft.indexing.prepare`, which fills the next space while the present one is searched, and
then switches.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.errors import InvalidInput
from weft.ports import PassageRow
from weft.store.postgres.connection import Connection, connect, copy_rows, fetch_rows, translate_errors
from weft.store.postgres.encode import bigint_array, to_halfvec
from weft.store.postgres.lookup import names_by_number
from weft.store.postgres.nodes import VECTORS
from weft.store.postgres.search import RAISE_BUILD_MEMORY, graph_name, graph_statement, is_broken
from weft.store.postgres.write import next_sequence
from weft.store.records import PASSAGE_COLUMNS, read_passages

if TYPE_CHECKING:
    from weft.store.postgres.store import PostgresStore


def begin_space(store: "PostgresStore", name: str, dimensions: int) -> int:
    """Return the number of the space that a new embedder fills: an empty one, or the one it has begun."""

    def begin(connection: Connection) -> int:
        ((space, *embedder, next_name, next_dimensions),) = fetch_rows(
            connection, "SELECT space, embedder, dimensions, next_embedder, next_dimensions FROM state FOR UPDATE"
        )
        if embedder == [name, dimensions]:
            raise InvalidInput(f"The vectors of this store are made by {name!r} already. Choose another embedder.")
        next_space = int(space) + 1
        if (next_name, next_dimensions) != (name, dimensions):
            # Another embedder may have begun this space and been given up.
            connection.execute("DELETE FROM vectors WHERE space = %s", (next_space,))
            connection.execute("UPDATE state SET next_embedder = %s, next_dimensions = %s", (name, dimensions))
        return next_space

    return store.transact(begin)


def passages_without_vector(store: "PostgresStore", space: int, after: int, limit: int) -> list[PassageRow]:
    """Return the next passages by id that have no vector in a space."""
    with store.snapshot_of_all_tenants() as snapshot:
        rows = snapshot.rows(
            f"SELECT {PASSAGE_COLUMNS} FROM passages p WHERE p.id > %(after)s AND NOT EXISTS (SELECT 1"
            " FROM vectors v WHERE v.space = %(space)s AND v.passage_id = p.id) ORDER BY p.id LIMIT %(limit)s",
            after=after,
            space=space,
            limit=limit,
        )
    return read_passages(rows)


def add_vectors(store: "PostgresStore", space: int, vectors: Sequence[tuple[int, bytes]]) -> None:
    """Add (passage id, vector) pairs to a space, for the passages that are still there."""
    by_passage = {passage_id: vector for passage_id, vector in vectors if vector}

    def add(connection: Connection) -> None:
        ids = bigint_array(by_passage)
        rows = fetch_rows(
            connection, "SELECT id, node_id, tenant_id, position FROM passages WHERE id = ANY(%s)", (ids,)
        )
        # Done again after an interruption, the same vectors must not be there twice.
        connection.execute("DELETE FROM vectors WHERE space = %s AND passage_id = ANY(%s)", (space, ids))
        added = [(row, by_passage[row[0]]) for row in rows]
        copy_rows(connection, VECTORS, [(space, *row, len(vector), to_halfvec(vector)) for row, vector in added])

    store.transact(add)


def build_graph(store: "PostgresStore", space: int, dimensions: int) -> None:
    """Build the index over a space while others read and write."""
    with translate_errors(store.address), connect(store.address) as connection:
        connection.execute(RAISE_BUILD_MEMORY)
        if is_broken(connection, graph_name(space, dimensions)):
            # An unfinished graph blocks its name; CONCURRENTLY lets readers and writers go on.
            connection.execute(f"DROP INDEX CONCURRENTLY {graph_name(space, dimensions)}", prepare=False)
        connection.execute(graph_statement(space, dimensions, "CONCURRENTLY"), prepare=False)


def switch_space(store: "PostgresStore", space: int) -> int:
    """Search the new space from now on and return the sequence; for derived indexes every node has changed."""

    def switch(connection: Connection) -> int:
        sequence = next_sequence(connection, names_by_number(connection, "tenants"))
        connection.execute(
            "UPDATE state SET space = %s, embedder = next_embedder, dimensions = next_dimensions,"
            " next_embedder = NULL, next_dimensions = NULL",
            (space,),
        )
        # Derived indexes hold the old vectors: every node must reach them again.
        connection.execute("UPDATE nodes SET changed = %s", (sequence,))
        return sequence

    return store.transact(switch)


def clear_space(store: "PostgresStore", space: int) -> None:
    """Remove a space that is no longer searched, with its graphs."""

    def clear(connection: Connection) -> None:
        widths = fetch_rows(connection, "SELECT DISTINCT dimensions FROM vectors WHERE space = %s", (space,))
        for (dimensions,) in widths:
            connection.execute(f"DROP INDEX IF EXISTS {graph_name(space, dimensions)}")
        connection.execute("DELETE FROM vectors WHERE space = %s", (space,))

    store.transact(clear)
