"""Measure what a coding agent asks most of a repository: definitions, callers, and what it has just edited.

    python -m bench.code definitions REPOSITORY [--count 200] [--seed 7]
    python -m bench.code callers REPOSITORY
    python -m bench.code edits REPOSITORY

The repository is copied and indexed first. Symbols are drawn from the definitions outside of tests whose name is
given once. A definition counts as found if the page of 500 tokens cites it. Callers are compared with the links
that the resolver drew when the code was indexed: those that `related` lists, and those that the page of "who calls
X" prints. After each random edit a question about it is asked, half of the time without any time to read files
again: a line of code that the page quotes, and that is not in its file any more, must be marked.
"""

import argparse
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.upkeep import comment, rename
from weft import Weft
from weft.model import Context, Filter, Node, View

_KINDS = ("function", "method", "class")
_VIEW = View(("default",))
_CALLS = ("calls", "tests")
"""The links that are calls: of a call in test code, the resolver draws that it tests what it calls."""
_DEFINITION_TOKENS = 500
_CALLER_TOKENS = 4_000
_MOST_CALLERS = 60
"""More callers do not fit on the page, and nobody asks for them by such a question."""
_SECONDS_TO_READ = (0.0, 0.15)
"""How long changed files are read before an answer: not at all, or as long as usual."""


def main() -> None:
    """Read the command line and print the measure that it asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", choices=("definitions", "callers", "edits"))
    parser.add_argument("repository", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        root, store = Path(folder) / options.repository.name, Path(folder) / "store"
        shutil.copytree(options.repository, root, symlinks=True)
        with Weft.open(store) as weft:
            weft.index(root)
            symbols = read_symbols(weft)
            if options.measure == "definitions":
                print(measure_definitions(weft, _draw(symbols, options.count, chance)))
            elif options.measure == "callers":
                called = [node for node in symbols if 0 < len(callers_of(weft, node)) <= _MOST_CALLERS]
                print(measure_callers(weft, _draw(called, options.count, chance)))
        if options.measure == "edits":
            print(measure_edits(root, store, options.count, chance))


def _draw(nodes: Sequence[Node], count: int, chance: random.Random) -> list[Node]:
    return chance.sample(nodes, min(count, len(nodes)))


def read_symbols(weft: Weft) -> list[Node]:
    """Return the definitions outside of tests whose name is given once, by key."""
    with weft.reading(_VIEW) as reading:
        ids = reading.snapshot.matching_ids(Filter(kinds=_KINDS)).tolist()
        nodes = [row.node for row in reading.snapshot.nodes(ids).values()]
    # By a bare name, a method is asked for as well as a function.
    names = Counter(name for node in nodes for name in {node.title, node.title.rpartition(".")[2]})
    mine = [node for node in nodes if names[node.title] == 1 and "test-code" not in node.tags]
    return sorted(mine, key=lambda node: node.key)


def callers_of(weft: Weft, node: Node) -> set[str]:
    """Return the keys of what calls a definition, as the resolver drew it."""
    with weft.store.snapshot(_VIEW) as snapshot:
        edges = snapshot.edges([node.id], 100_000)
    return {edge.source for _, target, edge in edges if edge.type in _CALLS and target == node.id}


def cited_keys(page: Context) -> set[str]:
    """Return the keys of everything that a page prints."""
    return {entry.key for entry in page.manifest if entry.key is not None}


def measure_definitions(weft: Weft, symbols: Sequence[Node]) -> str:
    """Ask where each symbol is defined, and return how many pages cite the definition."""
    missed = []
    for node in symbols:
        page = weft.context(f"where is {node.title} defined?", max_tokens=_DEFINITION_TOKENS)
        if node.key not in cited_keys(page):
            missed.append(node.key)
    share = 1 - len(missed) / len(symbols)
    return f"where is X defined: {share:.1%} of {len(symbols)} at {_DEFINITION_TOKENS} tokens; missed {missed[:5]}"


def measure_callers(weft: Weft, symbols: Sequence[Node]) -> str:
    """Return recall and precision of `related` and of the page against the resolver's links."""
    found: Counter[str] = Counter()
    for node in symbols:
        name = node.title.rpartition(".")[2]

        def without_namesakes(keys: set[str], name: str = name) -> set[str]:
            # The page shows what is called too, and others of that name where the question does not part them.
            return {key for key in keys if not key.endswith((f".{name}", f"#{name}"))}

        truth = without_namesakes(callers_of(weft, node))
        related = weft.related(node.key, types=_CALLS, direction="in", limit=100_000)
        listed = without_namesakes({other.key for other, _ in related})
        page = weft.context(f"who calls {node.title}?", max_tokens=_CALLER_TOKENS)
        printed = without_namesakes(cited_keys(page))
        found.update(
            truth=len(truth),
            listed=len(listed),
            listed_right=len(listed & truth),
            printed=len(printed),
            printed_right=len(printed & truth),
        )
    right, printed_right = found["listed_right"], found["printed_right"]
    return (
        f"callers of {len(symbols)} functions: related has {right / found['truth']:.1%} of them, "
        f"{right / max(found['listed'], 1):.1%} right; the page of {_CALLER_TOKENS:,} tokens "
        f"{printed_right / found['truth']:.1%}, {printed_right / max(found['printed'], 1):.1%} right"
    )


# --- edits -------------------------------------------------------------------------------------------------------


def _append(file: Path) -> None:
    file.write_text(f"{file.read_text('utf-8')}\n\ndef edited_function():\n    return 'edited'\n", "utf-8")


def _move(file: Path) -> None:
    file.rename(file.with_name(f"moved_{file.name}"))


def _shift(file: Path) -> None:
    file.write_text(f"# edited\n\n{file.read_text('utf-8')}", "utf-8")


_EDITS: tuple[Callable[[Path], None], ...] = (comment, rename, _append, _move, _shift, Path.unlink)


def measure_edits(root: Path, store: Path, count: int, chance: random.Random) -> str:
    """Edit files at random, ask about each edit, and return how many pages quote what is gone without a mark."""
    stale = []
    for number in range(count):
        file = chance.choice([path for path in sorted(root.rglob("*.py")) if path.stat().st_size > 0])
        edit, seconds = chance.choice(_EDITS), chance.choice(_SECONDS_TO_READ)
        edit(file)
        with Weft.open(store, refresh_seconds=seconds) as weft:
            page = weft.context(f"what does {file.stem} define?", max_tokens=1_000)
        stale += [(number, edit.__name__, line) for line in quoted_and_gone(page, root)]
    pages = {number for number, _, _ in stale}
    return f"edit, then ask: {len(pages)} of {count} pages quote what is gone without a mark; {stale[:5]}"


def quoted_and_gone(page: Context, root: Path) -> list[str]:
    """Return the lines that a page quotes from files that have them no more, and does not mark."""
    printed, gone = page.text.split("\n"), []
    for entry in page.manifest:
        origin = entry.origin
        if origin is None or not (origin.file or "").endswith(".py") or not entry.verbatim or origin.stale:
            continue
        file, line = root / str(origin.file), printed[entry.first_line - 1].strip()
        lines = file.read_text("utf-8", "replace").split("\n") if file.exists() else []
        there = lines[(entry.source_first_line or 1) - 1 :][:1]
        # A sentence may begin or end within a line.
        if not any(line in each for each in there):
            gone.append(f"{origin.file}:{entry.source_first_line}: {line}")
    return gone


if __name__ == "__main__":
    main()
