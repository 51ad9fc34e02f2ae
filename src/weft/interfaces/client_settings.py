"""The configuration of MCP clients: where each keeps it, what it calls a server, and how ours is put in."""

import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from weft.config import Home
from weft.errors import InvalidInput
from weft.frozen import dataclass

_BACKUP: Final = ".weft-backup"


@dataclass(frozen=True, slots=True)
class Client:
    """A client: its files for one folder and for all, its table of servers, and its word for that folder."""

    name: str
    table: str
    in_folder: str | None
    for_user: tuple[str, str]
    folder_word: str | None = None
    typed: bool = False

    def file(self, home: Home, everywhere: bool) -> Path:
        """The file to change."""
        if self.in_folder is not None and not everywhere:
            return home.working / self.in_folder
        root, path = self.for_user
        return {"user": home.user, "desktop": home.desktop, "code": home.code}[root] / path


CLIENTS: Final = {
    client.name: client
    for client in (
        Client("claude-code", "mcpServers", ".mcp.json", ("user", ".claude.json"), typed=True),
        Client("claude-desktop", "mcpServers", None, ("desktop", "claude_desktop_config.json")),
        Client("cursor", "mcpServers", ".cursor/mcp.json", ("user", ".cursor/mcp.json"), "${workspaceFolder}"),
        Client("codex", "mcp_servers", None, ("user", ".codex/config.toml")),
        Client("vscode", "servers", ".vscode/mcp.json", ("code", "mcp.json"), "${workspaceFolder}", typed=True),
    )
}


@dataclass(frozen=True, slots=True)
class Entry:
    """Our server as a client starts it."""

    name: str
    command: str
    arguments: tuple[str, ...]

    def plain(self, typed: bool) -> dict[str, Any]:
        """The entry as JSON or TOML values."""
        kind = {"type": "stdio"} if typed else {}
        return {**kind, "command": self.command, "args": list(self.arguments)}


def snippet(entry: Entry) -> str:
    """What to put into the configuration of a client that is not known here."""
    return json.dumps({"mcpServers": {entry.name: entry.plain(False)}}, indent=2, ensure_ascii=False)


def store_word(client: Client, store: Path, home: Home, everywhere: bool) -> str | None:
    """How the store is named in a client's file; None where the working folder's own is found by itself."""
    inside = store == home.working / ".weft"
    if everywhere or client.in_folder is None or not inside:
        return str(store)
    return None if client.folder_word is None else f"{client.folder_word}/.weft"


def changed(client: Client, file: Path, entry: Entry) -> tuple[str | None, str]:
    """The text of a client's file now (None: there is none) and with our server in it."""
    before = text_of(file)
    write = _with_toml if file.suffix == ".toml" else _with_json
    return before, write(client, file, before or "", entry)


def without(client: Client, file: Path, name: str) -> tuple[str | None, str]:
    """The text of a client's file now (None: there is none) and without the server of that name."""
    before = text_of(file)
    remove = _without_toml if file.suffix == ".toml" else _without_json
    return before, "" if before is None else remove(client, file, before, name)


def text_of(file: Path) -> str | None:
    """The text of a client's file, or None when there is none."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file} cannot be read ({error}). Correct it, then install again.") from error


def _with_json(client: Client, file: Path, before: str, entry: Entry) -> str:
    known, servers = _read_json(client, file, before, snippet(entry))
    return json_text({**known, client.table: {**servers, entry.name: entry.plain(client.typed)}})


def _without_json(client: Client, file: Path, before: str, name: str) -> str:
    known, servers = _read_json(client, file, before, "")
    if name not in servers:
        return before
    others = {other: entry for other, entry in servers.items() if other != name}
    kept = {**known, client.table: others}
    return json_text(kept if others else {table: kept[table] for table in kept if table != client.table})


def _read_json(client: Client, file: Path, text: str, ours: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a client's file says, and its table of servers."""
    try:
        known = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise left_alone(file, f"is no plain JSON ({error})", ours) from error
    servers = known.get(client.table, {}) if isinstance(known, dict) else None
    if not isinstance(servers, dict):
        raise left_alone(file, f"has no table {client.table!r} for servers", ours)
    return known, servers


