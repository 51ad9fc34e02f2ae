"""Find the file of a repository that an import means, from the import as it is written."""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct, field

from weft.sources.code.languages import SUFFIXES

Segments = tuple[str, ...]

# Between the parts of a module's name: Rust and PHP write `::` or `\\`, others dots or slashes.
_SEPARATORS: Final = re.compile(r"::|[./\\]")
# What stands before the path in `source "$(dirname "$0")/lib.sh"` and `. $HERE/lib.sh`.
_SHELL_PREFIX: Final = re.compile(r"""^.*[)}"']/|^\$\w+/""")
_ROOT_WORDS: Final = frozenset({"crate", "self", "super", "@", "~"})
PACKAGE_FILES: Final = frozenset({"__init__", "index", "mod", "lib"})
"""Stems of files that stand for their folder."""
_SOURCE_FOLDERS: Final = frozenset({"", "src", "lib", "python", "app"})
"""Folders from which imports of one word are looked up."""
_MAX_PACKAGE_FILES: Final = 40
"""Files of a folder that one import of a package links to; larger packages would link everything to everything."""


class Modules(Struct, frozen=True):
    """The files of a repository by the names that imports use: their path without suffix, or their folder."""

    by_name: dict[str, list[tuple[Segments, str]]] = field(default_factory=dict)
    by_folder: dict[str, list[tuple[Segments, str]]] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    """Every file by its path with and without suffix and, if it stands for its folder, by the folder's path."""

    @classmethod
    def of(cls, paths: Iterable[str]) -> "Modules":
        """Index the files, those nearer to the root first."""
        modules = cls()
        for path in sorted(paths, key=lambda path: (path.count("/"), path)):
            modules.paths[path] = path
            for segments in _import_names(path):
                modules.paths.setdefault("/".join(segments), path)
                modules.by_name.setdefault(segments[-1], []).append((segments, path))
            folder = PurePosixPath(path).parent.parts
            if folder:
                modules.by_folder.setdefault(folder[-1], []).append((folder, path))
        return modules

    def find(self, module: str, importer: str, package: bool) -> tuple[str, ...]:
        """Return the files that `module`, as `importer` writes it, means; several if a folder is one package."""
        written = _SHELL_PREFIX.sub("./", module)
        by_path = self._find_by_path(written, importer)
        if by_path:
            return (by_path,)
        is_relative = written.startswith(".")
        wanted = tuple(part for part in _SEPARATORS.split(written) if part and part not in _ROOT_WORDS)
        if not wanted or (is_relative and "/" in written):
            return ()
        folder = _relative_folder(written, importer) if is_relative else None
        by_name = self._find_by_name(wanted, importer, folder)
        if by_name:
            return (by_name,)
        return self._find_package(written, importer) if package else ()

    def _find_by_path(self, written: str, importer: str) -> str | None:
        """Return the file at a path that is relative to the importer's folder or to the root."""
        has_suffix = PurePosixPath(written).suffix in SUFFIXES
        if "/" not in written and not has_suffix:
            return None
        for folder in (PurePosixPath(importer).parent, PurePosixPath()):
            path = _normalise(folder / written)
            # TypeScript writes `./x.js` for what is `x.ts` in the repository.
            found = self.paths.get(path) or (self.paths.get(path.rpartition(".")[0]) if has_suffix else None)
            if found and found != importer:
                return found
        return None

    def _find_by_name(self, wanted: Segments, importer: str, folder: Segments | None) -> str | None:
        """Return the file whose path ends in the wanted segments, in `folder` if given, nearest the importer."""
        stem = PurePosixPath(wanted[-1]).stem
        found = []
        for segments, path in self.by_name.get(stem, ()):
            before = segments[: -len(wanted)]
            if segments[-len(wanted) :] != wanted or path == importer:
                continue
            if before == folder or (folder is None and (len(wanted) > 1 or _is_importable(before, importer))):
                found.append((-_shared_folders(path, importer), len(path), path))
        return min(found)[2] if found else None

    def _find_package(self, written: str, importer: str) -> tuple[str, ...]:
        """Return the files of the folder that the end of an import names, if folders are packages."""
        wanted = tuple(re.split(r"[/\\]|::|\.(?![^/]*/)", written))
        best: dict[Segments, list[str]] = {}
        for folder, path in self.by_folder.get(wanted[-1], ()):
            shared = _shared_tail(folder, wanted)
            # One segment in common is chance, unless the folder lies at the root.
            if shared >= 2 or (shared == len(folder) == 1 and len(wanted) > 1):
                best.setdefault(folder, []).append(path)
        if not best:
            return ()
        # The longest common end, then the folder nearest to the root; the name decides last, for a stable choice.
        chosen = min(best, key=lambda folder: (-_shared_tail(folder, wanted), len(folder), folder))
        suffix = PurePosixPath(importer).suffix
        return tuple(path for path in best[chosen] if path.endswith(suffix) and path != importer)[
            :_MAX_PACKAGE_FILES
        ]


def _import_names(path: str) -> Iterator[Segments]:
    """Iterate over the paths by which a file is imported: without suffix and, if it stands for it, its folder."""
    parts = PurePosixPath(path)
    segments = (*parts.parent.parts, parts.name.split(".", 1)[0])
    yield segments
    if segments[-1] in PACKAGE_FILES and len(segments) > 1:
        yield segments[:-1]


def _relative_folder(written: str, importer: str) -> Segments:
    """Return the folder that leading dots mean: one is the importer's own, each more is one above it."""
    up = len(written) - len(written.lstrip(".")) - 1
    folder = PurePosixPath(importer).parent.parts
    return folder[: len(folder) - up] if up else folder


def _is_importable(before: Segments, importer: str) -> bool:
    """Say whether imports of one word are looked up there: in a source folder or above the importer."""
    folder = PurePosixPath(importer).parent.parts
    return before == folder[: len(before)] or (len(before) == 1 and before[0] in _SOURCE_FOLDERS)


def _shared_folders(path: str, other: str) -> int:
    """Count the folders that two paths share, from the root on."""
    shared = 0
    for mine, theirs in zip(path.split("/")[:-1], other.split("/")[:-1], strict=False):
        if mine != theirs:
            break
        shared += 1
    return shared


def _shared_tail(folder: Segments, wanted: Segments) -> int:
    """Count the segments that two paths share, from the end on."""
    shared = 0
    while shared < min(len(folder), len(wanted)) and folder[-1 - shared] == wanted[-1 - shared]:
        shared += 1
    return shared


def _normalise(path: PurePosixPath) -> str:
    """Return the path without `.` and `..`; those that lead above the root are dropped."""
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part not in (".", ".."):
            parts.append(part)
    return "/".join(parts)
