"""The lists of an answer cut to a token budget: 60 parts entry points, 30 context, 10 entities."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

import orjson
import xxhash

from weft.assemblers.knowledge.lists import ContextNode, Entity, EntryPoint, KnowledgeStats, content_of
from weft.errors import InvalidInput
from weft.frozen import dataclass
from weft.model import Candidate, Filter, Json, Node
from weft.pipeline.query import understand
from weft.pipeline.reading import Desk, Observe
from weft.pipeline.retrieve import Found, search
from weft.pipeline.walk import Walked, expand
from weft.ports import Snapshot, TokenCounter
from weft.profiles import find_lens
from weft.profiles.types import Lens, Probe, Profile
from weft.tokens import DEFAULT_ENCODING

SHARES: Final = {"entry_points": 60.0, "context_nodes": 30.0, "entities": 10.0}
_MOST_COUNTS: Final = 50_000
_COUNTS: Final[dict[tuple[str, bytes], int]] = {}


@dataclass(frozen=True, slots=True)
class Lists:
    """Candidates by the list they go to, best first."""

    entry_points: tuple[Candidate, ...] = ()
    context: tuple[Candidate, ...] = ()
    entities: tuple[Candidate, ...] = ()

    def by_name(self) -> dict[str, tuple[Candidate, ...]]:
        """The lists under the names of `tokens_used`."""
        return dict(zip(SHARES, (self.entry_points, self.context, self.entities), strict=True))


@dataclass(frozen=True, slots=True)
class Spending:
    """What is kept, what it costs, and what the smallest left-out item of each list would have cost."""

    kept: Lists
    total: int | None = None
    by_list: Mapping[str, int] | None = None
    smallest_dropped: Mapping[str, int] | None = None


def spend(lists: Lists, budget: int | None, count: TokenCounter) -> Spending:
    """The lists within the budget; an oversize item never starves the rest, and unused shares move on."""
    if budget is None:
        return Spending(lists)
    named, costs = lists.by_name(), _Costs(count)
    taken: dict[tuple[str, int], int] = {}
    left = budget
    # First every list spends its own share, then what is left is offered to all in turn.
    for shares in (SHARES, dict.fromkeys(SHARES, 100.0)):
        for name, members in named.items():
            room = min(int(budget * shares[name] / 100), left)
            for place, each in enumerate(members):
                if (name, place) not in taken and costs.fits(name, each, room):
                    taken[name, place] = cost = costs.exact(name, each.node)
                    room, left = room - cost, left - cost
    return _spending(named, taken, costs)


def _spending(
    named: Mapping[str, tuple[Candidate, ...]], taken: Mapping[tuple[str, int], int], costs: "_Costs"
) -> Spending:
    kept, used, dropped = {}, dict.fromkeys(SHARES, 0), {}
    for name, members in named.items():
        kept[name] = tuple(each for place, each in enumerate(members) if (name, place) in taken)
        used[name] = sum(cost for (owner, _), cost in taken.items() if owner == name)
        others = [costs.least(name, each) for place, each in enumerate(members) if (name, place) not in taken]
        if others:
            dropped[name] = min(others)
    return Spending(Lists(*kept.values()), sum(used.values()), used, dropped)


class _Costs:
    """What items cost, counted when first asked: most that do not fit are never counted."""

    def __init__(self, count: TokenCounter) -> None:
        self._count, self._known = count, dict[tuple[str, int], int]()

    def fits(self, name: str, candidate: Candidate, room: int) -> bool:
        """Whether there is room for an item."""
        return room > 0 and self._at_least(candidate) <= room and self.exact(name, candidate.node) <= room

    def least(self, name: str, candidate: Candidate) -> int:
        """The tokens of an item, or those of its text where it was never counted."""
        known = self._known.get((name, candidate.node.id))
        return known or self._at_least(candidate) or self.exact(name, candidate.node)

    def _at_least(self, candidate: Candidate) -> int:
        """The stored count of the text, where the same tokenizer made it."""
        return (candidate.text_tokens or 0) if self._count.name == DEFAULT_ENCODING else 0

    def exact(self, name: str, node: Node) -> int:
        """The tokens of an item."""
        key = (name, node.id)
        if key not in self._known:
            self._known[key] = _counted(self._count, entity_text(node) if name == "entities" else node_text(node))
        return self._known[key]


def _counted(count: TokenCounter, text: str) -> int:
    """The tokens of a text; the same nodes come up in many answers, so counts are remembered."""
    key = (count.name, xxhash.xxh3_128_digest(text.encode("utf-8", "surrogatepass")))
    known = _COUNTS.get(key)
    if known is None:
        if len(_COUNTS) >= _MOST_COUNTS:
            _COUNTS.clear()
        known = _COUNTS[key] = count.count(text)
    return known


def node_text(node: Node) -> str:
    """What is counted of a node: title, summary and content."""
    content = orjson.dumps(content_of(node), option=orjson.OPT_NON_STR_KEYS).decode()
    return "\n".join(part for part in (node.title, node.summary, content) if part)


def entity_text(node: Node) -> str:
    """What is counted of an entity: title, path and schemas."""
    told = [node.title, node.fields.get("entity_path"), node.fields.get("related_schemas")]
    return orjson.dumps([each for each in told if each]).decode()


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


_NAMES: Final = {"entry_points": "entry points", "context_nodes": "context nodes", "entities": "entities"}
_SHOWN_TYPES: Final = 10
NOTHING_HELD: Final = "The tenants hold nothing to search: check tenant_ids."


def notes_on(
    request: "KnowledgeRequest", kinds: Sequence[str], lists: Lists, spending: Spending, snapshot: Snapshot
) -> Iterator[str]:
    """What the caller should know about an answer."""
    if not lists.entry_points:
        yield _nothing_found(request, kinds, snapshot)
    elif request.expand and not lists.context:
        yield _nothing_around(request, lists, snapshot)
    yield from _left_out(request, lists, spending)


def _nothing_found(request: "KnowledgeRequest", kinds: Sequence[str], snapshot: Snapshot) -> str:
    if not request.query.strip():
        return "The query is empty, so nothing was searched for: give words or a question in `query`."
    if not snapshot.statistics([]).passages:
        return NOTHING_HELD
    if not len(snapshot.matching(Filter(kinds=tuple(kinds)))):
        return (
            f"The tenants hold no node of the types searched ({', '.join(kinds)}): widen entry_types, or set "
            "include_schemas or include_examples."
        )
    return f"No node of the types {', '.join(kinds)} matches the query: ask in other words, or widen entry_types."


def _nothing_around(request: "KnowledgeRequest", lists: Lists, snapshot: Snapshot) -> str:
    if request.max_depth == 0 or request.context_limit == 0:
        return "max_depth or context_limit is 0, so nothing around the entry points was looked at."
    near = snapshot.adjacency([each.node.id for each in lists.entry_points], 256)
    found = {each.node.id for each in lists.entry_points}
    types = sorted(
        {
            near.kinds[kind]
            for neighbour, kind in zip(near.neighbour.tolist(), near.kind.tolist(), strict=True)
            if neighbour not in found
        }
    )
    if types and request.expansion_types is not None:
        return (
            f"The entry points are linked only with types that expansion_types leaves out "
            f"({', '.join(types[:_SHOWN_TYPES])}): add them, or leave expansion_types out."
        )
    if len(near.neighbour):
        return "The entry points are linked only with each other: no other node is near."
    return "The entry points have no links in these tenants: draw edges, or read more tenants."


def _left_out(request: "KnowledgeRequest", lists: Lists, spending: Spending) -> Iterator[str]:
    kept = spending.kept.by_name()
    for name, members in lists.by_name().items():
        missing = len(members) - len(kept[name])
        if missing and spending.smallest_dropped is not None:
            yield (
                f"{missing} of {len(members)} {_NAMES[name]} did not fit into max_tokens {request.max_tokens}; "
                f"the smallest of them takes about {spending.smallest_dropped[name]} tokens."
            )
