"""/api/context and /api/search, the neighbourhood of a node, and the kinds of page."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi import Query as QueryParameters
from starlette.responses import Response

from weft.errors import UnknownName
from weft.expand import expand
from weft.facades.knowledge import KnowledgeContext
from weft.facades.knowledge_notes import NOTHING_HELD
from weft.facades.knowledge_page import lists_of
from weft.faces.library import Weft
from weft.faces.rest.access import Caller, Service, Who
from weft.faces.rest.nodes import NodeId, node_of
from weft.faces.rest.pages import is_timeless, knowledge_request, page_for, printed, wants_page
from weft.faces.rest.problems import Problem
from weft.faces.rest.reading import StrictRoute
from weft.faces.rest.requests import ContextRequest, Neighbourhood, SearchRequest
from weft.faces.rest.responses import ContextResponse, GraphResponse, ProfileList, SearchResponse
from weft.faces.rest.served import Served
from weft.faces.rest.shapes import answer, edge_shape, encoded, node_shape
from weft.loading import available_profiles, profiles_version
from weft.model import STRONG, Candidate, Filter, View
from weft.profile import Lens, Profile
from weft.store.listing import ListedEdge

router = APIRouter(tags=["context"], route_class=StrictRoute)


@router.post("/api/context", response_model=ContextResponse, response_model_exclude_none=True)
def context(given: ContextRequest, service: Service, who: Who) -> Response:
    """What is known about a query: entry points, what surrounds them, entities, within a token budget."""
    weft, tenants = service.weft(), who.readable(given.tenant_ids)
    _check_names(given, weft)
    versions = weft.store.versions(View(tenants))
    # A null that was sent and one that was not can mean different things to a profile.
    edited = profiles_version(weft.folders)
    key = (versions, given.model_dump_json(), frozenset(given.model_fields_set), tenants, edited)
    # A session is told something else every time.
    known = service.answers.get(key) if given.session is None else None
    service.metrics.cache.labels("miss" if known is None else "hit").inc()
    if known is None:
        notes = tenant_notes(given.tenant_ids, {tenant for tenant, _ in versions})
        with service.turns:
            body, lasting = _answered(given, service, weft, who, notes)
            known = encoded(body)
        if lasting:
            service.answers.keep(key, known)
    return Response(known, media_type="application/json")


def tenant_notes(asked: Sequence[str], held: set[str]) -> list[str]:
    """Which of the tenants asked for gave nothing."""
    if not asked:
        return ["tenant_ids is empty, so nothing was read: name the tenants to read."]
    return [
        f"Tenant {each!r} holds nothing that this caller may read: check tenant_ids."
        for each in dict.fromkeys(asked)
        if each not in held
    ]


def _check_names(given: ContextRequest, weft: Weft) -> None:
    """Refuse names that would be paths on the server."""
    if given.profile is not None and given.profile not in (names := available_profiles(weft.folders)):
        raise UnknownName("profile", given.profile, names)
    if given.token_model.strip().endswith(".json"):
        raise Problem(422, "token_model is the name of a model or encoding here, not a path.", "token_model")


def _answered(
    given: ContextRequest, service: Served, weft: Weft, who: Caller, notes: list[str]
) -> tuple[dict[str, Any], bool]:
    """The answer, and whether it stays true until the tenants change."""
    clock, tenants = service.metrics.clock(), who.readable(given.tenant_ids)
    if not wants_page(given):
        request = knowledge_request(given)
        lists = weft.knowledge(request, tenants=tenants, token_model=given.token_model, observe=clock)
        service.metrics.tokens.inc(lists.stats.total_tokens or 0)
        return _shape(lists, notes), True
    session = None if given.session is None else who.session(given.session)
    page = page_for(given, weft, tenants, clock, session)
    service.metrics.tokens.inc(page.tokens)
    with weft.desk(View(tenants, given.as_of, given.consistency or "")) as desk:
        lists = lists_of(page, desk.snapshot)
    fresh = given.consistency in (None, STRONG)
    lasting = fresh and session is None and is_timeless(weft.profile(page.profile))
    return {**_shape(lists, notes), **printed(page)}, lasting


def _shape(lists: KnowledgeContext, notes: list[str]) -> dict[str, Any]:
    return {
        "entry_points": lists.entry_points,
        "context": lists.context,
        "entities": lists.entities,
        "stats": lists.stats,
        # A tenant that holds nothing was told by its name already.
        "notes": [*notes, *(each for each in lists.notes if not notes or each != NOTHING_HELD)],
    }


@router.post("/api/search", response_model=SearchResponse)
def search(given: SearchRequest, service: Service, who: Who) -> Response:
    """The nodes that match best, without walking."""
    weft, tenants = service.weft(), who.readable(given.tenant_ids)
    held = {tenant for tenant, _ in weft.store.versions(View(tenants))}
    wanted = Filter(kinds=tuple(given.node_types), tags=tuple(given.tags))
    with service.turns:
        found = weft.search(given.query, limit=given.limit, match=given.match, filter=wanted, tenants=tenants)
    results = [
        {**node_shape(each.node), "score": each.parts.get("relevance", 0.0), "match_source": each.match_source}
        for each in found.candidates
    ]
    return answer({"results": results, "notes": [*tenant_notes(given.tenant_ids, held), *found.notes]})


@router.get("/api/graph/{node_id}", response_model=GraphResponse)
def graph(
    node_id: NodeId, given: Annotated[Neighbourhood, QueryParameters()], service: Service, who: Who
) -> Response:
    """A node's neighbourhood, nearest and strongest first."""
    weft = service.weft()
    node = node_of(weft, who, node_id)
    tenants = (*who.readable(given.tenant_id), node.tenant) if given.tenant_id else _all_of(who, weft)
    lens = Lens("graph", walk="breadth", depth=given.depth, edges=tuple(given.edge_type), limit=given.limit)
    with weft.store.snapshot(View(tuple(dict.fromkeys(tenants)))) as snapshot:
        walked = expand([Candidate(node)], lens, snapshot)
        ids = {each.node.id for each in walked.candidates}
        edges = [each for each in snapshot.edges(sorted(ids), 5 * given.limit) if {each[0], each[1]} <= ids]
    wanted = [each for each in edges if not given.edge_type or each[2].type in given.edge_type]
    nodes = [{**node_shape(each.node), "distance": each.distance} for each in walked.candidates]
    shapes = [edge_shape(ListedEdge(source, target, edge, (), (0, 0, 0))) for source, target, edge in wanted]
    return answer({"nodes": nodes, "edges": shapes, "notes": walked.notes})


def _all_of(who: Caller, weft: Weft) -> tuple[str, ...]:
    return weft.store.tenants() if who.tenants is None else tuple(sorted(who.tenants))


@router.get("/api/profiles", response_model=ProfileList)
def profiles(service: Service, who: Who) -> Response:
    """The kinds of page there are, and what each takes."""
    weft = service.weft()
    return answer({"profiles": [_described(weft.profile(name)) for name in available_profiles(weft.folders)]})


def _described(profile: Profile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "description": profile.description,
        "max_tokens": profile.max_tokens,
        "format": profile.format,
        "lenses": [lens.name for lens in profile.lenses],
        "presets": sorted(profile.presets),
        "parameters": [parameter.name for parameter in profile.parameters],
    }
