"""Run git and parse its log into commits with the files and definitions that they changed."""

import re
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Final

import msgspec
import xxhash
from msgspec import Struct, field

from weft.errors import SourceError
from weft.sources.files import MAX_TEXT_CHARACTERS, clean
from weft.text.redact_source import redact_source

_COMMIT_START: Final = b"\x01"
"""Begins a commit in the log; its fields are separated by NUL, and _MESSAGE_END ends them."""
_MESSAGE_END: Final = b"\x02\n"
_FORMAT: Final = "--format=%x01%H%x00%P%x00%an%x00%aI%x00%B%x02"
_CHANGES: Final = ("--root", "--raw", "--numstat", "--patch", "--unified=0", "--find-renames", "--abbrev=40")
_PLAIN_OUTPUT: Final = (
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-notes",
    "--submodule=short",
    "--encoding=UTF-8",
)

_NO_SUCH_NAME: Final = 1
"""The exit status of `git rev-parse` for a name that stands for nothing; other trouble has other numbers."""
_NO_TAG: Final = "undefined"
"""The word that git prints for a commit that no tag contains."""
_MAX_ERROR_CHARACTERS: Final = 200
"""How much of git's complaint an error quotes."""
_MAX_NAMES_PER_FILE: Final = 400
"""Definitions noted of one changed file; a commit that touches more moves or reformats everything."""
_MAX_RUNS: Final = 20
"""How often git is run for one list of commits, since it stops at every damaged one; a repository with more damage
is not worth the time."""

