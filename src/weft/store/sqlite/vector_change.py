"""Change the vectors of a whole store to those of another embedder, a batch at a time.

The store remembers the new embedder at once and drops the old vectors, which no question can be compared with any
more. The passages that wait for a new vector are one range of ids, kept in `meta`: passages that are written
meanwhile have higher ids, and their vectors already. So an interrupted change is continued by the next writer.
"""

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

import orjson
from msgspec import Struct

from weft.ports import PassageRow
from weft.store.records import PASSAGE_COLUMNS, read_passages
from weft.store.sqlite.lookup import WAITING_VECTORS, names_by_number, read_meta, waiting_range
from weft.store.sqlite.write import next_sequence

if TYPE_CHECKING:
    from weft.store.sqlite.store import SqliteStore


class WaitingPassage(Struct, frozen=True):
    """A passage without a vector of the new embedder, and its packed snippets."""

    row: PassageRow
    snippets: bytes


class NewVectors(Struct, frozen=True):
    """The new vectors of a passage: its own, and its snippets packed with theirs."""

    passage_id: int
    vector: bytes
    snippets: bytes


def begin_change(store: "SqliteStore", name: str, dimensions: int) -> None:
    """Drop all vectors and let every passage wait for one of the embedder of that name."""

    def begin(connection: sqlite3.Connection) -> None:
        sequence = next_sequence(connection, names_by_number(connection, "tenants"))
        (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM passages").fetchone()
        connection.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)",
            [
                ("embedder", orjson.dumps([name, dimensions]).decode()),
                (WAITING_VECTORS, orjson.dumps([0, last]).decode()),
            ],
        )
        connection.execute("DELETE FROM vectors")
        # Derived files hold the old vectors: every node must reach them again.
        connection.execute("UPDATE nodes SET changed = ?", (sequence,))

    store.transact(begin)


def next_waiting(connection: sqlite3.Connection, limit: int) -> list[WaitingPassage]:
    """Return the next passages that wait, by id."""
    waiting = waiting_range(read_meta(connection))
    if waiting is None:
        return []
    rows = connection.execute(
        f"SELECT {PASSAGE_COLUMNS}, p.snippets FROM passages p WHERE p.id > ? AND p.id <= ? ORDER BY p.id LIMIT ?",
        (*waiting, limit),
    ).fetchall()
    passages = read_passages(row[:-1] for row in rows)
    return [WaitingPassage(passage, row[-1] or b"") for passage, row in zip(passages, rows, strict=True)]


def store_vectors(store: "SqliteStore", new: Sequence[NewVectors]) -> None:
    """Store the new vectors of the next passages that wait, which are done with it."""

    def write(connection: sqlite3.Connection) -> None:
        waiting = waiting_range(read_meta(connection))
        assert waiting is not None, "a change of vectors was begun"
        sequence = next_sequence(connection, names_by_number(connection, "tenants"))
        connection.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
            [(row.passage_id, row.vector) for row in new if row.vector],
        )
        connection.executemany(
            "UPDATE passages SET snippets = ? WHERE id = ?",
            [(row.snippets, row.passage_id) for row in new if row.snippets],
        )
        connection.executemany(
            "UPDATE nodes SET changed = ? WHERE id = (SELECT node_id FROM passages WHERE id = ?)",
            [(sequence, row.passage_id) for row in new],
        )
        # In the same transaction as the vectors: a process that is killed has stored both or neither.
        done = orjson.dumps([new[-1].passage_id, waiting[1]]).decode()
        connection.execute("UPDATE meta SET value = ? WHERE name = ?", (done, WAITING_VECTORS))

    store.transact(write)


def finish_change(store: "SqliteStore") -> None:
    """Record that no passage waits any more."""
    store.transact(lambda connection: connection.execute("DELETE FROM meta WHERE name = ?", (WAITING_VECTORS,)))
