"""The places on a page that take items, and what became of each candidate for one."""

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Final

from weft.frozen import dataclass
from weft.model import Candidate, Detail, Item
from weft.pipeline.plan import Plan
from weft.pipeline.subjects import SubjectPart
from weft.profiles import fill
from weft.profiles.types import Block, Order, Part, Section


@dataclass(frozen=True, slots=True)
class Leaf:
    """A place on the page that takes items: a section, or one part of one subject of a section.

    `openings` are the headings to be printed before its first item, outermost first, as (name, tokens);
    leaves may share them. `cap` is the fraction of the leaf's first budget that one item may cost; it always
    leaves what the smallest excerpt needs. With `relax` it gives way to a short text, and in the end, when nothing
    else wants the room, to all; `item_tokens` never does. `quotes` says that whole items print their text, so that
    one costs at least its text's tokens. `own` leaves print what the heading above them names, however often;
    those that print `again` take a passage of which less than half stands elsewhere. `within` names the groups it
    belongs to, outermost first: what it cannot spend goes to the rest of its group before anyone else gets it.
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
    within: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one candidate of a leaf: its item, or none, and why."""

    leaf: str
    candidate: Candidate
    item: Item | None
    reason: str


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


_ASIDE_SHARE: Final = 0.1
_QUOTING: Final = frozenset({"text", "code", "bullet"})

Opening = Callable[[str, "str | Candidate"], int]
"""The kind of heading (section, group or part) and its words or subject, to its cost in tokens."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A leaf with the section, and for `for_each` the subject and part, that it prints."""

    leaf: Leaf
    section: Section
    heading: str
    subject: Candidate | None = None
    part: Part | None = None

    @property
    def order(self) -> Order:
        """How its items are printed."""
        return self.part.order if self.part else self.section.order


def node_slot(candidate: Candidate) -> tuple[str, str]:
    """What tells a candidate's node from all others: a key alone may exist in several tenants."""
    return candidate.node.tenant, candidate.node.key


def section_spot(plan: Plan, section: Section, candidates: tuple[Candidate, ...], opening: Opening) -> Spot:
    """A section that prints items."""
    heading = fill(section.heading, plan.values)
    leaf = Leaf(
        name=section.name,
        candidates=candidates,
        share=section.share,
        openings=((section.name, opening("section", heading)),),
        limit=section.limit,
        cap=section.item_cap,
        relax=section.relax,
        pointers=section.pointers,
        ladder=_ladder(plan, section.detail),
        quotes=_quotes(section.blocks),
        again=section.unit == "passage",
    )
    return Spot(leaf, section, heading)


def asides_spot(spot: Spot, asides: tuple[Candidate, ...]) -> Spot:
    """The pointers that stand beside the items of a section, under its heading."""
    share = spot.section.share * _ASIDE_SHARE
    name = asides_of(spot.section)
    return replace(
        spot, leaf=replace(spot.leaf, name=name, candidates=asides, share=share, ladder=(Detail.POINTER,))
    )


def asides_of(section: Section) -> str:
    """The name of the leaf of a section's asides."""
    return f"{section.name}/asides"


def part_spot(
    plan: Plan, section: Section, filled: SubjectPart, placed: tuple[str, float], opening: Opening
) -> Spot:
    """One part of a subject, under the section's heading and with its share."""
    heading, share = placed
    subject, part = filled.subject, filled.part
    group = "/".join([section.name, *node_slot(subject)])
    leaf = Leaf(
        name=f"{group}/{part.name}",
        candidates=filled.candidates,
        share=share,
        openings=(
            (section.name, opening("section", heading)),
            (group, opening("group", subject)),
            (f"{group}/{part.name}", opening("part", part.label)),
        ),
        limit=part.limit,
        item_tokens=part.item_tokens,
        own=not part.via,
        cap=section.item_cap,
        relax=section.relax,
        pointers=section.pointers,
        ladder=_ladder(plan, part.detail),
        quotes=_quotes(part.blocks),
        within=(section.name, group),
    )
    return Spot(leaf, section, heading, subject, part)


def _quotes(blocks: Sequence[Block]) -> bool:
    """Whether items print their text without a limit of their own."""
    return any(
        each.limit is None and not each.fields and (each.block in _QUOTING or "{text}" in each.form)
        for each in blocks
    )


def _ladder(plan: Plan, detail: tuple[Detail, ...]) -> tuple[Detail, ...]:
    """The levels of detail allowed; a very small budget gets names and types only."""
    if plan.budget is not None and plan.budget < plan.profile.summary_only_below:
        return (Detail.POINTER,)
    return detail
