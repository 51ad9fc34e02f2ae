"""`weft install`: put the MCP server into a client's configuration."""

import shlex
import sys
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Annotated

import typer

from weft.errors import InvalidInput, StoreError
from weft.faces import clients, wiring
from weft.faces.cli import output
from weft.faces.cli.options import AsJson, StoreFolder, Tenants
from weft.faces.values import clean


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
    home = wiring.client_home()
    known = clients.CLIENTS.get(client or "")
    options = _options(profile, write, tenants)
    entry = _entry(_name(name), command, [*_store(known, store, home, everywhere), *options])
    if known is None:
        _print_other(client, entry, as_json)
        return
    file = known.file(home, everywhere)
    before, after = clients.changed(known, file, entry)
    backup = None if dry_run or before == after else clients.replace_file(file, after)
    if as_json:
        _write_json(known.name, file, entry, backup, before != after and not dry_run)
    elif before == after:
        output.note(f"{file} has it already.")
    elif dry_run:
        output.write("\n".join(_difference(file, before or "", after)))
    else:
        output.write(f"Wrote {file}" + (f"; what it was is in {backup.name}." if backup else "."))
        output.note(f"Restart {known.name} to use it. `weft install {known.name} --dry-run` shows its entry.")


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
    client: clients.Client | None, given: str | None, home: clients.Home, everywhere: bool
) -> tuple[str, ...]:
    """The option that names the store, unless the client will find it by itself."""
    server = wiring.server_of(given, wiring.surroundings())
    if server:
        return ("--store", server)
    try:
        found = wiring.find_store(given, wiring.surroundings()).absolute()
    except StoreError:
        # It can be installed before anything is indexed: then the nearest store at that time is used.
        return ()
    word = str(found) if client is None else clients.store_word(client, found, home, everywhere)
    return () if word is None else ("--store", word)


def _entry(name: str, command: str | None, options: Sequence[str]) -> clients.Entry:
    try:
        words = clients.command_of(shlex.split(command or ""), Path(sys.executable))
    except ValueError as error:
        raise InvalidInput(
            f"{command!r} is no command ({error}). Write it as in a shell, such as 'uvx weft'."
        ) from error
    return clients.Entry(name, words[0], (*words[1:], "mcp", *options))


def _print_other(client: str | None, entry: clients.Entry, as_json: bool) -> None:
    if as_json:
        _write_json(client, None, entry, None, False)
        return
    output.write(clients.snippet(entry))
    known = ", ".join(clients.CLIENTS)
    asked = f"{client!r} is not known here" if client else "No client is named"
    output.note(f"{asked} (known: {known}). Put the above where your client lists its MCP servers.")


def _write_json(
    client: str | None, file: Path | None, entry: clients.Entry, backup: Path | None, written: bool
) -> None:
    output.write_json(
        {
            "client": client,
            "file": file,
            "backup": backup,
            "written": written,
            "name": entry.name,
            "server": entry.plain(False),
        }
    )


def _difference(file: Path, before: str, after: str) -> list[str]:
    lines = unified_diff(before.splitlines(), after.splitlines(), str(file), str(file), lineterm="")
    return [output.printable(line) for line in lines]
