"""Subjects and their parts on the page: how many there are, what fills them and what share each has."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from weft.frozen import dataclass
from weft.history import already_received
from weft.model import Candidate
from weft.pipeline.dedupe import Entry, dedupe
from weft.pipeline.gather import Gathered
from weft.pipeline.plan import Plan, passes
from weft.pipeline.reading import Desk
from weft.pipeline.related import with_asides
from weft.pipeline.relevance import Scale
from weft.pipeline.retrieve import divide, relate
from weft.pipeline.score import cover, score, weights_of
from weft.pipeline.slots import Opening, Spot, asides_spot, node_slot, part_spot, section_spot
from weft.pipeline.subjects import SubjectPart, parts_of, with_relations
from weft.profiles import fill
from weft.profiles.types import ForEach, Part, Section

_MARGIN: Final = 4
"""How many times what a part may take is considered for it: of the hundreds of passages that name a hero the rest
would only be listed as left out."""


@dataclass(frozen=True, slots=True)
class Judging:
    """What candidates are measured with: the request, what it gathered, and the clock."""

    plan: Plan
    gathered: Gathered
    desk: Desk
    now: datetime
    absent: frozenset[str]

    def divided(self, candidates: Sequence[Candidate], *, matched: bool = False) -> tuple[Candidate, ...]:
        """The passages of the candidates, or of these those that matched, measured."""
        gathered, fusion = self.gathered, self.plan.profile.fusion
        return divide(candidates, gathered.query, gathered.scale, fusion, self.desk.snapshot, matched=matched)

    def ranked(self, filled: SubjectPart, section: Section) -> tuple[Candidate, ...]:
        """What fills a part, best first; a part without links has the subject alone."""
        if not filled.part.via:
            return filled.candidates
        fusion, rule = self.plan.profile.fusion, filled.part.score or section.score or self.plan.profile.score
        related = relate(filled.candidates, self.gathered.query, Scale(), fusion, self.desk.snapshot)
        ordered = score(related, rule, self.plan.lens_named(section.lens), self.now, self.absent)
        return ordered[: _MARGIN * filled.part.limit] if filled.part.limit else ordered


def subject_spots(
    section: Section, subjects: Sequence[Candidate], judging: Judging, opening: Opening
) -> list[Spot]:
    """A spot for every part of every subject, in printed order."""
    plan = judging.plan
    heading, shares = fill(section.heading, plan.values), _shares(section, subjects)
    parts = [part for part in section.parts if plan.given(part.when)]
    whole = sum(part.share for part in parts)
    told = with_relations(subjects, section.for_each.relations if section.for_each else {}, judging.desk.snapshot)
    return [
        part_spot(
            plan,
            section,
            filled,
            (heading, shares[node_slot(filled.subject)] * filled.part.share / whole),
            opening,
        )
        for filled in _filled(section, parts, told, judging)
    ]


def _filled(
    section: Section, parts: Sequence[Part], subjects: Sequence[Candidate], judging: Judging
) -> list[SubjectPart]:
    """What fills the parts: what the caller brought, or else what links lead to, best first."""
    brought = judging.gathered.brought
    if brought:
        return [
            SubjectPart(each, part, brought.get((each.node.key, part.name), ()) if part.via else (each,))
            for each in subjects
            for part in parts
        ]
    known = {each.node.id: each.parts.get("relevance", 0.0) for each in judging.gathered.candidates}
    found = parts_of(subjects, parts, section.kinds, judging.desk.snapshot, judging.divided, known)
    return [SubjectPart(each.subject, each.part, judging.ranked(each, section)) for each in found]


def subjects_limit(plan: Plan, section: Section, rule: ForEach) -> int:
    """How many subjects the section takes: as the request says, or else the profile, where the budget allows."""
    given = plan.values.get(rule.limit_by) if rule.limit_by else None
    limit = given if isinstance(given, int) and given > 0 else rule.limit
    if plan.budget is None or not rule.least:
        return limit
    room = plan.budget * section.share / sum(each.share for each in plan.sections())
    return max(min(limit, int(room / rule.least)), 1)


def _shares(section: Section, subjects: Sequence[Candidate]) -> dict[tuple[str, str], float]:
    """Each subject's part of the section's share: equal, or by 1 + importance."""
    by_importance = section.for_each is not None and section.for_each.split == "importance"
    weight = {node_slot(each): 1.0 + (each.node.importance if by_importance else 0.0) for each in subjects}
    total = sum(weight.values())
    return {key: section.share * each / total for key, each in weight.items()}


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
    judging = Judging(plan, gathered, desk, now, absent)
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
            if section.unit == "passage":
                mine = _ranked(plan, section, judging.divided(mine, matched=True), now, absent)
            spots += _section_spots(plan, section, mine, desk, opening)
            continue
        limit = subjects_limit(plan, section, section.for_each)
        reason = f"beyond the {limit} subjects of the section"
        refused += [Refused(each, section.name, reason) for each in mine[limit:]]
        for spot in subject_spots(section, mine[:limit], judging, opening):
            members, again = _without_received(plan, spot.leaf.candidates)
            spots.append(replace(spot, leaf=replace(spot.leaf, candidates=tuple(members))) if again else spot)
            received += again
    return Layout(tuple(spots), tuple(refused + repeats + received), len({each.place for each in received}))


def _section_spots(
    plan: Plan, section: Section, candidates: tuple[Candidate, ...], desk: Desk, opening: Opening
) -> tuple[Spot, ...]:
    """The leaf of a section and, if there are any, one for its asides."""
    own, asides = with_asides(candidates, section.asides, desk.snapshot, partial(_may_show, plan, section))
    spot = section_spot(plan, section, own, opening)
    return (spot, asides_spot(spot, asides)) if asides else (spot,)


def _may_show(plan: Plan, section: Section, candidate: Candidate) -> bool:
    """Whether what no search found is of the section's kinds, passes the filter and is new to the session."""
    of_kind = not section.kinds or candidate.node.kind in section.kinds
    return (
        of_kind and passes(candidate.node, plan.request.filter) and bool(_without_received(plan, [candidate])[0])
    )


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
    telling = {section.name for section in plan.sections() if section.for_each is not None}
    entries = [Entry(name, each, name in telling) for name, members in ranked.items() for each in members]
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
