"""The time that an answer may take: stages that can do without leave something out when it is short.

A service sets a deadline around each request; the stages of the pipeline and the store's queries look at it. It is
kept in a context variable and not passed along, because it changes nothing about an answer that is given in time.
Programs that set none are never stopped, and get the same bytes every time.
"""

import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from weft.errors import WeftError

_SHORT_SHARE: Final = 0.5
"""The share of its time after which an answer leaves out what it can do without: it must still be printed."""


class OutOfTime(WeftError):
    """An answer that was stopped because its time was over, or because nobody waits for it any more."""


class Deadline:
    """The end of the time for one answer. Another thread may cancel it."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._clock = seconds, clock
        started = clock()
        self._ends, self._short_from = started + seconds, started + seconds * _SHORT_SHARE
        self._cancelled = False
        self.left_out: dict[str, None] = {}

    def cancel(self) -> None:
        """Stop the answer at the next look: nobody waits for it any more."""
        self._cancelled = True

    def lift(self) -> None:
        """Let the answer take as long as it takes: what it was to write is stored, and must be acknowledged."""
        self._ends = self._short_from = math.inf

    def remaining(self) -> float:
        """Return the seconds that are left, at least 0."""
        return 0.0 if self._cancelled else max(self._ends - self._clock(), 0.0)

    def is_over(self) -> bool:
        """Return whether the answer has to stop."""
        return (self._cancelled and self._ends < math.inf) or self._clock() >= self._ends

    def is_short(self) -> bool:
        """Return whether the answer should leave out what it can do without."""
        return self._cancelled or self._clock() >= self._short_from


_current: ContextVar[Deadline | None] = ContextVar("weft_deadline", default=None)


@contextmanager
def limit(deadline: Deadline) -> Iterator[None]:
    """Let the block, and the threads it starts work in, end by a deadline."""
    token = _current.set(deadline)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Deadline | None:
    """Return the deadline that holds here, if there is one."""
    return _current.get()


def check() -> None:
    """Raise OutOfTime if the time for the answer is over."""
    deadline = _current.get()
    if deadline is not None and deadline.is_over():
        raise out_of_time(deadline)


def out_of_time(deadline: Deadline) -> OutOfTime:
    """Return the error of an answer that took too long."""
    return OutOfTime(
        f"The answer took longer than {deadline.seconds:g} seconds and was stopped. Ask for less (fewer "
        "candidates, a shorter history, a smaller depth), or ask again later."
    )


def lift() -> None:
    """Let the answer take as long as it takes, because something is stored that must be acknowledged."""
    deadline = _current.get()
    if deadline is not None:
        deadline.lift()


def leave_out(what: str) -> bool:
    """Return whether time is short, so that a stage is left out; then it is noted as `what`, for the answer."""
    deadline = _current.get()
    if deadline is None or not deadline.is_short():
        return False
    # A mapping keeps the order and names each thing once, however many topics left it out.
    deadline.left_out[what] = None
    return True


def notes() -> tuple[str, ...]:
    """Return what was left out for want of time, as notes of the answer."""
    deadline = _current.get()
    if deadline is None:
        return ()
    return tuple(f"Time was short, so {what}. Ask for less to have all of it." for what in deadline.left_out)


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Pause Python's collector of reference cycles.

    A page makes many small values and no cycles, and looking for cycles took a seventh of its time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
