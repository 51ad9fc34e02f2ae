"""All candidates of a request: every probe asked, every start found, walked from and related to the question."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial

from weft.frozen import dataclass
from weft.model import Candidate, Filter, Node
from weft.pipeline.bridge import bridge, follow, leads
from weft.pipeline.by_name import call_by_name
from weft.pipeline.plan import Plan, passes, probe_filter
from weft.pipeline.query import Query, narrow, understand
from weft.pipeline.reading import Desk, Observe
from weft.pipeline.relevance import Scale
from weft.pipeline.retrieve import Found, begin, relate, relevance_of, search
from weft.pipeline.topics import label_of, united
from weft.pipeline.walk import expand
from weft.ports import NodeRow, Snapshot
from weft.profiles import fill
from weft.profiles.types import Lens, Probe
from weft.scoring.candidates import told


@dataclass(frozen=True, slots=True)
class Gathered:
    """Candidates with the query they are measured against, and what happened on the way."""

    candidates: tuple[Candidate, ...]
    query: Query
    searched: int
    reached: int
    deepest: int
    notes: tuple[str, ...]
    scale: Scale = field(default_factory=Scale)
    brought: Mapping[tuple[str, str], tuple[Candidate, ...]] = field(default_factory=dict)
    """What the caller brought for the parts of subjects, by the key of the subject and the name of the part."""


def gather(plan: Plan, desk: Desk, observe: Observe) -> Gathered:
    """Everything that may go on the page."""
    if not plan.request.topics:
        return _gather(plan, desk, observe)
    plans = plan.by_topic()
    parts = [_gather(each, desk, observe) for each in plans]
    empty = [
        f"Nothing matches {label_of(topic)!r}."
        for topic, part in zip(plan.request.topics, parts, strict=True)
        if not part.candidates
    ]
    return Gathered(
        candidates=united([part.candidates for part in parts]),
        query=understand(" ".join(part.query.text for part in parts), desk.snapshot, desk.embed),
        searched=sum(part.searched for part in parts),
        reached=sum(part.reached for part in parts),
        deepest=max(part.deepest for part in parts),
        notes=tuple(dict.fromkeys([*empty, *(note for part in parts for note in part.notes)])),
    )


def _gather(plan: Plan, desk: Desk, observe: Observe) -> Gathered:
    started, missing = begin(plan.request.start, desk.snapshot, plan.profile.probes[0].name)
    question = _asked(plan, started)
    asked = understand(question, desk.snapshot, desk.embed, plan.request.history)
    query = narrow(asked, plan.request.filter, desk.snapshot)
    found = _probe_all(plan, query, desk) if plan.request.candidates is None and _searches(plan) else []
    observe("retrieve")
    entered = _merge(
        [*started, *_foreign(plan, desk.snapshot), *(each for one in found for each in one.candidates)], plan
    )
    weigh = partial(relevance_of, query=query, fusion=plan.profile.fusion, snapshot=desk.snapshot)
    walked = [expand(part, lens, desk.snapshot, weigh) for lens, part in _by_lens(entered, plan)]
    reached = [each for one in walked for each in one.candidates]
    observe("expand")
    scale = next((one.scale for one in found if one.scale != Scale()), Scale())
    related = _related(reached, query, scale, plan, desk)
    observe("relate")
    filter = plan.request.filter
    if not filter.empty:
        related = tuple(each for each in related if not each.distance or passes(each.node, filter))
    return Gathered(
        candidates=related,
        query=query,
        searched=sum(one.searched for one in found) + len(started),
        reached=sum(one.reached for one in walked),
        deepest=max((one.deepest for one in walked), default=0),
        notes=(*query.notes, *_notes(missing, [*found], [note for one in walked for note in one.notes])),
        scale=scale,
        brought=_brought_for_parts(plan),
    )


def _related(
    reached: Sequence[Candidate], query: Query, scale: Scale, plan: Plan, desk: Desk
) -> tuple[Candidate, ...]:
    """What was reached and what names in it lead to, all of it measured against the question."""
    if not _weighs_bridges(plan):
        return relate(reached, query, scale, plan.profile.fusion, desk.snapshot)
    mass = query.mass()
    found = leads(reached, mass, desk.snapshot)
    further = (
        follow(found, reached, mass, plan.request.filter, (desk.snapshot, desk.index)) if _roams(plan) else ()
    )
    related = relate([*reached, *further], query, scale, plan.profile.fusion, desk.snapshot)
    return bridge(related, found, mass, desk.snapshot)


def _roams(plan: Plan) -> bool:
    """Whether more than what was found, or brought, is wanted."""
    return plan.request.candidates is None and plan.lens.walk != "none" and plan.lens.depth > 0


def _weighs_bridges(plan: Plan) -> bool:
    rules = [plan.profile.score, *(section.score for section in plan.sections() if section.score)]
    return any("bridge" in rule.weights or "bridge" in rule.boosts for rule in rules)


def _asked(plan: Plan, started: Sequence[Candidate]) -> str:
    """The question; a start without one is asked about by its title."""
    return plan.request.question or " ".join(each.node.title for each in started)


def _searches(plan: Plan) -> bool:
    """A start node alone is walked from, not searched for, unless the profile's probes ask on their own."""
    asks = any("{question}" not in probe.question for probe in plan.probes())
    return asks or bool(plan.request.question) or not plan.request.start


