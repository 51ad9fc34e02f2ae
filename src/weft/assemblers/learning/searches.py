"""Run several searches with a deadline, at once or in turn; one that fails or hangs spoils no other."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, TypeVar

from msgspec import Struct

SharedSearcher = TypeVar("SharedSearcher")


class Search(Struct, frozen=True):
    """One search to run: its name, and a plain or coroutine function that runs it."""

    name: str
    call: Callable[[], Any]


class Answer(Struct, frozen=True):
    """The results of a search, or what went wrong."""

    name: str
    results: tuple[object, ...] = ()
    failure: str = ""


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
                done[search.name] = _run_here(search)

    whole = await _run(Search("all", work), seconds)
    return tuple(done.get(name) or Answer(name, failure=whole.failure) for name in names)


async def _run(search: Search, seconds: float) -> Answer:
    try:
        found = await asyncio.wait_for(_call(search.call), seconds)
        return Answer(search.name, _read_results(found))
    except TimeoutError:
        return Answer(search.name, failure=f"did not answer within {seconds:g} seconds")
    except Exception as error:  # noqa: BLE001  (a searcher is the caller's: whatever it raises spoils its part alone)
        return _failed(search, error)


def _run_here(search: Search) -> Answer:
    """Run a plain search in the current thread."""
    try:
        return Answer(search.name, _read_results(search.call()))
    except Exception as error:  # noqa: BLE001  (as above: the other searches go on)
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
    if not isinstance(found, Iterable) or isinstance(found, str | bytes):
        raise TypeError(f"a list of results was expected, not {type(found).__name__}")
    return tuple(found)
