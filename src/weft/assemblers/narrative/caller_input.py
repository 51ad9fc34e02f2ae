"""Read the entities and documents of callers: any objects with the documented attributes.

A caller who knows which chunk defines an entity (`primary_source_chunk_id`) and which entities a chunk mentions
(`mentioned_entity_ids`) decides by these ids in which part of an entity's context a document stands.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Final

from msgspec import Struct

from weft.assemblers.log import log_failure
from weft.model import Candidate, Json, Node, Origin

_DEFAULT_DOCUMENT_KIND: Final = "chunk"
"""The kind of documents that name none."""
_SEQUENCE_NAMES: Final = ("sequence", "narrative_sequence", "sequence_order", "chapter")
"""The attributes under which callers keep a position in the story, in the order in which they are tried."""
_DIGEST_BYTES: Final = 6
"""Length of the digest in a document's key; 48 bits do not collide among the documents of one call."""
_CHUNK_ID: Final = "chunk_id"
"""The field of a document's node that holds the caller's id of it."""
_MENTIONED: Final = "mentioned_entity_ids"
"""The field that holds the ids of the entities that the document mentions, as callers call it too."""
_PRIMARY: Final = "primary_source_chunk_id"
"""The attribute of an entity that names the document that defines it."""
DEFINITION: Final = "definition"
RELATIONSHIPS: Final = "relationships"
CONTEXT: Final = "context"
"""The parts of an entity's context, as the profile names them."""
_UNREADABLE: Final = "smart_context_input_failed"
"""The event that is logged for each argument or attribute that cannot be read."""


class CallerEntity(Struct, frozen=True):
    """An entity that the caller brought: how the store may know it, and its description in case it does not."""

    id: str
    name: str
    kind: str
    description: str
    primary_chunk_id: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names to look the entity up by, in turn; a number comes last, since it may be the caller's own."""
        return tuple(dict.fromkeys(sorted(filter(None, (self.id, self.name)), key=str.isdigit)))

    def to_node(self, tenant: str, text: str) -> Node:
        """Return a node for an entity that the store does not know."""
        return Node(f"entity:{self.id}", self.kind, tenant, title=self.name, text=text)


def part_for(document: Node, entity: CallerEntity) -> str | None:
    """Return the part of an entity's context that a document belongs to by the caller's ids, if to any."""
    if entity.primary_chunk_id and entity.primary_chunk_id in (document.fields.get(_CHUNK_ID), document.key):
        return DEFINITION
    mentioned = document.fields.get(_MENTIONED)
    if not isinstance(mentioned, list | tuple) or entity.id not in map(str, mentioned):
        return None
    # As the design has it: a chunk that mentions others too tells how they are related.
    return RELATIONSHIPS if len(mentioned) > 1 else CONTEXT


def to_list(name: str, value: object) -> list[object]:
    """Return an argument as a list: an iterable as far as it can be read, a single thing alone, None as empty."""
    if value is None:
        return []
    # These can be iterated, but each is one thing.
    if isinstance(value, str | Node | Mapping) or not isinstance(value, Iterable):
        return [value]
    things: list[object] = []
    with log_failure(_UNREADABLE, input=name):
        # Extended in place, so that what was read before a failure is kept.
        things.extend(value)
    return things


def read_entities(things: Sequence[object]) -> tuple[CallerEntity, ...]:
    """Return the entities that have at least a name."""
    return tuple(entity for entity in map(_read_entity, things) if entity.names)


def read_documents(things: Sequence[object], tenant: str, max_sequence: int | None) -> tuple[Candidate, ...]:
    """Return the documents that have content; with `max_sequence`, only those known to be at or before it."""
    read = [_read_document(thing, index, len(things), tenant) for index, thing in enumerate(things)]
    documents = [document for document in read if document is not None]
    # A document without a position might come from later in the story, so it is left out.
    if max_sequence is not None:
        documents = [
            document
            for document in documents
            if document.node.sequence is not None and document.node.sequence <= max_sequence
        ]
    return tuple(documents)


def _read_entity(thing: object) -> CallerEntity:
    """Read a name, a node, or anything with the documented attributes of an entity."""
    if isinstance(thing, str):
        return CallerEntity(thing, thing, "entity", "")
    if isinstance(thing, Node):
        primary = _read_text(thing.fields, _PRIMARY)
        return CallerEntity(thing.key, thing.title or thing.key, thing.kind, thing.summary or thing.text, primary)
    name = _read_text(thing, "name", "title")
    return CallerEntity(
        id=_read_text(thing, "id", "key") or name,
        name=name or _read_text(thing, "id", "key"),
        kind=_read_text(thing, "entity_type", "kind", "type").lower() or "entity",
        description=_read_text(thing, "description", "summary"),
        primary_chunk_id=_read_text(thing, _PRIMARY),
    )


def _read_document(thing: object, index: int, total: int, tenant: str) -> Candidate | None:
    """Read a document as a candidate, or None if it has no content."""
    # Callers bring their best document first. Scores fall evenly from 1.0 towards 0.5: the last counts too.
    score = round(1.0 - index / max(total, 1) / 2, 6)
    if isinstance(thing, Node):
        return Candidate(thing, score=score)
    # A text has attributes of its own, such as `title`, which are none of a document.
    content, facts = (thing, {}) if isinstance(thing, str) else (_read_text(thing, "content", "text"), thing)
    if not content.strip():
        return None
    chunk_id, title = _read_text(facts, "id"), _read_text(facts, "title", "name")
    # Ids of callers may repeat (chunks of one file), so the content is part of the key.
    digest = blake2b(f"{title}\n{content}".encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
    ids: dict[str, Json] = {_CHUNK_ID: chunk_id, _MENTIONED: _read_ids(facts)}
    node = Node(
        key=f"document:{chunk_id}{digest}",
        kind=_read_text(facts, "doc_type", "kind").lower() or _DEFAULT_DOCUMENT_KIND,
        tenant=tenant,
        title=title or "Untitled",
        text=content,
        sequence=_read_sequence(facts),
        fields={name: value for name, value in ids.items() if value},
        origin=Origin(source="caller"),
    )
    return Candidate(node, score=score)


def _read_value(thing: object, name: str) -> object:
    """Return an attribute or item; one that cannot be read, as of a record whose session is closed, is missing."""
    with log_failure(_UNREADABLE, input=name):
        return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
    return None


def _read_text(thing: object, *names: str) -> str:
    """Return the first of the attributes that has text; an enumeration counts by its value."""
    for name in names:
        value = _read_value(thing, name)
        with log_failure(_UNREADABLE, input=name):
            text = str(getattr(value, "value", value))
            if value is not None and text.strip():
                return text
    return ""


def _read_ids(thing: object) -> list[Json]:
    """Return the ids of the entities that a document mentions, each once, as far as they can be read."""
    ids = to_list(_MENTIONED, _read_value(thing, _MENTIONED))
    return list(dict.fromkeys(str(each) for each in ids if each is not None))


def _read_sequence(thing: object) -> int | None:
    for name in _SEQUENCE_NAMES:
        value = _read_value(thing, name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None
