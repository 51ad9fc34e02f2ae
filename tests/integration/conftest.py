"""The command line run in this process over real stores."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import EXAMPLES, Cli, Done

from weft.interfaces.cli import run


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
    """A store of the novel and the help reading, made once by the command line."""
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
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for part in (folder, *folder.rglob("*")):
        part.chmod(0o755)
    shutil.rmtree(folder)
