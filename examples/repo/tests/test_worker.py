import pytest
from pigeonhole.queue import LEASE, Queue
from pigeonhole.worker import Worker


class Clock:
    """Time that passes only when a test says so."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def queue(tmp_path):
    return Queue(str(tmp_path / "jobs.sqlite"))


def make_worker(queue, clock, **handlers):
    return Worker(queue, handlers, clock, pause=lambda _: worker_stops())


def worker_stops():
    raise AssertionError("the worker should not have been idle")


def test_a_finished_job_is_gone(queue):
    ran = []
    queue.put("mail", "ann")
    assert make_worker(queue, Clock(), mail=lambda body, _: ran.append(body)).step()
    assert ran == ["ann"]
    assert queue.counts(now=1e9)["due"] == 0


def test_a_job_whose_handler_raises_comes_back_later(queue):
    def broken(body, renew):
        raise OSError("mail server is away")

    clock = Clock()
    queue.put("mail", "ann")
    worker = make_worker(queue, clock, mail=broken)
    assert worker.step()
    assert not worker.step()
    clock.now = 3.0
    assert worker.step()


def test_a_job_without_a_handler_is_not_lost(queue):
    queue.put("fax", None)
    assert make_worker(queue, Clock()).step()
    assert queue.counts(now=0.0)["later"] == 1


def test_a_worker_that_lost_its_lease_writes_nothing(queue):
    clock, written = Clock(), []

    def slow(body, renew):
        clock.now = LEASE + 1
        queue.take(clock.now)  # another worker
        renew()
        written.append(body)

    queue.put("video", 17)
    assert make_worker(queue, clock, video=slow).step()
    assert written == []
    assert queue.counts(clock.now)["leased"] == 1


def test_a_worker_that_is_stopped_finishes_its_job(queue):
    queue.put("mail", "ann")
    queue.put("mail", "ben")
    worker = make_worker(queue, Clock(), mail=lambda body, _: worker.stop())
    worker.run()
    assert queue.counts(now=0.0)["due"] == 1
