"""Lay out the sections of a page: which candidates each admits, in which order, and which slots they fill.

`assemble.py` calls these steps in order: `split_received`, `admit`, `Ranking.rank_section`, `drop_repeats`,
`fill_section`. Related pointers, such as the callers of a function, are found for the sections that ask for them.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from weft.history import is_received
from weft.model import Candidate, Json, NodeRef, Step
from weft.pipeline.dedupe import Entry, dedupe, find_said_elsewhere, join_overloads
from weft.pipeline.plan import Plan, passes_filter
from weft.pipeline.query import Reading, Scale
from weft.pipeline.retrieve import Gathered, add_relevance, split_into_passages
from weft.pipeline.score import active_weights, label_stem, order_by_coverage, score
from weft.pipeline.slots import (
    HeadingCost,
    PlacedSlot,
    RankedSnippets,
    are_records,
    part_slot,
    pointers_slot,
    score_records,
    section_slot,
)
from weft.pipeline.snippets import score_snippets
from weft.pipeline.subjects import SubjectPart, fill_parts
from weft.ports import Adjacency, NodeRow, Snapshot
from weft.profiles.types import ForEach, Part, Section

_MAX_ITEMS_WITH_POINTERS: Final = 6
"""Items, best first, whose neighbours are looked up; the page seldom shows more of them in detail."""
_MAX_POINTERS_PER_TYPE: Final = 2
"""Neighbours over one type of link that stand beside an item: examples, not a list of all callers."""
_MAX_LINKS_READ: Final = 40
"""Links of an item that are read, the strongest."""
_OWN_ITEM_SHARE: Final = 0.5
"""A neighbour that scores at least this share of the item's score stays an item itself."""
_CONSIDERED_PER_PRINTED: Final = 4
"""Candidates of a part that are considered, for each that it may print: of the hundreds of passages that name a
hero, the rest would only be listed as left out."""
_MAX_RELATIONS_READ: Final = 64
"""Links of a subject that are read for its tree, the strongest; a hero is linked with every scene of a novel."""
_RELATIONS_FIELD: Final = "relationships"
"""The field in which the block `tree` looks for relations."""

_IS_OVERLOAD: Final = "an overload of what is shown under the same name"

Admits = Callable[[Candidate], bool]
"""Tells whether a neighbour that no search found may be shown."""


