import pytest
from pigeonhole.queue import LEASE, BodyTooLarge, Queue
from pigeonhole.retry import MOST_ATTEMPTS


@pytest.fixture
def queue(tmp_path):
    return Queue(str(tmp_path / "jobs.sqlite"))


def test_a_job_is_taken_once(queue):
    queue.put("mail", {"to": "ann"})
    assert queue.take(now=0.0).body == {"to": "ann"}
    assert queue.take(now=0.0) is None


def test_lease_expires(queue):
    """This is the test that failed before one o'clock, until the clock became an argument."""
    queue.put("mail", None)
    assert queue.take(now=1000.0).attempt == 1
    assert queue.take(now=1000.0 + LEASE - 1) is None
    assert queue.take(now=1000.0 + LEASE).attempt == 2


def test_a_worker_that_slept_through_its_lease_cannot_renew(queue):
    queue.put("video", None)
    sleeper = queue.take(now=0.0)
    assert queue.take(now=LEASE) is not None
    assert not queue.renew(sleeper, now=LEASE + 1)


def test_a_job_is_set_aside_after_its_last_attempt_and_revived_by_hand(queue):
    number, now = queue.put("mail", None), 0.0
    for _ in range(MOST_ATTEMPTS):
        queue.fail(queue.take(now), "no such mailbox", now)
        now += 10_000
    assert queue.take(now) is None
    assert queue.set_aside() == [(number, "mail", "no such mailbox")]
    queue.revive(number)
    assert queue.take(now).attempt == 1


def test_put_once_adds_a_key_once_even_after_the_job_is_done(queue):
    assert queue.put_once("report/17", "report", None)
    queue.done(queue.take(now=0.0).number)
    assert not queue.put_once("report/17", "report", None)


def test_a_body_that_should_have_been_a_file_is_refused(queue):
    with pytest.raises(BodyTooLarge, match="70,002"):
        queue.put("thumbnail", "x" * 70_000)
