"""The routes of the explorer: the page itself, its static files, and JSON to redraw it.

A browser cannot send a key when it opens an address, so the page holds nothing stored and everybody may have it;
what it draws it asks for with the key, like any other caller (rest/access.py).
"""

from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Final

import xxhash
from fastapi import APIRouter
from fastapi import Query as QueryParameters
from jinja2 import DictLoader, Environment, StrictUndefined
from pydantic import Field
from starlette.responses import HTMLResponse, Response

from weft import __version__
from weft.errors import UnknownName
from weft.interfaces.explorer.asked import (
    LEAST_BUDGET,
    MOST_BUDGET,
    Asked,
    Name,
    answer,
    chosen_tenants,
    read_request,
    readable_tenants,
)
from weft.interfaces.explorer.drawing import describe_place, draw
from weft.interfaces.explorer.why import explain, growth
from weft.interfaces.rest.access import CurrentCaller, Service, Turn
from weft.interfaces.rest.convert import encoded
from weft.interfaces.rest.problems import Problem
from weft.interfaces.rest.requests import Known
from weft.model import FORMATS, Node
from weft.profiles import available_profiles
from weft.profiles.types import Profile

_HERE: Final = files("weft.interfaces.explorer")
_MEDIA_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
"""The Content-Security-Policy: only files of this service, no inline script, and no text that is read as HTML."""
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_FOREVER: Final = "public, max-age=31536000, immutable"
"""How long a browser keeps a static file: its address changes with its content."""
_EXAMPLES: Final = 4
_READ_FOR_EXAMPLES: Final = 40
"""Titles offered to start from while nothing is asked, and nodes read to choose them of different kinds."""

router = APIRouter(prefix="/explore", include_in_schema=False)


# --- the page and its files --------------------------------------------------------------------------------


@cache
def _static_files() -> dict[str, bytes]:
    """Return all static files by name; what is not among them is not served."""
    return {file.name: file.read_bytes() for file in (_HERE / "static").iterdir() if file.is_file()}


@cache
def _shell() -> bytes:
    """Return the page before anything is drawn on it."""
    static = _static_files()
    version = xxhash.xxh64_hexdigest(b"".join(static[name] for name in sorted(static)))
    sources = {file.name: file.read_text("utf-8") for file in (_HERE / "templates").iterdir()}
    # Nothing stored is ever put into a template; escaping is on all the same.
    environment = Environment(loader=DictLoader(sources), autoescape=True, undefined=StrictUndefined)
    html = environment.get_template("explore.html").render(
        assets=f"/explore/static/{version}",
        version=__version__,
        formats=FORMATS,
        least=LEAST_BUDGET,
        most=MOST_BUDGET,
    )
    return html.encode()


@router.get("")
async def explore() -> Response:
    """Return the explorer's page."""
    return HTMLResponse(_shell(), headers={**_HEADERS, "Cache-Control": "no-cache"})


@router.get("/static/{version}/{name}")
async def static_file(version: str, name: str) -> Response:
    """Return a static file; the version in its address is that of all of them together."""
    content = _static_files().get(name)
    if content is None:
        raise Problem(404, f"The explorer has no file {name[:80]!r}. Open /explore again.")
    media_type = _MEDIA_TYPES[name[name.rindex(".") :]]
    return Response(content, media_type=media_type, headers={**_HEADERS, "Cache-Control": _FOREVER})


# --- what is drawn -----------------------------------------------------------------------------------------


def _answered(body: object) -> Response:
    # Never kept by the browser: it holds what the key may read, and the next user may have another.
    return Response(
        encoded(body), media_type="application/json", headers={**_HEADERS, "Cache-Control": "no-store"}
    )


@router.get("/choices")
def choices(service: Service, caller: CurrentCaller) -> Response:
    """Return what the controls offer: profiles with their lenses, tenants, and titles to start from."""
    weft = service.weft()
    readable = readable_tenants(weft, caller)
    profiles = [weft.profile(name) for name in available_profiles(weft.folders)]
    nodes = weft.nodes(tenants=readable, limit=_READ_FOR_EXAMPLES) if readable else ()
    return _answered(
        {
            "profiles": [_profile_choice(profile) for profile in profiles],
            "tenants": readable,
            "chosen": chosen_tenants((), readable),
            "examples": _titles(nodes),
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


@router.get("/page")
def page(
    asked: Annotated[Asked, QueryParameters()], service: Service, caller: CurrentCaller, turn: Turn
) -> Response:
    """Return the page that an address asks for, with its ledger, to be drawn."""
    weft = service.weft()
    with turn:
        request, notes = read_request(weft, asked, caller)
        context = answer(weft, request, notes)
        is_question = bool(request.question or any(topic.question for topic in request.topics))
        drawn = draw(context, weft.profile(request.profile), is_question=is_question)
    service.metrics.tokens.inc(context.tokens)
    service.quotas.spend(caller.key, context.tokens)
    return _answered({**drawn, "tenants": request.view.tenants})


@router.get("/growth")
def growth_of_page(
    asked: Annotated[Asked, QueryParameters()], service: Service, caller: CurrentCaller, turn: Turn
) -> Response:
    """Return from which budget on each item appears, and what 500 more tokens would bring."""
    weft = service.weft()
    with turn:
        request, _ = read_request(weft, asked, caller)
        return _answered(growth(weft, request, answer(weft, request)))


class Named(Asked):
    """An address, and the name of a node to explain on its page."""

    name: Annotated[str, Field(min_length=1, max_length=500)]


@router.get("/why")
def why(
    asked: Annotated[Named, QueryParameters()], service: Service, caller: CurrentCaller, turn: Turn
) -> Response:
    """Return why a node is or is not on the page, and what would bring it."""
    weft = service.weft()
    with turn:
        request, _ = read_request(weft, asked, caller)
        return _answered(explain(weft, request, asked.name.strip(), readable_tenants(weft, caller)))


class Source(Known):
    """A node to read whole."""

    key: Annotated[str, Field(min_length=1, max_length=2000)]
    tenant: Name
    as_of: int | None = Field(None, ge=0, le=2**53 - 1)


@router.get("/source")
def source(wanted: Annotated[Source, QueryParameters()], service: Service, caller: CurrentCaller) -> Response:
    """Return a node whole, with the number of its first line in its file."""
    weft = service.weft()
    readable = caller.readable([wanted.tenant])
    found = weft.show(wanted.key, tenants=readable, as_of=wanted.as_of) if readable else ()
    node = next((each for each in found if each.key == wanted.key), None)
    if node is None:
        raise UnknownName("node", wanted.key, ())
    return _answered(
        {
            "key": node.key,
            "tenant": node.tenant,
            "kind": node.kind,
            "title": node.title or node.key,
            "summary": node.summary,
            "text": node.text,
            "place": describe_place(node.origin),
            # Nodes that are no part of a file count their own lines.
            "first_line": node.origin.first_line or 1,
            "tags": node.tags,
            "aliases": [alias.text for alias in node.aliases],
            "fields": {name: str(value) for name, value in sorted(node.fields.items())},
            "modified": node.modified or node.created,
            "stale": node.origin.stale,
        }
    )
