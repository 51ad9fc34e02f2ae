"""The hooks of every client, run as the client runs them with the payloads it documents, and their answers."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from golden_sessions import COMMAND, DAY, NOW, SESSIONS, TURNS, around, make_store

from weft import Weft
from weft.memory.experience_store import start_experience

GOLDEN = Path(__file__).parent / "hooks"
PLUGIN_RUNNER = Path(__file__).parent / "run_plugin.mjs"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("hooks"))


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "work"))


def run_hook(folder: Path, client: str, payload: Mapping[str, Any]) -> str:
    """Return what the hook printed, which the client would read."""
    done = subprocess.run(
        [*COMMAND, "--client", client, "--deadline", "60"],
        input=json.dumps(payload).replace("$FOLDER", str(folder)).encode(),
        capture_output=True,
        cwd=folder,
        env=around(folder),
        check=True,
    )
    assert not done.stderr
    return done.stdout.decode("ascii")


def recorded(folder: Path, client: str, payloads: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the events of a session as they are sent, each with the answer as a person reads it."""
    for payload in payloads:
        name = payload["hook_event_name"]
        said = (
            payload.get("prompt") or (payload.get("tool_input") or {}).get("command") or payload.get("source", "")
        )
        yield f"=== {name}: {said}".rstrip(": ")
        answer = run_hook(folder, client, payload)
        yield readable(json.loads(answer)) if answer else "(nothing)"


def readable(answer: Any) -> str:
    """Return an answer with the lines of its text as lines, so that a difference can be read."""
    return json.dumps(answer, indent=1, ensure_ascii=False).replace("\\n", "\n")


def check(name: str, text: str, folder: Path, request: pytest.FixtureRequest) -> None:
    file = GOLDEN / f"{name}.txt"
    told = text.replace(str(folder), "$FOLDER")
    if request.config.getoption("--update-golden"):
        file.write_text(told, encoding="utf-8")
    assert told == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("client", ["claude-code", "codex", "cursor"])
def test_a_session_of_a_client_is_answered_as_it_was_read_and_approved(
    client: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    check(client, "\n".join(recorded(folder, client, SESSIONS[client])) + "\n", folder, request)


def test_a_day_of_a_coding_agent_is_what_it_was_when_it_was_read(
    folder: Path, request: pytest.FixtureRequest
) -> None:
    with Weft.open(folder / ".weft") as weft:
        started = start_experience(
            weft.indexing_context(),
            goal="Make test_login pass",
            domain="testing",
            strategy="read-the-error",
            hypothesis="The cookie expires",
            action="Freeze the clock",
            prediction="The tests pass",
            now=NOW,
        )
    payloads = json.loads(json.dumps(DAY).replace("$STARTED", f"Started experience:{started.id}"))
    check("day", "\n".join(recorded(folder, "claude-code", payloads)) + "\n", folder, request)


@pytest.mark.skipif(shutil.which("node") is None, reason="opencode's plugin runs in JavaScript; there is no node")
def test_the_plugin_for_opencode_adds_to_messages_tools_and_compactions(
    folder: Path, request: pytest.FixtureRequest
) -> None:
    from weft.interfaces.hook_settings import plugin_text

    plugin = folder / "weft.mjs"
    plugin.write_text(plugin_text([*COMMAND, "--client", "opencode", "--deadline", "60"]), encoding="utf-8")
    done = subprocess.run(
        ["node", str(PLUGIN_RUNNER), str(plugin), str(folder)],
        input=json.dumps(TURNS).encode(),
        capture_output=True,
        env=around(folder),
        check=True,
    )
    calls = [readable(call) for call in json.loads(done.stdout)]
    check("opencode", "\n".join(calls) + "\n", folder, request)


def test_no_answers_are_kept_that_nothing_gives() -> None:
    assert {file.stem for file in GOLDEN.iterdir()} == {*SESSIONS, "opencode", "day"}
