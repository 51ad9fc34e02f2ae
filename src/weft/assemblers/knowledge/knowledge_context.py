"""Answer one question to a knowledge base as lists, in the order in which the functions stand.

Check the request, search for entry points, walk to the context around them, add entities, cut all lists to
the token budget, and note what is missing. The last part answers the same request with a page of the pipeline.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from msgspec.structs import replace

from weft.assemblers.knowledge.lists import (
    MAX_NEIGHBOURS,
    ContextNode,
    Entity,
    EntryPoint,
    KnowledgeStats,
    Lists,
    Spending,
    closeness,
    make_context_node,
    make_entity,
    make_entry_point,
    spend,
)
from weft.errors import InvalidInput
from weft.model import Candidate, Context, Filter, Item
from weft.pipeline.query import Reading, StageCallback, understand
from weft.pipeline.relevance import NEAREST
from weft.pipeline.retrieve import RetrievalResult, search
from weft.pipeline.walk import WalkResult, walk_graph
from weft.ports import Snapshot, TokenCounter
from weft.profiles import find_lens
from weft.profiles.types import Lens, Probe, Profile, Section
from weft.runtime import deadline

ENTITY: Final = "entity"
"""The kind of nodes that the list of entities is made of."""
MAX_ENTITIES: Final = 10
"""The length of the list of entities, as the design fixes it."""
MAX_DEPTH: Final = 10
"""The most steps that a request may walk. The design recommends 2; every step multiplies the nodes to look at."""

_MIN_WALK_LIMIT: Final = 50
"""Neighbours to look at even if fewer are returned, so that a small limit does not hide the strongest ones."""
_MIN_SEARCH_POOL: Final = 100
"""Passages to rank even for a few entry points: words and meaning must have something to agree on."""
_POOL_PER_ENTRY: Final = 4
"""Passages to rank for each entry point returned, since several of them may belong to one node."""
_MAX_LISTED_TYPES: Final = 10
"""Node types that a note lists before it gets hard to read."""

_LIST_LABELS: Final = {"entry_points": "entry points", "context_nodes": "context nodes", "entities": "entities"}
"""The lists as notes call them."""
NOTHING_HELD: Final = "The tenants hold nothing to search: check tenant_ids."
"""The note for tenants without a single passage, which the service prints too."""


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
    end_stage = partial(_end_stage, observe=observe or _ignore_stage)
    # Settled before anything is read, so that an unknown lens is refused without a search.
    kinds, lens = entry_kinds(request, profile), bounded_lens(request, profile)
    query = understand(request.query, reading.snapshot, reading.embedder)
    probe = Probe("entry", kinds=kinds, limit=request.entry_limit)
    # The lists need a smaller pool than a page: a ranking of everything would only cost time.
    pool = min(profile.fusion.pool, max(_MIN_SEARCH_POOL, _POOL_PER_ENTRY * request.entry_limit))
    fusion = replace(profile.fusion, pool=pool)
    found = search(query, probe, Filter(kinds=kinds), fusion, reading.snapshot, reading.index)
    if not found.candidates and _holds_other_types_only(request, kinds, reading.snapshot):
        note = f"The tenants hold none of the default types ({', '.join(kinds)}), so all types were searched."
        kinds = ()
        found = search(query, replace(probe, kinds=()), Filter(), fusion, reading.snapshot, reading.index)
        found = replace(found, notes=(note, *found.notes))
    end_stage("retrieve")
    if deadline.leave_out("links were not followed"):
        lens = replace(lens, depth=0)
    if not request.include_entities:
        found = replace(found, candidates=_without_entities(found.candidates))
    walked = walk_graph(found.candidates, lens, reading.snapshot)
    context = _rank_reached(walked, request)
    end_stage("expand")
    # Before the budget is spent: an entity counts also if the node that led to it is cut.
    entities = _find_entities((*found.candidates, *context), reading.snapshot) if request.include_entities else ()
    end_stage("entities")
    lists = Lists(found.candidates, context, entities)
    spending = spend(lists, request.max_tokens, count)
    answer = _make_answer(spending, found, walked, reading.snapshot)
    # The lists before and after spending are compared: a note names only what the budget cut.
    gaps = _explain_gaps(request, kinds, lists, spending, reading.snapshot)
    notes = (*query.notes, *found.notes, *walked.notes, *gaps, *deadline.notes())
    end_stage("budget")
    # Searching and walking may report the same gap; it is said once.
    return dataclasses.replace(answer, notes=tuple(dict.fromkeys(notes)))


def _ignore_stage(stage: str) -> None:
    """Do nothing when a stage ends."""


def _end_stage(stage: str, observe: StageCallback) -> None:
    """Tell that a stage has ended, and stop if the time for the answer is over."""
    observe(stage)
    deadline.check()


def check_request(request: KnowledgeRequest) -> None:
    """Raise InvalidInput for limits that make no sense."""
    if not 0 <= request.max_depth <= MAX_DEPTH:
        raise InvalidInput(f"A max_depth of {request.max_depth} is out of range. Give 0 to {MAX_DEPTH}.")
    for name, minimum in (("entry_limit", 1), ("context_limit", 0)):
        value = getattr(request, name)
        if value < minimum:
            raise InvalidInput(f"{name} {value} means nothing. Give {minimum} or more.")
    # An empty tuple is not None: it would search for no type at all, which is never meant.
    if request.entry_types == () or request.expansion_types == ():
        raise InvalidInput("An empty list of types finds nothing. Name a type, or leave the list out for all.")
    if not request.include_entities and set(request.entry_types or ()) == {ENTITY}:
        raise InvalidInput(
            "entry_types asks for entities only, and include_entities is false. Change one of them."
        )
    if request.max_tokens is not None and request.max_tokens < 1:
        raise InvalidInput(f"A budget of {request.max_tokens} tokens is not possible. Give 1 or more, or none.")


def entry_kinds(request: KnowledgeRequest, profile: Profile) -> tuple[str, ...]:
    """Return the kinds to search: the request's or else the profile's, and those that the request's flags add."""
    flags = {"include_schemas": request.include_schemas, "include_examples": request.include_examples}
    default = [kind for probe in profile.probes if probe.when is None for kind in probe.kinds]
    added = [kind for probe in profile.probes if probe.when and flags.get(probe.when) for kind in probe.kinds]
    # Flags add to the types that the request names too: they were asked for by name.
    kinds = dict.fromkeys([*(default if request.entry_types is None else request.entry_types), *added])
    return tuple(kind for kind in kinds if request.include_entities or kind != ENTITY)


