"""/api/admin: the state of the store, and whole tenants, for callers with the scope admin."""

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Path
from msgspec.structs import asdict
from pydantic import BaseModel, Field
from starlette.responses import Response, StreamingResponse

from weft import __version__, deadline
from weft.api import Weft
from weft.interfaces import tenants
from weft.interfaces.rest.access import Caller, CurrentCaller, Service
from weft.interfaces.rest.convert import answer
from weft.interfaces.rest.problems import Problem, StrictRoute

router = APIRouter(tags=["administration"], route_class=StrictRoute)

TenantName = Annotated[str, Path(min_length=1, max_length=200, description="The tenant's name.")]


class StatusOutput(BaseModel):
    """The state of the store, and how far the search files are behind."""

    version: str
    schema_version: int
    nodes: int
    edges: int
    passages: int
    bytes: int
    embedder: str | None
    sequence: int
    lag: int = Field(description="Writes that the search files have not taken in yet; questions find them all.")


class TenantCounts(BaseModel):
    """The tenants that the caller manages, with their nodes."""

    tenants: dict[str, int]


class DeletionOutput(BaseModel):
    """The proof that a tenant is gone."""

    tenant: str
    nodes: int
    digest: str
    left: int


def index_lag(weft: Weft) -> int:
    """Return how many writes the search files have not taken in yet."""
    index = weft.index_status()
    reached = min(int(index.get("lexical_sequence", 0)), int(index.get("vector_sequence", 0)))
    return max(weft.store.last_sequence() - reached, 0)


@router.get("/api/admin/status", response_model=StatusOutput)
def status(service: Service, caller: CurrentCaller) -> Response:
    """Return counts, versions and the lag; for a key for every tenant only."""
    if caller.tenants is not None:
        raise Problem(403, "The state of the store is of all tenants together. Use a key made with --tenant '*'.")
    weft = service.weft()
    found = weft.status()
    told = {name: getattr(found, name) for name in ("schema_version", "nodes", "edges", "passages", "bytes")}
    more = {"version": __version__, "embedder": found.embedder, "sequence": found.sequence, "lag": index_lag(weft)}
    return answer({**told, **more})


@router.get("/api/admin/tenants", response_model=TenantCounts)
def list_tenants(service: Service, caller: CurrentCaller) -> Response:
    """Return the caller's tenants and how many nodes each holds."""
    held = service.weft().status().by_tenant
    return answer({"tenants": {name: held[name] for name in sorted(caller.readable(held))}})


@router.get("/api/admin/tenants/{tenant}/export", response_class=StreamingResponse)
def export_tenant(tenant: TenantName, service: Service, caller: CurrentCaller) -> Response:
    """Stream a tenant as lines of JSON, as `weft tenants export` writes it."""
    weft = service.weft()
    _check_managed(weft, caller, tenant)

    def lines() -> Iterator[bytes]:
        # An export takes as long as its reader does; it holds no lane and no transaction meanwhile.
        deadline.lift()
        yield from tenants.export_tenant(weft, tenant)

    return StreamingResponse(lines(), media_type="application/x-ndjson")


@router.delete("/api/admin/tenants/{tenant}", response_model=DeletionOutput)
def delete_tenant(tenant: TenantName, service: Service, caller: CurrentCaller) -> Response:
    """Delete everything of a tenant, and return the proof of it."""
    weft = service.weft()
    _check_managed(weft, caller, tenant)
    if service.serving.read_only:
        raise Problem(403, "This service only reads. Delete it with one that was started without --read-only.")
    proof = tenants.delete_tenant(weft, tenant)
    service.audit.write("tenant_deleted", key=caller.key, **asdict(proof))
    told = {name: value for name, value in asdict(proof).items() if name != "sequence"}
    return answer(told)


def _check_managed(weft: Weft, caller: Caller, tenant: str) -> None:
    """Answer with 404 for a tenant that is not there, or not the caller's."""
    if tenant not in caller.readable(weft.store.tenants()):
        raise Problem(404, f"There is no tenant {tenant!r} that this caller may manage.")
