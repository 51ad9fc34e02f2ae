"""The engines that every contract of a store is tried on; a new engine adds one entry."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from index_world import DIMENSIONS, OpenIndex
from store_worlds import OpenStore

from weft.ports import Index, Store
from weft.store.index import EmbeddedIndex
from weft.store.sqlite import SqliteStore


def _open_sqlite(folder: Path, **options: object) -> Store:
    return SqliteStore.open(folder, **options)  # type: ignore[arg-type]


ENGINES = {"sqlite": _open_sqlite}
INDEXES = {"embedded": EmbeddedIndex}


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


@pytest.fixture
def world(store: Store) -> Store:
    """A new, empty store that takes the vectors of the small worlds for searching."""
    store.remember_embedder("test", DIMENSIONS)
    return store


@pytest.fixture
def derived(tmp_path: Path) -> Path:
    """The folder in which the index of the store keeps its files."""
    return tmp_path / "world" / ".weft" / "derived"


@pytest.fixture(params=sorted(INDEXES))
def open_index(request: pytest.FixtureRequest, derived: Path) -> Iterator[OpenIndex]:
    """Opens the index of the store, each time as a new process would. All are closed at the end."""
    opened: list[Index] = []

    def opening(**options: object) -> Index:
        opened.append(INDEXES[request.param](derived, **options))  # type: ignore[arg-type]
        return opened[-1]

    yield opening
    for index in opened:
        index.close()
