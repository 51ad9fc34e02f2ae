"""Search results from anywhere, read into one shape: our own types, mappings, objects, (thing, score) pairs."""

import math
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from weft.errors import InvalidInput
from weft.frozen import dataclass
from weft.model import Candidate, Node, Origin
from weft.sources.code.languages import language_of as known_language

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "entity_id": ("entity_id", "entityId", "id", "key", "_id"),
    "name": ("name", "title"),
    "type": ("type", "kind", "entity_type", "entityType"),
    "file_path": ("file_path", "filePath", "file", "path", "source"),
    "start_line": ("start_line", "startLine", "line"),
    "end_line": ("end_line", "endLine", "last_line"),
    "summary": ("summary", "description"),
    "content": ("content", "text", "body", "page_content"),
    "signature": ("signature",),
    "language": ("language",),
}
"""What each thing that is known of an entity may be called."""

_FENCED: Final[Mapping[str, str]] = {"tsx": "typescript"}
"""Languages whose code is marked as that of another."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One thing that a search found."""

    name: str
    type: str = "document"
    file_path: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    summary: str | None = None
    content: str | None = None
    signature: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """An entity with its score, higher being better, on whatever scale the search uses."""

    entity_id: str
    entity: Entity
    score: float = 0.0


def read_results(given: Sequence[object]) -> tuple[SearchResult, ...]:
    """The results in one shape, in the order given; one that names nothing is refused."""
    return tuple(_result(each, place) for place, each in enumerate(given))


def _result(given: object, place: int) -> SearchResult:
    if isinstance(given, SearchResult):
        return _checked(given, place)
    if isinstance(given, Candidate):
        node = given.node
        entity_id = f"{node.tenant}/{node.key}" if node.tenant != "default" else node.key
        return _checked(SearchResult(entity_id, _entity_of(node), given.score), place)
    if isinstance(given, tuple) and len(given) == 2:
        inner = _result(given[0], place)
        return _checked(SearchResult(inner.entity_id, inner.entity, _number(given[1], place)), place)
    score = _first(given, ("score", "relevance", "similarity"))
    return _checked(_read(given, 0.0 if score is None else _number(score, place)), place)


def _read(given: object, score: float) -> SearchResult:
    """A mapping or an object, whose entity may stand inside it or beside its metadata."""
    inner = _first(given, ("entity", "document", "node"))
    places = [each for each in (inner, given, _first(given, ("metadata",))) if each is not None]
    found = {
        name: next((value for each in places if (value := _first(each, names)) is not None), None)
        for name, names in _NAMES.items()
    }
    name, kind = _text(found["name"]), _text(found["type"])
    file, line = _text(found["file_path"]), _line(found["start_line"])
    entity = Entity(
        name=name or _text(found["entity_id"]) or file,
        type=kind or ("file" if known_language(file) else "document"),
        file_path=file or None,
        start_line=line,
        end_line=_line(found["end_line"]),
        summary=_text(found["summary"]) or None,
        content=_text(found["content"]) or None,
        signature=_text(found["signature"]) or None,
        language=_text(found["language"]) or None,
    )
    outer = _first(given, _NAMES["entity_id"])
    entity_id = _text(outer if outer is not None else found["entity_id"])
    return SearchResult(entity_id or ":".join(filter(None, (file, str(line or ""), name))), entity, score)


def _first(given: object, names: Sequence[str]) -> object:
    for name in names:
        value = given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)
        if value is not None and not callable(value):
            return value
    return None


def _checked(result: SearchResult, place: int) -> SearchResult:
    if not result.entity_id or not (result.entity.name or result.entity.content):
        raise InvalidInput(
            f"Result {place} names nothing. Give an entity_id and an entity with a name, as in "
            "SearchResult('a1', Entity('load', 'function'), 0.9), or a mapping with those keys."
        )
    if not math.isfinite(result.score):
        raise InvalidInput(
            f"The score {result.score} of {result.entity_id!r} cannot be ranked. Give a finite number."
        )
    return result


def _number(value: object, place: int) -> float:
    try:
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            return float(value)
    except (ValueError, OverflowError):
        pass
    raise InvalidInput(f"The score {value!r} of result {place} is not a number. Give a finite number.")


def _text(value: object) -> str:
    return "" if value is None else str(value).strip("\n")


def _line(value: object) -> int | None:
    """A line number; anything else is no line."""
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _entity_of(node: Node) -> Entity:
    signature = node.fields.get("signature")
    return Entity(
        name=node.title or node.key,
        type=node.kind,
        file_path=node.origin.file,
        start_line=node.origin.first_line,
        end_line=node.origin.last_line,
        summary=node.summary or None,
        content=node.text or None,
        signature=signature if isinstance(signature, str) else None,
        language=node.language,
    )


def node_of(result: SearchResult, key: str, *, code: bool, with_content: bool) -> Node:
    """The node that stands for a result on the page; `code` says that its content is in its file's language."""
    entity = result.entity
    return Node(
        key=key,
        kind=entity.type.strip().lower() or "document",
        title=entity.name,
        summary=entity.summary or "",
        text=(entity.content or "") if with_content else "",
        language=entity.language or (language_of(entity.file_path) if code else None),
        fields={"signature": entity.signature} if entity.signature and with_content else {},
        origin=Origin("", entity.file_path, entity.start_line, entity.end_line),
    )


def language_of(file_path: str | None) -> str | None:
    """The language of a file by how its name ends."""
    known = known_language(file_path or "")
    suffix = PurePosixPath(file_path or "").suffix.removeprefix(".").lower()
    name = known.name if known is not None else suffix
    return _FENCED.get(name, name) or None
