"""/api/memories, /api/experiences, /api/values and /api/premortem: what agents learn."""

import asyncio
import dataclasses
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi import Query as QueryParameters
from msgspec.structs import asdict
from starlette.responses import Response

from weft import memory as learning
from weft.api import Weft
from weft.assemblers.learning.store_searcher import make_assembler
from weft.errors import InvalidInput
from weft.interfaces.keys import Scope
from weft.interfaces.memory_actions import forget_memories, start_values_refresh
from weft.interfaces.rest import learning_models as schema
from weft.interfaces.rest.access import Caller, CurrentCaller, Service
from weft.interfaces.rest.convert import answer
from weft.interfaces.rest.problems import Problem, StrictRoute
from weft.interfaces.rest.requests import Name
from weft.memory import Experience, Memory, MemoryUsage, UsageLog, Value
from weft.memory.experience_store import (
    find_experience,
    list_experiences,
    resolve_experience,
    start_experience,
    update_experience,
)
from weft.memory.memory_store import find_memory, list_memories, remember, search_memories, update_memory
from weft.memory.value_store import list_values
from weft.sources.values import to_text

router = APIRouter(tags=["learning"], route_class=StrictRoute)

MemoryKey = Annotated[str, Path(min_length=1, max_length=200, description="The memory's key.")]
ExperienceId = Annotated[str, Path(min_length=1, max_length=200, description="The experience's id.")]


@router.post("/api/memories", status_code=201, response_model=schema.RememberedOutput)
def store_memory(body: schema.MemoryInput, service: Service, caller: CurrentCaller) -> Response:
    """Remember something; what says the same is merged, what says otherwise is reported."""
    caller.check_write(body.tenant_id, Scope.MEMORY)
    weft = service.weft()
    result = remember(
        weft.indexing_context(),
        to_text(body.text),
        now=_now(),
        category=body.category,
        importance=body.importance,
        tags=body.tags,
        tenant=body.tenant_id,
    )
    stored = {
        "memory": _memory_shapes(weft, (result.memory,))[0],
        "merged": result.merged,
        "superseded": result.superseded,
        "contradictions": [asdict(contradiction) for contradiction in result.contradictions],
        "redacted": list(result.redacted),
    }
    return answer(stored, 201)


@router.get("/api/memories", response_model=schema.MemoryPage)
def read_memories(
    listing: Annotated[schema.MemoryListing, QueryParameters()], service: Service, caller: CurrentCaller
) -> Response:
    """Return the newest memories, or with `query` those that have most to do with it."""
    weft, tenant = service.weft(), _readable(caller, listing.tenant_id)
    context = weft.indexing_context()
    if listing.query is None:
        found = list_memories(context, category=listing.category, limit=listing.limit, tenant=tenant)
    else:
        found = search_memories(
            context, listing.query, category=listing.category, limit=listing.limit, tenant=tenant
        )
    return answer({"memories": _memory_shapes(weft, found)})


@router.patch("/api/memories/{key}", response_model=schema.MemoryOutput)
def change_memory(key: MemoryKey, body: schema.MemoryChange, service: Service, caller: CurrentCaller) -> Response:
    """Change what is named of a memory; its older text is kept."""
    # Rights come first: a caller without them must not learn which keys exist.
    caller.check_write(body.tenant_id, Scope.MEMORY)
    weft = service.weft()
    _check_memory(weft, key, body.tenant_id)
    memory = update_memory(
        weft.indexing_context(),
        key,
        now=_now(),
        text=None if body.text is None else to_text(body.text),
        category=body.category,
        importance=body.importance,
        tags=body.tags,
        tenant=body.tenant_id,
    )
    return answer(_memory_shapes(weft, (memory,))[0])


@router.delete("/api/memories/{key}", status_code=204)
def remove_memory(
    key: MemoryKey, tenant_id: Annotated[Name, QueryParameters()], service: Service, caller: CurrentCaller
) -> Response:
    """Forget a memory."""
    caller.check_write(tenant_id, Scope.MEMORY)
    weft = service.weft()
    _check_memory(weft, key, tenant_id)
    forget_memories(weft, [key], tenant_id)
    return Response(status_code=204)


