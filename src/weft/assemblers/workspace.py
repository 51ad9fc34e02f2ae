"""Assemble a page of search results from anywhere: the entry point `assemble` for coding assistants.

Results are read into one shape (our own records, mappings, objects or (thing, score) pairs), turned into
candidates, and printed by the same pipeline as any other page.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final

from weft.assemblers.caller_values import first_value
from weft.errors import InvalidInput, UnknownName
from weft.model import Candidate, Context, Detail, Node, Origin, Request
from weft.pipeline.assemble import assemble_with_outcomes
from weft.pipeline.query import Reading
from weft.pipeline.slots import Outcome
from weft.profiles import apply_preset, load_profile
from weft.profiles.types import Profile
from weft.render import FORMATS
from weft.sources.code.languages import find_language as known_language
from weft.store.empty import EmptyIndex, EmptySnapshot
from weft.text import is_code
from weft.tokens import DEFAULT_ENCODING, counter_for

_PROFILE: Final = "workspace"
"""The profile of all pages here."""
_CODE_SECTION: Final = "code"
"""The section of the profile whose kinds are code."""

_ALTERNATIVE_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
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
"""The names that each value of an entity may have in a result, in the order in which they are tried."""
_SCORE_NAMES: Final = ("score", "relevance", "similarity")
"""The names that a score may have, likewise."""

_MAX_SUMMARY_CHARACTERS: Final = 500
"""The length up to which a summary is printed whole or not at all; the design cuts texts at it."""
_OPTION_NAMES: Final[Mapping[str, str]] = {
    "maxTokens": "max_tokens",
    "includeSources": "include_sources",
    "includeCodeContent": "include_code_content",
    "groupByType": "group_by_type",
}
"""The options as the design spells them, with our names."""

_FENCE_LANGUAGES: Final[Mapping[str, str]] = {"tsx": "typescript"}
"""Languages whose fences are marked with the name of another."""


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


@dataclass(frozen=True, slots=True)
class AssemblyOptions:
    """The options of a page; `format` is markdown, xml, plain or json."""

    max_tokens: int = 4000
    format: str = "markdown"
    include_sources: bool = True
    include_code_content: bool = True
    group_by_type: bool = True


@dataclass(frozen=True, slots=True)
class ContextSource:
    """The source of a part of the page; `relevance` is the score that the result came with."""

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
    options: AssemblyOptions | Mapping[str, object] | None = None,
    *,
    question: str = "",
    token_model: str = DEFAULT_ENCODING,
    now: datetime | None = None,
) -> AssembledContext:
    """Return the results as one page of at most `max_tokens`, the best first within each group.

    Results may be `SearchResult`s, candidates of a Weft, mappings, objects or (thing, score) pairs. With the
    question, long contents are shown around what it asks. Options may be a mapping, with the names of
    `AssemblyOptions` or those of the design (`maxTokens`). No results make the empty context of the design.
    """
    options = _read_options(options)
    # Read before the thread starts: objects of the caller may not be safe to read in another one.
    read = tuple(_read_result(result, index) for index, result in enumerate(results))
    request = Request(question=question, max_tokens=options.max_tokens, token_model=token_model)
    return await asyncio.to_thread(_assemble, _by_key(read), options, request, now or datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class WorkspaceAssembler:
    """The assembler of the design, an object with `assemble`, for one tokenizer."""

    token_model: str = DEFAULT_ENCODING

    async def assemble(
        self,
        results: Sequence[object],
        options: AssemblyOptions | Mapping[str, object] | None = None,
        *,
        question: str = "",
        now: datetime | None = None,
    ) -> AssembledContext:
        """Return the results as one page, as the function `assemble` does."""
        return await assemble(results, options, question=question, token_model=self.token_model, now=now)


def _read_options(options: AssemblyOptions | Mapping[str, object] | None) -> AssemblyOptions:
    """Return the options, read from a mapping if they are one; raise InvalidInput for values that mean nothing."""
    names = tuple(each.name for each in fields(AssemblyOptions))
    if options is None:
        return AssemblyOptions()
    if isinstance(options, AssemblyOptions):
        given: dict[str, object] = {name: getattr(options, name) for name in names}
    elif isinstance(options, Mapping):
        given = {_OPTION_NAMES.get(str(name), str(name)): value for name, value in options.items()}
    else:
        raise InvalidInput(
            f"{options!r} are no options. Give AssemblyOptions, or a mapping of {', '.join(names)}."
        )
    for name in given:
        if name not in names:
            raise UnknownName("option", name, names)
    flags = {
        name: _read_flag(name, value) for name, value in given.items() if name not in ("max_tokens", "format")
    }
    return AssemblyOptions(
        max_tokens=_read_budget(given.get("max_tokens", AssemblyOptions().max_tokens)),
        format=str(given.get("format", AssemblyOptions().format)),
        **flags,
    )


def _read_budget(value: object) -> int:
    """Return a number of tokens, which may come as text or as a float without a fraction."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and value == int(value)
    ):
        return int(value)
    raise InvalidInput(f"max_tokens {value!r} is no whole number. Give a number of tokens, as in 4000.")


