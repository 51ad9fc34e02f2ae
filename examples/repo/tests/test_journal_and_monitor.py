from threading import Thread
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from pigeonhole import monitor
from pigeonhole.journal import Journal, Line, slowest
from pigeonhole.queue import Queue
from pigeonhole.worker import Worker


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "jobs.sqlite")


def broken(body, renew):
    raise OSError("away")


def test_every_attempt_has_a_line_and_no_line_has_a_body(file, tmp_path):
    queue, journal = Queue(file), Journal(tmp_path / "journal.jsonl")
    queue.put("mail", "ann@example.org")
    queue.put("fax", "ann@example.org")
    known = {"mail": lambda *_: None, "fax": broken}
    worker = Worker(queue, known, lambda: 0.0, lambda _: None, journal=journal)
    assert worker.step() and worker.step()
    assert [(line.name, line.outcome) for line in journal.read()] == [("mail", "done"), ("fax", "failed")]
    assert "ann" not in (tmp_path / "journal.jsonl").read_text()


def test_a_line_that_was_cut_off_is_passed_over(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    journal.add(Line(1, "mail", 1, 0.5, "done"))
    with (tmp_path / "journal.jsonl").open("a") as cut:
        cut.write('{"number": 2, "na')
    assert len(list(journal.read())) == 1


def test_the_slowest_are_known_by_name():
    lines = [Line(number, "video", 1, float(number), "done") for number in range(1, 101)]
    assert 99 <= slowest(iter(lines))["video"] <= 101


def test_a_queue_is_healthy_while_its_jobs_move(file):
    queue = Queue(file)
    assert monitor.check(queue, now=1000.0)[0] == 200
    queue.put("mail", None, due=1000.0)
    assert monitor.check(queue, now=1100.0)[0] == 200
    assert monitor.check(queue, now=1400.0)[0] == 503


def test_the_monitor_answers_over_http(file):
    Queue(file).put("mail", None, due=0.0)
    server = monitor.make_server(0, file, lambda: 10.0)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    assert 'state="due"} 1' in urlopen(f"{address}/metrics").read().decode()
    assert urlopen(f"{address}/healthz").read() == b"Jobs are moving.\n"
    with pytest.raises(HTTPError, match="404"):
        urlopen(f"{address}/jobs")
    server.shutdown()
    server.server_close()
