"""Build `recorder.c` and call it from inside a process that was started with it."""

import ctypes
import shutil
import subprocess
from pathlib import Path

SYNC, WRITE, CHANGE = b"S", b"W", b"O"
"""The kinds of calls that can fail: syncing, writing, and whatever opens a file for writing or changes a name."""
ALL = 1 << 40


def build_recorder(folder: Path) -> Path | None:
    """Return the library, built into the folder; None where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    library = folder / "recorder.so"
    source = Path(__file__).with_name("recorder.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-w", "-o", library, source, "-ldl"], check=True)
    return library


def fail_calls(kind: bytes, after: int = 0, times: int = ALL) -> int:
    """Let calls of a kind fail; return how many of the kind before there were since the last time."""
    fail = ctypes.CDLL(None).torture_fail
    fail.argtypes, fail.restype = (ctypes.c_char, ctypes.c_long, ctypes.c_long), ctypes.c_long
    return int(fail(kind, after, times))


def fail_nothing() -> int:
    """Let all calls do what they should; return how many were counted."""
    return fail_calls(b"-")
