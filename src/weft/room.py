"""What a page has room for: what is left of its budget, what stands on it, and what placing something may cost."""

from collections.abc import Callable
from dataclasses import field
from typing import Final

from weft.frozen import dataclass
from weft.leaves import Leaf
from weft.model import Candidate, Item

Cost = Callable[[Leaf, Item], int]
Shorten = Callable[[Candidate, int], tuple[tuple[int, int], ...]]

Slot = tuple[str, str, tuple[int, int] | None]

SMALLEST_EXCERPT: Final = 24
"""An excerpt of fewer tokens than this says less than a summary or a pointer."""

SHORT_TEXT: Final = 800
"""A text of so few tokens is not cut for the sake of others: on a small page it may take more than its share."""

SMALLEST_ITEM: Final = 9
"""No item costs less than this, however short its name."""

ENDLESS: Final = float("inf")


@dataclass(slots=True)
class Room:
    """What is left of the budget, which headings are opened, and which texts stand on the page so far.

    `repeat` lets one node appear in several leaves.
    """

    budget: float
    cost: Cost
    shorten: Shorten
    repeat: bool = False
    spent: int = 0
    opened: set[str] = field(default_factory=set)
    taken: dict[Slot, str] = field(default_factory=dict)
    told: set[Slot] = field(default_factory=set)
    """What is shown for the most part, so that nothing would be gained by printing it again."""

    @property
    def left(self) -> float:
        """What may still be spent."""
        return self.budget - self.spent


@dataclass(frozen=True, slots=True)
class Turn:
    """One attempt at placing: how much the leaf may spend now, what one item may cost, or one whole, and the bound
    that the leaf sets to that."""

    room: float
    cap: float
    whole: float
    bound: float

    def left(self, verb: str = "left") -> str:
        """What was left then, in words."""
        bound = f"an item may cost {int(self.bound)}" if self.bound < self.room else ""
        if self.room == ENDLESS:
            return bound or f"all tokens {verb}"
        return ", ".join(filter(None, (f"{max(int(self.room), 0)} tokens {verb}", bound)))


def bounds_of(leaf: Leaf, own: float) -> tuple[float, float]:
    """What an item may cost, and one that is shown whole, in a leaf that has so much of its own."""
    cap = ENDLESS
    if leaf.cap is not None and own != ENDLESS:
        cap = max(int(own * leaf.cap), SMALLEST_ITEM + SMALLEST_EXCERPT)
    whole = max(cap, SHORT_TEXT) if leaf.relax else cap
    most = ENDLESS if leaf.item_tokens is None else leaf.item_tokens
    return min(cap, most), min(whole, most)
