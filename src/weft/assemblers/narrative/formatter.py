"""Provide the documented entry point `format_context`, which never raises, and the cache of its pages.

A call is read, looked up in the cache, and else built by `PageBuilder` from each entity's context, or its
description, and the documents. Whatever fails on the way is logged (`log_failure`) and left out.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from uuid import UUID

from msgspec.structs import replace

from weft.assemblers.log import log_failure, log_narrative
from weft.assemblers.narrative.caller_input import CallerEntity, read_documents, read_entities, to_list
from weft.assemblers.narrative.entity_context import (
    EntityContext,
    EntityContextBuilder,
    PriorityStrategy,
    UsageBasedPriority,
    default_store,
)
from weft.assemblers.narrative.narrative_request import (
    MAX_ENTITIES,
    MAX_TOTAL_TOKENS,
    NarrativeRequest,
    NoStore,
    ReadableStore,
    read_whole_number,
)
from weft.assemblers.narrative.summarizer import Summarize, compress_document
from weft.errors import InvalidInput, UnknownName
from weft.model import Candidate, Context, Node
from weft.profiles.types import AUTO
from weft.tokens import DEFAULT_ENCODING, counter_for

if TYPE_CHECKING:
    from weft.api import Weft


CACHE_SECONDS: Final = 300.0
"""The age up to which a page may be given again, as the design fixes it, unless the store has changed."""
_MAX_CACHED_PAGES: Final = 256
"""Pages that are kept, about 10 MB of text at the default budget."""
_MAX_LOGGED_QUERY_CHARACTERS: Final = 200
"""The part of a query that a log line shows: enough to recognise it, and not a pasted chapter."""
_MAX_LOGGED_VALUE_CHARACTERS: Final = 40
"""The part of an argument that an error shows."""

Answer = TypeVar("Answer")
BuiltEntity = tuple[CallerEntity, EntityContext | Node]
"""An entity with its context, or with a node that holds the caller's description."""


class _UnreadableSequence(InvalidInput):
    """A point of the story that is no number."""


