"""Answer the tools of the learning memory: remembering, forgetting, experiences and the premortem."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from weft.errors import InvalidInput
from weft.interfaces.describe import experience_lines, one_line
from weft.interfaces.mcp.answers import Answer, cut
from weft.interfaces.mcp.open_store import Shelf
from weft.memory import Experience, Lesson, Outcome, RootCause
from weft.model import DEFAULT_TENANT

if TYPE_CHECKING:
    from weft.indexing.ingest import IndexingContext


_ATTEMPT = ("hypothesis", "action", "prediction", "strategy")


def remember(shelf: Shelf, given: Mapping[str, Any]) -> Answer:
    """Return a memory stored, changed or merged, with what it may contradict."""
    from weft.memory.memory_store import remember, update_memory

    words = {name: given[name] for name in ("category", "importance", "tags") if name in given}
    more = {"now": _now(), "tenant": own_tenant(shelf), **words}
    if "key" in given:
        memory = update_memory(_shop(shelf), given["key"], text=given.get("text"), **more)
        return Answer((f"Updated {memory.key}.",), {"key": memory.key})
    done = remember(_shop(shelf), given.get("text", ""), **more)
    lines = [f"{'Merged into' if done.merged else 'Remembered as'} {done.memory.key}."]
    lines += [f"Secrets were taken out: {', '.join(done.redacted)}."] if done.redacted else []
    lines += [
        f"{each.key} may contradict {each.other} ({each.why}), which says: “{one_line(each.other_text, 200)}”. "
        "If it does, forget one of them."
        for each in done.contradictions
    ]
    facts = {"key": done.memory.key, "merged": done.merged, "contradicts": [e.other for e in done.contradictions]}
    return Answer(("\n".join(lines),), facts)


def forget(shelf: Shelf, given: Mapping[str, Any]) -> Answer:
    """Remove memories and say which."""
    from weft.interfaces.memory_actions import forget_memories

    keys = given.get("key", ())
    if not keys:
        raise InvalidInput("No key is given. Give the key of a memory, as `search` prints it.")
    gone = forget_memories(shelf.weft(create=True), keys, own_tenant(shelf))
    lines = [f"Forgot {memory.key}: {one_line(memory.text, 200)}" for memory in gone]
    return Answer(("\n".join(lines),), {"forgotten": [memory.key for memory in gone]})


def start_experience(shelf: Shelf, given: Mapping[str, Any]) -> Answer:
    """Return an experience begun."""
    from weft.memory.experience_store import start_experience

    told = {name: given.get(name, "") for name in ("domain", "goal", *_ATTEMPT)}
    files = given.get("files", ())
    begun = start_experience(_shop(shelf), **told, files=files, now=_now(), tenant=own_tenant(shelf))
    return _told(begun, f"Started {begun.id}. Resolve it with resolve_experience when the outcome is known.")


def update_experience(shelf: Shelf, given: Mapping[str, Any]) -> Answer:
    """Return the next attempt of an experience."""
    from weft.memory.experience_store import update_experience

    changes = {name: given[name] for name in (*_ATTEMPT, "files") if name in given}
    told = update_experience(_shop(shelf), _name(given), now=_now(), tenant=own_tenant(shelf), **changes)
    return _told(told, f"Updated {told.id}: attempt {told.iterations}.")


def resolve_experience(shelf: Shelf, given: Mapping[str, Any]) -> Answer:
    """Return the outcome of an experience; values are found anew in the background when enough has changed."""
    from weft.interfaces.memory_actions import start_values_refresh
    from weft.memory.experience_store import resolve_experience

    cause, worked, takeaway = given.get("root_cause"), given.get("lesson", ""), given.get("takeaway", "")
    outcome = Outcome(
        status=given.get("outcome", ""),
        result=given.get("result", ""),
        surprise=given.get("surprise", ""),
        root_cause=RootCause(cause, given.get("root_cause_description", "")) if cause is not None else None,
        lesson=Lesson(worked, takeaway) if worked or takeaway else None,
        automatic=given.get("automatic", False),
    )
    context, tenant = _shop(shelf), own_tenant(shelf)
    told = resolve_experience(context, _name(given), outcome, now=_now(), tenant=tenant)
    start_values_refresh(context, shelf.settings.store, tenant)
    return _told(told, f"Resolved {told.id} as {told.status} ({told.tier}).")


def premortem(shelf: Shelf, given: Mapping[str, Any]) -> Answer:
    """Return past failures in a domain on one page."""
    from weft.assemblers.learning.store_searcher import make_assembler

    made = make_assembler(shelf.weft(), shelf.tenants)
    room = min(given.get("max_tokens") or 1500, shelf.settings.room)
    asking = made.get_premortem_context(
        given.get("domain", ""), given.get("strategy"), given.get("limit", 10), room
    )
    warning = asyncio.run(asking)
    text = warning.markdown or "Nothing went wrong there yet, as far as this store knows."
    facts = {"tokens": warning.token_count, "items": len(warning.items), "notes": list(warning.notes)}
    return Answer((text,), facts)


def own_tenant(shelf: Shelf) -> str:
    """Return the one tenant that is written to."""
    if len(shelf.tenants) != 1:
        raise InvalidInput(
            f"This server reads {', '.join(shelf.tenants)}; start one with a single --tenant to write."
        )
    return shelf.tenants[0] or DEFAULT_TENANT


def _shop(shelf: Shelf) -> "IndexingContext":
    return shelf.weft(create=True).indexing_context()


def _name(given: Mapping[str, Any]) -> str:
    return str(given.get("id", ""))


def _now() -> datetime:
    return datetime.now(UTC)


def _told(experience: Experience, opening: str) -> Answer:
    text = "\n".join([opening, *experience_lines(experience)])
    return Answer((cut(text, 2_000),), {"id": experience.id, "status": experience.status, "tier": experience.tier})
