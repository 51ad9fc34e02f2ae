"""Pages kept for a while: a page is given again until it is too old or the store has changed."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Final

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
