"""Gather candidates for a plan: ask its probes, take what the caller brought, merge, and relate to the question.

`assemble.py` calls these steps in order, once for each topic of a request.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from weft.model import Candidate, Filter, Node
from weft.pipeline.bridge import find_bridge_names, follow_names, score_bridges
from weft.pipeline.by_name import call_by_name
from weft.pipeline.plan import Plan, passes_filter, probe_filter, topic_label, unite_candidates
from weft.pipeline.query import Query, Reading, Scale, understand
from weft.pipeline.retrieve import RetrievalResult, add_relevance, search
from weft.ports import NodeRow, Snapshot
from weft.profiles import fill
from weft.profiles.types import Lens, Probe


class Gathered(Struct, frozen=True):
    """The candidates of a request, the query they are measured against, and figures and notes about the search."""

    candidates: tuple[Candidate, ...]
    query: Query
    searched: int
    reached: int
    deepest: int
    notes: tuple[str, ...]
    scale: Scale = field(default_factory=Scale)
    brought: Mapping[tuple[str, str], tuple[Candidate, ...]] = field(default_factory=dict)
    """The candidates that the caller brought for parts of subjects, by subject's key and part's name."""


def ask_probes(plan: Plan, query: Query, reading: Reading) -> list[RetrievalResult]:
    """Return what each probe of the plan finds; nothing where the request brings or names all it wants."""
    probes = plan.probes()
    # A start node alone is walked from, not searched for, unless the profile's probes ask on their own.
    has_question = (
        bool(plan.request.question)
        or not plan.request.start
        or any("{question}" not in probe.question for probe in probes)
    )
    if plan.request.candidates is not None or not has_question:
        return []
    found = []
    # What several probes find belongs to the one that is asked only at times: its section was made for that.
    for probe in sorted(probes, key=lambda probe: probe.when is None):
        text = fill(probe.question, plan.values)
        probe_query = query if text == query.text else understand(text, reading.snapshot, reading.embedder)
        filter = probe_filter(plan, probe)
        if filter is not None:
            found.append(_ask_probe(probe_query, probe, filter, plan, reading))
    return found


def _ask_probe(query: Query, probe: Probe, filter: Filter, plan: Plan, reading: Reading) -> RetrievalResult:
    if probe.match == "names":
        named = call_by_name(query.text, reading.snapshot, probe.name, lambda node: passes_filter(node, filter))
        return RetrievalResult(named[: probe.limit])
    if probe.match == "rank":
        # Only questions that ask for a map pay for loading this.
        from weft.pipeline.repository_map import find_most_referenced

        return find_most_referenced(probe, filter, reading.snapshot)
    return search(query, probe, filter, plan.profile.fusion, reading.snapshot, reading.index)


def brought_candidates(plan: Plan, snapshot: Snapshot) -> tuple[Candidate, ...]:
    """Return the caller's candidates that pass the filter; their score stands for what our searches measure."""
    part_names = _part_names(plan)
    brought = [candidate for candidate in _filtered_candidates(plan) if not _is_for_part(candidate, part_names)]
    stored = snapshot.nodes(sorted({candidate.node.id for candidate in brought if candidate.node.id}))
    # Sections admit by probe, so a candidate without one counts as found by the first.
    first_probe = plan.profile.probes[0].name
    return tuple(
        replace(
            _with_trusted_count(candidate, stored),
            parts={
                "relevance": candidate.score,
                "lexical": candidate.score,
                "semantic": candidate.score,
                **candidate.parts,
            },
            node=_with_own_id(candidate.node, stored),
            probe=candidate.probe or first_probe,
            root=candidate.node.key,
        )
        for candidate in brought
    )


def brought_for_parts(plan: Plan) -> dict[tuple[str, str], tuple[Candidate, ...]]:
    """Return the caller's candidates for parts of subjects, by the subject's key and the part's name."""
    part_names = _part_names(plan)
    parts: dict[tuple[str, str], tuple[Candidate, ...]] = {}
    for candidate in _filtered_candidates(plan) if part_names else ():
        if _is_for_part(candidate, part_names):
            key = (candidate.root, candidate.probe)
            parts[key] = (*parts.get(key, ()), _with_trusted_count(candidate, {}))
    return parts


def _filtered_candidates(plan: Plan) -> list[Candidate]:
    candidates = plan.request.candidates or ()
    return [candidate for candidate in candidates if passes_filter(candidate.node, plan.request.filter)]


def _part_names(plan: Plan) -> frozenset[str]:
    return frozenset(part.name for section in plan.sections() for part in section.parts)