def json_text(known: dict[str, Any]) -> str:
    """A client's file as it is written."""
    return json.dumps(known, indent=2, ensure_ascii=False) + "\n"


def _without_toml(client: Client, file: Path, before: str, name: str) -> str:
    after = _without_table(before, client.table, name).rstrip() + "\n"
    try:
        known = tomllib.loads(before)
        servers = {other: entry for other, entry in known.get(client.table, {}).items() if other != name}
        if name not in known.get(client.table, {}):
            return before
        if tomllib.loads(after).get(client.table, {}) == servers:
            return after.lstrip()
    except (tomllib.TOMLDecodeError, TypeError, AttributeError) as error:
        raise left_alone(file, f"is no TOML that can be changed ({error})", "") from error
    raise left_alone(file, "writes its servers in a way that cannot be changed safely", "")


def _with_toml(client: Client, file: Path, before: str, entry: Entry) -> str:
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in entry.plain(False).items()]
    table = "\n".join([f"[{client.table}.{entry.name}]", *lines, ""])
    try:
        known = tomllib.loads(before)
        after = _without_table(before, client.table, entry.name) + table
        wanted = {**known, client.table: {**known.get(client.table, {}), entry.name: entry.plain(False)}}
        if tomllib.loads(after) == wanted:
            return after
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise left_alone(file, f"is no TOML that can be added to ({error})", table) from error
    raise left_alone(file, "writes its servers in a way that cannot be added to safely", table)


def _without_table(text: str, table: str, name: str) -> str:
    """The text without an earlier table of that name, ready for one to be appended."""
    title = rf"{re.escape(table)}\.(?:{re.escape(name)}|{re.escape(json.dumps(name))})"
    kept = re.sub(rf"^\[{title}(?:\.[^\]]*)?\][^\n]*\n(?:(?!\[)[^\n]*\n?)*", "", text, flags=re.M).rstrip()
    return f"{kept}\n\n" if kept else ""


def left_alone(file: Path, why: str, text: str) -> InvalidInput:
    """The error that says why a file is not changed, and what is to be put into it by hand, if anything."""
    return InvalidInput(f"{file} {why}, so it is left as it is." + (f" Put this into it:\n{text}" if text else ""))


def replace_file(file: Path, text: str) -> Path | None:
    """Write a client's file, whole or not at all, and return the copy of what it was, if there was anything."""
    target = file.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = _backed_up(target) if target.exists() else None
        draft = target.with_name(f"{target.name}.weft-draft")
        draft.write_text(text, encoding="utf-8")
        if backup is not None:
            shutil.copymode(target, draft)
        draft.replace(target)
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be written ({error}). Check its permissions, or use --dry-run."
        ) from error
    return backup


def _backed_up(file: Path) -> Path:
    taken = {path.name for path in file.parent.glob(f"{file.name}{_BACKUP}*")}
    names = (f"{file.name}{_BACKUP}{f'-{number}' if number > 1 else ''}" for number in range(1, len(taken) + 2))
    backup = file.with_name(next(name for name in names if name not in taken))
    shutil.copy2(file, backup)
    return backup


def command_of(given: Sequence[str], executable: Path) -> tuple[str, ...]:
    """The words that start Weft: as given, its own program, or this Python with the package."""
    if given:
        return tuple(given)
    program = executable.parent / ("weft.exe" if executable.suffix == ".exe" else "weft")
    return (str(program),) if program.is_file() else (str(executable), "-m", "weft")


CLIENT: Final = "claude-code"
_PROGRAM: Final = "weft-hook"
_MODULE: Final = "weft.interfaces.hooks"
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
