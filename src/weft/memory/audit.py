"""Look through all memories for junk, repetitions, stale and contradictory ones, tidy them up, and undo that.

Only what can be decided is changed: what says nothing is removed, and of two memories that say the same, or of
which one has a newer value, the older takes on the words of the newer. The rest is listed for a person to decide.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from weft.errors import InvalidInput
from weft.indexing.ingest import IndexingContext
from weft.indexing.write import delete, put
from weft.memory.exchange import drop_marks, note_forgotten
from weft.memory.memories import Memory, change_memory, memory_node
from weft.memory.memory_store import find_stale, list_memories, with_names
from weft.model import DEFAULT_TENANT, View
from weft.pipeline.standing import describe_gone
from weft.text import analyze
from weft.text.addresses import read_address
from weft.text.judge import Verdict, judge
from weft.text.statements import read_statement

UNDO_FILE: Final = "audit-undo.json"
"""The file beside the store that holds the memories as they were before the last audit that changed some."""
_ALL: Final = 1_000_000
"""A limit that lists all memories of a tenant."""
_MIN_WORDS: Final = 2
"""Significant words that a memory needs to say something, unless it is a statement of a known form."""
_MAX_SHARED_BY: Final = 50
"""A word that more memories have says nothing about which of them are alike; comparing all would take too long."""
_COMPARED_MEMORIES: Final = 12
"""Older memories, those with the most words in common, that each is compared with, as when it is remembered."""


class Problem(StrEnum):
    """A fault of a memory that an audit finds."""

    JUNK = "junk"
    DUPLICATE = "duplicate"
    STALE = "stale"
    CONTRADICTORY = "contradictory"


class Action(StrEnum):
    """The way in which an audit mends a fault when it is applied."""

    REMOVE = "remove"
    MERGE = "merge"
    DECIDE = "decide"


class Finding(Struct, frozen=True):
    """A memory with what is wrong, why, and what applying does; `other` is the memory it is compared with."""

    key: str
    problem: Problem
    why: str
    action: Action
    text: str
    other: str = ""


class _Undo(Struct, frozen=True):
    """The memories of a tenant as they were, and those that an audit left in their place."""

    tenant: str
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]


def find_problems(indexing: IndexingContext, *, tenant: str = DEFAULT_TENANT) -> tuple[Finding, ...]:
    """Return what is wrong with the memories of a tenant, by problem and age; nothing is changed."""
    # Oldest first, so that the newer of two is compared with the older.
    memories = sorted(
        list_memories(indexing, limit=_ALL, tenant=tenant), key=lambda each: (each.updated, each.key)
    )
    junk = [memory for memory in memories if _says_nothing(memory.text)]
    findings = [
        Finding(memory.key, Problem.JUNK, "it says nothing", Action.REMOVE, memory.text) for memory in junk
    ]
    useless = {memory.key for memory in junk}
    pairs = list(_judge_pairs([memory for memory in memories if memory.key not in useless]))
    findings += [finding for finding in pairs if finding.problem is Problem.DUPLICATE]
    for memory, gone in reversed(find_stale(indexing, tenant=tenant)):
        why = describe_gone(gone)
        findings.append(Finding(memory.key, Problem.STALE, why, Action.DECIDE, memory.text))
    return (*findings, *(finding for finding in pairs if finding.problem is Problem.CONTRADICTORY))


def apply_findings(
    indexing: IndexingContext, folder: Path, *, now: datetime, tenant: str = DEFAULT_TENANT
) -> tuple[Finding, ...]:
    """Remove and merge what can be decided, keep what was there for `undo_audit`, and return all findings."""
    with indexing.store.writing():
        # Found under the lock: nobody changes a memory between the finding and the change.
        findings = find_problems(indexing, tenant=tenant)
        stored = {memory.key: memory for memory in list_memories(indexing, limit=_ALL, tenant=tenant)}
        junk = sorted(finding.key for finding in findings if finding.action is Action.REMOVE)
        groups = _group([(each.key, each.other) for each in findings if each.action is Action.MERGE])
        with indexing.store.snapshot(View((tenant,))) as snapshot:
            after = tuple(with_names(snapshot, _merge([stored[key] for key in group])) for group in groups)
        merged = {key for group in groups for key in group} - {memory.key for memory in after}
        before = tuple(stored[key] for key in stored if key in {*junk, *merged, *(each.key for each in after)})
        if before:
            # Before the change: if the process is killed now, undoing changes nothing.
            (folder / UNDO_FILE).write_bytes(msgspec.json.encode(_Undo(tenant, before, after)))
            put(indexing, [memory_node(memory) for memory in after])
            delete(indexing, [(tenant, key) for key in sorted({*junk, *merged})])
            # Merged ones are not marked: a change of one on another machine must still arrive here.
            note_forgotten(indexing, junk, now, tenant)
    return findings


def undo_audit(indexing: IndexingContext, folder: Path, *, tenant: str = DEFAULT_TENANT) -> tuple[Memory, ...]:
    """Bring back the memories as they were before the last audit that changed some, and return them."""
    file = folder / UNDO_FILE
    try:
        undo = msgspec.json.decode(file.read_bytes(), type=_Undo)
    except (OSError, msgspec.MsgspecError) as error:
        raise InvalidInput(
            f"There is no audit to undo in {folder} ({error}). `weft memories audit --apply` makes one."
        ) from error
    if undo.tenant != tenant:
        raise InvalidInput(f"The last audit was of the tenant {undo.tenant!r}. Give --tenant {undo.tenant}.")
    with indexing.store.writing():
        now = {memory.key: memory for memory in list_memories(indexing, limit=_ALL, tenant=tenant)}
        touched = [memory.key for memory in undo.after if now.get(memory.key) not in (memory, *undo.before)]
        if touched:
            raise InvalidInput(
                f"{', '.join(touched)} was changed or forgotten since the audit, which undoing would overwrite. "
                f"Nothing was changed; the memories as they were are in {file}."
            )
        put(indexing, [memory_node(memory) for memory in undo.before])
        drop_marks(indexing, [memory.key for memory in undo.before], tenant)
        file.unlink()
    return undo.before


def forget_undo(folder: Path, key: str) -> bool:
    """Delete what an audit kept for undoing if it names a memory; return whether it did."""
    file = folder / UNDO_FILE
    if not file.is_file() or key.encode() not in file.read_bytes():
        return False
    file.unlink()
    return True


def _says_nothing(text: str) -> bool:
    """Return whether a text has too few words to say anything, and is no statement of a known form."""
    has_few_words = len(set(analyze(text))) < _MIN_WORDS
    return has_few_words and read_statement(text) is None and read_address(text) is None


def _judge_pairs(memories: Sequence[Memory]) -> Iterator[Finding]:
    """Yield a finding for each memory that repeats, replaces or contradicts an older one."""
    by_trait: dict[str, list[int]] = defaultdict(list)
    for index, memory in enumerate(memories):
        traits = _traits(memory.text)
        shared = Counter(other for trait in traits for other in by_trait[trait][-_MAX_SHARED_BY:])
        # With the most in common first, the later where that is equal.
        near = sorted(shared, key=lambda other: (-shared[other], -other))[:_COMPARED_MEMORIES]
        for other in sorted(near):
            judgement = judge(memory.text, memories[other].text)
            if judgement.verdict is not Verdict.OTHER:
                yield _finding(memory, memories[other], judgement.verdict, judgement.why)
        for trait in traits:
            by_trait[trait].append(index)


def _traits(text: str) -> list[str]:
    """Return the words of a text, all of them as one, and its address: what a text about the same shares."""
    words = sorted(set(analyze(text)))
    address = read_address(text)
    # The last two find what has only words that stand in many memories.
    return [*words, " ".join(words), *([f"at {address.key}"] if address else [])]


def _group(pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return the keys that pairs tie together, directly or through others."""
    groups: dict[str, list[str]] = {}
    for one, other in pairs:
        mine, its = groups.get(one, [one]), groups.get(other, [other])
        joined = mine if mine is its else [*mine, *its]
        groups.update(dict.fromkeys(joined, joined))
    return list({id(group): group for group in groups.values()}.values())


