"""Routes of the views Store, Timeline, Cast, Memory and Sessions, and of indexing a folder from the browser."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header
from fastapi import Query as QueryParameters
from msgspec.structs import asdict
from pydantic import Field
from starlette.responses import Response

from weft.api import Weft
from weft.history import Record
from weft.history.sessions import recent_of as recent_contexts
from weft.interfaces.explorer.asked import AsOf, Name, TenantNames, chosen_tenants, readable_tenants
from weft.interfaces.explorer.background import read_progress, start_indexing
from weft.interfaces.explorer.drawing import describe_entry, describe_path
from weft.interfaces.explorer.shell import answered
from weft.interfaces.keys import Scope
from weft.interfaces.request import clean
from weft.interfaces.rest.access import Caller, CurrentCaller, Service, Turn
from weft.interfaces.rest.problems import Problem
from weft.interfaces.rest.requests import Known
from weft.interfaces.rest.served_store import Served
from weft.model import DEFAULT_TENANT, LedgerEntry, View
from weft.overview.cast import read_cast
from weft.overview.census import take_census
from weft.overview.given import LAST_CONTEXTS, Given, read_given
from weft.overview.learned import read_learned
from weft.overview.timeline import read_timeline

router = APIRouter(prefix="/explore")

Asking = Annotated[str | None, Header(alias="X-Weft-Explorer")]
"""A header that our own pages send with every change. Pages of other hosts may not send it."""
_READINGS: Final = ("", "auto", "story", "notes")


def may_write(service: Served, caller: Caller) -> bool:
    """Return whether the explorer may change the store for a caller."""
    return service.serving.explorer_writes and Scope.WRITE in caller.scopes


def check_may_write(service: Served, caller: Caller, tenant: str, header: str | None) -> None:
    """Refuse a change by a caller, or by a page of another host, that may not make it."""
    if not service.serving.explorer_writes:
        raise Problem(403, "This explorer only looks. Start it with `weft explore --write` to change the store.")
    if header is None:
        raise Problem(403, "Changes come from the explorer's own pages only. Send the header X-Weft-Explorer.")
    caller.check_write(tenant)


class Tenants(Known):
    """The tenants that a view is about."""

    tenants: TenantNames = Field(default_factory=list)


class OneTenant(Known):
    """The tenant that a view is about, and up to which point of its story."""

    tenant: Name = DEFAULT_TENANT
    as_of: AsOf = None


@router.get("/census")
def census(
    asked: Annotated[Tenants, QueryParameters()], service: Service, caller: CurrentCaller, turn: Turn
) -> Response:
    """Return what is stored, by source, kind, tenant and age."""
    weft = service.weft()
    readable = readable_tenants(weft, caller)
    tenants = tuple(each for each in asked.tenants if each in readable) if asked.tenants else readable
    with turn:
        found = take_census(weft, tenants, datetime.now(UTC))
    # The size of the file tells how much others have, so it is only for those who may read everything.
    is_whole = caller.tenants is None and set(tenants) == set(readable)
    told = {name: value for name, value in asdict(found).items() if name != "bytes"}
    # So is the place of the files on the server's machine.
    size, location = (found.bytes, weft.location) if is_whole else (None, "")
    return answered({"census": told, "size": size, "location": location})


class Track(Tenants):
    """A track of the timeline, and the span of it that is looked at."""

    track: Annotated[str, Field(max_length=40)] = ""
    span: Annotated[str, Field(max_length=200)] = ""
    as_of: AsOf = None


@router.get("/timeline")
def timeline(
    asked: Annotated[Track, QueryParameters()], service: Service, caller: CurrentCaller, turn: Turn
) -> Response:
    """Return the events of one span of a track."""
    weft = service.weft()
    readable = readable_tenants(weft, caller)
    view = View(chosen_tenants(asked.tenants, readable), asked.as_of)
    with turn:
        return answered(read_timeline(weft, view, asked.track, asked.span))


@router.get("/cast")
def cast(
    asked: Annotated[OneTenant, QueryParameters()], service: Service, caller: CurrentCaller, turn: Turn
) -> Response:
    """Return the entities of a tenant's stories with their ties."""
    weft = service.weft()
    tenant = _readable_tenant(service, caller, asked.tenant)
    with turn:
        found = read_cast(weft, tenant=tenant, as_of=asked.as_of)
    members = [
        {
            "key": member.node.key,
            "title": member.node.title,
            "kind": member.node.kind,
            "texts": member.texts,
            "aliases": list(dict.fromkeys(alias.text for alias in member.node.aliases)),
            "summary": member.node.summary or member.node.text[:300],
            "from": member.node.sequence,
            "confidence": member.node.fields.get("confidence"),
        }
        for member in found.members
    ]
    return answered({"tenant": tenant, "members": members, "ties": found.ties, "left_out": found.left_out})


