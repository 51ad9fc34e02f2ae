"""How often memories were handed out, and when last: a file of its own, so that reading never writes the store."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote

from weft.errors import StoreError
from weft.frozen import dataclass

FILE_NAME: Final = "usage.sqlite"
_WAIT_SECONDS: Final = 2.0
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS used (
    tenant TEXT NOT NULL, key TEXT NOT NULL, times INTEGER NOT NULL, last TEXT NOT NULL, PRIMARY KEY (tenant, key)
) WITHOUT ROWID
"""
_USE: Final = (
    "INSERT INTO used VALUES (?, ?, 1, ?)"
    " ON CONFLICT DO UPDATE SET times = times + 1, last = max(last, excluded.last)"
)


@dataclass(frozen=True, slots=True)
class Used:
    """How often something was handed out, and when last."""

    times: int = 0
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class UsageBook:
    """The uses of one store's memories, by tenant and key; pages never depend on it."""

    folder: Path

    @property
    def file(self) -> Path:
        """Where the uses are written down."""
        return self.folder / FILE_NAME

    def note(self, slots: Sequence[tuple[str, str]], now: datetime) -> None:
        """Write down that these were handed out now."""
        with (
            self._explained(),
            closing(sqlite3.connect(self.file, timeout=_WAIT_SECONDS)) as connection,
            connection,
        ):
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(_TABLE)
            connection.executemany(_USE, [(tenant, key, now.isoformat()) for tenant, key in sorted(set(slots))])

    def uses(self, slots: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], Used]:
        """The uses of each of these that was ever handed out."""
        if not self.file.is_file():
            return {}
        address = f"file:{quote(self.file.resolve().as_posix())}?mode=ro"
        found = {}
        with self._explained(), closing(sqlite3.connect(address, uri=True, timeout=_WAIT_SECONDS)) as connection:
            for slot in dict.fromkeys(slots):
                row = connection.execute(
                    "SELECT times, last FROM used WHERE tenant = ? AND key = ?", slot
                ).fetchone()
                if row is not None:
                    found[slot] = Used(row[0], datetime.fromisoformat(row[1]))
        return found

    def forget(self, slots: Sequence[tuple[str, str]]) -> None:
        """Take these out."""
        if not self.file.is_file():
            return
        with (
            self._explained(),
            closing(sqlite3.connect(self.file, timeout=_WAIT_SECONDS)) as connection,
            connection,
        ):
            connection.executemany("DELETE FROM used WHERE tenant = ? AND key = ?", sorted(set(slots)))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"The uses of memories in {self.file} cannot be read or written ({error}). Nothing else depends "
                "on that file: check its permissions, or delete it to begin anew."
            ) from error
