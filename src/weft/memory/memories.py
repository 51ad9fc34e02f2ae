"""Describe memories, each one thing worth knowing next time, and turn them into nodes and back."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.memory.vocabulary import CATEGORIES, MEMORY, check_fraction, check_text, check_word
from weft.model import DEFAULT_TENANT, Json, Node, Origin
from weft.text.addresses import chooses, read_address
from weft.text.statements import Form, describe, read_statement

MAX_MEMORY_CHARACTERS: Final = 100_000
"""Characters of one memory: longer ones are documents, which are better indexed than remembered."""
_MAX_TITLE_CHARACTERS: Final = 70
"""Characters of a title, so that a list of memories has one line each."""
_DEFAULT_IMPORTANCE: Final = 0.5
"""The importance of a memory for which none is given: the middle, so that others can be above and below it."""
MAX_KEPT_VERSIONS: Final = 20
"""Earlier texts that a memory keeps; the oldest go first, because all are stored with the memory."""
_STANDING_CATEGORIES: Final = {
    "instruction": Form.INSTRUCTION,
    "preference": Form.PREFERENCE,
    "decision": Form.DECISION,
    "profile": Form.PROFILE,
    "workflow": Form.INSTRUCTION,
}
"""Categories whose memories hold until they are changed, whatever their words, and the form each counts as."""
_MAX_STANDING_CHARACTERS: Final = 600
"""A longer memory is printed where it answers a question, but not on every page."""
_ADVICE: Final = "Index it as a file with `weft index`, and remember only what matters of it."
"""The advice in the error about a text that is too long."""


class Earlier(Struct, frozen=True):
    """An earlier text of a memory, and until when it held."""

    text: str
    until: datetime


class Memory(Struct, frozen=True):
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
    names: tuple[str, ...] = ()
    """The files and symbols it names that the store held when it was stored: if one goes, it is stale."""


def new_memory(
    text: str, category: str | None, importance: float | None, tags: Sequence[str], tenant: str, now: datetime
) -> Memory:
    """Return a memory made now; its key is a digest of its text, its tenant and the time."""
    checked = check_text("memory", text, MAX_MEMORY_CHARACTERS, _ADVICE)
    return Memory(
        # With the time: the same text may be remembered, forgotten and remembered again.
        key=f"{MEMORY}:{short_digest(tenant, checked, now.isoformat())}",
        text=checked,
        category=_read_category(checked) if category is None else check_word("category", category, CATEGORIES),
        importance=check_fraction("An importance of", _DEFAULT_IMPORTANCE if importance is None else importance),
        created=now,
        updated=now,
        tenant=tenant,
        # Sorted, so that the same tags in another order are no change.
        tags=tuple(sorted(set(tags))),
    )


def _read_category(text: str) -> str:
    """Return the category that the words of a memory show: the form of a lasting statement, else a fact."""
    statement = read_statement(text)
    return "fact" if statement is None else statement.form.value


def change_memory(
    memory: Memory,
    now: datetime,
    *,
    text: str | None = None,
    category: str | None = None,
    importance: float | None = None,
    tags: Sequence[str] | None = None,
) -> Memory:
    """Return the memory with the given parts changed; another text keeps the older one as history."""
    new_text = memory.text if text is None else check_text("memory", text, MAX_MEMORY_CHARACTERS, _ADVICE)
    # The text that is kept held until now; a clock that was set back must not end it before it began.
    until = max(now, memory.updated)
    history = memory.history if new_text == memory.text else (*memory.history, Earlier(memory.text, until))
    changed = replace(
        memory,
        text=new_text,
        category=memory.category if category is None else check_word("category", category, CATEGORIES),
        importance=memory.importance if importance is None else check_fraction("An importance of", importance),
        tags=memory.tags if tags is None else tuple(sorted(set(tags))),
        history=history[-MAX_KEPT_VERSIONS:],
    )
    # A change that changes nothing leaves the date alone, and so the order of lists.
    return memory if changed == memory else replace(changed, updated=now)


def merge_memories(
    older: Memory, newer: Memory, category: str | None = None, importance: float | None = None
) -> Memory:
    """Return the older memory with the newer one's text; its importance stays unless given.

    So does its category, unless it was only read from the older words.
    """
    was_read = older.category == _read_category(older.text)
    return change_memory(
        older,
        newer.created,
        text=newer.text,
        category=newer.category if category is None and was_read else category,
        importance=importance,
        tags=(*older.tags, *newer.tags),
    )


def memory_node(memory: Memory) -> Node:
    """Return the node that holds a memory."""
    fields: dict[str, Json] = {
        "category": memory.category,
        "importance": memory.importance,
        "created_at": memory.created.isoformat(),
    }
    fields |= describe(memory.text, _standing_form(memory))
    fields |= _replaced_value(memory)
    if memory.names:
        fields["names"] = list(memory.names)
    if memory.history:
        fields["history"] = [
            {"text": earlier.text, "until": earlier.until.isoformat()} for earlier in memory.history
        ]
    return Node(
        key=memory.key,
        kind=MEMORY,
        tenant=memory.tenant,
        title=make_title(memory.text),
        text=memory.text,
        fields=fields,
        tags=memory.tags,
        origin=Origin(MEMORY),
        created=memory.created,
        modified=memory.updated,
        importance=memory.importance,
    )


def _standing_form(memory: Memory) -> Form | None:
    """Return the form of a memory that is a standing rule, by its words or its category; None for others."""
    if len(memory.text) > _MAX_STANDING_CHARACTERS:
        return None
    statement = read_statement(memory.text)
    return _STANDING_CATEGORIES.get(memory.category) if statement is None else statement.form


def _replaced_value(memory: Memory) -> dict[str, Json]:
    """Return the value that the memory had before for the same thing, and until when; empty if it had none."""
    address = read_address(memory.text)
    # The last one that differs: a memory may have been worded anew since.
    for earlier in reversed(memory.history if address is not None else ()):
        before = read_address(earlier.text)
        if address and before and before.key == address.key and not before.gives_same_value(address):
            return {"was": before.value, "until": f"{earlier.until:%Y-%m-%d}"}
        if address and before is None and chooses(earlier.text, address.instead):
            return {"was": address.instead, "until": f"{earlier.until:%Y-%m-%d}"}
    return {}


def memory_from_node(node: Node) -> Memory:
    """Return the memory that a node holds; what another tool left out has its default."""
    # Nodes of this kind may be written by hand or by other tools.
    created = node.created or node.modified or datetime.fromtimestamp(0, UTC)
    return Memory(
        key=node.key,
        text=node.text,
        category=str(node.fields.get("category", "fact")),
        importance=read_number(node.fields.get("importance"), node.importance),
        created=created,
        updated=node.modified or created,
        tenant=node.tenant,
        tags=node.tags,
        history=tuple(
            Earlier(str(earlier.get("text", "")), datetime.fromisoformat(str(earlier["until"])))
            for earlier in read_mappings(node.fields.get("history"))
        ),
        names=read_names(node),
    )


def read_names(node: Node) -> tuple[str, ...]:
    """Return the files and symbols that a node named when they were in the store."""
    names = node.fields.get("names")
    return tuple(str(name) for name in names) if isinstance(names, list | tuple) else ()


def read_mappings(value: Json) -> list[Mapping[str, Json]]:
    """Return the mappings in a field that should be a list of them."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []


def read_number(value: Json, default: float) -> float:
    """Return a field that should be a number, or the default if it is none."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default


def make_title(text: str) -> str:
    """Return the first line of a text, cut at a word to the length of a title."""
    # Only the first line: a title is one line in every list.
    line = " ".join(text.strip().split("\n", 1)[0].split())
    return line if len(line) <= _MAX_TITLE_CHARACTERS else f"{line[:_MAX_TITLE_CHARACTERS].rsplit(' ', 1)[0]}…"


def short_digest(*parts: str) -> str:
    """Return twelve hexadecimal digits that identify some texts: short enough to type."""
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return blake2b(joined, digest_size=6).hexdigest()
