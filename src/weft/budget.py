"""Where the budget is enforced: shares and levels of detail decide what is printed, and how much of each item."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from weft.frozen import dataclass
from weft.model import Candidate, Detail, Item
from weft.profile import Select

Cost = Callable[["Leaf", Item], int]
Shorten = Callable[[Candidate, int], tuple[tuple[int, int], ...]]

_Slot = tuple[str, str, tuple[int, int] | None]

SMALLEST_EXCERPT: Final = 24
"""An excerpt of fewer tokens than this says less than a summary or a pointer."""

SHORT_TEXT: Final = 800
"""A text of so few tokens is not cut for the sake of others: on a small page it may take more than its share."""

SMALLEST_ITEM: Final = 9
"""No item costs less than this, however short its name."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A place on the page that takes items: a section, or one part of one subject of a section.

    `openings` are the headings to be printed before its first item, outermost first, as (name, tokens);
    leaves may share them. `cap` is the fraction of the leaf's first budget that one item may cost; it always
    leaves what the smallest excerpt needs. With `relax` it gives way to a short text, and in the end, when nothing
    else wants the room, to all; `item_tokens` never does. `quotes` says that whole items print their text, so that
    one costs at least its text's tokens. `own` leaves print what the heading above them names, however often;
    those that print `again` take a passage of which less than half stands elsewhere.
    """

    name: str
    candidates: tuple[Candidate, ...]
    share: float = 1.0
    openings: tuple[tuple[str, int], ...] = ()
    limit: int | None = None
    cap: float | None = None
    relax: bool = False
    pointers: int | None = None
    ladder: tuple[Detail, ...] = ()
    quotes: bool = True
    item_tokens: int | None = None
    own: bool = False
    again: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one candidate of a leaf: its item, or none, and why."""

    leaf: str
    candidate: Candidate
    item: Item | None
    reason: str


@dataclass(slots=True)
class _Room:
    """What is left, what is opened, and what is placed so far."""

    budget: float
    spent: int = 0
    opened: set[str] = field(default_factory=set)
    placed: dict[tuple[str, int], Item] = field(default_factory=dict)
    reasons: dict[tuple[str, int], str] = field(default_factory=dict)
    taken: dict[_Slot, str] = field(default_factory=dict)
    told: set[_Slot] = field(default_factory=set)
    """What is shown for the most part, so that nothing would be gained by printing it again."""
    costs: dict[tuple[str, int, Detail], int] = field(default_factory=dict)
    counts: dict[tuple[str, Detail | None], int] = field(default_factory=dict)

    @property
    def left(self) -> float:
        """What may still be spent."""
        return self.budget - self.spent


@dataclass(frozen=True, slots=True)
class _Turn:
    """One attempt at placing: how much this leaf may spend now, and how much one item may cost, or one whole."""

    room: float
    cap: float
    whole: float
    bound: str


def fit(
    leaves: Sequence[Leaf],
    budget: int | None,
    *,
    select: Select,
    cost: Cost,
    shorten: Shorten,
    repeat: bool = False,
) -> tuple[Outcome, ...]:
    """An outcome for every candidate of every leaf, together never costing more than the budget.

    First every leaf spends its own share; what it leaves goes to the others, better detail first, then more
    items. `repeat` lets one node appear in several leaves.
    """
    room = _Room(float("inf") if budget is None else float(budget))
    work = _Work(room, cost, shorten, repeat)
    present = [leaf for leaf in leaves if leaf.candidates]
    if select == "relevance":
        _by_relevance(present, work)
    else:
        _by_share(present, work)
    while _leftovers(present, work, relaxed=False):
        pass
    _leftovers([leaf for leaf in present if leaf.relax], work, relaxed=True)
    return tuple([outcome for leaf in leaves for outcome in work.outcomes(leaf)])


def _by_share(leaves: Sequence[Leaf], work: "_Work") -> None:
    total, shares = work.room.left, sum(leaf.share for leaf in leaves)
    for leaf in leaves:
        own = total * leaf.share / shares
        work.first[leaf.name] = own
        before = work.room.spent
        for place in range(len(leaf.candidates)):
            work.place(leaf, place, own - (work.room.spent - before), relaxed=False)


