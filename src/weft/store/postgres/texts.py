"""Texts as PostgreSQL holds them: it knows no NUL character, so NUL is written as an escape and read back."""

from hashlib import md5
from typing import Final

import xxhash
from psycopg import Connection
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types.string import StrBinaryDumper

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
