"""Questions as a coding agent asks them, each with what must stand on a small page: over an example and clones."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Weft
from weft.model import Detail

EXAMPLE = Path(__file__).parents[3] / "examples" / "repo"
CLONES = Path(os.environ.get("WEFT_TEST_CLONES", ""))
"""A folder with clones of real repositories, where there is one."""
TRACEBACK = """Traceback (most recent call last):
  File "/app/run.py", line 3, in <module>
    queue.take(now)
  File "/venv/lib/pigeonhole/queue.py", line 75, in take
    raise ValueError("boom")
ValueError: boom
"""

# Each row: the question, the shape that is understood, and what must stand on a page of 500 tokens.
QUESTIONS = [
    ("where is Queue.take defined?", "definition", ["pigeonhole/queue.py:", "def take("]),
    ("Queue.take", "definition", ["pigeonhole/queue.py:", "def take("]),
    ("who calls exhausted?", "callers", ["exhausted("]),
    ("what is in pigeonhole/queue.py?", "file", ["] class Queue", "] class Job"]),
    ("what is at pigeonhole/queue.py:38?", "place", ["class Job"]),
    ("what is this project?", "overview", ["A job queue in one SQLite file. Put a job in, take"]),
    (TRACEBACK + "what went wrong?", "traceback", ["pigeonhole/queue.py:", "def take("]),
]
CLONED = [
    ("flask", "where is url_for implemented?", "definition", ["src/flask/app.py:", "def url_for("]),
    ("flask", "who calls full_dispatch_request?", "callers", ["self.full_dispatch_request(ctx)"]),
    (
        "flask",
        "how do I add a new CLI command?",
        "example",
        ["self.add_command(shell_command)", "def shell_command("],
    ),
    ("flask", "what is this project?", "overview", ["lightweight [WSGI] web application framework"]),
    ("flask", "what does src/flask/sessions.py do?", "file", ["] class SessionInterface"]),
    ("flask", "what is SessionInterface?", "definition", ["] def should_set_cookie(self"]),
    (
        "flask",
        "what changed recently in SessionInterface?",
        "recent",
        ["SESSION_COOKIE_PARTITIONED", "David Lord"],
    ),
    ("flask", "what tests cover send_from_directory?", "tests", ["tests/test_helpers.py"]),
    ("gin", "how do I add a new binding?", "example", ["type protobufBinding struct{}", "= protobufBinding{}"]),
    ("gin", "who calls handleHTTPRequest?", "callers", ["engine.handleHTTPRequest(c)"]),
]


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    folder = tmp_path_factory.mktemp("shapes")
    shutil.copytree(EXAMPLE, folder / "repo")
    with Weft.open(folder / "store") as opened:
        opened.index(folder / "repo")
        yield opened


def check(weft: Weft, question: str, shape: str, facts: list[str], budget: int) -> None:
    context = weft.context(question, max_tokens=budget)
    printed = [entry for entry in context.ledger if entry.detail is not Detail.DROPPED]
    assert any(f"shape_{shape}" in entry.parts for entry in printed)
    missing = [fact for fact in facts if fact not in context.text]
    assert not missing, f"{missing} not in:\n{context.text}"
    assert context.tokens <= budget


@pytest.mark.parametrize(("question", "shape", "facts"), QUESTIONS)
def test_the_shape_of_a_question_brings_its_answer(
    weft: Weft, question: str, shape: str, facts: list[str]
) -> None:
    check(weft, question, shape, facts, 500)


@pytest.fixture(scope="module")
def cloned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Weft]]:
    folder, opened = tmp_path_factory.mktemp("cloned"), dict[str, Weft]()
    for name in ("flask", "gin"):
        if CLONES.name and (CLONES / name / ".git").is_dir():
            subprocess.run(["git", "clone", "-q", CLONES / name, folder / name], check=True)
            opened[name] = Weft.open(folder / f"{name}.store")
            opened[name].index(folder / name)
    yield opened
    for weft in opened.values():
        weft.close()


@pytest.mark.skipif(not CLONES.name, reason="WEFT_TEST_CLONES names no folder with clones of flask and gin")
@pytest.mark.parametrize(("name", "question", "shape", "facts"), CLONED)
def test_the_shape_of_a_question_brings_its_answer_in_a_real_repository(
    cloned: dict[str, Weft], name: str, question: str, shape: str, facts: list[str]
) -> None:
    if name not in cloned:
        pytest.skip(f"no clone of {name}")
    check(cloned[name], question, shape, facts, 1_000)
