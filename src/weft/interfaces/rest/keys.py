"""/api/keys: keys made, listed, replaced and revoked over HTTP, by callers with the scope admin."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Path
from msgspec.structs import asdict
from pydantic import BaseModel, Field
from starlette.responses import Response

from weft.interfaces.keys import EVERY_TENANT, Grant, Key, KeyRing, Limits, Scope, renewed_end
from weft.interfaces.rest.access import Caller, CurrentCaller, Service, is_under
from weft.interfaces.rest.convert import answer
from weft.interfaces.rest.problems import Problem, StrictRoute
from weft.interfaces.rest.requests import LARGEST_ID, Body, Moment, Name
from weft.interfaces.rest.served_store import Served

router = APIRouter(tags=["keys"], route_class=StrictRoute)

KeyId = Annotated[str, Path(pattern="^[0-9a-f]{8}$", description="The key's id, which is no secret.")]
_MAX_OVERLAP_HOURS = 24 * 90
"""Hours for which a key that is replaced may go on: a quarter, as long as a certificate usually lives."""


class LimitsInput(Body):
    """The most that the key may use in a minute, and requests at once; 0 is the service's own limit, or none."""

    requests: int = Field(0, ge=0, le=LARGEST_ID)
    bytes: int = Field(0, ge=0, le=LARGEST_ID)
    tokens: int = Field(0, ge=0, le=LARGEST_ID)
    concurrent: int = Field(0, ge=0, le=10_000)


class KeyInput(Body):
    """The rights of a new key. Its tenants are some of those of the key that makes it; `*` is every one."""

    name: Annotated[str, Field(max_length=200)] = ""
    tenants: Annotated[list[Name], Field(min_length=1, max_length=256)]
    scopes: Annotated[
        list[Annotated[str, Field(pattern="^(read|write|memory|admin)$")]], Field(min_length=1, max_length=4)
    ] = Field(default_factory=lambda: [str(Scope.READ)])
    routes: Annotated[
        list[Annotated[str, Field(pattern=r"^/[A-Za-z0-9_/{}.-]{0,199}$")]], Field(max_length=32)
    ] = Field(default_factory=list, description="Beginnings of paths that the key is for; none is all.")
    expires: Moment | None = Field(None, description="When the key stops; null is never.")
    limits: LimitsInput = LimitsInput.model_construct()


class RotationInput(Body):
    """How long the key that is replaced goes on."""

    overlap_hours: int = Field(24, ge=0, le=_MAX_OVERLAP_HOURS)


class KeyOutput(BaseModel):
    """A key, without its secret."""

    id: str
    name: str
    tenants: list[str]
    scopes: list[str]
    routes: list[str]
    created: str
    expires: str | None
    last_used: str | None
    limits: dict[str, int]


class NewKeyOutput(KeyOutput):
    """A key that was just made, with the token to present: it is told this once."""

    key: str
    notes: list[str]


class KeyList(BaseModel):
    """The keys that the caller may manage."""

    keys: list[KeyOutput]


@router.post("/api/keys", status_code=201, response_model=NewKeyOutput)
def create_key(body: KeyInput, service: Service, caller: CurrentCaller) -> Response:
    """Make a key for some of the caller's own tenants, which lives no longer than the caller's own key."""
    now = datetime.now(UTC)
    if service.keys.is_open():
        raise Problem(409, "The first key is made on the server, because it closes the service: weft keys create.")
    _check_grantable(caller, body)
    grant = Grant(
        name=body.name,
        tenants=tuple(dict.fromkeys(body.tenants)),
        scopes=tuple(Scope(scope) for scope in body.scopes),
        routes=tuple(body.routes),
        expires=body.expires,
        limits=Limits(**body.limits.model_dump()),
    )
    key, token = service.keys.create(grant, now)
    return answer({**_shape(key, {}), "key": token, "notes": _unknown_tenants(service, key)}, 201)


