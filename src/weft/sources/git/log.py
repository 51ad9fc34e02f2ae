"""Git as a program: what it is asked, and what it answers."""

import re
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from importlib import resources
from pathlib import Path
from typing import Final

import orjson

from weft.errors import SourceError
from weft.frozen import dataclass
from weft.sources.files import MAX_TEXT, clean

MARK: Final = b"\x01"
"""Begins a commit in the log; its fields are apart by a NUL, and END ends them."""
END: Final = b"\x02\n"

_NO_SUCH_NAME: Final = 1
"""What git exits with where a name stands for nothing; other trouble has other numbers."""
_LONGEST_COMPLAINT: Final = 200

_CHANGES: Final = ("--root", "--raw", "--numstat", "--patch", "--unified=0", "--find-renames", "--abbrev=40")
_PLAIN: Final = (
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-notes",
    "--submodule=short",
    "--encoding=UTF-8",
)
_FORMAT: Final = "--format=%x01%H%x00%P%x00%an%x00%aI%x00%B%x02"


def commits(root: Path, most: int) -> list[str]:
    """The hashes of the newest commits that lead to the one checked out, children first; none without commits."""
    head = _run(root, "rev-parse", "--verify", "--quiet", "HEAD")
    if head.returncode == _NO_SUCH_NAME:
        return []
    listed = _run(root, "rev-list", "--topo-order", f"--max-count={most}", "HEAD")
    if head.returncode or listed.returncode:
        raise SourceError(f"git cannot list the commits: {_said(head.stderr or listed.stderr)}")
    return listed.stdout.decode("ascii").split()


def cut_off(root: Path) -> frozenset[str]:
    """The commits at which a shallow clone ends: what they changed cannot be known."""
    found = _run(root, "rev-parse", "--git-path", "shallow")
    try:
        listed = (root / found.stdout.decode().strip()).read_text("ascii")
    except (OSError, ValueError):
        return frozenset()
    return frozenset(listed.split())


def log(root: Path, hashes: Sequence[str], *, changes: bool) -> Iterator[bytes]:
    """The lines of one log of the given commits: messages and, with `changes`, files, counts and bare hunks.

    Where git stops before the end, so do the lines.
    """
    with resources.as_file(resources.files("weft.sources.git") / "attributes") as attributes:
        options = ("--no-walk=unsorted", "--stdin", *_PLAIN, *(_CHANGES if changes else ("--no-patch",)), _FORMAT)
        command = [*_git(root), "-c", f"core.attributesFile={attributes}", "log", *options]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as running:
            if running.stdin is None or running.stdout is None:
                return
            # Git reads the whole list before it says anything, unless it cannot work here at all.
            with suppress(BrokenPipeError):
                running.stdin.write("\n".join(hashes).encode())
                running.stdin.close()
            try:
                yield from running.stdout
            finally:
                running.kill()


