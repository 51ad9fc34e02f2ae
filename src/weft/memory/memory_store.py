"""Memories in the store: remembered once, merged with what says the same, and found again."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from weft.errors import InvalidInput
from weft.frozen import dataclass
from weft.indexing.ingest import Workshop
from weft.indexing.write import delete, put
from weft.memory.judge import Verdict, judge
from weft.memory.memories import Memory, changed, memory_node, memory_of, merged, new_memory
from weft.memory.vocabulary import CATEGORIES, MEMORY, one_of
from weft.model import DEFAULT_TENANT, Edge, Filter, Node, View
from weft.pipeline.query import understand
from weft.pipeline.retrieve import search
from weft.ports import Snapshot
from weft.profiles.types import Fusion, Probe
from weft.text.redact import redact

CONTRADICTS: Final = "contradicts"
_COMPARED: Final = 12
_SMALL: Final = 10_000
_ASKED_CHARACTERS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two memories that may not both be true, and what speaks for that."""

    key: str
    other: str
    other_text: str
    why: str


@dataclass(frozen=True, slots=True)
class Remembered:
    """The memory as it is stored, whether it was merged into an older one, and what it may contradict."""

    memory: Memory
    merged: bool = False
    contradictions: tuple[Contradiction, ...] = ()
    redacted: tuple[str, ...] = ()
    """The kinds of secrets that were taken out before anything was stored."""


def remember(
    shop: Workshop,
    text: str,
    *,
    now: datetime,
    category: str | None = None,
    importance: float | None = None,
    tags: Sequence[str] = (),
    tenant: str = DEFAULT_TENANT,
) -> Remembered:
    """Store a memory (a fact of importance 0.5 unless told); what says the same already is merged with it."""
    safe = redact(text)
    memory = new_memory(safe.text, category, importance, tags, tenant, now)
    with shop.store.writing():
        judged = [(old, judge(memory.text, old.text)) for old in _nearest(shop, memory)]
        same = next((old for old, judgement in judged if judgement.verdict is Verdict.SAME), None)
        if same is not None:
            kept = merged(same, memory, category, importance)
            put(shop, [memory_node(kept)], mentions=is_small(shop, tenant))
            return Remembered(kept, merged=True, redacted=safe.found)
        against = tuple(
            Contradiction(memory.key, old.key, old.text, judgement.why)
            for old, judgement in judged
            if judgement.verdict is Verdict.CONTRADICTS
        )
        edges = [Edge(each.key, each.other, CONTRADICTS, evidence=each.why, tenant=tenant) for each in against]
        put(shop, [memory_node(memory)], edges, mentions=is_small(shop, tenant))
        return Remembered(memory, contradictions=against, redacted=safe.found)


def update_memory(
    shop: Workshop,
    key: str,
    *,
    now: datetime,
    text: str | None = None,
    category: str | None = None,
    importance: float | None = None,
    tags: Sequence[str] | None = None,
    tenant: str = DEFAULT_TENANT,
) -> Memory:
    """The memory with some of it changed, its older text kept as history."""
    with shop.store.writing():
        memory = changed(
            find_memory(shop, key, tenant=tenant),
            now,
            text=None if text is None else redact(text).text,
            category=category,
            importance=importance,
            tags=tags,
        )
        put(shop, [memory_node(memory)], mentions=is_small(shop, tenant))
        return memory


def forget(shop: Workshop, keys: Sequence[str], *, tenant: str = DEFAULT_TENANT) -> tuple[Memory, ...]:
    """Remove memories and return them as they were; when one is missing, none is removed."""
    with shop.store.writing():
        gone = tuple(find_memory(shop, key, tenant=tenant) for key in dict.fromkeys(keys))
        delete(shop, [(tenant, memory.key) for memory in gone])
        return gone


def find_memory(shop: Workshop, key: str, *, tenant: str = DEFAULT_TENANT) -> Memory:
    """The memory with this key, with or without its `memory:`."""
    named = key.strip() if key.strip().startswith(f"{MEMORY}:") else f"{MEMORY}:{key.strip()}"
    with shop.store.snapshot(View((tenant,))) as snapshot:
        node = node_with_key(snapshot, named)
    if node is None or node.kind != MEMORY:
        raise InvalidInput(
            f"No memory of {tenant} has the key {key!r}. `weft memories` lists them with their keys."
        )
    return memory_of(node)


def list_memories(
    shop: Workshop, *, category: str | None = None, limit: int = 50, tenant: str = DEFAULT_TENANT
) -> tuple[Memory, ...]:
    """The memories stored last, newest first, perhaps of one category only."""
    with shop.store.snapshot(View((tenant,))) as snapshot:
        return tuple(memory_of(node) for node in newest(snapshot, _wanted(category), limit))


def search_memories(
    shop: Workshop, question: str, *, category: str | None = None, limit: int = 20, tenant: str = DEFAULT_TENANT
) -> tuple[Memory, ...]:
    """The memories that have most to do with a question."""
    with shop.store.snapshot(View((tenant,))) as snapshot:
        query = understand(question, snapshot, shop.embed)
        probe = Probe("memories", limit=limit)
        found = search(query, probe, _wanted(category), Fusion(), snapshot, shop.index)
    return tuple(memory_of(each.node) for each in found.candidates)


def is_small(shop: Workshop, tenant: str) -> bool:
    """Whether names in a new text can be looked for at once: in a large tenant an agent would wait for seconds."""
    with shop.store.snapshot(View((tenant,))) as snapshot:
        return snapshot.statistics(()).passages <= _SMALL


def node_with_key(snapshot: Snapshot, key: str) -> Node | None:
    """The node of exactly this key, or None."""
    rows = snapshot.nodes(snapshot.find([key]).get(key, ()))
    return next((row.node for row in rows.values() if row.node.key == key), None)


def newest(snapshot: Snapshot, wanted: Filter, limit: int) -> list[Node]:
    """The nodes that were stored last, newest first."""
    if limit < 1:
        raise InvalidInput(f"A limit of {limit} lists nothing. Give 1 or more.")
    ids = snapshot.matching(wanted)[-limit:].tolist()
    rows = snapshot.nodes(ids)
    return [rows[each].node for each in reversed(ids) if each in rows]


def _wanted(category: str | None) -> Filter:
    chosen = () if category is None else (("category", one_of("category", category, CATEGORIES)),)
    return Filter(kinds=(MEMORY,), where=chosen)


def _nearest(shop: Workshop, memory: Memory) -> list[Memory]:
    """The memories most like this one, the likest first."""
    near = search_memories(shop, memory.text[:_ASKED_CHARACTERS], limit=_COMPARED, tenant=memory.tenant)
    return [each for each in near if each.key != memory.key]