def _merge(memories: Sequence[Memory]) -> Memory:
    """Return the oldest of several memories with the words of the newest, and all others as its history."""
    # In the order of time, whatever pair was found first: a value may have changed and changed back.
    oldest, *later = sorted(memories, key=lambda each: (each.updated, each.key))
    merged = oldest
    for newer in later:
        history = sorted((*merged.history, *newer.history), key=lambda earlier: earlier.until)
        known = replace(merged, history=tuple(history), names=(*merged.names, *newer.names))
        importance = max(known.importance, newer.importance)
        tags = (*known.tags, *newer.tags)
        changed = change_memory(known, newer.updated, text=newer.text, importance=importance, tags=tags)
        merged = replace(changed, updated=newer.updated)
    return merged


def _finding(newer: Memory, older: Memory, verdict: Verdict, why: str) -> Finding:
    if verdict is Verdict.SAME:
        why = f"it says the same as {older.key}"
        return Finding(newer.key, Problem.DUPLICATE, why, Action.MERGE, newer.text, older.key)
    # A newer value takes the place of the older; which of two other statements is true, only a person knows.
    action = Action.MERGE if verdict is Verdict.SUPERSEDES else Action.DECIDE
    return Finding(newer.key, Problem.CONTRADICTORY, f"{why} ({older.key})", action, newer.text, older.key)
