"""Work in another process gives what the same work here gives, whatever happens to the other process."""

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from weft.indexing.worker import WorkerJob, WorkerProcess

BATCHES = [[f"lamp {place} of pier {batch}" for place in range(5)] for batch in range(9)]


def counting(prefix: str) -> Callable[[Sequence[str]], list[str]]:
    return lambda batch: [f"{prefix}{len(text)}" for text in batch]


def reporting_its_process() -> Callable[[Sequence[str]], list[int]]:
    return lambda batch: [os.getpid()] * len(batch)


def failing() -> Callable[[Sequence[str]], list[str]]:
    def work(batch: Sequence[str]) -> list[str]:
        raise ValueError(batch[0])

    return work


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)


@pytest.fixture(autouse=True)
def found_by_the_other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def answers(job: WorkerJob[str, list[str]]) -> list[list[str]]:
    with WorkerProcess(job, start_after=0) as worker:
        return [answer for _, answer in worker.map(BATCHES)]


def test_answers_come_in_the_order_of_the_batches() -> None:
    assert answers(WorkerJob(counting, ("n",))) == [counting("n")(batch) for batch in BATCHES]


def test_both_processes_work_and_neither_waits_while_a_batch_is_not_begun() -> None:
    with WorkerProcess(WorkerJob(reporting_its_process, ()), start_after=0) as worker:
        results = [worker.submit(batch) for batch in BATCHES]
        done = [results[-1](), *(result() for result in results[:-1])]
    assert {pid for answer in done for pid in answer} >= {os.getpid()}
    assert len({pid for answer in done for pid in answer}) == 2
    assert done[0] == [os.getpid()] * 5


def test_what_cannot_be_pickled_is_done_here() -> None:
    assert answers(WorkerJob(lambda _: counting("n"), (threading.Lock(),))) == [
        counting("n")(batch) for batch in BATCHES
    ]


def test_a_process_that_dies_costs_nothing_but_time() -> None:
    with WorkerProcess(WorkerJob(counting, ("n",)), start_after=0) as worker:
        results = [worker.submit(BATCHES[0])]
        assert worker._child is not None
        worker._child._process.kill()
        worker._child._process.wait()
        results += [worker.submit(batch) for batch in BATCHES[1:]]
        assert [result() for result in results] == [counting("n")(batch) for batch in BATCHES]


def test_an_error_is_met_here_when_its_result_is_asked_for() -> None:
    with WorkerProcess(WorkerJob(failing, ()), start_after=0) as worker:
        result = worker.submit(BATCHES[0])
        with pytest.raises(ValueError, match="lamp 0 of pier 0"):
            result()


def test_no_other_process_is_started_for_little_work() -> None:
    with WorkerProcess(WorkerJob(reporting_its_process, ()), start_after=1_000) as worker:
        assert {pid for _, answer in worker.map(BATCHES) for pid in answer} == {os.getpid()}
        assert worker.lookahead == 0


def test_one_core_works_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    with WorkerProcess(WorkerJob(reporting_its_process, ()), start_after=0) as worker:
        assert {pid for _, answer in worker.map(BATCHES) for pid in answer} == {os.getpid()}
