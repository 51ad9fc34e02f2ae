"""One call of the formatter on its way to a page: each entity built, or only described, and the documents."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from weft.assemblers.narrative.entity_context import EntityContext, EntityContextBuilder, PriorityStrategy
from weft.assemblers.narrative.inputs import GivenEntity
from weft.assemblers.narrative.narrative_request import Asking, NoStore, Reading, log
from weft.assemblers.narrative.summarizer import Summarize, compressed
from weft.errors import UnknownName
from weft.model import Candidate, Context, Node

if TYPE_CHECKING:
    from weft.api import Weft


Answer = TypeVar("Answer")
Told = tuple[GivenEntity, EntityContext | Node]


class Telling:
    """Makes one page; `sound` says afterwards whether nothing failed that might succeed the next time."""

    def __init__(self, asking: Asking, store: Reading, strategy: PriorityStrategy, summarize: Summarize | None):
        self.sound = True
        self._asking, self._store = asking, store
        self._strategy, self._summarize = strategy, summarize

    async def page(self) -> Context:
        """The page; where the store does not answer, of what the caller brought."""
        asking = await self._read(self._asking.settled)
        if asking.finds:
            return await self._read(asking.found_page)
        told = [about for _, about in await self._told(asking.used, asking)]
        brief = replace(asking, documents=await self._brief(asking))
        return await self._read(lambda store: brief.given_page(store, told))

    async def _read(self, read: Callable[[Reading], Answer]) -> Answer:
        """What is read from the store, or else from none."""
        try:
            return await asyncio.to_thread(read, self._store)
        except Exception as error:  # noqa: BLE001  (as documented: the best that is left)
            log("warning", "smart_context_store_failed", error=str(error), error_type=type(error).__name__)
            self.sound = False
            return await asyncio.to_thread(read, NoStore())

    async def _told(self, entities: tuple[GivenEntity, ...], asking: Asking) -> list[Told]:
        """What is told of each entity; those that fall out leave their part of the budget to the others."""
        tokens = asking.tokens_each(len(entities))
        built = [(each, await self._about(each, asking, tokens)) for each in entities]
        told = _distinct([(entity, about) for entity, about in built if about is not None])
        if len(told) < len(entities):
            tokens = asking.tokens_each(len(told))
            told = [(entity, await self._more(entity, about, asking, tokens)) for entity, about in told]
        for entity, about in told:
            if isinstance(about, EntityContext):
                facts = {"chunks": len(about.chunks), "tokens": about.total_tokens}
                log("debug", "entity_context_built", entity=entity.name, **facts)
        return told

    async def _more(
        self, entity: GivenEntity, known: EntityContext | Node, asking: Asking, tokens: int
    ) -> EntityContext | Node:
        """The context of an entity built anew with more room; a description has no more to tell."""
        return known if isinstance(known, Node) else await self._about(entity, asking, tokens) or known

    async def _about(self, entity: GivenEntity, asking: Asking, tokens: int) -> EntityContext | Node | None:
        """What the story tells of an entity; else what its description says; else nothing."""
        builder = EntityContextBuilder(
            max_tokens=tokens,
            priority_strategy=self._strategy,
            session=cast("Weft", self._store),
            query=asking.query,
            max_sequence=asking.max_sequence,
        )
        try:
            context = await _built(builder, entity, asking.tenant)
        except Exception as error:  # noqa: BLE001  (as documented: one entity never spoils the others)
            log("warning", "entity_context_build_failed", entity=entity.name, error=str(error))
            self.sound = self.sound and isinstance(error, UnknownName)
            return _described(entity, asking)
        return context if context.chunks else _described(entity, asking)

    async def _brief(self, asking: Asking) -> tuple[Candidate, ...]:
        """The documents, long ones by their summaries where somebody makes them, all at once."""
        if self._summarize is None:
            return asking.documents
        made = [asyncio.to_thread(compressed, each, asking.query, self._summarize) for each in asking.documents]
        results = await asyncio.gather(*made, return_exceptions=True)
        brief = []
        for document, result in zip(asking.documents, results, strict=True):
            if isinstance(result, BaseException):
                log("warning", "document_compression_failed", document=document.node.title, error=str(result))
                self.sound = False
            brief.append(document if isinstance(result, BaseException) else result)
        return tuple(brief)


async def _built(builder: EntityContextBuilder, entity: GivenEntity, tenant: str) -> EntityContext:
    """The context of the entity by the first of its names that the store knows."""
    first, *others = entity.names
    try:
        return await builder.build_context(first, tenant)
    except UnknownName:
        for name in others:
            with suppress(UnknownName):
                return await builder.build_context(name, tenant)
        raise


def _distinct(told: list[Told]) -> list[Told]:
    """Every entity once, though it was given under several names."""
    known: dict[str, Told] = {}
    for entity, about in told:
        known.setdefault((about if isinstance(about, Node) else about.entity).key, (entity, about))
    return list(known.values())


def _described(entity: GivenEntity, asking: Asking) -> Node | None:
    """The entity by its description; up to a point of the story nobody knows whether that may be told."""
    return None if asking.max_sequence is not None else entity.described(asking.tenant)
