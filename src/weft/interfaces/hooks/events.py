"""The options of `weft-hook`, the events that the client sends, and the answers that it reads."""

import json
import re
from collections.abc import Mapping, Sequence
from getopt import getopt
from typing import Any, Final

from msgspec import Struct

from weft.errors import InvalidInput
from weft.interfaces.hooks.commands import Run, find_run

OPTIONS: Final = ("store", "profile", "tenant", "max-tokens", "deadline")
_DEFAULT_MAX_TOKENS: Final = 800
"""The budget of a page: it is added to every prompt, so it must stay small beside what the user wrote."""
_LARGEST_MAX_TOKENS: Final = 2_000
"""The largest budget that can be chosen: a page of that size stays below `_MAX_ANSWER_CHARACTERS`."""
_MAX_ANSWER_CHARACTERS: Final = 10_000
"""Characters that the client adds to the conversation; a longer text it would put into a file."""
_SHELL_TOOL: Final = "Bash"
_START_COMMAND: Final = re.compile(r"\bexperience\s+start\b")
_START_TOOL_SUFFIX: Final = "__start_experience"


class Settings(Struct, frozen=True):
    """The options of the hook; those that are unset have the same defaults as on the command line."""

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
    return Settings(
        store=values.get("store"),
        profile=values.get("profile"),
        tenants=tuple(value for name, value in pairs if name == "--tenant"),
        # Cut silently: a hook has nobody to report a mistake to.
        max_tokens=min(int(values.get("max-tokens", _DEFAULT_MAX_TOKENS)), _LARGEST_MAX_TOKENS),
        deadline=float(values["deadline"]) if "deadline" in values else None,
    )


class Event(Struct, frozen=True):
    """One event of a session: its start, a prompt, or the use of a tool."""

    name: str
    session: str = ""
    folder: str = ""
    prompt: str = ""
    transcript: str = ""
    """The file in which the client keeps the conversation."""
    was_compacted: bool = False
    """Whether a session starts again because its conversation was shortened."""
    tool: str = ""
    command: str = ""
    output: str = ""
    has_failed: bool = False
    has_finished: bool = True
    """Whether the tool ended by itself: it was not interrupted and does not go on in the background."""

    @property
    def run(self) -> Run | None:
        """The test or build that the tool ran to its end, if it did."""
        return find_run(self.command) if self.tool == _SHELL_TOOL and self.has_finished else None

    @property
    def starts_experience(self) -> bool:
        """Whether the tool started an experience."""
        if self.tool.endswith(_START_TOOL_SUFFIX):
            return True
        return self.tool == _SHELL_TOOL and bool(_START_COMMAND.search(self.command))

    @property
    def is_relevant(self) -> bool:
        """Whether there may be something to do or to answer."""
        if self.name == "UserPromptSubmit":
            return bool(self.prompt.strip())
        if self.name in ("PostToolUse", "PostToolUseFailure"):
            return self.starts_experience or self.run is not None
        return self.name == "SessionStart"


def read_event(payload: bytes) -> Event:
    """Parse the event that the client sends. Fields that are missing or of another type are empty."""
    sent = json.loads(payload)
    tool_input, answer = _mapping(sent.get("tool_input")), sent.get("tool_response")
    response = _mapping(answer)
    return Event(
        name=_string(sent, "hook_event_name"),
        session=_string(sent, "session_id"),
        folder=_string(sent, "cwd"),
        prompt=_string(sent, "prompt"),
        transcript=_string(sent, "transcript_path"),
        was_compacted=sent.get("source") == "compact",
        tool=_string(sent, "tool_name"),
        command=_string(tool_input, "command"),
        output=_tool_output(sent, answer),
        has_failed=sent.get("hook_event_name") == "PostToolUseFailure" or _exit_code(response) != 0,
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
    answer = {"hookEventName": event.name, "additionalContext": text}
    # ASCII, because the client may read it in the encoding of the system.
    return json.dumps({"suppressOutput": True, "hookSpecificOutput": answer}).encode("ascii") + b"\n"


def _tool_output(sent: Mapping[str, Any], answer: Any) -> str:
    """Return what a tool printed; versions of the client differ in where they put it."""
    response = _mapping(answer)
    parts = [_string(sent, "error"), _string(response, "stdout"), _string(response, "stderr")]
    if any(parts) or answer is None:
        return "\n".join(part for part in parts if part)
    return answer if isinstance(answer, str) else json.dumps(answer)


def _exit_code(response: Mapping[str, Any]) -> int:
    codes = [response.get(name) for name in ("exit_code", "exitCode", "returncode")]
    return next((code for code in codes if isinstance(code, int)), 0)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _string(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""
