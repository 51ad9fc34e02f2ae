"""The settings files of MCP clients: find them, and add or remove our server and hooks.

Every function that changes a file returns its text before and after; `replace_file` writes it. Entries of others
are never touched, and a file that cannot be changed safely is left alone with an error that says what to add.
"""

import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from weft.config import ClientFolders
from weft.errors import InvalidInput

_BACKUP_SUFFIX: Final = ".weft-backup"
_DRAFT_SUFFIX: Final = ".weft-draft"

HOOK_CLIENT: Final = "claude-code"
"""The only client that has hooks."""
_HOOK_PROGRAM: Final = "weft-hook"
_HOOK_MODULE: Final = "weft.interfaces.hooks"
_HOOK_TIMEOUT_SECONDS: Final = 15
"""When the client gives up on a hook. Hooks end earlier by themselves (see hooks/entry.py), so it never does."""
_HOOK_MATCHERS: Final = {
    "SessionStart": None,
    "UserPromptSubmit": None,
    "PostToolUse": "Bash|mcp__.*__start_experience",
    "PostToolUseFailure": "Bash",
}
"""The events to install hooks for, each with the tools it concerns (None: it concerns no tool)."""


class Client(Struct, frozen=True):
    """An MCP client and how it keeps its servers."""

    name: str
    table: str
    """The table of its settings that lists the servers."""
    in_folder: str | None
    """The path of its settings file for one folder; None if it has only settings for the user."""
    for_user: tuple[str, str]
    """Its settings file for the user: the name of a folder of `Home`, and the path inside."""
    folder_variable: str | None = None
    """The variable that it replaces by the working folder; None if it starts servers in that folder anyway."""
    has_types: bool = False
    """Whether it wants the type of a server spelled out."""

    def file(self, home: ClientFolders, everywhere: bool) -> Path:
        """Return the settings file for the working folder or, with `everywhere`, for the user."""
        if self.in_folder is not None and not everywhere:
            return home.working / self.in_folder
        root, path = self.for_user
        return {"user": home.user, "desktop": home.desktop, "code": home.code}[root] / path


CLIENTS: Final = {
    client.name: client
    for client in (
        Client("claude-code", "mcpServers", ".mcp.json", ("user", ".claude.json"), has_types=True),
        Client("claude-desktop", "mcpServers", None, ("desktop", "claude_desktop_config.json")),
        Client("cursor", "mcpServers", ".cursor/mcp.json", ("user", ".cursor/mcp.json"), "${workspaceFolder}"),
        Client("codex", "mcp_servers", None, ("user", ".codex/config.toml")),
        Client(
            "vscode", "servers", ".vscode/mcp.json", ("code", "mcp.json"), "${workspaceFolder}", has_types=True
        ),
    )
}


class ServerEntry(Struct, frozen=True):
    """Our server in a client's settings: its name and the command that starts it."""

    name: str
    command: str
    arguments: tuple[str, ...]

    def to_values(self, has_types: bool) -> dict[str, Any]:
        """Return the entry as JSON or TOML values."""
        kind = {"type": "stdio"} if has_types else {}
        return {**kind, "command": self.command, "args": list(self.arguments)}


# --- the commands that a client runs -----------------------------------------------------------------------


def server_command(words: Sequence[str], executable: Path, *, portable: bool = False) -> tuple[str, ...]:
    """Return the words that start Weft: those given, else its program, else this Python with the package.

    A `portable` one names the program alone, which every machine finds for itself.
    """
    return ("weft",) if portable and not words else _command(words, executable, "weft", "weft")


def hook_command(words: Sequence[str], executable: Path) -> tuple[str, ...]:
    """Return the words that start a hook: those given, else its program, else this Python with the package."""
    return _command(words, executable, _HOOK_PROGRAM, _HOOK_MODULE)


def _command(words: Sequence[str], executable: Path, program: str, module: str) -> tuple[str, ...]:
    if words:
        return tuple(words)
    # Installed programs lie beside the Python that runs them.
    path = executable.parent / (f"{program}.exe" if executable.suffix == ".exe" else program)
    return (str(path),) if path.is_file() else (str(executable), "-m", module)


def store_argument(client: Client, store: Path, home: ClientFolders, everywhere: bool) -> str | None:
    """Return how a client's settings name the store; None if the server finds it in the working folder."""
    is_inside = store == home.working / ".weft"
    if everywhere or client.in_folder is None or not is_inside:
        return str(store)
    return None if client.folder_variable is None else f"{client.folder_variable}/.weft"


