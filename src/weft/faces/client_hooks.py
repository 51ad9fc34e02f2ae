"""The hooks of Claude Code: which events call us, and how our entries are put into its settings and taken out."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from weft.faces.clients import Home, json_text, left_alone, text_of

CLIENT: Final = "claude-code"
_PROGRAM: Final = "weft-hook"
_MODULE: Final = "weft.faces.hooks"
_SECONDS: Final = 15
"""When the client gives up waiting; our own deadlines are shorter."""
_MATCHERS: Final = {
    "SessionStart": None,
    "UserPromptSubmit": None,
    "PostToolUse": "Bash|mcp__.*__start_experience",
    "PostToolUseFailure": "Bash",
}


def settings_file(home: Home, everywhere: bool) -> Path:
    """The client's settings for one folder and one user, or for all folders of the user.

    Those that a folder shares with everybody would be wrong, for the command names a program on this machine.
    """
    folder = home.user if everywhere else home.working
    return folder / ".claude" / ("settings.json" if everywhere else "settings.local.json")


def hook_words(given: Sequence[str], executable: Path) -> tuple[str, ...]:
    """The words that start a hook: as given, its own program, or this Python with the package."""
    if given:
        return tuple(given)
    program = executable.parent / (f"{_PROGRAM}.exe" if executable.suffix == ".exe" else _PROGRAM)
    return (str(program),) if program.is_file() else (str(executable), "-m", _MODULE)


def hook_entries(words: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Our entries by event, as the client's settings have them."""
    hook = {"type": "command", "command": shlex.join(words), "timeout": _SECONDS}
    return {
        event: [{**({} if matcher is None else {"matcher": matcher}), "hooks": [hook]}]
        for event, matcher in _MATCHERS.items()
    }


def with_hooks(file: Path, words: Sequence[str]) -> tuple[str | None, str]:
    """The text of the settings now (None: there are none) and with our entries, once each."""
    entries = hook_entries(words)
    before = text_of(file)
    settings = _settings(file, before or "", json.dumps({"hooks": entries}, indent=2))
    others = _others(settings.get("hooks", {}))
    known = {event: others.get(event, []) + entries.get(event, []) for event in {**others, **entries}}
    return before, json_text({**settings, "hooks": known})


def without_hooks(file: Path) -> tuple[str | None, str]:
    """The text of the settings now (None: there are none) and without our entries; those of others stay."""
    before = text_of(file)
    if before is None:
        return None, ""
    settings = _settings(file, before, "")
    known = settings.get("hooks", {})
    others = _others(known)
    if others == known:
        return before, before
    rest = {name: value for name, value in settings.items() if name != "hooks"}
    return before, json_text({**rest, "hooks": others} if others else rest)


def _settings(file: Path, text: str, ours: str) -> dict[str, Any]:
    """The settings as a table whose hooks can be changed, or an error that leaves them alone."""
    try:
        known = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise left_alone(file, f"is no plain JSON ({error})", ours) from error
    hooks = known.get("hooks", {}) if isinstance(known, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(each, list) for each in hooks.values()):
        raise left_alone(file, "has no table 'hooks' with a list for each event", ours)
    return dict(known)


def _others(hooks: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The entries that are not ours; what only held ours is gone."""
    kept = {event: [_without_ours(entry) for entry in entries] for event, entries in hooks.items()}
    found = {event: [entry for entry in entries if entry is not None] for event, entries in kept.items()}
    return {event: entries for event, entries in found.items() if entries or not hooks[event]}


def _without_ours(entry: Any) -> Any:
    """An entry without our hooks; None when it had no others."""
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    if not isinstance(hooks, list):
        return entry
    others = [hook for hook in hooks if not _is_ours(hook)]
    return {**entry, "hooks": others} if others or not hooks else None


def _is_ours(hook: Any) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and (_PROGRAM in command or _MODULE in command)
