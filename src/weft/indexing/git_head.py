"""Read which branch and commit a folder has checked out, from git's own files and without running git."""

from pathlib import Path
from typing import Final

from msgspec import Struct

_REF: Final = "ref: "
_GIT_FOLDER: Final = "gitdir: "


class Head(Struct, frozen=True):
    """What is checked out: the branch (empty when the head is detached), the commit, and the shared git folder.

    All worktrees of a repository have the same `repository`. Outside of git everything is empty.
    """

    branch: str = ""
    commit: str = ""
    repository: str = ""

    @property
    def name(self) -> str:
        """The branch in words, or the commit of a detached head."""
        return f"branch {self.branch}" if self.branch else f"commit {self.commit[:10]} (detached)"


def read_head(root: Path) -> Head:
    """Return what a folder has checked out; nothing for a folder that is not the top of a working tree."""
    folder = _git_folder(root)
    if folder is None:
        return Head()
    head = _read(folder / "HEAD")
    shared = _shared_folder(folder)
    if not head.startswith(_REF):
        return Head("", head, str(shared))
    ref = head.removeprefix(_REF)
    commit = _read(folder / ref) or _read(shared / ref) or _packed_commit(shared, ref)
    return Head(ref.removeprefix("refs/heads/"), commit, str(shared))


def find_worktree(folder: Path) -> Path | None:
    """Return the top of the working tree that a folder lies in."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def _git_folder(root: Path) -> Path | None:
    place = root / ".git"
    if place.is_dir():
        return place.resolve()
    # Worktrees and submodules have a file that says where their folder is.
    written = _read(place)
    if not written.startswith(_GIT_FOLDER):
        return None
    return (root / written.removeprefix(_GIT_FOLDER)).resolve()


def _shared_folder(folder: Path) -> Path:
    written = _read(folder / "commondir")
    return (folder / written).resolve() if written else folder


def _packed_commit(shared: Path, ref: str) -> str:
    for line in _read(shared / "packed-refs").splitlines():
        commit, _, name = line.partition(" ")
        if name == ref:
            return commit
    return ""


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
