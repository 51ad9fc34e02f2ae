"""Keep values that were used lately in a small cache, and what one question opens open until it is answered."""

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar, cast

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Opened = TypeVar("Opened")


class LruCache(Generic[Key, Value]):
    """The values that were stored or read last, at most `max_entries` of them.

    Built on OrderedDict, which is written in C: cachetools.LRUCache keeps its order in Python and costs 1.7 times
    as much for a hit and 2.3 times as much for a put, and questions come through here many times.
    """

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, key: Key) -> bool:
        with self._lock:
            return key in self._entries

    def get(self, key: Key) -> Value | None:
        """Return the value of a key and mark it as used last, or None when the cache does not hold it."""
        with self._lock:
            # Asked for by `in`: a stored value may be falsy.
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def put(self, key: Key, value: Value) -> Value:
        """Store a value, drop what was used longest ago when the cache is full, and return the value."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            while len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)
        return value

    def get_or_make(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the value of a key, making and storing it when the cache does not hold it.

        The lock is not held while a value is made, so two threads that ask at once may both make it.
        """
        value = self.get(key)
        # Values are never None, so None means that the key is missing.
        return self.put(key, make()) if value is None else value

    def clear(self) -> None:
        """Drop all values."""
        with self._lock:
            self._entries.clear()


class CachedRows(dict[int, Value]):
    """Rows by their number; drops all when full, which changes no answer.

    Of one read no more than `max_rows_at_once` are kept: a reader of more goes through the whole store and does
    not come back to them.
    """

    def __init__(self, max_rows: int, max_rows_at_once: int) -> None:
        super().__init__()
        self._max_rows, self._max_rows_at_once = max_rows, max_rows_at_once

    def get_rows(
        self, numbers: Iterable[int], read: Callable[[list[int]], Mapping[int, Value]]
    ) -> dict[int, Value]:
        """Return the rows that exist, in the order asked, reading those that are not cached."""
        asked = list(numbers)
        # All numbers are entered first, so that the result has their order whichever rows are cached.
        found = dict(zip(asked, map(self.get, asked), strict=True))
        missing = [number for number, row in found.items() if row is None]
        if missing:
            fresh = read(missing)
            found.update(fresh)
            self._keep(fresh)
            missing = missing if len(fresh) < len(missing) else []
        if not missing:
            return cast("dict[int, Value]", found)
        return {number: row for number, row in found.items() if row is not None}

    def _keep(self, fresh: Mapping[int, Value]) -> None:
        if len(fresh) > self._max_rows_at_once:
            return
        if len(self) + len(fresh) > self._max_rows:
            # Clearing is one step for other threads, and cheaper than keeping an order of use for every row.
            self.clear()
        self.update(fresh)


# --- something that is open while a question is answered ----------------------------------------------------


class _Shared:
    """A resource that its first user opens, and that all others of the same question use too."""

    def __init__(self) -> None:
        self.held = ExitStack()
        self.key: object = None
        self.opened: object = None
        self.users = 0

    def close(self) -> None:
        """Close what is open."""
        self.key = self.opened = None
        self.held.close()


_shared: ContextVar[_Shared | None] = ContextVar("weft_shared", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """Let all that `open_shared` opens under one key in the block be the same."""
    shared = _Shared()
    token = _shared.set(shared)
    try:
        yield
    finally:
        _shared.reset(token)
        shared.close()


@contextmanager
def open_shared(key: object, opening: Callable[[], AbstractContextManager[Opened]]) -> Iterator[Opened]:
    """Give the block what is open under the key, or open it; outside `sharing` it is the block's own."""
    shared = _shared.get()
    # While another key is in use, what it stands for must stay open.
    if shared is None or (shared.users and shared.key != key):
        with opening() as own:
            yield own
        return
    if shared.key != key:
        shared.close()
        shared.opened, shared.key = shared.held.enter_context(opening()), key
    shared.users += 1
    try:
        yield cast("Opened", shared.opened)
    except BaseException:
        # Told of the error, so that it is translated as it would be without sharing; then it is opened anew.
        if shared.users == 1:
            shared.key = None
            shared.held.__exit__(*sys.exc_info())
        raise
    finally:
        shared.users -= 1
