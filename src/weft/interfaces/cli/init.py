"""`weft init`: set up a repository, a vault or a manuscript by three questions, each also an option."""

import io
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from msgspec import Struct

from weft import config
from weft.errors import InvalidInput, UnknownName
from weft.interfaces.cli import AsJson, StoreFolder, is_quiet, output
from weft.interfaces.cli.index import write_report
from weft.interfaces.cli.output import show_progress
from weft.model import DEFAULT_TENANT, Filter

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.model import Node

_NO_CLIENT: Final = "none"
_LOOKED_AT: Final = 400
"""Names in a folder that are looked at to guess what it is; more would not change the guess."""

_SUBJECTS_LOOKED_AT: Final = 1000
"""Nodes among which the subject of the first commands is chosen; any that is well linked will do."""

_CODE_WEIGHT: Final = 5
"""How many documents one file of code outweighs: repositories have documents, and vaults hardly any code."""


class Kind(Struct, frozen=True):
    """A kind of folder: how its files are read, the suffixes that show it, and what to ask about first.

    The first commands name a node of one of the kinds in `subjects`, the best linked one.
    """

    name: str
    reading: str
    suffixes: frozenset[str]
    subjects: tuple[str, ...]
    first_commands: tuple[str, ...]


KINDS: Final = (
    Kind(
        "repository",
        "",
        frozenset(
            {".py", ".ts", ".js", ".go", ".rs", ".java", ".c", ".cpp", ".cs", ".rb", ".php", ".kt", ".swift"}
        ),
        ("class", "interface", "struct", "function"),
        ('weft context "What does {} do?"', 'weft related "{}"'),
    ),
    Kind(
        "vault",
        "notes",
        frozenset({".md", ".canvas", ".base"}),
        ("note", "project"),
        ('weft context "{}"', 'weft related "{}"'),
    ),
    Kind(
        "manuscript",
        "story",
        frozenset({".txt", ".docx", ".odt", ".epub", ".rtf", ".fountain", ".scrivx"}),
        ("character",),
        ('weft context "Who is {}?"', 'weft context "{}" --profile narrative', "weft entities list"),
    ),
)
_BY_NAME: Final = {kind.name: kind for kind in KINDS}


def init(
    path: Annotated[
        str | None,
        typer.Argument(metavar="PATH", help="The folder or file to set up. Default: the working folder."),
    ] = None,
    *,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="What it is: repository, vault or manuscript.")
    ] = None,
    client: Annotated[
        str | None,
        typer.Option("--client", metavar="CLIENT", help="Whose configuration to write, as for install; or none."),
    ] = None,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Set up a repository, a vault of notes or a manuscript, and an assistant for it. Asks what is not given."""
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not as_json
    root = _choose_path(path, asks)
    chosen = _choose_kind(kind, root, asks)
    assistant = _choose_client(client, asks)
    folder = root if root.is_dir() else root.parent
    location = store or str(folder / config.STORE_NAME)
    with config.open_weft(location, create=True) as weft, show_progress("scanning") as progress:
        report = weft.index(root, reading=chosen.reading, progress=progress)
        location, commands = weft.location, _first_commands(weft, chosen)
        if not as_json and not is_quiet():
            output.write(f"Set up {root.resolve().name or root} as a {chosen.name}.")
        if not as_json:
            write_report(weft, report, DEFAULT_TENANT)
    nodes = report.written + report.unchanged
    if as_json:
        if assistant != _NO_CLIENT:
            # What installing prints would stand beside the JSON.
            with redirect_stdout(io.StringIO()):
                _configure(assistant, folder, store)
        facts = {"kind": chosen.name, "path": str(root), "store": location, "nodes": nodes}
        output.write_json({**facts, "client": assistant, "problems": len(report.problems)})
        return
    if assistant != _NO_CLIENT:
        _configure(assistant, folder, store)
    if not is_quiet():
        _write_next(commands, folder, assistant)


# --- three questions ---------------------------------------------------------------------------------------


def _choose_path(given: str | None, asks: bool) -> Path:
    written = given or (typer.prompt("Which folder or file?", default=".", err=True) if asks else ".")
    path = Path(written).expanduser()
    if not path.exists():
        raise InvalidInput(f"There is nothing at {written!r}. Give the path of a folder or a file to set up.")
    return path


def _choose_kind(given: str | None, root: Path, asks: bool) -> Kind:
    guess = guess_kind(root)
    names = "/".join(_BY_NAME)
    written = given or (typer.prompt(f"What is it? ({names})", default=guess, err=True) if asks else guess)
    if written not in _BY_NAME:
        raise UnknownName("kind", written, _BY_NAME)
    return _BY_NAME[written]


def _choose_client(given: str | None, asks: bool) -> str:
    from weft.interfaces.client_settings import CLIENTS

    names = (_NO_CLIENT, *CLIENTS)
    question = f"Which assistant is to use it? ({', '.join(names)})"
    written = given or (typer.prompt(question, default=_NO_CLIENT, err=True) if asks else _NO_CLIENT)
    if written not in names:
        raise UnknownName("client", written, names)
    return written


def guess_kind(root: Path) -> str:
    """Guess what a path holds: by the folder that git or Obsidian keeps there, else by its files' suffixes."""
    if root.is_file():
        return next((kind.name for kind in KINDS if root.suffix.lower() in kind.suffixes), "manuscript")
    for mark, name in ((".obsidian", "vault"), (".git", "repository")):
        if (root / mark).exists():
            return name
    counts: Counter[str] = Counter()
    # Sorted, so that two machines guess the same.
    for file in sorted((*root.glob("*"), *root.glob("*/*")))[:_LOOKED_AT]:
        for kind in KINDS:
            if file.suffix.lower() in kind.suffixes:
                counts[kind.name] += _CODE_WEIGHT if kind.name == "repository" else 1
    return counts.most_common(1)[0][0] if counts else "repository"


# --- what follows ------------------------------------------------------------------------------------------


def _configure(client: str, folder: Path, store: str | None) -> None:
    """Write the configuration of an assistant, as `weft install` in that folder does."""
    from weft.interfaces.cli.install import install

    # Clients keep their settings for a folder in it.
    with chdir(folder):
        install(client, store=store)


def _first_commands(weft: "Weft", kind: Kind) -> tuple[str, ...]:
    """Return commands that print something in this store: they name the subject that most links lead to."""
    found = weft.nodes(filter=Filter(kinds=kind.subjects), limit=_SUBJECTS_LOOKED_AT)
    named = [node for node in found if node.title and '"' not in node.title and not _is_test(node)]
    if not named:
        return ('weft context "YOUR QUESTION"',)
    best = max(named, key=lambda node: (-kind.subjects.index(node.kind), node.importance, node.key))
    return tuple(command.format(best.title) for command in kind.first_commands)


def _is_test(node: "Node") -> bool:
    # Loaded here, because `weft --help` loads this module and needs none of it.
    from weft.sources.code.resolve import is_test

    return is_test(node.origin.file or "")


def _write_next(commands: Sequence[str], folder: Path, client: str) -> None:
    """Print what to type next."""
    here = "" if folder.resolve() == Path.cwd() else f"cd {output.short_path(folder)}"
    lines: Sequence[str] = (
        *([here] if here else []),
        *commands,
        "weft status",
        *(
            []
            if client != _NO_CLIENT
            else ["weft install claude-code   # or another assistant; `weft install --help`"]
        ),
    )
    output.write("\n".join(("", "Next:", *(f"  {line}" for line in lines))))
