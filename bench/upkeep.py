"""Measure what keeping a store up to date costs: a repository read first, again, and after edits and a commit.

    python -m bench.upkeep REPOSITORY [--runs 3]

The repository is copied before it is edited. Each row is the median of several edits of its kind, each indexed by
a library that was opened anew. Processor time counts that of other processes too, such as git's.
"""

import argparse
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from time import perf_counter
from typing import Final, NamedTuple

from weft import Weft

WHO: Final = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0")
_DEFINITION: Final = re.compile(r"^(\s*def )(\w+)(\(.*)$", re.MULTILINE)


class Cost(NamedTuple):
    """The seconds that one run took, by the clock and of the processors, and the nodes that it wrote."""

    seconds: float
    processor: float
    written: int


def main() -> None:
    """Read the command line, and print a row for each kind of change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root, store = Path(folder) / options.repository.name, Path(folder) / "store"
        shutil.copytree(options.repository, root, symlinks=True)
        print("| change | written | s | s of processor |\n|---|---:|---:|---:|")
        print_row("first", [index(root, store)])
        print_row("none", [index(root, store) for _ in range(options.runs)])
        for name, edit in (("a comment", comment), ("a signature", extend), ("a function renamed", rename)):
            print_row(name, [_after(edit, file, root, store) for file in _choose_files(root, options.runs)])
        print_row("one more commit", [_after(commit, root, root, store) for _ in range(options.runs)])


def index(root: Path, store: Path, *, embedder: str | None = "static") -> Cost:
    """Index a repository into a store that is opened for it, and return what that took."""
    began, used = perf_counter(), _processor_seconds()
    with Weft.open(store, embedder=embedder) as weft:
        report = weft.index(root)
    return Cost(perf_counter() - began, _processor_seconds() - used, report.written)


def print_row(name: str, costs: list[Cost]) -> None:
    """Print the median of what several runs took."""
    seconds, processor, written = (statistics.median(column) for column in zip(*costs, strict=True))
    print(f"| {name} | {written:,.0f} | {seconds:.2f} | {processor:.2f} |", flush=True)


def _after(edit: Callable[[Path], None], path: Path, root: Path, store: Path) -> Cost:
    edit(path)
    return index(root, store)


def _processor_seconds() -> float:
    used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _choose_files(root: Path, count: int) -> list[Path]:
    """Return files with functions, evenly spread over the repository."""
    files = [path for path in sorted(root.rglob("*.py")) if _DEFINITION.search(path.read_text("utf-8", "replace"))]
    step = max(len(files) // count, 1)
    return files[step // 2 :: step][:count]


# --- changes -----------------------------------------------------------------------------------------------------


def comment(file: Path) -> None:
    """Add a line that no definition contains."""
    file.write_text(f"{file.read_text('utf-8')}# edited\n", "utf-8")


def extend(file: Path) -> None:
    """Add to the first line of a function."""
    file.write_text(_DEFINITION.sub(r"\1\2\3  # edited", file.read_text("utf-8"), count=1), "utf-8")


def rename(file: Path) -> None:
    """Give the first function of a file another name."""
    file.write_text(_DEFINITION.sub(r"\1\2_renamed\3", file.read_text("utf-8"), count=1), "utf-8")


def commit(root: Path) -> None:
    """Commit one more line in a file."""
    file = _choose_files(root, 1)[0]
    comment(file)
    message = f"{file.stem}: say that it was edited"
    subprocess.run(["git", "-C", root, *WHO, "commit", "--quiet", "--all", "--message", message], check=True)


if __name__ == "__main__":
    main()
