"""Several searches, at once or in turn, all with a deadline: what fails or hangs is left out and told."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, TypeVar

from weft.frozen import dataclass

Asked = TypeVar("Asked")


@dataclass(frozen=True, slots=True)
class Search:
    """One search to be made: what it is called, and a call that makes it, or a coroutine function that does."""

    name: str
    call: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search found, or what went wrong."""

    name: str
    found: tuple[object, ...] = ()
    failure: str = ""


async def search_all(searches: Sequence[Search], seconds: float) -> tuple[Answer, ...]:
    """The answers in the order of the searches, none later than the deadline."""
    return tuple(await asyncio.gather(*(_answer(search, seconds) for search in searches)))


async def search_in_turn(
    reading: AbstractContextManager[Asked],
    searches: Callable[[Asked], Sequence[Search]],
    names: Sequence[str],
    seconds: float,
) -> tuple[Answer, ...]:
    """The answers by name of searches made one after another in one thread; what is not made in time is told."""
    made: dict[str, Answer] = {}

    def work() -> None:
        with reading as asked:
            for search in searches(asked):
                made[search.name] = _tried(search)

    whole = await _answer(Search("all", work), seconds)
    return tuple(made.get(name) or Answer(name, failure=whole.failure) for name in names)


async def _answer(search: Search, seconds: float) -> Answer:
    try:
        found = await asyncio.wait_for(_made(search.call), seconds)
        return Answer(search.name, _listed(found))
    except TimeoutError:
        return Answer(search.name, failure=f"did not answer within {seconds:g} seconds")
    except Exception as error:  # noqa: BLE001  (a searcher is the caller's: whatever it raises spoils its part alone)
        return _failed(search, error)


def _tried(search: Search) -> Answer:
    try:
        return Answer(search.name, _listed(search.call()))
    except Exception as error:  # noqa: BLE001  (as above: the other searches go on)
        return _failed(search, error)


def _failed(search: Search, error: Exception) -> Answer:
    return Answer(search.name, failure=f"failed with {type(error).__name__}: {error}")


async def _made(call: Callable[[], Any]) -> Any:
    """The result of a coroutine function, a plain function, or a function that returns an awaitable."""
    found = call() if inspect.iscoroutinefunction(call) else await _in_thread(call)
    return await found if isinstance(found, Awaitable) else found


async def _in_thread(call: Callable[[], Any]) -> Any:
    """The result of a blocking call, made in a thread that nobody waits for once its deadline is over."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def work() -> None:
        error: Exception | None
        try:
            result, error = call(), None
        except StopIteration as raised:
            # No future takes this one, because it would end whatever awaits it.
            result, error = None, RuntimeError(repr(raised))
        except Exception as raised:  # noqa: BLE001  (handed to whoever awaits the result)
            result, error = None, raised
        # A loop that ended meanwhile has nobody left who wants to know.
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


def _listed(found: Any) -> tuple[object, ...]:
    """The results; those of a searcher that wraps them in an object are under `results` or `items`."""
    for name in ("results", "items"):
        inner = getattr(found, name, None)
        if inner is not None and not callable(inner):
            found = inner
    if found is None:
        return ()
    if not isinstance(found, Iterable) or isinstance(found, str | bytes):
        raise TypeError(f"a list of results was expected, not {type(found).__name__}")
    return tuple(found)
