"""Many whole numbers as one value of a statement, in the form that the server reads.

psycopg looks at the elements of a list one by one, which took as long as the query that the list was for.
"""

import struct
from collections.abc import Iterable, Sized
from hashlib import md5
from typing import TYPE_CHECKING, Final

import numpy as np
import xxhash
from psycopg import Connection
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types.string import StrBinaryDumper

if TYPE_CHECKING:
    from weft.ports.arrays import Ids


_BIGINT: Final = 20
_BIGINTS: Final = 1016
_ELEMENT: Final = np.dtype([("bytes", ">i4"), ("value", ">i8")])


def bigints(numbers: Iterable[int]) -> "Ids":
    """The numbers in the form that is sent as `bigint[]`."""
    if isinstance(numbers, np.ndarray):
        return numbers.astype(np.int64, copy=False)
    return np.fromiter(numbers, np.int64, len(numbers) if isinstance(numbers, Sized) else -1)


class _BigintsDumper(Dumper):
    format = Format.BINARY
    oid = _BIGINTS

    def dump(self, obj: "Ids") -> Buffer | None:
        if not len(obj):
            return struct.pack("!iii", 0, 0, _BIGINT)
        elements = np.empty(len(obj), _ELEMENT)
        elements["bytes"], elements["value"] = 8, obj
        return struct.pack("!iiiii", 1, 0, _BIGINT, len(obj), 1) + elements.tobytes()


def know_arrays(connection: Connection) -> None:
    """Let a connection send numpy arrays of whole numbers."""
    connection.adapters.register_dumper(np.ndarray, _BigintsDumper)


_ESCAPE: Final = "\x1a"
_TEXT_TYPES: Final = ("text", "varchar")


def escaped(text: str) -> str:
    """The text without NUL characters; nearly always the same one."""
    if "\0" in text or _ESCAPE in text:
        return text.replace(_ESCAPE, _ESCAPE + "1").replace("\0", _ESCAPE + "0")
    return text


def unescaped(text: str) -> str:
    """The text that `escaped` was given."""
    if _ESCAPE in text:
        return text.replace(_ESCAPE + "0", "\0").replace(_ESCAPE + "1", _ESCAPE)
    return text


def digest(text: str) -> int:
    """A signed 64-bit hash by which texts of any length are indexed; equality is checked beside it."""
    unsigned = xxhash.xxh64_intdigest(text.encode("utf-8"))
    return unsigned - (1 << 64) if unsigned >= 1 << 63 else unsigned


def name_digest(text: str) -> str:
    """What `md5(name)` gives in SQL."""
    return md5(escaped(text).encode("utf-8"), usedforsecurity=False).hexdigest()


class _EscapingDumper(StrBinaryDumper):
    def dump(self, obj: str) -> Buffer | None:
        return escaped(obj).encode("utf-8")


class _TextDumper(Dumper):
    format = Format.TEXT
    oid = 25

    def dump(self, obj: str) -> Buffer | None:
        return escaped(obj).encode("utf-8")


class _TextLoader(Loader):
    format = Format.TEXT

    def load(self, data: Buffer) -> str:
        return unescaped(bytes(data).decode("utf-8"))


class _BinaryLoader(_TextLoader):
    format = Format.BINARY


def know_texts(connection: Connection) -> None:
    """Let a connection write and read texts with NUL characters."""
    connection.adapters.register_dumper(str, _TextDumper)
    connection.adapters.register_dumper(str, _EscapingDumper)
    for name in _TEXT_TYPES:
        connection.adapters.register_loader(name, _TextLoader)
        connection.adapters.register_loader(name, _BinaryLoader)
