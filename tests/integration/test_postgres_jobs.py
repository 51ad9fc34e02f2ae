"""Work that waits in a store on a server: who does it, what happens when it fails, and embedding while in use."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psycopg
import pytest
from command_line import Cli
from starlette.testclient import TestClient

from rest_service import make_key
from weft import Node, Weft
from weft.embed import open_embedder
from weft.errors import EmbedderMismatch, InvalidInput, UnknownName
from weft.indexing.reembed import reembed
from weft.interfaces.cli.jobs import add_job, open_queue, run_job
from weft.interfaces.keys import Scope
from weft.interfaces.rest.app import make_app
from weft.interfaces.rest.served_store import Served, Serving
from weft.model import Filter
from weft.store.open import read_address
from weft.store.postgres import jobs, vector_spaces
from weft.store.postgres.search import graph_statement


class Other:
    """An embedder of another width that knows only how long a text is."""

    name, dimensions = "other@1", 8

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.array([[1.0 + len(text) % (n + 2) for n in range(8)] for text in texts], np.float32)


@pytest.fixture
def weft(url: str, tmp_path: Path) -> Iterator[Weft]:
    opened = Weft.open(url, folder=tmp_path)
    opened.put([Node(f"s:{n}", "note", title=f"note {n}", text=f"red fox {n}", tags=("x",)) for n in range(30)])
    yield opened
    opened.close()


def test_a_job_is_done_once_and_seen_afterwards(weft: Weft) -> None:
    weft.link(similar=None)
    first, again = add_job(weft, "link", "default", ""), add_job(weft, "link", "default", "")
    assert first.id == again.id
    assert run_job(weft) is not None
    assert run_job(weft) is None
    (seen,) = open_queue(weft).list_jobs()
    assert (seen.state, seen.attempts, seen.error) == ("done", 1, "")


def test_a_job_that_one_worker_holds_is_not_given_to_another_until_it_dies(weft: Weft, url: str) -> None:
    add_job(weft, "search", "default", "")
    queue = open_queue(weft)
    with queue.take_next() as mine, queue.take_next() as theirs:
        assert mine is not None
        assert theirs is None
    # The worker let go of its lock without a word, as one that was killed does.
    with queue.take_next() as taken:
        assert taken is not None
        assert taken.job.attempts == 2


def test_a_job_that_fails_waits_and_is_given_up_in_the_end(weft: Weft, url: str) -> None:
    add_job(weft, "embed", "default", "onnx:/nowhere")
    address = read_address(url)
    for _ in range(5):
        assert run_job(weft) is not None
        assert run_job(weft) is None, "it is not due again at once"
        with psycopg.connect(address.server, autocommit=True) as link:
            link.execute(f"UPDATE {address.schema}.jobs SET due = now()")
    assert run_job(weft) is None
    (seen,) = open_queue(weft).list_jobs()
    assert (seen.state, seen.attempts) == ("failed", 5)
    assert "nowhere" in seen.error
    assert open_queue(weft).retry(seen.id).state == "waiting"
    with pytest.raises(InvalidInput, match="No failed job"):
        open_queue(weft).retry(seen.id)


def test_a_worker_whose_clock_and_zone_differ_takes_a_job_when_the_server_says_so(
    weft: Weft, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_job(weft, "embed", "default", "onnx:/nowhere")
    assert run_job(weft) is not None
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 86_400.0)
    monkeypatch.setenv("PGTZ", "Pacific/Auckland")
    with Weft.open(url, folder=tmp_path / "ahead") as ahead:
        assert run_job(ahead) is None, "a day later by its own clock, but not by the server's"
        address = read_address(url)
        with psycopg.connect(address.server, autocommit=True) as link:
            link.execute(f"UPDATE {address.schema}.jobs SET due = now()")
        assert run_job(ahead) is not None
        times = [(seen.created, seen.due) for seen in open_queue(ahead).list_jobs()]
    assert times == [(seen.created, seen.due) for seen in open_queue(weft).list_jobs()]


def test_a_job_that_every_worker_dies_of_is_given_up_too(weft: Weft) -> None:
    add_job(weft, "search", "default", "")
    for _ in range(5):
        with open_queue(weft).take_next() as taken:
            assert taken is not None
    with open_queue(weft).take_next() as taken:
        assert taken is None
    (seen,) = open_queue(weft).list_jobs()
    assert seen.state == "failed"
    assert "5 times" in seen.error


def test_embedding_anew_switches_in_one_step_and_takes_what_was_written_meanwhile(weft: Weft) -> None:
    before = weft.search("red fox 7").candidates[0].node.key
    result = []

    def tell(done: int, last: int) -> None:
        result.append(done)
        if len(result) == 1:
            assert weft.search("red fox 7").candidates[0].node.key == before
            weft.put([Node("s:late", "note", text="a late red fox")])

    sequence = reembed(weft.store, Other(), tell)
    with weft.store.snapshot_of_all_tenants() as snapshot:
        assert snapshot.embedder() == ("other@1", 8)
        assert snapshot.sequence == sequence
        rows = snapshot.passages_of_nodes(snapshot.matching_ids(Filter()).tolist())
        assert (np.abs(snapshot.vectors([row.id for row in rows])).sum(axis=1) > 0).all()
    assert weft.status().vectors == 31
    with pytest.raises(InvalidInput, match="already"):
        reembed(weft.store, Other(), tell)


def test_readers_are_answered_all_the_while_a_store_is_embedded_anew(weft: Weft, url: str, tmp_path: Path) -> None:
    over, begun = threading.Event(), threading.Barrier(3, timeout=60)

    def reading(name: str) -> list[tuple[str, tuple[str, ...]]]:
        """The best answer and the notes of question after question, the last of them after the switch."""
        answers = []
        with Weft.open(url, folder=tmp_path / name) as reader:
            while True:
                last = over.is_set()
                found = reader.search("red fox 7", limit=3)
                answers.append((found.candidates[0].node.key, found.notes))
                if len(answers) == 1:
                    begun.wait()
                if last:
                    return answers

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(reading, name) for name in ("one", "two")]
        asked = [weft.search("red fox 7", limit=3)]
        begun.wait()
        reembed(
            weft.store,
            Other(),
            lambda done, last: asked.append(weft.search("red fox 7", limit=3)),
            passages_per_batch=2,
        )
        over.set()
        result = [reader.result() for reader in readers]
    assert not any(found.notes for found in asked), "until the switch nothing is missing"
    for answers in result:
        assert {key for key, _ in answers} == {"s:7"}
        notes = [bool(each) for _, each in answers]
        assert notes == sorted(notes), "complete before the switch, by words after it, and never between"
        assert "'other@1'" in answers[-1][1][0]
    with Weft.open(url, folder=tmp_path / "late") as late:
        (note,) = late.search("red fox 7").notes
        assert "other@1" in note
        assert "weft jobs add embed" in note
        with pytest.raises(EmbedderMismatch, match="other@1"):
            late.put(Node("s:late", "note", title="late"))


def test_a_service_that_runs_while_its_store_is_embedded_anew_goes_on_by_words_and_says_so(
    weft: Weft, url: str, tmp_path: Path
) -> None:
    assert weft.context("red fox 7").notes == ()
    with Weft.open(url, folder=tmp_path / "never asked before") as other:
        reembed(weft.store, Other(), lambda done, last: None)
        for service in (weft, other):
            after = service.context("red fox 7")
            assert "red fox 7" in after.text
            assert [note for note in after.notes if "embedded anew" in note]


def test_an_interrupted_embedding_goes_on_with_what_is_left(weft: Weft) -> None:
    def stopping(done: int, last: int) -> None:
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reembed(weft.store, Other(), stopping, passages_per_batch=10)
    assert weft.status().embedder == open_embedder("static").name
    result: list[int] = []
    reembed(weft.store, Other(), lambda done, last: result.append(done))
    assert result == [10]


DYING = """
import functools, os, signal, sys
from weft import Weft
from weft.indexing import reembed
from weft.interfaces.cli.jobs import run_job
from weft.store.postgres.jobs import RunningJob

