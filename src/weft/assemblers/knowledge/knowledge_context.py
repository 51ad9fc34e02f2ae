"""Answer one question to a knowledge base as lists, in the order in which the functions stand.

Check the request, search for entry points, walk to the context around them, add entities, cut all lists to
the token budget, and note what is missing.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from weft.assemblers.knowledge.lists import ContextNode, Entity, EntryPoint, KnowledgeStats, node_content
from weft.assemblers.knowledge.token_budget import Lists, Spending, spend
from weft.errors import InvalidInput
from weft.model import Candidate, Filter, Json, Node
from weft.pipeline.query import Reading, StageCallback, understand
from weft.pipeline.retrieve import RetrievalResult, search
from weft.pipeline.walk import WalkResult, walk_graph
from weft.ports import Snapshot, TokenCounter
from weft.profiles import find_lens
from weft.profiles.types import Lens, Probe, Profile

ENTITY: Final = "entity"
"""The kind of nodes that the list of entities is made of."""
MAX_ENTITIES: Final = 10
MAX_DEPTH: Final = 10
"""The most steps that a request may walk. The design recommends 2; every step multiplies the nodes to look at."""

_MIN_WALK_LIMIT: Final = 50
"""Neighbours to look at even if fewer are returned, so that a small limit does not hide the strongest ones."""
_MIN_SEARCH_POOL: Final = 100
_POOL_PER_ENTRY: Final = 4
"""Passages to rank for each entry point returned, since several of them may belong to one node."""
_MAX_NEIGHBOURS: Final = 256
"""Edges of one node to look at for entities and links; only hubs have more, and the strongest come first."""
_MAX_LISTED_TYPES: Final = 10
"""Node types that a note lists before it gets hard to read."""

_LIST_LABELS: Final = {"entry_points": "entry points", "context_nodes": "context nodes", "entities": "entities"}
NOTHING_HELD: Final = "The tenants hold nothing to search: check tenant_ids."


@dataclass(frozen=True, slots=True)
class KnowledgeRequest:
    """One question to a knowledge base, with the limits of the answer."""

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
    request: KnowledgeRequest,
    profile: Profile,
    reading: Reading,
    count: TokenCounter,
    observe: StageCallback | None = None,
) -> KnowledgeContext:
    """Return the lists for a request.

    `total_tokens`, which counts title, summary and content, never exceeds `max_tokens`. `observe` is called
    with the name of each stage when it ends.
    """
    check_request(request)
    end_stage = observe or _ignore_stage
    kinds, lens = entry_kinds(request, profile), bounded_lens(request, profile)
    query = understand(request.query, reading.snapshot, reading.embedder)
    probe = Probe("entry", kinds=kinds, limit=request.entry_limit)
    # The lists need a smaller pool than a page: a ranking of everything would only cost time.
    pool = min(profile.fusion.pool, max(_MIN_SEARCH_POOL, _POOL_PER_ENTRY * request.entry_limit))
    fusion = replace(profile.fusion, pool=pool)
    found = search(query, probe, Filter(kinds=kinds), fusion, reading.snapshot, reading.index)
    end_stage("retrieve")
    walked = walk_graph(found.candidates, lens, reading.snapshot)
    context = _rank_reached(walked, request.context_limit)
    end_stage("expand")
    entities = _find_entities((*found.candidates, *context), reading.snapshot) if request.include_entities else ()
    end_stage("entities")
    lists = Lists(found.candidates, context, entities)
    spending = spend(lists, request.max_tokens, count)
    answer = _make_answer(spending, found, walked, reading.snapshot)
    gaps = _explain_gaps(request, kinds, lists, spending, reading.snapshot)
    notes = (*query.notes, *found.notes, *walked.notes, *gaps)
    end_stage("budget")
    return dataclasses.replace(answer, notes=tuple(dict.fromkeys(notes)))


def _ignore_stage(stage: str) -> None:
    """Do nothing when a stage ends."""


def check_request(request: KnowledgeRequest) -> None:
    """Raise InvalidInput for limits that make no sense."""
    if not 0 <= request.max_depth <= MAX_DEPTH:
        raise InvalidInput(f"A max_depth of {request.max_depth} is out of range. Give 0 to {MAX_DEPTH}.")
    for name, minimum in (("entry_limit", 1), ("context_limit", 0)):
        value = getattr(request, name)
        if value < minimum:
            raise InvalidInput(f"{name} {value} means nothing. Give {minimum} or more.")
    if request.entry_types == () or request.expansion_types == ():
        raise InvalidInput("An empty list of types finds nothing. Name a type, or leave the list out for all.")
    if request.max_tokens is not None and request.max_tokens < 1:
        raise InvalidInput(f"A budget of {request.max_tokens} tokens is not possible. Give 1 or more, or none.")


def entry_kinds(request: KnowledgeRequest, profile: Profile) -> tuple[str, ...]:
    """Return the kinds to search: the request's or else the profile's, and those that the request's flags add."""
    flags = {"include_schemas": request.include_schemas, "include_examples": request.include_examples}
    default = [kind for probe in profile.probes if probe.when is None for kind in probe.kinds]
    added = [kind for probe in profile.probes if probe.when and flags.get(probe.when) for kind in probe.kinds]
    return tuple(dict.fromkeys([*(default if request.entry_types is None else request.entry_types), *added]))


