"""Keep memories in the store: remember them, merge repetitions, note contradictions, and find them again."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.errors import InvalidInput
from weft.indexing.ingest import IndexingContext
from weft.indexing.write import delete, put
from weft.memory.memories import Memory, change_memory, memory_from_node, memory_node, merge_memories, new_memory
from weft.memory.vocabulary import CATEGORIES, MEMORY, check_word
from weft.model import DEFAULT_TENANT, Edge, Filter, Node, View
from weft.pipeline.query import understand
from weft.pipeline.retrieve import search
from weft.pipeline.standing import find_existing
from weft.ports import Snapshot
from weft.profiles.types import Fusion, Probe
from weft.text.judge import Verdict, judge
from weft.text.named_things import find_named_things
from weft.text.redact import Redacted, redact

CONTRADICTS: Final = "contradicts"
"""The type of edges between memories that may not both be true."""

_COMPARED_MEMORIES: Final = 12
"""Memories, those most like a new one, that it is compared with; a repetition further down the list is missed."""
_MAX_PASSAGES_OF_SMALL_TENANT: Final = 10_000
"""In larger tenants, searching older texts for a name takes longer than an agent should wait for `remember`."""
_ALL: Final = 1_000_000
"""A limit that lists all memories of a tenant."""
_MAX_QUESTION_CHARACTERS: Final = 2_000
"""Characters of a memory by which similar ones are searched: the beginning says what it is about."""


class Contradiction(Struct, frozen=True):
    """Two memories that may not both be true, and the reason to think so."""

    key: str
    other: str
    other_text: str
    why: str


class RememberResult(Struct, frozen=True):
    """The memory as it is stored, whether it was merged into an older one, and the ones it may contradict."""

    memory: Memory
    merged: bool = False
    superseded: str = ""
    """The older text about the same thing that this one takes the place of; it stays in the memory's history."""
    contradictions: tuple[Contradiction, ...] = ()
    redacted: tuple[str, ...] = ()
    """The kinds of secrets that were taken out before anything was stored."""


def remember(
    indexing: IndexingContext,
    text: str,
    *,
    now: datetime,
    category: str | None = None,
    importance: float | None = None,
    tags: Sequence[str] = (),
    tenant: str = DEFAULT_TENANT,
    allow_secrets: bool = False,
) -> RememberResult:
    """Store a memory of importance 0.5 unless told; an older one that says the same is merged with it.

    Without a category it gets the one that its words show: an instruction, preference, decision, profile or fact.

    With `allow_secrets` the text is kept as it is, because its author says that there is no secret in it.
    """
    # Before everything else: the text is digested, compared and searched for from here on.
    safe = Redacted(text) if allow_secrets else redact(text, prose=True)
    memory = new_memory(safe.text, category, importance, tags, tenant, now)
    with indexing.store.writing():
        # Under the lock: two agents that remember the same at once must find each other.
        judged = [(old, judge(memory.text, old.text)) for old in _similar_memories(indexing, memory)]
        # A value that holds no longer comes first: beside one that says the same it would stay as if it were true.
        older = next((old for old, judgement in judged if judgement.verdict is Verdict.SUPERSEDES), None)
        same = next((old for old, judgement in judged if judgement.verdict is Verdict.SAME), None)
        known = older or same
        if known is not None:
            # Stored under the older key, so that links to it stay valid.
            stored = _store(indexing, merge_memories(known, memory, category, importance))
            superseded = older.text if older is not None else ""
            return RememberResult(stored, merged=True, superseded=superseded, redacted=safe.kinds)
        contradictions = tuple(
            Contradiction(memory.key, old.key, old.text, judgement.why)
            for old, judgement in judged
            if judgement.verdict is Verdict.CONTRADICTS
        )
        edges = [
            Edge(found.key, found.other, CONTRADICTS, evidence=found.why, tenant=tenant)
            for found in contradictions
        ]
        stored = _store(indexing, memory, edges)
        return RememberResult(stored, contradictions=contradictions, redacted=safe.kinds)


def with_names(snapshot: Snapshot, memory: Memory) -> Memory:
    """Return the memory with the names of what it speaks of, as far as the store holds or has held them."""
    mentioned = find_named_things(memory.text)
    existing = find_existing(mentioned, snapshot)
    return replace(memory, names=tuple(name for name in mentioned if name in existing or name in memory.names))


def find_stale(
    indexing: IndexingContext, *, tenant: str = DEFAULT_TENANT
) -> tuple[tuple[Memory, tuple[str, ...]], ...]:
    """Return the memories that name what is gone from the store, with these names, newest first."""
    with indexing.store.snapshot(View((tenant,))) as snapshot:
        wanted = Filter(kinds=(MEMORY,))
        memories = [memory_from_node(node) for node in newest_nodes(snapshot, wanted, _ALL)]
        existing = find_existing({name for memory in memories for name in memory.names}, snapshot)
    gone = [(memory, tuple(name for name in memory.names if name not in existing)) for memory in memories]
    return tuple((memory, names) for memory, names in gone if names)


def _store(indexing: IndexingContext, memory: Memory, edges: Sequence[Edge] = ()) -> Memory:
    """Store a memory with its edges, and return it as it is stored."""
    with indexing.store.snapshot(View((memory.tenant,))) as snapshot:
        named = with_names(snapshot, memory)
    put(indexing, [memory_node(named)], edges, mentions=is_small_tenant(indexing, memory.tenant))
    return named


