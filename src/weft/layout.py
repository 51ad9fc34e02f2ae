"""Candidates go to the sections that admit them, are scored and freed of repeats, and become leaves to fill."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from weft.asides import with_asides
from weft.budget import Leaf
from weft.cover import cover
from weft.dedupe import Entry, dedupe
from weft.gather import Desk, Gathered
from weft.history import already_received
from weft.loading import fill
from weft.model import Candidate, Detail
from weft.plan import Plan, passes
from weft.profile import Block, Order, Part, Section
from weft.retrieve import Scale, relate
from weft.score import score, weights_of
from weft.subjects import SubjectPart, parts_of

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


@dataclass(frozen=True, slots=True)
class Refused:
    """A candidate that no leaf gets, and why."""

    candidate: Candidate
    section: str
    reason: str

    @property
    def place(self) -> tuple[str, str]:
        """Whose node it is, and which."""
        return (self.candidate.node.tenant, self.candidate.node.key)


@dataclass(frozen=True, slots=True)
class Layout:
    """All leaves in printed order, the candidates left outside, and how many of these the session already has."""

    spots: tuple[Spot, ...]
    refused: tuple[Refused, ...]
    received: int = 0


def lay_out(plan: Plan, gathered: Gathered, desk: Desk, now: datetime, opening: Opening) -> Layout:
    """The page's leaves with their candidates, best first."""
    absent = frozenset() if gathered.query.vector is not None else frozenset({"semantic"})
    fresh, received = _without_received(plan, gathered.candidates)
    admitted, refused = _admit(plan, fresh)
    ranked = {
        section.name: _ranked(plan, section, admitted[section.name], now, absent) for section in plan.sections()
    }
    unique, repeats = _without_repeats(plan, ranked)
    spots: list[Spot] = []
    for section in plan.sections():
        mine = unique[section.name]
        if section.for_each is None:
            spots += _section_spots(plan, section, mine, desk, opening)
            continue
        subjects = mine[: section.for_each.limit]
        reason = f"beyond the {section.for_each.limit} subjects of the section"
        refused += [Refused(each, section.name, reason) for each in mine[section.for_each.limit :]]
        for spot in _subject_spots(plan, section, subjects, gathered, desk, (now, absent, opening)):
            members, again = _without_received(plan, spot.leaf.candidates)
            spots.append(replace(spot, leaf=replace(spot.leaf, candidates=tuple(members))))
            received += again
    return Layout(tuple(spots), tuple(refused + repeats + received), len({each.place for each in received}))


def _without_received(plan: Plan, candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Refused]]:
    """What the session does not have yet, and the rest as refused."""
    has = plan.request.received
    if has is None:
        return list(candidates), []
    known = [already_received(has, each) for each in candidates]
    fresh = [each for each, again in zip(candidates, known, strict=True) if not again]
    refused = [Refused(each, "", has.reason) for each, again in zip(candidates, known, strict=True) if again]
    return fresh, refused


def _ranked(
    plan: Plan, section: Section, candidates: Sequence[Candidate], now: datetime, absent: frozenset[str]
) -> tuple[Candidate, ...]:
    """A section's candidates, scored, in an order that covers the question."""
    rule = section.score or plan.profile.score
    scored = score(candidates, rule, plan.lens_named(section.lens), now, absent)
    return cover(scored, rule, weights_of(rule, absent))


def _admit(plan: Plan, candidates: Sequence[Candidate]) -> tuple[dict[str, list[Candidate]], list[Refused]]:
    sections = plan.sections()
    admitted: dict[str, list[Candidate]] = {section.name: [] for section in sections}
    refused = []
    for each in candidates:
        section = next((one for one in sections if _admits(one, each)), None)
        if section is None:
            reason = f"no section takes kind {each.node.kind!r} reached this way"
            refused.append(Refused(each, "", reason))
        else:
            admitted[section.name].append(each)
    return admitted, refused


def _admits(section: Section, candidate: Candidate) -> bool:
    return (
        (not section.probes or candidate.probe in section.probes)
        and (not section.kinds or candidate.node.kind in section.kinds)
        and (not section.tags or any(tag in section.tags for tag in candidate.node.tags))
        and _reached(section, candidate)
    )


def _reached(section: Section, candidate: Candidate) -> bool:
    if section.reach == "start":
        return "start" in candidate.parts
    if section.reach == "any":
        return True
    return (candidate.distance == 0) == (section.reach == "found")


