"""Rows by the thousand: binary COPY, and vectors in the form that the server keeps."""

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, Final

import numpy as np

from weft.store.postgres.connection import Link

_HEADER: Final = 4
_DIGITS: Final = str.maketrans("0123456789abcdef", "abcdefghijklmnop")


class Columns:
    """The columns of a table with their types, in the order in which rows give them."""

    def __init__(self, table: str, **types: str) -> None:
        self.statement = f"COPY {table} ({', '.join(types)}) FROM STDIN (FORMAT BINARY)"
        self.types = tuple(types.values())


def copy_rows(link: Link, columns: Columns, rows: Iterable[Sequence[Any]]) -> None:
    """Add the rows to a table."""
    rows = list(rows)
    if rows:
        with link.cursor().copy(columns.statement) as copy:
            copy.set_types(columns.types)
            for row in rows:
                copy.write_row(row)


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