def update_memory(
    indexing: IndexingContext,
    key: str,
    *,
    now: datetime,
    text: str | None = None,
    category: str | None = None,
    importance: float | None = None,
    tags: Sequence[str] | None = None,
    tenant: str = DEFAULT_TENANT,
) -> Memory:
    """Change parts of a memory and return it; its older text is kept as history."""
    with indexing.store.writing():
        memory = change_memory(
            find_memory(indexing, key, tenant=tenant),
            now,
            text=None if text is None else redact(text, prose=True).text,
            category=category,
            importance=importance,
            tags=tags,
        )
        return _store(indexing, memory)


def forget(indexing: IndexingContext, keys: Sequence[str], *, tenant: str = DEFAULT_TENANT) -> tuple[Memory, ...]:
    """Remove memories and return them as they were; when one is missing, none is removed."""
    with indexing.store.writing():
        # All are found before one is removed: the caller can correct the list and try again.
        memories = tuple(find_memory(indexing, key, tenant=tenant) for key in dict.fromkeys(keys))
        delete(indexing, [(tenant, memory.key) for memory in memories])
        return memories


def find_memory(indexing: IndexingContext, key: str, *, tenant: str = DEFAULT_TENANT) -> Memory:
    """Return the memory with this key, with or without its `memory:`."""
    full_key = key.strip() if key.strip().startswith(f"{MEMORY}:") else f"{MEMORY}:{key.strip()}"
    with indexing.store.snapshot(View((tenant,))) as snapshot:
        node = find_node(snapshot, full_key)
    if node is None or node.kind != MEMORY:
        raise InvalidInput(
            f"No memory of {tenant} has the key {key!r}. `weft memories` lists them with their keys."
        )
    return memory_from_node(node)


def list_memories(
    indexing: IndexingContext, *, category: str | None = None, limit: int = 50, tenant: str = DEFAULT_TENANT
) -> tuple[Memory, ...]:
    """Return the memories stored last, newest first, on request of one category only."""
    with indexing.store.snapshot(View((tenant,))) as snapshot:
        return tuple(memory_from_node(node) for node in newest_nodes(snapshot, _category_filter(category), limit))


def search_memories(
    indexing: IndexingContext,
    question: str,
    *,
    category: str | None = None,
    limit: int = 20,
    tenant: str = DEFAULT_TENANT,
) -> tuple[Memory, ...]:
    """Return the memories most relevant to a question, the most relevant first."""
    with indexing.store.snapshot(View((tenant,))) as snapshot:
        query = understand(question, snapshot, indexing.embed)
        probe = Probe("memories", limit=limit)
        found = search(query, probe, _category_filter(category), Fusion(), snapshot, indexing.index)
    return tuple(memory_from_node(candidate.node) for candidate in found.candidates)


def is_small_tenant(indexing: IndexingContext, tenant: str) -> bool:
    """Return whether the tenant is so small that names in a new text can be looked for while an agent waits."""
    with indexing.store.snapshot(View((tenant,))) as snapshot:
        return snapshot.statistics(()).passages <= _MAX_PASSAGES_OF_SMALL_TENANT


def find_node(snapshot: Snapshot, key: str) -> Node | None:
    """Return the node of exactly this key, or None: names find nodes by title and alias too."""
    rows = snapshot.nodes(snapshot.find([key]).get(key, ()))
    return next((row.node for row in rows.values() if row.node.key == key), None)


def newest_nodes(snapshot: Snapshot, wanted: Filter, limit: int) -> list[Node]:
    """Return the nodes that were stored last, newest first."""
    if limit < 1:
        raise InvalidInput(f"A limit of {limit} lists nothing. Give 1 or more.")
    # Ids grow with every write, so the last ones are the newest without reading any node.
    ids = snapshot.matching_ids(wanted)[-limit:].tolist()
    rows = snapshot.nodes(ids)
    return [rows[id].node for id in reversed(ids) if id in rows]


def _category_filter(category: str | None) -> Filter:
    where = () if category is None else (("category", check_word("category", category, CATEGORIES)),)
    return Filter(kinds=(MEMORY,), where=where)


def _similar_memories(indexing: IndexingContext, memory: Memory) -> list[Memory]:
    """Return the stored memories most like this one, the most alike first."""
    question = memory.text[:_MAX_QUESTION_CHARACTERS]
    found = [*_same_address(indexing, memory)]
    found += search_memories(indexing, question, limit=_COMPARED_MEMORIES, tenant=memory.tenant)
    # The same text stored twice at one moment has the same key.
    return [other for other in {each.key: each for each in found}.values() if other.key != memory.key]


def _same_address(indexing: IndexingContext, memory: Memory) -> list[Memory]:
    """Return the memories about exactly the same thing, however many others are more like this one in words."""
    address = memory_node(memory).fields.get("address")
    if address is None:
        return []
    wanted = Filter(kinds=(MEMORY,), where=(("address", str(address)),))
    with indexing.store.snapshot(View((memory.tenant,))) as snapshot:
        return [memory_from_node(node) for node in newest_nodes(snapshot, wanted, _COMPARED_MEMORIES)]
