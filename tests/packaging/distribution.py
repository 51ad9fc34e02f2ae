"""Build the distribution, and find the programs that install it."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD_TIME = "1700000000"
"""Any fixed time: what is packed carries it instead of the time of the build."""
NEWER_PYTHONS = ("3.12", "3.13", "3.14")


def run(
    *command: str | Path, environment: dict[str, str] | None = None, folder: Path | None = None, given: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run a program without the paths and settings of this test run, and return what it printed."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "WEFT_STORE", "PYTHONHOME")
    around = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        [str(word) for word in command],
        env=around | (environment or {}),
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def succeed(
    *command: str | Path, environment: dict[str, str] | None = None, folder: Path | None = None, given: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run a program like `run`, and fail with all that it printed and the room on the disk unless it succeeds."""
    done = run(*command, environment=environment, folder=folder, given=given)
    if done.returncode != 0:
        free_mb = shutil.disk_usage(tempfile.gettempdir()).free // 1_000_000
        words = " ".join(str(word) for word in command)
        pytest.fail(
            f"{words}\nended with {done.returncode}; {free_mb:,} MB are free.\n"
            f"--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}",
            pytrace=False,
        )
    return done


def build(tree: Path, target: Path) -> dict[str, bytes]:
    """Build wheel and sdist of a tree into a folder, and return their content by name."""
    pytest.importorskip("hatchling")
    succeed(
        *(sys.executable, "-m", "hatchling", "build", "-d", target),
        environment={"SOURCE_DATE_EPOCH": BUILD_TIME},
        folder=tree,
    )
    return {file.name: file.read_bytes() for file in sorted(target.iterdir())}


def find_tool(name: str) -> Path:
    """Return the path of a program, also of one beside this Python; skip the test if there is none."""
    found = shutil.which(
        name, path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    )
    if found is None:
        pytest.skip(f"{name} is not installed")
    return Path(found)


def find_python(version: str) -> Path:
    """Return a Python of this version on the path or among those of pyenv; skip the test if there is none."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = shutil.which(f"python{version}")
    for python in (*([Path(on_path)] if on_path else []), *sorted(kept.glob(f"{version}.*/bin/python{version}"))):
        # A shim of pyenv exists also for versions that are not chosen, and then fails.
        if run(python, "-c", "").returncode == 0:
            return python
    pytest.skip(f"there is no Python {version} here")