class TimedCache:
    """A cache of texts by call and by the state of the store; the oldest is removed if there are too many.

    With `seconds` of 0, nothing is kept.
    """

    def __init__(self, seconds: float = CACHE_SECONDS, clock: Callable[[], float] = monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._entries: OrderedDict[Hashable, tuple[float, Hashable, str]] = OrderedDict()

    def get(self, key: Hashable, state: Hashable) -> str | None:
        """Return the text for a call, if it was made of the same state and is not too old."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        made_at, made_of, text = entry
        # Deleted at once: an entry that is stale now will not become valid again.
        if made_of != state or self._clock() - made_at >= self._seconds:
            del self._entries[key]
            return None
        return text

    def put(self, key: Hashable, state: Hashable, text: str) -> None:
        """Keep a text."""
        if self._seconds <= 0:
            return
        # Removed first, so that the new entry is last in the order in which entries are dropped.
        self._entries.pop(key, None)
        self._entries[key] = (self._clock(), state, text)
        if len(self._entries) > _MAX_CACHED_PAGES:
            self._entries.popitem(last=False)


class SmartContextFormatter:
    """A formatter of what is known of a story for a query. It never raises: what fails is logged and left out.

    `session` is the store (a `Weft`) to read from; without one, the store that commands in this folder read.
    """

    def __init__(
        self,
        session: "Weft | None" = None,
        *,
        priority_strategy: PriorityStrategy | None = None,
        cache: TimedCache | None = None,
        summarize: Summarize | None = None,
    ) -> None:
        self._session = session
        self._strategy = priority_strategy or UsageBasedPriority()
        self._cache = cache or TimedCache()
        self._summarize = summarize

    async def format_context(  # noqa: PLR0917  (as documented)
        self,
        query: str,
        vault_id: UUID | str,
        documents: Iterable[Any] | None = None,
        entities: Iterable[Any] | None = None,
        max_total_tokens: int = MAX_TOTAL_TOKENS,
        max_entities: int = MAX_ENTITIES,
        session: "Weft | None" = None,
        *,
        max_sequence: int | None = None,
        temporal_mode: str = "sequence",
        preset: str | None = None,
        adaptive: bool = False,
        importance_scoring: bool = False,
    ) -> str:
        """Return the page for a query: entities first, then documents, within `max_total_tokens`.

        Without entities and documents, both are found in the vault. A preset's numbers take the place of
        `max_total_tokens` and `max_entities` if these are not passed; `adaptive` chooses the preset by the query.
        """
        began, text = perf_counter(), ""
        # Read once, before anything else: a generator of the caller cannot be read twice.
        lists = {"entities": to_list("entities", entities), "documents": to_list("documents", documents)}
        counts = {name: len(things) for name, things in lists.items()}
        with log_failure("smart_context_formatting_failed"):
            tenant, shown_query = str(vault_id), str(query)[:_MAX_LOGGED_QUERY_CHARACTERS]
            log_narrative("info", "smart_context_formatting_started", query=shown_query, vault_id=tenant, **counts)
            try:
                last_sequence = None if temporal_mode == "none" else _read_sequence(max_sequence)
                request = NarrativeRequest(
                    query="" if query is None else str(query),
                    tenant=tenant,
                    entities=read_entities(lists["entities"]),
                    documents=read_documents(lists["documents"], tenant, last_sequence),
                    # An empty list is an answer of the caller's own search, and is respected.
                    searches_vault=entities is None and documents is None,
                    max_total_tokens=read_whole_number(max_total_tokens, MAX_TOTAL_TOKENS),
                    max_entities=read_whole_number(max_entities, MAX_ENTITIES),
                    max_sequence=last_sequence,
                    preset=preset or (AUTO if adaptive else None),
                    by_importance=bool(importance_scoring),
                )
                text, shown = await self._format(request, session)
                counts |= shown
            except _UnreadableSequence as error:
                log_narrative("error", "smart_context_sequence_invalid", error=str(error))
                text = _note_text(str(error), max_total_tokens)
        spent = round(perf_counter() - began, 4)
        log_narrative("info", "smart_context_formatting_complete", characters=len(text), seconds=spent, **counts)
        return text

    async def _format(self, request: NarrativeRequest, session: "Weft | None") -> tuple[str, dict[str, int]]:
        """Return the page from the cache, or build it; with the numbers of things that were found in the vault."""
        # The pipeline refuses such budgets, and this entry point must not raise.
        if request.max_total_tokens < 1:
            log_narrative(
                "warning", "smart_context_empty", notes=[f"Nothing fits {request.max_total_tokens} tokens."]
            )
            return "", {}
        store = await asyncio.to_thread(self._open_store, session)
        # Read before the page is built: if the store changes meanwhile, the page is kept for the old state only.
        state = await asyncio.to_thread(_read_state, store, request)
        cached = None if state is None else self._cache.get(request.cache_key, state)
        if cached is not None:
            log_narrative("debug", "smart_context_cached", query=request.query)
            return cached, {}
        builder = PageBuilder(request, store, self._strategy, self._summarize)
        context = await builder.build()
        text = _page_text(context)
        if state is not None and builder.is_cacheable:
            self._cache.put(request.cache_key, state, text)
        return text, _log_found(context) if request.searches_vault else {}

    def _open_store(self, session: "Weft | None") -> "Weft | NoStore":
        """Return the store to read from, or a `NoStore` if it cannot be opened."""
        if session is not None:
            return session
        with log_failure("smart_context_store_failed"):
            # Kept open for the next call.
            self._session = self._session or default_store()
            return self._session
        # What the caller brought can be laid out without a store.
        return NoStore()


def _read_state(store: "Weft | NoStore", request: NarrativeRequest) -> Hashable | None:
    """Return a value that changes whenever the store does, or None if it is unknown and nothing may be cached."""
    if isinstance(store, NoStore):
        return None
    # At the level of debugging: the next reading of the store fails too, and warns.
    with log_failure("smart_context_state_unknown", "debug"), store.store.snapshot(request.view) as snapshot:
        return snapshot.identity, snapshot.sequence
    return None


def _read_sequence(value: object) -> int | None:
    """Return the last point of the story to show; raise _UnreadableSequence if it is no number."""
    try:
        return None if value is None else int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        # A page without the limit would tell what the caller wanted hidden, so nothing is shown.
        raise _UnreadableSequence(
            f"max_sequence {ascii(value)[:_MAX_LOGGED_VALUE_CHARACTERS]} is no whole number, so nothing of the "
            "story is shown. Give the number of the last chapter, or leave it out."
        ) from None


def _note_text(note: str, max_tokens: object) -> str:
    """Return a page of a note alone, or nothing if that does not fit."""
    count, _ = counter_for(DEFAULT_ENCODING)
    text = f"*Note: {note}*"
    return text if count.count(text) <= read_whole_number(max_tokens, MAX_TOTAL_TOKENS) else ""


def _log_found(context: Context) -> dict[str, int]:
    """Log each entity that the pipeline found and presented; return the numbers of entities and documents."""
    groups = [group for section in context.page.sections for group in section.groups]
    for group in groups:
        items = [item for part in group.parts for item in part.items]
        facts = {"chunks": len(items), "tokens": sum(item.tokens for item in items)}
        log_narrative("debug", "entity_context_built", entity=group.subject.node.title, **facts)
    return {"entities": len(groups), "documents": sum(len(section.items) for section in context.page.sections)}


def _page_text(context: Context) -> str:
    """Return the text of the page, or nothing if it would be a title alone."""
    has_content = any(section.items or section.groups for section in context.page.sections)
    if not has_content:
        log_narrative("warning", "smart_context_empty", notes=list(context.notes))
    return context.text if has_content else ""


# --- building one page ---


class PageBuilder:
    """The builder of one page.

    `is_cacheable` is True afterwards unless something failed that might succeed the next time.
    """

    def __init__(
        self,
        request: NarrativeRequest,
        store: ReadableStore,
        strategy: PriorityStrategy,
        summarize: Summarize | None,
    ):
        self.is_cacheable = True
        self._request, self._store = request, store
        self._strategy, self._summarize = strategy, summarize

    async def build(self) -> Context:
        """Return the page; if the store does not answer, a page of what the caller brought."""
        request = await self._read(self._request.resolve_preset)
        # The pipeline then finds entities and documents itself, so there is nothing to build here.
        if request.searches_vault:
            return await self._read(request.assemble_found)
        built = await self._build_entities(request.shown_entities, request)
        compressed = replace(request, documents=await self._compress_documents(request))
        return await self._read(lambda store: compressed.assemble_given(store, built))

    async def _read(self, read: Callable[[ReadableStore], Answer]) -> Answer:
        """Return what is read from the store, or from an empty one if the store fails."""
        with log_failure("smart_context_store_failed"):
            return await asyncio.to_thread(read, self._store)
        self.is_cacheable = False
        # The same function over an empty store prints at least what the caller brought.
        return await asyncio.to_thread(read, NoStore())

    async def _build_entities(
        self, entities: tuple[CallerEntity, ...], request: NarrativeRequest
    ) -> list[BuiltEntity]:
        """Build the context of each entity; those of which nothing is known leave their tokens to the others."""
        tokens = request.tokens_per_entity(len(entities))
        attempts = [(entity, await self._build_entity(entity, request, tokens)) for entity in entities]
        built = _distinct([(entity, context) for entity, context in attempts if context is not None])
        # Which entities are known shows only when they were built, so shares are dealt out in a second round.
        if len(built) < len(entities):
            tokens = request.tokens_per_entity(len(built))
            built = [(entity, await self._rebuild(entity, context, request, tokens)) for entity, context in built]
        for entity, context in built:
            if isinstance(context, EntityContext):
                facts = {"chunks": len(context.chunks), "tokens": context.total_tokens}
                log_narrative("debug", "entity_context_built", entity=entity.name, **facts)
            elif chunks := request.documents_of(entity):
                log_narrative("debug", "entity_context_built", entity=entity.name, chunks=len(chunks))
        return built

    async def _rebuild(
        self, entity: CallerEntity, known: EntityContext | Node, request: NarrativeRequest, tokens: int
    ) -> EntityContext | Node:
        """Build the context of an entity anew with more tokens; a description stays as it is."""
        return known if isinstance(known, Node) else await self._build_entity(entity, request, tokens) or known

    async def _build_entity(
        self, entity: CallerEntity, request: NarrativeRequest, tokens: int
    ) -> EntityContext | Node | None:
        """Return the entity's context from the story, else its description as a node, else None."""
        with log_failure("entity_context_build_failed", entity=entity.name):
            return await self._build_from_story(entity, request, tokens) or _described(entity, request)
        self.is_cacheable = False
        return _described(entity, request)

    async def _build_from_story(
        self, entity: CallerEntity, request: NarrativeRequest, tokens: int
    ) -> EntityContext | None:
        """Return the entity's context, or None if the story tells nothing of it."""
        builder = EntityContextBuilder(
            max_tokens=tokens,
            priority_strategy=self._strategy,
            session=cast("Weft", self._store),
            query=request.query,
            max_sequence=request.max_sequence,
        )
        try:
            context = await _build_by_name(builder, entity, request.tenant)
        except UnknownName as error:
            # The page may be cached: the name stays unknown until the store changes, which the cache notices.
            # An entity that the vault does not hold is no failure if the caller brought its chunks.
            if not request.documents_of(entity):
                log_narrative("warning", "entity_context_build_failed", entity=entity.name, error=str(error))
            return None
        # A text that is too long for a small share is shortened when the whole page is fitted.
        return context if context.chunks or context.entity.text.strip() else None

    async def _compress_documents(self, request: NarrativeRequest) -> tuple[Candidate, ...]:
        """Return the documents; if there is a summarizer, long ones as summaries, all made at once."""
        if self._summarize is None:
            return request.documents
        tasks = [
            asyncio.to_thread(compress_document, document, request.query, self._summarize)
            for document in request.documents
        ]
        # With exceptions as results: one summary that fails must not cancel the others.
        results = await asyncio.gather(*tasks, return_exceptions=True)
        compressed = []
        for document, result in zip(request.documents, results, strict=True):
            if isinstance(result, BaseException):
                log_narrative(
                    "warning", "document_compression_failed", document=document.node.title, error=str(result)
                )
                self.is_cacheable = False
            compressed.append(document if isinstance(result, BaseException) else result)
        return tuple(compressed)


async def _build_by_name(builder: EntityContextBuilder, entity: CallerEntity, tenant: str) -> EntityContext:
    """Build the context by the first of the entity's names that the store knows."""
    # The error for the first name is the one that is raised: it is the name that the caller meant.
    first, *others = entity.names
    try:
        return await builder.build_context(first, tenant)
    except UnknownName:
        for name in others:
            with suppress(UnknownName):
                return await builder.build_context(name, tenant)
        raise


def _distinct(built: list[BuiltEntity]) -> list[BuiltEntity]:
    """Return every entity once, even if the caller brought it under several names."""
    by_key: dict[str, BuiltEntity] = {}
    for entity, context in built:
        by_key.setdefault((context if isinstance(context, Node) else context.entity).key, (entity, context))
    return list(by_key.values())


def _described(entity: CallerEntity, request: NarrativeRequest) -> Node | None:
    """Return the entity as a node with its description, or without one if the caller brought documents of it.

    Up to a point of the story a description is not used: it may reveal what happens later.
    """
    text = entity.description.strip() if request.max_sequence is None else ""
    return entity.to_node(request.tenant, text) if text or request.documents_of(entity) else None


smart_formatter: Final = SmartContextFormatter()
"""A formatter for the store that commands in this folder read."""
