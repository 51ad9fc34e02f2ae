"""The routes of the explorer with which the page that asks is redrawn; the other views have theirs beside it."""

from typing import Annotated, Any, Final

from fastapi import APIRouter
from fastapi import Query as QueryParameters
from pydantic import Field
from starlette.responses import Response

from weft.errors import UnknownName
from weft.indexing.freshness import checking_once
from weft.interfaces.explorer import compare_routes, correct_routes, judge_routes, shell, store_routes
from weft.interfaces.explorer.asked import (
    Asked,
    AsOf,
    Name,
    TenantNames,
    answer,
    chosen_tenants,
    read_request,
    readable_tenants,
)
from weft.interfaces.explorer.drawing import describe_place, draw
from weft.interfaces.explorer.shell import answered
from weft.interfaces.explorer.store_routes import may_write
from weft.interfaces.explorer.why import explain, growth
from weft.interfaces.rest.access import CurrentCaller, Service, Turn
from weft.interfaces.rest.requests import Known
from weft.model import Node, View
from weft.overview.neighbourhood import read_neighbourhood
from weft.profiles import available_profiles
from weft.profiles.types import Profile

_EXAMPLES: Final = 4
_READ_FOR_EXAMPLES: Final = 40
"""Titles offered to start from while nothing is asked, and nodes read to choose them of different kinds."""

asking = APIRouter(prefix="/explore")


@asking.get("/choices")
def choices(service: Service, caller: CurrentCaller) -> Response:
    """Return what the controls offer: profiles with their lenses, tenants, and titles to start from."""
    weft = service.weft()
    readable = readable_tenants(weft, caller)
    profiles = [weft.profile(name) for name in available_profiles(weft.folders)]
    nodes = weft.nodes(tenants=readable, limit=_READ_FOR_EXAMPLES) if readable else ()
    return answered(
        {
            "profiles": [_profile_choice(profile) for profile in profiles],
            "tenants": readable,
            "chosen": chosen_tenants((), readable),
            "examples": _titles(nodes),
            "writes": may_write(service, caller),
        }
    )


def _profile_choice(profile: Profile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "description": profile.description,
        "max_tokens": profile.max_tokens,
        "format": profile.format,
        "floor": profile.floor,
        "lens": profile.lens,
        "lenses": [{"name": lens.name, "description": lens.description} for lens in profile.lenses],
        "asks_itself": not all("{question}" in probe.question for probe in profile.probes),
    }


def _titles(nodes: tuple[Node, ...]) -> list[dict[str, str]]:
    """Return a few titled nodes, of different kinds as far as there are."""
    by_kind = {node.kind: node for node in reversed(nodes) if node.title}
    chosen = [*by_kind.values(), *(node for node in nodes if node.title and node not in by_kind.values())]
    return [{"title": node.title, "kind": node.kind, "tenant": node.tenant} for node in chosen[:_EXAMPLES]]


@asking.get("/page")
def page(
    asked: Annotated[Asked, QueryParameters()], service: Service, caller: CurrentCaller, turn: Turn
) -> Response:
    """Return the page that an address asks for, with its ledger, to be drawn."""
    weft = service.weft()
    with turn, checking_once():
        request, notes = read_request(service, asked, caller)
        context = answer(weft, request, notes)
        is_question = bool(request.question or any(topic.question for topic in request.topics))
        drawn = draw(context, weft.profile(request.profile), is_question=is_question)
    service.metrics.tokens.inc(context.tokens)
    service.quotas.spend(caller.key, context.tokens)
    return answered({**drawn, "tenants": request.view.tenants})


@asking.get("/growth")
def growth_of_page(
    asked: Annotated[Asked, QueryParameters()], service: Service, caller: CurrentCaller, turn: Turn
) -> Response:
    """Return from which budget on each item appears, and what 500 more tokens would bring."""
    weft = service.weft()
    with turn, checking_once():
        request, _ = read_request(service, asked, caller)
        return answered(growth(weft, request, answer(weft, request)))


class Named(Asked):
    """An address, and the name of a node to explain on its page."""

    name: Annotated[str, Field(min_length=1, max_length=500)]


@asking.get("/why")
def why(
    asked: Annotated[Named, QueryParameters()], service: Service, caller: CurrentCaller, turn: Turn
) -> Response:
    """Return why a node is or is not on the page, and what would bring it."""
    weft = service.weft()
    with turn, checking_once():
        request, _ = read_request(service, asked, caller)
        name = asked.name.strip()
        if caller.key:
            with weft.reading(request.view) as reading:
                name = service.ids().resolve(name, reading.snapshot)
        return answered(explain(weft, request, name, readable_tenants(weft, caller)))


class Around(Known):
    """A node whose neighbourhood is drawn, and the tenants whose links are followed."""

    key: Annotated[str, Field(min_length=1, max_length=2000)]
    tenants: TenantNames = Field(default_factory=list)
    as_of: AsOf = None


@asking.get("/around")
def around(
    wanted: Annotated[Around, QueryParameters()], service: Service, caller: CurrentCaller, turn: Turn
) -> Response:
    """Return the nodes around one in rings, and the links among them."""
    weft = service.weft()
    tenants = chosen_tenants(wanted.tenants, readable_tenants(weft, caller))
    with turn:
        return answered(read_neighbourhood(weft, View(tenants, wanted.as_of), wanted.key))


class Source(Known):
    """A node to read whole."""

    key: Annotated[str, Field(min_length=1, max_length=2000)]
    tenant: Name
    as_of: AsOf = None


@asking.get("/source")
def source(wanted: Annotated[Source, QueryParameters()], service: Service, caller: CurrentCaller) -> Response:
    """Return a node whole, with the number of its first line in its file."""
    weft = service.weft()
    readable = caller.readable([wanted.tenant])
    found = weft.show(wanted.key, tenants=readable, as_of=wanted.as_of) if readable else ()
    node = next((each for each in found if each.key == wanted.key), None)
    if node is None:
        raise UnknownName("node", wanted.key, ())
    return answered(
        {
            "key": node.key,
            "tenant": node.tenant,
            "kind": node.kind,
            "title": node.title or node.key,
            "summary": node.summary,
            "text": node.text,
            "place": describe_place(node.origin),
            "source": node.origin.source,
            # Nodes that are no part of a file count their own lines.
            "first_line": node.origin.first_line or 1,
            "tags": node.tags,
            "aliases": [alias.text for alias in node.aliases],
            "fields": {name: str(value) for name, value in sorted(node.fields.items())},
            "modified": node.modified or node.created,
            "stale": node.origin.stale,
        }
    )


router = APIRouter(include_in_schema=False)
for part in (
    shell.router,
    asking,
    compare_routes.router,
    judge_routes.router,
    correct_routes.router,
    store_routes.router,
):
    router.include_router(part)
