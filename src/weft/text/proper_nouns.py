"""Find proper names in running text: any names by their capitals, or known ones by their spelling."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final

_PARTICLES: Final = (
    "-|of the|of|the|for|de la|de|del|della|den|der|des|di|da|do|dos|du|el|al|la|le|van|von|y|ibn|bin"
)
_SENTENCE_ENDS: Final = ".!?:;>*#|\n"
_MIN_NAME_CHARACTERS: Final = 2
"""A single letter stands in every text and names nobody."""

Span = tuple[int, int]


def find_proper_names(text: str) -> Iterator[str]:
    """Yield the runs of words with capitals in a text, particles between them included, in order.

    A lone word that opens a sentence or a line has its capital from there and is no name, unless it has more of
    them. Scripts without capitals have none.
    """
    for match in _pattern(text.isascii()).finditer(text):
        name = match.group()
        if " " in name or "\n" in name or not name[1:].islower() or not _opens_sentence(text, match.start()):
            yield name


@cache
def _pattern(ascii_only: bool) -> re.Pattern[str]:
    """Compile the pattern of a name; the regex engine has no class for capitals, so they are listed."""
    # Above this range hardly any script has capitals, and a longer class is slower to compile.
    capital = "A-Z" if ascii_only else "".join(filter(str.isupper, map(chr, range(0x2000))))
    word = rf"[{capital}](?:\.(?=\s)|(?:[\w'’\-]|\.(?=\w))*)"
    return re.compile(rf"(?<!\w){word}(?:\s(?:(?:{_PARTICLES})\s)?(?:{word}|\d\w*))*")


def _opens_sentence(text: str, start: int) -> bool:
    before = text[max(start - 4, 0) : start].rstrip(" \t\"'“‘(")
    return not before or before[-1] in _SENTENCE_ENDS


def name_spellings(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names as texts write them, longest first: "the pilot" also opens a sentence, and titles shout."""
    written: dict[str, None] = {}
    for name in names:
        plain = " ".join(name.split())
        if len(plain) >= _MIN_NAME_CHARACTERS:
            written |= dict.fromkeys((plain, plain[0].upper() + plain[1:], plain.upper()))
    return tuple(sorted(written, key=lambda name: (-len(name), name)))


def find_name_spans(text: str, names: Sequence[str], within: Span) -> list[Span]:
    """Return where one of the names stands in text[within], over line ends too, in order, none inside another."""
    found: list[Span] = []
    low, high = within
    # One character for one, so that offsets stay while a name may go on over the end of a line.
    flat = text[low:high].replace("\n", " ")
    for name in names:
        offset = flat.find(name)
        while offset >= 0:
            start, end = low + offset, low + offset + len(name)
            # Names come longest first, so a shorter one inside a longer one is always met later.
            is_inside = any(first <= start and end <= last for first, last in found)
            if not is_inside and _stands_alone(text, start, end):
                found.append((start, end))
            offset = flat.find(name, offset + len(name))
    return sorted(found)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Return whether no letter of a script with spaces between words touches the name."""
    joined_before = start and _joins(text[start - 1], text[start])
    joined_after = end < len(text) and _joins(text[end - 1], text[end])
    return not (joined_before or joined_after)


def _joins(left: str, right: str) -> bool:
    return left.isalnum() and right.isalnum() and (_is_spaced_script(left) or _is_spaced_script(right))


def _is_spaced_script(character: str) -> bool:
    """Return whether a character belongs to a script that writes spaces between words."""
    return character < "\u0e00" or "\u1e00" <= character < "\u3000"
