"""The part of a text that speaks to what was asked, in whole sentences or lines, within a number of tokens."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Final

from weft.frozen import dataclass
from weft.ports import TokenCounter
from weft.scoring.bm25 import term_hashes
from weft.text import analyze, fold, is_blank, sentences, split_passages

Span = tuple[int, int]

_CLAUSE: Final = re.compile(r"(?:[,;:]|--|—)\s+|--|—")
_REMEMBERED: Final = 8192
_READ: Final = 12_000
_MARGIN: Final = 1_500
_LINE: Final = 500
"""How far from a passage is read, and how much farther for the end of a line."""
_FOCUSED: Final = 4
"""How many passages of a long text are looked at."""
_GAP_TOKENS: Final = 4
"""What the mark for left-out text costs, at most."""
_ALONE_TOKENS: Final = 10
"""A shorter sentence says too little to stand between two gaps."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A text in sentences, as far as it is read: what each costs, tells of what was asked, and is worth."""

    text: str
    units: Sequence[Span]
    costs: Sequence[int]
    told: Sequence[float]
    worth: Sequence[float]
    head: Span
    focus: Sequence[Span] = ()


def measure(
    text: str, focus: Sequence[Span], weights: Mapping[int, float], count: TokenCounter, head: Span = (0, 0)
) -> Measured:
    """The text read for excerpts of any length; what stands in `head`, as a declaration does, is always shown."""
    focus = focus or (focus_of(text, weights) if len(text) > _READ else ())
    units = [unit for region in _regions(text, focus, head) for unit in _sentences(text, region)]
    costs = count.count_many([text[start:end] for start, end in units])
    told = [gain(terms_of(text[start:end]), weights) for start, end in units]
    return Measured(text, units, costs, told, worth_of(told, ranks_of(units, focus)), head, focus)


