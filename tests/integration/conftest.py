"""The command line run in this process over real stores."""

import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from command_line import EXAMPLES, Cli, Done

from rest_service import Service, make_service
from weft.interfaces.cli import run

_SCHEMA_NUMBERS = count()
"""One for each test that has a store of its own on a server."""


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """Runs `weft` with the given words in an empty working folder, far from the user's own stores."""
    for name in ("WEFT_STORE", "WEFT_EMBEDDER", "WEFT_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    # Set, not taken away, so that what `--index` leaves in the environment is undone too.
    monkeypatch.setenv("WEFT_INDEX", "")
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    working = tmp_path / "work"
    working.mkdir()
    monkeypatch.chdir(working)

    def call(*words: object) -> Done:
        capsys.readouterr()
        code = run([str(word) for word in words])
        printed = capsys.readouterr()
        return Done(code, printed.out, printed.err)

    return call


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the novel and the help desk, made once by the command line."""
    store = tmp_path_factory.mktemp("made") / ".weft"
    assert (
        run(["index", str(EXAMPLES / "novel"), str(EXAMPLES / "helpdesk"), "--store", str(store), "--json"]) == 0
    )
    return store


@pytest.fixture
def world(made: Path, cli: Cli, tmp_path: Path) -> Path:
    """A copy of that store as the working folder's own `.weft/`."""
    return Path(shutil.copytree(made, tmp_path / "work" / ".weft"))


@pytest.fixture
def service(helpdesk: Path, tmp_path: Path) -> Iterator[Service]:
    """A service over a copy of the help desk's store, which a test may change."""
    # Other tests serve the store itself, which notes whom it refuses.
    left_out = shutil.ignore_patterns("audit.log")
    made = make_service(Path(shutil.copytree(helpdesk, tmp_path / ".weft", ignore=left_out)))
    yield made
    made.served.close()


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    """The URL of a store on a PostgreSQL server that is not there yet."""
    from postgres_server import drop_schema

    name = f"new{next(_SCHEMA_NUMBERS)}"
    yield f"{postgres_url}&schema={name}"
    drop_schema(postgres_url, name)
