"""Choose the part of a text that speaks to the question, in whole sentences or lines, within a number of tokens.

A text is first measured (`measure_text`, `measure_passage`), once for a page, and then excerpts of several lengths
are chosen from it: `choose_excerpt` takes sentences from anywhere in a text with gaps between them,
`choose_quotation` one unbroken run of sentences from a passage.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct

from weft.pipeline.query import QuestionTerms
from weft.ports import TokenCounter
from weft.scoring.bm25 import term_hashes
from weft.text import analyze, fold, is_blank, split_passages, split_sentences

Span = tuple[int, int]

_CLAUSE_END: Final = re.compile(r"(?:[,;:]|--|—)\s+|--|—")
_MAX_READ_CHARS: Final = 12_000
"""A text of more characters is read only around its best passages: measuring costs time by its length."""
_MARGIN_CHARS: Final = 1_500
"""Characters around a passage that are read of a long text, so that an excerpt can grow beyond the passage."""
_LINE_CHARS: Final = 500
"""Further characters in which the end of a line is sought, so that no line is cut."""
_MAX_FOCUS_PASSAGES: Final = 4
"""Passages of a long text that are looked at where no search chose any."""
_GAP_TOKENS: Final = 4
"""The most that the mark for left-out text costs."""
_MIN_ALONE_TOKENS: Final = 10
"""A shorter sentence says too little to stand between two gaps."""
_NEIGHBOUR_SHARE: Final = 0.5
"""The share of its better neighbour's gain that a sentence gets: answers stand beside the words asked for."""
_MAX_PARAMETERS_CHARS: Final = 6_000
"""Characters behind a stored signature among which its last bracket is sought."""
_MAX_DECORATOR_CHARS: Final = 2_000
"""Characters of decorators, before which a declaration does not begin."""
_LINE_START: Final = re.compile(r"(?m)^[ \t]*(?=\S)")
_BRACKET: Final = re.compile(r"[()]")
_MAX_CACHED_SENTENCES: Final = 8192
_MAX_CACHED_PASSAGES: Final = 4096
"""Sentences and passages whose analysis is kept between questions, which return to the same ones."""


class MeasuredText(Struct, frozen=True):
    """A text in sentences, as far as it is read: the cost of each, its gain for the question, and its worth.

    The worth is the gain with a share for its neighbours and its passage. `head` is always shown.
    """

    text: str
    units: Sequence[Span]
    costs: Sequence[int]
    gains: Sequence[float]
    worth: Sequence[float]
    head: Span
    focus: Sequence[Span] = ()


def measure_text(
    text: str, focus: Sequence[Span], weights: Mapping[int, float], count: TokenCounter, head: Span = (0, 0)
) -> MeasuredText:
    """Measure a text for excerpts of any length; the part in `head`, such as a declaration, is always shown."""
    # A short text is read whole, so it needs no focus to know which parts to read.
    focus = focus or (_find_focus(text, weights) if len(text) > _MAX_READ_CHARS else ())
    units = [
        (low + start, low + end)
        for low, high in _regions_to_read(text, focus, head)
        for start, end in split_sentences(text[low:high])
    ]
    # All at once, because a call of the tokenizer costs more than a short sentence in it.
    costs = count.count_many([text[start:end] for start, end in units])
    gains = [_gain(_sentence_terms(text[start:end]), weights) for start, end in units]
    return MeasuredText(text, units, costs, gains, _worth(gains, _focus_ranks(units, focus)), head, focus)


def _find_focus(text: str, weights: Mapping[int, float]) -> tuple[Span, ...]:
    """Return the passages that hold most of the question, best first, of a text that no search looked at."""
    if not weights:
        return ()
    passages = split_passages(text)
    gains = [
        _gain(frozenset(term_hashes(analyze(text[passage.start : passage.end]))), weights) for passage in passages
    ]
    ranked = sorted(
        (-gain, passage.start, passage.end) for gain, passage in zip(gains, passages, strict=True) if gain > 0
    )
    return tuple((start, end) for _, start, end in ranked[:_MAX_FOCUS_PASSAGES])


