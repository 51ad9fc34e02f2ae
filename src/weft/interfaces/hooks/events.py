"""The options of `weft-hook`, as `weft install --hooks` writes them into the client's settings."""

import json
import re
from collections.abc import Mapping, Sequence
from getopt import getopt
from typing import Any, Final

from weft.errors import InvalidInput
from weft.frozen import dataclass
from weft.interfaces.hooks.commands import Run, run_in

OPTIONS: Final = ("store", "profile", "tenant", "max-tokens", "deadline")
MAX_TOKENS: Final = 800
MOST_TOKENS: Final = 2_000
"""The client takes 10,000 characters; more it puts into a file."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the hooks work with; whatever is unset is as in every other face."""

    store: str | None = None
    profile: str | None = None
    tenants: tuple[str, ...] = ()
    max_tokens: int = MAX_TOKENS
    deadline: float | None = None


def read_settings(arguments: Sequence[str]) -> Settings:
    """The settings that the arguments say."""
    given, rest = getopt(list(arguments), "", [f"{name}=" for name in OPTIONS])
    if rest:
        raise InvalidInput(f"{rest[0]!r} is no option of weft-hook. It takes its event on stdin.")
    said = {name.removeprefix("--"): value for name, value in given}
    return Settings(
        store=said.get("store"),
        profile=said.get("profile"),
        tenants=tuple(value for name, value in given if name == "--tenant"),
        max_tokens=min(int(said.get("max-tokens", MAX_TOKENS)), MOST_TOKENS),
        deadline=float(said["deadline"]) if "deadline" in said else None,
    )


SHELL: Final = "Bash"
_STARTS: Final = re.compile(r"\bexperience\s+start\b")
_START_TOOL: Final = "__start_experience"
_MOST_CHARACTERS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a session: a start, a prompt, or a tool that was used."""

    name: str
    session: str = ""
    folder: str = ""
    prompt: str = ""
    tool: str = ""
    command: str = ""
    output: str = ""
    failed: bool = False
    finished: bool = True
    """Whether the tool came to an end of its own: it was not interrupted and does not go on in the background."""

    @property
    def run(self) -> Run | None:
        """The test or build that the tool ran to its end, if it did."""
        return run_in(self.command) if self.tool == SHELL and self.finished else None

    @property
    def starts_experience(self) -> bool:
        """Whether an experience was started by the tool."""
        return self.tool.endswith(_START_TOOL) or (self.tool == SHELL and bool(_STARTS.search(self.command)))

    @property
    def concerns_us(self) -> bool:
        """Whether there may be anything to do or to say."""
        if self.name == "UserPromptSubmit":
            return bool(self.prompt.strip())
        if self.name in ("PostToolUse", "PostToolUseFailure"):
            return self.starts_experience or self.run is not None
        return self.name == "SessionStart"


def read_event(payload: bytes) -> Event:
    """The event that the client sends; fields that it leaves out are empty."""
    sent = json.loads(payload)
    given, answer = _table(sent.get("tool_input")), sent.get("tool_response")
    response = _table(answer)
    return Event(
        name=_text(sent, "hook_event_name"),
        session=_text(sent, "session_id"),
        folder=_text(sent, "cwd"),
        prompt=_text(sent, "prompt"),
        tool=_text(sent, "tool_name"),
        command=_text(given, "command"),
        output=_output(sent, answer),
        failed=sent.get("hook_event_name") == "PostToolUseFailure" or _code(response) != 0,
        finished=not (
            sent.get("is_interrupt")
            or response.get("interrupted")
            or response.get("backgroundTaskId")
            or given.get("run_in_background")
        ),
    )


def answer_of(event: Event, text: str) -> bytes:
    """What the client adds to the conversation; nothing for an empty text, or one that it would not take whole."""
    if not text or len(text) > _MOST_CHARACTERS:
        return b""
    told = {"hookEventName": event.name, "additionalContext": text}
    return json.dumps({"suppressOutput": True, "hookSpecificOutput": told}).encode("ascii") + b"\n"


def _output(sent: Mapping[str, Any], answer: Any) -> str:
    """What a tool printed, in whichever form the client tells it."""
    response = _table(answer)
    parts = [_text(sent, "error"), _text(response, "stdout"), _text(response, "stderr")]
    if any(parts) or answer is None:
        return "\n".join(part for part in parts if part)
    return answer if isinstance(answer, str) else json.dumps(answer)


def _code(response: Mapping[str, Any]) -> int:
    codes = [response.get(name) for name in ("exit_code", "exitCode", "returncode")]
    return next((code for code in codes if isinstance(code, int)), 0)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""
