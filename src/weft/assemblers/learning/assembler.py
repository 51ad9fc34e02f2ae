"""What an agent has learned, gathered for its next step: `assemble_context` and `get_premortem_context`."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Protocol, runtime_checkable

from weft.assemblers.learning.found import (
    CODE,
    COMMIT,
    EXPERIENCE,
    MEMORY,
    VALUE,
    ContextItem,
    FormattedContext,
    warn,
)
from weft.assemblers.learning.learning_page import PageMaker
from weft.assemblers.learning.searches import Answer, Search, search_all, search_in_turn
from weft.errors import InvalidInput, UnknownName, WeftError
from weft.frozen import dataclass
from weft.memory import DOMAINS, STRATEGIES
from weft.model import Json, Request
from weft.pipeline.reading import uncollected
from weft.profiles import fill, load_profile
from weft.profiles.types import Probe, Profile, Section
from weft.tokens import DEFAULT_ENCODING

SOURCES: Final = {"memories": MEMORY, "code": CODE, "experiences": EXPERIENCE, "values": VALUE, "commits": COMMIT}
"""The context types that can be asked for, and what their items are called."""

DEADLINE_SECONDS: Final = 2.0
_MOST_VALUES: Final = 5


class ContextAssemblyError(WeftError):
    """A context cannot be assembled."""


class InvalidContextTypeError(ContextAssemblyError, UnknownName):
    """A context type, domain or strategy that does not exist; the message lists those that do."""


class Searcher(Protocol):
    """What is asked: any object with these methods, plain or async, that return results best first."""

    def search_memories(self, query: str, limit: int) -> Any: ...

    def search_code(self, query: str, limit: int) -> Any: ...

    def search_experiences(
        self,
        query: str,
        axis: str = "full",
        domain: str | None = None,
        strategy: str | None = None,
        outcome: str | None = None,
        limit: int = 10,
    ) -> Any: ...

    def search_values(self, query: str, limit: int) -> Any: ...

    def search_commits(self, query: str, limit: int) -> Any: ...


Searches = Callable[[Searcher], Sequence[Search]]
"""The searches to be made with a searcher."""


@runtime_checkable
class Shared(Protocol):
    """A searcher over one store, which may answer sooner when one thread asks it for everything."""

    def reading(self) -> AbstractContextManager[Searcher] | None:
        """One reading of the store for all searches, made in turn; None where they are better made at once."""
        ...


@runtime_checkable
class Counting(Protocol):
    """A searcher that wants to know what was made of its results."""

    def handed_out(self, items: Sequence[ContextItem], now: datetime) -> None: ...


@dataclass(frozen=True, slots=True)
class ContextAssembler:
    """Assembles context from one searcher; the clock, the tokenizer and the deadline are arguments.

    With `learning` and `premortem` other profiles than the built-in ones shape the pages.
    """

    searcher: Searcher
    deadline_seconds: float = DEADLINE_SECONDS
    token_model: str = DEFAULT_ENCODING
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    learning: Profile | None = None
    premortem: Profile | None = None

    async def assemble_context(
        self, query: str, context_types: Sequence[str], limit: int = 20, max_tokens: int = 2000
    ) -> FormattedContext:
        """A page of at most `max_tokens` about the query from these sources, at most `limit` items of each."""
        types = _known_types(context_types)
        _check(limit, max_tokens)
        profile = self.learning or load_profile("learning")
        sections = tuple(_limited(each, limit) for each in profile.sections if each.name in types)
        names = {each.name: SOURCES[each.name] for each in sections}

        def searches(searcher: Searcher) -> list[Search]:
            return [Search(name, _search(searcher, name, query, limit)) for name in names]

        request = Request(profile=profile.name, max_tokens=max_tokens)
        return await self._assembled(replace(profile, sections=sections), request, searches, names)

    async def get_premortem_context(
        self, domain: str, strategy: str | None = None, limit: int = 10, max_tokens: int = 1500
    ) -> FormattedContext:
        """A page of at most `max_tokens` on what went wrong before in a domain, and with a strategy if given."""
        given = _known_words(domain, strategy)
        _check(limit, max_tokens)
        profile = self.premortem or load_profile("premortem")
        sections = tuple(
            _limited(each, min(limit, each.limit or limit) if "values" in each.probes else limit)
            for each in profile.sections
            if each.when is None or given.get(each.when)
        )
        sources = {each.probes[0]: VALUE if each.probes[0] == "values" else EXPERIENCE for each in sections}
        probes = {each.name: each for each in profile.probes}

        def searches(searcher: Searcher) -> list[Search]:
            return [Search(name, _probe(searcher, probes[name], given, limit)) for name in sources]

        request = Request(profile=profile.name, max_tokens=max_tokens, parameters=given)
        return await self._assembled(replace(profile, sections=sections), request, searches, sources)

    async def _assembled(
        self, profile: Profile, request: Request, searches: Searches, sources: dict[str, str]
    ) -> FormattedContext:
        reading = self.searcher.reading() if isinstance(self.searcher, Shared) else None
        if reading is None:
            answers = await search_all(searches(self.searcher), self.deadline_seconds)
            return await self._page(profile, request, sources, answers)
        # Until the page is made: what the searches found would be looked through for cycles in between.
        with uncollected():
            answers = await search_in_turn(reading, searches, tuple(sources), self.deadline_seconds)
            return await self._page(profile, request, sources, answers)

    async def _page(
        self, profile: Profile, request: Request, sources: dict[str, str], answers: Sequence[Answer]
    ) -> FormattedContext:
        for answer in answers:
            if answer.failure:
                warn("search_failed", source=answer.name, reason=answer.failure)
        page = PageMaker(profile, replace(request, token_model=self.token_model), sources, self.clock())
        return await asyncio.to_thread(self._made, page, answers)

    def _made(self, page: PageMaker, answers: Sequence[Answer]) -> FormattedContext:
        with uncollected():
            context = page.formatted(answers)
        if isinstance(self.searcher, Counting) and context.items:
            self.searcher.handed_out(context.items, page.now)
        return context


async def assemble_context(
    query: str, context_types: Sequence[str], limit: int = 20, max_tokens: int = 2000, *, searcher: Searcher
) -> FormattedContext:
    """A page of at most `max_tokens` about the query from these sources, as `ContextAssembler` makes it."""
    return await ContextAssembler(searcher).assemble_context(query, context_types, limit, max_tokens)


async def get_premortem_context(
    domain: str, strategy: str | None = None, limit: int = 10, max_tokens: int = 1500, *, searcher: Searcher
) -> FormattedContext:
    """A page of at most `max_tokens` on what went wrong before, as `ContextAssembler` makes it."""
    return await ContextAssembler(searcher).get_premortem_context(domain, strategy, limit, max_tokens)


def _search(searcher: Searcher, name: str, query: str, limit: int) -> Callable[[], Any]:
    """The searcher's call for one context type."""
    if name == "experiences":
        return partial(searcher.search_experiences, query, axis="full", limit=limit)
    return partial(getattr(searcher, f"search_{name}"), query, limit=limit)


