"""Pages kept for a while: a page is given again until it is too old or the store has changed."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from weft.assemblers.narrative.build import Telling
from weft.assemblers.narrative.entity_context import PriorityStrategy, UsageBasedPriority, default_store
from weft.assemblers.narrative.inputs import listed, read_documents, read_entities
from weft.assemblers.narrative.narrative_request import (
    MAX_ENTITIES,
    MAX_TOTAL_TOKENS,
    Asking,
    NoStore,
    log,
    whole_number,
)
from weft.assemblers.narrative.summarizer import Summarize
from weft.model import Context
from weft.profiles.types import AUTO

if TYPE_CHECKING:
    from weft.api import Weft


TTL: Final = 300.0
_MOST: Final = 256


class TimedCache:
    """Texts by what was asked and the state of the store; the oldest goes when there are too many."""

    def __init__(self, seconds: float = TTL, clock: Callable[[], float] = monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._kept: OrderedDict[Hashable, tuple[float, Hashable, str]] = OrderedDict()

    def get(self, asked: Hashable, state: Hashable) -> str | None:
        """The text for this request, made of the same state and not longer ago than is allowed."""
        kept = self._kept.get(asked)
        if kept is None:
            return None
        made, known, text = kept
        if known != state or self._clock() - made >= self._seconds:
            del self._kept[asked]
            return None
        return text

    def put(self, asked: Hashable, state: Hashable, text: str) -> None:
        """Keep a text."""
        if self._seconds <= 0:
            return
        self._kept.pop(asked, None)
        self._kept[asked] = (self._clock(), state, text)
        if len(self._kept) > _MOST:
            self._kept.popitem(last=False)


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
        """The page for a query: entities first, then documents, within `max_total_tokens`.

        Given neither entities nor documents, both are found in the vault. A preset's numbers hold where
        `max_total_tokens` and `max_entities` are not given; `adaptive` chooses it by the query.
        """
        began, text = perf_counter(), ""
        brought = {"entities": _listed("entities", entities), "documents": _listed("documents", documents)}
        given = {name: len(things) for name, things in brought.items()}
        try:
            log(
                "info", "smart_context_formatting_started", query=str(query)[:200], vault_id=str(vault_id), **given
            )
            cut = None if max_sequence is None or temporal_mode == "none" else int(max_sequence)
            asking = Asking(
                query="" if query is None else str(query),
                tenant=str(vault_id),
                entities=read_entities(brought["entities"]),
                documents=read_documents(brought["documents"], str(vault_id), cut),
                finds=entities is None and documents is None,
                max_total_tokens=whole_number(max_total_tokens, MAX_TOTAL_TOKENS),
                max_entities=whole_number(max_entities, MAX_ENTITIES),
                max_sequence=cut,
                preset=preset or (AUTO if adaptive else None),
                by_importance=bool(importance_scoring),
            )
            text = await self._formatted(asking, session)
        except Exception as error:  # noqa: BLE001  (as documented: whatever fails, the caller gets a context)
            log("warning", "smart_context_formatting_failed", error=str(error), error_type=type(error).__name__)
        spent = round(perf_counter() - began, 4)
        log("info", "smart_context_formatting_complete", characters=len(text), seconds=spent, **given)
        return text

    async def _formatted(self, asking: Asking, session: "Weft | None") -> str:
        """The page as it was kept, or else made anew."""
        if asking.max_total_tokens < 1:
            log("warning", "smart_context_empty", notes=[f"Nothing fits {asking.max_total_tokens} tokens."])
            return ""
        store = await asyncio.to_thread(self._store, session)
        state = await asyncio.to_thread(_state, store, asking)
        kept = None if state is None else self._cache.get(asking.identity, state)
        if kept is not None:
            log("debug", "smart_context_cached", query=asking.query)
            return kept
        telling = Telling(asking, store, self._strategy, self._summarize)
        text = _text(await telling.page())
        if state is not None and telling.sound:
            self._cache.put(asking.identity, state, text)
        return text

    def _store(self, session: "Weft | None") -> "Weft | NoStore":
        """The store to read from; none, where it cannot be opened."""
        if session is not None:
            return session
        try:
            self._session = self._session or default_store()
        except Exception as error:  # noqa: BLE001  (as documented: the caller's own entities and documents are left)
            log("warning", "smart_context_store_failed", error=str(error), error_type=type(error).__name__)
            return NoStore()
        return self._session


def _listed(what: str, given: object) -> list[object]:
    return listed(given, lambda error: log("warning", "smart_context_input_failed", input=what, error=str(error)))


def _state(store: "Weft | NoStore", asking: Asking) -> Hashable | None:
    """What changes whenever the store does; None where it cannot be told, and nothing is kept."""
    if isinstance(store, NoStore):
        return None
    try:
        with store.store.snapshot(asking.view) as snapshot:
            return snapshot.identity, snapshot.sequence
    except Exception as error:  # noqa: BLE001  (whoever reads the store next tells what it means)
        log("debug", "smart_context_state_unknown", error=str(error))
        return None


def _text(context: Context) -> str:
    """The page, or nothing when it would be a title alone."""
    shown = any(section.items or section.groups for section in context.page.sections)
    if not shown:
        log("warning", "smart_context_empty", notes=list(context.notes))
    return context.text if shown else ""


smart_formatter: Final = SmartContextFormatter()
"""A formatter for the store that commands in this folder read."""
