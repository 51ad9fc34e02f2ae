"""Where the budget is enforced: shares and levels of detail decide what is printed, and how much of each item."""

from collections.abc import Sequence

from weft.leaves import Leaf, Outcome
from weft.profile import Select
from weft.room import SMALLEST_EXCERPT, SMALLEST_ITEM, Cost, Room, Shorten
from weft.shelf import Shelf


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
    room = Room(float("inf") if budget is None else float(budget), cost, shorten, repeat)
    present = [leaf for leaf in leaves if leaf.candidates]
    shelves = _by_relevance(present, room) if select == "relevance" else _by_share(present, room)
    while _leftovers(shelves, room, relaxed=False):
        pass
    _leftovers([shelf for shelf in shelves if shelf.leaf.relax], room, relaxed=True)
    return tuple([outcome for shelf in shelves for outcome in shelf.outcomes()])


def _by_share(leaves: Sequence[Leaf], room: Room) -> list[Shelf]:
    """Every leaf spends what its share of the room is."""
    shares = sum(leaf.share for leaf in leaves)
    shelves = [Shelf(leaf, room, room.budget * leaf.share / shares) for leaf in leaves]
    for shelf in shelves:
        shelf.spend()
    return shelves


def _by_relevance(leaves: Sequence[Leaf], room: Room) -> list[Shelf]:
    """All leaves draw on one room, the best-scored candidate of any leaf first."""
    shelves = [Shelf(leaf, room, room.budget) for leaf in leaves]
    ranked = sorted(
        ((-each.score, at, place) for at, leaf in enumerate(leaves) for place, each in enumerate(leaf.candidates)),
    )
    for _, at, place in ranked:
        shelves[at].place(place, room.left, relaxed=False)
    return shelves


def _leftovers(shelves: Sequence[Shelf], room: Room, *, relaxed: bool) -> bool:
    """Offer what is left to every candidate in turn; whether any took much of it."""
    before = room.spent
    for shelf in shelves:
        shelf.offer(relaxed=relaxed)
    return room.left >= SMALLEST_ITEM and room.spent - before > SMALLEST_EXCERPT