@router.get("/api/keys", response_model=KeyList)
def list_keys(service: Service, caller: CurrentCaller) -> Response:
    """Return the keys whose tenants are all the caller's own, without their secrets."""
    uses = service.keys.last_uses()
    return answer({"keys": [_shape(key, uses) for key in service.keys.all_keys() if _manages(caller, key)]})


@router.post("/api/keys/{key_id}/rotation", status_code=201, response_model=NewKeyOutput)
def rotate_key(key_id: KeyId, body: RotationInput, service: Service, caller: CurrentCaller) -> Response:
    """Make a key with the rights of an old one, which goes on for some hours."""
    old, now = _managed(service.keys, caller, key_id), datetime.now(UTC)
    # The replacement lives as long as the old one was meant to, which may be longer than the caller's own key.
    if old.id != caller.key:
        ends, own_end = renewed_end(old, now), datetime.fromisoformat(caller.expires) if caller.expires else None
        if own_end is not None and (ends is None or ends > own_end):
            raise Problem(
                403, "The new key would live longer than the one that makes it. Use one that lives as long."
            )
        # Whoever replaces a key is told its secret, and can use it.
        _check_bounds(caller, old.limits, old.routes)
    key, token = service.keys.rotate(key_id, timedelta(hours=body.overlap_hours), now)
    return answer({**_shape(key, {}), "key": token, "notes": []}, 201)


@router.delete("/api/keys/{key_id}", status_code=204)
def revoke_key(key_id: KeyId, service: Service, caller: CurrentCaller) -> Response:
    """Revoke a key; every process notices at its next request."""
    _managed(service.keys, caller, key_id)
    service.keys.revoke(key_id)
    return Response(status_code=204)


def _check_grantable(caller: Caller, wanted: KeyInput) -> None:
    """Refuse rights that the caller does not have itself."""
    if caller.tenants is not None and not set(wanted.tenants) <= caller.tenants:
        raise Problem(
            403, "A key is made for the tenants of the key that makes it, or for some of them.", "tenants"
        )
    own_end = datetime.fromisoformat(caller.expires) if caller.expires else None
    if own_end is not None and (wanted.expires is None or wanted.expires > own_end):
        raise Problem(403, f"This key ends at {caller.expires}; the ones it makes end no later.", "expires")
    _check_bounds(caller, Limits(**wanted.limits.model_dump()), wanted.routes)


def _check_bounds(caller: Caller, limits: Limits, routes: Sequence[str]) -> None:
    """Refuse a key that may use more, or ask for more, than the caller's own."""
    for what, own in asdict(caller.limits).items():
        # 0 is no limit, which is more than any.
        if own and not 0 < getattr(limits, what) <= own:
            raise Problem(
                403, f"This key is limited to {own} {what}; give the new one a limit of as much.", "limits"
            )
    if caller.routes and not (routes and all(is_under(route, caller.routes) for route in routes)):
        raise Problem(
            403, f"This key is for {', '.join(caller.routes)} only; give the new one routes of these.", "routes"
        )


def _manages(caller: Caller, key: Key) -> bool:
    return caller.tenants is None or (EVERY_TENANT not in key.tenants and set(key.tenants) <= caller.tenants)


def _managed(keys: KeyRing, caller: Caller, key_id: str) -> Key:
    """Return a key; one that the caller may not manage is as absent as one that is not there."""
    key = next((key for key in keys.all_keys() if key.id == key_id and _manages(caller, key)), None)
    if key is None:
        raise Problem(404, f"There is no key {key_id} that this caller may manage. GET /api/keys lists those.")
    return key


def _unknown_tenants(service: Served, key: Key) -> list[str]:
    held = set(service.weft().store.tenants())
    return [
        f"Tenant {tenant!r} holds nothing yet. If that is a typing error, revoke the key."
        for tenant in key.tenants
        if tenant not in held and tenant != EVERY_TENANT
    ]


def _shape(key: Key, uses: dict[str, str]) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "tenants": list(key.tenants),
        "scopes": [str(scope) for scope in key.scopes],
        "routes": list(key.routes),
        "created": key.created,
        "expires": key.expires or None,
        "last_used": uses.get(key.id),
        "limits": asdict(key.limits),
    }
