"""The file of kept contexts: a SQLite file of its own, so that nobody waits for the store's lock."""

import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import orjson

from weft.errors import InvalidInput, StoreError
from weft.history.record import Record, from_bytes, joined, to_bytes
from weft.model import Received, Shown

FILE_NAME: Final = "contexts.sqlite"
KEPT_CONTEXTS: Final = 1000
KEPT_SESSIONS: Final = 200
_WAIT_SECONDS: Final = 5.0
_TURN_SECONDS: Final = 0.02
_VERSION: Final = 2
_SHORTEST_PREFIX: Final = 4
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS contexts (
    place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS sessions (place INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS received (
    session TEXT NOT NULL, tenant TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, spans TEXT,
    PRIMARY KEY (session, tenant, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claims (
    session TEXT NOT NULL, what TEXT NOT NULL, PRIMARY KEY (session, what)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claims_by_what ON claims (what);
"""


class History:
    """The contexts handed out from one store, newest kept, and what each named session was shown."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / FILE_NAME
        self._writer: sqlite3.Connection | None = None
        self._guard = threading.Lock()

    def keep(self, record: Record, session: str | None, shown: Mapping[tuple[str, str], Shown]) -> None:
        """Write a context down, and what it showed to its session; the oldest ones make room."""
        with self._writing() as connection:
            _put_context(connection, record)
            if session is not None:
                _put_session(connection, session, shown)

    def find(self, name: str) -> Record:
        """The kept context with this id, or with an id that begins like this."""
        found = self._matching(name)
        if len(found) != 1:
            raise InvalidInput(self._unknown(name, [each for each, _ in found]))
        return from_bytes(zlib.decompress(found[0][1]))

    def recent(self, limit: int) -> tuple[Record, ...]:
        """The contexts handed out last, newest first."""
        rows = self._read("SELECT body FROM contexts ORDER BY place DESC LIMIT ?", (limit,))
        return tuple(from_bytes(zlib.decompress(body)) for (body,) in rows)

    def received(self, session: str) -> Received:
        """What a session was shown so far; a name that was never used has received nothing."""
        rows = self._read("SELECT tenant, key, fingerprint, spans FROM received WHERE session = ?", (session,))
        return Received(session, {(row[0], row[1]): Shown(row[2], _spans(row[3])) for row in rows})

    def claim(self, session: str, what: str) -> bool:
        """Whether this is new to the session, which has it from now on; of several at once, one gets it."""
        with self._writing() as connection:
            _touch(connection, session)
            return connection.execute("INSERT OR IGNORE INTO claims VALUES (?, ?)", (session, what)).rowcount == 1

    def claimants(self, what: str) -> tuple[str, ...]:
        """The sessions that have claimed something."""
        # Through the writer, which first brings a file that an older Weft made up to date.
        with self._writing() as connection:
            rows = connection.execute("SELECT session FROM claims WHERE what = ? ORDER BY session", (what,))
            return tuple(row[0] for row in rows)

    def close(self) -> None:
        """Let go of the file."""
        with self._guard:
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    def _matching(self, name: str) -> list[tuple[str, bytes]]:
        if len(name) < _SHORTEST_PREFIX:
            return []
        ends = (name, f"{name}\U0010ffff")
        return self._read("SELECT id, body FROM contexts WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 3", ends)

    def _unknown(self, name: str, several: list[str]) -> str:
        if several:
            return f"Several kept contexts begin with {name!r}: {', '.join(several)}. Give more of the id."
        known = ", ".join(each.id for each in self.recent(5)) or "(none)"
        return (
            f"No kept context has the id {name!r}. The latest are: {known}. `weft history` lists them; the "
            f"{KEPT_CONTEXTS:,} newest are kept."
        )

    def _read(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        if not self.file.is_file():
            return []
        with explained(self.file):
            address = f"file:{quote(self.file.resolve().as_posix())}?mode=ro"
            connection = sqlite3.connect(address, uri=True, timeout=_WAIT_SECONDS)
            try:
                return connection.execute(statement, values).fetchall()
            finally:
                connection.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._guard, explained(self.file):
            if self._writer is None:
                self._writer = _open(self.file)
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            finally:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")


@contextmanager
def explained(file: Path) -> Iterator[None]:
    """Turn SQLite's errors inside the block into ours, with what to do next."""
    try:
        yield
    except (sqlite3.Error, zlib.error) as error:
        raise StoreError(
            f"The kept contexts in {file} cannot be used ({error}). Nothing else depends on that file: check its "
            "permissions, or delete it to begin anew."
        ) from error


def _open(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > _VERSION:
            raise sqlite3.DatabaseError(f"it was written by a newer Weft, version {version}")
        if version < _VERSION:
            connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {_VERSION}; COMMIT;")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Let readers and a writer go on beside each other; of those who open a new file at once, one sets it."""
    last = time.monotonic() + _WAIT_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            # This statement does not wait for its turn as others do.
            if time.monotonic() > last:
                raise
            time.sleep(_TURN_SECONDS)


def _put_context(connection: sqlite3.Connection, record: Record) -> None:
    connection.execute("DELETE FROM contexts WHERE id = ?", (record.id,))
    body = zlib.compress(to_bytes(record), 1)
    connection.execute("INSERT INTO contexts (id, body) VALUES (?, ?)", (record.id, body))
    connection.execute(
        "DELETE FROM contexts WHERE place <= (SELECT place FROM contexts ORDER BY place DESC LIMIT 1 OFFSET ?)",
        (KEPT_CONTEXTS,),
    )


def _put_session(connection: sqlite3.Connection, session: str, shown: Mapping[tuple[str, str], Shown]) -> None:
    _touch(connection, session)
    for (tenant, key), now in sorted(shown.items()):
        place = (session, tenant, key)
        row = connection.execute(
            "SELECT fingerprint, spans FROM received WHERE session = ? AND tenant = ? AND key = ?", place
        ).fetchone()
        both = joined(None if row is None else Shown(row[0], _spans(row[1])), now)
        spans = None if both.spans is None else orjson.dumps(both.spans).decode()
        connection.execute(
            "INSERT OR REPLACE INTO received VALUES (?, ?, ?, ?, ?)", (*place, both.fingerprint, spans)
        )


def _touch(connection: sqlite3.Connection, session: str) -> None:
    """Make a session the one that was used last; the oldest ones make room."""
    connection.execute("DELETE FROM sessions WHERE name = ?", (session,))
    connection.execute("INSERT INTO sessions (name) VALUES (?)", (session,))
    connection.execute(
        "DELETE FROM sessions WHERE place <= (SELECT place FROM sessions ORDER BY place DESC LIMIT 1 OFFSET ?)",
        (KEPT_SESSIONS,),
    )
    for table in ("received", "claims"):
        connection.execute(f"DELETE FROM {table} WHERE session NOT IN (SELECT name FROM sessions)")


def _spans(kept: str | None) -> tuple[tuple[int, int], ...] | None:
    return None if kept is None else tuple((start, end) for start, end in orjson.loads(kept))
