"""Make a local index of the distribution and of everything it needs.

Installing takes a minute and a place to fetch wheels from, so these tests run with `--packaging` only
(`make test-packaging`).
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from distribution import NEWER_PYTHONS, ROOT, build, run


@pytest.fixture(scope="session")
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    if not request.config.getoption("--packaging"):
        pytest.skip("installs into new environments: run with --packaging")
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def local_index(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of Weft and all it needs, for this Python and newer ones."""
    folder = tmp_path_factory.mktemp("index")
    wanted = f"weft-context @ {wheel.as_uri()}"
    command = (sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder)
    done = run(*command, wanted)
    if done.returncode != 0:
        pytest.skip(f"the wheels cannot be fetched here: {done.stderr[-300:]}")
    for version in NEWER_PYTHONS:
        run(*command, "--python-version", version, "--only-binary=:all:", wanted)
    return folder


@pytest.fixture(autouse=True)
def no_installation_is_left(tmp_path: Path) -> Iterator[None]:
    """Remove what a test installed, some 400 MB, because pytest keeps the folders of three runs.

    What a failed command printed is in the test's message.
    """
    yield
    shutil.rmtree(tmp_path, ignore_errors=True)
