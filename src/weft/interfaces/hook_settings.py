"""The settings files in which clients keep their hooks: find them, and add or remove ours.

As with servers, every function that changes a file returns its text before and after, entries of others are never
touched, and a file that cannot be changed safely is left alone. opencode has no settings for hooks: there a plugin
of ours calls the same program.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from weft.config import ClientFolders
from weft.errors import InvalidInput, UnknownName
from weft.interfaces.client_settings import complete_command, left_alone, parse_json, read_file, to_json
from weft.interfaces.hooks.events import CLAUDE_CODE, CODEX, CURSOR, OPENCODE

_PROGRAM: Final = "weft-hook"
_MODULE: Final = "weft.interfaces.hooks"
_TIMEOUT_SECONDS: Final = 15
"""When the client gives up on a hook. Hooks end earlier by themselves (see hooks/entry.py), so it never does."""
_PLUGIN: Final = Path(__file__).parent / "hooks" / "opencode_plugin.js"
_PLUGIN_COMMAND: Final = '["weft-hook"]'
"""The words of the plugin that the command takes the place of."""


class HookClient(Struct, frozen=True):
    """A client that runs hooks, and how it keeps them."""

    name: str
    in_folder: str | None
    """Its file for one folder; None if it has only one for the user."""
    for_user: str
    """Its file for all folders, in the user's folder."""
    matchers: Mapping[str, str | None]
    """The events to install hooks for, each with the tools it concerns (None: it concerns no tool)."""
    top: Mapping[str, Any]
    """The settings that the file must have beside the hooks."""
    note: str = ""
    """Something that the user has to know after installing."""

    def file(self, home: ClientFolders, everywhere: bool) -> Path:
        """Return the file for the working folder or, with `everywhere`, for all folders."""
        if self.in_folder is None or everywhere:
            return home.user / self.for_user
        return home.working / self.in_folder

    def is_for_all(self, everywhere: bool) -> bool:
        """Return whether the hooks are for all folders, so that they look for the store of each."""
        return everywhere or self.in_folder is None

    def entries(self, words: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
        """Return our hooks by event, as the client's settings have them; `words` are the command they run."""
        hook = {"command": shlex.join(words), "timeout": _TIMEOUT_SECONDS}
        return {event: [self._entry(matcher, hook)] for event, matcher in self.matchers.items()}

    def _entry(self, matcher: str | None, hook: Mapping[str, Any]) -> dict[str, Any]:
        tools = {} if matcher is None else {"matcher": matcher}
        # Cursor lists the hooks of an event; the others list groups of them, by the tools they concern.
        return {**hook, **tools} if self.name == CURSOR else {**tools, "hooks": [{"type": "command", **hook}]}


_SHELL_EVENTS: Final = {
    "SessionStart": None,
    "UserPromptSubmit": None,
    "PostToolUse": "Bash|mcp__.*__start_experience",
    "PreCompact": None,
}
_CURSOR_EVENTS: Final = {
    "sessionStart": None,
    "beforeSubmitPrompt": None,
    "postToolUse": "Shell|MCP:.*start_experience",
    "postToolUseFailure": "Shell",
    "preCompact": None,
}
HOOK_CLIENTS: Final = {
    client.name: client
    for client in (
        # Not the settings that a folder shares with others: the command names a program on this machine.
        HookClient(
            *(CLAUDE_CODE, ".claude/settings.local.json", ".claude/settings.json"),
            matchers={**_SHELL_EVENTS, "PostToolUseFailure": "Bash"},
            top={},
        ),
        HookClient(
            *(CODEX, None, ".codex/hooks.json"),
            matchers=_SHELL_EVENTS,
            top={},
            note="Codex asks once whether it may run them. Versions before hooks were on by default need "
            "`codex_hooks = true` under [features] in ~/.codex/config.toml.",
        ),
        HookClient(
            *(CURSOR, ".cursor/hooks.json", ".cursor/hooks.json"), matchers=_CURSOR_EVENTS, top={"version": 1}
        ),
        HookClient(
            *(OPENCODE, ".opencode/plugins/weft.js", ".config/opencode/plugins/weft.js"), matchers={}, top={}
        ),
    )
}


def find_hook_client(name: str | None) -> HookClient:
    """Return the client of this name, or raise an error that lists those with hooks."""
    if name is None:
        known = ", ".join(HOOK_CLIENTS)
        raise InvalidInput(f"No client is named. Hooks are known for {known}: `weft install claude-code --hooks`.")
    if name not in HOOK_CLIENTS:
        raise UnknownName("client with hooks", name, HOOK_CLIENTS)
    return HOOK_CLIENTS[name]


def hook_command(client: HookClient, words: Sequence[str], executable: Path) -> tuple[str, ...]:
    """Return the words that start a hook: those given, else its program, else this Python with the package."""
    dialect = () if client.name == CLAUDE_CODE else ("--client", client.name)
    return (*complete_command(words, executable, _PROGRAM, _MODULE), *dialect)


def with_hooks(client: HookClient, file: Path, words: Sequence[str]) -> tuple[str | None, str]:
    """Return the text of the file now (None: no file) and with our hooks, each once."""
    before = read_file(file)
    if client.name == OPENCODE:
        if before and not _is_our_plugin(before):
            raise left_alone(file, "is a plugin that Weft did not write", plugin_text(words))
        return before, plugin_text(words)
    ours = client.entries(words)
    settings = _parse_settings(file, before or "", to_json({**client.top, "hooks": ours}))
    # Ours are removed first, so that installing twice replaces them instead of adding them again.
    others = _remove_ours(settings.get("hooks", {}))
    hooks = {event: others.get(event, []) + ours.get(event, []) for event in {**others, **ours}}
    return before, to_json({**client.top, **settings, "hooks": hooks})


def without_hooks(client: HookClient, file: Path) -> tuple[str | None, str]:
    """Return the text of the file now (None: no file) and without our hooks; empty if nothing is left."""
    before = read_file(file)
    if before is None:
        return None, ""
    if client.name == OPENCODE:
        return before, "" if _is_our_plugin(before) else before
    settings = _parse_settings(file, before, "")
    hooks = settings.get("hooks", {})
    others = _remove_ours(hooks)
    if others == hooks:
        return before, before
    rest = {key: value for key, value in settings.items() if key != "hooks"}
    return before, to_json({**rest, "hooks": others} if others else rest)


def plugin_text(words: Sequence[str]) -> str:
    """Return the plugin for opencode that runs this command."""
    return _PLUGIN.read_text(encoding="utf-8").replace(_PLUGIN_COMMAND, json.dumps(list(words)), 1)


def _is_our_plugin(text: str) -> bool:
    # The first line says who wrote it.
    return text.splitlines()[0] == _PLUGIN.read_text(encoding="utf-8").splitlines()[0]


def _parse_settings(file: Path, text: str, addition: str) -> dict[str, Any]:
    """Return the settings, whose hooks are known to be lists by event."""
    settings = parse_json(file, text, addition)
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(entries, list) for entries in hooks.values()):
        raise left_alone(file, "has no table 'hooks' with a list for each event", addition)
    return dict(settings)


def _remove_ours(hooks: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the hooks of others by event. Events and entries that held only ours are left out."""
    others = {}
    for event, entries in hooks.items():
        kept = [rest for rest in map(_remove_from_entry, entries) if rest is not None]
        # A list that was empty before is the user's, and stays.
        if kept or not entries:
            others[event] = kept
    return others


def _remove_from_entry(entry: Any) -> Any:
    """Return an entry without our hooks; None if it had no others."""
    if _is_ours(entry):
        return None
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    if not isinstance(hooks, list):
        return entry
    others = [hook for hook in hooks if not _is_ours(hook)]
    return {**entry, "hooks": others} if others or not hooks else None


def _is_ours(hook: Any) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and (_PROGRAM in command or _MODULE in command)
