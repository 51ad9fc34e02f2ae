"""Search results from anywhere, read into one shape: our own types, mappings, objects, (thing, score) pairs."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final

from weft.errors import InvalidInput, UnknownName
from weft.frozen import dataclass
from weft.model import Candidate, Context, Detail, Node, Origin, Request
from weft.pipeline.assemble import assemble as assemble_page
from weft.pipeline.reading import Desk
from weft.profiles import apply_preset, load_profile
from weft.profiles.types import Profile
from weft.render import FORMATS
from weft.sources.code.languages import language_of as known_language
from weft.store.empty import HandedIndex, HandedSnapshot
from weft.text import is_code
from weft.tokens import DEFAULT_ENCODING, counter_for

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


_CODE: Final = "code"
"""The section whose kinds are code."""


@dataclass(frozen=True, slots=True)
class AssemblyOptions:
    """How the page should look; `format` is markdown, xml, plain or json."""

    max_tokens: int = 4000
    format: str = "markdown"
    include_sources: bool = True
    include_code_content: bool = True
    group_by_type: bool = True


@dataclass(frozen=True, slots=True)
class ContextSource:
    """Where a part of the page comes from; `relevance` is the score that the result was given."""

    entity_id: str
    name: str
    type: str
    file: str | None
    line: int | None
    relevance: float


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """A page within its budget; `summary` says what was shortened or left out to fit it, if anything was."""

    context: str
    sources: tuple[ContextSource, ...]
    token_count: int
    truncated: bool
    summary: str | None = None


async def assemble(
    results: Sequence[object],
    options: AssemblyOptions = AssemblyOptions(),  # noqa: B008  (frozen)
    *,
    question: str = "",
    token_model: str = DEFAULT_ENCODING,
    now: datetime | None = None,
) -> AssembledContext:
    """The results as one page of at most `max_tokens`, the best first within each group.

    Results may be `SearchResult`s, candidates of a Weft, mappings, objects or (thing, score) pairs. With the
    question, long contents are shown around what it asks.
    """
    brought = _brought(read_results(results))
    request = Request(question=question, max_tokens=options.max_tokens, token_model=token_model)
    return await asyncio.to_thread(_assembled, brought, options, request, now or datetime.now(UTC))


def _brought(results: Sequence[SearchResult]) -> Mapping[str, SearchResult]:
    """The results by a key of their own: several parts of one entity stay apart, the same part twice does not."""
    brought: dict[str, SearchResult] = {}
    parts: dict[str, set[Entity]] = {}
    for result in sorted(results, key=lambda each: (-each.score, each.entity_id)):
        known = parts.setdefault(result.entity_id, set())
        if result.entity not in known:
            known.add(result.entity)
            key = f"{result.entity_id}#{len(known)}" if len(known) > 1 else result.entity_id
            brought[key] = result
    return brought


def _assembled(
    brought: Mapping[str, SearchResult], options: AssemblyOptions, request: Request, now: datetime
) -> AssembledContext:
    if options.format not in FORMATS:
        raise UnknownName("format", options.format, FORMATS)
    profile = _profile(options)
    candidates = _candidates(brought, options)
    desk = Desk(HandedSnapshot(tuple(each.node for each in candidates)), HandedIndex(), None)
    count, _ = counter_for(request.token_model)
    asked = Request(
        question=request.question,
        profile=profile.name,
        max_tokens=request.max_tokens,
        format=options.format,
        candidates=candidates,
        token_model=request.token_model,
    )
    context = assemble_page(asked, profile, desk, count, now)
    return AssembledContext(
        context=context.text,
        sources=tuple(_source(brought[each.key]) for each in context.sources),
        token_count=context.tokens,
        truncated=_told(context) is not None,
        summary=_told(context),
    )


def _profile(options: AssemblyOptions) -> Profile:
    profile = load_profile("workspace")
    if not options.group_by_type:
        profile = apply_preset(profile, "ungrouped")
    if not options.include_sources:
        profile = apply_preset(profile, "unsourced")
    return profile


def _candidates(brought: Mapping[str, SearchResult], options: AssemblyOptions) -> tuple[Candidate, ...]:
    """The results as candidates, their scores brought to 0..1 if they are on another scale."""
    kinds = next(each.kinds for each in load_profile("workspace").sections if each.name == _CODE)
    scores = [each.score for each in brought.values()]
    low, high = min([0.0, *scores]), max([1.0, *scores])
    made = []
    for key, result in brought.items():
        code = result.entity.type.strip().lower() in kinds
        shown = options.include_code_content or not (code or is_code(result.entity.language))
        node = node_of(result, key, code=code, with_content=shown)
        made.append(Candidate(node, score=round((result.score - low) / (high - low), 9)))
    return tuple(made)


def _source(result: SearchResult) -> ContextSource:
    entity = result.entity
    return ContextSource(
        result.entity_id, entity.name, entity.type, entity.file_path, entity.start_line, result.score
    )


def _told(context: Context) -> str | None:
    """What was shortened or left out for want of room, or nothing when all was shown."""
    shown = [entry for entry in context.ledger if entry.detail is not Detail.DROPPED]
    reduced = sum(entry.detail is not Detail.WHOLE for entry in shown)
    dropped = sum(entry.reason.startswith("no room") for entry in context.ledger if entry not in shown)
    if not reduced and not dropped:
        return None
    parts = [f"{number} {what}" for number, what in ((reduced, "shortened"), (dropped, "left out")) if number]
    told = f"{len(shown)} of {len(shown) + dropped} results shown, {' and '.join(parts)}"
    return f"{told} to fit {context.max_tokens} tokens."
