"""Search results from anywhere become one page with sources: `await assemble(results, options)`."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from weft.assemble import assemble as assemble_page
from weft.errors import UnknownName
from weft.facades.results import Entity, SearchResult, node_of, read_results
from weft.frozen import dataclass
from weft.gather import Desk
from weft.loading import apply_preset, load_profile
from weft.model import Candidate, Context, Detail, Request
from weft.profile import Profile
from weft.render import FORMATS
from weft.store.handed import HandedIndex, HandedSnapshot
from weft.text import is_code
from weft.tokens import DEFAULT_ENCODING, counter_for

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
