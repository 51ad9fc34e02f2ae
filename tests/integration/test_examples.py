"""The programs in examples/ run as they are, over real stores and a stand-in for a model's or GitHub's server."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from command_line import EXAMPLES
from model_server import completion, serve_model

SOURCE = EXAMPLES.parent / "src"


def _run(folder: Path, *command: str | Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a program in a folder, with this Weft and its command on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    around = {**os.environ, "PYTHONPATH": str(SOURCE), "PATH": path, **variables}
    return subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=around,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example repository, indexed."""
    folder = Path(shutil.copytree(EXAMPLES / "repo", tmp_path_factory.mktemp("examples") / "repo"))
    done = _run(folder, sys.executable, "-m", "weft", "index", ".")
    assert done.returncode == 0, done.stderr
    return folder


def test_the_example_repository_passes_its_own_tests(project: Path) -> None:
    done = _run(project, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", PYTHONPATH=".")
    assert done.returncode == 0, done.stdout


def test_the_example_repository_can_be_had_with_its_history(tmp_path: Path) -> None:
    made = tmp_path / "pigeonhole"
    done = _run(tmp_path, sys.executable, EXAMPLES / "make_history.py", made)
    assert done.returncode == 0, done.stderr
    records = (EXAMPLES / "repo" / "records" / "commits.jsonl").read_text("utf-8").splitlines()
    told = sorted((json.loads(line)["created"], json.loads(line)["title"]) for line in records)
    logged = _run(made, "git", "log", "--reverse", "--format=%s").stdout.splitlines()
    assert logged == [title for _, title in told]
    assert _run(made, "git", "status", "--porcelain").stdout == ""
    kept = _run(made, "git", "ls-files", "-z").stdout.strip("\0").split("\0")
    for file in kept:
        assert (made / file).read_bytes() == (EXAMPLES / "repo" / file).read_bytes()
    assert {"pigeonhole/queue.py", ".github/workflows/tests.yml", "docs/limits.md"} <= set(kept)
    indexed = _run(made, sys.executable, "-m", "weft", "index", ".")
    assert f"{len(records)} commits" in indexed.stdout
    log = _run(made, sys.executable, "-m", "weft", "log", "pigeonhole/limits.py")
    assert "limits: keep the bucket in the file, not in the process" in log.stdout


@pytest.mark.parametrize(
    ("name", "needs", "tool"), [("plain_agent", "openai", "context"), ("langgraph_agent", "langgraph", "search")]
)
def test_an_agent_calls_tools_until_it_answers(project: Path, name: str, needs: str, tool: str) -> None:
    pytest.importorskip("openai")
    pytest.importorskip(needs)
    arguments = {"topic" if tool == "context" else "query": "how does the queue take a job"}

    def reply(body: dict[str, Any]) -> tuple[int, Any]:
        results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        if results:
            return completion(f"By taking a lease. I read: {results[-1][:4000]}")
        call = {"name": tool, "arguments": json.dumps(arguments)}
        asked = {"id": "call-1", "type": "function", "function": call}
        message = {"role": "assistant", "content": None, "tool_calls": [asked]}
        return 200, {"id": "1", "object": "chat.completion", "created": 1, "model": "small",
                     "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]}  # fmt: skip

    with serve_model(reply) as server:
        done = _run(
            project,
            *(sys.executable, EXAMPLES / "agents" / f"{name}.py", "--model", "small"),
            "How does the queue take a job?",
            OPENAI_BASE_URL=server.url,
            OPENAI_API_KEY="none",
        )
    assert done.returncode == 0, done.stderr
    assert "By taking a lease." in done.stdout
    assert "queue.py" in done.stdout
    offered = {each["function"]["name"] for each in server.requests[0][2]["tools"]}
    assert tool in offered
    # The page that the graph makes first is in front of the model from its first turn.
    if name == "langgraph_agent":
        assert "pigeonhole/queue.py" in json.dumps(server.requests[0][2]["messages"])


def test_the_nightly_job_indexes_checks_and_keeps_a_few_backups(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for name in ("20200101T000000Z", "20200102T000000Z"):
        (tmp_path / "store.backups" / name).mkdir(parents=True)
    settings = {"WEFT_STORE": str(store), "WEFT_KEEP_BACKUPS": "2"}
    done = _run(tmp_path, EXAMPLES / "nightly" / "nightly.sh", EXAMPLES / "vault", **settings)
    assert done.returncode == 0, done.stderr
    kept = sorted(path.name for path in (tmp_path / "store.backups").iterdir())
    assert kept[0] == "20200102T000000Z"
    assert len(kept) == 2
    restored = _run(
        tmp_path, sys.executable, "-m", "weft", "restore", tmp_path / "store.backups" / kept[1],
        "--store", tmp_path / "again",
    )  # fmt: skip
    assert restored.returncode == 0, restored.stderr
    assert _run(tmp_path, EXAMPLES / "nightly" / "nightly.sh", **settings).returncode == 2
    missing = _run(tmp_path, EXAMPLES / "nightly" / "nightly.sh", tmp_path / "nowhere", **settings)
    assert missing.returncode == 2
    assert "There is nothing at" in missing.stderr


class _GitHub:
    """The comments of one issue, as GitHub's API keeps them."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.tokens: set[str] = set()
        self.url = ""


@pytest.fixture
def github() -> Iterator[_GitHub]:
    kept = _GitHub()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self, value: Any) -> None:
            content = json.dumps(value).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content)
            kept.tokens.add(self.headers["Authorization"])

        def _body(self) -> dict[str, Any]:
            body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            return body

        def do_GET(self) -> None:
            self._answer(kept.comments)

        def do_POST(self) -> None:
            comment = {**self._body(), "url": f"{kept.url}/comments/{len(kept.comments)}", "path": self.path}
            kept.comments.append(comment)
            self._answer(comment)

        def do_PATCH(self) -> None:
            kept.comments[int(self.path.rpartition("/")[2])].update(self._body())
            self._answer({})

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield kept
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_issue_gets_one_comment_with_its_context_and_none_where_there_is_nothing(
    project: Path, github: _GitHub, tmp_path: Path
) -> None:
    def open_issue(title: str, body: str | None) -> str:
        event = tmp_path / "event.json"
        event.write_text(json.dumps({"issue": {"number": 7, "title": title, "body": body}}), "utf-8")
        done = _run(
            project,
            *(sys.executable, EXAMPLES / "github-action" / "comment_context.py"),
            GITHUB_EVENT_PATH=str(event),
            GITHUB_REPOSITORY="ann/pigeonhole",
            GITHUB_API_URL=github.url,
            GITHUB_TOKEN="token",
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "no comment" in open_issue("Which wine goes with oysters?", None)
    assert github.comments == []
    # Words that look like options and commands are words.
    assert "Commented issue 7" in open_issue(
        "--store /tmp $(touch owned) database is locked", "When I take a job."
    )
    (comment,) = github.comments
    assert comment["path"] == "/repos/ann/pigeonhole/issues/7/comments"
    assert "<details>" in comment["body"]
    assert "pigeonhole/" in comment["body"]
    open_issue("How does the queue take a job?", "")
    assert len(github.comments) == 1
    assert "queue" in github.comments[0]["body"]
    assert github.tokens == {"Bearer token"}
    assert not (project / "owned").exists()


def test_the_workflow_does_what_its_script_needs() -> None:
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((EXAMPLES / "github-action" / "issue-context.yml").read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read", "issues": "write"}
    commands = [step.get("run", "") for step in workflow["jobs"]["comment"]["steps"]]
    assert [each for each in commands if each] == [
        "pip install weft-context",
        "weft index .",
        "python .github/comment_context.py",
    ]


def test_the_notebook_runs_and_draws_its_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    notebook = json.loads((EXAMPLES / "notebook" / "budget_and_ledger.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    (tmp_path / "examples").symlink_to(EXAMPLES)
    done = _run(tmp_path, sys.executable, "-c", "\n".join(cells), MPLBACKEND="Agg")
    assert done.returncode == 0, done.stderr
    for name in ("budget", "ledger", "calibration"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    # What a notebook printed when it was last run is not kept, so that it cannot be out of date.
    assert [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"] == [[]] * len(cells)
