"""Printing for every command: text, tables and JSON go to stdout, notes and progress to stderr.

In a pipe there are no colours and no progress bars, and Rich is not loaded.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
import typer
from msgspec import Struct
from msgspec.structs import asdict

from weft.interfaces.cli import BAD_INPUT, is_quiet
from weft.interfaces.describe import count_noun, one_line, printable, table_lines

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from weft.indexing.ingest import Progress


__all__ = [
    "MAX_LISTED_PROBLEMS",
    "as_dict",
    "count_noun",
    "engine_versions",
    "make_group",
    "one_line",
    "printable",
    "short_path",
    "write",
    "write_check_results",
    "write_differences",
    "write_json",
    "write_note",
    "write_problem_notes",
    "write_table",
]


_DELAY_SECONDS: Final = 1.0
"""How long work takes before a bar appears: shorter work needs none, and Rich takes a while to load."""


@contextmanager
def show_progress(stage: str, delay: float = _DELAY_SECONDS) -> "Iterator[Progress]":
    """Yield a function to report progress to; a bar appears after `delay` seconds, if stderr is a terminal."""
    if is_quiet() or not sys.stderr.isatty():
        # Loaded here, because what prints help loads this module.
        from weft.ports import ignore_progress

        yield ignore_progress
        return
    bar = ProgressBar(stage, delay)
    try:
        yield bar
    finally:
        bar.end()


class ProgressBar:
    """A bar that is called with (stage, done, total) as work goes on, and appears after a delay."""

    def __init__(self, stage: str, delay: float = _DELAY_SECONDS) -> None:
        self._stage, self._done = stage, 0
        self._total: int | None = None
        self._bar: Bar | None = None
        # The timer's thread draws the bar while the working thread reports to it.
        self._lock = threading.Lock()
        self._timer = threading.Timer(delay, self._appear)
        # The process must be able to end while the timer still waits.
        self._timer.daemon = True
        self._timer.start()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        with self._lock:
            self._stage, self._done, self._total = stage, done, total
            self._update()

    def end(self) -> None:
        """Remove the bar, or prevent it from appearing."""
        self._timer.cancel()
        with self._lock:
            if self._bar is not None:
                self._bar.stop()

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, TimeElapsedColumn

        with self._lock:
            # The work may have ended while Rich was loading.
            if self._timer.finished.is_set():
                return
            console = Console(stderr=True)
            columns = (*Progress.get_default_columns(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=console, transient=True)
            self._bar.add_task(self._stage, total=None)
            self._bar.start()
            self._update()

    def _update(self) -> None:
        if self._bar is not None:
            task = self._bar.tasks[0]
            # Rich takes a total of None as "leave it", but a new stage may not know its total.
            task.total = self._total
            self._bar.update(task.id, description=self._stage, completed=self._done)


MAX_LISTED_PROBLEMS: Final = 20
"""Problems that a command prints one by one; more would scroll its result away, and `--json` has them all."""


# --- stdout and stderr -------------------------------------------------------------------------------------


def write(text: str) -> None:
    """Print a text to stdout. If the reader of a pipe has gone away, the command ends without complaint."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at exit; give it somewhere to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


def write_note(text: str, *, is_problem: bool = False) -> None:
    """Print a note to stderr: something worth knowing that is not part of the answer.

    With `--quiet` only problems are printed.
    """
    if is_quiet() and not is_problem:
        return
    sys.stderr.write(f"note: {text}\n")
    sys.stderr.flush()


def write_json(value: object, *, indented: bool = True) -> None:
    """Print a value as JSON, indented or on one line."""
    # Some mappings have keys that are no strings.
    option = orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if indented else 0)
    write(orjson.dumps(value, default=_to_json, option=option).decode())


def _to_json(value: object) -> object:
    """Convert what orjson cannot serialise itself."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Struct):
        return asdict(value)
    return str(value)


def write_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under their column names: drawn with Rich on a terminal, aligned with spaces in a pipe."""
    if not sys.stdout.isatty():
        write("\n".join(table_lines(columns, rows)))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    drawn = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        drawn.add_row(*(one_line(str(cell)) for cell in row))
    # Stored text must not be read as markup, or a title such as [bold] would vanish.
    Console(highlight=False, markup=False, emoji=False).print(drawn)


def write_problem_notes(problems: Sequence[tuple[str, str]]) -> None:
    """Print the first problems, each its place and its reason, as notes, and how many more there are."""
    for place, reason in problems[:MAX_LISTED_PROBLEMS]:
        write_note(f"  {place}: {reason}", is_problem=True)
    more = len(problems) - MAX_LISTED_PROBLEMS
    if more > 0:
        write_note(f"  and {more:,} more (--json lists all)", is_problem=True)


def write_check_results(problems: Mapping[str, Sequence[str]], as_json: bool) -> None:
    """Print the problems of each profile or lens by name; exit with the code for bad input if there are any."""
    if as_json:
        write_json(problems)
    else:
        for name, messages in problems.items():
            write("\n".join(messages) or f"{name}: can be used")
    if any(problems.values()):
        raise typer.Exit(BAD_INPUT)


def write_differences(first: str, second: str, differences: Sequence[str], as_json: bool) -> None:
    """Print how two profiles or lenses differ, value by value."""
    if as_json:
        write_json(list(differences))
    elif differences:
        write("\n".join(differences))
    else:
        write_note(f"{first} and {second} say the same.")


# --- values as text ----------------------------------------------------------------------------------------


def as_dict(value: Any, *without: str) -> dict[str, Any]:
    """Return the fields of a record by name, except those named in `without`."""
    return {name: content for name, content in asdict(value).items() if name not in without}


def short_path(location: Path | str) -> str:
    """Return a path relative to the working folder if it is inside; the URL of a server as it is."""
    # Path() would turn the double slash of a URL into a single one.
    if "://" in str(location):
        return str(location)
    path = Path(location)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def engine_versions(engine: Mapping[str, str | int]) -> str:
    """Return the name and version of a store's engine and of its extensions."""
    extensions = [f"{name} {engine[name]}" for name in ("vector", "pg_textsearch") if name in engine]
    return ", ".join([f"{engine['engine']} {engine['version']}", *extensions])


# --- groups of commands ------------------------------------------------------------------------------------


def make_group(help: str, decorated: bool, **commands: Callable[..., None]) -> typer.Typer:
    """Build a command that holds others, and prints its help when none of them is named."""
    from weft.interfaces.cli.usage import Group

    app = typer.Typer(cls=Group, help=help, rich_markup_mode="rich" if decorated else None)
    app.callback(invoke_without_command=True)(_print_help)
    for name, command in commands.items():
        app.command(name)(command)
    return app


def _print_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        write(context.get_help())
