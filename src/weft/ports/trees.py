"""The state of a folder of files when it was read: what a source lists, and what is compared with it later."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

import xxhash
from msgspec import Struct, field

from weft.ports.sources import Unit

FileStamp = tuple[int, int]
"""Time of the last change in nanoseconds, and size in bytes."""

MISSING: Final[FileStamp] = (-1, -1)
"""The stamp of a file that is not there or may not be looked at; no file has it."""
_OWN_NAMES: Final = frozenset({".git", ".weft", ".DS_Store"})
"""Entries of folders that are made beside the files and are never read as such."""


class Tree(Struct):
    """Sizes and times of files by name, of folders (the name ends in `/`, the root's is empty) and ignore files.

    A folder's stamp is its time and a digest of the names in it, so that a file that came or went shows in it.
    """

    files: dict[str, FileStamp] = field(default_factory=dict)
    folders: dict[str, tuple[int, str]] = field(default_factory=dict)
    rules: dict[str, FileStamp] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    """Files that no format takes: nothing of them is stored."""


@runtime_checkable
class HasTree(Protocol):
    """A source that reads the files of one folder, of which the state can be compared later."""

    root: Path

    def tree(self) -> Tree:
        """Return the state of the files as they were listed last."""
        ...

    def reread(self, names: Sequence[str], changed: Sequence[str]) -> Iterator[Unit]:
        """Iterate over the units of changed files, given the names of all files, as far as that takes little time.

        Nothing that the source keeps for its next listing is changed by it.
        """
        ...


def stat_file(path: str | Path) -> FileStamp:
    """Return the stamp of a file as it is now."""
    try:
        status = os.stat(path)  # noqa: PTH116  (a Path for each of thousands of files takes longer)
    except (OSError, ValueError):
        return MISSING
    return status.st_mtime_ns, status.st_size


def folder_stamp(status: os.stat_result, names: Iterable[str]) -> tuple[int, str]:
    """Return the stamp of a folder of these entries."""
    listed = "\0".join(sorted(name for name in names if name not in _OWN_NAMES))
    return status.st_mtime_ns, xxhash.xxh3_64_hexdigest(listed.encode("utf-8", "surrogateescape"))
