"""The transactions after a backup, as records in a file: written by `backup_log`, applied when one is restored."""

import hashlib
import sqlite3
import struct
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct

_HEAD: Final = struct.Struct("<4sIIQ")
_MARK: Final = b"weft"
"""Before each record: a mark, the number of its pages, the size of a page, and the pages of the database."""
_NUMBER_BYTES: Final = 4
_DIGEST_BYTES: Final = 16
_JOURNAL_MODE: Final = slice(18, 20)
_ONE_FILE: Final = b"\x01\x01"
"""The bytes of the first page that say whether a log stands beside the file; a backup has none."""


class Transaction(Struct, frozen=True):
    """The pages that a transaction changed, and the number of pages of the database after it."""

    pages: Mapping[int, bytes]
    size: int


def log_of(archive: Path, name: str) -> Path:
    """Return the file with the transactions after a backup of an archive."""
    return archive / f"{name}.log"


def pack_record(transaction: Transaction, page_bytes: int, before: bytes) -> bytes:
    """Return a record; its digest covers that of the record before it, so that none can be left out."""
    head = _HEAD.pack(_MARK, len(transaction.pages), page_bytes, transaction.size)
    pages = sorted(transaction.pages.items())
    body = head + b"".join(number.to_bytes(_NUMBER_BYTES, "little") + page for number, page in pages)
    return body + digest_record(before, body)


def digest_record(before: bytes, body: bytes) -> bytes:
    """Return the digest of a record that follows one with another digest."""
    return hashlib.blake2b(before + body, digest_size=_DIGEST_BYTES).digest()


def last_digest(record: bytes) -> bytes:
    """Return the digest at the end of a record."""
    return record[-_DIGEST_BYTES:]


def replay(log: Path, database: Path, sequence: int | None) -> None:
    """Apply the transactions in a log to a database, up to the last one that holds nothing after a write.

    The end of a log may be half a record, from a process that was killed; it is passed over, as is what follows a
    record that was changed.
    """
    with log.open("rb") as records, database.open("r+b") as out:
        for transaction in _read_records(records):
            page_bytes = len(next(iter(transaction.pages.values())))
            before = _Undo(out, page_bytes, transaction)
            for number, page in transaction.pages.items():
                content = bytearray(page)
                if number == 1:
                    content[_JOURNAL_MODE] = _ONE_FILE
                out.seek((number - 1) * page_bytes)
                out.write(content)
            out.truncate(transaction.size * page_bytes)
            out.flush()
            if sequence is not None and _read_sequence(database) > sequence:
                before.restore()
                return


class _Undo:
    """The pages that a transaction is about to change, to be put back."""

    def __init__(self, out: BinaryIO, page_bytes: int, transaction: Transaction) -> None:
        self._out, self._page_bytes = out, page_bytes
        self._bytes = out.seek(0, 2)
        # Pages that the transaction cuts off are changed too.
        cut = range(transaction.size + 1, self._bytes // page_bytes + 1)
        self._pages: dict[int, bytes] = {}
        for number in (*transaction.pages, *cut):
            out.seek((number - 1) * page_bytes)
            self._pages[number] = out.read(page_bytes)

    def restore(self) -> None:
        """Put back what was there before."""
        for number, page in self._pages.items():
            self._out.seek((number - 1) * self._page_bytes)
            self._out.write(page)
        self._out.truncate(self._bytes)
        self._out.flush()


def _read_records(records: BinaryIO) -> Iterator[Transaction]:
    before = b""
    while len(head := records.read(_HEAD.size)) == _HEAD.size:
        mark, count, page_bytes, size = _HEAD.unpack(head)
        body = records.read(count * (_NUMBER_BYTES + page_bytes)) if mark == _MARK and count else b""
        digest = records.read(_DIGEST_BYTES)
        if not body or digest != digest_record(before, head + body):
            return
        before = digest
        pages = {
            int.from_bytes(body[at : at + _NUMBER_BYTES], "little"): body[
                at + _NUMBER_BYTES : at + _NUMBER_BYTES + page_bytes
            ]
            for at in range(0, len(body), _NUMBER_BYTES + page_bytes)
        }
        yield Transaction(pages, size)


def _read_sequence(database: Path) -> int:
    address = f"{database.resolve().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        (sequence,) = connection.execute("SELECT value FROM meta WHERE name = 'sequence'").fetchone()
    return int(sequence)
