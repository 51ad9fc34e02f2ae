"""Set up what the threads of a process of the service share: the interpreter and the memory."""

import ctypes
import sys
from typing import Final

_SWITCH_SECONDS: Final = 0.001
"""Seconds that a thread which computes keeps the interpreter while another waits for it. Light questions let go of
it at every row that they read, and waited five milliseconds each time while a heavy one was computed."""
_ARENA_MAX: Final = -8
"""The name of the setting in glibc's malloc.h."""
_ARENAS: Final = 2
"""Heaps that all threads share: one for each thread that computes at once. By default glibc makes eight for each
processor, and each of them keeps the most that any thread ever had in it."""


def prepare_threads() -> None:
    """Set up what threads share; to be called before they are started."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    share_heaps()


def share_heaps() -> bool:
    """Let all threads take their memory from a few heaps; return whether the system's malloc can be told so."""
    try:
        return bool(ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS))
    except (AttributeError, OSError, TypeError):
        # Another C library: musl has one heap, and Windows and macOS have none of this kind.
        return False