def split_related(
    candidates: Sequence[Candidate], types: Collection[str], snapshot: Snapshot, admits: Admits
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """Return the candidates that are items themselves, and the related pointers.

    Pointers are the neighbours of the best items against links of the types, if they may be shown, each with the
    score of the item it stands beside, and whatever else was walked to that way.
    """
    if not types:
        return tuple(candidates), ()
    # What the walk reached as a caller, say, is never an item of its own.
    walked = [candidate for candidate in candidates if candidate.is_related_pointer(types)]
    items = [candidate for candidate in candidates if not candidate.is_related_pointer(types)]
    known = {candidate.node.ref: candidate for candidate in candidates}
    found = dict(_find_neighbours(items[:_MAX_ITEMS_WITH_POINTERS], types, snapshot, known, admits))
    pointers = [*found.values(), *(candidate for candidate in walked if candidate.node.ref not in found)]
    kept = tuple(candidate for candidate in items if candidate.node.ref not in found)
    pointers.sort(key=lambda candidate: (-candidate.score, *candidate.node.ref))
    return kept, tuple(pointers)


def _find_neighbours(
    items: Sequence[Candidate],
    types: Collection[str],
    snapshot: Snapshot,
    known: Mapping[NodeRef, Candidate],
    admits: Admits,
) -> Iterator[tuple[NodeRef, Candidate]]:
    """Yield what leads to the items, each under the first of them, unless it scores high enough by itself."""
    # All links first: their nodes are then read at once and not one by one.
    links = list(_read_links(items, types, snapshot))
    by_id = {candidate.node.id: candidate for candidate in known.values() if candidate.node.id}
    stored = snapshot.nodes(sorted({node for _, node, _, _ in links} - by_id.keys()))
    pointers: set[NodeRef] = set()
    for item, node, edge_type, weight in links:
        neighbour = by_id.get(node) or _new_candidate(stored.get(node), item)
        if neighbour is None:
            continue
        ref = neighbour.node.ref
        # An item that became a pointer itself has no pointers of its own.
        if ref in pointers or item.node.ref in pointers or ref == item.node.ref:
            continue
        if neighbour.score >= _OWN_ITEM_SHARE * item.score or not admits(neighbour):
            continue
        pointers.add(ref)
        step = Step(neighbour.node.key, edge_type, weight, "in", neighbour.node.id)
        yield ref, replace(neighbour, score=item.score, root=item.root, path=(*item.path, step))


def _new_candidate(row: NodeRow | None, item: Candidate) -> Candidate | None:
    """Return a candidate for a neighbour that neither a search nor the walk found."""
    if row is None:
        return None
    return Candidate(row.node, probe=item.probe, distance=item.distance + 1, sketch=row.sketch)


def _read_links(
    items: Sequence[Candidate], types: Collection[str], snapshot: Snapshot
) -> Iterator[tuple[Candidate, int, str, float]]:
    """Yield (item, neighbour, type, weight) of the strongest links that lead to each item, item by item."""
    near = snapshot.adjacency([item.node.id for item in items if item.node.id], _MAX_LINKS_READ)
    rows: dict[int, list[tuple[int, str, float]]] = {}
    for owner, neighbour, edge_type, outward, weight in zip(
        near.owner.tolist(),
        near.neighbour.tolist(),
        near.edge_type.tolist(),
        near.outward.tolist(),
        near.weight.tolist(),
        strict=True,
    ):
        if not outward and near.edge_types[edge_type] in types:
            rows.setdefault(owner, []).append((neighbour, near.edge_types[edge_type], weight))
    for item in items:
        # Type by type, so that many callers do not leave out the one test.
        for type_name in types:
            of_type = [row for row in rows.get(item.node.id, ()) if row[1] == type_name]
            yield from ((item, *row) for row in of_type[:_MAX_POINTERS_PER_TYPE])


class Refusal(Struct, frozen=True):
    """A candidate that no slot gets, and why."""

    candidate: Candidate
    section: str
    reason: str


class Layout(Struct, frozen=True):
    """All slots in printed order, the candidates left out, and how many nodes of these the session already has."""

    slots: tuple[PlacedSlot, ...]
    refusals: tuple[Refusal, ...]
    received: int = 0
    noise: int = 0
    """How many candidates were left out for being far below the floor."""
    is_silent: bool = False
    """Whether the page only says that there is nothing, and points to what came nearest."""
    doubt: str = ""
    """The sentences of a page that may not answer its question; empty for any other page."""

    def candidates(self) -> list[Candidate]:
        """Return the candidates of all slots in printed order."""
        return [candidate for placed in self.slots for candidate in placed.slot.candidates]


class Ranking(Struct, frozen=True):
    """The request, its candidates and the clock, by which candidates of sections and parts are ordered.

    `absent` are the signals that this request cannot have.
    """

    plan: Plan
    gathered: Gathered
    reading: Reading
    now: datetime
    absent: frozenset[str]

    def rank_section(self, section: Section, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """Return a section's candidates, scored, in an order that covers the question."""
        rule = section.score or self.plan.profile.score
        scored = score(candidates, rule, self.plan.lens_for(section.lens), self.now, self.absent)
        if rule.unnamed_coverage is not None and not self.gathered.query.mentions_names:
            rule = replace(rule, coverage=rule.unnamed_coverage)
        return order_by_coverage(scored, rule, active_weights(rule, self.absent))

    def rank_part(self, filled: SubjectPart, section: Section) -> tuple[Candidate, ...]:
        """Return the candidates of a part, best first; a part without links has the subject alone."""
        part = filled.part
        if not part.via:
            return filled.candidates
        fusion, rule = self.plan.profile.fusion, part.score or section.score or self.plan.profile.score
        # On a scale of its own: the passages that name a subject compete with each other only.
        measured = add_relevance(filled.candidates, self.gathered.query, Scale(), fusion, self.reading.snapshot)
        ordered = score(measured, rule, self.plan.lens_for(section.lens), self.now, self.absent)
        return ordered[: _CONSIDERED_PER_PRINTED * part.limit] if part.limit else ordered

    def rank_snippets(self, section: Section, candidates: Sequence[Candidate]) -> RankedSnippets | None:
        """Rank the snippets of a section's candidates; those that a caller brought have none."""
        if self.plan.request.candidates is not None:
            return None
        weights = active_weights(section.score or self.plan.profile.score, self.absent)
        fusion, snapshot = self.plan.profile.fusion, self.reading.snapshot
        prints_fields = any(block.block == "fields" for block in section.blocks)
        found = score_snippets(candidates, self.gathered.query, fusion, weights, snapshot, prints_fields)
        budget = self.plan.budget
        if budget is not None and are_records(candidates, budget):
            found = score_records(found, candidates, budget)
        found.put_best_first()
        return found

    def split(self, candidates: Sequence[Candidate], *, matched: bool = False) -> tuple[Candidate, ...]:
        """Return the passages of the candidates, or only those that matched, measured against the question."""
        query, scale, fusion = self.gathered.query, self.gathered.scale, self.plan.profile.fusion
        return split_into_passages(candidates, query, scale, fusion, self.reading.snapshot, matched=matched)


def split_received(plan: Plan, candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Refusal]]:
    """Return the candidates that the session does not have yet, and the others as refused."""
    received = plan.request.received
    if received is None:
        return list(candidates), []
    fresh: list[Candidate] = []
    refusals: list[Refusal] = []
    for candidate in candidates:
        if is_received(received, candidate):
            refusals.append(Refusal(candidate, "", received.reason))
        else:
            fresh.append(candidate)
    return fresh, refusals


def admit(plan: Plan, candidates: Sequence[Candidate]) -> tuple[dict[str, list[Candidate]], list[Refusal]]:
    """Return the candidates by the first section that admits each, and those that no section admits."""
    sections = plan.sections()
    admitted: dict[str, list[Candidate]] = {section.name: [] for section in sections}
    refusals = []
    for candidate in candidates:
        # The first, because profiles list special sections before general ones.
        section = next((each for each in sections if not each.standing and _admits(each, candidate)), None)
        if section is None:
            reason = f"no section takes kind {candidate.node.kind!r} reached this way"
            refusals.append(Refusal(candidate, "", reason))
        else:
            admitted[section.name].append(candidate)
    return admitted, refusals


def _admits(section: Section, candidate: Candidate) -> bool:
    return (
        (not section.probes or candidate.probe in section.probes)
        and (not section.kinds or candidate.node.kind in section.kinds)
        and (not section.tags or any(tag in section.tags for tag in candidate.node.tags))
        and _admits_reach(section, candidate)
    )


def _admits_reach(section: Section, candidate: Candidate) -> bool:
    if section.reach == "start":
        return "start" in candidate.parts
    if section.reach == "any":
        return True
    return (candidate.distance == 0) == (section.reach == "found")


def drop_repeats(
    plan: Plan, ranked: dict[str, tuple[Candidate, ...]]
) -> tuple[dict[str, tuple[Candidate, ...]], list[Refusal]]:
    """Drop repeats by each section's rule, best first over the whole page; what was asked for by name stays."""
    joined = {name: join_overloads(candidates) for name, candidates in ranked.items()}
    overloads = [Refusal(each, name, _IS_OVERLOAD) for name, (_, others) in joined.items() for each in others]
    ranked = {name: candidates for name, (candidates, _) in joined.items()}
    subject_sections = {section.name for section in plan.sections() if section.for_each is not None}
    entries = [
        Entry(name, candidate, name in subject_sections)
        for name, candidates in ranked.items()
        for candidate in candidates
    ]
    # Of two that say the same, the earlier one is kept.
    entries.sort(key=lambda entry: ("start" not in entry.candidate.parts, -entry.candidate.score))
    repeated = dedupe(entries, plan.profile.dedupe)
    for section in plan.sections():
        if section.dedupe is not None:
            # A section's own rule takes the place of the profile's.
            repeated = {index: why for index, why in repeated.items() if entries[index].section != section.name}
            own = [index for index, entry in enumerate(entries) if entry.section == section.name]
            repeated_here = dedupe([entries[index] for index in own], section.dedupe)
            repeated |= {own[position]: why for position, why in repeated_here.items()}
    repeated = {**repeated, **find_said_elsewhere(entries, repeated, _wanted_kinds(plan, entries))}
    # By identity: where sections stand alone, equal candidates may stand in several.
    dropped = {id(entries[index].candidate) for index in repeated}
    kept = {
        name: tuple(candidate for candidate in candidates if id(candidate) not in dropped)
        for name, candidates in ranked.items()
    }
    refusals = [
        Refusal(entries[index].candidate, entries[index].section, why) for index, why in sorted(repeated.items())
    ]
    return kept, refusals + overloads


def _wanted_kinds(plan: Plan, entries: Sequence[Entry]) -> frozenset[str]:
    """Return the kinds of entries that the request asks for, by its filter or by a lens that raises them."""
    lenses = [plan.lens_for(section.lens) for section in plan.sections()]
    raised = [kind for lens in lenses for kind, factor in lens.raise_kinds.items() if factor > 1]
    # Compared as lenses do: in any case, in the singular or plural.
    wanted = set(map(label_stem, [*plan.request.filter.kinds, *raised]))
    return frozenset(kind for entry in entries if label_stem(kind := entry.candidate.node.kind) in wanted)


def fill_section(
    section: Section, candidates: tuple[Candidate, ...], ranking: Ranking, heading_cost: HeadingCost
) -> tuple[list[PlacedSlot], list[Refusal], list[Refusal]]:
    """Return the slots of a section, the subjects beyond its limit, and what the session has of its parts."""
    if section.for_each is not None:
        return _fill_subjects(section, section.for_each, candidates, ranking, heading_cost)
    if section.unit == "passage":
        # Ranked again: the score of a text says nothing about which of its passages is best.
        candidates = ranking.rank_section(section, ranking.split(candidates, matched=True))
    plan = ranking.plan

    # Neighbours come straight from the graph, past the filter and the session: both are asked here.
    def may_show(candidate: Candidate) -> bool:
        return (
            (not section.kinds or candidate.node.kind in section.kinds)
            and passes_filter(candidate.node, plan.request.filter)
            and bool(split_received(plan, [candidate])[0])
        )

    items, pointers = split_related(candidates, section.asides, ranking.reading.snapshot, may_show)
    has_snippets = section.unit == "snippet" and not plan.prints_names_only
    snippets = ranking.rank_snippets(section, items) if has_snippets else None
    placed = section_slot(plan, section, items, heading_cost, snippets)
    return [placed, pointers_slot(placed, pointers)] if pointers else [placed], [], []


def _fill_subjects(
    section: Section,
    rule: ForEach,
    candidates: tuple[Candidate, ...],
    ranking: Ranking,
    heading_cost: HeadingCost,
) -> tuple[list[PlacedSlot], list[Refusal], list[Refusal]]:
    """Return a slot for every part of every subject, in printed order, and the refusals as `fill_section` does."""
    plan = ranking.plan
    limit = _max_subjects(plan, section, rule)
    reason = f"beyond the {limit} subjects of the section"
    beyond = [Refusal(candidate, section.name, reason) for candidate in candidates[limit:]]
    # Shares are of those that are shown; the others must not keep any budget.
    shares = _subject_shares(section, rule, candidates[:limit])
    subjects = with_relations(candidates[:limit], rule.relations, ranking.reading.snapshot)
    parts = [part for part in section.parts if plan.is_given(part.when)]
    part_shares = sum(part.share for part in parts)
    slots: list[PlacedSlot] = []
    received: list[Refusal] = []
    for filled in _fill_subject_parts(section, parts, subjects, ranking):
        subject_share = shares[filled.subject.node.ref]
        if filled.part.item_tokens:
            # On large pages what one item may cost bounds a subject, and not its share: both follow the weight.
            cap = round(filled.part.item_tokens * subject_share * len(shares) / section.share)
            filled = replace(filled, part=replace(filled.part, item_tokens=cap))  # noqa: PLW2901
        placed = part_slot(plan, section, filled, subject_share * filled.part.share / part_shares, heading_cost)
        fresh, again = split_received(plan, placed.slot.candidates)
        if again:
            placed = replace(placed, slot=replace(placed.slot, candidates=tuple(fresh)))
        slots.append(placed)
        received += again
    return slots, beyond, received


def _max_subjects(plan: Plan, section: Section, rule: ForEach) -> int:
    """Return how many subjects the section takes: as the request or the profile says, if the budget allows."""
    given = plan.values.get(rule.limit_by) if rule.limit_by else None
    # A flag or a text is no number of subjects, whatever parameter the profile names.
    limit = given if isinstance(given, int) and given > 0 else rule.limit
    if plan.budget is None or not rule.least:
        return limit
    section_tokens = plan.budget * section.share / sum(other.share for other in plan.sections())
    return max(min(limit, int(section_tokens / rule.least)), 1)


def _subject_shares(section: Section, rule: ForEach, subjects: Sequence[Candidate]) -> dict[NodeRef, float]:
    """Return each subject's part of the section's share: equal, or by 1 + importance."""
    by_importance = rule.split == "importance"
    weights = {subject.node.ref: 1.0 + (subject.node.importance if by_importance else 0.0) for subject in subjects}
    total = sum(weights.values())
    return {ref: section.share * weight / total for ref, weight in weights.items()}


def _fill_subject_parts(
    section: Section, parts: Sequence[Part], subjects: Sequence[Candidate], ranking: Ranking
) -> list[SubjectPart]:
    """Return the parts with what the caller brought for them, or else what links lead to, best first."""
    brought = ranking.gathered.brought
    if brought:
        return [
            SubjectPart(subject, part, brought.get((subject.node.key, part.name), ()) if part.via else (subject,))
            for subject in subjects
            for part in parts
        ]
    # Texts that the question found are read first for the passages that name a subject.
    relevance = {
        candidate.node.id: candidate.parts.get("relevance", 0.0) for candidate in ranking.gathered.candidates
    }
    found = fill_parts(subjects, parts, section.kinds, ranking.reading.snapshot, ranking.split, relevance)
    return [SubjectPart(filled.subject, filled.part, ranking.rank_part(filled, section)) for filled in found]


def with_relations(
    subjects: Sequence[Candidate], relations: Mapping[str, str], snapshot: Snapshot
) -> tuple[Candidate, ...]:
    """Return the subjects with their links of these types in a field; from its end a link is named otherwise."""
    if not relations or not subjects:
        return tuple(subjects)
    near = snapshot.adjacency([subject.node.id for subject in subjects if subject.node.id], _MAX_RELATIONS_READ)
    is_relation = np.array([name in relations for name in near.edge_types] or [False])[near.edge_type]
    stored = snapshot.nodes(np.unique(near.neighbour[is_relation]).tolist())
    return tuple(_with_own_relations(subject, relations, near, stored) for subject in subjects)


def _with_own_relations(
    subject: Candidate, relations: Mapping[str, str], near: Adjacency, stored: Mapping[int, NodeRow]
) -> Candidate:
    type_order = {name: number for number, name in enumerate(relations)}
    # By name and title: several makers may have drawn the same relation.
    found: dict[tuple[str, str], tuple[int, float]] = {}
    for edge in np.flatnonzero(near.owner == subject.node.id).tolist():
        edge_type, row = near.edge_types[near.edge_type[edge]], stored.get(int(near.neighbour[edge]))
        if edge_type in relations and row is not None:
            name = edge_type if near.outward[edge] else relations[edge_type]
            rank = (type_order[edge_type], -float(near.weight[edge]))
            found.setdefault((name, row.node.title or row.node.key), rank)
    if not found:
        return subject
    ranked = sorted(found, key=lambda relation: (*found[relation], relation))
    drawn: list[Json] = [{"type": name, "title": title} for name, title in ranked]
    return replace(subject, node=replace(subject.node, fields={**subject.node.fields, _RELATIONS_FIELD: drawn}))
