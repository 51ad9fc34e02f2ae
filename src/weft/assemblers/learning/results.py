"""Convert between searchers and callers: read results of any shape as candidates, and define what callers get."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from weft.assemblers.caller_values import first_value
from weft.assemblers.log import open_log
from weft.model import Candidate, Json, Node, Origin

MEMORY, CODE, EXPERIENCE, VALUE, COMMIT = "memory", "code", "experience", "value", "commit"
"""The sources of items, as the design names them."""

METADATA: Final[Mapping[str, tuple[str, ...]]] = {
    MEMORY: ("id", "category", "importance", "created_at"),
    CODE: ("file_path", "start_line", "end_line", "language", "qualified_name"),
    EXPERIENCE: ("id", "domain", "strategy", "outcome_status", "confidence_tier", "iteration_count"),
    VALUE: ("id", "axis", "cluster_id", "cluster_size", "similarity_to_centroid"),
    COMMIT: ("sha", "author", "timestamp", "files_changed", "insertions", "deletions"),
}
"""The facts that each source's items carry beside their content, as the design documents them."""

_SCORE_NAMES: Final = ("score", "relevance", "similarity")
"""The names under which searchers return a score, in the order in which they are tried."""
_TIME_NAMES: Final = ("created_at", "timestamp", "committed_at", "created", "resolved_at")
"""The names under which searchers return when a thing was made, likewise."""
_EXPERIENCE_TEXTS: Final = ("goal", "hypothesis", "action", "prediction", "outcome_result", "surprise")
"""The parts of an experience that make up its text, in the order in which they happened."""

