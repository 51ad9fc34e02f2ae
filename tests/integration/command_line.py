"""Helpers that the tests of the command line share."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True, slots=True)
class Done:
    """The exit code and output of one command."""

    code: int
    out: str
    err: str


Cli = Callable[..., Done]


def run_on_terminal(folder: Path, *words: str, typed: bytes = b"", **variables: str) -> tuple[int, bytes]:
    """Run `weft` on a terminal, with what is typed there; return its exit code and all that the terminal shows."""
    ours, theirs = pty.openpty()
    around = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent / "src"), **variables}
    command = [sys.executable, "-m", "weft", *words]
    with subprocess.Popen(command, cwd=folder, env=around, stdin=theirs, stdout=theirs, stderr=theirs) as running:
        os.close(theirs)
        os.write(ours, typed)
        seen = b""
        while True:
            try:
                part = os.read(ours, 65_536)
            except OSError:
                # Linux reports the end of a terminal as an error.
                break
            if not part:
                break
            seen += part
        code = running.wait()
    os.close(ours)
    return code, seen