def _probe(searcher: Searcher, probe: Probe, given: dict[str, Json], limit: int) -> Callable[[], Any]:
    """The searcher's call for one probe of a premortem: the probe's question and filters, filled in."""
    question = fill(probe.question, {"strategy": None, **given})
    if probe.name == "values":
        return partial(searcher.search_values, question, limit=min(limit, probe.limit))
    where = {field: fill(words, given) for field, words in probe.where.items()}
    outcome = where.pop("outcome_status", None)
    more = {**where, "outcome": outcome} if outcome is not None else where
    return partial(searcher.search_experiences, question, limit=limit, **more)


def _limited(section: Section, limit: int) -> Section:
    """A section that takes so many items; the items come already cut to their cap."""
    return replace(section, limit=limit, item_cap=None)


def _known_types(given: Sequence[str]) -> tuple[str, ...]:
    types = (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))
    for each in types or ("",):
        if each not in SOURCES:
            raise InvalidContextTypeError("context type", str(each), SOURCES)
    return types


def _known_words(domain: str, strategy: str | None) -> dict[str, Json]:
    if domain not in DOMAINS:
        raise InvalidContextTypeError("domain", str(domain), DOMAINS)
    if strategy is not None and strategy not in STRATEGIES:
        raise InvalidContextTypeError("strategy", str(strategy), STRATEGIES)
    return {"domain": domain} if strategy is None else {"domain": domain, "strategy": strategy}


def _check(limit: int, max_tokens: int) -> None:
    for what, number in (("limit", limit), ("max_tokens", max_tokens)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise InvalidInput(f"A {what} of {number!r} leaves nothing to show. Give a whole number of 1 or more.")
