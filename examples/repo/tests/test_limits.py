import pytest
from pigeonhole.config import BadConfig, Config, read_config
from pigeonhole.limits import Limit
from pigeonhole.queue import Queue
from pigeonhole.worker import Worker

TWO_A_MINUTE = Limit(runs=2, period=60.0, burst=2)


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "jobs.sqlite")


def test_what_is_saved_up_is_spent_and_then_comes_back_evenly(file):
    queue = Queue(file)
    assert [queue.spend("mail", TWO_A_MINUTE, now=100.0) for _ in range(3)] == [0.0, 0.0, 30.0]
    assert queue.spend("mail", TWO_A_MINUTE, now=129.0) == pytest.approx(1.0)
    assert queue.spend("mail", TWO_A_MINUTE, now=131.0) == 0.0


def test_two_processes_spend_from_one_bucket(file):
    first, second = Queue(file), Queue(file)
    spent = [first.spend("mail", TWO_A_MINUTE, 0.0), second.spend("mail", TWO_A_MINUTE, 0.0)]
    assert spent == [0.0, 0.0]
    assert second.spend("mail", TWO_A_MINUTE, 0.0) > 0


def test_a_clock_that_was_set_back_gives_and_takes_nothing(file):
    queue = Queue(file)
    assert queue.spend("mail", TWO_A_MINUTE, now=1000.0) == 0.0
    assert queue.spend("mail", TWO_A_MINUTE, now=10.0) == 0.0
    assert queue.spend("mail", TWO_A_MINUTE, now=10.0) > 0


def test_a_job_that_waits_for_its_turn_has_not_failed(file):
    queue, ran = Queue(file), []
    for _ in range(3):
        queue.put("mail", "ann")
    limits = {"mail": TWO_A_MINUTE}
    worker = Worker(queue, {"mail": lambda body, _: ran.append(body)}, lambda: 0.0, lambda _: None, limits)
    while worker.step():
        pass
    assert len(ran) == 2
    assert queue.counts(now=0.0)["later"] == 1
    assert queue.take(now=30.0).attempt == 1


def test_jobs_of_other_kinds_overtake(file):
    queue, ran = Queue(file), []
    for name in ("mail", "mail", "report"):
        queue.put(name, None)
    known = {name: lambda body, _, name=name: ran.append(name) for name in ("mail", "report")}
    worker = Worker(queue, known, lambda: 0.0, lambda _: None, {"mail": Limit(1, 60.0, 1)})
    while worker.step():
        pass
    assert ran == ["mail", "report"]


def test_limits_are_read_in_words_and_as_a_table(tmp_path):
    file = tmp_path / "pigeonhole.toml"
    file.write_text('[limits]\nmail = "30/minute"\nthumbnail = { runs = 4, period = 1, burst = 8 }\n')
    assert read_config(file).limits == {"mail": Limit(30, 60.0, 30), "thumbnail": Limit(4, 1.0, 8)}


@pytest.mark.parametrize("text", ["limit = 3\n", '[limits]\nmail = "many"\n', "[limits]\nmail = 30\n"])
def test_what_is_not_understood_stops_the_worker(tmp_path, text):
    file = tmp_path / "pigeonhole.toml"
    file.write_text(text)
    with pytest.raises(BadConfig):
        read_config(file)


def test_without_a_file_the_defaults_hold(tmp_path):
    assert read_config(tmp_path / "none.toml") == Config()
