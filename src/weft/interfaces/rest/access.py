"""The rights of callers: who asks, which scope a route needs, and which tenants may be read and written.

This is the one place that decides: `admit` is called by the gate in front of every route (gate.py), and routes ask
the `Caller` it found about tenants.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from msgspec import Struct
from starlette.types import Scope as Connection

from weft.interfaces.keys import EVERY_TENANT, Key, KeysUnreadable, Limits, Scope
from weft.interfaces.rest.addresses import Peer
from weft.interfaces.rest.lanes import LaneName
from weft.interfaces.rest.problems import Problem
from weft.interfaces.rest.served_store import Served

_PUBLIC: Final = frozenset({"/healthz", "/readyz", "/docs", "/openapi.json", "/explore"})
"""Paths that everybody may ask for: they tell whether the service runs and its routes, and nothing stored."""
_PUBLIC_FILES: Final = ("/explore/static", "/explore/view")
"""Beginnings of paths of files that are in the package, and so are no secret."""
_ADMIN: Final = ("/api/keys", "/api/admin", "/metrics")
_LEARNING: Final = ("/api/memories", "/api/experiences")
_WRITTEN: Final = ("/api/nodes", "/api/edges", "/explore/write")
"""Beginnings of the paths whose changes need a scope of their own; everything else reads."""
READING_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

bearer = HTTPBearer(auto_error=False, description="An API key made with `weft keys create`.")


class Caller(Struct, frozen=True):
    """The rights of a caller; `tenants` None is every tenant.

    `key` is the id of the key that was presented, which is no secret; it is empty for this machine's own user
    where no keys are in use.
    """

    tenants: frozenset[str] | None
    scopes: frozenset[Scope]
    key: str = ""
    name: str = ""
    expires: str = ""
    limits: Limits = Limits()
    routes: tuple[str, ...] = ()

    def session(self, name: str) -> str:
        """Return the session of that name that is the caller's own: holders of other keys have others."""
        return f"{self.key}/{name}" if self.key else name

    def readable(self, tenants: Iterable[str]) -> tuple[str, ...]:
        """Return those of the tenants that the caller may read, each once."""
        # The others are left out without an error, which would say that they exist.
        wanted = dict.fromkeys(tenants)
        return tuple(tenant for tenant in wanted if self.tenants is None or tenant in self.tenants)

    def check_write(self, tenant: str, scope: Scope = Scope.WRITE) -> None:
        """Refuse a write that the caller may not make."""
        if scope not in self.scopes or (self.tenants is not None and tenant not in self.tenants):
            raise Problem(
                403,
                f"Tenant {tenant!r} may not be written to by this caller. Use a key made for it with "
                f"--scope {scope}.",
            )


def needed_scope(method: str, path: str) -> Scope | None:
    """Return the scope that a request needs; None where everybody is answered."""
    if path in _PUBLIC or is_under(path, _PUBLIC_FILES):
        return None
    if is_under(path, _ADMIN):
        return Scope.ADMIN
    if method not in READING_METHODS:
        if is_under(path, _WRITTEN):
            return Scope.WRITE
        if is_under(path, _LEARNING):
            return Scope.MEMORY
    return Scope.READ


def is_under(path: str, beginnings: Iterable[str]) -> bool:
    """Return whether a path is one of the beginnings or below one."""
    return any(path == beginning or path.startswith(f"{beginning}/") for beginning in beginnings)


def admit(connection: Connection, peer: Peer, service: Served) -> Caller | None:
    """Return the caller of a request by its headers alone; None for a public path. Refuse everybody else."""
    path = connection["path"]
    needed = needed_scope(connection["method"], path)
    if needed is None:
        return None
    caller, routes = _identify(connection, peer, service)
    if routes and not is_under(path, routes):
        raise Problem(403, f"This key is for {', '.join(routes)} only. Use another for {path}.")
    if needed not in caller.scopes:
        if needed in (Scope.WRITE, Scope.MEMORY) and service.serving.read_only:
            raise Problem(403, "This service only reads. Write to one that was started without --read-only.")
        has = ", ".join(scope for scope in Scope if scope in caller.scopes)
        raise Problem(
            403,
            f"This needs a key with the scope {needed}, and this one has: {has or '(none)'}. `weft keys create "
            f"--scope {needed}` makes one.",
        )
    return caller


def _identify(connection: Connection, peer: Peer, service: Served) -> tuple[Caller, tuple[str, ...]]:
    """Return the caller, by API key, or without keys by coming from this machine; and the routes of its key."""
    try:
        if service.keys.is_open():
            if not peer.is_local:
                raise Problem(
                    403,
                    "No API key is configured, so only this machine is served, and no pages of other sites. Run: "
                    "weft keys create",
                )
            return Caller(None, _granted(tuple(Scope), service)), ()
        key = service.keys.find(_presented_token(connection), datetime.now(UTC))
    except KeysUnreadable as error:
        # The caller is not told where the file is; the operator reads it in the log.
        service.log.error("keys_unreadable", reason=str(error))
        raise Problem(
            503, "The keys of this service cannot be read, so nobody is served. On the server: `weft keys list`."
        ) from error
    if key is None:
        raise Problem(401, "No valid API key was given. Send `Authorization: Bearer KEY` with one that is in use.")
    return _caller_of(key, service), key.routes


def _caller_of(key: Key, service: Served) -> Caller:
    tenants = None if EVERY_TENANT in key.tenants else frozenset(key.tenants)
    return Caller(tenants, _granted(key.scopes, service), key.id, key.name, key.expires, key.limits, key.routes)


def _granted(scopes: tuple[Scope, ...], service: Served) -> frozenset[Scope]:
    # A service that only reads grants no key more than that.
    withheld = {Scope.WRITE, Scope.MEMORY} if service.serving.read_only else set()
    return frozenset(scopes) - withheld


def _presented_token(connection: Connection) -> str:
    """Return the token in the headers of a request, or an empty string; two of them are none."""
    given: list[tuple[bytes, str]] = [
        (name, value.decode("latin-1"))
        for name, value in connection["headers"]
        if name in (b"authorization", b"x-api-key")
    ]
    if len(given) != 1:
        return ""
    name, value = given[0]
    if name == b"x-api-key":
        return value.strip()
    scheme, _, token = value.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


async def get_served(request: Request) -> Served:
    """Return the store behind the service."""
    # Asynchronous, like `get_caller`: a plain function would be sent through a thread and wait for its turn.
    served: Served = request.app.state.served
    return served


Service = Annotated[Served, Depends(get_served)]


async def get_turn(request: Request, service: Service) -> AbstractContextManager[None]:
    """Return the turn to take while an answer is computed; heavy questions have a lane of their own."""
    is_heavy = getattr(request.state, "lane", LaneName.LIGHT) is LaneName.HEAVY
    return service.heavy.block() if is_heavy else service.turn()


Turn = Annotated[AbstractContextManager[None], Depends(get_turn)]


async def get_caller(
    request: Request,
    # Not read: it only makes the description of the route say that a key is needed.
    _documented: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Caller:
    """Return the caller that the gate admitted to a route."""
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        raise Problem(401, "No valid API key was given. Send `Authorization: Bearer KEY` with one that is in use.")
    return caller


CurrentCaller = Annotated[Caller, Depends(get_caller)]
