"""/api/admin: the state of the store, its jobs and snapshots, and whole tenants, for the scope admin."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from msgspec.structs import asdict
from pydantic import BaseModel, Field
from starlette.responses import Response, StreamingResponse

from weft import __version__
from weft.api import Weft
from weft.interfaces import tenants
from weft.interfaces.rest.access import Caller, CurrentCaller, Service
from weft.interfaces.rest.convert import answer
from weft.interfaces.rest.problems import Problem, StrictRoute
from weft.interfaces.rest.served_store import Served
from weft.runtime import deadline
from weft.store.sqlite.backup_archive import add_to_archive, list_archive
from weft.store.sqlite.store import SqliteStore

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


class ImportOutput(BaseModel):
    """The lines of an export that were stored, in counts."""

    nodes: int
    edges: int


class JobOutput(BaseModel):
    """A job of a store on a server."""

    id: int
    kind: str
    tenant: str
    state: str
    attempts: int
    error: str
    done: int
    total: int | None
    created: datetime
    finished: datetime | None


class JobsOutput(BaseModel):
    """The jobs of the caller's tenants."""

    jobs: list[JobOutput]


class SnapshotOutput(BaseModel):
    """A backup that the service has made: its name, its last write, and whether it builds on no other."""

    name: str
    sequence: int
    made: str
    whole: bool
    bytes: int


class SnapshotsOutput(BaseModel):
    """The backups that the service has made."""

    snapshots: list[SnapshotOutput]


def index_lag(weft: Weft) -> int:
    """Return how many writes the search files have not taken in yet."""
    index = weft.index_status()
    reached = min(int(index.get("lexical_sequence", 0)), int(index.get("vector_sequence", 0)))
    return max(weft.store.last_sequence() - reached, 0)


@router.get("/api/admin/status", response_model=StatusOutput)
def status(service: Service, caller: CurrentCaller) -> Response:
    """Return counts, versions and the lag; for a key for every tenant only."""
    _check_whole_store(caller)
    weft = service.weft()
    found = weft.status()
    counts = {name: getattr(found, name) for name in ("schema_version", "nodes", "edges", "passages", "bytes")}
    more = {"version": __version__, "embedder": found.embedder, "sequence": found.sequence, "lag": index_lag(weft)}
    return answer({**counts, **more})


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


async def _read_body(request: Request) -> bytes:
    return await request.body()


@router.post(
    "/api/admin/tenants/{tenant}/import",
    response_model=ImportOutput,
    openapi_extra={"requestBody": {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}},
)
def import_tenant(
    tenant: TenantName,
    body: Annotated[bytes, Depends(_read_body)],
    service: Service,
    caller: CurrentCaller,
) -> Response:
    """Store lines of an export, all or none of them; a long export is sent in pieces, in order."""
    if caller.tenants is not None and tenant not in caller.tenants:
        raise Problem(404, f"There is no tenant {tenant!r} that this caller may manage.")
    _check_writable(service)
    lines = [line for line in body.split(b"\n") if line.strip()]
    done = tenants.import_lines(service.weft(), lines, tenant, lambda other: bool(caller.readable([other])))
    service.audit.write("import", key=caller.key, tenant=tenant, nodes=done.nodes, edges=done.edges)
    return answer(asdict(done))


@router.delete("/api/admin/tenants/{tenant}", response_model=DeletionOutput)
def delete_tenant(tenant: TenantName, service: Service, caller: CurrentCaller) -> Response:
    """Delete everything of a tenant, and return the proof of it."""
    weft = service.weft()
    _check_managed(weft, caller, tenant)
    _check_writable(service)
    proof = tenants.delete_tenant(weft, tenant)
    service.audit.write("tenant_deleted", key=caller.key, **asdict(proof))
    facts = {name: value for name, value in asdict(proof).items() if name != "sequence"}
    return answer(facts)


@router.get("/api/admin/jobs", response_model=JobsOutput)
def list_jobs(service: Service, caller: CurrentCaller) -> Response:
    """Return the jobs of the caller's tenants, latest first; an embedded store does its work at once."""
    store = service.weft().store
    if isinstance(store, SqliteStore):
        return answer({"jobs": []})
    # Loaded here, with the driver of the server: an embedded store does without it.
    from weft.store.postgres.jobs import JobQueue
    from weft.store.postgres.store import PostgresStore

    held = [store] if isinstance(store, PostgresStore) else store.answering()
    jobs = [job for each in held for job in JobQueue(each).list_jobs() if caller.readable([job.tenant])]
    names, shown = JobOutput.model_fields, service.ids()
    # The store counts the jobs of all tenants together.
    return answer(
        {"jobs": [{**{name: getattr(job, name) for name in names}, "id": shown.show(job.id)} for job in jobs]}
    )


@router.get("/api/admin/snapshots", response_model=SnapshotsOutput)
def list_snapshots(service: Service, caller: CurrentCaller) -> Response:
    """Return the backups that the service has made, oldest first; for a key for every tenant only."""
    _check_whole_store(caller)
    held = list_archive(_archive(service))
    return answer({"snapshots": [asdict(each) for each in held]})


@router.post("/api/admin/snapshots", response_model=SnapshotOutput, status_code=201)
def make_snapshot(service: Service, caller: CurrentCaller) -> Response:
    """Back the store up beside itself while it is used: the pages that changed since the last time."""
    _check_whole_store(caller)
    _check_writable(service)
    # A large store takes longer than an answer may; it is whole or not there at all.
    deadline.lift()
    made = add_to_archive(
        service.serving.store,
        _archive(service),
        datetime.now(UTC),
        on_leftovers=lambda count: service.audit.write("leftovers_removed", key=caller.key, folders=count),
    )
    service.audit.write("snapshot", key=caller.key, name=made.name, sequence=made.sequence)
    return answer(asdict(made), 201)


def _archive(service: Served) -> FilePath:
    if service.serving.on_server:
        raise Problem(
            409, "A store on a server is backed up with its server's own tools (pg_dump, pg_basebackup)."
        )
    store = service.serving.store
    return store.with_name(f"{store.name}.backups") / "snapshots"


def _check_whole_store(caller: Caller) -> None:
    if caller.tenants is not None:
        raise Problem(403, "The state of the store is of all tenants together. Use a key made with --tenant '*'.")


def _check_writable(service: Served) -> None:
    if service.serving.read_only:
        raise Problem(403, "This service only reads. Ask one that was started without --read-only.")


def _check_managed(weft: Weft, caller: Caller, tenant: str) -> None:
    """Answer with 404 for a tenant that is not there, or not the caller's."""
    if tenant not in caller.readable(weft.store.tenants()):
        raise Problem(404, f"There is no tenant {tenant!r} that this caller may manage.")
