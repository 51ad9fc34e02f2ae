"""Where the budget is enforced: shares and levels of detail decide what is printed, and how much of each item."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, Literal

from weft.frozen import dataclass
from weft.leaves import Leaf, Outcome
from weft.profile import Select
from weft.room import ENDLESS, SMALLEST_EXCERPT, SMALLEST_ITEM, Cost, Room, Shorten
from weft.shelf import Shelf

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
