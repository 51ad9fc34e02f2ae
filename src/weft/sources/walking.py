"""The files below a folder, each once, without what is hidden or ignored."""

import os
from collections import Counter
from dataclasses import field
from pathlib import Path
from typing import Final

from weft.frozen import dataclass
from weft.ports import Problem
from weft.sources.ignoring import Rules, is_ignored, rules_above, rules_in

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
