"""Subjects and their parts on the page: how many there are, what fills them and what share each has."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from weft.frozen import dataclass
from weft.gather import Desk, Gathered
from weft.loading import fill
from weft.model import Candidate
from weft.plan import Plan
from weft.pool import Scale
from weft.profile import ForEach, Part, Section
from weft.retrieve import divide, relate
from weft.score import score
from weft.spots import Opening, Spot, node_slot, part_spot
from weft.subjects import SubjectPart, parts_of, with_relations

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
