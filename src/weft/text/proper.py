"""Proper names in running text, by their capitals."""

import re
from collections.abc import Iterator
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
