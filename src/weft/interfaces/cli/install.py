"""`weft install`: put the MCP server or the hooks into a client's configuration, or take them out."""

import shlex
import sys
from collections.abc import Callable, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Annotated, Any

import typer

from weft import config
from weft.errors import InvalidInput, StoreError
from weft.frozen import dataclass
from weft.interfaces import client_settings
from weft.interfaces.cli import output
from weft.interfaces.cli.options import AsJson, StoreFolder, Tenants
from weft.interfaces.values import clean


def install(
    client: Annotated[
        str | None,
        typer.Argument(metavar="CLIENT", help="claude-code, claude-desktop, cursor, codex, vscode, or any other."),
    ] = None,
    *,
    everywhere: Annotated[
        bool, typer.Option("--user", help="For all your folders instead of the working folder.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would change, and change nothing.")
    ] = False,
    hooks: Annotated[
        bool, typer.Option("--hooks", help="The hooks of claude-code instead of the server.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take out what was put in.")] = False,
    name: Annotated[str, typer.Option(metavar="NAME", help="What the client calls the server.")] = "weft",
    command: Annotated[
        str | None, typer.Option(metavar="WORDS", help="How to start Weft, such as 'uvx weft'.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="The kind of page when a call names none.")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Also offer the tools that change the store.")] = False,
    tenants: Tenants = None,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Put the MCP server into a client's configuration; for an unknown client, print what to put there."""
    home = config.client_home()
    known = client_settings.CLIENTS.get(client or "")
    # Hooks are told the folder of each session, so for all folders each finds its own store.
    found = () if hooks and everywhere and store is None else _store(known, store, home, everywhere)
    if hooks:
        words = _words(command, client_settings.hook_words, [*found, *_options(profile, False, tenants)])
        _carry_out(_hooks(client, home, everywhere, words, remove), dry_run, as_json)
        return
    words = _words(command, client_settings.command_of, ["mcp", *found, *_options(profile, write, tenants)])
    entry = client_settings.Entry(_name(name), words[0], words[1:])
    if known is None:
        _print_other(client, entry, as_json)
    else:
        _carry_out(_server(known, known.file(home, everywhere), entry, remove), dry_run, as_json)


@dataclass(frozen=True, slots=True)
class _Change:
    """A client's file as it is and as it is to be, and what is put in or taken out."""

    client: str
    file: Path
    before: str | None
    after: str
    told: dict[str, Any]
    removes: bool

    @property
    def needed(self) -> bool:
        return (self.before or "") != self.after


def _server(known: client_settings.Client, file: Path, entry: client_settings.Entry, remove: bool) -> _Change:
    before, after = (
        client_settings.without(known, file, entry.name) if remove else client_settings.changed(known, file, entry)
    )
    return _Change(known.name, file, before, after, {"name": entry.name, "server": entry.plain(False)}, remove)


def _hooks(client: str | None, home: config.Home, everywhere: bool, words: Sequence[str], remove: bool) -> _Change:
    if client != client_settings.CLIENT:
        raise InvalidInput(f"{client!r} has no hooks that Weft knows. Use `weft install claude-code --hooks`.")
    file = client_settings.settings_file(home, everywhere)
    before, after = client_settings.without_hooks(file) if remove else client_settings.with_hooks(file, words)
    return _Change(
        client_settings.CLIENT, file, before, after, {"hooks": client_settings.hook_entries(words)}, remove
    )


def _carry_out(change: _Change, dry_run: bool, as_json: bool) -> None:
    """Write the file unless it is only to be shown, and tell what was done."""
    backup = client_settings.replace_file(change.file, change.after) if change.needed and not dry_run else None
    if as_json:
        _write_json(change.client, change.file, change.told, backup, change.needed and not dry_run)
    elif not change.needed:
        output.note(f"{change.file} {'does not have it' if change.removes else 'has it already'}.")
    elif dry_run:
        output.write("\n".join(_difference(change.file, change.before or "", change.after)))
    else:
        output.write(f"Wrote {change.file}" + (f"; what it was is in {backup.name}." if backup else "."))
        output.note(f"Restart {change.client} to {'be without' if change.removes else 'use'} it.")


def _name(given: str) -> str:
    name = clean(given)
    if not name or len(name) > 64 or not all(each.isalnum() or each in "-_" for each in name):
        raise InvalidInput(f"{given!r} cannot name a server. Use letters, digits, - and _, at most 64.")
    return name


def _options(profile: str | None, write: bool, tenants: Sequence[str] | None) -> list[str]:
    return [
        *(["--profile", profile] if profile else []),
        *(["--write"] if write else []),
        *(word for tenant in tenants or () for word in ("--tenant", clean(tenant))),
    ]


def _store(
    client: client_settings.Client | None, given: str | None, home: config.Home, everywhere: bool
) -> tuple[str, ...]:
    """The option that names the store, unless the client will find it by itself."""
    server = config.server_of(given, config.surroundings())
    if server:
        return ("--store", server)
    try:
        found = config.find_store(given, config.surroundings()).absolute()
    except StoreError:
        # It can be installed before anything is indexed: then the nearest store at that time is used.
        return ()
    word = str(found) if client is None else client_settings.store_word(client, found, home, everywhere)
    return () if word is None else ("--store", word)


def _words(
    command: str | None, by_default: Callable[[Sequence[str], Path], tuple[str, ...]], rest: Sequence[str]
) -> tuple[str, ...]:
    """The command that the client runs: as given or by default, and its options."""
    try:
        return (*by_default(shlex.split(command or ""), Path(sys.executable)), *rest)
    except ValueError as error:
        raise InvalidInput(
            f"{command!r} is no command ({error}). Write it as in a shell, such as 'uvx weft'."
        ) from error


def _print_other(client: str | None, entry: client_settings.Entry, as_json: bool) -> None:
    if as_json:
        _write_json(client, None, {"name": entry.name, "server": entry.plain(False)}, None, False)
        return
    output.write(client_settings.snippet(entry))
    known = ", ".join(client_settings.CLIENTS)
    asked = f"{client!r} is not known here" if client else "No client is named"
    output.note(f"{asked} (known: {known}). Put the above where your client lists its MCP servers.")


def _write_json(
    client: str | None, file: Path | None, told: dict[str, Any], backup: Path | None, written: bool
) -> None:
    output.write_json({"client": client, "file": file, "backup": backup, "written": written, **told})


def _difference(file: Path, before: str, after: str) -> list[str]:
    lines = unified_diff(before.splitlines(), after.splitlines(), str(file), str(file), lineterm="")
    return [output.printable(line) for line in lines]