def told(taken, done, total, place=None, report=RunningJob.report_progress):
    report(taken, done, total, place)
    if done == 20:
        os.kill(os.getpid(), signal.SIGKILL)

RunningJob.report_progress = told
reembed.reembed = functools.partial(reembed.reembed, passages_per_batch=10)
with Weft.open(sys.argv[1], folder=sys.argv[2], embedder=None) as weft:
    run_job(weft)
"""


def test_what_a_worker_was_killed_over_the_next_one_completes(url: str, tmp_path: Path) -> None:
    with Weft.open(url, folder=tmp_path, embedder=None) as weft:
        weft.put([Node(f"s:{n}", "note", title=f"note {n}", text=f"red fox {n}") for n in range(30)])
        number = add_job(weft, "embed", "default", "static").id
        killed = subprocess.run([sys.executable, "-c", DYING, url, tmp_path / "dying"], check=False)
        assert killed.returncode == -signal.SIGKILL
        (left,) = open_queue(weft).list_jobs()
        assert (left.state, left.done, weft.status().embedder) == ("running", 20, None)
        with psycopg.connect(read_address(url).server, autocommit=True) as link:
            # The server lets go of what the dead worker held as soon as it notices.
            link.execute("SELECT pg_advisory_lock(%s, %s)", (jobs.ADVISORY_LOCK_CLASS, number))
            link.execute("SELECT pg_advisory_unlock(%s, %s)", (jobs.ADVISORY_LOCK_CLASS, number))
        assert run_job(weft) is not None
        (done,) = open_queue(weft).list_jobs()
        assert (done.state, done.attempts, done.done) == ("done", 2, 10), "twenty had their vectors already"
        assert weft.status().embedder == open_embedder("static").name
        assert weft.status().vectors == 30


def test_a_graph_left_unfinished_by_an_interrupted_embedding_is_made_anew(weft: Weft, url: str) -> None:
    address = read_address(url)
    with psycopg.connect(address.server, autocommit=True) as link:
        link.execute(f"SET search_path = {address.schema}, public")
        link.execute(graph_statement(2, Other.dimensions), prepare=False)
        link.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'search_vectors_2_8'::regclass")
    reembed(weft.store, Other(), lambda done, last: None)
    assert "search_vectors_2_8" in weft.index_status()["indexes"]


def test_jobs_on_the_command_line(weft: Weft, url: str, cli: Cli) -> None:
    assert "queued" in cli("jobs", "add", "search", "--store", url).out
    ran = cli("jobs", "run", "--store", url)
    assert "1 job worked on" in ran.out
    assert "(search) is done." in ran.err
    assert "done" in cli("jobs", "list", "--store", url).out
    with pytest.raises(UnknownName, match="kind of job"):
        add_job(weft, "cook", "default", "")


def test_a_worker_that_died_right_after_the_switch_leaves_a_job_that_is_soon_done(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Weft.open(url, folder=tmp_path) as weft:
        weft.put([Node(f"s:{n}", "note", text=f"red fox {n}") for n in range(3)])
        reembed(weft.store, Other(), lambda done, last: None)
    with Weft.open(url, folder=tmp_path, embedder=None) as weft:
        add_job(weft, "embed", "default", "static")
        cleared = vector_spaces.clear_space

        def dying(*given: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(vector_spaces, "clear_space", dying)
        with pytest.raises(KeyboardInterrupt):
            run_job(weft)
        monkeypatch.setattr(vector_spaces, "clear_space", cleared)
        done = run_job(weft)
        assert done is not None
        assert (done.state, done.attempts, done.error) == ("done", 2, "")
        with weft.store.snapshot_of_all_tenants() as snapshot:
            assert snapshot.rows("SELECT DISTINCT space FROM vectors") == [(snapshot.space,)]


def test_a_job_that_failed_for_good_is_listed_with_its_error_and_may_be_retried(
    weft: Weft, url: str, cli: Cli
) -> None:
    number, address = add_job(weft, "embed", "default", "onnx:/nowhere").id, read_address(url)
    with psycopg.connect(address.server, autocommit=True) as link:
        for _ in range(5):
            cli("jobs", "run", "--store", url)
            link.execute(f"UPDATE {address.schema}.jobs SET due = now()")
    listed = cli("jobs", "list", "--store", url).out
    assert "failed" in listed
    assert "nowhere" in listed
    assert "queued again" in cli("jobs", "retry", str(number), "--store", url).out
    assert "failed" not in cli("jobs", "list", "--store", url).out


def test_an_embedded_store_has_no_queue(tmp_path: Path) -> None:
    with Weft.open(tmp_path / ".weft") as weft, pytest.raises(InvalidInput, match="has no queue"):
        open_queue(weft)


def test_jobs_are_listed_over_http_for_the_tenants_of_the_key(weft: Weft, url: str, tmp_path: Path) -> None:
    weft.put(Node("s:other", "note", tenant="other", title="other"))
    add_job(weft, "link", "default", "")
    add_job(weft, "link", "other", "")
    served = Served(Serving(tmp_path, on_server=True), lambda: Weft.open(url, folder=tmp_path))
    http = TestClient(make_app(served), base_url="http://localhost", client=("127.0.0.1", 5000))
    every = make_key(tmp_path, "*", scopes=(Scope.READ, Scope.ADMIN))
    own = make_key(tmp_path, "other", scopes=(Scope.READ, Scope.ADMIN))
    try:
        listed = http.get("/api/admin/jobs", headers=every).json()["jobs"]
        states = [("default", "waiting"), ("other", "waiting")]
        assert sorted((job["tenant"], job["state"]) for job in listed) == states
        assert [job["tenant"] for job in http.get("/api/admin/jobs", headers=own).json()["jobs"]] == ["other"]
        refused = http.post("/api/admin/snapshots", headers=every)
        assert refused.status_code == 409
        assert "pg_dump" in refused.json()["detail"]
    finally:
        served.close()
