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
from weft.interfaces.memory_actions import forget_memories, start_values_refresh
from weft.interfaces.rest import learning_models as schema
from weft.interfaces.rest.access import Caller, Service, Who
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
def store_memory(given: schema.MemoryInput, service: Service, who: Who) -> Response:
    """Remember something; what says the same is merged, what says otherwise is reported."""
    who.check_write(given.tenant_id)
    weft = service.weft()
    done = remember(
        weft.indexing_context(),
        to_text(given.text),
        now=_now(),
        category=given.category,
        importance=given.importance,
        tags=given.tags,
        tenant=given.tenant_id,
    )
    told = {
        "memory": _memory_shapes(weft, (done.memory,))[0],
        "merged": done.merged,
        "contradictions": [asdict(each) for each in done.contradictions],
        "redacted": list(done.redacted),
    }
    return answer(told, 201)


@router.get("/api/memories", response_model=schema.MemoryPage)
def read_memories(
    given: Annotated[schema.MemoryListing, QueryParameters()], service: Service, who: Who
) -> Response:
    """Return the newest memories, or with `query` those that have most to do with it."""
    weft, tenant = service.weft(), _readable(who, given.tenant_id)
    context = weft.indexing_context()
    if given.query is None:
        found = list_memories(context, category=given.category, limit=given.limit, tenant=tenant)
    else:
        found = search_memories(context, given.query, category=given.category, limit=given.limit, tenant=tenant)
    return answer({"memories": _memory_shapes(weft, found)})


@router.patch("/api/memories/{key}", response_model=schema.MemoryOutput)
def change_memory(key: MemoryKey, given: schema.MemoryChange, service: Service, who: Who) -> Response:
    """Change what is named of a memory; its older text is kept."""
    who.check_write(given.tenant_id)
    weft = service.weft()
    _known_memory(weft, key, given.tenant_id)
    memory = update_memory(
        weft.indexing_context(),
        key,
        now=_now(),
        text=None if given.text is None else to_text(given.text),
        category=given.category,
        importance=given.importance,
        tags=given.tags,
        tenant=given.tenant_id,
    )
    return answer(_memory_shapes(weft, (memory,))[0])


@router.delete("/api/memories/{key}", status_code=204)
def remove_memory(
    key: MemoryKey, tenant_id: Annotated[Name, QueryParameters()], service: Service, who: Who
) -> Response:
    """Forget a memory."""
    who.check_write(tenant_id)
    weft = service.weft()
    _known_memory(weft, key, tenant_id)
    forget_memories(weft, [key], tenant_id)
    return Response(status_code=204)


@router.post("/api/experiences", status_code=201, response_model=schema.ExperienceOutput)
def begin_experience(given: schema.ExperienceInput, service: Service, who: Who) -> Response:
    """Write down what is about to be tried."""
    who.check_write(given.tenant_id)
    words = {name: to_text(getattr(given, name)) for name in ("goal", "hypothesis", "action", "prediction")}
    begun = start_experience(
        service.weft().indexing_context(),
        domain=given.domain,
        strategy=given.strategy,
        now=_now(),
        files=given.files,
        tenant=given.tenant_id,
        **words,
    )
    return answer(_experience_shape(begun), 201)


@router.get("/api/experiences", response_model=schema.ExperiencePage)
def read_experiences(
    given: Annotated[schema.ExperienceListing, QueryParameters()], service: Service, who: Who
) -> Response:
    """Return the newest experiences."""
    found = list_experiences(
        service.weft().indexing_context(),
        domain=given.domain,
        strategy=given.strategy,
        status=given.outcome,
        limit=given.limit,
        tenant=_readable(who, given.tenant_id),
    )
    return answer({"experiences": [_experience_shape(each) for each in found]})


@router.get("/api/experiences/{experience_id}", response_model=schema.ExperienceOutput)
def read_experience(
    experience_id: ExperienceId, tenant_id: Annotated[Name, QueryParameters()], service: Service, who: Who
) -> Response:
    """Return one experience with every attempt."""
    return answer(_experience_shape(_known_experience(service.weft(), experience_id, _readable(who, tenant_id))))


