"""What only one of two texts says: the words by which near-identical texts are told apart."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Final

from weft.text.terms import STOP_WORDS

NEGATION: Final = re.compile(
    r"\b(?:not|no|never|neither|nor|none|nothing|without|avoid|stop|cannot|\w+n['’]t)\b", re.IGNORECASE
)
_NEGATED: Final = "not"
_WORD: Final = re.compile(r"\w+|[<>=!]=|[<>]")
_MARK: Final = re.compile(r"[.,;:!?](?=\s|$)|[()\n]")
_DIGIT: Final = re.compile(r"\d")
_OPPOSING: Final = ("a", "un", "dis", "non", "in", "im", "de")
_SHORTEST_MISTYPED: Final = 4
_SHORTEST_REPLACED: Final = 6
"""In a shorter word another letter makes another word more often than a typing error: code, node, mode."""
_SHORTEST_TWICE: Final = 10
"""In so long a word two typing errors are forgiven."""
_MOST_ERRORS: Final = 2
_READ: Final = 4_000
_REMEMBERED: Final = 512
"""Texts whose words are kept: one is compared with several, and comes back with the next question."""
_SALIENT: Final = 3
_TELLING: Final = 1 / 32
"""The share of words above which what only one text has makes two things of them; numbers and negations count
for three."""


def apart(left: Sequence[str], right: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words that only the left and only the right one has, in their order, typing errors forgiven."""
    common = Counter(left) & Counter(right)
    first, second = _beyond(left, common), _beyond(right, common)
    for mine, other in _mistyped(first, second):
        first.remove(mine)
        second.remove(other)
    return first, second


def tell_apart(left: str, right: str) -> bool:
    """Whether two texts that read almost the same differ in a telling word, number, comparison or negation.

    Plain words that only follow the same text, or stand before it as a clause, make no other thing of it.
    """
    clauses, others = _clauses(left[:_READ]), _clauses(right[:_READ])
    words, other_words = list(chain(*clauses)), list(chain(*others))
    if "".join(words) == "".join(other_words):
        return False
    # Fillers go last, because a mistyped one looks like a word that tells something.
    first, second = map(_telling, apart(words, other_words))
    if not first or not second:
        first, second = _inside(first, clauses), _inside(second, others)
    weight = max(sum(map(_weight, first)), sum(map(_weight, second)))
    return weight > _TELLING * max(len(_telling(words)), len(_telling(other_words)))


@lru_cache(maxsize=_REMEMBERED)
def _clauses(text: str) -> tuple[tuple[str, ...], ...]:
    """The words and comparisons of a text by the marks between them, every negation as the same word."""
    plain = NEGATION.sub(f" {_NEGATED} ", text.casefold())
    return tuple(tuple(words) for part in _MARK.split(plain) if (words := _WORD.findall(part)))


def _telling(words: Sequence[str]) -> list[str]:
    """The words that are no fillers."""
    return [word for word in words if word == _NEGATED or word not in STOP_WORDS]


def _weight(word: str) -> int:
    return _SALIENT if word == _NEGATED or _DIGIT.search(word) else 1


def _inside(added: Sequence[str], clauses: Sequence[Sequence[str]]) -> list[str]:
    """What a text has more than another, without plain words after what both say and plain clauses before it."""
    rest = Counter(added)
    words = [[word] for word in _telling(list(chain(*clauses)))]
    for parts in (words[::-1], clauses):
        for part in parts:
            said = Counter(_telling(part))
            if not said <= rest or any(_weight(word) > 1 for word in said):
                break
            rest -= said
    return list(rest.elements())


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
    """Pairs of words of which one is the other with a typing error; opposites are none, and no number is."""
    free = [word for word in second if not _DIGIT.search(word)]
    pairs = []
    for mine in first if free else ():
        if _DIGIT.search(mine):
            continue
        length = len(mine)
        for other in free:
            if -_MOST_ERRORS <= length - len(other) <= _MOST_ERRORS and _is_mistyped(mine, other):
                pairs.append((mine, other))
                free.remove(other)
                break
    return pairs


def _is_mistyped(mine: str, other: str) -> bool:
    """Whether letters are swapped, one is missing or, in a long word, another."""
    shorter, longer = (mine, other) if len(mine) <= len(other) else (other, mine)
    most = _MOST_ERRORS if len(shorter) >= _SHORTEST_TWICE else 1
    if _distance()(mine, other, score_cutoff=most) > most:
        return False
    if sorted(mine) == sorted(other):
        return len(mine) >= _SHORTEST_MISTYPED or bool({mine, other} & STOP_WORDS)
    if len(shorter) == len(longer):
        return len(mine) >= _SHORTEST_REPLACED
    opposed = any(longer == f"{prefix}{shorter}" for prefix in _OPPOSING)
    return len(shorter) >= _SHORTEST_MISTYPED and not opposed


@cache
def _distance() -> Callable[..., int]:
    """How many typing errors lie between two words; loaded when texts are first compared."""
    from rapidfuzz.distance import OSA

    return OSA.distance