@router.post("/api/experiences", status_code=201, response_model=schema.ExperienceOutput)
def begin_experience(body: schema.ExperienceInput, service: Service, caller: CurrentCaller) -> Response:
    """Write down what is about to be tried."""
    caller.check_write(body.tenant_id, Scope.MEMORY)
    words = {name: to_text(getattr(body, name)) for name in ("goal", "hypothesis", "action", "prediction")}
    experience = start_experience(
        service.weft().indexing_context(),
        domain=body.domain,
        strategy=body.strategy,
        now=_now(),
        files=body.files,
        tenant=body.tenant_id,
        **words,
    )
    return answer(_experience_shape(experience), 201)


@router.get("/api/experiences", response_model=schema.ExperiencePage)
def read_experiences(
    listing: Annotated[schema.ExperienceListing, QueryParameters()], service: Service, caller: CurrentCaller
) -> Response:
    """Return the newest experiences."""
    found = list_experiences(
        service.weft().indexing_context(),
        domain=listing.domain,
        strategy=listing.strategy,
        status=listing.outcome,
        limit=listing.limit,
        tenant=_readable(caller, listing.tenant_id),
    )
    return answer({"experiences": [_experience_shape(experience) for experience in found]})


@router.get("/api/experiences/{experience_id}", response_model=schema.ExperienceOutput)
def read_experience(
    experience_id: ExperienceId,
    tenant_id: Annotated[Name, QueryParameters()],
    service: Service,
    caller: CurrentCaller,
) -> Response:
    """Return one experience with every attempt."""
    return answer(
        _experience_shape(_find_known_experience(service.weft(), experience_id, _readable(caller, tenant_id)))
    )


@router.patch("/api/experiences/{experience_id}", response_model=schema.ExperienceOutput)
def change_experience(
    experience_id: ExperienceId, body: schema.ExperienceChange, service: Service, caller: CurrentCaller
) -> Response:
    """Write down the next attempt of an open experience."""
    caller.check_write(body.tenant_id, Scope.MEMORY)
    _find_known_experience(service.weft(), experience_id, body.tenant_id)
    named = {
        name: to_text(words)
        for name in ("hypothesis", "action", "prediction")
        if (words := getattr(body, name)) is not None
    }
    try:
        experience = update_experience(
            service.weft().indexing_context(),
            experience_id,
            now=_now(),
            strategy=body.strategy,
            files=body.files,
            tenant=body.tenant_id,
            **named,
        )
    except learning.AlreadyResolved as error:
        raise Problem(409, str(error)) from error
    return answer(_experience_shape(experience))


@router.post("/api/experiences/{experience_id}/resolution", response_model=schema.ExperienceOutput)
def end_experience(
    experience_id: ExperienceId, body: schema.Resolution, service: Service, caller: CurrentCaller
) -> Response:
    """Write down what came of an experience, once; a second outcome is a conflict."""
    caller.check_write(body.tenant_id, Scope.MEMORY)
    weft = service.weft()
    _find_known_experience(weft, experience_id, body.tenant_id)
    context = weft.indexing_context()
    try:
        experience = resolve_experience(context, experience_id, _outcome(body), now=_now(), tenant=body.tenant_id)
    except learning.AlreadyResolved as error:
        raise Problem(409, str(error)) from error
    # The background process is given the folder of the store; one on a server cannot be opened by that.
    if not service.serving.on_server:
        start_values_refresh(context, service.serving.store, body.tenant_id)
    return answer(_experience_shape(experience))


@router.get("/api/values", response_model=schema.ValuePage)
def read_values(
    listing: Annotated[schema.ValueListing, QueryParameters()], service: Service, caller: CurrentCaller
) -> Response:
    """Return what many experiences have in common, the largest cluster first."""
    tenant = _readable(caller, listing.tenant_id)
    found = list_values(service.weft().indexing_context(), axis=listing.axis, limit=listing.limit, tenant=tenant)
    return answer({"values": [_value_shape(value) for value in found]})


