"""Somebody with only Python follows each quick start of the README literally, with the wheel of this tree.

The commands are typed as they stand, in an empty folder and an environment that has nothing else; what they print
must be what the README shows.
"""

import resource
import venv
from pathlib import Path

import pytest

from doc_blocks import ROOT, Block, Reader, find_blocks, is_printed, steps

QUICK_STARTS = [
    block for block in find_blocks((ROOT / "README.md").read_text("utf-8")) if block.mark == "new folder"
]
MAX_MACHINE_SECONDS = 120
"""The processor time within which a newcomer succeeds, installing included."""


def machine_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("block", QUICK_STARTS, ids=["agent", "service", "novel", "notes"])
def test_a_newcomer_succeeds(block: Block, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    environment, before = tmp_path / "environment", machine_seconds()
    venv.create(environment, with_pip=True)
    reader = Reader(tmp_path / "folder", python=str(environment / "bin" / "python"), source=None)
    try:
        for command, shown in steps(block.body):
            code, printed, errors = reader.shell(command)
            if "No matching distribution" in errors:
                pytest.skip(f"the wheels cannot be fetched here: {errors[-300:]}")
            assert code == 0, f"{command}\n{errors}"
            assert is_printed(shown, printed), f"{command} prints something else:\n{printed}"
    finally:
        reader.close()
    assert machine_seconds() - before < MAX_MACHINE_SECONDS
