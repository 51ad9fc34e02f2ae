"""Fill one slot: give each candidate the best level of detail that its allowance pays for, at its printed cost."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from weft.model import Candidate, Detail, Item
from weft.pipeline.slots import Outcome, PageBudget, Reason, Slot, TextRef, find_text_ref

UNLIMITED: Final = float("inf")

MIN_EXCERPT_TOKENS: Final = 24
"""An excerpt of fewer tokens than this says less than a summary or a pointer."""
MIN_ITEM_TOKENS: Final = 9
"""No item costs less than this, however short its name."""
_SHORT_TEXT_TOKENS: Final = 800
"""A text of so few tokens is not cut for the sake of others: on a small page it may take more than its share."""
_MIN_LISTED_LINKS: Final = 100
"""Links that make a list of links long: as many notes are not all printed on a page."""
_LINK_LIST_SHARE: Final = 0.15
"""The share of a section that a long list of links may take; the notes that it leads to say more than names."""
_LISTED_LINK: Final = re.compile(
    r"^[ \t]*[-*+][ \t]+!?(?:\[\[[^\]\n]+\]\]|\[[^\]\n]*\]\([^)\n]*\))[^\n]{0,20}$", re.M
)
_FILE: Final = "file"
_CACHED_TEXTS: Final = 1024
_MIN_FRAMED_EXCERPT_TOKENS: Final = MIN_ITEM_TOKENS + MIN_EXCERPT_TOKENS
_EXCERPT_ATTEMPTS: Final = 3
"""Attempts at an excerpt, each shorter by what the last one was too long; each costs printing it."""
_MAX_CHARS_PER_TOKEN: Final = 5
"""More characters than this for each token that is allowed will not fit, and need not be printed to know it."""
_CHARS_PER_POINTER_TOKEN: Final = 5
"""A cautious guess for names and paths, so that no pointer is refused that would fit."""


class Allowance(Struct, frozen=True):
    """The tokens that one attempt at placing a candidate may cost.

    `tokens` is what the slot may spend now, `item` and `whole_item` what an item may cost, and one that is shown
    whole; `slot_limit` is the limit that the slot itself sets to an item.
    """

    tokens: float
    item: float
    whole_item: float
    slot_limit: float

    def describe(self, verb: str = "left") -> str:
        """Return in words what was left for the attempt."""
        limit = f"an item may cost {int(self.slot_limit)}" if self.slot_limit < self.tokens else ""
        if self.tokens == UNLIMITED:
            return limit or f"all tokens {verb}"
        return ", ".join(filter(None, (f"{max(int(self.tokens), 0)} tokens {verb}", limit)))


def _item_limits(slot: Slot, share_tokens: float) -> tuple[float, float]:
    """Return what an item may cost, and one shown whole, in a slot whose first budget is so large."""
    cap = UNLIMITED
    if slot.cap is not None and share_tokens != UNLIMITED:
        # A cap below the smallest excerpt would shut every long text out of a small section.
        cap = max(int(share_tokens * slot.cap), _MIN_FRAMED_EXCERPT_TOKENS)
    whole = max(cap, _SHORT_TEXT_TOKENS) if slot.relax else cap
    limit = UNLIMITED if slot.max_item_tokens is None else slot.max_item_tokens
    return min(cap, limit), min(whole, limit)


@lru_cache(maxsize=_CACHED_TEXTS)
def _is_link_list(text: str) -> bool:
    """Return whether a text is mostly a long list of links, as the note has that leads to all others."""
    # Counted first, because nearly every text has too few.
    if text.count("[[") + text.count("](") < _MIN_LISTED_LINKS:
        return False
    links = len(_LISTED_LINK.findall(text))
    return links >= _MIN_LISTED_LINKS and 2 * links > text.count("\n")


class SlotFiller(Struct):
    """A slot and what stands in it; `share_tokens` is its first budget. Lists go by the index of a candidate."""

    slot: Slot
    page: PageBudget
    share_tokens: float
    items: list[Item | None] = field(default_factory=list)
    allowances: list[Allowance | None] = field(default_factory=list)
    """The allowance with which a candidate got its place."""
    refs: list[TextRef] = field(default_factory=list)
    offered: list[float] = field(default_factory=list)
    """The most that a candidate was last allowed to cost: with no more, it would be shown no better."""
    failed_at: list[float] = field(default_factory=list)
    """The most that a candidate was allowed to cost when it found no place."""
    failed_as_pointer: list[bool] = field(default_factory=list)
    """Whether a pointer was allowed then."""
    min_costs: list[int] = field(default_factory=list)
    """About what a candidate costs in its cheapest form: nothing is tried for the many that cannot fit."""
    costs: dict[tuple[int, Detail], int] = field(default_factory=dict)
    """Printed costs that are known, of an excerpt without its text."""
    item_count: int = 0
    pointer_count: int = 0
    spent: int = 0
    """The tokens of its items, and of the headings that it was the first to need."""
    limits: tuple[tuple[float, float], tuple[float, float]] = ((0.0, 0.0), (0.0, 0.0))
    """The most that an item may cost, and one shown whole; and the same where the cap gives way."""

    def __post_init__(self) -> None:
        """Start with every candidate unplaced."""
        size = len(self.slot.candidates)
        self.items, self.allowances = [None] * size, [None] * size
        self.offered, self.failed_at, self.failed_as_pointer = [-1.0] * size, [-1.0] * size, [False] * size
        # Costs are guessed once, since they do not depend on what else is placed.
        self.min_costs = _min_costs(self.slot)
        self.refs = [find_text_ref(candidate) for candidate in self.slot.candidates]
        self.limits = _item_limits(self.slot, self.share_tokens), _item_limits(self.slot, UNLIMITED)

    def units(self) -> Iterator[tuple[float, int]]:
        """Yield score and index of everything that can be placed."""
        yield from ((candidate.score, index) for index, candidate in enumerate(self.slot.candidates))

    def offer(self, tokens: float, *, relaxed: bool = False) -> None:
        """Offer so many tokens, if the page has them, to every candidate in turn."""
        end = self.spent + min(tokens, self.page.remaining)
        for index in range(len(self.items)):
            if end - self.spent < MIN_ITEM_TOKENS:
                return
            self.try_place(index, end - self.spent, relaxed=relaxed)

    def try_place(self, index: int, tokens: float, *, relaxed: bool = False) -> None:
        """Give a candidate the best level of detail that the tokens allow, never less than it has."""
        current = self.items[index]
        # The cheap checks come first: most calls are for candidates that are settled or cannot fit.
        if current is None:
            if self.is_full or not self._may_fit(index, tokens) or self._printed_elsewhere(index) is not None:
                return
        elif self.offered[index] >= self.limits[relaxed][0] or self._is_complete(current):
            return
        allowance = self._allow(tokens, current.tokens if current else 0, relaxed=relaxed, index=index)
        if allowance.item <= self.offered[index] if current else not self._may_fit(index, allowance.item):
            return
        # Noted before the attempt, so that one that fails is not made again with as few tokens.
        self.offered[index] = allowance.item
        item = self._find_best(index, allowance, current)
        if item is not None:
            self._put(index, item, current)
            self.allowances[index] = allowance
        elif current is None:
            self.failed_at[index], self.failed_as_pointer[index] = allowance.item, self._may_point()

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the outcome of each candidate, when all is placed."""
        why_dropped = self._explain_dropped()
        for index, candidate in enumerate(self.slot.candidates):
            item, allowance = self.items[index], self.allowances[index]
            if item and allowance:
                reason, explanation = self._explain_item(item, allowance)
            elif (printed_in := self._printed_elsewhere(index)) is not None:
                reason = Reason.PRINTED_ELSEWHERE
                explanation = reason.format(slot=printed_in)
            else:
                reason, explanation = why_dropped
            yield Outcome(self.slot.name, candidate, item, reason, explanation)

    @property
    def is_full(self) -> bool:
        """Whether the slot takes no further item."""
        return self.slot.limit is not None and self.item_count >= self.slot.limit

    def _may_fit(self, index: int, tokens: float) -> bool:
        """Return whether more tokens, or a pointer, are allowed now than when a candidate last failed."""
        if tokens < self.min_costs[index]:
            return False
        return tokens > self.failed_at[index] or (not self.failed_as_pointer[index] and self._may_point())

    def _may_point(self) -> bool:
        """Return whether the slot may take one more pointer."""
        return self.slot.max_pointers is None or self.pointer_count < self.slot.max_pointers

    def _printed_elsewhere(self, index: int) -> str | None:
        """Return the slot in which the candidate's text stands, if it is not to stand here too."""
        slot, page, ref = self.slot, self.page, self.refs[index]
        if page.repeats or slot.shows_subject or (slot.reprints and ref not in page.mostly_shown):
            return None
        return page.printed_in.get(ref)

    def _allow(self, tokens: float, held: int, *, relaxed: bool, index: int | None = None) -> Allowance:
        # An item that grows gives its tokens back before it takes more.
        available = min(tokens, self.page.remaining) + held
        if not self.item_count:
            # A slot that holds something has all its headings.
            printed = self.page.printed_headings
            available -= sum([cost for name, cost in self.slot.headings if name not in printed])
        limit, whole_limit = self.limits[relaxed]
        if limit != UNLIMITED and index is not None and _is_link_list(self.slot.candidates[index].node.text):
            limit = whole_limit = max(min(limit, self.share_tokens * _LINK_LIST_SHARE), _MIN_FRAMED_EXCERPT_TOKENS)
        return Allowance(available, min(available, limit), min(available, whole_limit), limit)

    def _find_best(self, index: int, allowance: Allowance, current: Item | None) -> Item | None:
        """Return the candidate at the highest level that fits, if that is better than what stands there."""
        # Best level first: a summary is only tried where no excerpt fits.
        for detail in self.slot.ladder:
            if current is not None and not _is_better(self.slot, detail, current):
                return None
            item = self._make_item(index, detail, allowance)
            if item is not None and (
                current is None or item.tokens > current.tokens or detail is not current.detail
            ):
                return item
        return None

    def _make_item(self, index: int, detail: Detail, allowance: Allowance) -> Item | None:
        """Return the item at this level if it exists and fits."""
        candidate = self.slot.candidates[index]
        if detail is Detail.EXCERPT:
            return self._make_excerpt(index, allowance)
        if detail is Detail.POINTER and (not self._may_point() or _min_pointer_cost(candidate) > allowance.item):
            return None
        if detail is Detail.SUMMARY and not _has_summary(candidate):
            return None
        if detail is Detail.WHOLE and not _has_whole(self.slot, candidate):
            return None
        # A short text may exceed the cap whole, but not as an excerpt that fills the room of others.
        limit = allowance.whole_item if detail is Detail.WHOLE else allowance.item
        if (index, detail) not in self.costs:
            # A long text is not printed to learn that it is too long: its tokens were counted when it was stored.
            if self.slot.quotes and detail is Detail.WHOLE and (candidate.text_tokens or 0) > limit:
                return None
            self.costs[index, detail] = self.page.cost(self.slot, Item(candidate, detail))
        tokens = self.costs[index, detail]
        return Item(candidate, detail, tokens=tokens) if 0 < tokens <= limit else None

    def _make_excerpt(self, index: int, allowance: Allowance) -> Item | None:
        candidate = self.slot.candidates[index]
        if allowance.item <= _MIN_FRAMED_EXCERPT_TOKENS or not candidate.node.text:
            return None
        # Choosing sentences is the dear part, so it is tried whether nothing has to be chosen.
        whole = self._make_whole_passage(candidate, allowance)
        if whole is not None:
            return whole
        room = int(allowance.item) - self._frame_cost(index)
        for _ in range(_EXCERPT_ATTEMPTS):
            if room < MIN_EXCERPT_TOKENS:
                return None
            spans = self.page.shorten(candidate, room)
            if not spans:
                return None
            tokens = self.page.cost(self.slot, Item(candidate, Detail.EXCERPT, spans))
            if 0 < tokens <= allowance.item:
                return Item(candidate, Detail.EXCERPT, spans, tokens)
            # Marks for gaps and escapes made it longer than the sum of its sentences.
            room -= tokens - int(allowance.item)
        return None

    def _make_whole_passage(self, candidate: Candidate, allowance: Allowance) -> Item | None:
        """Return all that may be quoted, if it is short enough: then nothing has to be chosen of it."""
        start, end = candidate.window or (0, len(candidate.node.text))
        if allowance.item != UNLIMITED and (
            candidate.window is None or end - start > _MAX_CHARS_PER_TOKEN * allowance.item
        ):
            return None
        item = Item(candidate, Detail.EXCERPT, ((start, end),))
        tokens = self.page.cost(self.slot, item)
        return replace(item, tokens=tokens) if tokens <= allowance.item else None

    def _frame_cost(self, index: int) -> int:
        """Return what an excerpt costs besides its text."""
        if (index, Detail.EXCERPT) not in self.costs:
            bare = Item(self.slot.candidates[index], Detail.EXCERPT)
            self.costs[index, Detail.EXCERPT] = self.page.cost(self.slot, bare)
        return self.costs[index, Detail.EXCERPT]

    def _put(self, index: int, item: Item, current: Item | None) -> None:
        """Put the item in the candidate's place, and book what it costs more than the current one."""
        page = self.page
        tokens = item.tokens - (current.tokens if current else 0)
        # The first item under a heading pays for it; slots of one section share theirs.
        for name, heading_tokens in self.slot.headings if not self.item_count else ():
            if name not in page.printed_headings:
                page.printed_headings.add(name)
                tokens += heading_tokens
        page.spent += tokens
        self.spent += tokens
        self.item_count += current is None
        self.pointer_count += item.detail is Detail.POINTER
        self.pointer_count -= current is not None and current.detail is Detail.POINTER
        self.items[index] = item
        # The first slot keeps the name, which the ledger gives for all later ones.
        page.printed_in.setdefault(self.refs[index], self.slot.name)
        if _shows_most(item):
            page.mostly_shown.add(self.refs[index])

    def _is_complete(self, item: Item) -> bool:
        """Return whether more room would not show more; an excerpt may grow until it is the whole passage."""
        return _shows_all(item) if item.detail is Detail.EXCERPT else item.detail is self.slot.ladder[0]

    def _explain_item(self, item: Item, allowance: Allowance) -> tuple[Reason, str]:
        if _shows_all(item):
            reason = Reason.FITS_WHOLE if item.candidate.window is None else Reason.FITS_AS_PASSAGE
            return reason, reason.value
        if item.detail is self.slot.ladder[0] or allowance.item == UNLIMITED:
            return Reason.FITS_AT_TOP_LEVEL, Reason.FITS_AT_TOP_LEVEL.format(detail=item.detail)
        return Reason.REDUCED, Reason.REDUCED.format(left=allowance.describe("were left"))

    def _explain_dropped(self) -> tuple[Reason, str]:
        """Explain by what is left why a candidate that stands nowhere is not shown."""
        if self.is_full:
            return Reason.ITEM_LIMIT, Reason.ITEM_LIMIT.format(limit=self.slot.limit)
        allowance = self._allow(self.page.remaining, 0, relaxed=self.slot.relax)
        if allowance.item == UNLIMITED:
            levels = " or ".join(self.slot.ladder)
            return Reason.NOTHING_TO_PRINT, Reason.NOTHING_TO_PRINT.format(levels=levels)
        left = allowance.describe()
        if Detail.POINTER in self.slot.ladder and not self._may_point():
            reason = Reason.NO_ROOM_NOR_POINTER
            return reason, reason.format(left=left, limit=self.slot.max_pointers)
        return Reason.NO_ROOM, Reason.NO_ROOM.format(left=left)