@router.post("/api/premortem", response_model=schema.FormattedOutput)
def premortem(body: schema.PremortemRequest, service: Service, caller: CurrentCaller) -> Response:
    """Return past failures in a domain, and with a strategy, on one page within a budget."""
    assembler = make_assembler(service.weft(), caller.readable(body.tenant_ids))
    # Routes run in threads of their own, which have no event loop, so that a new one can be run.
    warning = asyncio.run(assembler.get_premortem_context(body.domain, body.strategy, body.limit, body.max_tokens))
    return answer({**dataclasses.asdict(warning), "notes": list(warning.notes)})


def _now() -> datetime:
    return datetime.now(UTC)


def _readable(caller: Caller, tenant: str) -> str:
    """Return the tenant; for a caller who may not read it, the empty name, under which nothing is stored."""
    return next(iter(caller.readable([tenant])), "")


def _check_memory(weft: Weft, key: str, tenant: str) -> None:
    """Answer with 404 if the tenant has no memory of that key, where the library would call the input invalid."""
    try:
        find_memory(weft.indexing_context(), key, tenant=tenant)
    except InvalidInput as error:
        raise Problem(404, str(error)) from error


def _find_known_experience(weft: Weft, name: str, tenant: str) -> Experience:
    """Return an experience by its id; answer with 404 if the tenant has none of that id."""
    try:
        return find_experience(weft.indexing_context(), name, tenant=tenant)
    except InvalidInput as error:
        raise Problem(404, str(error)) from error


def _outcome(resolution: schema.Resolution) -> learning.Outcome:
    cause, what_worked, takeaway = resolution.root_cause, to_text(resolution.lesson), to_text(resolution.takeaway)
    description = to_text(resolution.root_cause_description)
    return learning.Outcome(
        status=resolution.outcome,
        result=to_text(resolution.result),
        surprise=to_text(resolution.surprise),
        root_cause=learning.RootCause(cause, description) if cause is not None else None,
        lesson=learning.Lesson(what_worked, takeaway) if what_worked or takeaway else None,
        automatic=resolution.automatic,
    )


def _memory_shapes(weft: Weft, found: tuple[Memory, ...]) -> list[dict[str, Any]]:
    uses = UsageLog(weft.folder).read_uses([(memory.tenant, memory.key) for memory in found])
    return [_memory_shape(memory, uses.get((memory.tenant, memory.key), MemoryUsage())) for memory in found]


def _memory_shape(memory: Memory, used: MemoryUsage) -> dict[str, Any]:
    return {
        "key": memory.key,
        "tenant_id": memory.tenant,
        "text": memory.text,
        "category": memory.category,
        "importance": memory.importance,
        "tags": list(memory.tags),
        "created": memory.created.isoformat(),
        "updated": memory.updated.isoformat(),
        "use_count": used.times,
        "last_used": used.last.isoformat() if used.last else None,
        "history": [{"text": version.text, "until": version.until.isoformat()} for version in memory.history],
    }


def _experience_shape(experience: Experience) -> dict[str, Any]:
    before = [{**asdict(attempt), "at": attempt.at.isoformat()} for attempt in experience.before]
    return {
        **{
            name: getattr(experience, name)
            for name in (
                *("id", "domain", "strategy", "goal", "hypothesis", "action", "prediction"),
                *("status", "result", "surprise", "tier", "iterations"),
            )
        },
        "tenant_id": experience.tenant,
        "root_cause": asdict(experience.root_cause) if experience.root_cause else None,
        "lesson": asdict(experience.lesson) if experience.lesson else None,
        "started": experience.started.isoformat(),
        "resolved": experience.resolved.isoformat() if experience.resolved else None,
        "before": before,
        "files": list(experience.files),
    }


def _value_shape(value: Value) -> dict[str, Any]:
    return {
        "key": value.key,
        "axis": value.axis,
        "cluster_id": value.cluster_id,
        "cluster_size": value.size,
        "text": value.text,
        "exemplar": value.exemplar,
        "similarity_to_centroid": value.similarity,
        "domain": value.domain,
        "strategy": value.strategy,
    }