def _regions_to_read(text: str, focus: Sequence[Span], head: Span) -> list[Span]:
    """Return all of a short text; of a long one its head and the surroundings of the passages in focus."""
    if len(text) <= _MAX_READ_CHARS:
        return [(0, len(text))]
    regions: list[Span] = [head] if head[1] > head[0] else []
    # Without any focus, the beginning is the best guess.
    for start, end in sorted(focus or [(0, _MAX_READ_CHARS - _MARGIN_CHARS)]):
        low, high = max(head[1], _region_start(text, start)), _region_end(text, end)
        # Regions that touch become one: a sentence must not be cut where two of them meet.
        if regions and low <= regions[-1][1]:
            regions[-1] = (regions[-1][0], max(high, regions[-1][1]))
        else:
            regions.append((low, high))
    return regions


def _region_start(text: str, position: int) -> int:
    """Return where a line begins some way before a position, or else a word."""
    # A position in the middle of a line would make half a sentence of its first one.
    near = max(position - _MARGIN_CHARS, 0)
    line = text.rfind("\n", max(near - _LINE_CHARS, 0), near) + 1
    return line or (text.find(" ", near, position) + 1 if near else 0) or near


def _region_end(text: str, position: int) -> int:
    """Return where a line ends some way behind a position, or else a word."""
    far = min(position + _MARGIN_CHARS, len(text))
    line = text.find("\n", far, far + _LINE_CHARS)
    word = text.rfind(" ", position, far) if far < len(text) else -1
    return next((end for end in (line, word) if end > position), far)


def _focus_ranks(units: Sequence[Span], focus: Sequence[Span]) -> list[int | None]:
    """Return for each sentence the rank of the first span in focus that it touches."""
    ranks: list[int | None] = [None] * len(units)
    # From the last span to the first, so that the best one is written over the others.
    for rank in range(len(focus) - 1, -1, -1):
        low, high = focus[rank]
        for index, (start, end) in enumerate(units):
            if start < high and end > low:
                ranks[index] = rank
    return ranks


def _worth(gains: Sequence[float], ranks: Sequence[int | None]) -> list[float]:
    """Return the gain of each sentence, with a share of its neighbours' and a bonus for its passage's rank."""
    top = max(gains, default=0.0) or 1.0
    # A neighbour on either side of every sentence, so that the ends are no special case.
    around = [0.0, *gains, 0.0]
    return [
        gain
        + _NEIGHBOUR_SHARE * max(around[index], around[index + 2])
        + (top / (2 + rank) if rank is not None else 0.0)
        for index, (gain, rank) in enumerate(zip(gains, ranks, strict=True))
    ]


def _question_gain(question: QuestionTerms, sentence: str, folded: str) -> float:
    """Return how much of the question a sentence holds; most show at a glance that it is nothing."""
    # Looking for letters is many times cheaper than analysing every sentence into terms.
    for prefix in question.prefixes:
        if prefix in folded:
            return _gain(_sentence_terms(sentence), question.weights)
    return 0.0


def _gain(terms: frozenset[int], weights: Mapping[int, float]) -> float:
    """Return how much of the question a text with these terms holds: the weights of the terms in both."""
    return sum(weight for term, weight in weights.items() if term in terms)


@lru_cache(maxsize=_MAX_CACHED_SENTENCES)
def _sentence_terms(sentence: str) -> frozenset[int]:
    return frozenset(term_hashes(analyze(sentence)))


