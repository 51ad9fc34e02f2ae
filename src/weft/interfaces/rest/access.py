"""Identify the caller of a request, and decide which tenants it may read and write."""

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Annotated, Final

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from msgspec import Struct

from weft.interfaces.rest.problems import Problem
from weft.interfaces.rest.served_store import Served

_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})
"""The names under which this machine asks itself."""

bearer = HTTPBearer(auto_error=False, description="An API key made with `weft keys create`.")


class Caller(Struct, frozen=True):
    """The rights of a caller; `tenants` None is this machine's own user where no keys are in use.

    `key` is the id of the key that was presented, which is no secret.
    """

    tenants: frozenset[str] | None
    write: bool
    key: str = ""

    def session(self, name: str) -> str:
        """Return the session of that name that is the caller's own: holders of other keys have others."""
        return f"{self.key}/{name}" if self.key else name

    def readable(self, tenants: Iterable[str]) -> tuple[str, ...]:
        """Return those of the tenants that the caller may read, each once."""
        # The others are left out without an error, which would say that they exist.
        wanted = dict.fromkeys(tenants)
        return tuple(tenant for tenant in wanted if self.tenants is None or tenant in self.tenants)

    def check_write(self, tenant: str) -> None:
        """Refuse a write that the caller may not make."""
        if not self.write or (self.tenants is not None and tenant not in self.tenants):
            raise Problem(403, f"Tenant {tenant!r} may not be written to. Use a key made for it with --write.")


async def get_served(request: Request) -> Served:
    """Return the store behind the service."""
    # Asynchronous, like `get_caller`: a plain function would be sent through a thread and wait for its turn.
    served: Served = request.app.state.served
    return served


Service = Annotated[Served, Depends(get_served)]


async def get_caller(
    request: Request,
    service: Service,
    # Not read: it only makes the description of the route say that a key is needed.
    _documented: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Caller:
    """Return the caller of a route that reads or writes."""
    return identify_caller(request, service)


def identify_caller(request: Request, service: Served) -> Caller:
    """Return the caller, by API key, or without keys by coming from this machine."""
    # A service that only reads grants no key more than that.
    writable = not service.serving.read_only
    if not service.keys.keys():
        if not is_local(request):
            raise Problem(403, "No API key is configured, so only this machine is served. Run: weft keys create")
        return Caller(None, writable)
    key = service.keys.find(_presented_token(request))
    if key is None:
        raise Problem(401, "No valid API key was given. Send `Authorization: Bearer KEY` with one that is in use.")
    return Caller(frozenset(key.tenants), key.write and writable, key.id)


def _presented_token(request: Request) -> str:
    """Return the token in the headers of a request, or an empty string."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")


CurrentCaller = Annotated[Caller, Depends(get_caller)]


def is_local(request: Request) -> bool:
    """Whether a request comes from this machine and asks for it by a local name."""
    # The name is checked too: a page in a browser here can be made to ask us under its own name.
    return (
        request.client is not None
        and is_loopback(request.client.host)
        and (request.url.hostname or "") in _LOOPBACK_NAMES
    )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine alone."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