def _shows_all(item: Item) -> bool:
    """Return whether all of the text, or of the passage that the candidate stands for, is shown."""
    window = item.candidate.window
    return item.spans == (window,) if window else item.detail is Detail.WHOLE


def _shows_most(item: Item) -> bool:
    window = item.candidate.passage or item.candidate.window
    if window is None:
        return True
    return 2 * sum(end - start for start, end in item.spans) >= window[1] - window[0]


def _has_whole(slot: Slot, candidate: Candidate) -> bool:
    """Return whether a candidate can be shown whole: a passage cannot, nor an empty text that would be quoted."""
    # Of a file that is nothing but its definitions, a heading would stand over nothing.
    if candidate.window is not None or (candidate.node.kind == _FILE and not candidate.node.text):
        return False
    return bool(candidate.node.text) or not (slot.quotes and (slot.shows_subject or slot.reprints))


def _min_costs(slot: Slot) -> list[int]:
    """Return about what each candidate costs in the cheapest form that the slot prints."""
    # Parts of subjects mostly print passages only, of which there are many: one cost serves all.
    if slot.ladder == (Detail.EXCERPT,):
        return [_MIN_FRAMED_EXCERPT_TOKENS] * len(slot.candidates)
    return [_min_cost(slot, candidate) for candidate in slot.candidates]


