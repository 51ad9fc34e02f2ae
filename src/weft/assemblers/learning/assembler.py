"""Gather what an agent has learned for its next step: `assemble_context` and `get_premortem_context`.

Each entry point checks its arguments, turns the profile's sections into searches, runs them with a deadline,
and lets `PageBuilder` make one page of the answers.
"""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from weft.assemblers.learning.learning_page import PageBuilder
from weft.assemblers.learning.results import (
    CODE,
    COMMIT,
    EXPERIENCE,
    MEMORY,
    VALUE,
    Answer,
    ContextItem,
    FormattedContext,
    warn,
)
from weft.errors import InvalidInput, UnknownName, WeftError
from weft.memory import DOMAINS, STRATEGIES
from weft.model import Json, Request
from weft.profiles import fill, load_profile
from weft.profiles.types import Probe, Profile, Section
from weft.runtime.deadline import pause_garbage_collection
from weft.tokens import DEFAULT_ENCODING

SOURCES: Final = {"memories": MEMORY, "code": CODE, "experiences": EXPERIENCE, "values": VALUE, "commits": COMMIT}
"""The context types that can be asked for, and the source that their items name."""

DEADLINE_SECONDS: Final = 2.0
"""The time that a page waits for its searches: to an agent, a partial page is worth more than a late one."""

SharedSearcher = TypeVar("SharedSearcher")


class ContextAssemblyError(WeftError):
    """A context that cannot be assembled."""


class InvalidContextTypeError(ContextAssemblyError, UnknownName, ValueError):
    """A context type, domain or strategy that does not exist; the message lists those that do."""


class NoContextTypeError(InvalidContextTypeError):
    """No context type at all: there is nothing to look for."""

    def __init__(self) -> None:
        self.what, self.name, self.allowed = "context type", "", tuple(sorted(SOURCES))
        ValueError.__init__(self, f"No context type is given. Name one or more of: {', '.join(self.allowed)}.")


class UnknownContextTypesError(InvalidContextTypeError):
    """Several context types that do not exist, all in one message."""

    def __init__(self, names: Sequence[str]) -> None:
        self.what, self.name, self.allowed = "context types", ", ".join(names), tuple(sorted(SOURCES))
        listed = ", ".join(map(repr, names))
        ValueError.__init__(self, f"Unknown context types {listed}. Valid: {', '.join(self.allowed)}.")


class Searcher(Protocol):
    """Any object with these methods, plain or async, that return their results best first."""

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


class Search(Struct, frozen=True):
    """One search to run: its name, and a plain or coroutine function that runs it."""

    name: str
    call: Callable[[], Any]


MakeSearches = Callable[[Searcher], Sequence[Search]]
"""A function that returns the searches to run with a searcher."""


@runtime_checkable
class SharesReading(Protocol):
    """A searcher over one store that may answer sooner if one thread makes all searches."""

    def reading(self) -> AbstractContextManager[Searcher] | None:
        """Return one reading of the store for all searches, or None if they are better made at once."""
        ...


@runtime_checkable
class RecordsUse(Protocol):
    """A searcher that keeps count of which results were used."""

    def record_use(self, items: Sequence[ContextItem], now: datetime) -> None:
        """Take note of the items of a page."""
        ...


