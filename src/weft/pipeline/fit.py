"""Where the budget is enforced: shares and levels of detail decide what is printed, and how much of each item."""

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from itertools import groupby
from typing import Final, Literal

from weft.frozen import dataclass
from weft.model import Candidate, Detail, Item
from weft.pipeline.slots import (
    ENDLESS,
    SMALLEST_EXCERPT,
    SMALLEST_ITEM,
    Cost,
    Leaf,
    Outcome,
    Room,
    Shorten,
    Slot,
    Turn,
    bounds_of,
)
from weft.profiles.types import Select

_LEAST_EXCERPT: Final = SMALLEST_ITEM + SMALLEST_EXCERPT
_LETTERS: Final = 5
"""So many letters have a token, and more than so many for each that is allowed will not fit."""


@dataclass(slots=True)
class Shelf:
    """A leaf and what stands in it; `own` is its first budget. Lists go by the places of its candidates."""

    leaf: Leaf
    room: Room
    own: float
    placed: list[Item | None] = field(default_factory=list)
    turns: list[Turn | None] = field(default_factory=list)
    """In which attempt a candidate got its place."""
    slots: list[Slot] = field(default_factory=list)
    offered: list[float] = field(default_factory=list)
    """The most that a candidate was last allowed to cost: with no more, it would be shown no better."""
    failed: list[float] = field(default_factory=list)
    """What a candidate was allowed to cost when it found no place."""
    pointed: list[bool] = field(default_factory=list)
    """Whether a pointer was allowed then."""
    least: list[int] = field(default_factory=list)
    """About what a candidate costs in its cheapest form: nothing is tried for the many that cannot fit."""
    costs: dict[tuple[int, Detail], int] = field(default_factory=dict)
    count: int = 0
    pointers: int = 0
    spent: int = 0
    """What its items cost, and the headings that it was the first to need."""
    bounds: tuple[tuple[float, float], tuple[float, float]] = ((0.0, 0.0), (0.0, 0.0))
    """What an item may cost, and one whole; and the same where the cap gives way."""

    def __post_init__(self) -> None:
        """Make every place empty."""
        many = len(self.leaf.candidates)
        self.placed, self.turns = [None] * many, [None] * many
        self.offered, self.failed, self.pointed = [-1.0] * many, [-1.0] * many, [False] * many
        self.least = _leasts(self.leaf)
        self.slots = [_slot(each) for each in self.leaf.candidates]
        self.bounds = bounds_of(self.leaf, self.own), bounds_of(self.leaf, ENDLESS)

    def offer(self, most: float, *, relaxed: bool = False) -> None:
        """Offer so much, if the page has it, to every candidate in turn."""
        end = self.spent + min(most, self.room.left)
        for place in range(len(self.placed)):
            if end - self.spent < SMALLEST_ITEM:
                return
            self.place(place, end - self.spent, relaxed=relaxed)

    def place(self, place: int, room: float, *, relaxed: bool = False) -> None:
        """Give a candidate the best level of detail that the room allows, never less than it has."""
        current = self.placed[place]
        if current is None:
            if self.full or not self._hopeful(place, room) or self._elsewhere(place):
                return
        elif self.offered[place] >= self.bounds[relaxed][0] or self._complete(current):
            return
        turn = self._turn(room, current.tokens if current else 0, relaxed=relaxed)
        if turn.cap <= self.offered[place] if current else not self._hopeful(place, turn.cap):
            return
        self.offered[place] = turn.cap
        item = self._best(place, turn, current)
        if item is not None:
            self._book(place, item, current)
            self.turns[place] = turn
        elif current is None:
            self.failed[place], self.pointed[place] = turn.cap, self._points()

    def outcomes(self) -> Iterator[Outcome]:
        """What became of each candidate, when all is placed."""
        left = self._why_not()
        for place, candidate in enumerate(self.leaf.candidates):
            item, turn = self.placed[place], self.turns[place]
            reason = self._why(item, turn) if item and turn else self._elsewhere(place) or left
            yield Outcome(self.leaf.name, candidate, item, reason)

    @property
    def full(self) -> bool:
        """Whether the leaf takes no further item."""
        return self.leaf.limit is not None and self.count >= self.leaf.limit

    def _hopeful(self, place: int, room: float) -> bool:
        """Whether there is more room, or a pointer is allowed now, than when a candidate last failed."""
        if room < self.least[place]:
            return False
        return room > self.failed[place] or (not self.pointed[place] and self._points())

    def _points(self) -> bool:
        """Whether the leaf may take one more pointer."""
        return self.leaf.pointers is None or self.pointers < self.leaf.pointers

    def _elsewhere(self, place: int) -> str:
        """Where the candidate's text stands on the page, if it is not to stand here too."""
        leaf, slot = self.leaf, self.slots[place]
        printed = self.room.taken.get(slot)
        if printed is None or self.room.repeat or leaf.own or (leaf.again and slot not in self.room.told):
            return ""
        return f"already printed in {printed}"

    def _turn(self, room: float, held: int, *, relaxed: bool) -> Turn:
        own = min(room, self.room.left) + held
        if not self.count:
            # A leaf that holds something has all its headings.
            own -= sum([cost for name, cost in self.leaf.openings if name not in self.room.opened])
        cap, whole = self.bounds[relaxed]
        return Turn(own, min(own, cap), min(own, whole), cap)

    def _best(self, place: int, turn: Turn, current: Item | None) -> Item | None:
        """The candidate at the highest level that fits, if that is better than what stands there."""
        for detail in self.leaf.ladder:
            if current is not None and not _better(self.leaf, detail, current):
                return None
            item = self._option(place, detail, turn)
            if item is not None and (
                current is None or item.tokens > current.tokens or detail is not current.detail
            ):
                return item
        return None

    def _option(self, place: int, detail: Detail, turn: Turn) -> Item | None:
        """The item at this level if it exists and fits."""
        candidate = self.leaf.candidates[place]
        if detail is Detail.EXCERPT:
            return self._excerpt(place, turn)
        if detail is Detail.POINTER and (not self._points() or _pointer_least(candidate) > turn.cap):
            return None
        if detail is Detail.SUMMARY and not _summary(candidate):
            return None
        if detail is Detail.WHOLE and not _has_whole(self.leaf, candidate):
            return None
        most = turn.whole if detail is Detail.WHOLE else turn.cap
        if (place, detail) not in self.costs:
            if self.leaf.quotes and detail is Detail.WHOLE and (candidate.text_tokens or 0) > most:
                return None
            self.costs[place, detail] = self.room.cost(self.leaf, Item(candidate, detail))
        tokens = self.costs[place, detail]
        return Item(candidate, detail, tokens=tokens) if 0 < tokens <= most else None

    def _excerpt(self, place: int, turn: Turn) -> Item | None:
        candidate = self.leaf.candidates[place]
        if turn.cap <= _LEAST_EXCERPT or not candidate.node.text:
            return None
        whole = self._whole_passage(candidate, turn)
        if whole is not None:
            return whole
        room = int(turn.cap) - self._frame(place)
        for _ in range(3):
            if room < SMALLEST_EXCERPT:
                return None
            spans = self.room.shorten(candidate, room)
            if not spans:
                return None
            tokens = self.room.cost(self.leaf, Item(candidate, Detail.EXCERPT, spans))
            if 0 < tokens <= turn.cap:
                return Item(candidate, Detail.EXCERPT, spans, tokens)
            room -= tokens - int(turn.cap)
        return None

    def _whole_passage(self, candidate: Candidate, turn: Turn) -> Item | None:
        """All of what may be quoted, if it is short enough: then nothing has to be chosen of it."""
        window = candidate.window or (0, len(candidate.node.text))
        if turn.cap != ENDLESS and (candidate.window is None or window[1] - window[0] > _LETTERS * turn.cap):
            return None
        item = Item(candidate, Detail.EXCERPT, (window,))
        tokens = self.room.cost(self.leaf, item)
        return replace(item, tokens=tokens) if tokens <= turn.cap else None

    def _frame(self, place: int) -> int:
        """What an excerpt costs besides its text."""
        if (place, Detail.EXCERPT) not in self.costs:
            bare = Item(self.leaf.candidates[place], Detail.EXCERPT)
            self.costs[place, Detail.EXCERPT] = self.room.cost(self.leaf, bare)
        return self.costs[place, Detail.EXCERPT]

    def _book(self, place: int, item: Item, current: Item | None) -> None:
        room = self.room
        tokens = item.tokens - (current.tokens if current else 0)
        for name, opening in self.leaf.openings if not self.count else ():
            if name not in room.opened:
                room.opened.add(name)
                tokens += opening
        room.spent += tokens
        self.spent += tokens
        self.count += current is None
        self.pointers += item.detail is Detail.POINTER
        self.pointers -= current is not None and current.detail is Detail.POINTER
        self.placed[place] = item
        room.taken.setdefault(self.slots[place], self.leaf.name)
        if _shows_most(item):
            room.told.add(self.slots[place])

    def _complete(self, item: Item) -> bool:
        """Whether more room would not show more of it; an excerpt may grow until it is the whole passage."""
        return _shows_all(item) if item.detail is Detail.EXCERPT else item.detail is self.leaf.ladder[0]

    def _why(self, item: Item, turn: Turn) -> str:
        if _shows_all(item):
            return "fits whole" if item.candidate.window is None else "the passage fits whole"
        if item.detail is self.leaf.ladder[0] or turn.cap == ENDLESS:
            return f"fits as {item.detail}, the most that the section prints of it"
        return f"reduced to fit: {turn.left('were left')}"

    def _why_not(self) -> str:
        """Why a candidate that stands nowhere is not shown: what is left."""
        if self.full:
            return f"the section's limit of {self.leaf.limit} items is reached"
        turn = self._turn(self.room.left, 0, relaxed=self.leaf.relax)
        if turn.cap == ENDLESS:
            return f"has nothing to print as {' or '.join(self.leaf.ladder)}"
        if Detail.POINTER in self.leaf.ladder and not self._points():
            return f"no room: {turn.left()}, and the section's limit of {self.leaf.pointers} pointers is reached"
        return f"no room: {turn.left()}"


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


