"""Sessions of the clients with the payloads that they document, and the store that they are about."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from weft import Node, Weft
from weft.memory import Outcome
from weft.memory.experience_store import resolve_experience, start_experience
from weft.memory.memory_store import remember

NOW = datetime(2026, 5, 1, tzinfo=UTC)
SOURCES = Path(__file__).parents[2] / "src"
COMMAND = (sys.executable, "-m", "weft.interfaces.hooks")
NOTES = {
    "refunds": "Refunds above 500 euros are approved by Odile, who looks at the order's history first.",
    "cookies": "The session cookie is signed by the proxy and expires after twenty minutes of silence.",
    "backups": "Backups of the ledger run at four in the morning and are verified by restoring one table.",
    "queues": "The mail queue retries three times, then parks the message for the night shift.",
}
FAILED = "FAILED tests/test_login.py::test_cookie - AssertionError: no cookie\n1 failed, 3 passed in 0.41s"


def make_store(folder: Path) -> Path:
    """Return the folder with a small store: notes, memories, a past failure."""
    with Weft.open(folder / ".weft") as weft:
        weft.put([Node(f"docs:{name}", "note", title=name.title(), text=text) for name, text in NOTES.items()])
        context = weft.indexing_context()
        remember(context, "Never use mocks in tests", now=NOW)
        remember(context, "The session cookie is called sid since the audit of March", now=NOW)
        past = start_experience(
            context,
            goal="Make test_login pass",
            domain="testing",
            strategy="read-the-error",
            hypothesis="The proxy drops the cookie",
            action="Log the headers",
            prediction="The test passes",
            now=NOW,
        )
        outcome = Outcome("falsified", "The header was there", surprise="The clock was an hour off")
        resolve_experience(context, past.id, outcome, now=NOW)
    return folder


def around(folder: Path) -> dict[str, str]:
    """Return an environment in which nothing of the user's is found."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEFT_", "XDG_"))}
    return {**kept, "PYTHONPATH": str(SOURCES), "HOME": str(folder)}


def _claude(event: str, **fields: Any) -> dict[str, Any]:
    common = {
        "session_id": "00893aaf-19fa-41d2-8238-13269b9b3ca0",
        "transcript_path": "$FOLDER/.claude/projects/x/00893aaf.jsonl",
        "cwd": "$FOLDER",
        "permission_mode": "default",
    }
    return {**common, "hook_event_name": event, **fields}


def _codex(event: str, **fields: Any) -> dict[str, Any]:
    common = {"session_id": "019a-7c3e", "transcript_path": None, "cwd": "$FOLDER", "model": "gpt-5.2-codex"}
    turn = {} if event == "SessionStart" else {"turn_id": "t1"}
    return {**common, **turn, "permission_mode": "default", "hook_event_name": event, **fields}


def _cursor(event: str, **fields: Any) -> dict[str, Any]:
    return {
        "conversation_id": "668320d2-2fd8-4888-b33c-2a466fec86e7",
        "generation_id": "490b90b7-a2ce-4c2c-bb76-cb77b125df2f",
        "model": "claude-sonnet-4-20250514",
        "hook_event_name": event,
        "cursor_version": "1.7.2",
        "workspace_roots": ["$FOLDER"],
        "user_email": "user@example.com",
        "transcript_path": None,
        **fields,
    }


_SHELL = {"command": "pytest -q tests/test_login.py"}
SESSIONS: dict[str, list[dict[str, Any]]] = {
    "claude-code": [
        _claude("SessionStart", source="startup", model="claude-sonnet-4-6"),
        _claude("UserPromptSubmit", prompt="when does the session cookie expire?"),
        _claude("UserPromptSubmit", prompt="ok, go ahead"),
        _claude(
            "PostToolUseFailure",
            tool_name="Bash",
            tool_input={**_SHELL, "description": "Run the tests"},
            tool_use_id="toolu_01ABC123",
            error=f"Exit code 1\n{FAILED}",
            is_interrupt=False,
        ),
        _claude("PreCompact", trigger="auto", custom_instructions=""),
        _claude("SessionStart", source="compact", model="claude-sonnet-4-6"),
        _claude("UserPromptSubmit", prompt="when does the session cookie expire?"),
    ],
    "codex": [
        _codex("SessionStart", source="startup"),
        _codex("UserPromptSubmit", prompt="who approves refunds?"),
        _codex("UserPromptSubmit", prompt="who approves refunds?"),
        _codex(
            "PostToolUse", tool_name="Bash", tool_input=_SHELL, tool_use_id="call_1", tool_response=f"{FAILED}\n"
        ),
        _codex("PreCompact", trigger="auto"),
        _codex("UserPromptSubmit", prompt="continue"),
    ],
    "cursor": [
        _cursor(
            "sessionStart",
            session_id="668320d2-2fd8-4888-b33c-2a466fec86e7",
            is_background_agent=False,
            composer_mode="agent",
        ),
        _cursor("beforeSubmitPrompt", prompt="how often does the mail queue retry?", attachments=[]),
        _cursor("beforeSubmitPrompt", prompt="thanks!", attachments=[]),
        _cursor(
            "postToolUse",
            tool_name="Shell",
            tool_input={**_SHELL, "working_directory": "$FOLDER"},
            tool_output='{"exitCode":1,"stdout":"1 failed, 3 passed in 0.41s"}',
            tool_use_id="abc123",
            cwd="$FOLDER",
            duration=5432,
        ),
        _cursor("preCompact", trigger="auto", context_usage_percent=85, is_first_compaction=True),
        _cursor("beforeSubmitPrompt", prompt="how often does the mail queue retry?", attachments=[]),
    ],
}