_MAX_KEPT_LINES: Final = 3
"""Removed lines, and added ones, that stand for a commit whose message does not tell what changed."""
_MAX_LINE_CHARACTERS: Final = 100
_MIN_SUBJECT_WORDS: Final = 4
"""A subject of fewer words, such as "fix typo" or "wip", tells too little without a body."""
_SUBJECT_FRAME: Final = re.compile(r"^\w+(?:\([^)]*\))?!?:\s*|\(?#\d+\)?|\bPR\b")
"""The type before a subject and the number behind it, which tell nothing about the change."""
_TRAILER: Final = re.compile(r"[A-Z][\w-]+(?:-by|-id): .*|\s*", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_DATA: Final = re.compile(r"[A-Za-z0-9+/=]{32}")
"""Part of a key, a hash or an encoded file, which tells nothing and may be secret."""
_RAW: Final = re.compile(rb":\d+ \d+ [0-9a-f]+\.* [0-9a-f]+\.* ([A-Z])\d*\t([^\t\n]+)(?:\t([^\t\n]+))?")
_COUNTS: Final = re.compile(rb"(\d+)\t(\d+)\t")
_EDIT: Final = re.compile(rb"^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_HUNK: Final = re.compile(rb"@@ -\S+ \+\S+ @@ ?(.*)")
_DEFINITION: Final = re.compile(
    rb"\s*(?:[\w@()]+\s+){0,4}?(?:def|class|func|fn|function|fun|interface|struct|enum|trait|type|module|protocol)"
    rb"\s+(?:\([^)]*\)\s*)?([A-Za-z_$][\w$]*)"
)
# For languages without a keyword for functions: the name before the first parenthesis of a hunk's context.
_BEFORE_PARENTHESIS: Final = re.compile(rb"([A-Za-z_$~][\w$]*)\s*\(")
_ESCAPE: Final = re.compile(rb'\\([0-7]{3}|[abfnrtv"\\])')
_ESCAPED: Final = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


class Change(Struct):
    """A file that a commit changed: its path, its path before a rename, and the definitions in its hunks."""

    path: str
    before: str = ""
    names: list[str] = field(default_factory=list)


class Commit(Struct):
    """One commit; insertions and deletions are lines of all its files. The cache stores the fields by name."""

    hash: str
    author: str
    time: str
    message: str
    merges: bool = False
    insertions: int = 0
    deletions: int = 0
    changes: list[Change] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    """The first removed and added lines, where the message does not tell what changed."""


def pack(commit: Commit) -> bytes:
    """Serialise a commit for the cache."""
    return msgspec.json.encode(commit)


def unpack(content: bytes) -> Commit:
    """Return the commit that was packed."""
    return msgspec.json.decode(content, type=Commit)


def list_commits(root: Path, limit: int, before: Sequence[str] = ()) -> list[str]:
    """Return the hashes of the newest commits that lead to the one checked out, children first.

    Where commits without branches were added to what was listed `before`, git walks only these.
    """
    head = run_git(root, "rev-parse", "--verify", "--quiet", "HEAD")
    if head.returncode == _NO_SUCH_NAME:
        return []
    added = _list_added(root, head.stdout.decode("ascii").strip(), before[0]) if before else None
    if added is not None:
        return [*added, *before][:limit]
    listed = run_git(root, "rev-list", "--topo-order", f"--max-count={limit}", "HEAD")
    if head.returncode or listed.returncode:
        raise SourceError(f"git cannot list the commits: {_first_line(head.stderr or listed.stderr)}")
    return listed.stdout.decode("ascii").split()


def _list_added(root: Path, head: str, before: str) -> list[str] | None:
    """Return the commits after an older one, newest first; None unless they form a row without branches."""
    if head == before:
        return []
    listed = run_git(root, "rev-list", "--topo-order", "--parents", "HEAD", f"^{before}")
    rows = [line.split() for line in listed.stdout.decode("ascii").splitlines()] if not listed.returncode else []
    added = [row[0] for row in rows]
    return added if rows and [row[1:] for row in rows] == [[each] for each in [*added[1:], before]] else None


def describe_ends(root: Path) -> str:
    """Return what decides on a history beside its newest commit: where it is cut off, and what git replaces."""
    replaced = run_git(root, "for-each-ref", "--format=%(refname) %(objectname)", "refs/replace/").stdout
    return xxhash.xxh3_64_hexdigest(b"\n".join([replaced, *map(str.encode, sorted(list_shallow_commits(root)))]))


def list_shallow_commits(root: Path) -> frozenset[str]:
    """Return the commits at which a shallow clone ends: what they changed cannot be known."""
    found = run_git(root, "rev-parse", "--git-path", "shallow")
    try:
        listed = (root / found.stdout.decode().strip()).read_text("ascii")
    except (OSError, ValueError):
        return frozenset()
    return frozenset(listed.split())


def read_commits(root: Path, hashes: Sequence[str], *, changes: bool = True) -> Iterator[Commit]:
    """Iterate over commits, with what they changed unless told not to; damaged ones are left out."""
    remaining = list(hashes)
    for _ in range(_MAX_RUNS):
        if not remaining:
            return
        read = set()
        for commit in read_log(_run_log(root, remaining, changes=changes)):
            read.add(commit.hash)
            yield commit
        # A run that shows nothing stopped at its first commit, so that one is left out of the next run.
        remaining = [hash for hash in remaining if hash not in read][0 if read else 1 :]


def _run_log(root: Path, hashes: Sequence[str], *, changes: bool) -> Iterator[bytes]:
    """Iterate over the lines of one log: messages and, with `changes`, files, counts and hunks without context.

    Where git stops before the end, so do the lines.
    """
    with resources.as_file(resources.files("weft.sources.git") / "attributes") as attributes:
        what = _CHANGES if changes else ("--no-patch",)
        options = ("--no-walk=unsorted", "--stdin", *_PLAIN_OUTPUT, *what, _FORMAT)
        # The attributes make git name the definition around each hunk, by the language of the file.
        command = [*_git_command(root), "-c", f"core.attributesFile={attributes}", "log", *options]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as running:
            if running.stdin is None or running.stdout is None:
                return
            # Git reads the whole list before it writes anything, so this cannot block; it may exit before that.
            with suppress(BrokenPipeError):
                running.stdin.write("\n".join(hashes).encode())
                running.stdin.close()
            try:
                yield from running.stdout
            finally:
                running.kill()


def list_commits_of(
    root: Path, file: str, first: int | None = None, last: int | None = None, word: str = ""
) -> list[str]:
    """Return the hashes of the commits that changed a file or some of its lines, newest first.

    Lines are those of the file as it is now; with `word`, those that hold it now or held it once. Nothing is
    returned where git cannot tell.
    """
    if word:
        # An option `cache` is kept as `_cache`.
        line = f"(^|[^[:alnum:]]){re.escape(word)}([^[:alnum:]_]|$)"
        found = run_git(root, "log", "--format=%H", "--extended-regexp", f"-G{line}", "--", file)
    elif first is None or last is None:
        found = run_git(root, "log", "--format=%H", "--", file)
    else:
        first, last = _committed_lines(root, file, first, last)
        found = run_git(root, "log", "--format=%H", "--no-patch", f"-L{first},{last}:{file}")
    return found.stdout.decode("ascii", "replace").split() if found.returncode == 0 else []


def name_releases(root: Path, hashes: Sequence[str]) -> dict[str, str]:
    """Return the first tag that contains each commit, by its hash; commits that no tag contains are left out."""
    found = run_git(root, "name-rev", "--tags", "--name-only", *hashes) if hashes else None
    if found is None or found.returncode:
        return {}
    tags = [re.split(r"[~^]", line)[0] for line in found.stdout.decode("utf-8", "replace").splitlines()]
    return {hash: tag for hash, tag in zip(hashes, tags, strict=True) if tag != _NO_TAG}


def _committed_lines(root: Path, file: str, first: int, last: int) -> tuple[int, int]:
    """Return which lines of the last commit's version of a file some of its present lines were."""
    edits = run_git(root, "diff", "--unified=0", *_PLAIN_OUTPUT[:3], "HEAD", "--", file).stdout
    moved_first, moved_last = first, last
    for edit in _EDIT.finditer(edits):
        removed, added, start = int(edit[1] or 1), int(edit[3] or 1), int(edit[2])
        # Only edits above a line move it; one below the first line moves the end alone.
        moved_first += removed - added if start + added <= first else 0
        moved_last += removed - added if start <= last else 0
    return max(moved_first, 1), max(moved_last, moved_first, 1)


def run_git(root: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    """Run git in a folder, and return what it printed, whether it succeeded or not."""
    try:
        return subprocess.run([*_git_command(root), *arguments], capture_output=True, check=False)
    except FileNotFoundError as error:
        raise SourceError("git is not installed") from error


def _git_command(root: Path) -> list[str]:
    """Return the command for git in a folder, without what a user's configuration adds to its output."""
    # Git treats files above the threshold as binary; the code format does not read them either.
    settings = (
        "core.quotePath=false",
        "log.showSignature=false",
        f"core.bigFileThreshold={MAX_TEXT_CHARACTERS}",
    )
    options = [word for setting in settings for word in ("-c", setting)]
    return ["git", "--no-pager", "--no-optional-locks", "-C", str(root), *options]


def _first_line(stderr: bytes) -> str:
    """Return the first line of git's complaint."""
    line = stderr.decode("utf-8", "replace").strip().partition("\n")[0]
    return line.removeprefix("fatal: ")[:_MAX_ERROR_CHARACTERS] or "it gives no reason"


def read_log(lines: Iterable[bytes]) -> Iterator[Commit]:
    """Parse the commits of a log one at a time; one that breaks off before its message ends is left out."""
    diff: _DiffReader | None = None
    rows = iter(lines)
    for line in rows:
        if line.startswith(_COMMIT_START):
            if diff is not None:
                yield diff.commit
            commit = _read_header(line, rows)
            diff = _DiffReader(commit) if commit is not None else None
        elif diff is not None:
            diff.read_line(line)
    if diff is not None:
        yield diff.commit


def _read_header(line: bytes, rows: Iterator[bytes]) -> Commit | None:
    parts = [line]
    while not parts[-1].endswith(_MESSAGE_END):
        more = next(rows, None)
        if more is None:
            return None
        parts.append(more)
    fields = b"".join(parts)[len(_COMMIT_START) : -len(_MESSAGE_END)].split(b"\x00", 4)
    hash, parents, author, time, message = (clean(value.decode("utf-8", "replace")) for value in fields)
    # Newer versions of git write UTC as `Z`; what is stored must not depend on the version.
    time = f"{time[:-1]}+00:00" if time.endswith("Z") else time
    return Commit(hash, author.strip(), time, message.strip(), " " in parents)


def _describes_change(message: str) -> bool:
    """Return whether a commit's message says in words what changed."""
    subject, _, body = message.partition("\n")
    if any(not _TRAILER.fullmatch(line) for line in body.split("\n")):
        return True
    return len(_WORD.findall(_SUBJECT_FRAME.sub(" ", subject))) >= _MIN_SUBJECT_WORDS


class _DiffReader:
    """A reader of what follows a commit's message: files, their counts, then hunks in the order of the files."""

    def __init__(self, commit: Commit) -> None:
        self.commit = commit
        self._pending: deque[Change] = deque()
        self._current: Change | None = None
        self._is_in_hunk = False
        # How many more removed and added lines are kept, by the sign before them.
        kept = 0 if _describes_change(commit.message) else _MAX_KEPT_LINES
        self._lines_left = {b"-": kept, b"+": kept}

    def read_line(self, line: bytes) -> None:
        """Add the content of one line to the commit."""
        if line.startswith(b"diff --git "):
            self._current = self._pending.popleft() if self._pending else None
            self._is_in_hunk = False
        elif line.startswith(b"@@"):
            self._is_in_hunk = True
            self._add_name(_HUNK.match(line), is_header=True)
        elif line.startswith(b":"):
            self._add_file(line)
        elif self._current is None:
            # Of a binary file git counts no lines.
            if counts := _COUNTS.match(line):
                self.commit.insertions += int(counts[1])
                self.commit.deletions += int(counts[2])
        elif line.startswith((b"+", b"-")):
            self._add_name(_DEFINITION.match(line, 1), is_header=False)
            if self._is_in_hunk and self._lines_left[line[:1]]:
                self._add_line(line)

    def _add_line(self, line: bytes) -> None:
        text = clean(line[1:].decode("utf-8", "replace")).strip()
        # A record in JSON is data too, and the export of a memory may hold what has been forgotten since.
        if not _WORD.search(text) or _DATA.search(text) or text.startswith('{"'):
            return
        # Redacted before it is cut: of half a secret nobody could tell what it is.
        kept = f"{line[:1].decode()} {redact_source(text).text[:_MAX_LINE_CHARACTERS]}"
        if kept not in self.commit.lines:
            self._lines_left[line[:1]] -= 1
            self.commit.lines.append(kept)

    def _add_file(self, line: bytes) -> None:
        found = _RAW.match(line)
        if found is None:
            return
        status, first, second = found.groups()
        # Only a rename moves the other file; a copy leaves it where it is.
        change = Change(_unquote_path(second or first), _unquote_path(first) if status == b"R" else "")
        self.commit.changes.append(change)
        # A change of type, as from a file to a symbolic link, has two diffs: one deletes, one adds.
        self._pending.extend([change] * (2 if status == b"T" else 1))

    def _add_name(self, found: "re.Match[bytes] | None", is_header: bool) -> None:
        if found is None or self._current is None:
            return
        names = self._current.names
        if is_header:
            context = found.group(1)
            found = _DEFINITION.match(context) or _BEFORE_PARENTHESIS.search(context)
        if found is not None and len(names) < _MAX_NAMES_PER_FILE:
            name = found.group(1).decode("utf-8", "replace")
            if name not in names:
                names.append(name)


def _unquote_path(written: bytes) -> str:
    """Return a path that git writes in quotes and escaped if it holds quotes, tabs or line ends."""
    if written.startswith(b'"') and written.endswith(b'"'):
        written = _ESCAPE.sub(_unescape, written[1:-1])
    return clean(written.decode("utf-8", "replace"))


def _unescape(escape: "re.Match[bytes]") -> bytes:
    code = escape.group(1)
    return bytes([int(code, 8)]) if len(code) == 3 else _ESCAPED.get(code, code)
