"""Whether two short texts say the same, or the same of something but otherwise."""

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from weft.frozen import dataclass
from weft.text import analyze
from weft.text.differences import NEGATION, apart

_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_FILLERS: Final = frozenset(
    term for word in ("please", "remember", "note", "always", "really", "sure", "make") for term in analyze(word)
)
_COMPARED: Final = 20_000
_CLOSE: Final = 0.6
"""The share of their words that two texts have in common when they are about one thing."""
_CLOSE_CHOICE: Final = 0.5
_FEW: Final = 2
_ADDED: Final = 0.15


class Verdict(StrEnum):
    """How one text stands to another."""

    SAME = "same"
    CONTRADICTS = "contradicts"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, and for a contradiction what speaks for it."""

    verdict: Verdict
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Said:
    """What a text says: its telling words in order, its numbers, and whether it negates."""

    words: tuple[str, ...]
    numbers: Counter[str]
    negated: bool

    @classmethod
    def of(cls, text: str) -> "_Said":
        said = text[:_COMPARED]
        terms = (term for term in analyze(NEGATION.sub(" ", said)) if not _NUMBER.fullmatch(term))
        words = tuple(term for term in terms if term not in _FILLERS)
        return cls(words, Counter(_NUMBER.findall(said)), len(NEGATION.findall(said)) % 2 == 1)


@dataclass(frozen=True, slots=True)
class _Difference:
    """The share of words in common, and the words that only one of two texts has, typing errors forgiven."""

    shared: float
    left: tuple[str, ...]
    right: tuple[str, ...]
    same_order: bool


def judge(new: str, old: str) -> Judgement:
    """Whether `new` repeats `old`, says otherwise, or has nothing to do with it."""
    left, right = _Said.of(new), _Said.of(old)
    between = _difference(left.words, right.words)
    why = _otherwise(left, right, between)
    if why:
        return Judgement(Verdict.CONTRADICTS, why)
    return Judgement(Verdict.SAME if _repeats(left, right, between) else Verdict.OTHER)


def _otherwise(left: _Said, right: _Said, between: _Difference) -> str:
    """What makes two close texts contradict each other, or nothing."""
    if between.shared >= _CLOSE:
        if left.numbers - right.numbers and right.numbers - left.numbers:
            return "another number"
        if left.negated != right.negated:
            return "one of them negates it"
    if between.shared < _CLOSE_CHOICE or left.numbers != right.numbers:
        return ""
    chosen, instead = between.left, between.right
    if chosen and instead and max(len(chosen), len(instead)) <= _FEW:
        return f"another choice: {' '.join(chosen)!r} instead of {' '.join(instead)!r}"
    return ""


def _repeats(left: _Said, right: _Said, between: _Difference) -> bool:
    """The same words in the same order, give or take a few that only one of them has."""
    if left.numbers != right.numbers or left.negated != right.negated or not between.same_order:
        return False
    if between.left and between.right:
        return False
    added = len(between.left) + len(between.right)
    return bool(left.words or left.numbers) and added <= _ADDED * max(len(left.words), len(right.words))


def _difference(left: Sequence[str], right: Sequence[str]) -> _Difference:
    first, second = apart(left, right)
    longest = max(len(left), len(right), 1)
    shared = (longest - max(len(first), len(second))) / longest
    common = Counter(left) & Counter(right)
    same_order = [word for word in left if word in common] == [word for word in right if word in common]
    return _Difference(shared, tuple(first), tuple(second), same_order)