def _read_flag(name: str, value: object) -> bool:
    """Return a flag, which may come as the text of a boolean."""
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if isinstance(value, bool):
        return value
    raise InvalidInput(f"{name} {value!r} is neither true nor false. Give one of them.")


def _by_key(results: Sequence[SearchResult]) -> Mapping[str, SearchResult]:
    """Return the results, best first, by unique keys: parts of one entity are kept apart, repetitions dropped."""
    by_key: dict[str, SearchResult] = {}
    parts: dict[str, set[Entity]] = {}
    for result in sorted(results, key=lambda result: (-result.score, result.entity_id)):
        # Chunks of one file share its id: different content is another part, the same content a repetition.
        known = parts.setdefault(result.entity_id, set())
        if result.entity not in known:
            known.add(result.entity)
            key = f"{result.entity_id}#{len(known)}" if len(known) > 1 else result.entity_id
            by_key[key] = result
    return by_key


def _assemble(
    results: Mapping[str, SearchResult], options: AssemblyOptions, request: Request, now: datetime
) -> AssembledContext:
    # Checked first: the pipeline would say the same only after all results were prepared.
    if options.format not in FORMATS:
        raise UnknownName("format", options.format, FORMATS)
    if not results:
        return AssembledContext("", (), 0, truncated=False)
    profile = _choose_profile(options)
    candidates = _make_candidates(results, options)
    # There is no store: the nodes of the results are all that the pipeline can look up.
    reading = Reading(EmptySnapshot(tuple(candidate.node for candidate in candidates)), EmptyIndex(), None)
    count, _ = counter_for(request.token_model)
    page_request = Request(
        question=request.question,
        profile=profile.name,
        max_tokens=request.max_tokens,
        format=options.format,
        candidates=candidates,
        token_model=request.token_model,
    )
    context, outcomes = assemble_with_outcomes(page_request, profile, reading, count, now)
    # One value decides both, so that `truncated` and `summary` never disagree.
    summary = _summarise_cuts(context, outcomes)
    return AssembledContext(
        context=context.text,
        sources=tuple(_make_source(results[citation.key]) for citation in context.sources),
        token_count=context.tokens,
        truncated=summary is not None,
        summary=summary,
    )


def _choose_profile(options: AssemblyOptions) -> Profile:
    profile = load_profile(_PROFILE)
    if not options.group_by_type:
        profile = apply_preset(profile, "ungrouped")
    if not options.include_sources:
        profile = apply_preset(profile, "unsourced")
    return profile


def _make_candidates(results: Mapping[str, SearchResult], options: AssemblyOptions) -> tuple[Candidate, ...]:
    """Return the results as candidates, with their scores scaled to 0..1 if they exceed that range."""
    sections = load_profile(_PROFILE).sections
    code_kinds = next(section.kinds for section in sections if section.name == _CODE_SECTION)
    scores = [result.score for result in results.values()]
    # Cosines and reranker logits lie outside 0..1. Scores within it stay as they are.
    low, high = min([0.0, *scores]), max([1.0, *scores])
    candidates = []
    for key, result in results.items():
        has_code_kind = result.entity.type.strip().lower() in code_kinds
        # A language marks code as well as a kind does: results often have only one of them.
        with_content = options.include_code_content or not (has_code_kind or is_code(result.entity.language))
        node = _make_node(result, key, has_code_kind=has_code_kind, with_content=with_content)
        candidates.append(Candidate(node, score=round((result.score - low) / (high - low), 9)))
    return tuple(candidates)


def _make_node(result: SearchResult, key: str, *, has_code_kind: bool, with_content: bool) -> Node:
    entity = result.entity
    # Only of code can the file's name tell the language: a document about a .py file is no Python.
    language = entity.language or (_fence_language(entity.file_path) if has_code_kind else None)
    summary, text = entity.summary or "", (entity.content or "") if with_content else ""
    if len(summary) > _MAX_SUMMARY_CHARACTERS and not (text and language):
        # Texts can be excerpted, summaries cannot: a long one that does not fit would leave only a pointer.
        summary, text, language = "", "\n\n".join(filter(None, (summary, text))), None
    return Node(
        key=key,
        kind=entity.type.strip().lower() or "document",
        title=entity.name,
        summary=summary,
        text=text,
        language=language,
        fields={"signature": entity.signature} if entity.signature and with_content else {},
        origin=Origin("", entity.file_path, entity.start_line, entity.end_line),
    )


