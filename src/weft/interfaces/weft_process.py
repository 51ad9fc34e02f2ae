"""Start Weft itself in the background."""

import subprocess
import sys
from collections.abc import Sequence


def start_weft(*arguments: str, prefix: Sequence[str] = ()) -> "subprocess.Popen[bytes]":
    """Start a command of Weft that is neither waited for nor ended with this process; `prefix` goes before it."""
    return subprocess.Popen(
        [*prefix, sys.executable, "-m", "weft", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
