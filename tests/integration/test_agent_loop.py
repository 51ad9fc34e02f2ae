"""An agent at work, as it was recorded: it asks, edits, asks again, and shows what was cited."""

import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import EXAMPLES, Cli
from mcp_calls import call, server, text


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example repository, which is also the working folder."""
    folder = Path(shutil.copytree(EXAMPLES / "repo", tmp_path / "work" / "repo"))
    monkeypatch.chdir(folder)
    return folder


def test_asking_editing_and_asking_again_on_the_command_line(cli: Cli, repository: Path) -> None:
    assert cli("index", ".").code == 0
    page = cli("context", "how does the queue take a job?", "--max-tokens", 1200).out
    place = next(line.strip("*") for line in page.splitlines() if line.startswith("*pigeonhole/queue.py:"))
    shown = cli("show", place).out
    assert shown.splitlines()[0].startswith("pigeonhole/queue.py:")

    queue = repository / "pigeonhole" / "queue.py"
    queue.write_text(queue.read_text().replace("def take(", "def take_one("))
    again = cli("context", "where is take_one defined?", "--max-tokens", 600)
    assert "def take_one(" in again.out
    assert "def take(" not in again.out

    found = cli("search", "--exact", "def take_one(").out.splitlines()
    assert found[0] == "'def take_one(': 1 line in 1 file"
    line = found[1].partition(": ")[0]
    assert "def take_one(" in cli("show", line).out
    callers = cli("related", "take_one", "--type", "calls", "--direction", "in")
    assert callers.code == 0


def test_asking_editing_and_asking_again_over_mcp(cli: Cli, repository: Path) -> None:
    assert cli("index", ".").code == 0
    weft = server(store=repository / ".weft")
    page = text(call(weft, "context", topic="how does the queue take a job?", max_tokens=1200))
    place = next(line.strip("*") for line in page.splitlines() if line.startswith("*pigeonhole/queue.py:"))
    assert text(call(weft, "fetch", key=place)).splitlines()[0].startswith("pigeonhole/queue.py:")

    queue = repository / "pigeonhole" / "queue.py"
    queue.write_text(queue.read_text().replace("def take(", "def take_one("))
    assert "def take_one(" in text(call(weft, "context", topic="where is take_one defined?", max_tokens=600))
    hits = text(call(weft, "search", query="def take_one(", exact=True)).splitlines()
    assert "def take_one(" in text(call(weft, "fetch", key=hits[1].partition(": ")[0]))
    assert "No such links" in text(call(weft, "fetch", key="take_one", what="links", types=["tests"]))


def test_what_is_not_committed_is_told_on_the_command_line_and_over_mcp(cli: Cli, repository: Path) -> None:
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "All there is"]):
        subprocess.run(
            ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words], cwd=repository, check=True
        )
    assert cli("index", ".").code == 0
    assert "is as in the last commit" in cli("context", "what am I changing?").out
    queue = repository / "pigeonhole" / "queue.py"
    queue.write_text(queue.read_text().replace("def take(", "def take_one("))
    (repository / "pigeonhole" / "fresh.py").write_text("x = 1\n")
    told = cli("context", "what am I changing?").out
    assert told == text(call(server(store=repository / ".weft"), "context", topic="what am I changing?")) + "\n"
    assert "+    def take_one(" in told
    assert "-    def take(" in told
    assert "pigeonhole/fresh.py" in told
    # Nothing of it is stored.
    assert "uncommitted" not in cli("search", "take_one").out
