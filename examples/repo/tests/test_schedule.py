from pigeonhole.queue import Queue
from pigeonhole.schedule import Recurring, put_due

NIGHTLY = Recurring("report", period=86_400.0)


def test_two_workers_put_a_recurring_job_once(tmp_path):
    first, second = (Queue(str(tmp_path / "jobs.sqlite")) for _ in range(2))
    assert put_due(first, [NIGHTLY], now=100_000.0) == ["report"]
    assert put_due(second, [NIGHTLY], now=100_001.0) == []


def test_missed_periods_are_not_made_up_for(tmp_path):
    queue = Queue(str(tmp_path / "jobs.sqlite"))
    put_due(queue, [NIGHTLY], now=0.0)
    assert put_due(queue, [NIGHTLY], now=3 * 86_400.0) == ["report"]
    assert queue.counts(now=1e9)["due"] == 2


def test_a_clock_that_is_set_back_puts_nothing_twice(tmp_path):
    """Counted in local time, the night of October 27th had two o'clock twice, and every digest as well."""
    queue = Queue(str(tmp_path / "jobs.sqlite"))
    hourly = Recurring("digest", period=3600.0)
    assert put_due(queue, [hourly], now=7200.0) == ["digest"]
    assert put_due(queue, [hourly], now=7100.0) == ["digest"]
    assert put_due(queue, [hourly], now=7250.0) == []
