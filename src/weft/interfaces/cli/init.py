"""`weft init`: set up a repository, a vault or a manuscript by three questions, each also an option."""

import io
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Annotated, Final

import typer
from msgspec import Struct

from weft import config
from weft.errors import InvalidInput, UnknownName
from weft.interfaces.cli import AsJson, StoreFolder, is_quiet, output
from weft.interfaces.cli.output import show_progress

_NO_CLIENT: Final = "none"
_LOOKED_AT: Final = 400
"""Names in a folder that are looked at to guess what it is; more would not change the guess."""

_CODE_WEIGHT: Final = 5
"""How many documents one file of code outweighs: repositories have documents, and vaults hardly any code."""


class Kind(Struct, frozen=True):
    """A kind of folder: how its files are read, the suffixes that show it, and a first question to ask."""

    name: str
    reading: str
    suffixes: frozenset[str]
    first_questions: tuple[str, ...]


KINDS: Final = (
    Kind(
        "repository",
        "",
        frozenset(
            {".py", ".ts", ".js", ".go", ".rs", ".java", ".c", ".cpp", ".cs", ".rb", ".php", ".kt", ".swift"}
        ),
        ("how is this project built?", "where do errors go?"),
    ),
    Kind("vault", "notes", frozenset({".md", ".canvas", ".base"}), ("what am I working on?", "what is overdue?")),
    Kind(
        "manuscript",
        "story",
        frozenset({".txt", ".docx", ".odt", ".epub", ".rtf", ".fountain", ".scrivx"}),
        ("who is the narrator?", "what happens at the end?"),
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
    """Set up a repository, a vault or a manuscript: index it, and tell your assistant. Asks what is not given."""
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not as_json
    root = _choose_path(path, asks)
    chosen = _choose_kind(kind, root, asks)
    assistant = _choose_client(client, asks)
    folder = root if root.is_dir() else root.parent
    location = store or str(folder / config.STORE_NAME)
    with config.open_weft(location, create=True) as weft, show_progress("scanning") as progress:
        report = weft.index(root, reading=chosen.reading, progress=progress)
    nodes = report.written + report.unchanged
    if as_json:
        if assistant != _NO_CLIENT:
            # What installing prints would stand beside the JSON.
            with redirect_stdout(io.StringIO()):
                _configure(assistant, folder, store)
        facts = {"kind": chosen.name, "path": str(root), "store": location, "nodes": nodes}
        output.write_json({**facts, "client": assistant, "problems": len(report.problems)})
        return
    if not is_quiet():
        read = f"{output.count_noun(nodes, 'node')} in {output.short_path(location)}"
        output.write(f"Set up the {chosen.name} {root.resolve().name or root}: {read}.")
    output.write_problem_notes([(problem.where, problem.reason) for problem in report.problems])
    if assistant != _NO_CLIENT:
        _configure(assistant, folder, store)
    if not is_quiet():
        _write_next(chosen, folder, assistant)


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


def _write_next(kind: Kind, folder: Path, client: str) -> None:
    """Print what to type next."""
    here = "" if folder.resolve() == Path.cwd() else f"cd {output.short_path(folder)}"
    lines: Sequence[str] = (
        *([here] if here else []),
        *(f'weft context "{question}"' for question in kind.first_questions),
        "weft status",
        *(
            []
            if client != _NO_CLIENT
            else ["weft install claude-code   # or another assistant; `weft install --help`"]
        ),
    )
    output.write("\n".join(("", "Next:", *(f"  {line}" for line in lines))))
