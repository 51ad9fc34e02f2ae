"""What .gitignore and .weftignore say is not to be read."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from weft.frozen import dataclass
from weft.ports import Problem

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


_FILES: Final = (".gitignore", ".weftignore")


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one folder; paths are told from that folder on, which is `depth` characters into them."""

    spec: "GitIgnoreSpec"
    depth: int

    def verdict(self, path: str) -> bool | None:
        """Whether the path is ignored, kept on purpose, or not spoken of."""
        return self.spec.check_file(path[self.depth :]).include


def rules_above(root: Path) -> tuple[tuple[Rules, ...], str]:
    """The rules of the folders between a repository and `root`, outermost first, and the way down to `root`."""
    resolved = root.resolve()
    repository = next((each for each in (resolved, *resolved.parents) if (each / ".git").exists()), None)
    if repository is None or repository == resolved:
        return (), ""
    way = resolved.relative_to(repository).parts
    folders = [repository.joinpath(*way[:depth]) for depth in range(len(way))]
    depths = [len("".join(f"{part}/" for part in way[:depth])) for depth in range(len(way))]
    found = [rules for folder, depth in zip(folders, depths, strict=True) for rules in rules_in(folder, depth)]
    return tuple(found), "".join(f"{part}/" for part in way)


def rules_in(folder: Path, depth: int) -> Iterator[Rules]:
    """The rules that a folder's own files give, if it has any."""
    lines = [line for name in _FILES for line in _lines(folder / name)]
    if folder.joinpath(".git").is_dir():
        lines += _lines(folder / ".git" / "info" / "exclude")
    if lines:
        # Most folders have no such files, and those who only read notes need not load this.
        from pathspec import GitIgnoreSpec

        yield Rules(GitIgnoreSpec.from_lines(lines), depth)


def is_ignored(path: str, rules: Sequence[Rules]) -> bool:
    """Whether the innermost rules that speak of a path ignore it; the path of a folder ends in `/`."""
    for each in reversed(rules):
        verdict = each.verdict(path)
        if verdict is not None:
            return verdict
    return False


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


IGNORED: Final = "ignored by .gitignore or .weftignore"

_STORE: Final = "weft.sqlite"
"""The file by which a folder is known to be a store of ours, whatever it is called."""
_SKIPPED_FOLDERS: Final = frozenset({"node_modules", "__pycache__", "venv"})


@dataclass(frozen=True, slots=True)
class File:
    """One file of a source: its path below the root with forward slashes, and where it really is."""

    name: str
    path: Path
    explicit: bool = False


@dataclass(slots=True)
class Walk:
    """What was found below a folder, what could not be read, and how much was passed over, by reason."""

    files: list[File] = field(default_factory=list)
    broken: dict[str, Problem] = field(default_factory=dict)
    remarks: Counter[str] = field(default_factory=Counter)
    _seen: set[tuple[int, int]] = field(default_factory=set)
    _above: str = ""

    def enter(self, folder: Path, prefix: str, rules: tuple[Rules, ...]) -> None:
        """Take up the files of a folder and of those below it."""
        try:
            status = folder.stat()
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            where = prefix or "."
            self.broken[where] = Problem(where, f"The folder cannot be read: {error.strerror or error}.")
            return
        if (status.st_dev, status.st_ino) in self._seen:
            return
        self._seen.add((status.st_dev, status.st_ino))
        if any(entry.name == _STORE for entry in entries):
            self.remarks["in Weft stores"] += 1
            return
        here = (*rules, *rules_in(folder, len(self._above) + len(prefix)))
        for entry in entries:
            if not entry.name.startswith("."):
                self._take(entry, folder, prefix, here)

    def _take(self, entry: "os.DirEntry[str]", folder: Path, prefix: str, rules: tuple[Rules, ...]) -> None:
        name = f"{prefix}{entry.name}"
        try:
            is_folder = entry.is_dir()
        except OSError as error:
            self.broken[readable(name)] = Problem(readable(name), f"It cannot be read: {error.strerror or error}.")
            return
        if rules and is_ignored(f"{self._above}{name}{'/' if is_folder else ''}", rules):
            self.remarks[IGNORED] += 1
        elif not is_folder:
            self.files.append(File(readable(name), folder / entry.name))
        elif entry.name in _SKIPPED_FOLDERS:
            self.remarks[f"in {entry.name}"] += 1
        else:
            self.enter(folder / entry.name, f"{name}/", rules)


def walk(root: Path) -> Walk:
    """Everything at a path: the file itself, or the files below the folder by path."""
    if root.is_file():
        return Walk([File(root.name, root, explicit=True)])
    rules, above = rules_above(root)
    if above and is_ignored(above, rules):
        # Who names an ignored folder wants to read it.
        rules = ()
    found = Walk(_above=above)
    found.enter(root, "", rules)
    found.files.sort(key=lambda file: file.name)
    return found


def readable(name: str) -> str:
    """The name of a file as text, whatever bytes it is made of."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
