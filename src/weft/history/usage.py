"""Count how often memories were used and hooks spoke, in a file of its own: reading never writes the store."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from weft.errors import StoreError
from weft.model import NodeRef

FILE_NAME: Final = "usage.sqlite"
"""The file beside the store."""
_LOCK_TIMEOUT_SECONDS: Final = 2.0
"""How long to wait for another process that counts: an answer is not worth delaying for longer."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS used (
    tenant TEXT NOT NULL, key TEXT NOT NULL, times INTEGER NOT NULL, last TEXT NOT NULL, PRIMARY KEY (tenant, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS turns (
    day TEXT PRIMARY KEY, spoke INTEGER NOT NULL, silent INTEGER NOT NULL, given INTEGER NOT NULL,
    used INTEGER NOT NULL
) WITHOUT ROWID;
"""
"""Created by the first count; a file of an older version may have one of them only."""
_COUNT_USE: Final = (
    "INSERT INTO used VALUES (?, ?, 1, ?)"
    " ON CONFLICT DO UPDATE SET times = times + 1, last = max(last, excluded.last)"
)
"""The larger time stays, because two processes may count in either order."""

_COUNT_TURN: Final = (
    "INSERT INTO turns VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET spoke = spoke + excluded.spoke,"
    " silent = silent + excluded.silent, given = given + excluded.given, used = used + excluded.used"
)


class HookCounts(Struct, frozen=True):
    """How often the hook for prompts spoke and kept silent, and how many of the items it gave were used later."""

    spoke: int = 0
    silent: int = 0
    given: int = 0
    used: int = 0


class MemoryUsage(Struct, frozen=True):
    """The number of times a memory was used, and the last time."""

    times: int = 0
    last: datetime | None = None


class UsageLog(Struct, frozen=True):
    """The uses of one store's memories, by tenant and key. No page depends on it, so losing it does no harm."""

    folder: Path

    @property
    def file(self) -> Path:
        """The path of the file that holds the counts."""
        return self.folder / FILE_NAME

    def record_uses(self, refs: Sequence[NodeRef], now: datetime) -> None:
        """Count a use of each of these now."""
        with self._writing() as connection:
            connection.executemany(
                _COUNT_USE, [(tenant, key, now.isoformat()) for tenant, key in sorted(set(refs))]
            )

    def read_uses(self, refs: Sequence[NodeRef]) -> Mapping[NodeRef, MemoryUsage]:
        """Return the uses of each of these that was ever used."""
        found: dict[NodeRef, MemoryUsage] = {}
        with self._reading("used") as connection:
            if connection is None:
                return found
            for ref in dict.fromkeys(refs):
                row = connection.execute(
                    "SELECT times, last FROM used WHERE tenant = ? AND key = ?", ref
                ).fetchone()
                # Memories that were never used have no row.
                if row is not None:
                    found[ref] = MemoryUsage(row[0], datetime.fromisoformat(row[1]))
        return found

    def record_turn(self, counts: HookCounts, now: datetime) -> None:
        """Add to the counts of the day."""
        with self._writing() as connection:
            values = (f"{now:%Y-%m-%d}", counts.spoke, counts.silent, counts.given, counts.used)
            connection.execute(_COUNT_TURN, values)

    def read_turns(self) -> HookCounts:
        """Return the counts of all days; zeros where no hook ever ran."""
        with self._reading("turns") as connection:
            if connection is None:
                return HookCounts()
            row = connection.execute("SELECT sum(spoke), sum(silent), sum(given), sum(used) FROM turns").fetchone()
            return HookCounts(*(number or 0 for number in row))

    def forget(self, refs: Sequence[NodeRef]) -> None:
        """Delete the counts of these."""
        if self.file.is_file():
            with self._writing() as connection:
                connection.executemany("DELETE FROM used WHERE tenant = ? AND key = ?", sorted(set(refs)))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Give the block a connection inside one transaction."""
        with (
            self._explain_errors(),
            closing(sqlite3.connect(self.file, timeout=_LOCK_TIMEOUT_SECONDS)) as connection,
        ):
            # A count that is lost in a crash is not worth a wait for the disk.
            connection.execute("PRAGMA synchronous = OFF")
            connection.executescript(_TABLES)
            with connection:
                yield connection

    @contextmanager
    def _reading(self, table: str) -> Iterator[sqlite3.Connection | None]:
        """Give the block a connection that makes and changes nothing; None where the table is not there yet."""
        if not self.file.is_file():
            yield None
            return
        address = f"{self.file.resolve().as_uri()}?mode=ro"
        with (
            self._explain_errors(),
            closing(sqlite3.connect(address, uri=True, timeout=_LOCK_TIMEOUT_SECONDS)) as connection,
        ):
            found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone()
            yield connection if found else None

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        """Turn SQLite's errors inside the block into ours, with what to do next."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"The uses of memories in {self.file} cannot be read or written ({error}). Nothing else depends "
                "on that file: check its permissions, or delete it to begin anew."
            ) from error