def _by_relevance(leaves: Sequence[Leaf], work: "_Work") -> None:
    """All leaves draw on one room, the best-scored candidate of any leaf first."""
    for leaf in leaves:
        work.first[leaf.name] = work.room.left
    ranked = sorted(
        ((-each.score, at, place) for at, leaf in enumerate(leaves) for place, each in enumerate(leaf.candidates)),
    )
    for _, at, place in ranked:
        work.place(leaves[at], place, work.room.left, relaxed=False)


def _leftovers(leaves: Sequence[Leaf], work: "_Work", *, relaxed: bool) -> bool:
    """Offer what is left to every candidate in turn; whether any took much of it."""
    before = work.room.spent
    for leaf in leaves:
        for place in range(len(leaf.candidates)):
            if work.room.left < SMALLEST_ITEM:
                return False
            if relaxed or not work.hopeless(leaf, place):
                work.place(leaf, place, work.room.left, relaxed=relaxed)
    return work.room.spent - before > SMALLEST_EXCERPT


@dataclass(slots=True)
class _Work:
    """The hands of `fit`: tries levels of detail for one candidate and books what it costs."""

    room: _Room
    cost: Cost
    shorten: Shorten
    repeat: bool
    first: dict[str, float] = field(default_factory=dict)
    failed: dict[tuple[str, int], tuple[float, bool]] = field(default_factory=dict)
    """The room in which a candidate found no place, and whether a pointer would have been allowed."""
    offered: dict[tuple[str, int], float] = field(default_factory=dict)
    """The most that a candidate was last allowed to cost: with no more, it would be shown no better."""

    def place(self, leaf: Leaf, place: int, room: float, *, relaxed: bool) -> None:
        """Give a candidate the best level of detail that the room allows, never less than it has."""
        slot = (leaf.name, place)
        current = self.room.placed.get(slot)
        if (current is not None and _complete(leaf, current)) or not self._admitted(leaf, place, current):
            return
        if current is None and self.room.left < SMALLEST_ITEM:
            return
        turn = self._turn(leaf, room, current, relaxed=relaxed)
        if current is not None and turn.cap <= self.offered.get(slot, -1.0):
            return
        self.offered[slot] = turn.cap
        for detail in leaf.ladder if self._hopeful(leaf, place, turn) else ():
            if current is not None and not _better(leaf, detail, current):
                return
            item = self._option(leaf, place, detail, turn)
            if item is not None and (
                current is None or item.tokens > current.tokens or detail is not current.detail
            ):
                self._book(leaf, place, item, current)
                self._explain(leaf, place, item, turn)
                return
        if current is None:
            self.failed[slot] = (turn.cap, self._points(leaf))

    def hopeless(self, leaf: Leaf, place: int) -> bool:
        """Whether a candidate already failed in at least the room that is left, or has all it can get."""
        slot = (leaf.name, place)
        current = self.room.placed.get(slot)
        if current is not None:
            return _complete(leaf, current)
        room, pointed = self.failed.get(slot, (-1.0, False))
        return room >= self.room.left and (pointed or not self._points(leaf))

    def _hopeful(self, leaf: Leaf, place: int, turn: _Turn) -> bool:
        """Whether there is more room, or a pointer is allowed now, than when it last failed."""
        room, pointed = self.failed.get((leaf.name, place), (-1.0, False))
        return turn.cap >= SMALLEST_ITEM and (turn.cap > room or (self._points(leaf) and not pointed))

    def _points(self, leaf: Leaf) -> bool:
        """Whether the leaf may take one more pointer."""
        return leaf.pointers is None or self._count(leaf, Detail.POINTER) < leaf.pointers

    def _admitted(self, leaf: Leaf, place: int, current: Item | None) -> bool:
        if current is not None:
            return True
        slot, own = (leaf.name, place), _slot(leaf.candidates[place])
        elsewhere = self.room.taken.get(own)
        partial = leaf.again and own not in self.room.told
        if elsewhere is not None and not (self.repeat or leaf.own or partial):
            self.room.reasons[slot] = f"already printed in {elsewhere}"
            return False
        if leaf.limit is not None and self._count(leaf) >= leaf.limit:
            self.room.reasons[slot] = f"the section's limit of {leaf.limit} items is reached"
            return False
        return True

    def _count(self, leaf: Leaf, detail: Detail | None = None) -> int:
        return self.room.counts.get((leaf.name, detail), 0)

    def _turn(self, leaf: Leaf, room: float, current: Item | None, *, relaxed: bool) -> _Turn:
        held = current.tokens if current else 0
        opening = sum(tokens for name, tokens in leaf.openings if name not in self.room.opened)
        own = min(room, self.room.left) + held - opening
        cap = float("inf")
        if leaf.cap is not None and not relaxed and self.first[leaf.name] != float("inf"):
            cap = max(int(self.first[leaf.name] * leaf.cap), SMALLEST_ITEM + SMALLEST_EXCERPT)
        whole = max(cap, SHORT_TEXT) if leaf.relax else cap
        if leaf.item_tokens is not None:
            cap, whole = min(cap, leaf.item_tokens), min(whole, leaf.item_tokens)
        bound = f", an item may cost {int(cap)}" if cap < own else ""
        return _Turn(own, min(own, cap), min(own, whole), bound)

    def _option(self, leaf: Leaf, place: int, detail: Detail, turn: _Turn) -> Item | None:
        """The item at this level if it exists and fits."""
        candidate = leaf.candidates[place]
        if detail is Detail.EXCERPT:
            return self._excerpt(leaf, place, turn)
        if detail is Detail.POINTER and (not self._points(leaf) or _pointer_least(candidate) > turn.cap):
            return None
        if detail is Detail.SUMMARY and not _summary(candidate):
            return None
        if detail is Detail.WHOLE and not _has_whole(leaf, candidate):
            return None
        key, most = (leaf.name, place, detail), turn.whole if detail is Detail.WHOLE else turn.cap
        if key not in self.room.costs:
            if leaf.quotes and detail is Detail.WHOLE and (candidate.text_tokens or 0) > most:
                return None
            self.room.costs[key] = self.cost(leaf, Item(candidate, detail))
        tokens = self.room.costs[key]
        return Item(candidate, detail, tokens=tokens) if 0 < tokens <= most else None

    def _excerpt(self, leaf: Leaf, place: int, turn: _Turn) -> Item | None:
        candidate = leaf.candidates[place]
        if not candidate.node.text or turn.cap <= SMALLEST_ITEM + SMALLEST_EXCERPT:
            return None
        if turn.cap == float("inf"):
            item = Item(candidate, Detail.EXCERPT, (candidate.window or (0, len(candidate.node.text)),))
            return replace(item, tokens=self.cost(leaf, item))
        room = int(turn.cap) - self._frame(leaf, place)
        for _ in range(3):
            if room < SMALLEST_EXCERPT:
                return None
            spans = self.shorten(candidate, room)
            if not spans:
                return None
            item = Item(candidate, Detail.EXCERPT, spans)
            tokens = self.cost(leaf, item)
            if 0 < tokens <= turn.cap:
                return Item(candidate, Detail.EXCERPT, spans, tokens)
            room -= tokens - int(turn.cap)
        return None

    def _frame(self, leaf: Leaf, place: int) -> int:
        """What an excerpt costs besides its text."""
        key = (leaf.name, place, Detail.EXCERPT)
        if key not in self.room.costs:
            self.room.costs[key] = self.cost(leaf, Item(leaf.candidates[place], Detail.EXCERPT))
        return self.room.costs[key]

    def _book(self, leaf: Leaf, place: int, item: Item, current: Item | None) -> None:
        for name, tokens in leaf.openings:
            if name not in self.room.opened:
                self.room.opened.add(name)
                self.room.spent += tokens
        self.room.spent += item.tokens - (current.tokens if current else 0)
        self.room.placed[leaf.name, place] = item
        self._tally(leaf, None, 0 if current else 1)
        self._tally(leaf, item.detail, 1)
        if current:
            self._tally(leaf, current.detail, -1)
        slot = _slot(item.candidate)
        self.room.taken.setdefault(slot, leaf.name)
        if _shows_most(item):
            self.room.told.add(slot)

    def _tally(self, leaf: Leaf, detail: Detail | None, change: int) -> None:
        key = (leaf.name, detail)
        self.room.counts[key] = self.room.counts.get(key, 0) + change

    def _explain(self, leaf: Leaf, place: int, item: Item, turn: _Turn) -> None:
        if _shows_all(item):
            reason = "fits whole" if item.candidate.window is None else "the passage fits whole"
        elif item.detail is leaf.ladder[0] or turn.cap == float("inf"):
            reason = f"fits as {item.detail}, the most that the section prints of it"
        else:
            reason = f"reduced to fit: {max(int(turn.room), 0)} tokens were left{turn.bound}"
        self.room.reasons[leaf.name, place] = reason

    def outcomes(self, leaf: Leaf) -> Iterator[Outcome]:
        """What became of each candidate of a leaf, when all is placed."""
        left = self._why_not(leaf) if leaf.candidates else ""
        for place, candidate in enumerate(leaf.candidates):
            slot = (leaf.name, place)
            yield Outcome(leaf.name, candidate, self.room.placed.get(slot), self.room.reasons.get(slot, left))

    def _why_not(self, leaf: Leaf) -> str:
        """Why a candidate that was not refused outright is not shown: what is left."""
        turn = self._turn(leaf, self.room.left, None, relaxed=leaf.relax)
        if turn.cap == float("inf"):
            return f"has nothing to print as {' or '.join(leaf.ladder)}"
        left = f"{max(int(turn.room), 0)} tokens left{turn.bound}"
        if Detail.POINTER in leaf.ladder and self._count(leaf, Detail.POINTER) == leaf.pointers:
            return f"no room: {left}, and the section's limit of {leaf.pointers} pointers is reached"
        return f"no room: {left}"


