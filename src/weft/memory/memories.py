"""A memory: one thing worth knowing next time, and the node that holds it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final

from weft.frozen import dataclass
from weft.memory.vocabulary import CATEGORIES, MEMORY, fraction, one_of, words
from weft.model import DEFAULT_TENANT, Json, Node, Origin

LONGEST_MEMORY: Final = 100_000
_TITLE: Final = 70
_USUAL: Final = 0.5
_KEPT_VERSIONS: Final = 20
_ADVICE: Final = "Index it as a file with `weft index`, and remember only what matters of it."


@dataclass(frozen=True, slots=True)
class Earlier:
    """What a memory said before, and until when."""

    text: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Memory:
    """A fact, preference, decision, error, workflow or context, with what it said before."""

    key: str
    text: str
    category: str
    importance: float
    created: datetime
    updated: datetime
    tenant: str = DEFAULT_TENANT
    tags: tuple[str, ...] = ()
    history: tuple[Earlier, ...] = ()


def new_memory(
    text: str, category: str | None, importance: float | None, tags: Sequence[str], tenant: str, now: datetime
) -> Memory:
    """A memory made now; its key is drawn from what it says, where and when."""
    said = words("memory", text, LONGEST_MEMORY, _ADVICE)
    return Memory(
        key=f"{MEMORY}:{short_digest(tenant, said, now.isoformat())}",
        text=said,
        category=one_of("category", "fact" if category is None else category, CATEGORIES),
        importance=fraction("An importance of", _USUAL if importance is None else importance),
        created=now,
        updated=now,
        tenant=tenant,
        tags=tuple(sorted(set(tags))),
    )


def changed(
    memory: Memory,
    now: datetime,
    *,
    text: str | None = None,
    category: str | None = None,
    importance: float | None = None,
    tags: Sequence[str] | None = None,
) -> Memory:
    """The memory with some of it changed; another text keeps the older one as history."""
    said = memory.text if text is None else words("memory", text, LONGEST_MEMORY, _ADVICE)
    history = memory.history if said == memory.text else (*memory.history, Earlier(memory.text, now))
    told = replace(
        memory,
        text=said,
        category=memory.category if category is None else one_of("category", category, CATEGORIES),
        importance=memory.importance if importance is None else fraction("An importance of", importance),
        tags=memory.tags if tags is None else tuple(sorted(set(tags))),
        history=history[-_KEPT_VERSIONS:],
    )
    return memory if told == memory else replace(told, updated=now)


def merged(older: Memory, newer: Memory, category: str | None = None, importance: float | None = None) -> Memory:
    """The older memory saying what the newer one says; category and importance stay unless they are given."""
    return changed(
        older,
        newer.created,
        text=newer.text,
        category=category,
        importance=importance,
        tags=(*older.tags, *newer.tags),
    )


def memory_node(memory: Memory) -> Node:
    """The node that holds a memory."""
    fields: dict[str, Json] = {
        "category": memory.category,
        "importance": memory.importance,
        "created_at": memory.created.isoformat(),
    }
    if memory.history:
        fields["history"] = [{"text": each.text, "until": each.until.isoformat()} for each in memory.history]
    return Node(
        key=memory.key,
        kind=MEMORY,
        tenant=memory.tenant,
        title=title_of(memory.text),
        text=memory.text,
        fields=fields,
        tags=memory.tags,
        origin=Origin(MEMORY),
        created=memory.created,
        modified=memory.updated,
        importance=memory.importance,
    )


def memory_of(node: Node) -> Memory:
    """The memory that a node holds; whatever another tool left out has its usual value."""
    created = node.created or node.modified or datetime.fromtimestamp(0, UTC)
    return Memory(
        key=node.key,
        text=node.text,
        category=str(node.fields.get("category", "fact")),
        importance=number(node.fields.get("importance"), node.importance),
        created=created,
        updated=node.modified or created,
        tenant=node.tenant,
        tags=node.tags,
        history=tuple(_earlier(each) for each in listed(node.fields.get("history"))),
    )


def _earlier(told: Mapping[str, Json]) -> Earlier:
    return Earlier(str(told.get("text", "")), datetime.fromisoformat(str(told["until"])))


def listed(value: Json) -> list[Mapping[str, Json]]:
    """The mappings in a field that should be a list of them."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else []


def number(value: Json, otherwise: float) -> float:
    """A field that should be a number."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def title_of(text: str) -> str:
    """The first line of a text, cut to the length of a title."""
    line = " ".join(text.strip().split("\n", 1)[0].split())
    return line if len(line) <= _TITLE else f"{line[:_TITLE].rsplit(' ', 1)[0]}…"


def short_digest(*parts: str) -> str:
    """Twelve hexadecimal digits that stand for some words."""
    told = "\0".join(parts).encode("utf-8", "surrogatepass")
    return blake2b(told, digest_size=6).hexdigest()
