"""Let the threads of a process share few heaps of the C library, and give back what these do not use."""

import ctypes
from typing import Final

_ARENA_MAX: Final = -8
"""The name of the setting in glibc's malloc.h."""
_ARENAS: Final = 2
"""Heaps that all threads share: one for each thread that computes at once. By default glibc makes eight for each
processor, and each of them keeps the most that any thread ever had in it."""


def share_heaps() -> bool:
    """Let all threads take their memory from a few heaps; return whether the system's malloc can be told so."""
    try:
        return bool(ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS))
    except (AttributeError, OSError, TypeError):
        # Another C library: musl has one heap, and Windows and macOS have none of this kind.
        return False


def give_back() -> bool:
    """Give the memory that the heaps hold free back to the system; return whether the system's malloc can do that.

    By itself glibc gives back only the end of a heap. What one large answer needed in the middle of it stays with
    the process, and with every answer at another place.
    """
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return False
    return True
