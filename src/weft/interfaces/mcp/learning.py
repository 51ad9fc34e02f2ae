"""Answer the tools of the learning memory: remembering, forgetting, experiences and the premortem."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from weft.errors import InvalidInput
from weft.interfaces.describe import experience_lines, one_line
from weft.interfaces.mcp import ServedStore
from weft.interfaces.mcp.answers import Answer, cut
from weft.memory import Experience, Lesson, Outcome, RootCause

if TYPE_CHECKING:
    from weft.indexing.ingest import IndexingContext


_ATTEMPT: Final = ("hypothesis", "action", "prediction", "strategy")
"""The arguments that describe an attempt."""
_TEXT_WIDTH: Final = 200
"""Characters of a memory that an answer repeats."""
_EXPERIENCE_TOKENS: Final = 2_000
"""Tokens of an experience in an answer: the caller wrote most of it and needs no more than a reminder."""
_PREMORTEM_TOKENS: Final = 1_500
_PREMORTEM_ITEMS: Final = 10
"""The budget of a premortem and its items of each kind by default, as the design documents them."""


def remember(served: ServedStore, arguments: Mapping[str, Any]) -> Answer:
    """Store, change or merge a memory, and say what it may contradict."""
    from weft.memory.memory_store import remember, update_memory

    words = {name: arguments[name] for name in ("category", "importance", "tags") if name in arguments}
    options = {"now": datetime.now(UTC), "tenant": served.tenant_to_write(), **words}
    if "key" in arguments:
        memory = update_memory(_indexing_context(served), arguments["key"], text=arguments.get("text"), **options)
        return Answer((f"Updated {memory.key}.",), {"key": memory.key})
    result = remember(_indexing_context(served), arguments.get("text", ""), **options)
    lines = [f"{'Merged into' if result.merged else 'Remembered as'} {result.memory.key}."]
    if result.superseded:
        lines += [f"It replaces “{one_line(result.superseded, _TEXT_WIDTH)}”, which is kept as history."]
    lines += [f"Secrets were taken out: {', '.join(result.redacted)}."] if result.redacted else []
    lines += [
        f"{found.key} may contradict {found.other} ({found.why}), which says: "
        f"“{one_line(found.other_text, _TEXT_WIDTH)}”. If it does, forget one of them."
        for found in result.contradictions
    ]
    facts = {
        "key": result.memory.key,
        "merged": result.merged,
        "superseded": result.superseded,
        "contradicts": [found.other for found in result.contradictions],
    }
    return Answer(("\n".join(lines),), facts)


def forget(served: ServedStore, arguments: Mapping[str, Any]) -> Answer:
    """Remove memories and say which."""
    from weft.interfaces.memory_actions import forget_memories

    keys = arguments.get("key", ())
    if not keys:
        raise InvalidInput("No key is given. Give the key of a memory, as `search` prints it.")
    gone = forget_memories(served.weft(create=True), keys, served.tenant_to_write())
    lines = [f"Forgot {memory.key}: {one_line(memory.text, _TEXT_WIDTH)}" for memory in gone]
    return Answer(("\n".join(lines),), {"forgotten": [memory.key for memory in gone]})


def start_experience(served: ServedStore, arguments: Mapping[str, Any]) -> Answer:
    """Start an experience."""
    from weft.memory.experience_store import start_experience

    texts = {name: arguments.get(name, "") for name in ("domain", "goal", *_ATTEMPT)}
    files = arguments.get("files", ())
    experience = start_experience(
        _indexing_context(served), **texts, files=files, now=datetime.now(UTC), tenant=served.tenant_to_write()
    )
    return _describe(
        experience, f"Started {experience.id}. Resolve it with resolve_experience when the outcome is known."
    )


def update_experience(served: ServedStore, arguments: Mapping[str, Any]) -> Answer:
    """Record the next attempt of an experience."""
    from weft.memory.experience_store import update_experience

    changes = {name: arguments[name] for name in (*_ATTEMPT, "files") if name in arguments}
    experience = update_experience(
        _indexing_context(served),
        arguments.get("id", ""),
        now=datetime.now(UTC),
        tenant=served.tenant_to_write(),
        **changes,
    )
    return _describe(experience, f"Updated {experience.id}: attempt {experience.iterations}.")


def resolve_experience(served: ServedStore, arguments: Mapping[str, Any]) -> Answer:
    """Record the outcome of an experience; values are found anew in the background when enough has changed."""
    from weft.interfaces.memory_actions import start_values_refresh
    from weft.memory.experience_store import resolve_experience

    cause, what_worked, takeaway = (
        arguments.get("root_cause"),
        arguments.get("lesson", ""),
        arguments.get("takeaway", ""),
    )
    outcome = Outcome(
        status=arguments.get("outcome", ""),
        result=arguments.get("result", ""),
        surprise=arguments.get("surprise", ""),
        root_cause=RootCause(cause, arguments.get("root_cause_description", "")) if cause is not None else None,
        lesson=Lesson(what_worked, takeaway) if what_worked or takeaway else None,
        automatic=arguments.get("automatic", False),
    )
    context, tenant = _indexing_context(served), served.tenant_to_write()
    experience = resolve_experience(
        context, arguments.get("id", ""), outcome, now=datetime.now(UTC), tenant=tenant
    )
    start_values_refresh(context, served.settings.store, tenant)
    return _describe(experience, f"Resolved {experience.id} as {experience.status} ({experience.tier}).")


def premortem(served: ServedStore, arguments: Mapping[str, Any]) -> Answer:
    """Return past failures in a domain on one page."""
    from weft.assemblers.learning.store_searcher import make_assembler

    assembler = make_assembler(served.weft(), served.tenants)
    room = min(arguments.get("max_tokens") or _PREMORTEM_TOKENS, served.settings.max_text_tokens)
    coroutine = assembler.get_premortem_context(
        arguments.get("domain", ""), arguments.get("strategy"), arguments.get("limit", _PREMORTEM_ITEMS), room
    )
    # Tools run in threads without an event loop, so that a new one can be run.
    warning = asyncio.run(coroutine)
    text = warning.markdown or "Nothing went wrong there yet, as far as this store knows."
    facts = {"tokens": warning.token_count, "items": len(warning.items), "notes": list(warning.notes)}
    return Answer((text,), facts)


def _indexing_context(served: ServedStore) -> "IndexingContext":
    return served.weft(create=True).indexing_context()


def _describe(experience: Experience, opening: str) -> Answer:
    text = "\n".join([opening, *experience_lines(experience)])
    return Answer(
        (cut(text, _EXPERIENCE_TOKENS),),
        {"id": experience.id, "status": experience.status, "tier": experience.tier},
    )
