"""Places on the page: leaves with the section, and for subjects the part, that they print."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from weft.frozen import dataclass
from weft.leaves import Leaf
from weft.loading import fill
from weft.model import Candidate, Detail
from weft.plan import Plan
from weft.profile import Block, Order, Part, Section
from weft.subjects import SubjectPart

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
