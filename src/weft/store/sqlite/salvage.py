"""Save what can be read of a damaged SQLite store into a new one, and count it; the damaged file is not changed"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from weft.errors import InvalidInput, StoreCorrupt
from weft.store.sqlite import maintenance
from weft.store.sqlite.store import FILE_NAME, SqliteStore

_ROWS_AT_ONCE: Final = 256
"""Rows that are read together while all is well."""
_LARGEST_ROWID: Final = (1 << 63) - 1
# From what others refer to down to what refers to them.
_NUMBERED: Final = (
    "tenants",
    "kinds",
    "edge_types",
    "makers",
    "keys",
    "nodes",
    "importance",
    "passages",
    "vectors",
    "quality_vectors",
)
_KEYED: Final = ("meta", "shared", "units", "aliases", "edges")
"""The tables that hold something of their own, by rowid and without one; everything else is derived from them."""
_REPORTED: Final = ("nodes", "passages", "vectors", "edges", "units", "aliases")


class Salvage(Struct, frozen=True):
    """The outcome: rows saved by table, and rows that are known to be lost.

    `dropped` are rows that could be read but belong to something that is lost.
    """

    saved: dict[str, int]
    lost: dict[str, int]
    dropped: int

    def describe(self) -> str:
        """Return the counts in words."""
        saved = ", ".join(f"{self.saved.get(table, 0):,} {table}" for table in _REPORTED)
        known = [f"{count:,} {table}" for table, count in self.lost.items() if count]
        lost = f"lost: {', '.join(known)}" if known else "nothing is known to be lost"
        dropped = f"; {self.dropped:,} rows without what they belong to were left out" if self.dropped else ""
        return f"saved: {saved}; {lost}{dropped}"


def is_damaged(folder: Path) -> bool:
    """Return whether the file of a store has pages that cannot be read; a missing store is not damaged."""
    file = folder / FILE_NAME
    if not file.exists():
        return False
    try:
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
        try:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok")
        finally:
            connection.close()
    except sqlite3.DatabaseError:
        return True


def salvage(damaged: Path, target: Path) -> Salvage:
    """Write all rows that can be read of the store in a folder into a new store in another folder."""
    if (target / FILE_NAME).exists():
        raise InvalidInput(f"There is a store in {target} already. Move it away, or name another folder.")
    store = SqliteStore.open(target)
    try:
        with store._transaction() as connection:
            connection.execute("PRAGMA defer_foreign_keys = ON")
            saved, lost = _copy_tables(damaged / FILE_NAME, connection)
            dropped = _drop_orphans(connection)
            maintenance.rebuild_derived(connection)
    finally:
        store.close()
    return Salvage(saved, lost, dropped)


def _copy_tables(file: Path, target: sqlite3.Connection) -> tuple[dict[str, int], dict[str, int]]:
    source = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
    # Text that is damaged inside a row must not stop the others; it is saved with a mark where it cannot be read.
    source.text_factory = lambda raw: raw.decode("utf-8", "replace")
    saved: dict[str, int] = {}
    lost: dict[str, int] = {}
    try:
        for table in (*_NUMBERED, *_KEYED):
            columns = [row[1] for row in target.execute(f"PRAGMA table_info({table})")]
            reader = _TableReader(source, table, columns, by_rowid=table in _NUMBERED)
            insert = f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(columns))})"
            saved[table] = _insert(target, insert, reader)
            lost[table] = max(reader.counted() - saved[table], 0)
    except sqlite3.DatabaseError as error:
        raise StoreCorrupt(
            f"Nothing of {file} can be read ({error}). Restore it with `weft restore`, or move it away and index "
            "again."
        ) from error
    finally:
        source.close()
    return saved, lost


def _insert(target: sqlite3.Connection, insert: str, reader: "_TableReader") -> int:
    count = 0
    for row in reader.rows():
        try:
            target.execute(insert, row)
            count += 1
        except sqlite3.IntegrityError:
            # A row whose values were damaged so that no store would have taken them.
            continue
    return count


class _TableReader:
    """One table of a damaged file, read around the pages that cannot be."""

    def __init__(self, source: sqlite3.Connection, table: str, columns: list[str], *, by_rowid: bool) -> None:
        self._source, self._table, self._by_rowid = source, table, by_rowid
        # An older file lacks the columns that were added later.
        try:
            present = {row[1] for row in source.execute(f"PRAGMA table_info({table})")}
        except sqlite3.DatabaseError:
            present = set(columns)
        self._columns = ", ".join(column if column in present else f"NULL AS {column}" for column in columns)

    def counted(self) -> int:
        """Return how many rows there were, as far as the file still tells; 0 if it does not."""
        try:
            return int(self._source.execute(f"SELECT count(*) FROM {self._table}").fetchone()[0])
        except sqlite3.DatabaseError:
            return 0

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Yield every row that can be read."""
        return self._rows_by_id() if self._by_rowid else self._rows_from_both_ends()

    def _rows_by_id(self) -> Iterator[tuple[object, ...]]:
        """Read by rising id; behind a page that cannot be read, go on at the next id that can."""
        after, step = -1, 1
        while after < _LARGEST_ROWID:
            try:
                rows = self._source.execute(
                    f"SELECT rowid, {self._columns} FROM {self._table} WHERE rowid > ? ORDER BY rowid LIMIT ?",
                    (after, _ROWS_AT_ONCE if step == 1 else 1),
                ).fetchall()
            except sqlite3.DatabaseError:
                rows = self._one_by_one(after)
                if not rows:
                    # Ever longer steps, so that a damaged half of a large table does not take for ever.
                    after, step = min(after + step, _LARGEST_ROWID), step * 2
                    continue
            if not rows:
                return
            step = 1
            after = rows[-1][0]
            yield from (row[1:] for row in rows)

    def _one_by_one(self, after: int) -> list[tuple[object, ...]]:
        """Return the rows from an id on up to the first that cannot be read."""
        found: list[tuple[object, ...]] = []
        statement = f"SELECT rowid, {self._columns} FROM {self._table} WHERE rowid > ? ORDER BY rowid LIMIT 1"
        while len(found) < _ROWS_AT_ONCE:
            try:
                row = self._source.execute(statement, (after,)).fetchone()
            except sqlite3.DatabaseError:
                break
            if row is None:
                break
            found.append(row)
            after = row[0]
        return found

    def _rows_from_both_ends(self) -> Iterator[tuple[object, ...]]:
        """Read a table without ids forwards and backwards, each up to the first page that cannot be read."""
        key = ", ".join(row[1] for row in self._source.execute(f"PRAGMA table_info({self._table})") if row[5])
        for direction in ("ASC", "DESC"):
            order = ", ".join(f"{column} {direction}" for column in key.split(", "))
            try:
                yield from self._source.execute(f"SELECT {self._columns} FROM {self._table} ORDER BY {order}")
            except sqlite3.DatabaseError:
                continue
            return


