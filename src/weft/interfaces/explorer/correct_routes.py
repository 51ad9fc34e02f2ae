"""The routes of corrections: how a page would change, apply, list and undo."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from weft.corrections.changes import Proposal, Undo, apply_change, list_changes, preview_change, undo_change
from weft.corrections.pages import PageChange
from weft.interfaces.explorer.asked import Name, read_request, read_side, readable_tenants
from weft.interfaces.explorer.shell import answered
from weft.interfaces.explorer.store_routes import Asking, check_may_write
from weft.interfaces.request import clean
from weft.interfaces.rest.access import Caller, CurrentCaller, Service
from weft.interfaces.rest.problems import Problem
from weft.interfaces.rest.requests import Known
from weft.interfaces.rest.served_store import Served
from weft.model import DEFAULT_TENANT, Request

router = APIRouter(prefix="/explore")

Long = Annotated[str, Field(max_length=200_000)]
ProfileName = Annotated[str, Field(pattern=r"^([A-Za-z][A-Za-z0-9_-]{0,60})?$")]


class Correction(Known):
    """A correction of a node, of entities, or of a kind of page, and the page that it is seen on."""

    action: Literal["forget", "edit", "tag", "merge", "supersede", "page"]
    tenant: Name = DEFAULT_TENANT
    key: Annotated[str, Field(max_length=2000)] = ""
    parts: dict[Literal["title", "summary", "text"], Long] = Field(default_factory=dict)
    tags: Annotated[list[Name], Field(max_length=100)] = Field(default_factory=list)
    text: Long = ""
    names: Annotated[list[Name], Field(max_length=20)] = Field(default_factory=list)
    name: ProfileName = ""
    hide_sources: Annotated[list[Name], Field(max_length=500)] = Field(default_factory=list)
    kinds: dict[Name, float] = Field(default_factory=dict)
    asked: Annotated[str, Field(max_length=8000)] = ""


class UndoIn(Known):
    """A correction to be undone, as the list of them names it."""

    of: Literal["edit", "entity", "page"]
    tenant: Annotated[str, Field(max_length=200)] = DEFAULT_TENANT
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,61}$")]


def _proposal(body: Correction) -> Proposal:
    if body.action == "page" and not body.name:
        raise Problem(422, "The profile has no name. Give it one: a letter, then letters, digits, _ or -.")
    return Proposal(
        action=body.action,
        tenant=body.tenant,
        key=body.key,
        parts={name: value.strip() for name, value in body.parts.items()},
        tags=tuple(map(clean, body.tags)),
        text=body.text.strip(),
        names=tuple(map(clean, body.names)),
        name=body.name,
        page=PageChange(tuple(body.hide_sources), body.kinds),
    )


def _request(service: Served, caller: Caller, asked: str) -> Request:
    return read_request(service, read_side(parse_qs(asked)), caller)[0]


def _check(service: Served, caller: Caller, action: str, tenant: str, header: str | None) -> None:
    check_may_write(service, caller, tenant, header)
    # A profile counts for all tenants of the store, and so needs the right to all of them.
    if action == "page" and caller.tenants is not None:
        raise Problem(403, "Profiles are saved with a key for every tenant. Ask whoever runs the service.")


@router.post("/write/preview")
def preview(body: Correction, service: Service, caller: CurrentCaller, header: Asking = None) -> Response:
    """Return how a correction would change the page, and change nothing."""
    _check(service, caller, body.action, body.tenant, header)
    request = _request(service, caller, body.asked)
    found = preview_change(service.weft(), _proposal(body), request, datetime.now(UTC))
    shape: dict[str, Any] = {
        "changes": found.difference.changes,
        "unchanged": found.difference.unchanged,
        "before": found.before.tokens,
        "after": found.after.tokens,
        "toml": found.toml,
    }
    return answered(shape)


@router.post("/write/correction")
def correct(body: Correction, service: Service, caller: CurrentCaller, header: Asking = None) -> Response:
    """Apply a correction, and return how it is undone."""
    _check(service, caller, body.action, body.tenant, header)
    request = _request(service, caller, body.asked)
    undo = apply_change(service.weft(), _proposal(body), request, datetime.now(UTC))
    service.audit.write("corrected", action=body.action, tenant=body.tenant, key=caller.key)
    return answered({"undo": undo})


@router.post("/write/undo")
def undo(body: UndoIn, service: Service, caller: CurrentCaller, header: Asking = None) -> Response:
    """Undo a correction."""
    _check(service, caller, body.of, body.tenant or DEFAULT_TENANT, header)
    undo_change(service.weft(), Undo(body.of, body.tenant, body.name))
    service.audit.write("undone", action=body.of, tenant=body.tenant, key=caller.key)
    return answered({"undone": True})


@router.get("/corrections")
def corrections(service: Service, caller: CurrentCaller) -> Response:
    """Return the corrections of the tenants that may be read, newest first."""
    weft = service.weft()
    found = list_changes(weft, readable_tenants(weft, caller))
    shown = [each for each in found if each.undo.of != "page" or caller.tenants is None]
    return answered({"corrections": shown})
