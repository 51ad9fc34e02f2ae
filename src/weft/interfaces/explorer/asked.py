"""Read what an address of the explorer asks for, and answer it with a page.

The address of a view holds the names of request.py (`topic`, `max_tokens`, ...), so that a view can be shared, and
the routes that redraw it take the same query.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from msgspec.structs import replace
from pydantic import Field, ValidationError

from weft.api import Weft
from weft.errors import UnknownName
from weft.interfaces.ask import find_targets, make_targeted_request, working_changes
from weft.interfaces.request import clean, make_view
from weft.interfaces.rest.access import Caller
from weft.interfaces.rest.problems import Problem
from weft.interfaces.rest.requests import Known
from weft.interfaces.rest.served_store import Served
from weft.model import DEFAULT_TENANT, FORMATS, UNSET, Context, Request
from weft.profiles import available_profiles

LEAST_BUDGET: Final = 200
MOST_BUDGET: Final = 32_000
"""Tokens at the two ends of the slider: a few sentences, and more than most models are given at once."""
_MOST_TOPICS: Final = 8
"""Topics of one page: each has a share of the budget, and an eighth of it is already little."""

Text = Annotated[str, Field(max_length=2000)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
TenantNames = Annotated[list[Name], Field(max_length=256)]
AsOf = Annotated[int | None, Field(ge=0, le=2**53 - 1)]
"""A point of a story, as large as a number of JavaScript can be."""


class Asked(Known):
    """The part of an address that decides what the page holds."""

    topic: Annotated[list[Text], Field(max_length=_MOST_TOPICS)] = Field(default_factory=list)
    profile: Name | None = None
    lens: Name | None = None
    max_tokens: int | None = Field(None, ge=1, le=1_000_000)
    floor: float | None = Field(None, ge=0, le=1)
    format: Name | None = None
    tenants: TenantNames = Field(default_factory=list)
    as_of: AsOf = None


def read_side(values: Mapping[str, Sequence[str]]) -> Asked:
    """Return the part of an address that stands inside another one, as Compare and Judge have it."""
    plain = {name: list(each) if name in ("topic", "tenants") else each[-1] for name, each in values.items()}
    try:
        return Asked.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        raise Problem(422, f"{first['loc'][0]}: {first['msg']}.") from error


def readable_tenants(weft: Weft, caller: Caller) -> tuple[str, ...]:
    """Return all tenants of the store that a caller may read."""
    return caller.readable(weft.store.tenants())


def chosen_tenants(asked: Sequence[str], readable: Sequence[str]) -> tuple[str, ...]:
    """Return the tenants to read: those asked for, else the default one, else the first that is there."""
    if asked:
        return tuple(tenant for tenant in dict.fromkeys(asked) if tenant in readable)
    return (DEFAULT_TENANT,) if DEFAULT_TENANT in readable else tuple(readable[:1])


def read_request(service: Served, asked: Asked, caller: Caller) -> tuple[Request, tuple[str, ...]]:
    """Return the request that an address asks for, and notes on what its words were taken to mean."""
    weft = service.weft()
    words = tuple(word for word in map(clean, asked.topic) if word)
    values: dict[str, Any] = asked.model_dump(exclude={"topic", "max_tokens"})
    values["tenants"] = chosen_tenants(asked.tenants, readable_tenants(weft, caller))
    # A caller who may read nothing reads a tenant that is not there, never the default one.
    if not values["tenants"]:
        raise Problem(403, "None of these tenants may be read with this key. Choose others, or use another key.")
    values["max_tokens"] = UNSET if asked.max_tokens is None else asked.max_tokens
    if asked.format is not None and asked.format not in FORMATS:
        raise UnknownName("format", asked.format, FORMATS)
    # Elsewhere a profile may be the path of a file; here that would be a file of the server.
    if asked.profile is not None and asked.profile not in (names := available_profiles(weft.folders)):
        raise UnknownName("profile", asked.profile, names)
    with weft.reading(make_view(values)) as reading:
        if caller.key:
            words = tuple(service.ids().resolve(word, reading.snapshot) for word in words)
        profile = weft.reader.choose_profile(asked.profile or "", asked.lens, reading.snapshot).name
    blend = "equal" if len(words) > 1 else None
    targets = find_targets(weft, words, make_view(values), profile, blend)
    # Differences that nobody committed are for the user of this machine, not for holders of keys.
    changes = None if caller.key else working_changes(weft, targets.question, make_view(values))
    return make_targeted_request(values, targets, profile, changes), targets.notes


def answer(weft: Weft, request: Request, notes: Sequence[str] = ()) -> Context:
    """Return the page; unlike pages handed to agents it is not kept, because every key press makes one."""
    context = weft.assemble(request, datetime.now(UTC))
    return replace(context, notes=(*notes, *context.notes))
