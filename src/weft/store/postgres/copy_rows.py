"""Rows by the thousand: binary COPY, and vectors in the form that the server keeps."""

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from weft.store.postgres.connection import Link, rows_of

_HEADER: Final = 4
_DIGITS: Final = str.maketrans("0123456789abcdef", "abcdefghijklmnop")


class Columns:
    """The columns of a table with their types, in the order in which rows give them."""

    def __init__(self, table: str, **types: str) -> None:
        names, aside = ", ".join(types), f"pg_temp.aside_{table}"
        self.types = tuple(types.values())
        self.into_table = f"COPY {table} ({names}) FROM STDIN (FORMAT BINARY)"
        self.into_aside = f"COPY {aside} ({names}) FROM STDIN (FORMAT BINARY)"
        self.aside = (
            f"CREATE TEMP TABLE IF NOT EXISTS aside_{table} ON COMMIT DELETE ROWS"
            f" AS SELECT {names} FROM {table} WITH NO DATA"
        )
        self.moved = f"INSERT INTO {table} ({names}) SELECT {names} FROM {aside}; DELETE FROM {aside}"


_HELD_BACK: Final[WeakKeyDictionary[Link, bool]] = WeakKeyDictionary()
"""Of each connection, whether row-level security holds its user back."""


def copy_rows(link: Link, columns: Columns, rows: Iterable[Sequence[Any]]) -> None:
    """Add the rows to a table; where row-level security forbids to copy into it, by way of one beside it."""
    rows = list(rows)
    if not rows:
        return
    if not _is_held_back(link):
        _send(link, columns.into_table, columns, rows)
        return
    link.execute(columns.aside, prepare=False)
    _send(link, columns.into_aside, columns, rows)
    link.execute(columns.moved, prepare=False)


def _send(link: Link, statement: str, columns: Columns, rows: Iterable[Sequence[Any]]) -> None:
    with link.cursor().copy(statement) as copy:
        copy.set_types(columns.types)
        for row in rows:
            copy.write_row(row)


def _is_held_back(link: Link) -> bool:
    if link not in _HELD_BACK:
        _HELD_BACK[link] = bool(rows_of(link, "SELECT row_security_active('nodes')")[0][0])
    return _HELD_BACK[link]


def half_precision(vector: bytes) -> bytes:
    """An int8 vector as the binary form of a halfvec, which holds such small whole numbers exactly."""
    values = np.frombuffer(vector, np.int8)
    return len(values).to_bytes(2, "big") + b"\0\0" + values.astype(">f2").tobytes()


def from_half_precision(sent: bytes) -> bytes:
    """The int8 vector that `half_precision` was given."""
    return np.frombuffer(sent, ">f2", offset=_HEADER).astype(np.int8).tobytes()


def received(sent: Sequence[bytes | None], width: int) -> list[bytes]:
    """The int8 vectors of one width that the server sent, empty where it sent none."""
    rows = np.frombuffer(b"".join(filter(None, sent)), ">f2").reshape(-1, _HEADER // 2 + width)
    packed, starts = rows[:, _HEADER // 2 :].astype(np.int8).tobytes(), count(0, width)
    return [packed[(start := next(starts)) : start + width] if vector else b"" for vector in sent]


class _Words(dict[int, str]):
    """Each term hash as a word of eight letters, which every parser takes for one plain word."""

    def __missing__(self, term: int) -> str:
        if len(self) >= 200_000:
            self.clear()
        word = self[term] = f"{term:08x}".translate(_DIGITS)
        return word


_WORDS: Final = _Words()


def word_of(term: int) -> str:
    """The word that stands for a term in the text index."""
    return _WORDS[term]


def words_of(term_hashes: bytes, counts: Sequence[int]) -> str:
    """The terms of a passage as a text of words, each as often as it counts."""
    terms = np.frombuffer(term_hashes, "<u4")
    return " ".join(map(_WORDS.__getitem__, np.repeat(terms, counts).tolist()))
