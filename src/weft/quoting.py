"""A passage quoted in one piece: whole sentences around the one that is meant."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from weft.excerpt import Span, beginning, gain, ranks_of, terms_of, worth_of
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

    def gain(self, sentence: str, folded: str) -> float:
        """How much a sentence tells of it; most show at a glance that it is nothing."""
        for opening in self.openings:
            if opening in folded:
                return gain(terms_of(sentence), self.weights)
        return 0.0


@dataclass(frozen=True, slots=True)
class Quotable:
    """A passage in sentences: what each costs and is worth, and which one is meant."""

    units: Sequence[Span]
    costs: Sequence[int]
    worth: Sequence[float]
    meant: int
    focus: Sequence[Span] = ()

    @property
    def tokens(self) -> int:
        """What all of it costs, at most."""
        return sum(self.costs) + len(self.costs)


def quotable(text: str, window: Span, focus: Sequence[Span], asked: Asked, count: TokenCounter) -> Quotable:
    """The window in sentences; of those in focus, the one that tells most is meant."""
    low, high = window
    read = _read(text[low:high], count)
    units = [(low + start, low + end) for start, end in read.units]
    told = [asked.gain(text[start:end], folded) for (start, end), folded in zip(units, read.folded, strict=True)]
    ranks = ranks_of(units, focus)
    worth = worth_of(told, ranks)
    meant = max(range(len(units)), key=lambda at: (ranks[at] is not None, worth[at], -at), default=-1)
    return Quotable(units, read.costs, worth, meant, focus)


@dataclass(frozen=True, slots=True)
class _Read:
    """The sentences of a passage, what each costs, and each as questions are looked for in it."""

    units: Sequence[Span]
    costs: Sequence[int]
    folded: Sequence[str]


@lru_cache(maxsize=_REMEMBERED)
def _read(passage: str, count: TokenCounter) -> _Read:
    """A passage in sentences; those that questions return to are read once."""
    units = sentences(passage)
    texts = [passage[start:end] for start, end in units]
    return _Read(units, count.count_many(texts), [fold(text) for text in texts])


def quotation(text: str, passage: Quotable, max_tokens: int, count: TokenCounter) -> tuple[Span, ...]:
    """The longest run of sentences around the one that is meant, costing at most `max_tokens`."""
    if passage.meant < 0:
        return ()
    costs, worth, low = passage.costs, passage.worth, passage.meant
    if costs[low] > max_tokens:
        return beginning(text, passage.units[low], max_tokens, count, passage.focus)
    high, room = low + 1, max_tokens - costs[low]
    while True:
        # A sentence costs one token more beside another.
        before = low > 0 and costs[low - 1] < room
        after = high < len(costs) and costs[high] < room
        if before and not (after and worth[high] >= worth[low - 1]):
            low -= 1
            room -= costs[low] + 1
        elif after:
            room -= costs[high] + 1
            high += 1
        else:
            return ((passage.units[low][0], passage.units[high - 1][1]),)
