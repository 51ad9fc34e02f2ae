"""Worlds for the tests of attacks."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rest_service import Service, make_service


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
