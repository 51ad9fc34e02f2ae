"""Encode values as the server keeps them: arrays of numbers, texts with NUL characters, vectors and terms.

psycopg looks at the elements of a list one by one, which took as long as the query that the list was for, and
PostgreSQL refuses NUL in a text. Both are solved by adapters that every connection registers.
"""

import struct
from collections.abc import Iterable, Sequence, Sized
from hashlib import md5
from itertools import count
from typing import TYPE_CHECKING, Final

import numpy as np
import xxhash
from psycopg import Connection
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types.string import StrBinaryDumper

if TYPE_CHECKING:
    from weft.ports.stores import Ids


# The numbers by which the server names these types; they are fixed in its catalogue.
_BIGINT_OID: Final = 20
_TEXT_OID: Final = 25
_BIGINT_ARRAY_OID: Final = 1016
_BIGINT_ELEMENT: Final = np.dtype([("bytes", ">i4"), ("value", ">i8")])
"""An element of an array in the binary form: its size in bytes, then its value."""

_ESCAPE: Final = "\x1a"
"""SUBSTITUTE, a control character that hardly any text holds, so that hardly any text grows."""
_TEXT_TYPES: Final = ("text", "varchar")
"""The types of columns and expressions whose values may hold escapes."""

_HALFVEC_HEADER_BYTES: Final = 4
"""The binary form of a halfvec begins with its dimensions and two unused bytes."""
# Digits alone would be read as numbers, which some text parsers split or drop.
_HEX_TO_LETTERS: Final = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_MAX_CACHED_WORDS: Final = 200_000
"""Some 28 MB of words; a larger cache saves less than it costs, and a full one starts anew."""


# --- arrays of whole numbers -----------------------------------------------------------------------------


def bigint_array(numbers: Iterable[int]) -> "Ids":
    """Return the numbers in the form that is sent as `bigint[]`."""
    if isinstance(numbers, np.ndarray):
        return numbers.astype(np.int64, copy=False)
    return np.fromiter(numbers, np.int64, len(numbers) if isinstance(numbers, Sized) else -1)


def register_array_adapter(connection: Connection) -> None:
    """Let a connection send numpy arrays of whole numbers."""
    connection.adapters.register_dumper(np.ndarray, _BigintArrayDumper)


class _BigintArrayDumper(Dumper):
    format = Format.BINARY
    oid = _BIGINT_ARRAY_OID

    def dump(self, obj: "Ids") -> Buffer | None:
        # Header: dimensions, whether there are NULLs, type of the elements; then length and lower bound of each.
        if not len(obj):
            return struct.pack("!iii", 0, 0, _BIGINT_OID)
        elements = np.empty(len(obj), _BIGINT_ELEMENT)
        elements["bytes"], elements["value"] = 8, obj
        return struct.pack("!iiiii", 1, 0, _BIGINT_OID, len(obj), 1) + elements.tobytes()


# --- texts -----------------------------------------------------------------------------------------------


def escape_nul(text: str) -> str:
    """Return the text without NUL characters; nearly always the same one."""
    if "\0" in text or _ESCAPE in text:
        # The escape itself first, or those that stand for NUL would be escaped again.
        return text.replace(_ESCAPE, _ESCAPE + "1").replace("\0", _ESCAPE + "0")
    return text


def unescape_nul(text: str) -> str:
    """Return the text that was given to `escape_nul`."""
    if _ESCAPE in text:
        return text.replace(_ESCAPE + "0", "\0").replace(_ESCAPE + "1", _ESCAPE)
    return text


def digest(text: str) -> int:
    """Return a signed 64-bit hash by which texts of any length are indexed; queries compare the text beside it."""
    unsigned = xxhash.xxh64_intdigest(text.encode("utf-8"))
    return unsigned - (1 << 64) if unsigned >= 1 << 63 else unsigned


def name_md5(text: str) -> str:
    """Return the value of `md5(name)` in SQL, by which the tables of names are indexed."""
    # Of the escaped text, because that is what the server stores and hashes.
    return md5(escape_nul(text).encode("utf-8"), usedforsecurity=False).hexdigest()


def register_text_adapters(connection: Connection) -> None:
    """Let a connection write and read texts with NUL characters."""
    connection.adapters.register_dumper(str, _TextDumper)
    connection.adapters.register_dumper(str, _BinaryTextDumper)
    for name in _TEXT_TYPES:
        connection.adapters.register_loader(name, _TextLoader)
        connection.adapters.register_loader(name, _BinaryTextLoader)


class _BinaryTextDumper(StrBinaryDumper):
    def dump(self, obj: str) -> Buffer | None:
        return escape_nul(obj).encode("utf-8")


class _TextDumper(Dumper):
    format = Format.TEXT
    oid = _TEXT_OID

    def dump(self, obj: str) -> Buffer | None:
        return escape_nul(obj).encode("utf-8")


class _TextLoader(Loader):
    format = Format.TEXT

    def load(self, data: Buffer) -> str:
        return unescape_nul(bytes(data).decode("utf-8"))


class _BinaryTextLoader(_TextLoader):
    format = Format.BINARY


# --- vectors ---------------------------------------------------------------------------------------------


def to_halfvec(vector: bytes) -> bytes:
    """Return an int8 vector as the binary form of a halfvec, which holds such small whole numbers exactly."""
    values = np.frombuffer(vector, np.int8)
    return len(values).to_bytes(2, "big") + b"\0\0" + values.astype(">f2").tobytes()


def from_halfvec(sent: bytes) -> bytes:
    """Return the int8 vector that was given to `to_halfvec`."""
    return np.frombuffer(sent, ">f2", offset=_HALFVEC_HEADER_BYTES).astype(np.int8).tobytes()


def from_halfvecs(sent: Sequence[bytes | None], dimensions: int) -> list[bytes]:
    """Return the int8 vectors that the server sent, all of the same dimensions, empty where it sent none."""
    header = _HALFVEC_HEADER_BYTES // 2
    # One conversion for all vectors: a numpy call for each would cost more than the conversion itself.
    rows = np.frombuffer(b"".join(filter(None, sent)), ">f2").reshape(-1, header + dimensions)
    packed, starts = rows[:, header:].astype(np.int8).tobytes(), count(0, dimensions)
    return [packed[(start := next(starts)) : start + dimensions] if vector else b"" for vector in sent]


# --- terms -----------------------------------------------------------------------------------------------


class _WordCache(dict[int, str]):
    """Each term hash as a word of eight letters, which every text parser takes for one plain word."""

    def __missing__(self, term: int) -> str:
        # Cleared at once: the frequent words are back within a few passages.
        if len(self) >= _MAX_CACHED_WORDS:
            self.clear()
        word = self[term] = f"{term:08x}".translate(_HEX_TO_LETTERS)
        return word


_WORDS: Final = _WordCache()


def term_word(term: int) -> str:
    """Return the word that stands for a term in the text index."""
    return _WORDS[term]


def passage_words(term_hashes: bytes, counts: Sequence[int]) -> str:
    """Return the terms of a passage as a text of words, each as often as it counts."""
    terms = np.frombuffer(term_hashes, "<u4")
    return " ".join(map(_WORDS.__getitem__, np.repeat(terms, counts).tolist()))
