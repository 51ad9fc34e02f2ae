"""Read entities and documents as callers have them: any objects with the documented attributes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Final

from msgspec import Struct

from weft.model import Candidate, Node, Origin

_DEFAULT_DOCUMENT_KIND: Final = "chunk"
_SEQUENCE_NAMES: Final = ("sequence", "narrative_sequence", "sequence_order", "chapter")
_DIGEST_BYTES: Final = 6
"""Length of the digest in a document's key; 48 bits do not collide among the documents of one call."""


class CallerEntity(Struct, frozen=True):
    """An entity that the caller brought: how the store may know it, and its description in case it does not."""

    id: str
    name: str
    kind: str
    description: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names to look the entity up by, in turn; a number comes last, since it may be the caller's own."""
        return tuple(dict.fromkeys(sorted(filter(None, (self.id, self.name)), key=str.isdigit)))

    def to_node(self, tenant: str) -> Node | None:
        """Return a node with the caller's description as its text, or None if there is no description."""
        if not self.description.strip():
            return None
        return Node(f"entity:{self.id}", self.kind, tenant, title=self.name, text=self.description.strip())


def to_list(value: object, on_error: Callable[[Exception], None]) -> list[object]:
    """Return an argument as a list: an iterable as far as it can be read, a single thing alone, None as empty."""
    if value is None:
        return []
    if isinstance(value, str | Node | Mapping) or not isinstance(value, Iterable):
        return [value]
    things: list[object] = []
    try:
        things.extend(value)
    except Exception as error:  # noqa: BLE001  (a cursor of the caller's may fail in any way)
        on_error(error)
    return things


def read_entities(things: Sequence[object]) -> tuple[CallerEntity, ...]:
    """Return the entities that have at least a name."""
    return tuple(entity for entity in map(_read_entity, things) if entity.names)


def read_documents(things: Sequence[object], tenant: str, max_sequence: int | None) -> tuple[Candidate, ...]:
    """Return the documents that have content; with `max_sequence`, only those known to be at or before it."""
    read = [_read_document(thing, index, len(things), tenant) for index, thing in enumerate(things)]
    documents = [document for document in read if document is not None]
    if max_sequence is not None:
        documents = [
            document
            for document in documents
            if document.node.sequence is not None and document.node.sequence <= max_sequence
        ]
    return tuple(documents)


def _read_entity(thing: object) -> CallerEntity:
    """Read a name, a node, or anything with `id`, `name`, `entity_type` and `description`."""
    if isinstance(thing, str):
        return CallerEntity(thing, thing, "entity", "")
    if isinstance(thing, Node):
        return CallerEntity(thing.key, thing.title or thing.key, thing.kind, thing.summary or thing.text)
    name = _read_text(thing, "name", "title")
    return CallerEntity(
        id=_read_text(thing, "id", "key") or name,
        name=name or _read_text(thing, "id", "key"),
        kind=_read_text(thing, "entity_type", "kind", "type").lower() or "entity",
        description=_read_text(thing, "description", "summary"),
    )


def _read_document(thing: object, index: int, total: int, tenant: str) -> Candidate | None:
    """Read a document as a candidate, or None if it has no content."""
    # Callers bring their best document first. Scores fall evenly from 1.0 towards 0.5: the last counts too.
    score = round(1.0 - index / max(total, 1) / 2, 6)
    if isinstance(thing, Node):
        return Candidate(thing, score=score)
    content = thing if isinstance(thing, str) else _read_text(thing, "content", "text")
    if not content.strip():
        return None
    title = "" if isinstance(thing, str) else _read_text(thing, "title", "name")
    digest = blake2b(f"{title}\n{content}".encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
    node = Node(
        key=f"document:{'' if isinstance(thing, str) else _read_text(thing, 'id')}{digest}",
        kind=("" if isinstance(thing, str) else _read_text(thing, "doc_type", "kind")).lower()
        or _DEFAULT_DOCUMENT_KIND,
        tenant=tenant,
        title=title or "Untitled",
        text=content,
        sequence=None if isinstance(thing, str) else _read_sequence(thing),
        origin=Origin(source="caller"),
    )
    return Candidate(node, score=score)


def _read_value(thing: object, name: str) -> object:
    """Return an attribute or item; one that cannot be read, as of a record whose session is closed, is missing."""
    with suppress(Exception):
        return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
    return None


def _read_text(thing: object, *names: str) -> str:
    """Return the first of the attributes that has text; an enumeration counts by its value."""
    for name in names:
        value = _read_value(thing, name)
        with suppress(Exception):
            text = str(getattr(value, "value", value))
            if value is not None and text.strip():
                return text
    return ""


def _read_sequence(thing: object) -> int | None:
    for name in _SEQUENCE_NAMES:
        value = _read_value(thing, name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None
