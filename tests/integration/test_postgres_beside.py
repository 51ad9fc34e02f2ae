"""Words and meaning searched at once through two connections that see the same moment of the store."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from postgres_server import drop_schema
from weft import Node, Weft
from weft.errors import InvalidInput
from weft.model import View
from weft.store.postgres import PostgresStore

Open = Callable[..., Weft]


@pytest.fixture
def opened(postgres_url: str, tmp_path: Path) -> Iterator[Open]:
    """Opens a store of foxes whose engines are asked however small it is."""
    wefts: list[Weft] = []

    def opening(parameters: str = "") -> Weft:
        weft = Weft.open(f"{postgres_url}&schema=beside{parameters}", folder=tmp_path)
        weft.reader.index._exact_below = 10  # type: ignore[union-attr]
        # A pool that is asked for its first second connection has time to make it.
        weft.store.pools.primary.spare_wait_seconds = 5.0  # type: ignore[union-attr]
        weft.put([Node(f"s:{n}", "note", title=f"note {n}", text=f"red fox {n}") for n in range(30)])
        wefts.append(weft)
        return weft

    yield opening
    for weft in wefts:
        weft.close()
    drop_schema(postgres_url, "beside")


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each walk of the graph, whether it went on beside the thread that asks."""
    seen: list[bool] = []
    execute = psycopg.Cursor.execute

    def noted(self: psycopg.Cursor, query: str, *given: object, **options: object) -> object:
        if "<=>" in query:
            seen.append(threading.current_thread() is not threading.main_thread())
        return execute(self, query, *given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(psycopg.Cursor, "execute", noted)
    return seen


def keys(weft: Weft) -> list[str]:
    return [each.node.key for each in weft.search("red fox 7", limit=3).candidates]


def test_the_graph_is_walked_beside_the_search_for_words(opened: Open, walks: list[bool]) -> None:
    assert keys(opened())[0] == "s:7"
    assert set(walks) == {True}


def test_a_store_that_moved_on_meanwhile_is_searched_through_the_first_connection(
    opened: Open, walks: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    weft, beside = opened(), PostgresStore.second_snapshot

    @contextmanager
    def after_a_write(store: PostgresStore, snapshot: object) -> Iterator[object]:
        weft.put([Node("s:late", "note", text="red fox 7")])
        with beside(store, snapshot) as twin:  # type: ignore[arg-type]
            yield twin

    monkeypatch.setattr(PostgresStore, "second_snapshot", after_a_write)
    assert "s:late" not in keys(weft)
    assert set(walks) == {False}


def test_who_may_have_one_connection_searches_one_after_the_other(opened: Open, walks: list[bool]) -> None:
    assert keys(opened("&connections=1"))[0] == "s:7"
    assert set(walks) == {False}


def test_a_second_connection_that_breaks_leaves_the_search_to_the_first(
    opened: Open, walks: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    weft = opened()
    semantic = type(weft.reader.index).semantic

    def broken(index: object, snapshot: object, *given: object) -> object:
        if threading.current_thread() is not threading.main_thread():
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return semantic(index, snapshot, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(type(weft.reader.index), "semantic", broken)
    assert keys(weft)[0] == "s:7"
    assert set(walks) == {False}


@pytest.mark.parametrize(
    ("parameters", "passages", "candidates"),
    [
        ("", 250_000, "200"),
        ("", 1_000_000, "400"),
        ("", 100_000_000, "1000"),
        ("&candidates=300", 1_000_000, "300"),
    ],
)
def test_the_graph_is_walked_for_more_candidates_where_there_are_more_passages_or_as_the_address_says(
    opened: Open, parameters: str, passages: int, candidates: str
) -> None:
    store = opened(parameters).store
    with store.writing():
        store.execute_outside_transaction(f"UPDATE state SET last_passage = {passages}")  # type: ignore[attr-defined]
    for reading in (store.snapshot_of_all_tenants(), store.snapshot(View())):
        with reading as snapshot:
            assert snapshot.rows("SHOW hnsw.ef_search") == [(candidates,)]  # type: ignore[attr-defined]


def test_a_number_of_candidates_that_the_server_would_refuse_is_refused(opened: Open) -> None:
    with pytest.raises(InvalidInput, match="'0' is no number of candidates"):
        opened("&candidates=0")