def _fence_language(file_path: str | None) -> str | None:
    """Return the language of a file by its suffix; an unknown suffix is a name too, which a fence can carry."""
    known = known_language(file_path or "")
    suffix = PurePosixPath(file_path or "").suffix.removeprefix(".").lower()
    name = known.name if known is not None else suffix
    return _FENCE_LANGUAGES.get(name, name) or None


def _make_source(result: SearchResult) -> ContextSource:
    entity = result.entity
    return ContextSource(
        result.entity_id, entity.name, entity.type, entity.file_path, entity.start_line, result.score
    )


def _summarise_cuts(context: Context, outcomes: Sequence[Outcome]) -> str | None:
    """Say what was shortened or left out for lack of tokens; return None if everything is shown whole."""
    shown = [entry for entry in context.ledger if entry.detail is not Detail.DROPPED]
    reduced = sum(entry.detail is not Detail.WHOLE for entry in shown)
    # The ledger also lists what was dropped for other reasons, such as repeating another result.
    wanting = {
        outcome.candidate.node.key for outcome in outcomes if not outcome.item and outcome.reason.wants_room
    }
    dropped = sum(entry.detail is Detail.DROPPED and entry.key in wanting for entry in context.ledger)
    if not reduced and not dropped:
        return None
    parts = [f"{number} {what}" for number, what in ((reduced, "shortened"), (dropped, "left out")) if number]
    summary = f"{len(shown)} of {len(shown) + dropped} results shown, {' and '.join(parts)}"
    return f"{summary} to fit {context.max_tokens} tokens."


# --- reading results of any shape ---


def _read_result(result: object, index: int) -> SearchResult:
    """Return a result in our shape; raise InvalidInput, which names its index, if it cannot be used."""
    if isinstance(result, SearchResult):
        return _check_result(result, index)
    if isinstance(result, Candidate):
        node = result.node
        entity_id = f"{node.tenant}/{node.key}" if node.tenant != "default" else node.key
        return _check_result(SearchResult(entity_id, _read_node(node), result.score), index)
    # As LangChain returns documents with scores.
    if isinstance(result, tuple) and len(result) == 2:
        inner = _read_result(result[0], index)
        return _check_result(SearchResult(inner.entity_id, inner.entity, _read_score(result[1], index)), index)
    score = first_value(result, *_SCORE_NAMES)
    return _check_result(_read_object(result, 0.0 if score is None else _read_score(score, index)), index)


def _check_result(result: SearchResult, index: int) -> SearchResult:
    if not result.entity_id or not (result.entity.name or result.entity.content):
        raise InvalidInput(
            f"Result {index} names nothing. Give an entity_id and an entity with a name, as in "
            "SearchResult('a1', Entity('load', 'function'), 0.9), or a mapping with those keys."
        )
    if not math.isfinite(result.score):
        raise InvalidInput(
            f"The score {result.score} of {result.entity_id!r} cannot be ranked. Give a finite number."
        )
    return result


def _read_node(node: Node) -> Entity:
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


def _read_object(result: object, score: float) -> SearchResult:
    """Read a mapping or an object, whose entity may be nested in it or spread over its metadata."""
    nested = first_value(result, "entity", "document", "node")
    # The entity itself knows best, then the result around it, then loose metadata.
    holders = [each for each in (nested, result, first_value(result, "metadata")) if each is not None]
    found = {
        name: next((value for holder in holders if (value := first_value(holder, *names)) is not None), None)
        for name, names in _ALTERNATIVE_NAMES.items()
    }
    name, kind = _read_text(found["name"]), _read_text(found["type"])
    file, line = _read_text(found["file_path"]), _read_line(found["start_line"])
    entity = Entity(
        name=name or _read_text(found["entity_id"]) or file,
        type=kind or ("file" if known_language(file) else "document"),
        file_path=file or None,
        start_line=line,
        end_line=_read_line(found["end_line"]),
        summary=_read_text(found["summary"]) or None,
        content=_read_text(found["content"]) or None,
        signature=_read_text(found["signature"]) or None,
        language=_read_text(found["language"]) or None,
    )
    # The id of the result itself comes before that of the nested entity: it is what the caller knows.
    own_id = first_value(result, *_ALTERNATIVE_NAMES["entity_id"])
    entity_id = _read_text(own_id if own_id is not None else found["entity_id"])
    return SearchResult(entity_id or ":".join(filter(None, (file, str(line or ""), name))), entity, score)


def _read_score(value: object, index: int) -> float:
    try:
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            return float(value)
    except (ValueError, OverflowError):
        pass
    raise InvalidInput(f"The score {value!r} of result {index} is not a number. Give a finite number.")


def _read_text(value: object) -> str:
    return "" if value is None else str(value).strip("\n")


def _read_line(value: object) -> int | None:
    """Return a line number, or None for anything that is none."""
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
