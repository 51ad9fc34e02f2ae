"""The engines that every contract of a store and of an index is tried on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backends import CLUSTER, PAIRS, STORES, Backend
from weft.ports import Index, Store
from weft.testing import store, world
from weft.testing.index_world import OpenIndex
from weft.testing.store_worlds import OpenStore

__all__ = ["store", "world"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Stores alone are tried once each, with an index in every pair; those about files, and all
    without --backends, on the embedded engine only."""
    every = metafunc.config.getoption("--backends")
    if "standing" in metafunc.fixturenames:
        pairs = [(name, state) for name in (PAIRS if every else PAIRS[:1]) for state in metafunc.module.STATES]
        metafunc.parametrize("standing", pairs, indirect=True, scope="module", ids=map(" ".join, pairs))
    if "backend" not in metafunc.fixturenames:
        return
    names = PAIRS if "open_index" in metafunc.fixturenames else STORES
    if metafunc.module.__name__.endswith("_conformance"):
        names = (*names, CLUSTER)
    only = metafunc.definition.get_closest_marker("backends")
    if "derived" in metafunc.fixturenames:
        names = ("sqlite",)
    wanted = [name for name in names if only is None or name in only.args]
    if not every:
        wanted = [name for name in wanted if name == "sqlite"]
    metafunc.parametrize("backend", wanted, indirect=True)


@pytest.fixture
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """The engine under trial, with places of its own."""
    if not request.param.startswith("postgres"):
        yield Backend(request.param, tmp_path)
        return
    if request.param == "postgres-milvus":
        pytest.importorskip("milvus_lite")
    server, ordinary = request.getfixturevalue("contracts_database")
    yield Backend(request.param, tmp_path, ordinary)
    _empty(server)


@pytest.fixture(scope="session")
def contracts_database(postgres_url: str) -> tuple[str, str]:
    """The URL of a database for each worker's tests, as the server's owner and as an ordinary user.

    It is emptied after every test, not dropped: that is quicker.
    """
    from postgres_server import as_ordinary_user, new_database

    server = new_database(postgres_url, "contracts")
    return server, as_ordinary_user(server)


def _empty(server: str) -> None:
    import psycopg

    with psycopg.connect(server, autocommit=True) as link:
        rows = link.execute(
            "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE c.relname = 'migrations'"
        ).fetchall()
        link.execute("SET client_min_messages = warning")
        for (name,) in rows:
            link.execute(f'DROP SCHEMA "{name}" CASCADE')


@pytest.fixture
def open_store(backend: Backend) -> Iterator[OpenStore]:
    """Opens stores by name; the same name twice is the same store opened twice. All are closed at the end."""
    opened: list[Store] = []

    def opening(name: str = "world", **options: object) -> Store:
        opened.append(backend.store(name, **options))
        return opened[-1]

    yield opening
    for each in opened:
        each.close()


@pytest.fixture
def derived(backend: Backend) -> Path:
    """The folder in which the index of the store keeps its files."""
    return backend.derived()


@pytest.fixture
def open_index(backend: Backend, open_store: OpenStore) -> Iterator[OpenIndex]:
    """Opens the index of the store, each time as a new process would. All are closed at the end."""
    opened: list[Index] = []

    def opening(place: str = "world", **options: object) -> Index:
        opened.append(backend.index(open_store(place), place, **options))
        return opened[-1]

    yield opening
    for index in opened:
        index.close()