def choose_excerpt(read: MeasuredText, max_tokens: int, count: TokenCounter) -> tuple[Span, ...]:
    """Return spans of the text in order, costing at most `max_tokens` with their gap marks; none when none fits.

    Nothing is returned where the head would take more than half.
    """
    if not read.units or max_tokens <= _GAP_TOKENS:
        return ()
    # More than half for the head would leave no room for what was asked.
    head = _head_units(read, max_tokens // 2)
    if head is None:
        return ()
    chosen = _choose_units(read.costs, read.worth, max_tokens - _GAP_TOKENS, head)
    # Sentences that only fit because they are short do not stand for the one that speaks to the question.
    if not chosen - head or max(read.gains[index] for index in chosen) < max(read.gains) / 2:
        return _cut_best_unit(read, head, max_tokens, count)
    return _join_units(read.text, [read.units[index] for index in sorted(chosen)])


def _head_units(read: MeasuredText, max_tokens: int) -> set[int] | None:
    """Return the indices of the sentences in the head, or None when they cost more than this."""
    first, last = read.head
    inside = {index for index, (start, end) in enumerate(read.units) if start < last and end > first}
    return inside if sum(read.costs[index] + 1 for index in inside) <= max_tokens else None


def _choose_units(costs: Sequence[int], worth: Sequence[float], max_tokens: int, head: set[int]) -> set[int]:
    """Take sentences by worth beside the head, while they fit, then what stands beside them.

    What stands alone also pays for its gap mark, and a sentence too short for that brings its neighbours.
    """
    chosen = set(head)
    room = max_tokens - sum(costs[index] + 1 for index in head) - (_GAP_TOKENS if head else 0)
    # Ties go to the earlier sentence, so that the choice is the same every time.
    ranked = sorted(range(len(costs)), key=lambda index: (-worth[index], index))
    # Each round may close a gap that the last one opened, and so make room for one more.
    grown = True
    while grown:
        grown = False
        for index in ranked:
            if index in chosen:
                continue
            # A sentence between two chosen ones closes a gap, and saves its mark.
            adjacent = (index - 1 in chosen) + (index + 1 in chosen)
            piece = range(index, index + 1) if adjacent else _extend_short(costs, worth, index)
            price = sum(costs[unit] + 1 for unit in piece) + _GAP_TOKENS * (1 - adjacent)
            if price <= room and (adjacent or chosen.isdisjoint(piece)):
                chosen.update(piece)
                room -= price
                grown = True
    return chosen


def _extend_short(costs: Sequence[int], worth: Sequence[float], index: int) -> range:
    """Return a sentence with as many neighbours, the worthier first, as make it long enough to stand alone."""
    low, high = index, index + 1
    while sum(costs[low:high]) < _MIN_ALONE_TOKENS and (low > 0 or high < len(costs)):
        if high == len(costs) or (low > 0 and worth[low - 1] > worth[high]):
            low -= 1
        else:
            high += 1
    return range(low, high)


def _cut_best_unit(
    read: MeasuredText, head: Collection[int], max_tokens: int, count: TokenCounter
) -> tuple[Span, ...]:
    """Return the head, and as much of the worthiest other sentence as there is room for."""
    # A cut sentence stands between two gaps, unlike whole ones that may meet.
    spare = max_tokens - 2 * _GAP_TOKENS - sum(read.costs[index] + 1 for index in head)
    others = [index for index in range(len(read.units)) if index not in head]
    best = max(others, key=lambda index: (read.worth[index], -index), default=None)
    opening = _cut_unit(read.text, read.units[best], spare, count, read.focus) if best is not None else ()
    return tuple(sorted([*_join_units(read.text, [read.units[index] for index in sorted(head)]), *opening]))


def _cut_unit(
    text: str, unit: Span, max_tokens: int, count: TokenCounter, focus: Sequence[Span] = ()
) -> tuple[Span, ...]:
    """Return the start of one sentence too long to be shown whole, cut between words.

    Where that ends before the span in focus, it starts with a later clause, so that this is shown, and what is
    said of it.
    """
    if max_tokens <= 0:
        return ()
    shown = _cut_between_words(text, unit, max_tokens, count)
    # The first span within the sentence is the best one: spans come best first.
    target = next((span for span in focus if unit[0] < span[0] and span[1] <= unit[1]), None)
    if target is not None and target[1] > shown[1]:
        clauses = [match.end() for match in _CLAUSE_END.finditer(text, unit[0], target[0])]
        # Half of the room for the way to the span, the other half for what follows it.
        near = (start for start in clauses if count.count(text[start : target[1]]) <= max_tokens // 2)
        later = next(near, clauses[-1] if clauses else unit[0])
        shown = _cut_between_words(text, (later, unit[1]), max_tokens, count)
    return (shown,) if shown[0] < shown[1] else ()


def _cut_between_words(text: str, unit: Span, max_tokens: int, count: TokenCounter) -> Span:
    """Return as many words of the unit as there is room for."""
    shown = count.cut(text[unit[0] : unit[1]], max_tokens)
    if len(shown) < unit[1] - unit[0] and " " in shown:
        shown = shown[: shown.rindex(" ")]
    return unit[0], unit[0] + len(shown.rstrip())


def _join_units(text: str, units: Sequence[Span]) -> tuple[Span, ...]:
    """Return neighbouring sentences as one span."""
    spans: list[Span] = []
    for start, end in units:
        if spans and is_blank(text, spans[-1][1], start):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return tuple(spans)


def find_declaration(text: str, signature: str) -> Span:
    """Return the span of a symbol's declaration at the beginning of its text: the signature, or else one line."""
    start = len(text) - len(text.lstrip())
    position = _match_signature(text, signature, start)
    # Decorators stand before what is stored as the signature.
    for line in _LINE_START.finditer(text, start, start + _MAX_DECORATOR_CHARS) if position == start else ():
        position = _match_signature(text, signature, line.start())
        if position > line.start():
            break
        position = start
    end = text.find("\n", _close_brackets(text, start, position))
    return start, end if end >= 0 else len(text)


def _match_signature(text: str, signature: str, start: int) -> int:
    """Return where a signature ends that begins here in a text; the start where it does not."""
    position = start
    # The signature is stored on one line; in the text it may be spread over several.
    for character in "".join(signature.split()):
        while position < len(text) and text[position].isspace():
            position += 1
        if position >= len(text) or text[position] != character:
            return start
        position += 1
    return position


def _close_brackets(text: str, start: int, position: int) -> int:
    """Return the end of the parameters where a stored signature, which is cut if it is long, ends before it."""
    depth = text.count("(", start, position) - text.count(")", start, position)
    for match in _BRACKET.finditer(text, position, position + _MAX_PARAMETERS_CHARS) if depth > 0 else ():
        depth += 1 if match[0] == "(" else -1
        if not depth:
            return match.end()
    return position


def include_indent(text: str, start: int) -> int:
    """Return where the line begins, if only blanks stand before the start: indentation means something in code."""
    line = text.rfind("\n", 0, start) + 1
    return line if is_blank(text, line, start) else start


class MeasuredPassage(Struct, frozen=True):
    """A passage in sentences: the cost and worth of each, and the index of the one to quote first."""

    units: Sequence[Span]
    costs: Sequence[int]
    worth: Sequence[float]
    target: int
    focus: Sequence[Span] = ()

    @property
    def tokens(self) -> int:
        """The most that all of it costs."""
        return sum(self.costs) + len(self.costs)


def measure_passage(
    text: str, window: Span, focus: Sequence[Span], question: QuestionTerms, count: TokenCounter
) -> MeasuredPassage:
    """Measure the window of a text for quotations; of the sentences in focus the worthiest is quoted first."""
    low, high = window
    read = _read_passage(text[low:high], count)
    units = [(low + start, low + end) for start, end in read.units]
    gains = [
        _question_gain(question, text[start:end], folded)
        for (start, end), folded in zip(units, read.folded, strict=True)
    ]
    ranks = _focus_ranks(units, focus)
    worth = _worth(gains, ranks)
    target = max(range(len(units)), key=lambda at: (ranks[at] is not None, worth[at], -at), default=-1)
    return MeasuredPassage(units, read.costs, worth, target, focus)


class _ReadPassage(Struct, frozen=True):
    """The sentences of a passage, the cost of each, and each folded for looking up words."""

    units: Sequence[Span]
    costs: Sequence[int]
    folded: Sequence[str]


@lru_cache(maxsize=_MAX_CACHED_PASSAGES)
def _read_passage(passage: str, count: TokenCounter) -> _ReadPassage:
    units = split_sentences(passage)
    texts = [passage[start:end] for start, end in units]
    return _ReadPassage(units, count.count_many(texts), [fold(text) for text in texts])


def choose_quotation(
    text: str, passage: MeasuredPassage, max_tokens: int, count: TokenCounter
) -> tuple[Span, ...]:
    """Return the longest run of sentences around the target, costing at most `max_tokens`."""
    if passage.target < 0:
        return ()
    costs, worth, low = passage.costs, passage.worth, passage.target
    # Grown from the target to both sides, the worthier neighbour first.
    if costs[low] > max_tokens:
        return _cut_unit(text, passage.units[low], max_tokens, count, passage.focus)
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