def _drop_orphans(connection: sqlite3.Connection) -> int:
    """Remove rows that refer to something lost, and let keys and nodes name each other again."""
    connection.execute("UPDATE keys SET node_id = NULL WHERE node_id NOT IN (SELECT id FROM nodes)")
    connection.execute(
        "INSERT OR IGNORE INTO keys (id, tenant_id, key, node_id) SELECT key_id, tenant_id, key, id FROM nodes"
        " WHERE tenant_id IN (SELECT id FROM tenants)"
    )
    connection.execute(
        "UPDATE keys SET node_id = (SELECT n.id FROM nodes n WHERE n.key_id = keys.id AND n.key = keys.key)"
    )
    orphans = (
        "nodes WHERE tenant_id NOT IN (SELECT id FROM tenants) OR kind_id NOT IN (SELECT id FROM kinds)"
        " OR id NOT IN (SELECT node_id FROM keys WHERE node_id IS NOT NULL)",
        "importance WHERE node_id NOT IN (SELECT id FROM nodes)",
        "passages WHERE node_id NOT IN (SELECT id FROM nodes)",
        "vectors WHERE passage_id NOT IN (SELECT id FROM passages)",
        "quality_vectors WHERE passage_id NOT IN (SELECT id FROM passages)",
        "aliases WHERE node_id NOT IN (SELECT id FROM nodes) OR maker_id NOT IN (SELECT id FROM makers)",
        "edges WHERE source_key NOT IN (SELECT id FROM keys) OR target_key NOT IN (SELECT id FROM keys)"
        " OR maker_id NOT IN (SELECT id FROM makers) OR type_id NOT IN (SELECT id FROM edge_types)",
        "units WHERE tenant_id NOT IN (SELECT id FROM tenants)",
        "shared WHERE tenant_id NOT IN (SELECT id FROM tenants) OR shared_id NOT IN (SELECT id FROM tenants)",
    )
    dropped = sum(connection.execute(f"DELETE FROM {orphan}").rowcount for orphan in orphans)
    # What was indexed from sources is read again by the next run: a lost node must not pass for unchanged.
    connection.execute("DELETE FROM units")
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('identity', lower(hex(randomblob(16))))")
    return dropped
