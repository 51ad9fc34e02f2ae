"""`SmartContextFormatter`: one structured page about the entities of a story, instead of a blob of its texts."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import structlog

from weft.facades.narrative_cache import TimedCache
from weft.facades.narrative_compression import Summarize, compressed
from weft.facades.narrative_entities import EntityContext, EntityContextBuilder, default_store
from weft.facades.narrative_given import GivenEntity, document_of, entity_of
from weft.facades.narrative_page import MAX_ENTITIES, MAX_TOTAL_TOKENS, Asking, found_page, given_page
from weft.facades.narrative_priority import PriorityStrategy, UsageBasedPriority
from weft.model import Candidate, Context, Node

if TYPE_CHECKING:
    from weft.faces.library import Weft

ADAPTIVE: Final = "auto"

_logger: Final = structlog.get_logger("weft.narrative")


class SmartContextFormatter:
    """Formats what is known of a story for a query. It never raises: what fails is logged and left out.

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
        documents: Sequence[Any] | None = None,
        entities: Sequence[Any] | None = None,
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
        """The page for a query: entities first, then documents, within `max_total_tokens`.

        Given neither entities nor documents, both are found in the vault. A preset's numbers hold where
        `max_total_tokens` and `max_entities` are left at their defaults; `adaptive` chooses it by the query.
        """
        began = perf_counter()
        given = {"entities": len(entities or ()), "documents": len(documents or ())}
        _logger.info("smart_context_formatting_started", query=str(query)[:200], vault_id=str(vault_id), **given)
        cut = max_sequence if temporal_mode != "none" else None
        try:
            asking = Asking(
                query=query,
                tenant=str(vault_id),
                entities=tuple(entity_of(each) for each in entities or ()),
                documents=_documents(documents or (), str(vault_id), cut),
                finds=entities is None and documents is None,
                max_total_tokens=max_total_tokens,
                max_entities=max_entities,
                max_sequence=cut,
                preset=preset or (ADAPTIVE if adaptive else None),
                by_importance=importance_scoring,
            )
            text = await self._formatted(asking, session or self._store())
        except Exception as error:  # noqa: BLE001  (as documented: whatever fails, the caller gets a context)
            _logger.warning("smart_context_formatting_failed", error=str(error), error_type=type(error).__name__)
            text = ""
        spent = round(perf_counter() - began, 4)
        _logger.info("smart_context_formatting_complete", characters=len(text), seconds=spent, **given)
        return text

    def _store(self) -> "Weft":
        if self._session is None:
            self._session = default_store()
        return self._session

    async def _formatted(self, asking: Asking, weft: "Weft") -> str:
        """The page as it was kept, or else made anew."""
        state = await asyncio.to_thread(_state, weft, asking)
        kept = self._cache.get(asking.identity, state)
        if kept is not None:
            _logger.debug("smart_context_cached", query=asking.query)
            return kept
        text = _text(await self._page(asking, weft))
        self._cache.put(asking.identity, state, text)
        return text

    async def _page(self, asking: Asking, weft: "Weft") -> Context:
        if asking.finds:
            return await asyncio.to_thread(found_page, weft, asking)
        built = [await self._told(each, asking, weft) for each in asking.used]
        told = [each for each in built if each is not None]
        brief = replace(asking, documents=await self._brief(asking))
        return await asyncio.to_thread(given_page, weft, brief, told)

    async def _brief(self, asking: Asking) -> tuple[Candidate, ...]:
        """The documents, long ones by their summaries where somebody makes them, all at once."""
        if self._summarize is None:
            return asking.documents
        made = [asyncio.to_thread(compressed, each, asking.query, self._summarize) for each in asking.documents]
        results = await asyncio.gather(*made, return_exceptions=True)
        brief = []
        for document, result in zip(asking.documents, results, strict=True):
            if isinstance(result, BaseException):
                _logger.warning("document_compression_failed", document=document.node.title, error=str(result))
            brief.append(document if isinstance(result, BaseException) else result)
        return tuple(brief)

    async def _told(self, entity: GivenEntity, asking: Asking, weft: "Weft") -> EntityContext | Node | None:
        """What the story tells of an entity; else what its description says; else nothing."""
        builder = EntityContextBuilder(
            max_tokens=asking.entity_tokens,
            priority_strategy=self._strategy,
            session=weft,
            query=asking.query,
            max_sequence=asking.max_sequence,
        )
        try:
            context = await builder.build_context(entity.id, asking.tenant)
        except Exception as error:  # noqa: BLE001  (as documented: one entity never spoils the others)
            _logger.warning("entity_context_build_failed", entity=entity.name, error=str(error))
            return _described(entity, asking)
        _logger.debug(
            "entity_context_built", entity=entity.name, chunks=len(context.chunks), tokens=context.total_tokens
        )
        return context if context.chunks else _described(entity, asking)


def _described(entity: GivenEntity, asking: Asking) -> Node | None:
    """The entity by its description; up to a point of the story nobody knows whether that may be told."""
    return None if asking.max_sequence is not None else entity.described(asking.tenant)


def _documents(given: Sequence[Any], tenant: str, until: int | None) -> tuple[Candidate, ...]:
    """The documents that say something; up to a point of the story, those that are known to be before it."""
    found = [document_of(each, place, len(given), tenant) for place, each in enumerate(given)]
    kept = [each for each in found if each is not None]
    if until is not None:
        kept = [each for each in kept if each.node.sequence is not None and each.node.sequence <= until]
    return tuple(kept)


def _state(weft: "Weft", asking: Asking) -> tuple[str, int]:
    """What changes whenever the store does."""
    with weft.store.snapshot(asking.view) as snapshot:
        return snapshot.identity, snapshot.sequence


def _text(context: Context) -> str:
    """The page, or nothing when it would be a title alone."""
    shown = any(section.items or section.groups for section in context.page.sections)
    if not shown:
        _logger.warning("smart_context_empty", notes=list(context.notes))
    return context.text if shown else ""


smart_formatter: Final = SmartContextFormatter()
"""A formatter for the store that commands in this folder read."""
