"""The engines that every contract of a store is tried on; a new engine adds one entry."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from store_worlds import OpenStore

from weft.ports import Store
from weft.store.sqlite import SqliteStore


def _open_sqlite(folder: Path, **options: object) -> Store:
    return SqliteStore.open(folder, **options)  # type: ignore[arg-type]


ENGINES = {"sqlite": _open_sqlite}


@pytest.fixture(params=sorted(ENGINES))
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """Opens stores by name; the same name twice is the same store opened twice. All are closed at the end."""
    opened: list[Store] = []

    def opening(name: str = "world", **options: object) -> Store:
        opened.append(ENGINES[request.param](tmp_path / name / ".weft", **options))
        return opened[-1]

    yield opening
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    """A new, empty store."""
    return open_store()
