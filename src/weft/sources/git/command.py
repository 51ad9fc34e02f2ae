"""Git as a program: what it is asked, and what it answers."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Final

from weft.errors import SourceError
from weft.sources.files import MAX_TEXT

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
