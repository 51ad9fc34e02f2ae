"""Worlds for the tests of attacks."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rest_service import EXAMPLES, Service, make_service
from weft import Weft


@pytest.fixture(scope="session")
def helpdesk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the help desk, made once."""
    store = tmp_path_factory.mktemp("helpdesk") / ".weft"
    with Weft.open(store) as weft:
        weft.index(EXAMPLES / "helpdesk")
    return store


@pytest.fixture
def store(helpdesk: Path, tmp_path: Path) -> Path:
    """A copy of the help desk's store that a test may spoil."""
    return Path(shutil.copytree(helpdesk, tmp_path / ".weft"))


@pytest.fixture
def service(store: Path) -> Iterator[Service]:
    """A service over that copy."""
    made = make_service(store)
    yield made
    made.served.close()
