"""`weft index --watch` follows what changes until it is interrupted."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"
# Whoever runs the tests in the background may have told them to ignore interrupts.
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from weft.interfaces.cli import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts are sent differently there")
def test_a_file_that_comes_while_watching_is_indexed(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("def first(): ...\n", encoding="utf-8")
    command = [sys.executable, "-c", PROGRAM, "index", "code", "--watch", "--json", "--embedder", "none"]
    around = {**os.environ, "PYTHONPATH": str(SOURCES)}
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=around,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as watching:
        assert watching.stdout is not None
        try:
            first = _report(watching.stdout.readline())
            assert first["kinds"] == {"file": 1, "function": 1}
            (tmp_path / "code" / "build.log").write_text("nobody reads this\n", encoding="utf-8")
            (tmp_path / "code" / "b.py").write_text("class Second: ...\n", encoding="utf-8")
            second = _report(watching.stdout.readline())
            assert (second["units"], second["kinds"]) == (2, {"class": 1, "file": 1})
            watching.send_signal(signal.SIGINT)
            assert watching.wait(60) == 0
        finally:
            watching.kill()


def _report(line: str) -> dict[str, object]:
    result = json.loads(line)
    assert isinstance(result, dict)
    return result