def _complete(leaf: Leaf, item: Item) -> bool:
    """Whether more room would not show more of it; an excerpt may grow until it is the whole passage."""
    if item.detail is Detail.EXCERPT:
        return _shows_all(item)
    return item.detail is leaf.ladder[0]


def _shows_all(item: Item) -> bool:
    """Whether all of the text, or of the passage that the candidate stands for, is shown."""
    window = item.candidate.window
    return item.spans == (window,) if window else item.detail is Detail.WHOLE


def _shows_most(item: Item) -> bool:
    window = item.candidate.passage or item.candidate.window
    if window is None:
        return True
    return 2 * sum(end - start for start, end in item.spans) >= window[1] - window[0]


def _has_whole(leaf: Leaf, candidate: Candidate) -> bool:
    """Whether a candidate can be shown whole: a passage is an excerpt, and where texts are quoted there is one."""
    if candidate.window is not None:
        return False
    return bool(candidate.node.text) or not (leaf.quotes and (leaf.own or leaf.again))


def _slot(candidate: Candidate) -> _Slot:
    """What tells a candidate's text from all others: its node, or a passage of it."""
    passage = candidate.passage or candidate.window
    whole = passage == (0, len(candidate.node.text))
    return candidate.node.tenant, candidate.node.key, None if whole else passage


def _pointer_least(candidate: Candidate) -> int:
    """About what a pointer costs at least, so that the many that cannot fit need not be printed to know it."""
    node = candidate.node
    return SMALLEST_ITEM + (len(node.title) + len(node.kind) + len(node.origin.file or node.key)) // 5


def _summary(candidate: Candidate) -> bool:
    return bool(candidate.node.summary or candidate.node.fields.get("signature"))


def _better(leaf: Leaf, detail: Detail, current: Item) -> bool:
    """Whether a level is above the current one, or is an excerpt that may grow."""
    here = leaf.ladder.index(detail)
    at = leaf.ladder.index(current.detail)
    return here < at or (here == at and detail is Detail.EXCERPT)


def tokens_by_leaf(outcomes: Sequence[Outcome]) -> Mapping[str, int]:
    """Tokens that each leaf's items cost."""
    spent: dict[str, int] = {}
    for outcome in outcomes:
        if outcome.item is not None:
            spent[outcome.leaf] = spent.get(outcome.leaf, 0) + outcome.item.tokens
    return spent
