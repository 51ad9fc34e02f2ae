"""What callers of the learning memory get."""

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

from weft.frozen import dataclass
from weft.model import Candidate, Json, Node, Origin
from weft.scoring.candidates import told


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One piece of context: what it is, how it is printed, how relevant it is (0..1), and the facts about it."""

    source: str
    content: str
    relevance: float
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FormattedContext:
    """A page within its budget, and its items by relevance; `notes` name the sources that are missing."""

    markdown: str = ""
    items: list[ContextItem] = field(default_factory=list)
    token_count: int = 0
    sources_used: dict[str, int] = field(default_factory=dict)
    budget_exceeded: bool = False
    """Always False: the budget is hard."""
    notes: tuple[str, ...] = ()


_NAME: Final = "weft"


def warn(event: str, **facts: object) -> None:
    """Log that something went wrong that the caller gets a partial result for."""
    try:
        import structlog
    except ModuleNotFoundError:
        told = " ".join(f"{name}={value!r}" for name, value in facts.items())
        logging.getLogger(_NAME).warning("%s %s", event, told)
    else:
        structlog.get_logger(_NAME).warning(event, **facts)


MEMORY, CODE, EXPERIENCE, VALUE, COMMIT = "memory", "code", "experience", "value", "commit"

METADATA: Final[Mapping[str, tuple[str, ...]]] = {
    MEMORY: ("id", "category", "importance", "created_at"),
    CODE: ("file_path", "start_line", "end_line", "language", "qualified_name"),
    EXPERIENCE: ("id", "domain", "strategy", "outcome_status", "confidence_tier", "iteration_count"),
    VALUE: ("id", "axis", "cluster_id", "cluster_size", "similarity_to_centroid"),
    COMMIT: ("sha", "author", "timestamp", "files_changed", "insertions", "deletions"),
}
"""What is told about an item of each source, beside its content."""

_SCORES: Final = ("score", "relevance", "similarity")
_TIMES: Final = ("created_at", "timestamp", "committed_at", "created", "resolved_at")
_GOAL: Final = ("goal", "hypothesis", "action", "prediction", "outcome_result", "surprise")


def candidates_of(source: str, found: Iterable[object], probe: str) -> tuple[Candidate, ...]:
    """The results of one search as candidates of a probe, without those that say nothing or cannot be ranked."""
    read = (_candidate(source, each, probe) for each in found)
    return tuple(each for each in read if each is not None)


def _candidate(source: str, given: object, probe: str) -> Candidate | None:
    if isinstance(given, Candidate):
        score = given.score or given.parts.get("relevance", 0.0)
        return told(given, given.parts, node=_identified(source, given.node), probe=probe, score=score)
    score = _number(value(given, *_SCORES), 0.0)
    node = _READERS[source](given)
    if not math.isfinite(score) or not (node.text.strip() or node.title.strip() or any(node.fields.values())):
        return None
    return Candidate(node, score=min(max(score, 0.0), 1.0), probe=probe)


def _identified(source: str, node: Node) -> Node:
    """A stored node with the file it is part of among its fields, by which code and commits are compared."""
    if source != CODE or node.origin.file is None or "file_path" in node.fields:
        return node
    return replace(node, fields={**node.fields, "file_path": node.origin.file})


def value(given: object, *names: str) -> Any:
    """The first of some names that a mapping or an object has a value for."""
    for name in names:
        found = given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)
        if found is not None and not callable(found):
            return found
    return None


def metadata_of(source: str, node: Node) -> dict[str, Any]:
    """The documented facts about an item of a source."""
    known: dict[str, Any] = {
        **node.fields,
        "id": node.fields.get("id") or node.fields.get("experience_id") or node.key,
        "file_path": node.fields.get("file_path") or node.origin.file,
        "start_line": node.origin.first_line,
        "end_line": node.origin.last_line,
        "language": node.language,
        "qualified_name": node.fields.get("qualified_name") or node.title,
        "sha": node.fields.get("sha") or node.origin.commit,
    }
    return {name: known.get(name) for name in METADATA[source]}


def _memory(given: object) -> Node:
    text = _text(given, "content", "text")
    importance = _number(value(given, "importance"), 0.5)
    fields = _fields(given, "category", "created_at")
    return _node(MEMORY, given, text, {**fields, "importance": importance}, importance=importance)


def _code(given: object) -> Node:
    file, first, last = _text(given, "file_path", "file"), value(given, "start_line"), value(given, "end_line")
    fields = _fields(given, "signature", "file_path", "qualified_name")
    node = _node(CODE, given, _text(given, "content", "code", "text"), fields)
    identity = value(given, "id") or f"{file}:{first}:{_text(given, 'qualified_name', 'name')}"
    return replace(
        node,
        key=f"{CODE}:{identity}",
        kind=_text(given, "unit_type", "kind") or CODE,
        title=_text(given, "name", "qualified_name"),
        summary=_text(given, "docstring", "summary"),
        language=_text(given, "language") or None,
        origin=Origin(CODE, file or None, _line(first), _line(last)),
    )


def _experience(given: object) -> Node:
    facts = ("axis", "domain", "strategy", "outcome_status", "confidence_tier", "iteration_count")
    fields = _fields(given, *facts, *_GOAL)
    for name, parts in (("lesson", ("what_worked", "takeaway")), ("root_cause", ("category", "description"))):
        inner = value(given, name)
        if isinstance(inner, str):
            fields[name] = {parts[-1] if name == "root_cause" else parts[0]: inner}
        elif inner is not None:
            fields[name] = {part: _plain(value(inner, part)) for part in parts if value(inner, part) is not None}
    told = "\n".join(str(fields[name]) for name in _GOAL if fields.get(name))
    identity = value(given, "experience_id", "ghap_id", "id")
    if identity is not None:
        fields["experience_id"] = str(identity)
    return _node(EXPERIENCE, given, told, fields)


def _value(given: object) -> Node:
    fields = _fields(given, "axis", "cluster_id", "cluster_size", "similarity_to_centroid")
    identity = value(given, "experience_id", "ghap_id", "exemplar")
    return _node(VALUE, given, _text(given, "text", "content"), {**fields, "exemplar": _plain(identity)})


def _commit(given: object) -> Node:
    fields = _fields(given, "sha", "author", "files_changed", "insertions", "deletions")
    fields["timestamp"] = _plain(value(given, "timestamp", "committed_at"))
    return _node(COMMIT, given, _text(given, "message", "content", "text"), fields)


_READERS: Final[Mapping[str, Callable[[object], Node]]] = {
    MEMORY: _memory,
    CODE: _code,
    EXPERIENCE: _experience,
    VALUE: _value,
    COMMIT: _commit,
}


def _node(source: str, given: object, text: str, fields: dict[str, Json], importance: float = 0.0) -> Node:
    identity = value(given, "id", "sha", "experience_id", "ghap_id")
    told = text if identity is None else str(identity)
    known = {name: each for name, each in fields.items() if each is not None}
    if identity is not None:
        known["id"] = str(identity)
    return Node(
        key=f"{source}:{told if identity is not None else _digest(told)}",
        kind=source,
        text=text,
        fields=known,
        origin=Origin(source),
        modified=_moment(given),
        importance=importance,
    )


def _fields(given: object, *names: str) -> dict[str, Json]:
    return {name: _plain(value(given, name)) for name in names}


def _plain(given: Any) -> Json:
    """A value as JSON has it; times and whatever else become words."""
    if given is None or isinstance(given, bool | int | str):
        return given
    if isinstance(given, float):
        return given if math.isfinite(given) else None
    if isinstance(given, Mapping):
        return {str(name): _plain(part) for name, part in given.items()}
    if isinstance(given, Sequence | set | frozenset) and not isinstance(given, bytes):
        return [_plain(part) for part in (given if isinstance(given, Sequence) else sorted(given, key=str))]
    return given.isoformat() if isinstance(given, datetime) else str(getattr(given, "value", given))


def _text(given: object, *names: str) -> str:
    found = value(given, *names)
    return "" if found is None else str(_plain(found))


def _number(given: Any, otherwise: float) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return otherwise
    return float(given)


def _line(given: Any) -> int | None:
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def _moment(given: object) -> datetime | None:
    """When a result was made, in UTC where it names no zone; what cannot be read as a time is none."""
    for name in _TIMES:
        found = value(given, name)
        if isinstance(found, int | float) and not isinstance(found, bool):
            return datetime.fromtimestamp(found, UTC) if 0 <= found < 1e11 else None
        if isinstance(found, str):
            try:
                found = datetime.fromisoformat(found)
            except ValueError:
                continue
        if isinstance(found, datetime):
            return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return None


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