_VALUE_ALIASES: Final = (
    ("cluster_size", "member_count", "size", "members_count"),
    ("similarity_to_centroid", "centroid_similarity", "similarity"),
)
"""Facts about values with the other names that searchers give them."""
_DEFAULT_IMPORTANCE: Final = 0.5
"""The importance of a memory that names none: the middle of the range, so that it neither leads nor trails."""
_MAX_TIMESTAMP_SECONDS: Final = 1e11
"""Larger numbers (from the year 5138 on) are not seconds but milliseconds or no time at all."""
_DIGEST_BYTES: Final = 6
"""Length of the keys of results without an id; 48 bits do not collide among the few results of a page."""


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One item of context: its source, its printed content, its relevance (0..1) and the facts about it."""

    source: str
    content: str
    relevance: float
    metadata: dict[str, Any]

    def __hash__(self) -> int:
        """Hash what is printed: the facts are a dictionary, and equal items have equal contents."""
        return hash((self.source, self.content, self.relevance))


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


class Answer(Struct, frozen=True):
    """The results of a search, or what went wrong."""

    name: str
    results: tuple[object, ...] = ()
    failure: str = ""


def warn(event: str, **facts: object) -> None:
    """Log a failure for which the caller gets a partial result."""
    open_log("weft").warning(event, **facts)


def read_candidates(source: str, results: Iterable[object], probe: str) -> tuple[Candidate, ...]:
    """Return the results of one search as candidates of a probe; empty and unrankable results are left out."""
    candidates = (_read_candidate(source, result, probe) for result in results)
    return tuple(candidate for candidate in candidates if candidate is not None)


def _read_candidate(source: str, result: object, probe: str) -> Candidate | None:
    if isinstance(result, Candidate):
        # Candidates straight from a search have their score in `parts` only.
        score = result.score or result.parts.get("relevance", 0.0)
        return replace(result, node=_with_file_path(source, result.node), probe=probe, score=score)
    score = _read_number(first_value(result, *_SCORE_NAMES), 0.0)
    node = _READERS[source](result)
    # NaN would make the order of the page depend on the order of comparisons.
    if not math.isfinite(score) or not (node.text.strip() or node.title.strip() or any(node.fields.values())):
        return None
    return Candidate(node, score=min(max(score, 0.0), 1.0), probe=probe)


def _with_file_path(source: str, node: Node) -> Node:
    """Add the file of stored code to its fields, by which code and commits are compared for repetition."""
    if source != CODE or node.origin.file is None or "file_path" in node.fields:
        return node
    return replace(node, fields={**node.fields, "file_path": node.origin.file})


def read_metadata(source: str, node: Node) -> dict[str, Any]:
    """Return the documented facts about an item of a source."""
    known: dict[str, Any] = {
        **node.fields,
        # Stored nodes have ids under the names of their source; results of other searchers as they came.
        "id": node.fields.get("id") or node.fields.get("experience_id") or node.key,
        "file_path": node.fields.get("file_path") or node.origin.file,
        "start_line": node.origin.first_line,
        "end_line": node.origin.last_line,
        "language": node.language,
        "qualified_name": node.fields.get("qualified_name") or node.title,
        "sha": node.fields.get("sha") or node.origin.commit,
    }
    return {name: known.get(name) for name in METADATA[source]}


# --- one reader per source ---


def _read_memory(result: object) -> Node:
    text = _read_text(result, "content", "text")
    importance = _read_number(first_value(result, "importance"), _DEFAULT_IMPORTANCE)
    fields = _read_fields(result, "category", "created_at")
    return _make_node(MEMORY, result, text, {**fields, "importance": importance}, importance=importance)


def _read_code(result: object) -> Node:
    file = _read_text(result, "file_path", "file")
    first_line = first_value(result, "start_line", "line_start", "first_line", "line")
    last_line = first_value(result, "end_line", "line_end", "last_line")
    fields = _read_fields(result, "signature", "file_path", "qualified_name")
    node = _make_node(CODE, result, _read_text(result, "content", "code", "text"), fields)
    name = _read_text(result, "qualified_name", "name")
    # Code without an id is identified by where it stands: two functions may have the same text.
    identity = first_value(result, "id") or f"{file}:{first_line}:{name}"
    return replace(
        node,
        key=f"{CODE}:{identity}",
        kind=_read_text(result, "unit_type", "kind") or CODE,
        title=_read_text(result, "name", "qualified_name"),
        summary=_read_text(result, "docstring", "summary"),
        language=_read_text(result, "language") or None,
        origin=Origin(CODE, file or None, _read_line(first_line), _read_line(last_line)),
    )


def _read_experience(result: object) -> Node:
    facts = ("axis", "domain", "strategy", "outcome_status", "confidence_tier", "iteration_count")
    fields = _read_fields(result, *facts, *_EXPERIENCE_TEXTS)
    # Lessons and root causes come as records or as plain words; words take the place of the part that is printed.
    for name, parts, main_part in (
        ("lesson", ("what_worked", "takeaway"), "what_worked"),
        ("root_cause", ("category", "description"), "description"),
    ):
        inner = first_value(result, name)
        if isinstance(inner, str):
            fields[name] = {main_part: inner}
        elif inner is not None:
            values = {part: first_value(inner, part) for part in parts}
            fields[name] = {part: _to_json(value) for part, value in values.items() if value is not None}
    text = "\n".join(str(fields[name]) for name in _EXPERIENCE_TEXTS if fields.get(name))
    identity = first_value(result, "experience_id", "ghap_id", "id")
    if identity is not None:
        fields["experience_id"] = str(identity)
    return _make_node(EXPERIENCE, result, text, fields)


def _read_value(result: object) -> Node:
    fields = _read_fields(result, "axis", "cluster_id")
    for name, *others in _VALUE_ALIASES:
        fields[name] = _to_json(first_value(result, name, *others))
    # A value may carry the id of its experience as its own: then the two are one thing as well.
    ids = [first_value(result, name) for name in ("experience_id", "ghap_id", "exemplar", "id")]
    fields["exemplar"] = list(dict.fromkeys(str(_to_json(each)) for each in ids if each is not None))
    return _make_node(VALUE, result, _read_text(result, "text", "content"), fields)


def _read_commit(result: object) -> Node:
    fields = _read_fields(result, "sha", "author", "files_changed", "insertions", "deletions")
    fields["timestamp"] = _to_json(first_value(result, "timestamp", "committed_at"))
    return _make_node(COMMIT, result, _read_text(result, "message", "content", "text"), fields)


_READERS: Final[Mapping[str, Callable[[object], Node]]] = {
    MEMORY: _read_memory,
    CODE: _read_code,
    EXPERIENCE: _read_experience,
    VALUE: _read_value,
    COMMIT: _read_commit,
}
"""The reader of each source."""


def _make_node(source: str, result: object, text: str, fields: dict[str, Json], importance: float = 0.0) -> Node:
    identity = first_value(result, "id", "sha", "experience_id", "ghap_id")
    known = {name: value for name, value in fields.items() if value is not None}
    if identity is not None:
        known["id"] = str(identity)
    return Node(
        # The same text without an id is the same result, wherever it was found.
        key=f"{source}:{_digest(text) if identity is None else str(identity)}",
        kind=source,
        text=text,
        fields=known,
        origin=Origin(source),
        modified=_read_time(result),
        importance=importance,
    )


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()


# --- reading single values ---


def _read_fields(result: object, *names: str) -> dict[str, Json]:
    return {name: _to_json(first_value(result, name)) for name in names}


def _to_json(value: Any) -> Json:
    """Convert a value to what JSON has; times and all other types become text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        # JSON has neither infinity nor NaN.
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): _to_json(part) for name, part in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes):
        # Sets have no order of their own, and the same input must give the same page.
        return [_to_json(part) for part in (value if isinstance(value, Sequence) else sorted(value, key=str))]
    return value.isoformat() if isinstance(value, datetime) else str(getattr(value, "value", value))


def _read_text(result: object, *names: str) -> str:
    value = first_value(result, *names)
    return "" if value is None else str(_to_json(value))


def _read_number(value: Any, default: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return float(value)


def _read_line(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _read_time(result: object) -> datetime | None:
    """Return when a result was made, in UTC if it names no zone, or None if no value can be read as a time."""
    for name in _TIME_NAMES:
        value = first_value(result, name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            # Guessing at milliseconds could date a memory wrongly; no time at all is safe.
            return datetime.fromtimestamp(value, UTC) if 0 <= value < _MAX_TIMESTAMP_SECONDS else None
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                continue
        if isinstance(value, datetime):
            return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return None
