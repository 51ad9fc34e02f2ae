"""`weft install`: add the MCP server or the hooks to a client's configuration, or remove them."""

import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from msgspec import Struct

from weft import config
from weft.errors import InvalidInput, StoreError, nearest_name
from weft.interfaces import client_settings, hook_settings
from weft.interfaces.cli import AsJson, StoreFolder, Tenants, output
from weft.interfaces.request import clean

_MAX_NAME_LENGTH: Final = 64
"""Characters of a server's name. Clients put it before the names of tools, which it must leave room for."""


def install(
    client: Annotated[
        str | None,
        typer.Argument(
            metavar="CLIENT", help="claude-code, claude-desktop, cursor, codex, vscode, opencode, or any other."
        ),
    ] = None,
    *,
    everywhere: Annotated[
        bool, typer.Option("--user", help="For all your folders instead of the working folder.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would change, and change nothing.")
    ] = False,
    hooks: Annotated[
        bool,
        typer.Option("--hooks", help="The hooks instead of the server: claude-code, codex, cursor, opencode."),
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove what this command added.")] = False,
    name: Annotated[str, typer.Option(metavar="NAME", help="What the client calls the server.")] = "weft",
    command: Annotated[
        str | None,
        typer.Option(metavar="WORDS", help="How to start Weft, such as 'uvx --from weft-context weft'."),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="The kind of page when a call names none.")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Also offer the tools that change the store.")] = False,
    tenants: Tenants = None,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Add the MCP server to a client's configuration. For an unknown client, print what to add."""
    home = config.find_client_folders()
    if hooks:
        hook_client = hook_settings.find_hook_client(client)
        finding = _hook_store_option(hook_client, store, home, everywhere)
        complete = partial(hook_settings.hook_command, hook_client)
        words = _command_words(command, complete, [*finding, *_options(profile, False, tenants)])
        _apply(_change_hooks(hook_client, hook_client.file(home, everywhere), words, remove), dry_run, as_json)
        _warn(hook_client.note, store, remove)
        return
    known = client_settings.CLIENTS.get(client or "")
    store_option = _server_store_option(known, store, home, everywhere)
    options = ["mcp", *store_option, *_options(profile, write, tenants)]
    # A file in the folder is shared with others, whose program lies elsewhere.
    is_shared = known is not None and known.in_folder is not None and not everywhere
    portable = is_shared and shutil.which("weft") is not None
    words = _command_words(command, partial(client_settings.server_command, portable=portable), options)
    entry = client_settings.ServerEntry(_check_name(name), words[0], words[1:])
    if known is None:
        _print_for_unknown_client(client, entry, as_json)
    else:
        _apply(_change_server(known, known.file(home, everywhere), entry, remove), dry_run, as_json)
        _warn(_note_on_environment(known.name) if portable and not command else "", store, remove)


class _Change(Struct, frozen=True):
    """A change of a client's file: its text before and after, and what is added or removed, as JSON values."""

    client: str
    file: Path
    before: str | None
    after: str
    details: dict[str, Any]
    removes: bool

    @property
    def is_needed(self) -> bool:
        return (self.before or "") != self.after

    @property
    def deletes(self) -> bool:
        """Whether the file goes: a plugin that we wrote whole, never a file of settings."""
        return not self.after and self.file.suffix == ".js"


def _change_server(
    client: client_settings.Client, file: Path, entry: client_settings.ServerEntry, remove: bool
) -> _Change:
    if remove:
        before, after = client_settings.without_server(client, file, entry.name)
    else:
        before, after = client_settings.with_server(client, file, entry)
    details = {"name": entry.name, "server": entry.to_values()}
    return _Change(client.name, file, before, after, details, remove)


def _change_hooks(client: hook_settings.HookClient, file: Path, words: Sequence[str], remove: bool) -> _Change:
    if remove:
        before, after = hook_settings.without_hooks(client, file)
    else:
        before, after = hook_settings.with_hooks(client, file, words)
    details = {"hooks": client.entries(words), "command": list(words)}
    return _Change(client.name, file, before, after, details, remove)


def _hook_store_option(
    client: hook_settings.HookClient, store: str | None, home: config.ClientFolders, everywhere: bool
) -> tuple[str, ...]:
    """Return the option that names the store, or nothing if the hooks find it from the session's folder."""
    is_for_all = client.is_for_all(everywhere)
    if is_for_all and store is None:
        return ()
    nearest = home.working / ".weft"
    return _store_option(store, lambda folder: None if folder == nearest and not is_for_all else str(folder))


def _warn(note: str, store: str | None, remove: bool) -> None:
    """Print what the user has to know of the client, and that there is no store yet, if so."""
    if remove:
        return
    if note:
        output.write_note(note)
    around = config.read_environment()
    try:
        is_there = bool(config.server_url(store, around)) or config.find_store(store, around).is_dir()
    except StoreError:
        is_there = False
    if not is_there:
        place = store or around.working
        output.write_note(
            f"There is no store in {place} yet, so nothing will be told: run `weft index PATH` first."
        )


def _note_on_environment(client: str) -> str:
    """Return what to do where the client finds `weft` only in an environment that is active now."""
    found = Path(shutil.which("weft") or "")
    if sys.prefix == sys.base_prefix or not found.is_relative_to(sys.prefix):
        return ""
    return (
        f"`weft` is found here because {sys.prefix} is active. Start {client} from it too, or install Weft for "
        "everything with `pipx install weft-context`."
    )


def _apply(change: _Change, dry_run: bool, as_json: bool) -> None:
    """Write the changed file unless it is a dry run, and print what was done."""
    # A file that already says the same is not touched, so that no backup piles up.
    writes = change.is_needed and not dry_run
    backup = _write(change) if writes else None
    if as_json:
        _write_json(change.client, change.file, change.details, backup, writes)
    elif not change.is_needed:
        output.write_note(f"{change.file} {'does not have it' if change.removes else 'has it already'}.")
    elif dry_run:
        name = str(change.file)
        before, after = (change.before or "").splitlines(), change.after.splitlines()
        lines = unified_diff(before, after, name, name, lineterm="")
        output.write("\n".join(output.printable(line) for line in lines))
    else:
        done = "Deleted" if change.deletes else "Wrote"
        output.write(f"{done} {change.file}" + (f"; the old version is in {backup.name}." if backup else "."))
        output.write_note(f"Restart {change.client} to {'stop using' if change.removes else 'use'} it.")


def _write(change: _Change) -> Path | None:
    """Write the changed file, or delete it; return the backup, if one was made."""
    if not change.deletes:
        return client_settings.replace_file(change.file, change.after)
    change.file.unlink()
    return None


def _check_name(text: str) -> str:
    """Return the cleaned name of the server, or raise InvalidInput."""
    name = clean(text)
    is_valid = all(character.isalnum() or character in "-_" for character in name)
    if not name or len(name) > _MAX_NAME_LENGTH or not is_valid:
        raise InvalidInput(
            f"{text!r} cannot name a server. Use letters, digits, - and _, at most {_MAX_NAME_LENGTH}."
        )
    return name


def _options(profile: str | None, write: bool, tenants: Sequence[str] | None) -> list[str]:
    """Return the options that the client's command passes on to `weft mcp` or the hooks."""
    return [
        *(["--profile", profile] if profile else []),
        *(["--write"] if write else []),
        *(word for tenant in tenants or () for word in ("--tenant", clean(tenant))),
    ]


def _server_store_option(
    client: client_settings.Client | None, store: str | None, home: config.ClientFolders, everywhere: bool
) -> tuple[str, ...]:
    """Return the option that names the store, or nothing if the client will find it by itself."""
    if client is None:
        return _store_option(store, str)
    return _store_option(store, lambda folder: client_settings.store_argument(client, folder, home, everywhere))


def _store_option(store: str | None, name: Callable[[Path], str | None]) -> tuple[str, ...]:
    """Return the option for a store, which `name` names by its folder; nothing if that returns None."""
    around = config.read_environment()
    server = config.server_url(store, around)
    if server:
        return ("--store", server)
    try:
        word = name(config.find_store(store, around).absolute())
    except StoreError:
        # Installing before the first `weft index` is allowed: the server then uses the nearest store it finds.
        return ()
    return () if word is None else ("--store", word)


def _command_words(
    command: str | None, complete: Callable[[Sequence[str], Path], tuple[str, ...]], options: Sequence[str]
) -> tuple[str, ...]:
    """Return the command that the client runs, with its options; `complete` adds the default if none is given."""
    try:
        return (*complete(shlex.split(command or ""), Path(sys.executable)), *options)
    except ValueError as error:
        raise InvalidInput(
            f"{command!r} is not a command ({error}). Write it as in a shell, such as "
            "'uvx --from weft-context weft'."
        ) from error


def _print_for_unknown_client(client: str | None, entry: client_settings.ServerEntry, as_json: bool) -> None:
    if as_json:
        _write_json(client, None, {"name": entry.name, "server": entry.to_values()}, None, False)
        return
    output.write(client_settings.json_snippet(entry))
    problem = f"{client!r} is not a known client" if client else "No client is named"
    known = ", ".join(client_settings.CLIENTS)
    meant = nearest_name(client or "", client_settings.CLIENTS)
    hint = f" Did you mean {meant!r}?" if meant else ""
    output.write_note(f"{problem} (known: {known}).{hint} Add the above where your client lists its MCP servers.")


def _write_json(
    client: str | None, file: Path | None, details: dict[str, Any], backup: Path | None, written: bool
) -> None:
    output.write_json({"client": client, "file": file, "backup": backup, "written": written, **details})
