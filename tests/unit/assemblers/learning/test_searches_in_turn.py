"""One reading for all searches of a store: what fails, hangs or cannot be opened spoils as little as it may."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from weft import Weft
from weft.assemblers.learning.assembler import SOURCES, ContextAssembler, Search, search_in_turn
from weft.assemblers.learning.results import Answer
from weft.assemblers.learning.store_searcher import StoreSearcher
from weft.memory.memory_store import remember
from weft.model import View
from weft.pipeline.query import Reading

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@contextmanager
def counting(opened: list[str]) -> Iterator[list[str]]:
    opened.append("opened")
    yield opened
    opened.append("closed")


def answers(
    *calls: Callable[[], object], seconds: float = 5.0, log: list[str] | None = None
) -> tuple[Answer, ...]:
    searches = [Search(str(index), call) for index, call in enumerate(calls)]
    names = [search.name for search in searches]
    return asyncio.run(search_in_turn(counting([] if log is None else log), lambda _: searches, names, seconds))


def test_searches_in_turn_are_made_in_one_thread_and_one_reading() -> None:
    log: list[str] = []

    def note() -> list[str]:
        log.append(threading.current_thread().name)
        return [log[0]]

    assert answers(note, note, log=log) == (Answer("0", ("opened",)), Answer("1", ("opened",)))
    assert log == ["opened", "weft-search", "weft-search", "closed"]


def test_a_search_in_turn_that_raises_leaves_the_others() -> None:
    found = answers(lambda: [1], lambda: 1 / 0, lambda: [3])
    assert [answer.results for answer in found] == [(1,), (), (3,)]
    assert found[1].failure == "failed with ZeroDivisionError: division by zero"


def test_at_the_deadline_what_was_made_in_turn_is_kept() -> None:
    never = threading.Event()
    found = answers(lambda: [1], never.wait, lambda: [3], seconds=0.2)
    never.set()
    assert [answer.results for answer in found] == [(1,), (), ()]
    assert [answer.failure for answer in found[1:]] == ["did not answer within 0.2 seconds"] * 2


def test_a_reading_that_cannot_be_opened_is_told_of_every_search() -> None:
    @contextmanager
    def closed() -> Iterator[None]:
        raise OSError("gone")
        yield

    found = asyncio.run(search_in_turn(closed(), lambda _: [], ["a", "b"], 5.0))
    assert found == tuple(Answer(name, failure="failed with OSError: gone") for name in "ab")


# --- over a store ----------------------------------------------------------------------------------------


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft") as opened:
        yield opened


def test_a_store_in_a_file_is_read_once_for_all_sources(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(weft.workshop(), "Start the broker first", now=NOW)
    opened: list[View] = []
    reading = Weft.reading

    def counted(self: Weft, view: View) -> object:
        opened.append(view)
        return reading(self, view)

    monkeypatch.setattr(Weft, "reading", counted)
    assembler = ContextAssembler(StoreSearcher(weft), clock=lambda: NOW)
    answer = asyncio.run(assembler.assemble_context("broker", tuple(SOURCES)))
    assert (answer.sources_used, len(opened)) == ({"memory": 1}, 1)


def test_one_reading_and_many_give_the_same_page(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        remember(weft.workshop(), f"Start broker {number} before service {number + 7}", now=NOW)
    assembler = ContextAssembler(StoreSearcher(weft), clock=lambda: NOW)
    together = asyncio.run(assembler.assemble_context("broker", tuple(SOURCES)))
    monkeypatch.setattr(StoreSearcher, "reading", lambda _: None)
    assert asyncio.run(assembler.assemble_context("broker", tuple(SOURCES))) == together


def test_a_shared_reading_sees_one_state_of_the_store(weft: Weft) -> None:
    remember(weft.workshop(), "Start the broker first", now=NOW)
    reading = StoreSearcher(weft).reading()
    assert reading is not None
    with reading as searcher:
        assert isinstance(searcher.shared_reading, Reading)
        remember(weft.workshop(), "Stop the broker last of all", now=NOW)
        assert len(searcher.search_memories("broker", 5)) == 1
        assert len(replace(searcher, shared_reading=None).search_memories("broker", 5)) == 2