def excerpt(read: Measured, max_tokens: int, count: TokenCounter) -> tuple[Span, ...]:
    """Spans of the text in order, costing at most `max_tokens` with their gap marks; empty when none fits.

    An excerpt in which the head would take more than half is none.
    """
    if not read.units or max_tokens <= _GAP_TOKENS:
        return ()
    kept = _kept(read, max_tokens // 2)
    if kept is None:
        return ()
    chosen = _choose(read.costs, read.worth, max_tokens - _GAP_TOKENS, kept)
    # Sentences that only fit because they are short do not stand for the one that speaks to the question.
    if not chosen - kept or max(read.told[at] for at in chosen) < max(read.told) / 2:
        return _begun(read, kept, max_tokens, count)
    return _joined(read.text, [read.units[place] for place in sorted(chosen)])


def _begun(read: Measured, kept: Collection[int], max_tokens: int, count: TokenCounter) -> tuple[Span, ...]:
    """What is kept, and as much of the worthiest other sentence as there is room for."""
    spare = max_tokens - 2 * _GAP_TOKENS - sum(read.costs[at] + 1 for at in kept)
    others = [at for at in range(len(read.units)) if at not in kept]
    best = max(others, key=lambda at: (read.worth[at], -at), default=None)
    opening = beginning(read.text, read.units[best], spare, count, read.focus) if best is not None else ()
    return tuple(sorted([*_joined(read.text, [read.units[at] for at in sorted(kept)]), *opening]))


def focus_of(text: str, weights: Mapping[int, float]) -> tuple[Span, ...]:
    """The passages that speak most to what was asked, best first, of a text that no search looked at."""
    if not weights:
        return ()
    divided = [(term_hashes(analyze(text[each.start : each.end])), each) for each in split_passages(text)]
    gains = [(gain(frozenset(terms), weights), each) for terms, each in divided]
    best = sorted((each for each in gains if each[0] > 0), key=lambda each: (-each[0], each[1].start))
    return tuple((each.start, each.end) for _, each in best[:_FOCUSED])


def declaration(text: str, signature: str) -> Span:
    """Where the declaration of a symbol stands at the beginning of its text: the signature, or else one line."""
    start = len(text) - len(text.lstrip())
    wanted = "".join(signature.split())
    place = start
    for character in wanted:
        while place < len(text) and text[place].isspace():
            place += 1
        if place >= len(text) or text[place] != character:
            place = start
            break
        place += 1
    end = text.find("\n", place)
    return start, end if end >= 0 else len(text)


def indented(text: str, start: int) -> int:
    """Where the line begins, if only blanks stand before this place: indentation means something in code."""
    line = text.rfind("\n", 0, start) + 1
    return line if is_blank(text, line, start) else start


def _kept(read: Measured, room: int) -> set[int] | None:
    """The places of the units in the head, or None when they would take more than the room."""
    first, last = read.head
    inside = {place for place, (start, end) in enumerate(read.units) if start < last and end > first}
    return inside if sum(read.costs[place] + 1 for place in inside) <= room else None


def _regions(text: str, focus: Sequence[Span], head: Span) -> list[Span]:
    """What is read of the text: all of a short one, the head and the surroundings of the matches in a long one."""
    if len(text) <= _READ:
        return [(0, len(text))]
    regions: list[Span] = [head] if head[1] > head[0] else []
    for start, end in sorted(focus or [(0, _READ - _MARGIN)]):
        low, high = max(head[1], _before(text, start)), _behind(text, end)
        if regions and low <= regions[-1][1]:
            regions[-1] = (regions[-1][0], max(high, regions[-1][1]))
        else:
            regions.append((low, high))
    return regions


def _before(text: str, place: int) -> int:
    """Some way before a place where a line begins, or else a word."""
    near = max(place - _MARGIN, 0)
    line = text.rfind("\n", max(near - _LINE, 0), near) + 1
    return line or (text.find(" ", near, place) + 1 if near else 0) or near


def _behind(text: str, place: int) -> int:
    """Some way behind a place where a line ends, or else a word."""
    far = min(place + _MARGIN, len(text))
    line = text.find("\n", far, far + _LINE)
    word = text.rfind(" ", place, far) if far < len(text) else -1
    return next((end for end in (line, word) if end > place), far)


def _sentences(text: str, region: Span) -> list[Span]:
    low, high = region
    return [(low + start, low + end) for start, end in sentences(text[low:high])]


def ranks_of(units: Sequence[Span], focus: Sequence[Span]) -> list[int | None]:
    """For each sentence the first of the spans in focus that it touches."""
    ranks: list[int | None] = [None] * len(units)
    for rank in range(len(focus) - 1, -1, -1):
        low, high = focus[rank]
        for place, (start, end) in enumerate(units):
            if start < high and end > low:
                ranks[place] = rank
    return ranks


def worth_of(own: Sequence[float], ranks: Sequence[int | None]) -> list[float]:
    """How much each sentence tells of what was asked, with a share of its neighbours' and of its passage's."""
    top = max(own, default=0.0) or 1.0
    around = [0.0, *own, 0.0]
    return [
        told + 0.5 * max(around[place], around[place + 2]) + (top / (2 + rank) if rank is not None else 0.0)
        for place, (told, rank) in enumerate(zip(own, ranks, strict=True))
    ]


def gain(terms: frozenset[int], weights: Mapping[int, float]) -> float:
    """How much a text with these terms tells of what was asked: the weights of those it has."""
    return sum(weight for term, weight in weights.items() if term in terms)


@lru_cache(maxsize=_REMEMBERED)
def terms_of(sentence: str) -> frozenset[int]:
    """The hashed terms of a sentence; questions return to the same ones."""
    return frozenset(term_hashes(analyze(sentence)))


def _choose(costs: Sequence[int], worth: Sequence[float], room: int, kept: set[int]) -> set[int]:
    """Take sentences by worth beside those that are kept, while they fit, then what stands beside them.

    What stands alone also pays for its gap mark, and a sentence too short for that brings its neighbours.
    """
    chosen = set(kept)
    room -= sum(costs[place] + 1 for place in kept) + (_GAP_TOKENS if kept else 0)
    ranked = sorted(range(len(costs)), key=lambda at: (-worth[at], at))
    grown = True
    while grown:
        grown = False
        for place in ranked:
            if place in chosen:
                continue
            beside = (place - 1 in chosen) + (place + 1 in chosen)
            piece = range(place, place + 1) if beside else _piece(costs, worth, place)
            price = sum(costs[at] + 1 for at in piece) + _GAP_TOKENS * (1 - beside)
            if price <= room and (beside or chosen.isdisjoint(piece)):
                chosen.update(piece)
                room -= price
                grown = True
    return chosen


def _piece(costs: Sequence[int], worth: Sequence[float], place: int) -> range:
    """A sentence with as many neighbours, the worthier first, as make it long enough to stand between two gaps."""
    low, high = place, place + 1
    while sum(costs[low:high]) < _ALONE_TOKENS and (low > 0 or high < len(costs)):
        if high == len(costs) or (low > 0 and worth[low - 1] > worth[high]):
            low -= 1
        else:
            high += 1
    return range(low, high)


def beginning(
    text: str, unit: Span, room: int, count: TokenCounter, focus: Sequence[Span] = ()
) -> tuple[Span, ...]:
    """The start of one sentence too long to be shown whole, cut between words.

    Where that ends before what is meant in the sentence, it starts with a later clause, so that this is shown, and
    what is said of it.
    """
    if room <= 0:
        return ()
    shown = _cut(text, unit, room, count)
    meant = next((span for span in focus if unit[0] < span[0] and span[1] <= unit[1]), None)
    if meant is not None and meant[1] > shown[1]:
        clauses = [match.end() for match in _CLAUSE.finditer(text, unit[0], meant[0])]
        near = (start for start in clauses if count.count(text[start : meant[1]]) <= room // 2)
        later = next(near, clauses[-1] if clauses else unit[0])
        shown = _cut(text, (later, unit[1]), room, count)
    return (shown,) if shown[0] < shown[1] else ()


def _cut(text: str, unit: Span, room: int, count: TokenCounter) -> Span:
    """As many words of the unit as there is room for."""
    shown = count.cut(text[unit[0] : unit[1]], room)
    if len(shown) < unit[1] - unit[0] and " " in shown:
        shown = shown[: shown.rindex(" ")]
    return unit[0], unit[0] + len(shown.rstrip())


def _joined(text: str, units: Sequence[Span]) -> tuple[Span, ...]:
    """Neighbouring sentences as one span."""
    spans: list[Span] = []
    for start, end in units:
        if spans and is_blank(text, spans[-1][1], start):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return tuple(spans)


_REMEMBERED_QUOTES: Final = 4096
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


@lru_cache(maxsize=_REMEMBERED_QUOTES)
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
