"""Work beside this process gives what the same work here gives, whatever happens to the other process."""

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from weft.indexing import worker
from weft.indexing.worker import Beside, Trade

BATCHES = [[f"lamp {place} of pier {batch}" for place in range(5)] for batch in range(9)]


def counting(prefix: str) -> Callable[[Sequence[str]], list[str]]:
    """A worker that says in which process each thing was done."""
    return lambda batch: [f"{prefix}{len(each)}" for each in batch]


def telling() -> Callable[[Sequence[str]], list[int]]:
    return lambda batch: [os.getpid()] * len(batch)


def failing() -> Callable[[Sequence[str]], list[str]]:
    def work(batch: Sequence[str]) -> list[str]:
        raise ValueError(batch[0])

    return work


@pytest.fixture(autouse=True)
def start_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_ALONE", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)


@pytest.fixture(autouse=True)
def found_by_the_other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def answers(trade: Trade[str, list[str]]) -> list[list[str]]:
    with Beside(trade) as desk:
        return [answer for _, answer in desk.each(BATCHES)]


def test_answers_come_in_the_order_of_the_batches() -> None:
    assert answers(Trade(counting, ("n",))) == [counting("n")(batch) for batch in BATCHES]


def test_both_processes_work_and_nobody_waits_for_the_other_while_a_batch_is_not_begun() -> None:
    with Beside(Trade(telling, ())) as desk:
        asked = [desk.submit(batch) for batch in BATCHES]
        done = [asked[-1](), *(each() for each in asked[:-1])]
    assert {pid for answer in done for pid in answer} >= {os.getpid()}
    assert len({pid for answer in done for pid in answer}) == 2
    assert done[0] == [os.getpid()] * 5


def test_what_cannot_be_handed_over_is_done_here() -> None:
    assert answers(Trade(lambda _: counting("n"), (threading.Lock(),))) == [
        counting("n")(batch) for batch in BATCHES
    ]


def test_a_process_that_dies_costs_nothing_but_time() -> None:
    with Beside(Trade(counting, ("n",))) as desk:
        asked = [desk.submit(BATCHES[0])]
        assert desk._other is not None
        desk._other._process.kill()
        desk._other._process.wait()
        asked += [desk.submit(batch) for batch in BATCHES[1:]]
        assert [each() for each in asked] == [counting("n")(batch) for batch in BATCHES]


def test_an_error_is_met_here_when_its_batch_is_asked_for() -> None:
    with Beside(Trade(failing, ())) as desk:
        asked = desk.submit(BATCHES[0])
        with pytest.raises(ValueError, match="lamp 0 of pier 0"):
            asked()


def test_no_other_process_is_started_for_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_ALONE", 1_000)
    with Beside(Trade(telling, ())) as desk:
        assert {pid for _, answer in desk.each(BATCHES) for pid in answer} == {os.getpid()}
        assert desk.ahead == 0


def test_one_core_works_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    with Beside(Trade(telling, ())) as desk:
        assert {pid for _, answer in desk.each(BATCHES) for pid in answer} == {os.getpid()}
