"""A passage quoted in one piece: whole sentences around the one that is meant."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from weft.excerpt import Span, beginning, gain, terms_of, worth_of
from weft.frozen import dataclass
from weft.ports import TokenCounter
from weft.text import analyze, fold, sentences

_REMEMBERED: Final = 4096
_OPENING: Final = 4
"""So many letters a word has in common with its term, whatever its ending."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for: its terms by weight, and how the words for them begin."""

    weights: Mapping[int, float]
    openings: tuple[str, ...]

    @classmethod
    def of(cls, question: str, weights: Mapping[int, float]) -> "Asked":
        """The terms of a question."""
        return cls(weights, tuple(sorted({term[:_OPENING] for term in analyze(question)})))

    def gain(self, sentence: str) -> float:
        """How much a sentence tells of it; most show at a glance that it is nothing."""
        folded = fold(sentence)
        if not any(opening in folded for opening in self.openings):
            return 0.0
        return gain(terms_of(sentence), self.weights)


@dataclass(frozen=True, slots=True)
class Quotable:
    """A passage in sentences: what each costs and is worth, and which one is meant."""

    units: Sequence[Span]
    costs: Sequence[int]
    worth: Sequence[float]
    meant: int

    @property
    def tokens(self) -> int:
        """What all of it costs, at most."""
        return sum(self.costs) + len(self.costs)


def quotable(text: str, window: Span, focus: Sequence[Span], asked: Asked, count: TokenCounter) -> Quotable:
    """The window in sentences; of those in focus, the one that tells most is meant."""
    low, high = window
    inside, costs = _read(text[low:high], count)
    units = [(low + start, low + end) for start, end in inside]
    worth = worth_of([asked.gain(text[start:end]) for start, end in units], units, focus)
    focused = [any(start < last and end > first for first, last in focus) for start, end in units]
    meant = max(range(len(units)), key=lambda at: (focused[at], worth[at], -at), default=-1)
    return Quotable(units, costs, worth, meant)


@lru_cache(maxsize=_REMEMBERED)
def _read(passage: str, count: TokenCounter) -> tuple[Sequence[Span], Sequence[int]]:
    """The sentences of a passage and what each costs; of the passages that questions return to, read once."""
    units = sentences(passage)
    return units, count.count_many([passage[start:end] for start, end in units])


def quotation(text: str, passage: Quotable, max_tokens: int, count: TokenCounter) -> tuple[Span, ...]:
    """The longest run of sentences around the one that is meant, costing at most `max_tokens`."""
    if passage.meant < 0:
        return ()
    if passage.costs[passage.meant] > max_tokens:
        return beginning(text, passage.units[passage.meant], max_tokens, count)
    low = high = passage.meant
    room = max_tokens - passage.costs[low]
    while beside := [at for at in (low - 1, high + 1) if _fits(passage, at, room)]:
        place = max(beside, key=lambda at: (passage.worth[at], at))
        low, high, room = min(low, place), max(high, place), room - passage.costs[place] - 1
    return ((passage.units[low][0], passage.units[high][1]),)


def _fits(passage: Quotable, place: int, room: int) -> bool:
    return 0 <= place < len(passage.costs) and passage.costs[place] + 1 <= room