@router.get("/learned")
def learned(
    asked: Annotated[OneTenant, QueryParameters()], service: Service, caller: CurrentCaller, turn: Turn
) -> Response:
    """Return the memories and experiences of a tenant with their status."""
    tenant = _readable_tenant(service, caller, asked.tenant)
    with turn:
        return answered({"tenant": tenant, "learned": read_learned(service.weft(), tenant)})


def _readable_tenant(service: Served, caller: Caller, wanted: str) -> str:
    """Return the tenant that is asked for if it may be read, else the first that may be."""
    readable = readable_tenants(service.weft(), caller)
    return wanted if wanted in readable else next(iter(readable), wanted)


class SessionName(Known):
    """The session that is looked at."""

    session: Annotated[str, Field(max_length=400)] | None = None


@router.get("/sessions")
def sessions(
    asked: Annotated[SessionName, QueryParameters()], service: Service, caller: CurrentCaller, turn: Turn
) -> Response:
    """Return the sessions that were given pages, and the pages of one of them."""
    weft = service.weft()
    readable = set(readable_tenants(weft, caller))
    with turn:
        records = [each for each in recent_of(weft, caller, LAST_CONTEXTS) if may_see(caller, each, readable)]
        found = read_given(records, asked.session)
    pages = [{**_given(page), "session": found.session} for page in found.pages]
    return answered({"sessions": found.sessions, "session": found.session, "pages": pages})


def may_see(caller: Caller, record: Record, readable: set[str]) -> bool:
    """Return whether a caller may see a kept context: its tenants are readable, its session is the caller's."""
    is_own = record.session.startswith(caller.session(""))
    return record.tenants <= readable and (is_own or _sees_all(caller))


def recent_of(weft: Weft, caller: Caller, limit: int) -> tuple[Record, ...]:
    """Return the newest kept contexts of a caller, or of everybody to one who may see them all."""
    # What others ask must not shorten the list: those who see a part of it get as many of their own.
    return weft.recent(limit) if _sees_all(caller) else recent_contexts(weft.contexts, caller.session(""), limit)


def _sees_all(caller: Caller) -> bool:
    # Without keys there is one user; with keys others' sessions are theirs, but for those who administer.
    return not caller.key or (caller.tenants is None and Scope.ADMIN in caller.scopes)


def _given(page: Given) -> dict[str, Any]:
    return {
        "id": page.id,
        "made": page.made,
        "asked": page.asked,
        "profile": page.profile,
        "tokens": page.tokens,
        "max_tokens": page.max_tokens,
        "items": [_item(entry) for entry in page.items],
        "left_out": [_item(entry) for entry in page.left_out],
        "left_out_count": page.left_out_count,
        "notes": page.notes,
    }


def _item(entry: LedgerEntry) -> dict[str, Any]:
    return {**describe_entry(entry), "why": f"{entry.reason}; {describe_path(entry.match_source, entry.path)}"}


# --- indexing a folder -----------------------------------------------------------------------------------------


class FolderToIndex(Known):
    """A folder of the server's machine to read."""

    path: Annotated[str, Field(min_length=1, max_length=2000)]
    tenant: Name = DEFAULT_TENANT
    reading: Annotated[str, Field(max_length=20)] = ""


@router.post("/write/index")
def index_folder(
    wanted: FolderToIndex, service: Service, caller: CurrentCaller, header: Asking = None
) -> Response:
    """Begin to read a folder into the store; `/explore/indexing` tells how far it is."""
    check_may_write(service, caller, wanted.tenant, header)
    # A key for some tenants must not become a way to read any file of the server's machine.
    if caller.key and (Scope.ADMIN not in caller.scopes or caller.tenants is not None):
        raise Problem(403, "Folders are indexed with a key for every tenant that has the scope admin.")
    path = Path(clean(wanted.path)).expanduser()
    if not path.exists():
        raise Problem(422, f"There is nothing at {path} on the machine of the service. Give a whole path.")
    if wanted.reading not in _READINGS:
        raise Problem(422, f"{wanted.reading!r} is no way to read. Give auto, story or notes.")
    start_indexing(service.weft(), path.resolve(), clean(wanted.tenant), wanted.reading)
    return answered(read_progress(service.weft().folder))


@router.get("/indexing")
def indexing(service: Service, caller: CurrentCaller) -> Response:
    """Return how far the indexing of a folder is."""
    if caller.tenants is not None:
        raise Problem(403, "Indexing is followed with a key for every tenant.")
    return answered(read_progress(service.weft().folder))