def _slot(candidate: Candidate) -> Slot:
    """What tells a candidate's text from all others: its node, or a passage of it."""
    passage = candidate.passage or candidate.window
    whole = passage == (0, len(candidate.node.text))
    return candidate.node.tenant, candidate.node.key, None if whole else passage


def _leasts(leaf: Leaf) -> list[int]:
    """About what each candidate costs in the cheapest form that the leaf prints."""
    if leaf.ladder == (Detail.EXCERPT,):
        return [_LEAST_EXCERPT] * len(leaf.candidates)
    return [_least(leaf, each) for each in leaf.candidates]


def _least(leaf: Leaf, candidate: Candidate) -> int:
    whole = _has_whole(leaf, candidate) and not (leaf.quotes and (candidate.text_tokens or 0) > _LEAST_EXCERPT)
    if whole or _summary(candidate):
        return SMALLEST_ITEM
    return min(_pointer_least(candidate), _LEAST_EXCERPT) if Detail.POINTER in leaf.ladder else _LEAST_EXCERPT


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


_Rule = Literal["in turn", "by shares", "missing first"]
_RULES: Final[tuple[_Rule, ...]] = ("in turn", "by shares", "missing first")
"""How leftovers go to the sections of a page, the subjects of a section and the parts of a subject."""


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

    First every leaf spends its own share; what it leaves goes to the rest of its group, then to the others, better
    detail first, then more items. `repeat` lets one node appear in several leaves.
    """
    room = Room(float("inf") if budget is None else float(budget), cost, shorten, repeat)
    page = _by_relevance(leaves, room) if select == "relevance" else _by_share(leaves, room)
    page.settle()
    shelves = list(page.shelves())
    for shelf in shelves:
        if shelf.leaf.relax:
            shelf.offer(room.left, relaxed=True)
    return tuple([outcome for shelf in shelves for outcome in shelf.outcomes()])


@dataclass(frozen=True, slots=True)
class _Group:
    """Shelves, or groups of them, that share a budget, and the rule by which they get what is left over.

    Sections get it in turn. Subjects get it by their shares, before it goes to those who can use more. Of
    the parts of a subject those come first that show nothing yet: a tree that its small share could not hold.
    """

    room: Room
    own: float
    members: "tuple[_Group | Shelf, ...]"
    rule: _Rule = "in turn"

    @property
    def spent(self) -> int:
        """What stands in it, with its headings."""
        return sum([member.spent for member in self.members])

    def shelves(self) -> Iterator[Shelf]:
        """All its shelves in printed order."""
        for member in self.members:
            if isinstance(member, Shelf):
                yield member
            else:
                yield from member.shelves()

    def settle(self) -> None:
        """Offer what the members leave to each other, the innermost groups first, until none takes much of it."""
        for member in self.members:
            if isinstance(member, _Group):
                member.settle()
        left, taken = self.own - self.spent, ENDLESS
        while left >= SMALLEST_ITEM and taken > SMALLEST_EXCERPT:
            before = self.room.spent
            self.offer(left)
            taken = self.room.spent - before
            left -= taken

    def offer(self, most: float) -> None:
        """Offer so much to the members."""
        end, members = self.room.spent + most, self.members
        if self.rule == "by shares" and most != ENDLESS:
            for member in members:
                member.offer(most * member.own / self.own)
        elif self.rule == "missing first":
            members = tuple(sorted(members, key=lambda member: member.spent > 0))
        for member in members:
            member.offer(end - self.room.spent)


def _by_share(leaves: Sequence[Leaf], room: Room) -> _Group:
    """Every leaf spends what its share of the room is."""
    page = _group(leaves, room, room.budget)
    for shelf in page.shelves():
        shelf.offer(shelf.own)
    return page


def _group(leaves: Sequence[Leaf], room: Room, own: float, depth: int = 0) -> _Group:
    """The leaves below one heading: the parts of a subject, the subjects of a section, or the page.

    What is empty leaves its share to its own group, or where all of that is empty, to the other groups.
    """
    branches = [list(branch) for _, branch in groupby(leaves, lambda leaf: (*leaf.within, leaf.name)[depth])]
    filled = [branch for branch in branches if any(leaf.candidates for leaf in branch)]
    shares = [sum([leaf.share for leaf in branch]) for branch in filled]
    whole = sum(shares)
    members: list[_Group | Shelf] = []
    for branch, share in zip(filled, shares, strict=True):
        part = own * share / whole
        if len(branch[0].within) > depth:
            members.append(_group(branch, room, part, depth + 1))
        else:
            members.append(Shelf(branch[0], room, part))
    return _Group(room, own, tuple(members), _RULES[depth])


def _by_relevance(leaves: Sequence[Leaf], room: Room) -> _Group:
    """All leaves draw on one room, the best-scored candidate of any leaf first."""
    shelves = [Shelf(leaf, room, room.budget) for leaf in leaves if leaf.candidates]
    ranked = sorted(
        (-each.score, at, place)
        for at, shelf in enumerate(shelves)
        for place, each in enumerate(shelf.leaf.candidates)
    )
    for _, at, place in ranked:
        shelves[at].place(place, room.left)
    return _Group(room, room.budget, tuple(shelves))
