"""What a source derived from its files, kept beside the store so that the next run need not derive it again."""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from weft.frozen import dataclass

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS remembered (
    name TEXT PRIMARY KEY, stamp TEXT NOT NULL, face TEXT NOT NULL, remark TEXT NOT NULL, mark TEXT NOT NULL,
    content BLOB NOT NULL
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is known of one thing.

    `stamp` tells its state, `face` what others can see of it, `remark` what is to be said of it, and `mark` what
    follows for it from the faces of the others.
    """

    stamp: str
    face: str
    remark: str
    mark: str


class Memory:
    """A file of derived things; deleting it loses nothing, and a damaged one is begun anew."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._database: sqlite3.Connection | None = None

    def known(self) -> dict[str, Remembered]:
        """Everything that is remembered, without its content."""
        rows = self._open().execute("SELECT name, stamp, face, remark, mark FROM remembered ORDER BY name")
        return {name: Remembered(*rest) for name, *rest in rows}

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """The content of everything that has some, by name."""
        yield from self._open().execute("SELECT name, content FROM remembered WHERE content != x'' ORDER BY name")

    def keep(self, name: str, stamp: str, content: bytes, face: str = "", remark: str = "") -> None:
        """Remember something; its mark is not known yet."""
        row = (name, stamp, face, remark, content)
        self._open().execute("INSERT OR REPLACE INTO remembered VALUES (?, ?, ?, ?, '', ?)", row)

    def mark(self, marks: Iterable[tuple[str, str]]) -> None:
        """Set the marks of names."""
        self._open().executemany("UPDATE remembered SET mark = ?2 WHERE name = ?1", marks)

    def forget(self, names: Iterable[str]) -> None:
        """Forget what is gone."""
        self._open().executemany("DELETE FROM remembered WHERE name = ?", [(name,) for name in names])

    def settle(self) -> None:
        """Write down what was changed, and close the file."""
        if self._database is not None and self._path is not None:
            self._database.commit()
            self._database.close()
            self._database = None

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            self._database = _opened(self._path)
        return self._database


def _opened(path: Path | None) -> sqlite3.Connection:
    if path is None:
        return _with_table(sqlite3.connect(":memory:"))
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _with_table(sqlite3.connect(path))
    except sqlite3.DatabaseError:
        path.unlink(missing_ok=True)
        return _with_table(sqlite3.connect(path))


def _with_table(database: sqlite3.Connection) -> sqlite3.Connection:
    database.execute("PRAGMA synchronous = OFF")
    database.execute(_TABLE)
    return database
