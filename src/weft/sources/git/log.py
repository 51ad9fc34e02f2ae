"""The log of a repository, read as it streams by: commits, the files they changed, and the names in the hunks."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import orjson

from weft.sources.files import clean
from weft.sources.git.command import END, MARK

_RAW: Final = re.compile(rb":\d+ \d+ [0-9a-f]+\.* [0-9a-f]+\.* ([A-Z])\d*\t([^\t\n]+)(?:\t([^\t\n]+))?")
_COUNTS: Final = re.compile(rb"(\d+|-)\t(\d+|-)\t")
_HUNK: Final = re.compile(rb"@@ -\S+ \+\S+ @@ ?(.*)")
_DEFINITION: Final = re.compile(
    rb"\s*(?:[\w@()]+\s+){0,4}?(?:def|class|func|fn|function|fun|interface|struct|enum|trait|type|module|protocol)"
    rb"\s+(?:\([^)]*\)\s*)?([A-Za-z_$][\w$]*)"
)
_CALLED: Final = re.compile(rb"([A-Za-z_$~][\w$]*)\s*\(")
_ESCAPE: Final = re.compile(rb'\\([0-7]{3}|[abfnrtv"\\])')
_ESCAPED: Final = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_MOST_NAMES: Final = 400


@dataclass(slots=True)
class Change:
    """A file that a commit changed: where it was before, lines added and removed, definitions its hunks name."""

    path: str
    before: str = ""
    insertions: int = 0
    deletions: int = 0
    names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Commit:
    """One commit as the log tells it."""

    hash: str
    author: str
    time: str
    message: str
    merges: bool = False
    changes: list[Change] = field(default_factory=list)


def packed(commit: Commit) -> bytes:
    """The commit as bytes."""
    return orjson.dumps(commit)


def unpacked(content: bytes) -> Commit:
    """The commit that was packed."""
    told = orjson.loads(content)
    told["changes"] = [Change(**each) for each in told["changes"]]
    return Commit(**told)


def read_log(lines: Iterable[bytes]) -> Iterator[Commit]:
    """The commits of a log, one at a time."""
    commit: Commit | None = None
    reader = _Diff([])
    rows = iter(lines)
    for line in rows:
        if line.startswith(MARK):
            if commit is not None:
                yield commit
            commit = _heading(line, rows)
            reader = _Diff(commit.changes)
        elif commit is not None:
            reader.take(line)
    if commit is not None:
        yield commit


def _heading(line: bytes, rows: Iterator[bytes]) -> Commit:
    parts = [line]
    while not parts[-1].endswith(END):
        more = next(rows, END)
        parts.append(more)
    fields = b"".join(parts)[len(MARK) : -len(END)].split(b"\x00", 4)
    hash, parents, author, time, message = (clean(each.decode("utf-8", "replace")) for each in fields)
    return Commit(hash, author.strip(), time, message.strip(), " " in parents)


class _Diff:
    """What follows a commit's message: its files, their counts in the same order, then their hunks."""

    def __init__(self, changes: list[Change]) -> None:
        self._changes = changes
        self._counted = 0
        self._shown = -1

    def take(self, line: bytes) -> None:
        if line.startswith(b":"):
            self._take_file(line)
        elif line.startswith(b"diff --git "):
            self._shown += 1
        elif line.startswith(b"@@"):
            self._take_names(_HUNK.match(line), header=True)
        elif line.startswith((b"+", b"-")):
            self._take_names(_DEFINITION.match(line, 1), header=False)
        elif counts := _COUNTS.match(line):
            self._take_counts(counts)

    def _take_file(self, line: bytes) -> None:
        found = _RAW.match(line)
        if found is None:
            return
        status, first, second = found.groups()
        if second is None:
            self._changes.append(Change(_path(first)))
        else:
            # A copy leaves the other file where it is.
            self._changes.append(Change(_path(second), _path(first) if status == b"R" else ""))

    def _take_counts(self, counts: "re.Match[bytes]") -> None:
        if self._counted < len(self._changes):
            change = self._changes[self._counted]
            change.insertions, change.deletions = (0 if each == b"-" else int(each) for each in counts.groups())
        self._counted += 1

    def _take_names(self, found: "re.Match[bytes] | None", header: bool) -> None:
        if found is None or not 0 <= self._shown < len(self._changes):
            return
        names = self._changes[self._shown].names
        if header:
            context = found.group(1)
            found = _DEFINITION.match(context) or _CALLED.search(context)
        if found is not None and len(names) < _MOST_NAMES:
            name = found.group(1).decode("utf-8", "replace")
            if name not in names:
                names.append(name)


def _path(written: bytes) -> str:
    """A path as git writes it: in quotes and escaped where it has quotes, tabs or line ends."""
    if written.startswith(b'"') and written.endswith(b'"'):
        written = _ESCAPE.sub(_unescaped, written[1:-1])
    return clean(written.decode("utf-8", "replace"))


def _unescaped(escape: "re.Match[bytes]") -> bytes:
    told = escape.group(1)
    return bytes([int(told, 8)]) if len(told) == 3 else _ESCAPED.get(told, told)
