"""Entities and documents as callers have them: any objects with the documented attributes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
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

    @property
    def names(self) -> tuple[str, ...]:
        """What the store may know it by, in turn; a number comes last: it may be the caller's own."""
        return tuple(dict.fromkeys(sorted(filter(None, (self.id, self.name)), key=str.isdigit)))

    def described(self, tenant: str) -> Node | None:
        """A node that says what the caller's description says; None when there is none."""
        if not self.description.strip():
            return None
        return Node(f"entity:{self.id}", self.kind, tenant, title=self.name, text=self.description.strip())


def listed(given: object, failed: Callable[[Exception], None]) -> list[object]:
    """What a caller handed in, as a list: any iterable as far as it goes, one thing by itself, or nothing."""
    if given is None:
        return []
    if isinstance(given, str | Node | Mapping) or not isinstance(given, Iterable):
        return [given]
    things: list[object] = []
    try:
        things.extend(given)
    except Exception as error:  # noqa: BLE001  (a cursor of the caller's may fail in any way)
        failed(error)
    return things


def read_entities(given: Sequence[object]) -> tuple[GivenEntity, ...]:
    """The entities that have a name at least."""
    return tuple(entity for entity in map(entity_of, given) if entity.names)


def read_documents(given: Sequence[object], tenant: str, until: int | None) -> tuple[Candidate, ...]:
    """The documents that say something; up to a point of the story, those that are known to be before it."""
    found = [document_of(each, place, len(given), tenant) for place, each in enumerate(given)]
    kept = [each for each in found if each is not None]
    if until is not None:
        kept = [each for each in kept if each.node.sequence is not None and each.node.sequence <= until]
    return tuple(kept)


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
    """The attribute or field; one that cannot be read, such as a record's whose session is closed, is missing."""
    with suppress(Exception):
        return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)
    return None


def _text(given: object, *names: str) -> str:
    """The first of the attributes that says something; an enumeration by its value."""
    for name in names:
        value = _value(given, name)
        with suppress(Exception):
            text = str(getattr(value, "value", value))
            if value is not None and text.strip():
                return text
    return ""


def _sequence(given: object) -> int | None:
    for name in _SEQUENCE:
        value = _value(given, name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None
