"""The options of `weft-hook`, the events that the clients send, and the answers that they read.

Claude Code, Codex and our plugin for opencode send events of one shape; those of Cursor are brought into it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from getopt import getopt
from typing import Any, Final

from msgspec import Struct

from weft.errors import InvalidInput
from weft.interfaces.hooks.commands import Run, find_run

OPTIONS: Final = ("client", "store", "profile", "tenant", "max-tokens", "deadline")
CLAUDE_CODE: Final = "claude-code"
CODEX: Final = "codex"
CURSOR: Final = "cursor"
OPENCODE: Final = "opencode"
CLIENTS: Final = (CLAUDE_CODE, CODEX, CURSOR, OPENCODE)
"""The clients whose events are understood."""
_DEFAULT_MAX_TOKENS: Final = 800
"""The budget of a page: it is added to every prompt, so it must stay small beside what the user wrote."""
_LARGEST_MAX_TOKENS: Final = 2_000
"""The largest budget that can be chosen: a page of that size stays below `_MAX_ANSWER_CHARACTERS`."""
_MAX_ANSWER_CHARACTERS: Final = 10_000
"""Characters that the client adds to the conversation; a longer text it would put into a file."""
_SHELL_TOOL: Final = "Bash"
_START_COMMAND: Final = re.compile(r"\bexperience\s+start\b")
_START_TOOL: Final = re.compile(r"(?:__|[:_])start_experience$")
"""The tool that starts an experience, under the names that clients give to it: each has its own prefix."""
_CURSOR_EVENTS: Final = {
    "sessionStart": "SessionStart",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "preCompact": "PreCompact",
}
_CURSOR_SHELL: Final = "Shell"
_NOT_RUN: Final = ("timeout", "permission_denied")
"""The failures of a tool in Cursor that say nothing about the command."""
_WRITTEN_EXIT_CODE: Final = re.compile(r"\A.{0,200}?\bexit(?:ed with)? code:? (-?\d+)", re.I | re.S)
"""An exit code in the first words of what a tool returned, where Codex writes it in some of its versions."""


class Settings(Struct, frozen=True):
    """The options of the hook; those that are unset have the same defaults as on the command line."""

    client: str = CLAUDE_CODE
    store: str | None = None
    profile: str | None = None
    tenants: tuple[str, ...] = ()
    max_tokens: int = _DEFAULT_MAX_TOKENS
    deadline: float | None = None


def read_settings(arguments: Sequence[str]) -> Settings:
    """Parse the arguments of `weft-hook`."""
    # getopt instead of argparse or Typer: it loads in a fraction of the time, and this runs for every event.
    pairs, rest = getopt(list(arguments), "", [f"{name}=" for name in OPTIONS])
    if rest:
        raise InvalidInput(f"{rest[0]!r} is no option of weft-hook. It reads its event from stdin.")
    values = {name.removeprefix("--"): value for name, value in pairs}
    client = values.get("client", CLAUDE_CODE)
    if client not in CLIENTS:
        raise InvalidInput(f"{client!r} is no client of weft-hook. It knows {', '.join(CLIENTS)}.")
    return Settings(
        client=client,
        store=values.get("store"),
        profile=values.get("profile"),
        tenants=tuple(value for name, value in pairs if name == "--tenant"),
        # Cut silently: a hook has nobody to report a mistake to.
        max_tokens=min(int(values.get("max-tokens", _DEFAULT_MAX_TOKENS)), _LARGEST_MAX_TOKENS),
        deadline=float(values["deadline"]) if "deadline" in values else None,
    )


class Event(Struct, frozen=True):
    """One event of a session: its start, a prompt, the use of a tool, or the shortening of its conversation."""

    name: str
    client: str = CLAUDE_CODE
    session: str = ""
    agent: str = ""
    """The id of an agent within the session, which has a conversation of its own; empty for the main one."""
    folder: str = ""
    prompt: str = ""
    transcript: str = ""
    """The file in which the client keeps the conversation."""
    source: str = ""
    """Why a session starts: it is new, it is resumed, or its conversation was shortened."""
    tool: str = ""
    command: str = ""
    output: str = ""
    has_failed: bool | None = False
    """None if the client does not say."""
    has_finished: bool = True
    """Whether the tool ended by itself: it was not interrupted and does not go on in the background."""

    @property
    def run(self) -> Run | None:
        """The test or build that the tool ran to its end, if it did."""
        return find_run(self.command) if self.tool == _SHELL_TOOL and self.has_finished else None

    @property
    def starts_experience(self) -> bool:
        """Whether the tool started an experience."""
        if _START_TOOL.search(self.tool):
            return True
        return self.tool == _SHELL_TOOL and bool(_START_COMMAND.search(self.command))

    @property
    def is_relevant(self) -> bool:
        """Whether there may be something to do or to answer."""
        if self.name == "UserPromptSubmit":
            return bool(self.prompt.strip())
        if self.name in ("PostToolUse", "PostToolUseFailure"):
            return self.starts_experience or self.run is not None
        return self.name in ("SessionStart", "PreCompact")

    @property
    def was_compacted(self) -> bool:
        """Whether a session starts again because its conversation was shortened."""
        return self.source == "compact"

    @property
    def is_new(self) -> bool:
        """Whether a conversation begins, perhaps under an id that another one had."""
        return self.name == "SessionStart" and self.source not in ("resume", "compact")


def read_event(payload: bytes, client: str = CLAUDE_CODE) -> Event:
    """Parse the event that the client sends. Fields that are missing or of another type are empty."""
    sent = json.loads(payload)
    if client == CURSOR:
        sent = _from_cursor(sent)
    tool_input, answer = _mapping(sent.get("tool_input")), sent.get("tool_response")
    response = _mapping(answer)
    return Event(
        name=_string(sent, "hook_event_name"),
        client=client,
        agent=_string(sent, "agent_id"),
        session=_string(sent, "session_id"),
        folder=_string(sent, "cwd"),
        prompt=_string(sent, "prompt"),
        transcript=_string(sent, "transcript_path"),
        source=_string(sent, "source"),
        tool=_string(sent, "tool_name"),
        command=_command(tool_input.get("command")),
        output=_tool_output(sent, answer),
        has_failed=_has_failed(sent, answer, client),
        has_finished=not (
            sent.get("is_interrupt")
            or response.get("interrupted")
            or response.get("backgroundTaskId")
            or tool_input.get("run_in_background")
        ),
    )


def format_answer(event: Event, text: str) -> bytes:
    """Return the answer that makes the client add a text to the conversation; empty if there is none to add."""
    # A text in a file would not be read, so one that is too long is not sent at all.
    if not text or len(text) > _MAX_ANSWER_CHARACTERS:
        return b""
    # Of the answers to this event, only our own plugin hands the text on.
    if event.name == "PreCompact" and event.client != OPENCODE:
        return b""
    answer: dict[str, Any] = {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}
    if event.client == CLAUDE_CODE:
        answer = {"suppressOutput": True, **answer}
    elif event.client == CURSOR:
        goes_on = {"continue": True} if event.name == "UserPromptSubmit" else {}
        answer = {**goes_on, "additional_context": text}
    # ASCII, because the client may read it in the encoding of the system.
    return json.dumps(answer).encode("ascii") + b"\n"


def _from_cursor(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event of Cursor with the names and fields of the other clients."""
    roots = sent.get("workspace_roots")
    first_root = roots[0] if isinstance(roots, list) and roots else ""
    tool, output = sent.get("tool_name"), sent.get("tool_output")
    try:
        # What a shell command left is JSON in a string.
        response = json.loads(output) if isinstance(output, str) else output
    except ValueError:
        response = output
    return {
        **sent,
        "hook_event_name": _CURSOR_EVENTS.get(_string(sent, "hook_event_name"), ""),
        "session_id": sent.get("conversation_id") or sent.get("session_id"),
        "cwd": sent.get("cwd") or first_root,
        "tool_name": _SHELL_TOOL if tool == _CURSOR_SHELL else tool,
        "tool_response": response,
        "error": sent.get("error_message"),
        "is_interrupt": sent.get("is_interrupt") or sent.get("failure_type") in _NOT_RUN,
    }


