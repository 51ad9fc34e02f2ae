"""Hooks run as the client runs them: a process for each event, the event on stdin."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parents[2] / "src"
COMMAND = (sys.executable, "-m", "weft.interfaces.hooks")
PATIENT = ("--deadline", "60")
"""Tests wait for an answer however busy the machine is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The exit code and output of a hook."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """The text that the client would add to the conversation."""
        return str(json.loads(self.out)["hookSpecificOutput"]["additionalContext"]) if self.out else ""


def start(payload: bytes, folder: Path, *options: str) -> subprocess.Popen[bytes]:
    """A hook with its event handed over."""
    hook = subprocess.Popen(
        [*COMMAND, *(options or PATIENT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=around(folder),
    )
    assert hook.stdin is not None
    hook.stdin.write(payload)
    hook.stdin.close()
    hook.stdin = None
    return hook


def around(folder: Path) -> dict[str, str]:
    """An environment in which nothing of the user's is found."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEFT_", "XDG_"))}
    return {**kept, "PYTHONPATH": str(SOURCES), "HOME": str(folder)}


def finish(hook: subprocess.Popen[bytes]) -> Answer:
    """The hook's answer, once it has left."""
    out, err = hook.communicate(timeout=120)
    return Answer(hook.returncode, out.decode("utf-8"), err.decode("utf-8"))


def send(folder: Path, event: str, *options: str, session: str = "abc123", **fields: Any) -> Answer:
    """The answer to an event in the form that the client documents."""
    payload = {
        "session_id": session,
        "transcript_path": f"{folder}/.claude/projects/x/{session}.jsonl",
        "cwd": str(folder),
        "permission_mode": "default",
        "hook_event_name": event,
        **fields,
    }
    return finish(start(json.dumps(payload).encode(), folder, *options))


def prompt(folder: Path, words: str, session: str = "abc123", *options: str) -> Answer:
    """The answer to a prompt."""
    return send(folder, "UserPromptSubmit", *options, session=session, prompt=words)


def succeeded(folder: Path, command: str, printed: str = "", session: str = "abc123") -> Answer:
    """The answer to a shell command that exited with 0."""
    return send(
        folder,
        "PostToolUse",
        session=session,
        tool_name="Bash",
        tool_input={"command": command, "description": "Run it", "timeout": 120000},
        tool_response={"stdout": printed, "stderr": "", "interrupted": False, "isImage": False},
        tool_use_id="toolu_01ABC123",
    )


def failed(folder: Path, command: str, error: str, session: str = "abc123", interrupted: bool = False) -> Answer:
    """The answer to a shell command that exited with another code."""
    return send(
        folder,
        "PostToolUseFailure",
        session=session,
        tool_name="Bash",
        tool_input={"command": command, "description": "Run it"},
        tool_use_id="toolu_01ABC123",
        error=error,
        is_interrupt=interrupted,
    )
