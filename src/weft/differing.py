"""What only one of two texts says: the words by which near-identical texts are told apart."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from weft.text.terms import STOP_WORDS

_WORD: Final = re.compile(r"\w+")
_DIGIT: Final = re.compile(r"\d")
_OPPOSING: Final = ("un", "dis", "non", "in", "im", "de")
_TYPING_ERROR: Final = 80.0
_SHORTEST_MISTYPED: Final = 4
_READ: Final = 4_000
_NUMBER_WEIGHT: Final = 3
_TELLING: Final = 1 / 16
"""The share of words, exchanged for others, above which two texts tell two things; a number counts for three."""


def apart(left: Sequence[str], right: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words that only the left and only the right one has, in their order, typing errors forgiven."""
    common = Counter(left) & Counter(right)
    first, second = _beyond(left, common), _beyond(right, common)
    for mine, other in _mistyped(first, second):
        first.remove(mine)
        second.remove(other)
    return first, second


def tell_apart(left: str, right: str) -> bool:
    """Whether two texts that read almost the same exchange a telling word or number for another."""
    words, others = _words(left), _words(right)
    first, second = apart(words, others)
    if not first or not second:
        return False
    weight = max(sum(_NUMBER_WEIGHT if _DIGIT.search(word) else 1 for word in side) for side in (first, second))
    return weight > _TELLING * max(len(words), len(others))


def _words(text: str) -> list[str]:
    """The words of a text that are no fillers."""
    return [word for word in _WORD.findall(text[:_READ].casefold()) if word not in STOP_WORDS]


def _beyond(words: Sequence[str], common: Counter[str]) -> list[str]:
    """The words that are left when the common ones are taken away."""
    left = Counter(common)
    rest = []
    for word in words:
        if left[word] > 0:
            left[word] -= 1
        else:
            rest.append(word)
    return rest


def _mistyped(first: Sequence[str], second: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of words of which one is the other with a typing error; opposites are none."""
    from rapidfuzz import fuzz

    free = list(second)
    pairs = []
    for mine in first:
        for other in free:
            if _may_be_mistyped(mine, other) and fuzz.ratio(mine, other) >= _TYPING_ERROR:
                pairs.append((mine, other))
                free.remove(other)
                break
    return pairs


def _may_be_mistyped(mine: str, other: str) -> bool:
    shorter, longer = sorted((mine, other), key=len)
    opposed = any(longer == f"{prefix}{shorter}" for prefix in _OPPOSING)
    return len(shorter) >= _SHORTEST_MISTYPED and not opposed and not _DIGIT.search(mine + other)
