"""The route of the view Compare: two settings, or a page as it was and as it would be now, side by side."""

from datetime import UTC, datetime
from typing import Annotated, Any, Final
from urllib.parse import parse_qs

from fastapi import APIRouter
from fastapi import Query as QueryParameters
from msgspec import Struct
from pydantic import Field
from starlette.responses import Response

from weft.api import Weft
from weft.errors import InvalidInput
from weft.history import Record, compare, make_record, rebuild_request
from weft.interfaces.explorer.asked import answer, read_request, read_side, readable_tenants
from weft.interfaces.explorer.drawing import describe_entry
from weft.interfaces.explorer.shell import answered
from weft.interfaces.explorer.store_routes import may_see, recent_of
from weft.interfaces.rest.access import Caller, CurrentCaller, Service, Turn
from weft.interfaces.rest.requests import Known
from weft.interfaces.rest.served_store import Served
from weft.model import Context, Detail, Request

router = APIRouter(prefix="/explore")

_KEPT_LISTED: Final = 30
"""Kept pages that are offered to compare with, the newest ones."""

Side = Annotated[str, Field(max_length=8000)]


class TwoSides(Known):
    """Two addresses of pages: what they ask, `context=ID` for a kept page, or `now=ID` to ask that one again."""

    left: Side = ""
    right: Side = ""


class _Page(Struct, frozen=True):
    """One side: its record, and its text where it was made just now."""

    record: Record
    context: Context | None = None


@router.get("/compare")
def compare_pages(
    sides: Annotated[TwoSides, QueryParameters()], service: Service, caller: CurrentCaller, turn: Turn
) -> Response:
    """Return both pages, what changed from the left to the right, and why; and the pages that were kept."""
    weft = service.weft()
    readable = set(readable_tenants(weft, caller))
    kept = [record for record in recent_of(weft, caller, _KEPT_LISTED) if may_see(caller, record, readable)]
    listed = [{"id": each.id, "made": each.made, "asked": each.asked} for each in kept]
    if not sides.left or not sides.right:
        return answered({"kept": listed})
    with turn:
        left, right = (_read_side(service, side, caller, readable) for side in (sides.left, sides.right))
    difference = compare(left.record, right.record)
    return answered(
        {
            "kept": listed,
            "left": _side_shape(left),
            "right": _side_shape(right),
            "asked": difference.asked,
            "changes": difference.changes,
            "unchanged": difference.unchanged,
        }
    )


def _read_side(service: Served, side: str, caller: Caller, readable: set[str]) -> _Page:
    """Return the page that one side asks for."""
    weft = service.weft()
    values = parse_qs(side, keep_blank_values=False)
    now = datetime.now(UTC)
    for name in ("context", "now"):
        if name in values:
            record = _find_kept(weft, values[name][0], caller, readable)
            if name == "context":
                return _Page(record)
            return _made(weft, rebuild_request(record), now)
    request, notes = read_request(service, read_side(values), caller)
    return _made(weft, request, now, notes)


def _made(weft: Weft, request: Request, now: datetime, notes: tuple[str, ...] = ()) -> _Page:
    context = answer(weft, request, notes)
    return _Page(make_record(context, request, now), context)


def _find_kept(weft: Weft, name: str, caller: Caller, readable: set[str]) -> Record:
    # By its beginning, and with an error that lists others, only for the one user of a store without keys.
    record = weft.contexts.find_readable(name, readable) if caller.key else weft.contexts.find(name)
    # The same words for an id that nobody has and for one of others: that it exists is not for this caller.
    if record is None or not may_see(caller, record, readable):
        raise InvalidInput(
            f"No kept context that this caller may see has the id {name!r}. Choose one of those that are listed."
        )
    return record


def _side_shape(page: _Page) -> dict[str, Any]:
    record = page.record
    shown = [entry for entry in record.ledger if entry.detail is not Detail.DROPPED]
    return {
        "id": record.id,
        "made": record.made,
        "asked": record.asked,
        "profile": record.request.get("profile") or "",
        "tokens": record.tokens,
        "max_tokens": record.max_tokens,
        "kept": page.context is None,
        "text": None if page.context is None else page.context.text,
        "lines": [] if page.context is None else _line_keys(page.context),
        "items": [describe_entry(entry) for entry in shown],
        "notes": record.notes,
    }


def _line_keys(context: Context) -> list[list[Any]]:
    """Return (first line, last line, tenant, key) of what is printed."""
    return [
        [entry.first_line, entry.last_line, entry.tenant, entry.key]
        for entry in context.manifest
        if entry.key is not None
    ]