def _holds_other_types_only(request: KnowledgeRequest, kinds: tuple[str, ...], snapshot: Snapshot) -> bool:
    """Return whether the default types are searched, and the tenants hold nodes, but none of these types."""
    # Types that a request names are searched and no others; only the default gives way to what is there.
    if request.entry_types is not None or len(snapshot.matching_ids(Filter(kinds=kinds))):
        return False
    return bool(snapshot.statistics([]).passages)


def _without_entities(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    return tuple(each for each in candidates if each.node.kind != ENTITY)


def bounded_lens(request: KnowledgeRequest, profile: Profile) -> Lens:
    """Return the profile's lens with the limits of the request."""
    lens = find_lens(profile, request.lens)
    return replace(
        lens,
        # A walk of depth 0 still returns the entry points, so no second way through the code is needed.
        depth=request.max_depth if request.expand else 0,
        kinds=lens.kinds if request.expansion_types is None else request.expansion_types,
        seeds=request.entry_limit,
        limit=max(request.context_limit, _MIN_WALK_LIMIT),
    )


def _rank_reached(walked: WalkResult, request: KnowledgeRequest) -> tuple[Candidate, ...]:
    """Return the nodes that the walk reached, by closeness, best first."""
    # The walk returns its starts as well, with distance 0; these are in the other list.
    reached = tuple(each for each in walked.candidates if each.distance)
    # Unwanted entities are walked through all the same: they are what links two nodes that name the same thing.
    wanted = reached if request.include_entities else _without_entities(reached)
    ranked = sorted(wanted, key=lambda each: (-closeness(each), each.node.tenant, each.node.key))
    return tuple(ranked[: request.context_limit])


def _find_entities(candidates: Sequence[Candidate], snapshot: Snapshot) -> tuple[Candidate, ...]:
    """Return the entities among the candidates, then those one step away, in the candidates' order."""
    among = {each.node.id: each for each in candidates if each.node.kind == ENTITY}
    near = snapshot.adjacency([each.node.id for each in candidates], MAX_NEIGHBOURS)
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
        # Without a budget nothing is counted, and nothing can be missing because of it.
        if missing and spending.smallest_dropped is not None:
            yield (
                f"{missing} of {len(members)} {_LIST_LABELS[name]} did not fit into max_tokens "
                f"{request.max_tokens}; the smallest of them takes {spending.smallest_dropped[name]} tokens."
            )
    if spending.best_entry is not None:
        yield f"The best entry point is shown with max_tokens {spending.best_entry} or more."


def _explain_no_entry_points(request: KnowledgeRequest, kinds: Sequence[str], snapshot: Snapshot) -> str:
    if not request.query.strip():
        return "The query is empty, so nothing was searched for: give words or a question in `query`."
    # From the widest cause to the narrowest, so that the advice is about what must change first.
    if not snapshot.statistics([]).passages:
        return NOTHING_HELD
    if not len(snapshot.matching_ids(Filter(kinds=tuple(kinds)))):
        return (
            f"The tenants hold no node of the types searched ({', '.join(kinds)}): widen entry_types, or set "
            f"include_schemas or include_examples. {_describe_held(snapshot)}"
        )
    if not kinds:
        return "No node matches the query: ask in other words."
    return f"No node of the types {', '.join(kinds)} matches the query: ask in other words, or widen entry_types."


def _describe_held(snapshot: Snapshot) -> str:
    """List the types that the tenants hold."""
    # The store knows types of other tenants too, which must not be named here.
    held = [kind for kind in snapshot.kinds() if len(snapshot.matching_ids(Filter(kinds=(kind,))))]
    more = ", …" if len(held) > _MAX_LISTED_TYPES else ""
    return f"They hold: {', '.join(held[:_MAX_LISTED_TYPES])}{more}."


def _explain_no_context(request: KnowledgeRequest, lists: Lists, snapshot: Snapshot) -> str:
    if request.max_depth == 0 or request.context_limit == 0:
        return "max_depth or context_limit is 0, so nothing around the entry points was looked at."
    # Looked up only here: an empty list is rare, and the answer itself does not need these edges.
    near = snapshot.adjacency([each.node.id for each in lists.entry_points], MAX_NEIGHBOURS)
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


# --- the same request as a page ---


def bound_profile(profile: Profile, request: KnowledgeRequest) -> Profile:
    """Return the profile with the request's limits on searching, walking and filling its sections."""
    check_request(request)
    lens = bounded_lens(request, profile)
    # One probe for all kinds: entry_limit is the limit of the whole list, not of each kind.
    probe = replace(profile.probes[0], kinds=entry_kinds(request, profile), limit=request.entry_limit)
    return replace(
        profile,
        probes=(probe,),
        lenses=tuple(lens if each.name == lens.name else each for each in profile.lenses),
        sections=tuple(_limit_section(section, request) for section in profile.sections),
    )


def _limit_section(section: Section, request: KnowledgeRequest) -> Section:
    if section.reach == "found":
        return replace(section, limit=request.entry_limit)
    if section.reach == "walked":
        # Types that the request names are shown on this page too, beside those of the design.
        named = [
            kind for kind in (*(request.entry_types or ()), *(request.expansion_types or ())) if kind != ENTITY
        ]
        kinds = tuple(dict.fromkeys((*section.kinds, *named)))
        return replace(section, limit=request.context_limit, kinds=kinds)
    return section


def page_as_lists(page: Context, snapshot: Snapshot) -> KnowledgeContext:
    """Return the items of a page as lists: those found, those reached by the walk, and the entities of either."""
    items = list(_page_items(page))
    root_ids: dict[str, list[int]] = {}
    # Walks also start from candidates that found no room on the page, so the ledger is asked, not the items.
    for entry in page.ledger:
        if not entry.distance:
            root_ids.setdefault(entry.key, []).append(entry.id)
    entities = [item for item in items if item.candidate.node.kind == ENTITY]
    others = [item for item in items if item.candidate.node.kind != ENTITY]
    found = [item for item in others if not item.candidate.distance]
    reached = [item for item in others if item.candidate.distance]
    used = {"entry_points": _tokens(found), "context_nodes": _tokens(reached), "entities": _tokens(entities)}
    # As with lists: no budget, no counts, even though a page always knows its tokens.
    is_counted = page.max_tokens is not None
    return KnowledgeContext(
        entry_points=tuple(make_entry_point(item.candidate) for item in found),
        context=tuple(make_context_node(item.candidate, root_ids, snapshot) for item in reached),
        entities=tuple(make_entity(item.candidate) for item in entities),
        stats=KnowledgeStats(
            nodes_searched=int(page.stats["nodes_searched"]),
            nodes_expanded=int(page.stats["nodes_expanded"]),
            max_depth_reached=int(page.stats["max_depth_reached"]),
            entry_points_found=len(found),
            context_nodes_found=len(reached),
            total_tokens=page.tokens if is_counted else None,
            tokens_used=used if is_counted else None,
        ),
        notes=page.notes,
    )


def _page_items(page: Context) -> Iterator[Item]:
    for section in page.page.sections:
        # What came nearest to a question without an answer is no answer.
        if section.name == NEAREST.name:
            continue
        yield from section.items
        for group in section.groups:
            for part in group.parts:
                yield from part.items


def _tokens(items: list[Item]) -> int:
    return sum(item.tokens for item in items)
