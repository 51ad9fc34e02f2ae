"""What was worked out last, remembered for whoever asks again, from any thread."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """The values last put or got, at most so many of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Key, Value] = OrderedDict()
        self._guard = threading.Lock()

    def __contains__(self, key: Key) -> bool:
        with self._guard:
            return key in self._kept

    def get(self, key: Key) -> Value | None:
        """The value of a key, or None where it is not remembered."""
        with self._guard:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key]

    def put(self, key: Key, value: Value) -> Value:
        """Remember a value, and return it."""
        with self._guard:
            self._kept[key] = value
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return value

    def get_or_make(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value of a key, made now if it is not remembered; two who ask at once may both make it."""
        known = self.get(key)
        return self.put(key, make()) if known is None else known

    def clear(self) -> None:
        """Forget everything."""
        with self._guard:
            self._kept.clear()
