"""Printing: text and tables to stdout, notes to stderr, JSON of one shape; no colours and no Rich when piped."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import orjson
import typer

from weft.interfaces.cli import BAD_INPUT
from weft.interfaces.describe import one_line, printable, table

__all__ = [
    "counted",
    "note",
    "one_line",
    "printable",
    "shape",
    "shown",
    "write",
    "write_json",
    "write_table",
]


def write(text: str) -> None:
    """Print a text to stdout; a reader that went away ends the command without complaint."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at exit; give it somewhere to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


def note(text: str) -> None:
    """Tell the person something that is not part of the answer."""
    sys.stderr.write(f"note: {text}\n")
    sys.stderr.flush()


def write_json(value: object, *, indented: bool = True) -> None:
    """Print a value as JSON, indented or on one line."""
    option = orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if indented else 0)
    write(orjson.dumps(value, default=_plain, option=option).decode())


def shape(value: Any, *without: str) -> dict[str, Any]:
    """The fields of a dataclass by name, some left out."""
    return {each.name: getattr(value, each.name) for each in fields(value) if each.name not in without}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return shape(value)
    return str(value)


def write_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under their column names: drawn on a terminal, aligned with spaces in a pipe."""
    if sys.stdout.isatty():
        _draw(columns, [[one_line(str(cell)) for cell in row] for row in rows])
    else:
        write("\n".join(table(columns, rows)))


def _draw(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in cells:
        table.add_row(*row)
    Console(highlight=False, markup=False, emoji=False).print(table)


def shown(place: Path | str) -> str:
    """A path as a person would type it from here; the URL of a server as it is."""
    path = Path(place)
    if "://" in str(place):
        return str(place)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun, as in `1 file` and `1,200 files`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def versions(engine: Mapping[str, str | int]) -> str:
    """The engine of a store and its extensions, each with its version."""
    extensions = [f"{name} {engine[name]}" for name in ("vector", "pg_textsearch") if name in engine]
    return ", ".join([f"{engine['engine']} {engine['version']}", *extensions])


def group(help: str, decorated: bool, **commands: Callable[..., None]) -> typer.Typer:
    """A command that holds others and prints its help when none of them is named."""
    app = typer.Typer(help=help, rich_markup_mode="rich" if decorated else None)
    app.callback(invoke_without_command=True)(_help)
    for name, command in commands.items():
        app.command(name)(command)
    return app


def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        write(context.get_help())


def write_problems(problems: Mapping[str, Sequence[str]], as_json: bool) -> None:
    """Print what is wrong with each; ends the program with the code for bad input when anything is."""
    if as_json:
        write_json(problems)
    else:
        for name, found in problems.items():
            write("\n".join(found) or f"{name}: can be used")
    if any(problems.values()):
        raise typer.Exit(BAD_INPUT)


def write_differences(first: str, second: str, differences: Sequence[str], as_json: bool) -> None:
    """Print what differs between two things, value by value."""
    if as_json:
        write_json(list(differences))
    elif differences:
        write("\n".join(differences))
    else:
        note(f"{first} and {second} say the same.")
