"""Which file of a repository an import means."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import PurePosixPath
from typing import Final

from weft.frozen import dataclass
from weft.sources.code.languages import SUFFIXES

Segments = tuple[str, ...]

_SEPARATORS: Final = re.compile(r"::|[./\\]")
_SHELL: Final = re.compile(r"""^.*[)}"']/|^\$\w+/""")
_HERE: Final = frozenset({"crate", "self", "super", "@", "~"})
PACKAGE_FILES: Final = frozenset({"__init__", "index", "mod", "lib"})
_ROOTS: Final = frozenset({"", "src", "lib", "python", "app"})
_MOST_FILES: Final = 40


@dataclass(frozen=True, slots=True)
class Modules:
    """The files of a repository by what an import may call them: their path without suffix, or their folder."""

    by_name: dict[str, list[tuple[Segments, str]]] = field(default_factory=dict)
    by_folder: dict[str, list[tuple[Segments, str]]] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    """Every file by its path with and without suffix and, for the file of a folder, by the folder's."""

    @classmethod
    def of(cls, paths: Iterable[str]) -> "Modules":
        """The modules of some files, nearer to the root first."""
        made = cls()
        for path in sorted(paths, key=lambda path: (path.count("/"), path)):
            made.paths[path] = path
            for segments in _called(path):
                made.paths.setdefault("/".join(segments), path)
                made.by_name.setdefault(segments[-1], []).append((segments, path))
            folder = PurePosixPath(path).parent.parts
            if folder:
                made.by_folder.setdefault(folder[-1], []).append((folder, path))
        return made

    def find(self, module: str, importer: str, package: bool) -> tuple[str, ...]:
        """The files that `module`, as `importer` writes it, means; several where a folder is one package."""
        written = _SHELL.sub("./", module)
        beside = self._beside(written, importer)
        if beside:
            return (beside,)
        relative = written.startswith(".")
        wanted = tuple(part for part in _SEPARATORS.split(written) if part and part not in _HERE)
        if not wanted or (relative and "/" in written):
            return ()
        below = _below(written, importer) if relative else None
        named = self._named(wanted, importer, below)
        if named:
            return (named,)
        return self._in_folder(written, importer) if package else ()

    def _beside(self, written: str, importer: str) -> str | None:
        """The file at a path that is written relative to the importer's folder or to the root."""
        suffixed = PurePosixPath(written).suffix in SUFFIXES
        if "/" not in written and not suffixed:
            return None
        for folder in (PurePosixPath(importer).parent, PurePosixPath()):
            path = _normal(folder / written)
            # TypeScript writes `./x.js` for what is `x.ts` in the repository.
            found = self.paths.get(path) or (self.paths.get(path.rpartition(".")[0]) if suffixed else None)
            if found and found != importer:
                return found
        return None

    def _named(self, wanted: Segments, importer: str, below: Segments | None) -> str | None:
        """The file whose path ends in the wanted segments, nearest to the importer."""
        stem = PurePosixPath(wanted[-1]).stem
        found = []
        for segments, path in self.by_name.get(stem, ()):
            before = segments[: -len(wanted)]
            if segments[-len(wanted) :] != wanted or path == importer:
                continue
            if before == below or (below is None and (len(wanted) > 1 or _reaches(before, importer))):
                found.append((-_common(path, importer), len(path), path))
        return min(found)[2] if found else None

    def _in_folder(self, written: str, importer: str) -> tuple[str, ...]:
        """The files of the folder whose path the end of an import names, for languages where that is a package."""
        wanted = tuple(re.split(r"[/\\]|::|\.(?![^/]*/)", written))
        best: dict[Segments, list[str]] = {}
        for folder, path in self.by_folder.get(wanted[-1], ()):
            shared = _tail(folder, wanted)
            if shared >= 2 or (shared == len(folder) == 1 and len(wanted) > 1):
                best.setdefault(folder, []).append(path)
        if not best:
            return ()
        chosen = min(best, key=lambda folder: (-_tail(folder, wanted), len(folder), folder))
        suffix = PurePosixPath(importer).suffix
        return tuple(path for path in best[chosen] if path.endswith(suffix) and path != importer)[:_MOST_FILES]


def _called(path: str) -> Iterator[Segments]:
    """The paths by which a file can be imported: without its suffix and, for the file of a folder, the folder."""
    parts = PurePosixPath(path)
    segments = (*parts.parent.parts, parts.name.split(".", 1)[0])
    yield segments
    if segments[-1] in PACKAGE_FILES and len(segments) > 1:
        yield segments[:-1]


def _below(written: str, importer: str) -> Segments:
    """The folder that leading dots mean: one for the importer's own, each more for one above it."""
    up = len(written) - len(written.lstrip(".")) - 1
    folder = PurePosixPath(importer).parent.parts
    return folder[: len(folder) - up] if up else folder


def _reaches(before: Segments, importer: str) -> bool:
    """Whether a module of one word is where imports look: at a root of sources or above the importer."""
    folder = PurePosixPath(importer).parent.parts
    return before == folder[: len(before)] or (len(before) == 1 and before[0] in _ROOTS)


def _common(path: str, other: str) -> int:
    """How many folders two paths share from the root on."""
    shared = 0
    for mine, theirs in zip(path.split("/")[:-1], other.split("/")[:-1], strict=False):
        if mine != theirs:
            break
        shared += 1
    return shared


def _tail(folder: Segments, wanted: Segments) -> int:
    """How many segments two paths share from their ends."""
    shared = 0
    while shared < min(len(folder), len(wanted)) and folder[-1 - shared] == wanted[-1 - shared]:
        shared += 1
    return shared


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part not in (".", ".."):
            parts.append(part)
    return "/".join(parts)