def bounded_lens(request: KnowledgeRequest, profile: Profile) -> Lens:
    """Return the profile's lens with the limits of the request."""
    lens = find_lens(profile, request.lens)
    return replace(
        lens,
        depth=request.max_depth if request.expand else 0,
        kinds=lens.kinds if request.expansion_types is None else request.expansion_types,
        seeds=request.entry_limit,
        limit=max(request.context_limit, _MIN_WALK_LIMIT),
    )


def _rank_reached(walked: WalkResult, limit: int) -> tuple[Candidate, ...]:
    """Return the nodes that the walk reached, by closeness, best first."""
    reached = [each for each in walked.candidates if each.distance]
    return tuple(sorted(reached, key=lambda each: (-_closeness(each), each.node.tenant, each.node.key))[:limit])


def _closeness(candidate: Candidate) -> float:
    """Return 1 / (distance + 1) times the weight of the last edge: the formula of the design."""
    return round(candidate.parts.get("edge", 1.0) / (candidate.distance + 1), 6)


def _find_entities(candidates: Sequence[Candidate], snapshot: Snapshot) -> tuple[Candidate, ...]:
    """Return the entities among the candidates, then those one step away, in the candidates' order."""
    among = {each.node.id: each for each in candidates if each.node.kind == ENTITY}
    near = snapshot.adjacency([each.node.id for each in candidates], _MAX_NEIGHBOURS)
    linked = [
        neighbour
        for neighbour, kind in zip(near.neighbour.tolist(), near.kind.tolist(), strict=True)
        if near.kinds[kind] == ENTITY and neighbour not in among
    ]
    # Entities among the candidates fill the list first; only the places they leave are read from the store.
    ids = list(dict.fromkeys(linked))[: max(MAX_ENTITIES - len(among), 0)]
    stored = snapshot.nodes(ids)
    one_step_away = [Candidate(stored[node_id].node, distance=1) for node_id in ids if node_id in stored]
    return (*among.values(), *one_step_away)[:MAX_ENTITIES]


def _make_answer(
    spending: Spending, found: RetrievalResult, walked: WalkResult, snapshot: Snapshot
) -> KnowledgeContext:
    kept = spending.kept
    root_ids: dict[str, list[int]] = {}
    for candidate in found.candidates:
        root_ids.setdefault(candidate.node.key, []).append(candidate.node.id)
    return KnowledgeContext(
        entry_points=tuple(make_entry_point(each) for each in kept.entry_points),
        context=tuple(make_context_node(each, root_ids, snapshot) for each in kept.context),
        entities=tuple(make_entity(each) for each in kept.entities),
        stats=KnowledgeStats(
            nodes_searched=found.searched,
            nodes_expanded=walked.reached,
            max_depth_reached=walked.deepest,
            entry_points_found=len(kept.entry_points),
            context_nodes_found=len(kept.context),
            total_tokens=spending.total,
            tokens_used=spending.by_list,
        ),
    )


def make_entry_point(candidate: Candidate) -> EntryPoint:
    """Convert a candidate that the search found."""
    score = round(candidate.parts.get("relevance", candidate.score), 6)
    return EntryPoint(*_common_values(candidate.node), score, candidate.match_source or "hybrid")