@router.patch("/api/experiences/{experience_id}", response_model=schema.ExperienceOutput)
def change_experience(
    experience_id: ExperienceId, given: schema.ExperienceChange, service: Service, who: Who
) -> Response:
    """Write down the next attempt of an open experience."""
    who.check_write(given.tenant_id)
    _known_experience(service.weft(), experience_id, given.tenant_id)
    named = {
        name: to_text(words)
        for name in ("hypothesis", "action", "prediction")
        if (words := getattr(given, name)) is not None
    }
    try:
        told = update_experience(
            service.weft().indexing_context(),
            experience_id,
            now=_now(),
            strategy=given.strategy,
            files=given.files,
            tenant=given.tenant_id,
            **named,
        )
    except learning.AlreadyResolved as error:
        raise Problem(409, str(error)) from error
    return answer(_experience_shape(told))


@router.post("/api/experiences/{experience_id}/resolution", response_model=schema.ExperienceOutput)
def end_experience(experience_id: ExperienceId, given: schema.Resolution, service: Service, who: Who) -> Response:
    """Write down what came of an experience, once; a second outcome is a conflict."""
    who.check_write(given.tenant_id)
    weft = service.weft()
    _known_experience(weft, experience_id, given.tenant_id)
    context = weft.indexing_context()
    try:
        told = resolve_experience(context, experience_id, _outcome(given), now=_now(), tenant=given.tenant_id)
    except learning.AlreadyResolved as error:
        raise Problem(409, str(error)) from error
    if not service.serving.on_server:
        start_values_refresh(context, service.serving.store, given.tenant_id)
    return answer(_experience_shape(told))


@router.get("/api/values", response_model=schema.ValuePage)
def read_values(given: Annotated[schema.ValueListing, QueryParameters()], service: Service, who: Who) -> Response:
    """Return what many experiences have in common, the largest cluster first."""
    tenant = _readable(who, given.tenant_id)
    found = list_values(service.weft().indexing_context(), axis=given.axis, limit=given.limit, tenant=tenant)
    return answer({"values": [_value_shape(each) for each in found]})


@router.post("/api/premortem", response_model=schema.FormattedOutput)
def premortem(given: schema.PremortemRequest, service: Service, who: Who) -> Response:
    """Return past failures in a domain, and with a strategy, on one page within a budget."""
    made = make_assembler(service.weft(), who.readable(given.tenant_ids))
    warning = asyncio.run(made.get_premortem_context(given.domain, given.strategy, given.limit, given.max_tokens))
    return answer({**dataclasses.asdict(warning), "notes": list(warning.notes)})


def _now() -> datetime:
    return datetime.now(UTC)


def _readable(who: Caller, tenant: str) -> str:
    """Return the tenant, or for a caller who may not read it one that holds nothing."""
    return next(iter(who.readable([tenant])), "")


def _known_memory(weft: Weft, key: str, tenant: str) -> None:
    try:
        find_memory(weft.indexing_context(), key, tenant=tenant)
    except InvalidInput as error:
        raise Problem(404, str(error)) from error


def _known_experience(weft: Weft, name: str, tenant: str) -> Experience:
    try:
        return find_experience(weft.indexing_context(), name, tenant=tenant)
    except InvalidInput as error:
        raise Problem(404, str(error)) from error


def _outcome(given: schema.Resolution) -> learning.Outcome:
    cause, worked, takeaway = given.root_cause, to_text(given.lesson), to_text(given.takeaway)
    described = to_text(given.root_cause_description)
    return learning.Outcome(
        status=given.outcome,
        result=to_text(given.result),
        surprise=to_text(given.surprise),
        root_cause=learning.RootCause(cause, described) if cause is not None else None,
        lesson=learning.Lesson(worked, takeaway) if worked or takeaway else None,
        automatic=given.automatic,
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
        "history": [{"text": each.text, "until": each.until.isoformat()} for each in memory.history],
    }


def _experience_shape(told: Experience) -> dict[str, Any]:
    before = [{**asdict(each), "at": each.at.isoformat()} for each in told.before]
    return {
        **{
            name: getattr(told, name)
            for name in (
                *("id", "domain", "strategy", "goal", "hypothesis", "action", "prediction"),
                *("status", "result", "surprise", "tier", "iterations"),
            )
        },
        "tenant_id": told.tenant,
        "root_cause": asdict(told.root_cause) if told.root_cause else None,
        "lesson": asdict(told.lesson) if told.lesson else None,
        "started": told.started.isoformat(),
        "resolved": told.resolved.isoformat() if told.resolved else None,
        "before": before,
        "files": list(told.files),
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
