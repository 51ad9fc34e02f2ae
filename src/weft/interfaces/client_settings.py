"""The settings files of MCP clients: find them, and add or remove our server (`hook_settings` has the hooks).

Every function that changes a file returns its text before and after; `replace_file` writes it. Entries of others
are never touched, and a file that cannot be changed safely is left alone with an error that says what to add.
"""

import json
import re
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
    server_type: str = ""
    """The type of a server as it wants it spelled out; empty if it does not."""
    joins_command: bool = False
    """Whether it wants the command and its arguments as one list."""

    def file(self, home: ClientFolders, everywhere: bool) -> Path:
        """Return the settings file for the working folder or, with `everywhere`, for the user."""
        if self.in_folder is not None and not everywhere:
            return home.working / self.in_folder
        root, path = self.for_user
        return {"user": home.user, "desktop": home.desktop, "code": home.code}[root] / path


CLIENTS: Final = {
    client.name: client
    for client in (
        Client("claude-code", "mcpServers", ".mcp.json", ("user", ".claude.json"), server_type="stdio"),
        Client("claude-desktop", "mcpServers", None, ("desktop", "claude_desktop_config.json")),
        Client("cursor", "mcpServers", ".cursor/mcp.json", ("user", ".cursor/mcp.json"), "${workspaceFolder}"),
        Client("codex", "mcp_servers", None, ("user", ".codex/config.toml")),
        Client(
            *("vscode", "servers", ".vscode/mcp.json", ("code", "mcp.json"), "${workspaceFolder}"),
            server_type="stdio",
        ),
        Client(
            *("opencode", "mcp", "opencode.json", ("user", ".config/opencode/opencode.json")),
            server_type="local",
            joins_command=True,
        ),
    )
}


class ServerEntry(Struct, frozen=True):
    """Our server in a client's settings: its name and the command that starts it."""

    name: str
    command: str
    arguments: tuple[str, ...]

    def to_values(self, client: Client | None = None) -> dict[str, Any]:
        """Return the entry as JSON or TOML values, as the client wants it, or as most do."""
        kind = {"type": client.server_type} if client is not None and client.server_type else {}
        if client is not None and client.joins_command:
            return {**kind, "command": [self.command, *self.arguments], "enabled": True}
        return {**kind, "command": self.command, "args": list(self.arguments)}


# --- the commands that a client runs -----------------------------------------------------------------------


def server_command(words: Sequence[str], executable: Path, *, portable: bool = False) -> tuple[str, ...]:
    """Return the words that start Weft: those given, else its program, else this Python with the package.

    A `portable` one names the program alone, which every machine finds for itself.
    """
    return ("weft",) if portable and not words else complete_command(words, executable, "weft", "weft")


def complete_command(words: Sequence[str], executable: Path, program: str, module: str) -> tuple[str, ...]:
    """Return the words that start a program: those given, else the installed one, else this Python's module."""
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
    before = read_file(file)
    add = _add_to_toml if file.suffix == ".toml" else _add_to_json
    return before, add(client, file, before or "", entry)


def without_server(client: Client, file: Path, name: str) -> tuple[str | None, str]:
    """Return the text of a client's file now (None: no file) and without the server of that name."""
    before = read_file(file)
    remove = _remove_from_toml if file.suffix == ".toml" else _remove_from_json
    return before, "" if before is None else remove(client, file, before, name)


def json_snippet(entry: ServerEntry) -> str:
    """Return what to add to the settings of a client that is not known here."""
    return json.dumps({"mcpServers": {entry.name: entry.to_values()}}, indent=2, ensure_ascii=False)


def _add_to_json(client: Client, file: Path, before: str, entry: ServerEntry) -> str:
    settings, servers = _parse_servers(client, file, before, json_snippet(entry))
    return to_json({**settings, client.table: {**servers, entry.name: entry.to_values(client)}})


def _remove_from_json(client: Client, file: Path, before: str, name: str) -> str:
    settings, servers = _parse_servers(client, file, before, "")
    if name not in servers:
        return before
    others = {other: entry for other, entry in servers.items() if other != name}
    if others:
        return to_json({**settings, client.table: others})
    return to_json({key: value for key, value in settings.items() if key != client.table})


def _parse_servers(client: Client, file: Path, text: str, addition: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings in a client's file, and its table of servers."""
    settings = parse_json(file, text, addition)
    servers = settings.get(client.table, {}) if isinstance(settings, dict) else None
    if not isinstance(servers, dict):
        raise left_alone(file, f"has no table {client.table!r} for servers", addition)
    return settings, servers


# There is no TOML writer that keeps comments, so the text itself is edited. The result is parsed and compared with
# what it should say, and anything else is refused.


def _add_to_toml(client: Client, file: Path, before: str, entry: ServerEntry) -> str:
    # Strings and lists of strings are written alike in JSON and TOML.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.to_values().items()]
    table = "\n".join([f"[{client.table}.{entry.name}]", *lines, ""])
    try:
        settings = tomllib.loads(before)
        after = _cut_table(before, client.table, entry.name) + table
        servers = {**settings.get(client.table, {}), entry.name: entry.to_values()}
        # The proof that the edit did what it should and nothing else.
        if tomllib.loads(after) == {**settings, client.table: servers}:
            return after
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise left_alone(file, f"is no TOML that can be added to ({error})", table) from error
    raise left_alone(file, "writes its servers in a way that cannot be added to safely", table)


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
        raise left_alone(file, f"is no TOML that can be changed ({error})", "") from error
    raise left_alone(file, "writes its servers in a way that cannot be changed safely", "")


def _cut_table(text: str, table: str, name: str) -> str:
    """Return a TOML text without the table of a server and its sub-tables, ready for one to be appended."""
    title = rf"{re.escape(table)}\.(?:{re.escape(name)}|{re.escape(json.dumps(name))})"
    kept = re.sub(rf"^\[{title}(?:\.[^\]]*)?\][^\n]*\n(?:(?!\[)[^\n]*\n?)*", "", text, flags=re.M).rstrip()
    return f"{kept}\n\n" if kept else ""


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


def read_file(file: Path) -> str | None:
    """Return the text of a client's file, or None if there is no file."""
    try:
        # Editors on Windows may begin a file with a byte order mark, which JSON does not allow.
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file} cannot be read ({error}). Correct it, then install again.") from error


def parse_json(file: Path, text: str, addition: str) -> Any:
    """Return the JSON value in a client's file, {} if it is empty; `addition` is named in the error."""
    try:
        return json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise left_alone(file, f"is not plain JSON ({error})", addition) from error


def to_json(settings: dict[str, Any]) -> str:
    """Return settings as the text of a file."""
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def left_alone(file: Path, reason: str, addition: str) -> InvalidInput:
    """Return the error that says why a file is not changed, and what to add to it by hand, if anything."""
    hint = f" Add this to it:\n{addition}" if addition else ""
    return InvalidInput(f"{file} {reason}, so it is left as it is.{hint}")
