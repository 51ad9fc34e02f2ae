"""Proper names in running text, by their capitals."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final

_PARTICLES: Final = (
    "-|of the|of|the|for|de la|de|del|della|den|der|des|di|da|do|dos|du|el|al|la|le|van|von|y|ibn|bin"
)
_SENTENCE_ENDS: Final = ".!?:;>*#|\n"


def proper_names(text: str) -> Iterator[str]:
    """The runs of words with capitals in a text, particles between them included, in order.

    A lone word that opens a sentence or a line has its capital from there and is no name, unless it has more of
    them. Scripts without capitals have none.
    """
    for match in _pattern(text.isascii()).finditer(text):
        name = match.group()
        if " " in name or "\n" in name or not name[1:].islower() or not _opens_sentence(text, match.start()):
            yield name


@cache
def _pattern(ascii_only: bool) -> re.Pattern[str]:
    capital = "A-Z" if ascii_only else "".join(filter(str.isupper, map(chr, range(0x2000))))
    word = rf"[{capital}](?:\.(?=\s)|(?:[\w'’\-]|\.(?=\w))*)"
    return re.compile(rf"(?<!\w){word}(?:\s(?:(?:{_PARTICLES})\s)?(?:{word}|\d\w*))*")


def _opens_sentence(text: str, start: int) -> bool:
    before = text[max(start - 4, 0) : start].rstrip(" \t\"'“‘(")
    return not before or before[-1] in _SENTENCE_ENDS


Span = tuple[int, int]

_SHORTEST: Final = 2


def spellings(names: Iterable[str]) -> tuple[str, ...]:
    """The names as texts write them, longest first: "the pilot" also opens a sentence, and titles shout."""
    written: dict[str, None] = {}
    for name in names:
        plain = " ".join(name.split())
        if len(plain) >= _SHORTEST:
            written |= dict.fromkeys((plain, plain[0].upper() + plain[1:], plain.upper()))
    return tuple(sorted(written, key=lambda name: (-len(name), name)))


def named_in(text: str, names: Sequence[str], within: Span) -> list[Span]:
    """Where one of the names stands in text[within], over line ends too, in order, none inside another."""
    found: list[Span] = []
    low, high = within
    flat = text[low:high].replace("\n", " ")
    for name in names:
        at = flat.find(name)
        while at >= 0:
            start, end = low + at, low + at + len(name)
            if _stands_alone(text, start, end) and not _inside(found, start, end):
                found.append((start, end))
            at = flat.find(name, at + len(name))
    return sorted(found)


def _inside(found: Sequence[Span], start: int, end: int) -> bool:
    return any(low <= start and end <= high for low, high in found)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether no letter that is written with spaces between words touches the name."""
    before = start and _joins(text[start - 1], text[start])
    after = end < len(text) and _joins(text[end - 1], text[end])
    return not (before or after)


def _joins(left: str, right: str) -> bool:
    return left.isalnum() and right.isalnum() and (_spaced(left) or _spaced(right))


def _spaced(character: str) -> bool:
    """Whether the character belongs to a script that writes spaces between words."""
    return character < "\u0e00" or "\u1e00" <= character < "\u3000"