def _is_for_part(candidate: Candidate, part_names: frozenset[str]) -> bool:
    """Return whether a candidate was brought for a part: it is reached from a subject, by the part's name."""
    return candidate.distance > 0 and candidate.probe in part_names


def _with_trusted_count(candidate: Candidate, stored: Mapping[int, NodeRow]) -> Candidate:
    """Drop the candidate's token count, unless it is the one that is stored for this text."""
    row = stored.get(candidate.node.id)
    if row is not None and row.node.text == candidate.node.text and row.text_tokens == candidate.text_tokens:
        return candidate
    return replace(candidate, text_tokens=None)


def _with_own_id(node: Node, stored: Mapping[int, NodeRow]) -> Node:
    """Drop an id that came from outside, unless it is this store's id for the node, and not another store's."""
    row = stored.get(node.id)
    is_ours = row is not None and (row.node.tenant, row.node.key) == (node.tenant, node.key)
    return node if is_ours or not node.id else replace(node, id=0)


def merge_candidates(candidates: Iterable[Candidate], plan: Plan) -> tuple[Candidate, ...]:
    """Return one candidate for each node; where sections stand alone, one for each node and probe."""
    by_probe = plan.profile.dedupe.scope == "section"
    merged: dict[tuple[str, str, str], Candidate] = {}
    for candidate in candidates:
        key = (candidate.node.tenant, candidate.node.key, candidate.probe if by_probe else "")
        known = merged.get(key)
        if known is None:
            merged[key] = candidate
            continue
        # Where several found it, it keeps the best of each score.
        parts = {**candidate.parts, **known.parts}
        for name in candidate.parts.keys() & known.parts.keys():
            parts[name] = max(candidate.parts[name], known.parts[name])
        merged[key] = replace(
            known,
            parts=parts,
            spans=known.spans or candidate.spans,
            words=known.words or candidate.words,
            match_source=known.match_source or candidate.match_source,
        )
    return tuple(merged.values())


def group_by_lens(candidates: Sequence[Candidate], plan: Plan) -> list[tuple[Lens, list[Candidate]]]:
    """Return the candidates by the lens with which their section walks."""
    lens_by_probe = {
        probe: section.lens for section in plan.sections() if section.lens for probe in section.probes
    }
    groups: dict[str | None, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(lens_by_probe.get(candidate.probe), []).append(candidate)
    return [(plan.lens_for(name), group) for name, group in groups.items()]


def relate_to_question(
    reached: Sequence[Candidate], query: Query, scale: Scale, plan: Plan, reading: Reading
) -> tuple[Candidate, ...]:
    """Return the reached candidates and the texts that names in them lead to, measured against the question."""
    fusion, snapshot = plan.profile.fusion, reading.snapshot
    if not _weighs_bridges(plan):
        return add_relevance(reached, query, scale, fusion, snapshot)
    weights = query.term_weights()
    names = find_bridge_names(reached, weights, snapshot)
    # A caller who brings candidates, or asks for no walk, wants nothing beyond them.
    may_add = plan.request.candidates is None and plan.lens.walk != "none" and plan.lens.depth > 0
    further: tuple[Candidate, ...] = ()
    if may_add:
        further = follow_names(names, reached, weights, plan.request.filter, snapshot, reading.index)
    related = add_relevance([*reached, *further], query, scale, fusion, snapshot)
    return score_bridges(related, names, weights, snapshot)


def _weighs_bridges(plan: Plan) -> bool:
    rules = [plan.profile.score, *(section.score for section in plan.sections() if section.score)]
    return any("bridge" in rule.weights or "bridge" in rule.boosts for rule in rules)


def unite_topics(plan: Plan, by_topic: Sequence[Gathered], reading: Reading) -> Gathered:
    """Return what was gathered for all topics of a request as one, with a note for each topic without matches."""
    if not plan.request.topics:
        return by_topic[0]
    unmatched = [
        f"Nothing matches {topic_label(topic)!r}."
        for topic, gathered in zip(plan.request.topics, by_topic, strict=True)
        if not gathered.candidates
    ]
    notes = [note for gathered in by_topic for note in gathered.notes]
    question = " ".join(gathered.query.text for gathered in by_topic)
    return Gathered(
        candidates=unite_candidates([gathered.candidates for gathered in by_topic]),
        query=understand(question, reading.snapshot, reading.embedder),
        searched=sum(gathered.searched for gathered in by_topic),
        reached=sum(gathered.reached for gathered in by_topic),
        deepest=max(gathered.deepest for gathered in by_topic),
        notes=tuple(dict.fromkeys([*unmatched, *notes])),
    )
