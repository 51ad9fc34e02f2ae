"""Options of the whole suite, and the stores, folders and servers that tests of several kinds share."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says something about the machine, not about the code.
settings.register_profile("weft", deadline=None)
settings.load_profile("weft")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` rewrites the golden pages; the others try what takes a server, a browser or a while."""
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/pages anew")
    parser.addoption("--backends", action="store_true", help="also try the engines that need a server")
    parser.addoption("--browser", action="store_true", help="also try the explorer in a real browser")
    parser.addoption("--packaging", action="store_true", help="also install Weft with pip, pipx and uv")


def pytest_configure(config: pytest.Config) -> None:
    """The marks that tests may carry."""
    config.addinivalue_line("markers", "backends(*names): only for these engines")


@pytest.fixture(autouse=True)
def unconfigured_logs() -> Iterator[None]:
    """Leave structlog as it was found: capturing its lines in one test configures it for all that follow."""
    yield
    structlog = sys.modules.get("structlog")
    if structlog is not None and structlog.is_configured():
        structlog.reset_defaults()


@pytest.fixture(scope="session")
def helpdesk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the help desk, made once; a test that writes takes a copy."""
    from weft import Weft

    store = tmp_path_factory.mktemp("helpdesk") / ".weft"
    with Weft.open(store) as weft:
        weft.index(Path(__file__).parents[1] / "examples" / "helpdesk")
    return store


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for part in (folder, *folder.rglob("*")):
        part.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a real PostgreSQL server; tests that want it run with --backends."""
    if not request.config.getoption("--backends"):
        pytest.skip("needs a PostgreSQL server: run with --backends")
    # The wheel with the server is not made for every machine.
    pytest.importorskip("pgserver")
    from postgres_server import running_server

    # Not below pytest's own folder, which it closes to the user that the server runs as when we are root.
    with (
        tempfile.TemporaryDirectory(prefix="weft-postgres-", ignore_cleanup_errors=True) as folder,
        running_server(Path(folder) / "data") as url,
    ):
        yield url
