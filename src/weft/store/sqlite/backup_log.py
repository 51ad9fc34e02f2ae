"""Follow the write-ahead log of a store into an archive, so that every write between two backups can be restored.

SQLite appends the pages of each transaction to its log, and begins it again once they are in the database. A
`Follower` holds a read transaction at every moment, which keeps what it has not copied in the log: a reader that
still needs the log keeps others from beginning it again, and one that needs nothing of it keeps what comes after
from being moved into the database. Each transaction becomes one record of a file beside the backup it builds on.
"""

import os
import sqlite3
import struct
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from msgspec import Struct

from weft.errors import StoreError
from weft.store.sqlite.backup import sync_folder, translate_disk_errors
from weft.store.sqlite.backup_archive import ArchivedBackup, add_to_archive
from weft.store.sqlite.backup_records import Transaction, last_digest, log_of, pack_record
from weft.store.sqlite.store import FILE_NAME

_WAL_HEAD_BYTES: Final = 32
_FRAME_HEAD: Final = struct.Struct(">IIII8x")
"""Before each page of the log: its number, the pages of the database after a commit or 0, and two salts."""
_INDEX_HEAD_BYTES: Final = 48
_FRAMES_AT: Final = 16
_SALTS_AT: Final = 32
"""The head of the log's index, which stands there twice; where in it the committed frames and the salts are."""
_MOST_LOG_BYTES: Final = 64 << 20
"""Bytes of SQLite's log after which writers wait for a moment while it is moved into the database: since somebody
always reads it, it would not be begun again by itself."""
_RECORDED_BYTES: Final = 512 << 20
"""Bytes of records after which the next backup is made and a new file begun: restoring reads all of one file."""


class _Index(Struct, frozen=True):
    """The committed part of a log: how many frames, and the salts that tell one beginning of it from the next."""

    frames: int
    salts: tuple[int, int]

    def is_next_after(self, other: "_Index") -> bool:
        """Return whether the log was begun again exactly once since."""
        return self.salts[0] == (other.salts[0] + 1) & 0xFFFFFFFF


class Follower:
    """A store that is followed into an archive; `poll` copies what was committed since."""

    def __init__(self, store: Path, archive: Path, clock: Callable[[], datetime]) -> None:
        self._file, self._archive, self._clock = store / FILE_NAME, archive, clock
        self._store = store
        self._pins: list[sqlite3.Connection] = []
        self._at = _Index(0, (0, 0))
        self._out: int | None = None
        self._digest, self._written, self._is_first = b"", 0, True
        self.base: ArchivedBackup
        """The backup that the records build on."""

    def __enter__(self) -> Self:
        if not self._file.is_file():
            raise StoreError(f"There is no store in {self._store}. Name one with --store.")
        try:
            self._begin()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def poll(self) -> int:
        """Copy the transactions that were committed since the last time, and return how many there were."""
        with translate_disk_errors(self._archive):
            self._pin()
            index = self._read_index()
            if index.salts != self._at.salts and not index.is_next_after(self._at):
                # Something other than SQLite's own rules moved the log; the next backup holds what is missing.
                self._begin()
                return 0
            copied = self._copy(index)
            self._release_all_but_last()
            if index.frames * self._page_bytes() > _MOST_LOG_BYTES:
                copied += self._move_log()
            if self._written > _RECORDED_BYTES:
                self._begin()
            return copied

    def _begin(self) -> None:
        """Make a backup, and follow from there."""
        self._pin()
        self._release_all_but_last()
        self._at = self._read_index()
        self.base = add_to_archive(self._store, self._archive, self._clock())
        if self._out is not None:
            os.close(self._out)
        log = log_of(self._archive, self.base.name)
        self._out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        sync_folder(self._archive)
        self._digest, self._written, self._is_first = b"", 0, True
        # Now, so that only what was written during the backup is one step.
        self._pin()
        self._copy(self._read_index())
        self._release_all_but_last()

    def _copy(self, index: _Index) -> int:
        """Write a record for each transaction up to an index, and sync them."""
        start = self._at.frames if index.salts == self._at.salts else 0
        transactions = list(self._read_transactions(start, index))
        if self._is_first and transactions:
            # Some of these are in the backup already, and between its pages and theirs nothing is consistent.
            pages = {number: page for each in transactions for number, page in each.pages.items()}
            transactions = [Transaction(pages, transactions[-1].size)]
        assert self._out is not None
        for transaction in transactions:
            record = pack_record(transaction, self._page_bytes(), self._digest)
            _write_all(self._out, record)
            self._digest, self._written = last_digest(record), self._written + len(record)
        if transactions:
            os.fsync(self._out)
        self._at, self._is_first = index, False
        return len(transactions)

    def _read_transactions(self, start: int, index: _Index) -> Iterator[Transaction]:
        """Yield each transaction in a part of the log."""
        if index.frames <= start:
            return
        page_bytes, pages = self._page_bytes(), dict[int, bytes]()
        with self._file.with_name(f"{FILE_NAME}-wal").open("rb") as log:
            log.seek(_WAL_HEAD_BYTES + start * (_FRAME_HEAD.size + page_bytes))
            for _ in range(index.frames - start):
                number, size, *salts = _FRAME_HEAD.unpack(log.read(_FRAME_HEAD.size))
                page = log.read(page_bytes)
                if tuple(salts) != index.salts or len(page) != page_bytes:
                    raise StoreError(f"The log of {self._file} changed while it was read. Begin again.")
                pages[number] = page
                if size:
                    yield Transaction(pages, size)
                    pages = {}

    def _move_log(self) -> int:
        """Move the log into the database while no writer can append to it; return how many were left."""
        writing = sqlite3.connect(self._file, isolation_level=None)
        try:
            try:
                writing.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                # A long write is under way; there is time until the next poll.
                return 0
            copied = self._copy(self._read_index())
            self._release_all_but_last(keep=0)
            moving = sqlite3.connect(self._file, isolation_level=None)
            moving.execute("PRAGMA wal_checkpoint(PASSIVE)")
            moving.close()
            # Before writers go on: what they write next is then kept for the next poll.
            self._pin()
            writing.execute("ROLLBACK")
        finally:
            writing.close()
        return copied

    def _pin(self) -> None:
        """Begin a read transaction of the present moment."""
        connection = sqlite3.connect(f"{self._file.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
        self._pins.append(connection)
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()

    def _release_all_but_last(self, keep: int = 1) -> None:
        while len(self._pins) > keep:
            self._pins.pop(0).close()

    def _close(self) -> None:
        self._release_all_but_last(keep=0)
        if self._out is not None:
            os.close(self._out)
            self._out = None

    def _read_index(self) -> _Index:
        """Return the committed part of the log, as its index says; it is read again while it is being written."""
        with self._file.with_name(f"{FILE_NAME}-shm").open("rb") as shared:
            while True:
                shared.seek(0)
                head = shared.read(_INDEX_HEAD_BYTES)
                if head == shared.read(_INDEX_HEAD_BYTES):
                    (frames,) = struct.unpack_from("=I", head, _FRAMES_AT)
                    # The salts are kept in the order of bytes of the log itself.
                    return _Index(frames, struct.unpack_from(">II", head, _SALTS_AT))

    def _page_bytes(self) -> int:
        (size,) = self._pins[-1].execute("PRAGMA page_size").fetchone()
        return int(size)


def _write_all(out: int, content: bytes) -> None:
    """Write all of it: one call writes at most two gigabytes, and less where the disk is nearly full."""
    left = memoryview(content)
    while left:
        left = left[os.write(out, left) :]