# --- the server --------------------------------------------------------------------------------------------


def with_server(client: Client, file: Path, entry: ServerEntry) -> tuple[str | None, str]:
    """Return the text of a client's file now (None: no file) and with our server in it."""
    before = _read(file)
    add = _add_to_toml if file.suffix == ".toml" else _add_to_json
    return before, add(client, file, before or "", entry)


def without_server(client: Client, file: Path, name: str) -> tuple[str | None, str]:
    """Return the text of a client's file now (None: no file) and without the server of that name."""
    before = _read(file)
    remove = _remove_from_toml if file.suffix == ".toml" else _remove_from_json
    return before, "" if before is None else remove(client, file, before, name)


def json_snippet(entry: ServerEntry) -> str:
    """Return what to add to the settings of a client that is not known here."""
    return json.dumps({"mcpServers": {entry.name: entry.to_values(False)}}, indent=2, ensure_ascii=False)


def _add_to_json(client: Client, file: Path, before: str, entry: ServerEntry) -> str:
    settings, servers = _parse_servers(client, file, before, json_snippet(entry))
    return _to_json({**settings, client.table: {**servers, entry.name: entry.to_values(client.has_types)}})


def _remove_from_json(client: Client, file: Path, before: str, name: str) -> str:
    settings, servers = _parse_servers(client, file, before, "")
    if name not in servers:
        return before
    others = {other: entry for other, entry in servers.items() if other != name}
    if others:
        return _to_json({**settings, client.table: others})
    return _to_json({key: value for key, value in settings.items() if key != client.table})


