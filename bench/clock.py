"""Time by name without counting anything twice: what runs inside a named part is taken from the part around it."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Clock:
    """Seconds by name, each second under the innermost name."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._open: list[str] = ["rest"]
        self._since = time.perf_counter()

    @contextmanager
    def during(self, name: str) -> Iterator[None]:
        """Book the time of the block under a name."""
        self._turn()
        self._open.append(name)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its time booked under a name."""

        def call(*arguments: Any, **named: Any) -> Any:
            with self.during(name):
                return function(*arguments, **named)

        return call

    def timed_steps(self, name: str, function: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        """Return the generator function with the time of its steps booked under a name."""

        def steps(*arguments: Any, **named: Any) -> Iterator[Any]:
            made = function(*arguments, **named)
            while True:
                with self.during(name):
                    step = next(made, None)
                if step is None:
                    return
                yield step

        return steps

    def _turn(self) -> None:
        now = time.perf_counter()
        self.seconds[self._open[-1]] += now - self._since
        self._since = now


class Watched:
    """An object some of whose methods are replaced; all else is the object's own."""

    def __init__(self, inner: Any, **replaced: Callable[..., Any]) -> None:
        self._inner = inner
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
