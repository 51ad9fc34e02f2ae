"""Entry points, what surrounds them and the entities involved, as separate lists within one token budget."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from weft.errors import InvalidInput
from weft.expand import Walked, expand
from weft.facades.content import content_of
from weft.facades.knowledge_budget import Lists, Spending, spend
from weft.facades.knowledge_lists import ContextNode, Entity, EntryPoint, KnowledgeStats
from weft.facades.knowledge_notes import notes_on
from weft.frozen import dataclass
from weft.gather import Desk, Observe
from weft.loading import find_lens
from weft.model import Candidate, Filter, Json, Node
from weft.ports import Snapshot, TokenCounter
from weft.profile import Lens, Probe, Profile
from weft.question import understand
from weft.retrieve import Found, search

ENTITY: Final = "entity"
MOST_ENTITIES: Final = 10
DEEPEST: Final = 10

_LOOKED_AT: Final = 50
_POOL: Final = 100
_NEIGHBOURS: Final = 256


@dataclass(frozen=True, slots=True)
class KnowledgeRequest:
    """One question to a knowledge base, with the limits of what may come back."""

    query: str = ""
    entry_types: tuple[str, ...] | None = None
    entry_limit: int = 10
    expand: bool = True
    expansion_types: tuple[str, ...] | None = None
    max_depth: int = 2
    context_limit: int = 50
    include_entities: bool = True
    include_schemas: bool = False
    include_examples: bool = False
    max_tokens: int | None = None
    lens: str | None = None


@dataclass(frozen=True, slots=True)
class KnowledgeContext:
    """The answer as lists; `notes` say what is missing and why."""

    entry_points: tuple[EntryPoint, ...] = ()
    context: tuple[ContextNode, ...] = ()
    entities: tuple[Entity, ...] = ()
    stats: KnowledgeStats = field(default_factory=KnowledgeStats)
    notes: tuple[str, ...] = ()


def knowledge_context(
    request: KnowledgeRequest, profile: Profile, desk: Desk, count: TokenCounter, observe: Observe | None = None
) -> KnowledgeContext:
    """The lists for a request; `total_tokens` never exceeds `max_tokens`, counting title, summary and content."""
    check(request)
    seen = observe or _unobserved
    kinds, lens = entry_kinds(request, profile), lens_for(request, profile)
    query = understand(request.query, desk.snapshot, desk.embed)
    probe = Probe("entry", kinds=kinds, limit=request.entry_limit)
    fusion = replace(profile.fusion, pool=min(profile.fusion.pool, max(_POOL, 4 * request.entry_limit)))
    found = search(query, probe, Filter(kinds=kinds), fusion, desk.snapshot, desk.index)
    seen("retrieve")
    walked = expand(found.candidates, lens, desk.snapshot)
    around = nearest(walked, request.context_limit)
    seen("expand")
    entities = _entities((*found.candidates, *around), desk.snapshot) if request.include_entities else ()
    seen("entities")
    lists = Lists(found.candidates, around, entities)
    spending = spend(lists, request.max_tokens, count)
    answer = _answer(spending, _Searched(found, walked), desk.snapshot)
    notes = (*query.notes, *found.notes, *walked.notes, *notes_on(request, kinds, lists, spending, desk.snapshot))
    seen("budget")
    return replace(answer, notes=tuple(dict.fromkeys(notes)))


def _unobserved(stage: str) -> None:
    """Nobody watches the stages."""


def check(request: KnowledgeRequest) -> None:
    """Refuse limits that mean nothing."""
    if not 0 <= request.max_depth <= DEEPEST:
        raise InvalidInput(f"A max_depth of {request.max_depth} is out of range. Give 0 to {DEEPEST}.")
    for name, least in (("entry_limit", 1), ("context_limit", 0)):
        given = getattr(request, name)
        if given < least:
            raise InvalidInput(f"{name} {given} means nothing. Give {least} or more.")
    if request.entry_types == () or request.expansion_types == ():
        raise InvalidInput("An empty list of types finds nothing. Name a type, or leave the list out for all.")
    if request.max_tokens is not None and request.max_tokens < 1:
        raise InvalidInput(f"A budget of {request.max_tokens} tokens is not possible. Give 1 or more, or none.")


def entry_kinds(request: KnowledgeRequest, profile: Profile) -> tuple[str, ...]:
    """The kinds to search: those asked for or the profile's own, and those that the flags add."""
    flags = {"include_schemas": request.include_schemas, "include_examples": request.include_examples}
    own = [kind for probe in profile.probes if probe.when is None for kind in probe.kinds]
    added = [kind for probe in profile.probes if probe.when and flags.get(probe.when) for kind in probe.kinds]
    return tuple(dict.fromkeys([*(own if request.entry_types is None else request.entry_types), *added]))