def _command(value: Any) -> str:
    """Return the command of a shell tool, which some versions of Codex send as a list of words."""
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        import shlex

        is_script = len(value) == 3 and value[1] in ("-c", "-lc")
        return str(value[2]) if is_script else shlex.join(value)
    return value if isinstance(value, str) else ""


def _has_failed(sent: Mapping[str, Any], answer: Any, client: str) -> bool | None:
    """Return whether a tool has failed; None if the client does not tell."""
    if sent.get("hook_event_name") == "PostToolUseFailure":
        return True
    code = _exit_code(_mapping(answer))
    if code is None and client in (CODEX, OPENCODE):
        # These send the event whatever came of the command, and not always its exit code.
        written = _WRITTEN_EXIT_CODE.search(answer) if isinstance(answer, str) else None
        return None if written is None else int(written[1]) != 0
    return bool(code)


def _tool_output(sent: Mapping[str, Any], answer: Any) -> str:
    """Return what a tool printed; versions of the client differ in where they put it."""
    response = _mapping(answer)
    parts = [_string(sent, "error"), *(_string(response, name) for name in ("stdout", "stderr", "output"))]
    if any(parts) or answer is None:
        return "\n".join(part for part in parts if part)
    return answer if isinstance(answer, str) else json.dumps(answer)


def _exit_code(response: Mapping[str, Any]) -> int | None:
    codes = [response.get(name) for name in ("exit_code", "exitCode", "returncode")]
    return next((code for code in codes if isinstance(code, int)), None)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _string(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""
