"""Set up what the threads of a process of the service share: the interpreter and the memory."""

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from weft.runtime.heaps import share_heaps

_SWITCH_SECONDS: Final = 0.001
"""Seconds that a thread which computes keeps the interpreter while another waits for it. Light questions let go of
it at every row that they read, and waited five milliseconds each time while a heavy one was computed."""
_SWITCH_SECONDS_OF_HEAVY: Final = 0.0001
"""The same while a heavy question is computed, which is to give way. Light ones alone would only take it from each
other all the time."""
_COLLECT_AFTER: Final = 50_000
"""Values that are made and not yet freed before Python looks for cycles. With its own 700 it looked through all of
a page right after it was made, while its answer was written: a tenth of the processor time of an answer."""


def prepare_threads() -> None:
    """Set up what threads share; to be called before they are started."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(_COLLECT_AFTER)
    share_heaps()


class GivingWay:
    """The heavy questions that are computed in this process, which give way to all other threads."""

    def __init__(self) -> None:
        self._blocks, self._before = 0, 0.0
        self._guard = threading.Lock()

    @contextmanager
    def block(self) -> Iterator[None]:
        """Let other threads interrupt the block, and all that runs beside it, sooner than usual."""
        with self._guard:
            if not self._blocks:
                self._before = sys.getswitchinterval()
                sys.setswitchinterval(_SWITCH_SECONDS_OF_HEAVY)
            self._blocks += 1
        try:
            yield
        finally:
            with self._guard:
                self._blocks -= 1
                if not self._blocks:
                    sys.setswitchinterval(self._before)