def _probe_all(plan: Plan, query: Query, desk: Desk) -> list[Found]:
    found = []
    # What several probes find belongs to the one that is asked only at times: its section was made for that.
    for probe in sorted(plan.probes(), key=lambda probe: probe.when is None):
        asked = _query_of(probe, plan, query, desk)
        filter = probe_filter(plan, probe)
        if filter is not None:
            found.append(_found(asked, probe, filter, plan, desk))
    return found


def _found(asked: Query, probe: Probe, filter: Filter, plan: Plan, desk: Desk) -> Found:
    if probe.match == "names":
        called = call_by_name(asked.text, desk.snapshot, probe.name, lambda node: passes(node, filter))
        return Found(called[: probe.limit])
    if probe.match == "rank":
        # Only those who ask for a map pay for loading what draws it.
        from weft.pipeline.repository_map import foremost

        return foremost(probe, filter, desk.snapshot)
    return search(asked, probe, filter, plan.profile.fusion, desk.snapshot, desk.index)


def _query_of(probe: Probe, plan: Plan, query: Query, desk: Desk) -> Query:
    text = fill(probe.question, plan.values)
    return query if text == query.text else understand(text, desk.snapshot, desk.embed)


def _foreign(plan: Plan, snapshot: Snapshot) -> tuple[Candidate, ...]:
    """Candidates the caller brought and the filter lets pass; their score stands for what our searches measure."""
    parts = _part_names(plan)
    brought = [each for each in _brought(plan) if not _is_part(each, parts)]
    stored = snapshot.nodes(sorted({each.node.id for each in brought if each.node.id}))
    first = plan.profile.probes[0].name
    return tuple(
        told(
            _counted(each, stored),
            {"relevance": each.score, "lexical": each.score, "semantic": each.score, **each.parts},
            node=each.node if not each.node.id or _is_ours(each.node, stored) else replace(each.node, id=0),
            probe=each.probe or first,
            root=each.node.key,
        )
        for each in brought
    )


def _counted(candidate: Candidate, stored: Mapping[int, NodeRow]) -> Candidate:
    """The candidate without a count of its text, unless it is the one that is stored for this text."""
    row = stored.get(candidate.node.id)
    if row is not None and row.node.text == candidate.node.text and row.text_tokens == candidate.text_tokens:
        return candidate
    return replace(candidate, text_tokens=None)


def _brought(plan: Plan) -> list[Candidate]:
    return [each for each in plan.request.candidates or () if passes(each.node, plan.request.filter)]


def _part_names(plan: Plan) -> frozenset[str]:
    return frozenset(part.name for section in plan.sections() for part in section.parts)


def _is_part(candidate: Candidate, names: frozenset[str]) -> bool:
    """Whether a candidate was brought for a part of a subject: it is reached from there, by the part's name."""
    return candidate.distance > 0 and candidate.probe in names


def _brought_for_parts(plan: Plan) -> dict[tuple[str, str], tuple[Candidate, ...]]:
    parts: dict[tuple[str, str], tuple[Candidate, ...]] = {}
    names = _part_names(plan)
    for each in _brought(plan) if names else ():
        if _is_part(each, names):
            parts[each.root, each.probe] = (*parts.get((each.root, each.probe), ()), _counted(each, {}))
    return parts


def _is_ours(node: Node, stored: Mapping[int, NodeRow]) -> bool:
    """Whether an id that came from outside is this store's id for the node, and not another store's."""
    row = stored.get(node.id)
    return row is not None and (row.node.tenant, row.node.key) == (node.tenant, node.key)


def _merge(candidates: Sequence[Candidate], plan: Plan) -> tuple[Candidate, ...]:
    """One candidate a node; where sections stand alone, one a node and probe."""
    apart = plan.profile.dedupe.scope == "section"
    merged: dict[tuple[str, str, str], Candidate] = {}
    for each in candidates:
        slot = (each.node.tenant, each.node.key, each.probe if apart else "")
        known = merged.get(slot)
        if known is None:
            merged[slot] = each
        else:
            parts = {**each.parts, **known.parts}
            for name in each.parts.keys() & known.parts.keys():
                parts[name] = max(each.parts[name], known.parts[name])
            merged[slot] = replace(
                known,
                parts=parts,
                spans=known.spans or each.spans,
                words=known.words or each.words,
                match_source=known.match_source or each.match_source,
            )
    return tuple(merged.values())


def _by_lens(candidates: Sequence[Candidate], plan: Plan) -> list[tuple[Lens, list[Candidate]]]:
    """The candidates by the lens their section walks with."""
    own = {probe: section.lens for section in plan.sections() if section.lens for probe in section.probes}
    parts: dict[str | None, list[Candidate]] = {}
    for each in candidates:
        parts.setdefault(own.get(each.probe), []).append(each)
    return [(plan.lens_named(name), part) for name, part in parts.items()]


def _notes(missing: Sequence[str], found: Sequence[Found], walk: Sequence[str]) -> tuple[str, ...]:
    absent = [f"No node is named {name!r}." for name in missing]
    return tuple(dict.fromkeys([*absent, *(note for one in found for note in one.notes), *walk]))