def make_context_node(
    candidate: Candidate, root_ids: Mapping[str, Sequence[int]], snapshot: Snapshot
) -> ContextNode:
    """Convert a candidate that the walk reached; `root_ids` are the ids, by key, of where walks started."""
    steps = [step.id for step in candidate.path]
    start = _find_start(root_ids.get(candidate.root, ()), steps, snapshot)
    return ContextNode(
        *_common_values(candidate.node),
        score=_closeness(candidate),
        distance=candidate.distance,
        path=(*start, *steps),
        edge_type=candidate.path[-1].edge_type if candidate.path else None,
    )


def _common_values(node: Node) -> tuple[int, str, str, str | None, dict[str, Json], tuple[str, ...]]:
    """Return the values of `ListedNode` up to the score, in the order of its fields."""
    return node.id, node.kind, node.title, node.summary or None, node_content(node), node.tags


def _find_start(ids: Sequence[int], steps: Sequence[int], snapshot: Snapshot) -> tuple[int, ...]:
    """Return the start of a path; if two tenants use its key, the one that is linked with the first step."""
    if len(ids) <= 1 or not steps:
        return tuple(ids[:1])
    near = snapshot.adjacency(ids, _MAX_NEIGHBOURS)
    linked = {
        owner
        for owner, other in zip(near.owner.tolist(), near.neighbour.tolist(), strict=True)
        if other == steps[0]
    }
    return next(((node_id,) for node_id in ids if node_id in linked), (ids[0],))


def make_entity(candidate: Candidate) -> Entity:
    """Convert a candidate whose kind is `entity`."""
    fields = candidate.node.fields
    schemas = fields.get("related_schemas")
    listed = schemas if isinstance(schemas, list | tuple) else [schemas] if schemas else []
    path = fields.get("entity_path")
    return Entity(
        id=candidate.node.id,
        title=candidate.node.title,
        entity_path="" if path is None else str(path),
        related_schemas=tuple(str(schema) for schema in listed),
    )


def _explain_gaps(
    request: KnowledgeRequest, kinds: Sequence[str], lists: Lists, spending: Spending, snapshot: Snapshot
) -> Iterator[str]:
    """Yield a note for each list that is empty or was cut, with what the caller can do about it."""
    if not lists.entry_points:
        yield _explain_no_entry_points(request, kinds, snapshot)
    elif request.expand and not lists.context:
        yield _explain_no_context(request, lists, snapshot)
    kept = spending.kept.by_name()
    for name, members in lists.by_name().items():
        missing = len(members) - len(kept[name])
        if missing and spending.smallest_dropped is not None:
            yield (
                f"{missing} of {len(members)} {_LIST_LABELS[name]} did not fit into max_tokens "
                f"{request.max_tokens}; the smallest of them takes about {spending.smallest_dropped[name]} tokens."
            )


def _explain_no_entry_points(request: KnowledgeRequest, kinds: Sequence[str], snapshot: Snapshot) -> str:
    if not request.query.strip():
        return "The query is empty, so nothing was searched for: give words or a question in `query`."
    if not snapshot.statistics([]).passages:
        return NOTHING_HELD
    if not len(snapshot.matching_ids(Filter(kinds=tuple(kinds)))):
        return (
            f"The tenants hold no node of the types searched ({', '.join(kinds)}): widen entry_types, or set "
            "include_schemas or include_examples."
        )
    return f"No node of the types {', '.join(kinds)} matches the query: ask in other words, or widen entry_types."


def _explain_no_context(request: KnowledgeRequest, lists: Lists, snapshot: Snapshot) -> str:
    if request.max_depth == 0 or request.context_limit == 0:
        return "max_depth or context_limit is 0, so nothing around the entry points was looked at."
    near = snapshot.adjacency([each.node.id for each in lists.entry_points], _MAX_NEIGHBOURS)
    entry_ids = {each.node.id for each in lists.entry_points}
    types = sorted(
        {
            near.kinds[kind]
            for neighbour, kind in zip(near.neighbour.tolist(), near.kind.tolist(), strict=True)
            if neighbour not in entry_ids
        }
    )
    if types and request.expansion_types is not None:
        return (
            f"The entry points are linked only with types that expansion_types leaves out "
            f"({', '.join(types[:_MAX_LISTED_TYPES])}): add them, or leave expansion_types out."
        )
    if len(near.neighbour):
        return "The entry points are linked only with each other: no other node is near."
    return "The entry points have no links in these tenants: draw edges, or read more tenants."
