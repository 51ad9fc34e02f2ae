"""Git as a program: what it is asked, and what it answers."""

import subprocess
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Final

from weft.errors import SourceError

MARK: Final = b"\x01"
"""Begins a commit in the log; its fields are apart by a NUL, and END ends them."""
END: Final = b"\x02\n"

_FORMAT: Final = "--format=%x01%H%x00%P%x00%an%x00%aI%x00%B%x02"


def commits(root: Path, most: int) -> list[str]:
    """The hashes of the newest commits that lead to the one checked out, children first; none without commits."""
    if _run(root, "rev-parse", "--verify", "--quiet", "HEAD").returncode:
        return []
    listed = _run(root, "rev-list", "--topo-order", f"--max-count={most}", "HEAD")
    if listed.returncode:
        raise SourceError(f"git cannot list the commits of {root}: {_said(listed.stderr)}")
    return listed.stdout.decode("ascii").split()


def cut_off(root: Path) -> frozenset[str]:
    """The commits at which a shallow clone ends: what they changed cannot be known."""
    found = _run(root, "rev-parse", "--git-path", "shallow")
    try:
        listed = (root / found.stdout.decode().strip()).read_text("ascii")
    except (OSError, ValueError):
        return frozenset()
    return frozenset(listed.split())


def log(root: Path, hashes: Sequence[str]) -> Iterator[bytes]:
    """The lines of one log of the given commits: message, changed files with counts, and hunks without context."""
    with resources.as_file(resources.files("weft.sources.git") / "attributes") as attributes:
        options = ["--no-walk=unsorted", "--stdin", "--root", "--raw", "--numstat", "--patch", "--unified=0"]
        plain = ["--no-color", "--no-ext-diff", "--no-textconv", "--abbrev=40", "--find-renames", "--no-notes"]
        command = _command(root, f"core.attributesFile={attributes}", "log", *options, *plain, _FORMAT)
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as running:
            if running.stdin is None or running.stdout is None:
                return
            # Git reads the whole list before it says anything.
            running.stdin.write("\n".join(hashes).encode())
            running.stdin.close()
            try:
                yield from running.stdout
            finally:
                running.kill()


def _run(root: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(_command(root, "core.quotePath=false", *arguments), capture_output=True, check=False)
    except FileNotFoundError as error:
        raise SourceError("git is not installed, so the history of the repository cannot be read.") from error


def _command(root: Path, setting: str, *arguments: str) -> list[str]:
    plain = ["-c", "core.quotePath=false", "-c", "log.showSignature=false", "-c", setting]
    return ["git", "--no-pager", "--no-optional-locks", "-C", str(root), *plain, *arguments]


def _said(stderr: bytes) -> str:
    return " ".join(stderr.decode("utf-8", "replace").split())[:200] or "it gives no reason"