def lens_for(request: KnowledgeRequest, profile: Profile) -> Lens:
    """The profile's way to walk, bounded as the request says."""
    lens = find_lens(profile, request.lens)
    return replace(
        lens,
        depth=request.max_depth if request.expand else 0,
        kinds=lens.kinds if request.expansion_types is None else request.expansion_types,
        seeds=request.entry_limit,
        # Looking at more than is returned keeps a small limit from hiding the strongest neighbours.
        limit=max(request.context_limit, _LOOKED_AT),
    )


def nearest(walked: Walked, limit: int) -> tuple[Candidate, ...]:
    """What was walked to, by 1 / (distance + 1) times the weight of its last edge, best first."""
    reached = [each for each in walked.candidates if each.distance]
    return tuple(sorted(reached, key=lambda each: (-closeness(each), each.node.tenant, each.node.key))[:limit])


def closeness(candidate: Candidate) -> float:
    """Distance decay times the weight of the last edge."""
    return round(candidate.parts.get("edge", 1.0) / (candidate.distance + 1), 6)


def _entities(candidates: Sequence[Candidate], snapshot: Snapshot) -> tuple[Candidate, ...]:
    """Entities among the candidates, then those one step away, in the candidates' order."""
    among = {each.node.id: each for each in candidates if each.node.kind == ENTITY}
    near = snapshot.adjacency([each.node.id for each in candidates], _NEIGHBOURS)
    linked = [
        neighbour
        for neighbour, kind in zip(near.neighbour.tolist(), near.kind.tolist(), strict=True)
        if near.kinds[kind] == ENTITY and neighbour not in among
    ]
    wanted = list(dict.fromkeys(linked))[: max(MOST_ENTITIES - len(among), 0)]
    stored = snapshot.nodes(wanted)
    beside = [Candidate(stored[each].node, distance=1) for each in wanted if each in stored]
    return (*among.values(), *beside)[:MOST_ENTITIES]


@dataclass(frozen=True, slots=True)
class _Searched:
    """What the search and the walk had to say about themselves."""

    found: Found
    walked: Walked


def _answer(spending: Spending, searched: _Searched, snapshot: Snapshot) -> KnowledgeContext:
    kept = spending.kept
    roots = roots_of(searched.found.candidates)
    return KnowledgeContext(
        entry_points=tuple(entry_point(each) for each in kept.entry_points),
        context=tuple(context_node(each, roots, snapshot) for each in kept.context),
        entities=tuple(entity(each) for each in kept.entities),
        stats=KnowledgeStats(
            nodes_searched=searched.found.searched,
            nodes_expanded=searched.walked.reached,
            max_depth_reached=searched.walked.deepest,
            entry_points_found=len(kept.entry_points),
            context_nodes_found=len(kept.context),
            total_tokens=spending.total,
            tokens_used=spending.by_list,
        ),
    )


def roots_of(candidates: Sequence[Candidate]) -> dict[str, list[int]]:
    """Ids by key of the nodes that walks started from."""
    roots: dict[str, list[int]] = {}
    for each in candidates:
        roots.setdefault(each.node.key, []).append(each.node.id)
    return roots


def entry_point(candidate: Candidate) -> EntryPoint:
    """An entry point as the caller gets it."""
    score = round(candidate.parts.get("relevance", candidate.score), 6)
    return EntryPoint(*_listed(candidate.node), score, candidate.match_source or "hybrid")


def context_node(candidate: Candidate, roots: Mapping[str, Sequence[int]], snapshot: Snapshot) -> ContextNode:
    """A walked-to node as the caller gets it."""
    steps = [step.id for step in candidate.path]
    start = _root(roots.get(candidate.root, ()), steps, snapshot)
    return ContextNode(
        *_listed(candidate.node),
        score=closeness(candidate),
        distance=candidate.distance,
        path=(*start, *steps),
        edge_type=candidate.path[-1].edge_type if candidate.path else None,
    )


def _listed(node: Node) -> tuple[int, str, str, str | None, dict[str, Json], tuple[str, ...]]:
    return node.id, node.kind, node.title, node.summary or None, content_of(node), node.tags


def _root(ids: Sequence[int], steps: Sequence[int], snapshot: Snapshot) -> tuple[int, ...]:
    """The start of a path; where two tenants use one key, the one that is linked with the first step."""
    if len(ids) <= 1 or not steps:
        return tuple(ids[:1])
    near = snapshot.adjacency(ids, _NEIGHBOURS)
    linked = {
        owner
        for owner, other in zip(near.owner.tolist(), near.neighbour.tolist(), strict=True)
        if other == steps[0]
    }
    return next(((each,) for each in ids if each in linked), (ids[0],))


def entity(candidate: Candidate) -> Entity:
    """An entity as the caller gets it."""
    fields = candidate.node.fields
    schemas = fields.get("related_schemas")
    listed = schemas if isinstance(schemas, list | tuple) else [schemas] if schemas else []
    path = fields.get("entity_path")
    return Entity(
        id=candidate.node.id,
        title=candidate.node.title,
        entity_path="" if path is None else str(path),
        related_schemas=tuple(str(each) for each in listed),
    )