def _run(root: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run([*_git(root), *arguments], capture_output=True, check=False)
    except FileNotFoundError as error:
        raise SourceError("git is not installed") from error


def _git(root: Path) -> list[str]:
    """Git in a folder, without what a user's configuration adds to its answers."""
    # Larger files are not read as code either; git shows them like binary ones.
    settings = ("core.quotePath=false", "log.showSignature=false", f"core.bigFileThreshold={MAX_TEXT}")
    plain = [word for each in settings for word in ("-c", each)]
    return ["git", "--no-pager", "--no-optional-locks", "-C", str(root), *plain]


def _said(stderr: bytes) -> str:
    """What git complains of, in its first line."""
    told = stderr.decode("utf-8", "replace").strip().partition("\n")[0]
    return told.removeprefix("fatal: ")[:_LONGEST_COMPLAINT] or "it gives no reason"


_RAW: Final = re.compile(rb":\d+ \d+ [0-9a-f]+\.* [0-9a-f]+\.* ([A-Z])\d*\t([^\t\n]+)(?:\t([^\t\n]+))?")
_COUNTS: Final = re.compile(rb"(\d+)\t(\d+)\t")
_HUNK: Final = re.compile(rb"@@ -\S+ \+\S+ @@ ?(.*)")
_DEFINITION: Final = re.compile(
    rb"\s*(?:[\w@()]+\s+){0,4}?(?:def|class|func|fn|function|fun|interface|struct|enum|trait|type|module|protocol)"
    rb"\s+(?:\([^)]*\)\s*)?([A-Za-z_$][\w$]*)"
)
_CALLED: Final = re.compile(rb"([A-Za-z_$~][\w$]*)\s*\(")
_ESCAPE: Final = re.compile(rb'\\([0-7]{3}|[abfnrtv"\\])')
_ESCAPED: Final = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_MOST_NAMES: Final = 400
_MOST_STOPS: Final = 20
"""So often git is asked again; a repository with more damage is not worth the time."""


@dataclass(slots=True)
class Change:
    """A file that a commit changed: where it was before, and the definitions that its hunks name."""

    path: str
    before: str = ""
    names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Commit:
    """One commit as the log tells it; lines added and removed are those of all its files."""

    hash: str
    author: str
    time: str
    message: str
    merges: bool = False
    insertions: int = 0
    deletions: int = 0
    changes: list[Change] = field(default_factory=list)


def packed(commit: Commit) -> bytes:
    """The commit as bytes."""
    return orjson.dumps(commit)


def unpacked(content: bytes) -> Commit:
    """The commit that was packed."""
    told = orjson.loads(content)
    told["changes"] = [Change(**each) for each in told["changes"]]
    return Commit(**told)


def read_commits(root: Path, hashes: Sequence[str], *, changes: bool = True) -> Iterator[Commit]:
    """The commits as git shows them, with `changes`; where it stops at a damaged one, it is asked for the rest."""
    ahead = list(hashes)
    for _ in range(_MOST_STOPS):
        if not ahead:
            return
        read = set()
        for commit in read_log(log(root, ahead, changes=changes)):
            read.add(commit.hash)
            yield commit
        ahead = [hash for hash in ahead if hash not in read][0 if read else 1 :]


def read_log(lines: Iterable[bytes]) -> Iterator[Commit]:
    """The commits of a log, one at a time; one that breaks off before its message ends is not told."""
    diff: _Diff | None = None
    rows = iter(lines)
    for line in rows:
        if line.startswith(MARK):
            if diff is not None:
                yield diff.commit
            commit = _heading(line, rows)
            diff = _Diff(commit) if commit is not None else None
        elif diff is not None:
            diff.take(line)
    if diff is not None:
        yield diff.commit


def _heading(line: bytes, rows: Iterator[bytes]) -> Commit | None:
    parts = [line]
    while not parts[-1].endswith(END):
        more = next(rows, None)
        if more is None:
            return None
        parts.append(more)
    fields = b"".join(parts)[len(MARK) : -len(END)].split(b"\x00", 4)
    hash, parents, author, time, message = (clean(each.decode("utf-8", "replace")) for each in fields)
    return Commit(hash, author.strip(), time, message.strip(), " " in parents)


class _Diff:
    """What follows a commit's message: its files, their counts, then their hunks in the order of the files."""

    def __init__(self, commit: Commit) -> None:
        self.commit = commit
        self._ahead: deque[Change] = deque()
        self._shown: Change | None = None

    def take(self, line: bytes) -> None:
        """Add what one line tells to the commit."""
        if line.startswith(b"diff --git "):
            self._shown = self._ahead.popleft() if self._ahead else None
        elif line.startswith(b"@@"):
            self._take_names(_HUNK.match(line), header=True)
        elif line.startswith(b":"):
            self._take_file(line)
        elif self._shown is None:
            self._take_counts(line)
        elif line.startswith((b"+", b"-")):
            self._take_names(_DEFINITION.match(line, 1), header=False)

    def _take_file(self, line: bytes) -> None:
        found = _RAW.match(line)
        if found is None:
            return
        status, first, second = found.groups()
        # A copy leaves the other file where it is.
        change = Change(_path(second or first), _path(first) if status == b"R" else "")
        self.commit.changes.append(change)
        # A file that becomes a link, or a link a file, is shown twice: as it goes and as it comes.
        self._ahead.extend([change] * (2 if status == b"T" else 1))

    def _take_counts(self, line: bytes) -> None:
        """Add the lines of one file; of a binary one git counts none."""
        if counts := _COUNTS.match(line):
            self.commit.insertions += int(counts[1])
            self.commit.deletions += int(counts[2])

    def _take_names(self, found: "re.Match[bytes] | None", header: bool) -> None:
        if found is None or self._shown is None:
            return
        names = self._shown.names
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