def _without_repeats(
    plan: Plan, ranked: dict[str, tuple[Candidate, ...]]
) -> tuple[dict[str, tuple[Candidate, ...]], list[Refused]]:
    """Drop repeats by each section's rule, best first over the whole page; what was asked for by name stays."""
    entries = [Entry(name, each) for name, members in ranked.items() for each in members]
    entries.sort(key=lambda entry: ("start" not in entry.candidate.parts, -entry.candidate.score))
    repeated = dedupe(entries, plan.profile.dedupe)
    for section in plan.sections():
        if section.dedupe is not None:
            repeated = {place: why for place, why in repeated.items() if entries[place].section != section.name}
            own = [(at, entry) for at, entry in enumerate(entries) if entry.section == section.name]
            again = dedupe([entry for _, entry in own], section.dedupe)
            repeated |= {own[place][0]: why for place, why in again.items()}
    gone = {id(entries[place].candidate) for place in repeated}
    kept = {name: tuple(each for each in members if id(each) not in gone) for name, members in ranked.items()}
    refused = [Refused(entries[at].candidate, entries[at].section, why) for at, why in sorted(repeated.items())]
    return kept, refused


def _section_spots(
    plan: Plan, section: Section, candidates: tuple[Candidate, ...], desk: Desk, opening: Opening
) -> tuple[Spot, ...]:
    """The leaf of a section and, if there are any, one for its asides."""
    own, asides = with_asides(candidates, section.asides, desk.snapshot, partial(_may_show, plan, section))
    spot = _section_spot(plan, section, own, opening)
    if not asides:
        return (spot,)
    share = section.share * _ASIDE_SHARE
    leaf = replace(spot.leaf, name=asides_of(section), candidates=asides, share=share, ladder=(Detail.POINTER,))
    return (spot, replace(spot, leaf=leaf))


def _may_show(plan: Plan, section: Section, candidate: Candidate) -> bool:
    """Whether what no search found is of the section's kinds, passes the filter and is new to the session."""
    of_kind = not section.kinds or candidate.node.kind in section.kinds
    return (
        of_kind and passes(candidate.node, plan.request.filter) and bool(_without_received(plan, [candidate])[0])
    )


def asides_of(section: Section) -> str:
    """The name of the leaf of a section's asides."""
    return f"{section.name}/asides"


def _section_spot(plan: Plan, section: Section, candidates: tuple[Candidate, ...], opening: Opening) -> Spot:
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
    )
    return Spot(leaf, section, heading)


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


def _subject_spots(
    plan: Plan,
    section: Section,
    subjects: tuple[Candidate, ...],
    gathered: Gathered,
    desk: Desk,
    judged: tuple[datetime, frozenset[str], Opening],
) -> list[Spot]:
    now, absent, opening = judged
    heading = fill(section.heading, plan.values)
    shares = _subject_shares(section, subjects)
    spots = []
    for filled in parts_of(subjects, section.parts, section.kinds, desk.snapshot):
        related = relate(filled.candidates, gathered.query, Scale(), plan.profile.fusion, desk.snapshot)
        rule = section.score or plan.profile.score
        ranked = score(related, rule, plan.lens_named(section.lens), now, absent) if filled.part.via else related
        share = shares[node_slot(filled.subject)] * filled.part.share / sum(part.share for part in section.parts)
        spots.append(_part_spot(plan, section, replace(filled, candidates=ranked), (heading, share), opening))
    return spots


def node_slot(candidate: Candidate) -> tuple[str, str]:
    """What tells a candidate's node from all others: a key alone may exist in several tenants."""
    return candidate.node.tenant, candidate.node.key


def _subject_shares(section: Section, subjects: Sequence[Candidate]) -> dict[tuple[str, str], float]:
    """Each subject's part of the section's share: equal, or by 1 + importance."""
    by_importance = section.for_each is not None and section.for_each.split == "importance"
    weight = {node_slot(each): 1.0 + (each.node.importance if by_importance else 0.0) for each in subjects}
    total = sum(weight.values())
    return {key: section.share * each / total for key, each in weight.items()}


def _part_spot(
    plan: Plan, section: Section, filled: SubjectPart, placed: tuple[str, float], opening: Opening
) -> Spot:
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
        cap=section.item_cap,
        relax=section.relax,
        pointers=section.pointers,
        ladder=_ladder(plan, part.detail),
        quotes=_quotes(part.blocks),
    )
    return Spot(leaf, section, heading, subject, part)
