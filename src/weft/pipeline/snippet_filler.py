"""Fill one slot with snippets: the best of all its candidates first, whichever text they stand in.

Snippets of one text become one item in reading order, under one heading. What a snippet costs is known from its
stored count: only headings are printed to be counted.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from weft.model import Detail, Item
from weft.pipeline.slot_filler import MIN_ITEM_TOKENS, UNLIMITED, PageBudget, SlotFiller, find_text_ref
from weft.pipeline.slots import Outcome, Reason, Slot
from weft.pipeline.snippets import RankedSnippets
from weft.text import is_blank

_GAP_TOKENS: Final = 4
"""The most that the mark for left-out text costs."""
_JOIN_TOKENS: Final = 1
"""The cost of joining a snippet to the one before it."""
_CHARACTERS_PER_TOKEN: Final = 4
"""The guess for snippets that were stored without a count."""
_LEADING_MARKS: Final = (":", "?")
"""A snippet that ends in one of these leads to the next: a list, an example, an answer."""


class SnippetFiller(Struct):
    """A slot and the snippets that stand in it; `share_tokens` is its first budget."""

    slot: Slot
    page: PageBudget
    share_tokens: float
    snippets: RankedSnippets
    chosen: set[int] = field(default_factory=set)
    item_tokens: dict[int, int] = field(default_factory=dict)
    """The cost of each candidate's item, by the candidate's index."""
    frames: dict[int, int] = field(default_factory=dict)
    """The cost of a candidate's item besides its text."""
    names_only: SlotFiller | None = None
    """Fills the slot instead where there is no room for a single snippet."""
    spent_on_snippets: int = 0

    @property
    def spent(self) -> int:
        """The tokens of its items, and of the headings that it was the first to need."""
        return self.spent_on_snippets + (self.names_only.spent if self.names_only else 0)

    def units(self) -> Iterator[tuple[float, int]]:
        """Yield score and index of everything that can be placed."""
        yield from ((self.snippets.score[index], index) for index in self.snippets.order)

    def offer(self, tokens: float, *, relaxed: bool = False) -> None:
        """Offer so many tokens, if the page has them, to every snippet in turn."""
        end = self.spent + min(tokens, self.page.remaining)
        if self.names_only is None:
            for index in self.snippets.order:
                if end - self.spent < MIN_ITEM_TOKENS:
                    return
                self.try_place(index, end - self.spent, relaxed=relaxed)
        if not self.chosen:
            self.names_only = self.names_only or SlotFiller(self.slot, self.page, self.share_tokens)
            self.names_only.offer(end - self.spent, relaxed=relaxed)

    def try_place(self, index: int, tokens: float, *, relaxed: bool = False) -> None:
        """Place a snippet if the tokens pay for it, and with it the next one, if it leads to that."""
        if index in self.chosen or not self._place(index, tokens, relaxed=relaxed):
            return
        following = index + 1
        if self._leads_on(index) and following not in self.chosen and self._adjoins(index, following):
            self._place(following, tokens - self._cost(index), relaxed=relaxed)

    def _place(self, index: int, tokens: float, *, relaxed: bool) -> bool:
        owner = self.snippets.owner[index]
        is_new = owner not in self.item_tokens
        cost = self._cost(index)
        if cost > min(tokens, self.page.remaining) or (is_new and not self._may_begin(owner)):
            return False
        headings = self._heading_cost() if is_new else 0
        frame = self._frame(owner) if is_new else 0
        total = cost + frame + headings
        if total > min(tokens, self.page.remaining) or (
            not relaxed and self.item_tokens.get(owner, frame) + cost > self._cap()
        ):
            return False
        self.chosen.add(index)
        self.item_tokens[owner] = self.item_tokens.get(owner, frame) + cost
        self.spent_on_snippets += total
        self.page.spent += total
        self.page.printed_headings.update(name for name, _ in self.slot.headings)
        self.page.printed_in.setdefault(find_text_ref(self.slot.candidates[owner]), self.slot.name)
        return True

    def _may_begin(self, owner: int) -> bool:
        if self.slot.limit is not None and len(self.item_tokens) >= self.slot.limit:
            return False
        return self.page.repeats or find_text_ref(self.slot.candidates[owner]) not in self.page.printed_in

    def _cap(self) -> float:
        if self.slot.cap is None or self.share_tokens == UNLIMITED:
            return UNLIMITED
        return self.share_tokens * self.slot.cap

    def _cost(self, index: int) -> int:
        """Return what a snippet adds to the page: its tokens, and the mark of a gap unless it closes one."""
        snippets = self.snippets
        tokens = snippets.tokens[index] or (snippets.end[index] - snippets.start[index]) // _CHARACTERS_PER_TOKEN
        before = index - 1 in self.chosen and self._adjoins(index - 1, index)
        after = index + 1 in self.chosen and self._adjoins(index, index + 1)
        return tokens + _JOIN_TOKENS + _GAP_TOKENS * (1 - before - after)

    def _frame(self, owner: int) -> int:
        if owner not in self.frames:
            bare = Item(self.slot.candidates[owner], Detail.EXCERPT)
            self.frames[owner] = self.page.cost(self.slot, bare)
        return self.frames[owner]

    def _heading_cost(self) -> int:
        printed = self.page.printed_headings
        return sum([tokens for name, tokens in self.slot.headings if name not in printed])

    def _adjoins(self, index: int, following: int) -> bool:
        """Whether two snippets are neighbours in one text."""
        snippets = self.snippets
        if following >= len(snippets.owner) or snippets.owner[index] != snippets.owner[following]:
            return False
        text = self.slot.candidates[snippets.owner[index]].node.text
        return is_blank(text, snippets.end[index], snippets.start[following])

    def _leads_on(self, index: int) -> bool:
        text = self.slot.candidates[self.snippets.owner[index]].node.text
        return text[: self.snippets.end[index]].rstrip().endswith(_LEADING_MARKS)

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the outcome of each candidate, when all is placed."""
        if self.names_only is not None:
            yield from self.names_only.outcomes()
            return
        spans = self._spans()
        left = f"{max(int(self.page.remaining), 0)} tokens left" if self.page.total != UNLIMITED else ""
        for owner, candidate in enumerate(self.slot.candidates):
            item: Item | None = None
            if owner in spans:
                whole = self._is_whole(owner, spans[owner])
                detail = Detail.WHOLE if whole else Detail.EXCERPT
                item = Item(candidate, detail, () if whole else tuple(spans[owner]), self.item_tokens[owner])
                reason = Reason.FITS_WHOLE if whole else Reason.REDUCED
            elif self.slot.limit is not None and len(spans) >= self.slot.limit:
                reason = Reason.ITEM_LIMIT
            elif not self.page.repeats and find_text_ref(candidate) in self.page.printed_in:
                reason = Reason.PRINTED_ELSEWHERE
            else:
                reason = Reason.NO_ROOM
            slot = self.page.printed_in.get(find_text_ref(candidate), "")
            explanation = reason.format(left=left, limit=self.slot.limit, slot=slot)
            yield Outcome(self.slot.name, candidate, item, reason, explanation)

    def _spans(self) -> dict[int, list[tuple[int, int]]]:
        """Return the printed spans by candidate, neighbours as one."""
        spans: dict[int, list[tuple[int, int]]] = {}
        last = -2
        for index in sorted(self.chosen):
            own = spans.setdefault(self.snippets.owner[index], [])
            if own and last == index - 1 and self._adjoins(last, index):
                own[-1] = (own[-1][0], self.snippets.end[index])
            else:
                own.append((self.snippets.start[index], self.snippets.end[index]))
            last = index
        return spans

    def _is_whole(self, owner: int, spans: list[tuple[int, int]]) -> bool:
        text = self.slot.candidates[owner].node.text
        start, end = spans[0]
        return len(spans) == 1 and is_blank(text, 0, start) and is_blank(text, end, len(text))
