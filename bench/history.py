"""How fast the history of a large repository is read: all of it, again without changes, and after one more commit.

python -m bench.history [--commits 20000] [--again]

The repository is made of modules of the standard library, of which each commit edits one to three and some rename
one; it stays in bench/worlds/history/. Processor time counts git's too.
"""

import argparse
import random
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.measures import peak_megabytes
from bench.upkeep import WHO, index

PLACE: Final = Path(__file__).parent / "worlds" / "history"
FILES: Final = 300
LARGEST: Final = 12_000


def main() -> None:
    """Make the repository and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=20_000)
    parser.add_argument("--again", action="store_true", help="make the repository anew")
    given = parser.parse_args()
    root = PLACE / str(given.commits)
    if given.again or not root.is_dir():
        shutil.rmtree(root, ignore_errors=True)
        made(root, given.commits)
    store = PLACE / f"{given.commits}.weft"
    shutil.rmtree(store, ignore_errors=True)
    print("| run | written | s | s of processor | nodes/s | MB |")
    print("|---|---:|---:|---:|---:|---:|")
    print(row("first", root, store))
    print(row("again", root, store))
    with (root / "added.py").open("a", encoding="utf-8") as added:
        added.write("def added():\n    return 1\n")
    subprocess.run(["git", "-C", root, "add", "--all"], check=True)
    subprocess.run(["git", "-C", root, *WHO, "commit", "--quiet", "--message", "one more"], check=True)
    print(row("one more commit", root, store))


def row(name: str, root: Path, store: Path) -> str:
    """Index the repository without embeddings, and return a row of the table."""
    cost = index(root, store, embedder=None)
    rate = f"{cost.written / cost.seconds:,.0f}" if name == "first" else ""
    peak = f"{peak_megabytes():.0f}"
    return f"| {name} | {cost.written:,} | {cost.seconds:.2f} | {cost.processor:.2f} | {rate} | {peak} |"


def made(root: Path, commits: int) -> None:
    """Make a repository with that many commits by git's own importer."""
    root.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", root], check=True)
    with subprocess.Popen(["git", "-C", root, "fast-import", "--quiet"], stdin=subprocess.PIPE) as importing:
        assert importing.stdin is not None
        for piece in stream(commits):
            importing.stdin.write(piece)
    subprocess.run(["git", "-C", root, "checkout", "--quiet", "main"], check=True)


def stream(commits: int) -> Iterator[bytes]:
    """Yield the input of the importer: modules, then random edits and renames, the same for the same number."""
    chance = random.Random(commits)
    texts = dict(modules())
    yield _commit(0, "import: the modules", b"".join(_file(name, text) for name, text in texts.items()))
    for number in range(1, commits):
        names = chance.sample(sorted(texts), chance.choice((1, 1, 1, 2, 3)))
        changes = b""
        if number % 50 == 0:
            old, new = names[0], f"moved/{number}_{names[0].rpartition('/')[2].partition('_')[2] or names[0]}"
            texts[new] = texts.pop(old)
            changes, names = b"R %s %s\n" % (old.encode(), new.encode()), [new]
        for name in names:
            texts[name] = edited(texts[name], number, chance)
            changes += _file(name, texts[name])
        yield _commit(number, f"{names[0]}: change number {number}\n\nIt was needed.", changes)


def modules() -> Iterator[tuple[str, str]]:
    """Return modules of the standard library that are not too long."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    small = (path for path in sorted(folder.rglob("*.py")) if 1000 < path.stat().st_size < LARGEST)
    for number, path in enumerate(small):
        if number == FILES:
            return
        yield f"lib/{number}_{path.name}", path.read_text("utf-8", "replace")


def edited(text: str, number: int, chance: random.Random) -> str:
    """Return the text with one of its lines replaced, at the same depth."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    depth = len(lines[at]) - len(lines[at].lstrip())
    lines[at] = f"{' ' * depth}# as of change {number}"
    return "\n".join(lines)


def _commit(number: int, message: str, changes: bytes) -> bytes:
    said = message.encode()
    when = 1_500_000_000 + number * 600
    head = f"commit refs/heads/main\ncommitter Bench <bench@example.org> {when} +0000\ndata {len(said)}\n"
    return head.encode() + said + b"\n" + changes + b"\n"


def _file(name: str, text: str) -> bytes:
    content = text.encode()
    return b"M 100644 inline %s\ndata %d\n%s\n" % (name.encode(), len(content), content)


if __name__ == "__main__":
    main()
