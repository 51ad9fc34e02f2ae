"""Build the page of one call of the formatter: each entity's context, or its description, and the documents."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec.structs import replace

from weft.assemblers.narrative.entity_context import EntityContext, EntityContextBuilder, PriorityStrategy
from weft.assemblers.narrative.inputs import CallerEntity
from weft.assemblers.narrative.narrative_request import NarrativeRequest, NoStore, ReadableStore, log
from weft.assemblers.narrative.summarizer import Summarize, compress_document
from weft.errors import UnknownName
from weft.model import Candidate, Context, Node

if TYPE_CHECKING:
    from weft.api import Weft


Answer = TypeVar("Answer")
BuiltEntity = tuple[CallerEntity, EntityContext | Node]
"""An entity with its context, or with a node that holds the caller's description."""


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
        if request.searches_vault:
            return await self._read(request.assemble_found)
        built = [context for _, context in await self._build_entities(request.shown_entities, request)]
        compressed = replace(request, documents=await self._compress_documents(request))
        return await self._read(lambda store: compressed.assemble_given(store, built))

    async def _read(self, read: Callable[[ReadableStore], Answer]) -> Answer:
        """Return what is read from the store, or from an empty one if the store fails."""
        try:
            return await asyncio.to_thread(read, self._store)
        except Exception as error:  # noqa: BLE001  (as documented: the best that is left)
            log("warning", "smart_context_store_failed", error=str(error), error_type=type(error).__name__)
            self.is_cacheable = False
            return await asyncio.to_thread(read, NoStore())

    async def _build_entities(
        self, entities: tuple[CallerEntity, ...], request: NarrativeRequest
    ) -> list[BuiltEntity]:
        """Build the context of each entity; those of which nothing is known leave their tokens to the others."""
        tokens = request.tokens_per_entity(len(entities))
        attempts = [(entity, await self._build_entity(entity, request, tokens)) for entity in entities]
        built = _distinct([(entity, context) for entity, context in attempts if context is not None])
        if len(built) < len(entities):
            tokens = request.tokens_per_entity(len(built))
            built = [(entity, await self._rebuild(entity, context, request, tokens)) for entity, context in built]
        for entity, context in built:
            if isinstance(context, EntityContext):
                facts = {"chunks": len(context.chunks), "tokens": context.total_tokens}
                log("debug", "entity_context_built", entity=entity.name, **facts)
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
        builder = EntityContextBuilder(
            max_tokens=tokens,
            priority_strategy=self._strategy,
            session=cast("Weft", self._store),
            query=request.query,
            max_sequence=request.max_sequence,
        )
        try:
            context = await _build_by_name(builder, entity, request.tenant)
        except Exception as error:  # noqa: BLE001  (as documented: one entity never spoils the others)
            log("warning", "entity_context_build_failed", entity=entity.name, error=str(error))
            self.is_cacheable = self.is_cacheable and isinstance(error, UnknownName)
            return _described(entity, request)
        return context if context.chunks else _described(entity, request)

    async def _compress_documents(self, request: NarrativeRequest) -> tuple[Candidate, ...]:
        """Return the documents; if there is a summarizer, long ones as summaries, all made at once."""
        if self._summarize is None:
            return request.documents
        tasks = [
            asyncio.to_thread(compress_document, document, request.query, self._summarize)
            for document in request.documents
        ]
        results = await asyncio.gather(*tasks, return_exceptions=True)
        compressed = []
        for document, result in zip(request.documents, results, strict=True):
            if isinstance(result, BaseException):
                log("warning", "document_compression_failed", document=document.node.title, error=str(result))
                self.is_cacheable = False
            compressed.append(document if isinstance(result, BaseException) else result)
        return tuple(compressed)


async def _build_by_name(builder: EntityContextBuilder, entity: CallerEntity, tenant: str) -> EntityContext:
    """Build the context by the first of the entity's names that the store knows."""
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
    """Return the entity as a node with its description, but None for a page up to a point of the story.

    A description may reveal what happens later.
    """
    return None if request.max_sequence is not None else entity.to_node(request.tenant)