def _parse_servers(client: Client, file: Path, text: str, addition: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings in a client's file, and its table of servers."""
    settings = _parse_json(file, text, addition)
    servers = settings.get(client.table, {}) if isinstance(settings, dict) else None
    if not isinstance(servers, dict):
        raise _left_alone(file, f"has no table {client.table!r} for servers", addition)
    return settings, servers


# There is no TOML writer that keeps comments, so the text itself is edited. The result is parsed and compared with
# what it should say, and anything else is refused.


def _add_to_toml(client: Client, file: Path, before: str, entry: ServerEntry) -> str:
    # Strings and lists of strings are written alike in JSON and TOML.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.to_values(False).items()]
    table = "\n".join([f"[{client.table}.{entry.name}]", *lines, ""])
    try:
        settings = tomllib.loads(before)
        after = _cut_table(before, client.table, entry.name) + table
        servers = {**settings.get(client.table, {}), entry.name: entry.to_values(False)}
        # The proof that the edit did what it should and nothing else.
        if tomllib.loads(after) == {**settings, client.table: servers}:
            return after
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise _left_alone(file, f"is no TOML that can be added to ({error})", table) from error
    raise _left_alone(file, "writes its servers in a way that cannot be added to safely", table)


def _remove_from_toml(client: Client, file: Path, before: str, name: str) -> str:
    after = _cut_table(before, client.table, name).rstrip() + "\n"
    try:
        servers = tomllib.loads(before).get(client.table, {})
        others = {other: entry for other, entry in servers.items() if other != name}
        if name not in servers:
            return before
        if tomllib.loads(after).get(client.table, {}) == others:
            return after.lstrip()
    except (tomllib.TOMLDecodeError, TypeError, AttributeError) as error:
        raise _left_alone(file, f"is no TOML that can be changed ({error})", "") from error
    raise _left_alone(file, "writes its servers in a way that cannot be changed safely", "")


def _cut_table(text: str, table: str, name: str) -> str:
    """Return a TOML text without the table of a server and its sub-tables, ready for one to be appended."""
    title = rf"{re.escape(table)}\.(?:{re.escape(name)}|{re.escape(json.dumps(name))})"
    kept = re.sub(rf"^\[{title}(?:\.[^\]]*)?\][^\n]*\n(?:(?!\[)[^\n]*\n?)*", "", text, flags=re.M).rstrip()
    return f"{kept}\n\n" if kept else ""


# --- the hooks ---------------------------------------------------------------------------------------------


def hook_settings_file(home: ClientFolders, everywhere: bool) -> Path:
    """Return the file with the user's hooks for the working folder or, with `everywhere`, for all folders."""
    # The settings that a folder shares with others (settings.json) would be wrong for the working folder: the
    # command names a program on this machine.
    folder = home.user if everywhere else home.working
    return folder / ".claude" / ("settings.json" if everywhere else "settings.local.json")


def hook_entries(words: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return our hooks by event, as the client's settings have them; `words` are the command they run."""
    hook = {"type": "command", "command": shlex.join(words), "timeout": _HOOK_TIMEOUT_SECONDS}
    return {
        event: [{**({} if matcher is None else {"matcher": matcher}), "hooks": [hook]}]
        for event, matcher in _HOOK_MATCHERS.items()
    }


def with_hooks(file: Path, words: Sequence[str]) -> tuple[str | None, str]:
    """Return the text of the settings now (None: no file) and with our hooks, each once."""
    ours = hook_entries(words)
    before = _read(file)
    settings = _parse_hook_settings(file, before or "", json.dumps({"hooks": ours}, indent=2))
    # Ours are removed first, so that installing twice replaces them instead of adding them again.
    others = _remove_our_hooks(settings.get("hooks", {}))
    hooks = {event: others.get(event, []) + ours.get(event, []) for event in {**others, **ours}}
    return before, _to_json({**settings, "hooks": hooks})


def without_hooks(file: Path) -> tuple[str | None, str]:
    """Return the text of the settings now (None: no file) and without our hooks."""
    before = _read(file)
    if before is None:
        return None, ""
    settings = _parse_hook_settings(file, before, "")
    hooks = settings.get("hooks", {})
    others = _remove_our_hooks(hooks)
    if others == hooks:
        return before, before
    rest = {key: value for key, value in settings.items() if key != "hooks"}
    return before, _to_json({**rest, "hooks": others} if others else rest)


def _parse_hook_settings(file: Path, text: str, addition: str) -> dict[str, Any]:
    """Return the settings, whose hooks are known to be lists by event."""
    settings = _parse_json(file, text, addition)
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(entries, list) for entries in hooks.values()):
        raise _left_alone(file, "has no table 'hooks' with a list for each event", addition)
    return dict(settings)


def _remove_our_hooks(hooks: dict[str, list[Any]]) -> dict[str, list[Any]]:
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
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    if not isinstance(hooks, list):
        return entry
    others = [hook for hook in hooks if not _is_ours(hook)]
    return {**entry, "hooks": others} if others or not hooks else None


def _is_ours(hook: Any) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and (_HOOK_PROGRAM in command or _HOOK_MODULE in command)


# --- files -------------------------------------------------------------------------------------------------


def replace_file(file: Path, text: str) -> Path | None:
    """Write a client's file in one step, and return the backup of the old one (None: there was no file)."""
    # A settings file may be a link into a folder of dotfiles: the file behind it is replaced, not the link.
    target = file.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = _back_up(target) if target.exists() else None
        draft = target.with_name(f"{target.name}{_DRAFT_SUFFIX}")
        draft.write_text(text, encoding="utf-8")
        if backup is not None:
            shutil.copymode(target, draft)
        # In one step: a client that reads the file meanwhile sees the old or the new one, never half of it.
        draft.replace(target)
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be written ({error}). Check its permissions, or use --dry-run."
        ) from error
    return backup


def _back_up(file: Path) -> Path:
    """Copy a file beside itself under a name that is not taken, and return the copy."""
    taken = {path.name for path in file.parent.glob(f"{file.name}{_BACKUP_SUFFIX}*")}
    first = f"{file.name}{_BACKUP_SUFFIX}"
    # Numbered, because an earlier backup may be the only copy of what the user wrote.
    names = (first, *(f"{first}-{number}" for number in range(2, len(taken) + 2)))
    backup = file.with_name(next(name for name in names if name not in taken))
    shutil.copy2(file, backup)
    return backup


def _read(file: Path) -> str | None:
    """Return the text of a client's file, or None if there is no file."""
    try:
        # Editors on Windows may begin a file with a byte order mark, which JSON does not allow.
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file} cannot be read ({error}). Correct it, then install again.") from error


def _parse_json(file: Path, text: str, addition: str) -> Any:
    """Return the JSON value in a client's file, {} if it is empty; `addition` is named in the error."""
    try:
        return json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise _left_alone(file, f"is not plain JSON ({error})", addition) from error


def _to_json(settings: dict[str, Any]) -> str:
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def _left_alone(file: Path, reason: str, addition: str) -> InvalidInput:
    """Return the error that says why a file is not changed, and what to add to it by hand, if anything."""
    hint = f" Add this to it:\n{addition}" if addition else ""
    return InvalidInput(f"{file} {reason}, so it is left as it is.{hint}")
