"""/api/context, /api/search, /api/graph and /api/profiles: questions to the store over HTTP."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter
from fastapi import Query as QueryParameters
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from weft.api import Weft
from weft.assemblers.knowledge.knowledge_context import (
    NOTHING_HELD,
    KnowledgeContext,
    KnowledgeRequest,
    bound_profile,
    page_as_lists,
)
from weft.assemblers.knowledge.lists import ContextNode, Entity, EntryPoint
from weft.errors import UnknownName
from weft.interfaces.ask import Targets, blend_topics
from weft.interfaces.describe import relevance
from weft.interfaces.ids import PublicIds
from weft.interfaces.request import CONTEXT_FIELDS, fields_for, make_request, make_view
from weft.interfaces.rest.access import Caller, CurrentCaller, Service, Turn
from weft.interfaces.rest.convert import answer, candidate_from, edge_shape, encoded, node_shape
from weft.interfaces.rest.nodes_and_edges import NodeId, node_of
from weft.interfaces.rest.problems import Problem, StrictRoute
from weft.interfaces.rest.requests import ContextRequest, FilterInput, Neighbourhood, SearchRequest
from weft.interfaces.rest.responses import ContextResponse, GraphResponse, ProfileList, SearchResponse
from weft.interfaces.rest.served_store import Remembered, Served
from weft.model import STRONG, UNSET, Candidate, Context, Filter, Json, View
from weft.pipeline.query import StageCallback
from weft.pipeline.walk import walk_graph
from weft.profiles import available_profiles
from weft.profiles.types import Lens, Profile, Score
from weft.runtime import deadline
from weft.store.records import ListedEdge

KNOWLEDGE: Final = "knowledge"
"""The profile of the documented lists, and of a page whose request names no profile."""
_BYTES_A_TOKEN: Final = 4
"""Bytes of English for each token, about."""
_EDGES_PER_NODE: Final = 5
"""Edges read for each node of a neighbourhood, at most: an answer with more of them is hard to draw."""
_FLAGS: Final = ("include_entities", "include_examples", "include_schemas")
"""Fields that are parameters of the profile `knowledge`."""
_LIST_FIELDS: Final = (
    *("entry_types", "entry_limit", "expand", "expansion_types", "max_depth", "context_limit"),
    *(*_FLAGS, "max_tokens", "lens"),
)
"""Fields of the request for the lists, which `KnowledgeRequest` has under the same names."""
_FIELDS_OF: Final = {
    kind: tuple(field.name for field in fields(kind)) for kind in (EntryPoint, ContextNode, Entity)
}
_PAGE_FIELDS: Final = (
    *(field.name for field in fields_for("rest", CONTEXT_FIELDS) if field.name not in ("profile", "lens")),
    *("start", "topics", "filter", "candidates"),
)
"""Fields that only a page has. Profile and lens alone do not ask for one: the lists have them too."""


def _wants_page(body: ContextRequest) -> bool:
    """Return whether something is asked for that only a printed page can give."""
    if (body.profile or KNOWLEDGE) != KNOWLEDGE:
        return True
    return any(getattr(body, name) not in (None, [], {}) for name in _PAGE_FIELDS)


def _knowledge_request(body: ContextRequest) -> KnowledgeRequest:
    """Return the request for the lists."""
    values: dict[str, Any] = {name: getattr(body, name) for name in _LIST_FIELDS}
    for name in ("entry_types", "expansion_types"):
        values[name] = None if values[name] is None else tuple(values[name])
    return KnowledgeRequest(query=body.query, **values)


def _make_page(
    body: ContextRequest, service: Served, tenants: tuple[str, ...], observe: StageCallback, session: str | None
) -> Context:
    """Return the page by the named profile, or by `knowledge` within the limits of the request."""
    weft, name = service.weft(), body.profile or KNOWLEDGE
    values = {field.name: getattr(body, field.name) for field in fields_for("rest", CONTEXT_FIELDS)}
    values |= {"tenants": tenants, "token_model": body.token_model, "parameters": _parameters(body)}
    # The depth of `knowledge` is set in the profile itself, by `_profile`.
    values["depth"] = None if name == KNOWLEDGE else _depth(body)
    # A null budget that was sent means no limit; one that was not leaves it to the profile.
    values["max_tokens"] = body.max_tokens if "max_tokens" in body.model_fields_set else UNSET
    targets = _targets(body, service, make_view(values))
    request = make_request(
        values,
        question=targets.question,
        start=targets.start,
        topics=targets.topics,
        profile=name,
        filter=_filter(body),
        candidates=_candidates(body, tenants),
    )
    now, profile = datetime.now(UTC), _profile(body, weft.profile(name))
    if session is None:
        page = weft.assemble(request, now, observe, profile)
    else:
        page = weft.kept(request, now, observe, profile, session)
    return replace(page, notes=(*targets.notes, *page.notes))


def _targets(body: ContextRequest, service: Served, view: View) -> Targets:
    weft, start = service.weft(), tuple(body.start)
    if start:
        with weft.store.snapshot(view) as snapshot:
            start = tuple(service.ids().resolve(name, snapshot) for name in start)
    if not body.topics:
        return Targets(body.query, start)
    others = [text for text in (body.query, *start) if text.strip()]
    words, shares = [topic.query for topic in body.topics], [topic.share for topic in body.topics]
    return blend_topics(weft, [*words, *others], view, [*shares, *(1.0 for _ in others)])


def _candidates(body: ContextRequest, tenants: tuple[str, ...]) -> tuple[Candidate, ...] | None:
    """Return what the caller found elsewhere, as nodes of the first tenant that is read."""
    if body.candidates is None:
        return None
    if body.topics:
        raise Problem(422, "Topics are searched for. Leave out candidates, or ask without topics.", "candidates")
    return tuple(
        Candidate(candidate_from(candidate, tenant), score=candidate.score)
        for tenant in tenants[:1]
        for candidate in body.candidates
    )


def _profile(body: ContextRequest, profile: Profile) -> Profile:
    """Return the profile within the limits of the request; others than `knowledge` have limits of their own."""
    if profile.name == KNOWLEDGE:
        return bound_profile(profile, _knowledge_request(body))
    for field in sorted(body.model_fields_set & {"entry_limit", "context_limit", "expansion_types"}):
        raise Problem(422, f"{field} is of profile {KNOWLEDGE!r}; {profile.name!r} has limits of its own.", field)
    return profile


def _depth(body: ContextRequest) -> int | None:
    if not body.expand:
        return 0
    return body.max_depth if "max_depth" in body.model_fields_set else None


def _parameters(body: ContextRequest) -> dict[str, Json]:
    if (body.profile or KNOWLEDGE) != KNOWLEDGE:
        return dict(body.parameters)
    return {**{flag: getattr(body, flag) for flag in _FLAGS}, **body.parameters}


def _filter(body: ContextRequest) -> Filter:
    """Return the filter; the entry types of `knowledge` are in its probes, so that links lead on to others."""
    own = () if (body.profile or KNOWLEDGE) == KNOWLEDGE else tuple(body.entry_types or ())
    wanted = body.filter or FilterInput()
    return Filter(
        kinds=tuple(dict.fromkeys((*own, *wanted.kinds))),
        tags=tuple(tag.lstrip("#") for tag in wanted.tags),
        sources=tuple(wanted.sources),
        where=tuple(sorted(wanted.where.items())),
        since=wanted.since,
        until=wanted.until,
    )


def _is_timeless(profile: Profile) -> bool:
    """Return whether no score of the profile weighs how fresh a node is."""
    scores = [profile.score, *(section.score for section in profile.sections if section.score)]
    return not any("recency" in _signals(score) for score in scores)


def _signals(score: Score) -> set[str]:
    return {*score.weights, *score.boosts, *(name for weights in score.without.values() for name in weights)}


def _page_fields(page: Context, ids: PublicIds) -> dict[str, Any]:
    """Return the fields of an answer beside the lists: the page, its ledger and its manifest."""
    ledger = [
        replace(
            entry,
            id=ids.show(entry.id),
            path=tuple(replace(step, id=ids.show(step.id)) for step in entry.path),
        )
        for entry in page.ledger
    ]
    return {
        "text": page.text,
        "format": page.format,
        "profile": page.profile,
        "token_model": page.token_model,
        "hash": page.hash,
        "sources": page.sources,
        "ledger": ledger,
        "manifest": page.manifest,
    }


router = APIRouter(tags=["context"], route_class=StrictRoute)


@router.post("/api/context", response_model=ContextResponse, response_model_exclude_none=True)
def context(
    body: ContextRequest, request: Request, service: Service, caller: CurrentCaller, turn: Turn
) -> Response:
    """Return what is known about a query: entry points, their context and entities, within a token budget."""
    weft, tenants = service.weft(), caller.readable(body.tenant_ids)
    _check_names(body, weft)
    # Read before it is computed: what is written meanwhile makes it outdated.
    state = service.known_state(tenants)
    service.metrics.cache.labels("miss").inc()
    notes = _tenant_notes(body.tenant_ids, {tenant for tenant, _ in state.versions})
    with turn:
        answer_body, counted, lasting = _compute_answer(body, service, weft, caller, notes)
        content = encoded(answer_body)
    # Where nothing limits them, the tokens of lists are not counted one by one.
    tokens = len(content) // _BYTES_A_TOKEN if counted is None else counted
    service.metrics.tokens.inc(tokens)
    service.quotas.spend(caller.key, tokens)
    # An answer from which something was left out for want of time is not for the next caller.
    if lasting and not deadline.notes():
        # The gate asks for it, before a route is looked for.
        service.answers.keep(request.state.asked, Remembered(state, content, tokens), owner=caller.key)
    return Response(content, media_type="application/json")


def _tenant_notes(tenant_ids: Sequence[str], held: set[str]) -> list[str]:
    """Return a note for each tenant asked for that holds nothing readable."""
    if not tenant_ids:
        return ["tenant_ids is empty, so nothing was read: name the tenants to read."]
    return [
        f"Tenant {tenant!r} holds nothing that this caller may read: check tenant_ids."
        for tenant in dict.fromkeys(tenant_ids)
        if tenant not in held
    ]


def _check_names(body: ContextRequest, weft: Weft) -> None:
    """Refuse names that would be paths on the server."""
    if body.profile is not None and body.profile not in (names := available_profiles(weft.folders)):
        raise UnknownName("profile", body.profile, names)
    if body.token_model.strip().endswith(".json"):
        raise Problem(422, "token_model is the name of a model or encoding here, not a path.", "token_model")


def _compute_answer(
    body: ContextRequest, service: Served, weft: Weft, caller: Caller, notes: list[str]
) -> tuple[dict[str, Any], int | None, bool]:
    """Return the answer, its tokens if they were counted, and whether it stays true until the tenants change."""
    clock, tenants = service.metrics.clock(), caller.readable(body.tenant_ids)
    if not _wants_page(body):
        request = _knowledge_request(body)
        lists = weft.knowledge(request, tenants=tenants, token_model=body.token_model, observe=clock)
        return _list_fields(lists, service.ids(), notes), lists.stats.total_tokens, True
    session = None if body.session is None else caller.session(body.session)
    page = _make_page(body, service, tenants, clock, session)
    with weft.reading(View(tenants, body.as_of, body.consistency or "")) as reading:
        lists = page_as_lists(page, reading.snapshot)
    # A page from a replica may be behind the versions in its key, and one that weighs age changes by itself.
    fresh = body.consistency in (None, STRONG)
    lasting = fresh and session is None and _is_timeless(weft.profile(page.profile))
    answered = {**_list_fields(lists, service.ids(), notes), **_page_fields(page, service.ids())}
    return answered, page.tokens, lasting


def _as_fields(listed: EntryPoint | ContextNode | Entity) -> dict[str, Any]:
    """Return the values of a node of the lists by name."""
    # `dataclasses.asdict` copies the content too, which takes longer than the rest of the answer.
    return {name: getattr(listed, name) for name in _FIELDS_OF[type(listed)]}


def _list_fields(lists: KnowledgeContext, ids: PublicIds, notes: list[str]) -> dict[str, Any]:
    show = ids.show
    return {
        "entry_points": [{**_as_fields(node), "id": show(node.id)} for node in lists.entry_points],
        "context": [
            {**_as_fields(node), "id": show(node.id), "path": [show(step) for step in node.path]}
            for node in lists.context
        ],
        "entities": [{**_as_fields(entity), "id": show(entity.id)} for entity in lists.entities],
        "stats": lists.stats,
        # A tenant that holds nothing was named already.
        "notes": [*notes, *(note for note in lists.notes if not notes or note != NOTHING_HELD)],
    }


@router.post("/api/search", response_model=SearchResponse)
def search(body: SearchRequest, service: Service, caller: CurrentCaller, turn: Turn) -> Response:
    """Return the nodes that match best, without walking."""
    weft, tenants = service.weft(), caller.readable(body.tenant_ids)
    held = {tenant for tenant, _ in weft.store.tenant_versions(View(tenants))}
    wanted = Filter(kinds=tuple(body.node_types), tags=tuple(body.tags))
    with turn:
        found = weft.search(
            body.query, limit=body.limit, match=body.match, filter=wanted, tenants=tenants, floor=body.floor
        )
    results = [
        {
            **node_shape(candidate.node, service.ids()),
            "score": relevance(candidate),
            "match_source": candidate.match_source,
        }
        for candidate in found.candidates
    ]
    return answer({"results": results, "notes": [*_tenant_notes(body.tenant_ids, held), *found.notes]})


@router.get("/api/graph/{node_id}", response_model=GraphResponse)
def graph(
    node_id: NodeId, listing: Annotated[Neighbourhood, QueryParameters()], service: Service, caller: CurrentCaller
) -> Response:
    """Return a node's neighbourhood, nearest and strongest first."""
    weft = service.weft()
    node, shown = node_of(service, caller, node_id), service.ids()
    tenants = (
        (*caller.readable(listing.tenant_id), node.tenant)
        if listing.tenant_id
        else _readable_tenants(caller, weft)
    )
    lens = Lens("graph", walk="breadth", depth=listing.depth, edges=tuple(listing.edge_type), limit=listing.limit)
    with weft.store.snapshot(View(tuple(dict.fromkeys(tenants)))) as snapshot:
        walked = walk_graph([Candidate(node)], lens, snapshot)
        ids = {candidate.node.id for candidate in walked.candidates}
        found = snapshot.edges(sorted(ids), _EDGES_PER_NODE * listing.limit)
    edges = [
        (source, target, edge)
        for source, target, edge in found
        # Edges that lead out of the neighbourhood would name nodes that the answer does not have.
        if {source, target} <= ids and (not listing.edge_type or edge.type in listing.edge_type)
    ]
    nodes = [
        {**node_shape(candidate.node, shown), "distance": candidate.distance} for candidate in walked.candidates
    ]
    shapes = [edge_shape(ListedEdge(source, target, edge, (), (0, 0, 0)), shown) for source, target, edge in edges]
    return answer({"nodes": nodes, "edges": shapes, "notes": walked.notes})


def _readable_tenants(caller: Caller, weft: Weft) -> tuple[str, ...]:
    return weft.store.tenants() if caller.tenants is None else tuple(sorted(caller.tenants))


@router.get("/api/profiles", response_model=ProfileList)
def profiles(service: Service, caller: CurrentCaller) -> Response:
    """Return the kinds of page there are, and what each takes."""
    weft = service.weft()
    return answer({"profiles": [_profile_shape(weft.profile(name)) for name in available_profiles(weft.folders)]})


def _profile_shape(profile: Profile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "description": profile.description,
        "max_tokens": profile.max_tokens,
        "format": profile.format,
        "lenses": [lens.name for lens in profile.lenses],
        "presets": sorted(profile.presets),
        "parameters": [parameter.name for parameter in profile.parameters],
    }
