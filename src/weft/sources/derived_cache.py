"""Cache what a source derives from its files beside the store, so that the next run need not derive it again."""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import orjson
from msgspec import Struct

# The columns keep their names, since caches of earlier versions are read on: `face` holds the interface of an
# entry and `mark` the state of its links.
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS remembered (
    name TEXT PRIMARY KEY, stamp TEXT NOT NULL, face TEXT NOT NULL, remark TEXT NOT NULL, mark TEXT NOT NULL,
    content BLOB NOT NULL
) WITHOUT ROWID
"""


class CacheEntry(Struct, frozen=True):
    """One cached file or commit, without its content.

    `stamp` is the state it was derived from, `interface` a digest of the parts that other entries can refer to,
    `remark` a reason to report, and `links_state` a digest of its links, which depend on the other interfaces.
    """

    stamp: str
    interface: str
    remark: str
    links_state: str


class DerivedCache:
    """A SQLite file of derived data; deleting it loses nothing, and a damaged one is replaced by an empty one.

    Without a path the cache lives in memory.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._database: sqlite3.Connection | None = None

    def entries(self) -> dict[str, CacheEntry]:
        """Return all entries by name, in the order of the names."""
        rows = self._connection().execute("SELECT name, stamp, face, remark, mark FROM remembered ORDER BY name")
        return {name: CacheEntry(*rest) for name, *rest in rows}

    def entry(self, name: str) -> tuple[str, bytes] | None:
        """Return the stamp and the content of one entry, or None."""
        found = self._connection().execute("SELECT stamp, content FROM remembered WHERE name = ?", (name,))
        stamp_and_content: tuple[str, bytes] | None = found.fetchone()
        return stamp_and_content

    def stamps(self) -> dict[str, str]:
        """Return the stamps of all entries by name."""
        return dict(self._connection().execute("SELECT name, stamp FROM remembered").fetchall())

    def links_states(self) -> dict[str, str]:
        """Return the state of the links of all entries by name."""
        return dict(self._connection().execute("SELECT name, mark FROM remembered").fetchall())

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Iterate over (name, content) of the entries that have content, in the order of the names."""
        yield from self._connection().execute(
            "SELECT name, content FROM remembered WHERE content != x'' ORDER BY name"
        )

    def contents_of(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of some entries by name."""
        wanted = orjson.dumps(list(names)).decode()
        found = self._connection().execute(
            "SELECT name, content FROM remembered WHERE name IN (SELECT value FROM json_each(?))", (wanted,)
        )
        return dict(found.fetchall())

    # Contents are searched by SQLite, which then need not hand over those of twenty thousand commits.

    def names_holding(self, parts: Iterable[str]) -> set[str]:
        """Return the names of the entries whose content holds one of some texts."""
        found = self._connection().execute(
            "SELECT DISTINCT name FROM json_each(?), remembered WHERE instr(content, CAST(value AS BLOB)) > 0",
            (orjson.dumps(list(parts)).decode(),),
        )
        return {name for (name,) in found}

    def names_matching(self, pattern: str) -> set[str]:
        """Return the names of the entries whose content matches a pattern of SQLite's GLOB."""
        found = self._connection().execute(
            "SELECT name FROM remembered WHERE CAST(content AS TEXT) GLOB ?", (pattern,)
        )
        return {name for (name,) in found}

    def put(self, name: str, stamp: str, content: bytes, interface: str = "", remark: str = "") -> None:
        """Store or replace an entry; the state of its links is empty until it is set."""
        row = (name, stamp, interface, remark, content)
        self._connection().execute("INSERT OR REPLACE INTO remembered VALUES (?, ?, ?, ?, '', ?)", row)

    def set_links_states(self, states: Iterable[tuple[str, str]]) -> None:
        """Set the state of the links of entries, given as (name, state)."""
        self._connection().executemany("UPDATE remembered SET mark = ?2 WHERE name = ?1", states)

    def delete(self, names: Iterable[str]) -> None:
        """Delete the entries of these names."""
        self._connection().executemany("DELETE FROM remembered WHERE name = ?", [(name,) for name in names])

    def close(self) -> None:
        """Commit the changes and close the file; the next call opens it again. A cache in memory stays open."""
        if self._database is not None and self._path is not None:
            self._database.commit()
            self._database.close()
            self._database = None

    def _connection(self) -> sqlite3.Connection:
        if self._database is None:
            self._database = _open_database(self._path)
        return self._database


def _open_database(path: Path | None) -> sqlite3.Connection:
    if path is None:
        return _create_table(sqlite3.connect(":memory:"))
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _create_table(sqlite3.connect(path))
    except sqlite3.DatabaseError:
        path.unlink(missing_ok=True)
        return _create_table(sqlite3.connect(path))


def _create_table(database: sqlite3.Connection) -> sqlite3.Connection:
    # Waiting for the disk buys nothing here: a cache lost in a crash is derived again.
    database.execute("PRAGMA synchronous = OFF")
    database.execute(_TABLE)
    return database