def _min_cost(slot: Slot, candidate: Candidate) -> int:
    is_long = slot.quotes and (candidate.text_tokens or 0) > _MIN_FRAMED_EXCERPT_TOKENS
    if (_has_whole(slot, candidate) and not is_long) or _has_summary(candidate):
        return MIN_ITEM_TOKENS
    if Detail.POINTER in slot.ladder:
        return min(_min_pointer_cost(candidate), _MIN_FRAMED_EXCERPT_TOKENS)
    return _MIN_FRAMED_EXCERPT_TOKENS


def _min_pointer_cost(candidate: Candidate) -> int:
    """Return about what a pointer costs at least, so that the many that cannot fit need not be printed."""
    node = candidate.node
    chars = len(node.title) + len(node.kind) + len(node.origin.file or node.key)
    return MIN_ITEM_TOKENS + chars // _CHARS_PER_POINTER_TOKEN


def _has_summary(candidate: Candidate) -> bool:
    return bool(candidate.node.summary or candidate.node.fields.get("signature"))


def _is_better(slot: Slot, detail: Detail, current: Item) -> bool:
    """Return whether a level is above the current one, or is an excerpt that may grow."""
    level, current_level = slot.ladder.index(detail), slot.ladder.index(current.detail)
    return level < current_level or (level == current_level and detail is Detail.EXCERPT)
