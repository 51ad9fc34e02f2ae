"""Where in a passage that names others too a subject is told of alone, and where together with them."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from weft.text import sentences

Span = tuple[int, int]

_AT_LENGTH: Final = 240
"""Characters that make a stretch a passage of its own. Two sentences, one of which names others, are about all."""


def sentences_within(text: str, within: Span) -> list[Span]:
    """The sentences of a passage, by their places in the text."""
    low, high = within
    return [(low + start, low + end) for start, end in sentences(text[low:high])]


def longest_alone(units: Sequence[Span], own: Sequence[Span], others: Sequence[Span]) -> Span | None:
    """The longest run of sentences with one of the subject's own places, and none of others.

    None where no run is long enough to stand by itself.
    """
    runs = [list(run) for shared, run in groupby(units, key=lambda unit: _holds(unit, others)) if not shared]
    alone = [(run[0][0], run[-1][1]) for run in runs]
    told = [run for run in alone if run[1] - run[0] >= _AT_LENGTH and _holds(run, own)]
    return max(told, key=lambda run: (run[1] - run[0], -run[0]), default=None)


def beside(units: Sequence[Span], own: Sequence[Span], others: Sequence[Span]) -> tuple[Span, ...]:
    """The subject's own places in sentences that name others too; all of them where there is no such sentence."""
    shared = [unit for unit in units if _holds(unit, others)]
    return tuple([place for place in own if _holds(place, shared)] or own)


def _holds(stretch: Span, places: Sequence[Span]) -> bool:
    return any(start < stretch[1] and end > stretch[0] for start, end in places)