_EXPERIENCE = (
    "weft experience start --domain testing --strategy read-the-error --goal 'Make test_login pass'"
    " --hypothesis 'The cookie expires' --action 'Freeze the clock' --prediction 'The tests pass'"
)
DAY: list[dict[str, Any]] = [
    _claude("SessionStart", source="startup", model="claude-sonnet-4-6"),
    _claude("UserPromptSubmit", prompt="good morning! ready?"),
    _claude("UserPromptSubmit", prompt="test_login fails since yesterday: the session cookie is gone"),
    _claude("UserPromptSubmit", prompt="yes, look at that first"),
    _claude("PostToolUse", tool_name="Bash", tool_input={"command": "git log -3"}, tool_response={"stdout": "x"}),
    _claude(
        "PostToolUseFailure",
        tool_name="Bash",
        tool_input=_SHELL,
        tool_use_id="toolu_1",
        error=f"Exit code 1\n{FAILED}",
        is_interrupt=False,
    ),
    _claude("UserPromptSubmit", prompt="write down what you try"),
    _claude(
        "PostToolUse", tool_name="Bash", tool_input={"command": _EXPERIENCE}, tool_response={"stdout": "$STARTED"}
    ),
    _claude(
        "PostToolUseFailure",
        tool_name="Bash",
        tool_input=_SHELL,
        tool_use_id="toolu_2",
        error="Exit code 4\nERROR: file or directory not found: tests/test_login.py",
        is_interrupt=False,
    ),
    _claude("UserPromptSubmit", prompt="wrong folder, try again"),
    _claude(
        "PostToolUse",
        tool_name="Bash",
        tool_input=_SHELL,
        tool_use_id="toolu_3",
        tool_response={"stdout": "4 passed in 0.38s", "stderr": "", "interrupted": False},
    ),
    _claude("UserPromptSubmit", prompt="great, commit it"),
    _claude("UserPromptSubmit", prompt="next: refunds above 500 euros must be logged, who approves them?"),
    _claude("UserPromptSubmit", prompt="and how is the session cookie signed again?"),
    _claude("PreCompact", trigger="auto", custom_instructions=""),
    _claude("SessionStart", source="compact", model="claude-sonnet-4-6"),
    _claude("UserPromptSubmit", prompt="continue"),
    _claude("UserPromptSubmit", prompt="are backups of the ledger verified?"),
    _claude("UserPromptSubmit", prompt="thanks, that's all for today"),
]
"""A day of a coding agent: it starts, finds a failing test, writes an experience down, and is interrupted by a
compaction. `$STARTED` is the experience that it starts then."""


def _message(id: str, text: str) -> dict[str, Any]:
    parts = [{"id": f"prt_{id}", "sessionID": "ses_1", "messageID": f"msg_{id}", "type": "text", "text": text}]
    output = {"message": {"id": f"msg_{id}", "sessionID": "ses_1", "role": "user"}, "parts": parts}
    return {"hook": "chat.message", "input": {"sessionID": "ses_1", "agent": "build"}, "output": output}


def _shell(callID: str, printed: str, exit: int) -> dict[str, Any]:  # noqa: N803  (opencode's own name)
    input = {"tool": "bash", "sessionID": "ses_1", "callID": callID, "args": _SHELL}
    metadata = {"output": printed, "exit": exit, "description": "Run the tests"}
    return {
        "hook": "tool.execute.after",
        "input": input,
        "output": {"title": "Run the tests", "output": printed, "metadata": metadata},
    }


TURNS: list[dict[str, Any]] = [
    {"hook": "event", "input": {"event": {"type": "session.created", "properties": {"info": {"id": "ses_1"}}}}},
    _message("1", "when do backups of the ledger run?"),
    _message("2", "yes please"),
    _shell("call_1", FAILED, 1),
    {"hook": "experimental.session.compacting", "input": {"sessionID": "ses_1"}, "output": {"context": []}},
]
"""Calls of the hooks of a plugin, in the order in which opencode makes them."""
