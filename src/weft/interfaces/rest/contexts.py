"""/api/context, /api/search, /api/graph and /api/profiles: questions to the store over HTTP."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter
from fastapi import Query as QueryParameters
from msgspec.structs import replace
from starlette.responses import Response

from weft.api import Weft
from weft.assemblers.knowledge.knowledge_context import (
    NOTHING_HELD,
    KnowledgeContext,
    KnowledgeRequest,
    bound_profile,
    page_as_lists,
)
from weft.errors import UnknownName
from weft.interfaces.ask import Targets, blend_topics
from weft.interfaces.describe import relevance
from weft.interfaces.request import CONTEXT_FIELDS, fields_for, make_request, make_view
from weft.interfaces.rest.access import Caller, Service, Who
from weft.interfaces.rest.convert import answer, candidate_from, edge_shape, encoded, node_shape
from weft.interfaces.rest.nodes import NodeId, node_of
from weft.interfaces.rest.problems import Problem, StrictRoute
from weft.interfaces.rest.requests import ContextRequest, FilterInput, Neighbourhood, SearchRequest
from weft.interfaces.rest.responses import ContextResponse, GraphResponse, ProfileList, SearchResponse
from weft.interfaces.rest.served_store import Served
from weft.model import STRONG, UNSET, Candidate, Context, Filter, Json, View
from weft.pipeline.query import StageCallback
from weft.pipeline.walk import walk_graph
from weft.profiles import available_profiles, profile_files_state
from weft.profiles.types import Lens, Profile, Score
from weft.store.records import ListedEdge

KNOWLEDGE: Final = "knowledge"
_FLAGS: Final = ("include_entities", "include_examples", "include_schemas")
_LIST_FIELDS: Final = (
    *("entry_types", "entry_limit", "expand", "expansion_types", "max_depth", "context_limit"),
    *(*_FLAGS, "max_tokens", "lens"),
)
# Profile and lens alone do not ask for a page: the lists have them too.
_PAGE_FIELDS: Final = (
    *(field.name for field in fields_for("rest", CONTEXT_FIELDS) if field.name not in ("profile", "lens")),
    *("start", "topics", "filter", "candidates"),
)


def wants_page(given: ContextRequest) -> bool:
    """Whether something is asked for that only a printed page can give."""
    if (given.profile or KNOWLEDGE) != KNOWLEDGE:
        return True
    return any(getattr(given, name) not in (None, [], {}) for name in _PAGE_FIELDS)


def knowledge_request(given: ContextRequest) -> KnowledgeRequest:
    """Return the request for the lists."""
    named: dict[str, Any] = {name: getattr(given, name) for name in _LIST_FIELDS}
    for name in ("entry_types", "expansion_types"):
        named[name] = None if named[name] is None else tuple(named[name])
    return KnowledgeRequest(query=given.query, **named)


def page_for(
    given: ContextRequest, weft: Weft, tenants: tuple[str, ...], observe: StageCallback, session: str | None
) -> Context:
    """Return the page, by the profile that is named or `knowledge`, whose limits are those of the request."""
    name = given.profile or KNOWLEDGE
    values = {field.name: getattr(given, field.name) for field in fields_for("rest", CONTEXT_FIELDS)}
    values |= {"tenants": tenants, "token_model": given.token_model, "parameters": _parameters(given)}
    values["depth"] = None if name == KNOWLEDGE else _depth(given)
    values["max_tokens"] = given.max_tokens if "max_tokens" in given.model_fields_set else UNSET
    targets = _targets(given, weft, make_view(values))
    request = make_request(
        values,
        question=targets.question,
        start=targets.start,
        topics=targets.topics,
        profile=name,
        filter=_filter(given),
        candidates=_candidates(given, tenants),
    )
    now, profile = datetime.now(UTC), _profile(given, weft.profile(name))
    if session is None:
        page = weft.assemble(request, now, observe, profile)
    else:
        page = weft.kept(request, now, observe, profile, session)
    return replace(page, notes=(*targets.notes, *page.notes))


def _targets(given: ContextRequest, weft: Weft, view: View) -> Targets:
    if not given.topics:
        return Targets(given.query, tuple(given.start))
    others = [text for text in (given.query, *given.start) if text.strip()]
    words, shares = [topic.query for topic in given.topics], [topic.share for topic in given.topics]
    return blend_topics(weft, [*words, *others], view, [*shares, *(1.0 for _ in others)])


def _candidates(given: ContextRequest, tenants: tuple[str, ...]) -> tuple[Candidate, ...] | None:
    """Return what the caller found elsewhere, as nodes of the first tenant that is read."""
    if given.candidates is None:
        return None
    if given.topics:
        raise Problem(422, "Topics are searched for. Leave out candidates, or ask without topics.", "candidates")
    return tuple(
        Candidate(candidate_from(each, tenant), score=each.score)
        for tenant in tenants[:1]
        for each in given.candidates
    )


def _profile(given: ContextRequest, profile: Profile) -> Profile:
    """Return the profile within the limits of the request; others than `knowledge` have limits of their own."""
    if profile.name == KNOWLEDGE:
        return bound_profile(profile, knowledge_request(given))
    for field in sorted(given.model_fields_set & {"entry_limit", "context_limit", "expansion_types"}):
        raise Problem(422, f"{field} is of profile {KNOWLEDGE!r}; {profile.name!r} has limits of its own.", field)
    return profile


def _depth(given: ContextRequest) -> int | None:
    if not given.expand:
        return 0
    return given.max_depth if "max_depth" in given.model_fields_set else None


def _parameters(given: ContextRequest) -> dict[str, Json]:
    if (given.profile or KNOWLEDGE) != KNOWLEDGE:
        return dict(given.parameters)
    return {**{flag: getattr(given, flag) for flag in _FLAGS}, **given.parameters}


def _filter(given: ContextRequest) -> Filter:
    """Return the filter; the entry types of `knowledge` are in its probes, so that links lead on to others."""
    own = () if (given.profile or KNOWLEDGE) == KNOWLEDGE else tuple(given.entry_types or ())
    wanted = given.filter or FilterInput()
    return Filter(
        kinds=tuple(dict.fromkeys((*own, *wanted.kinds))),
        tags=tuple(each.lstrip("#") for each in wanted.tags),
        sources=tuple(wanted.sources),
        where=tuple(sorted(wanted.where.items())),
        since=wanted.since,
        until=wanted.until,
    )


def is_timeless(profile: Profile) -> bool:
    """Whether no score of the profile weighs how fresh a node is."""
    scores = [profile.score, *(section.score for section in profile.sections if section.score)]
    return not any("recency" in _signals(each) for each in scores)


def _signals(score: Score) -> set[str]:
    return {*score.weights, *score.boosts, *(name for weights in score.without.values() for name in weights)}


def printed(page: Context) -> dict[str, Any]:
    """Return the fields of an answer beside the lists: the page, its ledger and its manifest."""
    return {
        "text": page.text,
        "format": page.format,
        "profile": page.profile,
        "token_model": page.token_model,
        "hash": page.hash,
        "sources": page.sources,
        "ledger": page.ledger,
        "manifest": page.manifest,
    }


router = APIRouter(tags=["context"], route_class=StrictRoute)


@router.post("/api/context", response_model=ContextResponse, response_model_exclude_none=True)
def context(given: ContextRequest, service: Service, who: Who) -> Response:
    """Return what is known about a query: entry points, their context and entities, within a token budget."""
    weft, tenants = service.weft(), who.readable(given.tenant_ids)
    _check_names(given, weft)
    versions = weft.store.tenant_versions(View(tenants))
    # A null that was sent and one that was not can mean different things to a profile.
    edited = profile_files_state(weft.folders)
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
    """Return a note for each tenant asked for that holds nothing readable."""
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
    """Return the answer, and whether it stays true until the tenants change."""
    clock, tenants = service.metrics.clock(), who.readable(given.tenant_ids)
    if not wants_page(given):
        request = knowledge_request(given)
        lists = weft.knowledge(request, tenants=tenants, token_model=given.token_model, observe=clock)
        service.metrics.tokens.inc(lists.stats.total_tokens or 0)
        return _shape(lists, notes), True
    session = None if given.session is None else who.session(given.session)
    page = page_for(given, weft, tenants, clock, session)
    service.metrics.tokens.inc(page.tokens)
    with weft.reading(View(tenants, given.as_of, given.consistency or "")) as reading:
        lists = page_as_lists(page, reading.snapshot)
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
    """Return the nodes that match best, without walking."""
    weft, tenants = service.weft(), who.readable(given.tenant_ids)
    held = {tenant for tenant, _ in weft.store.tenant_versions(View(tenants))}
    wanted = Filter(kinds=tuple(given.node_types), tags=tuple(given.tags))
    with service.turns:
        found = weft.search(
            given.query, limit=given.limit, match=given.match, filter=wanted, tenants=tenants, floor=given.floor
        )
    results = [
        {**node_shape(each.node), "score": relevance(each), "match_source": each.match_source}
        for each in found.candidates
    ]
    return answer({"results": results, "notes": [*tenant_notes(given.tenant_ids, held), *found.notes]})


@router.get("/api/graph/{node_id}", response_model=GraphResponse)
def graph(
    node_id: NodeId, given: Annotated[Neighbourhood, QueryParameters()], service: Service, who: Who
) -> Response:
    """Return a node's neighbourhood, nearest and strongest first."""
    weft = service.weft()
    node = node_of(weft, who, node_id)
    tenants = (*who.readable(given.tenant_id), node.tenant) if given.tenant_id else _all_of(who, weft)
    lens = Lens("graph", walk="breadth", depth=given.depth, edges=tuple(given.edge_type), limit=given.limit)
    with weft.store.snapshot(View(tuple(dict.fromkeys(tenants)))) as snapshot:
        walked = walk_graph([Candidate(node)], lens, snapshot)
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
    """Return the kinds of page there are, and what each takes."""
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
