"""Entities and documents as callers have them: any objects with the documented attributes."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

from weft.frozen import dataclass
from weft.model import Candidate, Node, Origin

DOCUMENT: Final = "chunk"
_SEQUENCE: Final = ("sequence", "narrative_sequence", "sequence_order", "chapter")


@dataclass(frozen=True, slots=True)
class GivenEntity:
    """An entity of the caller: how the store knows it, and what to say when the store does not."""

    id: str
    name: str
    kind: str
    description: str

    def described(self, tenant: str) -> Node | None:
        """A node that says what the caller's description says; None when there is none."""
        if not self.description.strip():
            return None
        return Node(f"entity:{self.id}", self.kind, tenant, title=self.name, text=self.description.strip())


def entity_of(given: object) -> GivenEntity:
    """A caller's entity: a name, a node, or anything with `id`, `name`, `entity_type` and `description`."""
    if isinstance(given, str):
        return GivenEntity(given, given, "entity", "")
    if isinstance(given, Node):
        return GivenEntity(given.key, given.title or given.key, given.kind, given.summary or given.text)
    name = _text(given, "name", "title")
    return GivenEntity(
        id=_text(given, "id", "key") or name,
        name=name or _text(given, "id", "key"),
        kind=_text(given, "entity_type", "kind", "type").lower() or "entity",
        description=_text(given, "description", "summary"),
    )


def document_of(given: object, place: int, of: int, tenant: str) -> Candidate | None:
    """A caller's document as a candidate, the first the best; None when it says nothing."""
    score = round(1.0 - place / max(of, 1) / 2, 6)
    if isinstance(given, Node):
        return Candidate(given, score=score)
    content = given if isinstance(given, str) else _text(given, "content", "text")
    if not content.strip():
        return None
    title = "" if isinstance(given, str) else _text(given, "title", "name")
    digest = blake2b(f"{title}\n{content}".encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    node = Node(
        key=f"document:{'' if isinstance(given, str) else _text(given, 'id')}{digest}",
        kind=("" if isinstance(given, str) else _text(given, "doc_type", "kind")).lower() or DOCUMENT,
        tenant=tenant,
        title=title or "Untitled",
        text=content,
        sequence=None if isinstance(given, str) else _sequence(given),
        origin=Origin(source="caller"),
    )
    return Candidate(node, score=score)


def _value(given: object, name: str) -> object:
    return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)


def _text(given: object, *names: str) -> str:
    """The first of the attributes that says something; an enumeration by its value."""
    for name in names:
        value = _value(given, name)
        value = getattr(value, "value", value)
        if value is not None and str(value).strip():
            return str(value)
    return ""


def _sequence(given: object) -> int | None:
    for name in _SEQUENCE:
        value = _value(given, name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None
