"""Cut text to a prefix that fits and ends on a whole character as a reader sees it."""

import re
import unicodedata
from collections.abc import Callable

_SURROGATES = re.compile("[\ud800-\udfff]")
_JOINER = "\u200d"


def encodable(text: str) -> str:
    """Return the text with each lone surrogate replaced, so that offsets stay and encoding cannot fail."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text)
    return text


def settle(text: str, end: int, fits: Callable[[int], bool]) -> int:
    """Return the end of a prefix near `end` that fits, and does not with one more whole character.

    Steps double as long as they help, because `fits` counts tokens and a guess may be far off.
    """
    end, step = _character_floor(text, end), 1
    while end > 0 and not fits(end):
        end, step = _character_floor(text, max(end - step, 0)), step * 2
    step = 1
    while step:
        following = character_ceiling(text, min(end + step, len(text)))
        if following > end and fits(following):
            end, step = following, step * 2
        else:
            step //= 2
    return end


def _character_floor(text: str, end: int) -> int:
    """Return the nearest offset at or before `end` that does not split what a reader sees as one character."""
    while 0 < end < len(text) and _continues(text, end):
        end -= 1
    return end


def character_ceiling(text: str, end: int) -> int:
    """Return the nearest offset at or after `end` that does not split what a reader sees as one character."""
    while end < len(text) and _continues(text, end):
        end += 1
    return end


def _continues(text: str, offset: int) -> bool:
    """Return whether the character at an offset belongs to the one before it."""
    before, here = text[offset - 1], text[offset]
    # No combining character comes before this one, which settles nearly all texts at once.
    if here < "\u0300":
        return here == "\n" and before == "\r"
    skin_tone = "\U0001f3fb" <= here <= "\U0001f3ff"
    return skin_tone or _JOINER in (before, here) or unicodedata.category(here)[0] == "M"
