"""Keep the second vectors of an embedded store, those of a better embedder that arrive in the background.

A passage waits as long as it has no row: one that is written anew has a new id and waits again, and its old row
goes with it. So nothing needs to be remembered about an interruption.
"""

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from weft.ports import QualityState
from weft.store.records import PASSAGE_COLUMNS, read_passages
from weft.store.sqlite.snapshot import QUALITY, read_quality
from weft.store.sqlite.vector_change import WaitingPassage

if TYPE_CHECKING:
    from weft.store.sqlite.store import SqliteStore


def begin_quality(store: "SqliteStore", name: str, dimensions: int) -> None:
    """Let every passage wait for a vector of the embedder of that name; those that it made already are kept."""
    known = store.read(read_quality)
    if known is not None and (known.embedder, known.dimensions) == (name, dimensions):
        return

    def begin(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM quality_vectors")
        _write_state(connection, QualityState(name, dimensions))

    store.transact(begin)


def drop_quality(store: "SqliteStore") -> bool:
    """Remove all second vectors, and return whether the store had any."""

    def drop(connection: sqlite3.Connection) -> bool:
        connection.execute("DELETE FROM quality_vectors")
        return connection.execute("DELETE FROM meta WHERE name = ?", (QUALITY,)).rowcount > 0

    return store.read(read_quality) is not None and store.transact(drop)


def finish_quality(store: "SqliteStore") -> None:
    """Record that every passage has had its vector."""

    def finish(connection: sqlite3.Connection) -> None:
        state = read_quality(connection)
        if state is not None and not state.is_complete:
            _write_state(connection, msgspec.structs.replace(state, is_complete=True))

    store.transact(finish)


def _write_state(connection: sqlite3.Connection, state: QualityState) -> None:
    value = msgspec.json.encode(state).decode()
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (QUALITY, value))


def count_without_quality(connection: sqlite3.Connection) -> int:
    """Return how many passages wait for a second vector; 0 where the store is to have none."""
    if read_quality(connection) is None:
        return 0
    return int(
        connection.execute(
            "SELECT count(*) FROM passages p WHERE NOT EXISTS"
            " (SELECT 1 FROM quality_vectors q WHERE q.passage_id = p.id)"
        ).fetchone()[0]
    )


def next_without_quality(
    connection: sqlite3.Connection, kinds: Sequence[str], after: int, limit: int
) -> list[WaitingPassage]:
    """Return the next passages behind an id that wait for a second vector, of nodes of these kinds, by id."""
    rows = connection.execute(
        f"SELECT {PASSAGE_COLUMNS}, p.snippets FROM passages p JOIN nodes n ON n.id = p.node_id"
        " WHERE p.id > ? AND n.kind_id IN (SELECT k.id FROM kinds k JOIN json_each(?) j ON k.name = j.value)"
        " AND NOT EXISTS (SELECT 1 FROM quality_vectors q WHERE q.passage_id = p.id) ORDER BY p.id LIMIT ?",
        (after, msgspec.json.encode(list(kinds)).decode(), limit),
    ).fetchall()
    passages = read_passages(row[:-1] for row in rows)
    return [WaitingPassage(passage, row[-1] or b"") for passage, row in zip(passages, rows, strict=True)]


def store_quality(store: "SqliteStore", vectors: Sequence[tuple[int, bytes]]) -> None:
    """Store the second vectors of some passages; those that were removed meanwhile take none."""
    rows = [(passage_id, packed, passage_id) for passage_id, packed in vectors]
    store.transact(
        lambda connection: connection.executemany(
            "INSERT OR REPLACE INTO quality_vectors"
            " SELECT ?, ? WHERE EXISTS (SELECT 1 FROM passages WHERE id = ?)",
            rows,
        )
    )