@dataclass(frozen=True, slots=True)
class ContextAssembler:
    """An assembler of context from one searcher; the clock, the tokenizer and the deadline are arguments.

    `learning` and `premortem` replace the built-in profiles of the two kinds of page.
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
        """Return a page of at most `max_tokens` about the query, with at most `limit` items of each type."""
        types = _check_types(context_types)
        _check_limits(limit, max_tokens)
        profile = self.learning or load_profile("learning")
        # Sections that were not asked for must not count when shares and caps are computed.
        sections = tuple(_with_limit(each, limit) for each in profile.sections if each.name in types)
        sources = {each.name: SOURCES[each.name] for each in sections}

        def make_searches(searcher: Searcher) -> list[Search]:
            return [Search(name, _search_call(searcher, name, query, limit)) for name in sources]

        request = Request(profile=profile.name, max_tokens=max_tokens)
        return await self._assemble(replace(profile, sections=sections), request, make_searches, sources)

    async def get_premortem_context(
        self, domain: str, strategy: str | None = None, limit: int = 10, max_tokens: int = 1500
    ) -> FormattedContext:
        """Return a page of at most `max_tokens` on what went wrong before in a domain, and with a strategy."""
        parameters = _check_parameters(domain, strategy)
        _check_limits(limit, max_tokens)
        profile = self.premortem or load_profile("premortem")
        # Values are few and general: their section keeps the profile's own limit if that is lower.
        sections = tuple(
            _with_limit(each, min(limit, each.limit or limit) if "values" in each.probes else limit)
            for each in profile.sections
            if each.when is None or parameters.get(each.when)
        )
        sources = {each.probes[0]: VALUE if each.probes[0] == "values" else EXPERIENCE for each in sections}
        probes = {each.name: each for each in profile.probes}

        def make_searches(searcher: Searcher) -> list[Search]:
            return [Search(name, _probe_call(searcher, probes[name], parameters, limit)) for name in sources]

        request = Request(profile=profile.name, max_tokens=max_tokens, parameters=parameters)
        return await self._assemble(replace(profile, sections=sections), request, make_searches, sources)

    async def _assemble(
        self, profile: Profile, request: Request, make_searches: MakeSearches, sources: dict[str, str]
    ) -> FormattedContext:
        """Run the searches and make the page; `sources` maps each search to the source of its items."""
        # Searchers are the caller's own classes, so abilities are asked for by protocol, not by base class.
        reading = self.searcher.reading() if isinstance(self.searcher, SharesReading) else None
        if reading is None:
            answers = await search_all(make_searches(self.searcher), self.deadline_seconds)
            return await self._make_page(profile, request, sources, answers)
        # The garbage collector stays off until the page is made: it would only go through all that was found.
        with pause_garbage_collection():
            answers = await search_in_turn(reading, make_searches, tuple(sources), self.deadline_seconds)
            return await self._make_page(profile, request, sources, answers)

    async def _make_page(
        self, profile: Profile, request: Request, sources: dict[str, str], answers: Sequence[Answer]
    ) -> FormattedContext:
        for answer in answers:
            if answer.failure:
                # The page also names the failure in a note; the log is for whoever runs the service.
                warn("search_failed", source=answer.name, reason=answer.failure)
        builder = PageBuilder(profile, replace(request, token_model=self.token_model), sources, self.clock())
        # Fitting a page is pure computing, which would hold up other tasks of the loop.
        return await asyncio.to_thread(self._build, builder, answers)

    def _build(self, builder: PageBuilder, answers: Sequence[Answer]) -> FormattedContext:
        with pause_garbage_collection():
            context = builder.build(answers)
        # Only what was printed was used; results that did not fit were not.
        if isinstance(self.searcher, RecordsUse) and context.items:
            self.searcher.record_use(context.items, builder.now)
        return context


async def assemble_context(
    query: str, context_types: Sequence[str], limit: int = 20, max_tokens: int = 2000, *, searcher: Searcher
) -> FormattedContext:
    """Return a page of at most `max_tokens` about the query, as `ContextAssembler` makes it."""
    return await ContextAssembler(searcher).assemble_context(query, context_types, limit, max_tokens)


async def get_premortem_context(
    domain: str, strategy: str | None = None, limit: int = 10, max_tokens: int = 1500, *, searcher: Searcher
) -> FormattedContext:
    """Return a page of at most `max_tokens` on what went wrong before, as `ContextAssembler` makes it."""
    return await ContextAssembler(searcher).get_premortem_context(domain, strategy, limit, max_tokens)


def _search_call(searcher: Searcher, name: str, query: str, limit: int) -> Callable[[], Any]:
    """Return the call of the searcher for one context type."""
    if name == "experiences":
        return partial(searcher.search_experiences, query, axis="full", limit=limit)
    return partial(getattr(searcher, f"search_{name}"), query, limit=limit)


def _probe_call(searcher: Searcher, probe: Probe, parameters: dict[str, Json], limit: int) -> Callable[[], Any]:
    """Return the call of the searcher for one probe of a premortem, its question and filters filled in."""
    question = fill(probe.question, {"strategy": None, **parameters})
    if probe.name == "values":
        return partial(searcher.search_values, question, limit=min(limit, probe.limit))
    where = {field: fill(words, parameters) for field, words in probe.where.items()}
    # The design's searcher calls this argument `outcome`; the stored field is `outcome_status`.
    outcome = where.pop("outcome_status", None)
    filters = {**where, "outcome": outcome} if outcome is not None else where
    return partial(searcher.search_experiences, question, limit=limit, **filters)


def _with_limit(section: Section, limit: int) -> Section:
    """Return the section with room for `limit` items, and without a cap: the items come already cut to it."""
    return replace(section, limit=limit, item_cap=None)


def _check_types(context_types: Sequence[str]) -> tuple[str, ...]:
    """Return the context types without repetitions, or raise one error that names all that is wrong with them."""
    # A single string would otherwise be taken for a list of letters.
    types = (context_types,) if isinstance(context_types, str) else tuple(dict.fromkeys(context_types))
    if not types:
        raise NoContextTypeError
    unknown = [str(context_type) for context_type in types if context_type not in SOURCES]
    if len(unknown) > 1:
        raise UnknownContextTypesError(unknown)
    if unknown:
        raise InvalidContextTypeError("context type", unknown[0], SOURCES)
    return types


def _check_parameters(domain: str, strategy: str | None) -> dict[str, Json]:
    """Return the parameters of the premortem profile."""
    if domain not in DOMAINS:
        raise InvalidContextTypeError("domain", str(domain), DOMAINS)
    if strategy is not None and strategy not in STRATEGIES:
        raise InvalidContextTypeError("strategy", str(strategy), STRATEGIES)
    return {"domain": domain} if strategy is None else {"domain": domain, "strategy": strategy}


def _check_limits(limit: int, max_tokens: int) -> None:
    for name, number in (("limit", limit), ("max_tokens", max_tokens)):
        # True is an int in Python, and means no number here.
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise InvalidInput(f"A {name} of {number!r} leaves nothing to show. Give a whole number of 1 or more.")


# --- running searches: one that fails or hangs spoils no other ---


async def search_all(searches: Sequence[Search], seconds: float) -> tuple[Answer, ...]:
    """Run all searches at once; return their answers in the same order, none later than the deadline."""
    return tuple(await asyncio.gather(*(_run(search, seconds) for search in searches)))


async def search_in_turn(
    reading: AbstractContextManager[SharedSearcher],
    make_searches: Callable[[SharedSearcher], Sequence[Search]],
    names: Sequence[str],
    seconds: float,
) -> tuple[Answer, ...]:
    """Run the searches one after another in one thread, over one reading of the store; return answers by `names`.

    The deadline is for all of them together: those that did not end in time get its failure.
    """
    done: dict[str, Answer] = {}

    def work() -> None:
        with reading as searcher:
            for search in make_searches(searcher):
                # Stored one by one, so that a deadline keeps the answers that came before it.
                done[search.name] = _run_here(search)

    whole = await _run(Search("all", work), seconds)
    return tuple(done.get(name) or Answer(name, failure=whole.failure) for name in names)


async def _run(search: Search, seconds: float) -> Answer:
    """Return the answer of a search; one that fails or is late becomes an answer that says so.

    A searcher is a class of the caller and may raise anything. `_make_page` logs it; a note on the page names it.
    """
    try:
        found = await asyncio.wait_for(_call(search.call), seconds)
        return Answer(search.name, _read_results(found))
    except TimeoutError:
        return Answer(search.name, failure=f"did not answer within {seconds:g} seconds")
    except Exception as error:  # noqa: BLE001  (as the docstring says)
        return _failed(search, error)


def _run_here(search: Search) -> Answer:
    """Return the answer of a plain search, made in this thread; a failure becomes an answer as in `_run`."""
    try:
        return Answer(search.name, _read_results(search.call()))
    except Exception as error:  # noqa: BLE001  (the other searches go on)
        return _failed(search, error)


def _failed(search: Search, error: Exception) -> Answer:
    return Answer(search.name, failure=f"failed with {type(error).__name__}: {error}")


async def _call(call: Callable[[], Any]) -> Any:
    """Return the result of a coroutine function, a plain function, or a function that returns an awaitable."""
    found = call() if inspect.iscoroutinefunction(call) else await _call_in_thread(call)
    return await found if isinstance(found, Awaitable) else found


async def _call_in_thread(call: Callable[[], Any]) -> Any:
    """Return the result of a blocking call, made in a daemon thread that is abandoned when the deadline is over.

    The threads of an executor would not do: the interpreter waits for them when it exits.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def work() -> None:
        error: Exception | None
        try:
            result, error = call(), None
        except StopIteration as raised:
            # A future refuses this exception, because it would silently end the coroutine that awaits it.
            result, error = None, RuntimeError(repr(raised))
        except Exception as raised:  # noqa: BLE001  (raised again where the result is awaited)
            result, error = None, raised
        # If the loop has ended meanwhile, no caller is left to take the result.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, done, result, error)

    threading.Thread(target=work, daemon=True, name="weft-search").start()
    return await done


def _settle(done: "asyncio.Future[Any]", result: Any, error: Exception | None) -> None:
    # The deadline has passed: the future was given up, and setting it would raise in the loop.
    if done.cancelled():
        return
    if error is not None:
        done.set_exception(error)
    else:
        done.set_result(result)


def _read_results(found: Any) -> tuple[object, ...]:
    """Return the results as a tuple; a searcher may wrap them in an object, as its `results` or `items`."""
    for name in ("results", "items"):
        inner = getattr(found, name, None)
        if inner is not None and not callable(inner):
            found = inner
    if found is None:
        return ()
    # A text can be iterated too, and would become one result a letter.
    if not isinstance(found, Iterable) or isinstance(found, str | bytes):
        raise TypeError(f"a list of results was expected, not {type(found).__name__}")
    return tuple(found)
