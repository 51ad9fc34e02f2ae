"""Resolve the names that code refers to within a repository: imports, calls, uses, inheritance and tests.

`Modules` finds the file of a repository that an import means, from the import as it is written.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from msgspec import Struct, field

from weft.sources.code.languages import LANGUAGES, SUFFIXES
from weft.sources.code.outline import MODULE_SEPARATOR, Import, Outline, Reference

# How sure a resolved name is: certain in its own file, nearly so if imported by name, less if a known file defines
# a member of that name, and a guess if the name is merely unusual. The confidence scales the weight of the edge.
_SAME_FILE: Final = 1.0
_IMPORTED: Final = 0.9
_KNOWN_FILE: Final = 0.7
_NAME_ONLY: Final = 0.5

_SELF_NAMES: Final = frozenset({"self", "this", "cls", "super", "$this", "Self", "static", "parent", "base"})
_PACKAGE_LANGUAGES: Final = frozenset(language.name for language in LANGUAGES if language.package)
_LANGUAGE_FAMILIES: Final = {
    **dict.fromkeys(("javascript", "svelte", "tsx", "vue"), "typescript"),
    "c": "cpp",
}
"""Languages whose files import each other count as one."""
_EDGE_TYPES: Final = {"base": "inherits", "call": "calls", "use": "references"}
_MAX_HOPS: Final = 4
"""How many files that pass a name on, or base classes, are followed; it also ends circles."""
_MAX_CANDIDATES: Final = 3
"""Definitions of the same name that a guess is spread over; with more of them it is no guess any more."""
# Names of several words, such as `read_file` or `readFile`: these are rarely given twice by chance.
_COMPOUND_NAME: Final = re.compile(r"[a-z0-9]_[a-z0-9]|[a-z0-9][A-Z]")
RUST_TESTS: Final = "tests"
"""The module in which Rust keeps the tests of a file, in that file."""
_TEST_PATH: Final = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?)/|(?:^|/)(?:test_|conftest)[^/]*$"
    r"|(?:_test|_spec|\.test|\.spec|Tests?)\.\w+$"
)

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


class Target(NamedTuple):
    """A definition: the path of its file and its name there (empty: the file itself)."""

    path: str
    name: str


class Link(NamedTuple):
    """A resolved reference from one definition to another, and the confidence in it."""

    source: Target
    target: Target
    type: str
    confidence: float
    line: int


class _ImportedNames(Struct, frozen=True):
    """The modules and names that the imports of a file make known in it, by what they are called there."""

    modules: Mapping[str, tuple[str, ...]]
    names: Mapping[str, tuple[tuple[str, ...], str]]
    star_files: tuple[str, ...]
    """Files of which all names are imported."""
    lines: Mapping[str, int]
    """Every imported file, with the line of the import."""


class Repository:
    """The outlines of all files of a repository, among which names are resolved."""

    def __init__(self, outlines: Mapping[str, Outline]) -> None:
        self.outlines = outlines
        self._modules = Modules.of(outlines)
        self._defined = {
            path: {symbol.name: symbol for symbol in outline.symbols} for path, outline in outlines.items()
        }
        self._owners: dict[tuple[str, str], list[Target]] = {}
        self._folders: dict[tuple[str, str], list[str]] = {}
        self._imports_by_file: dict[str, _ImportedNames] = {}
        self._near_by_file: dict[str, frozenset[str]] = {}
        # In the order of paths, because of several possible targets the first is taken.
        for path in sorted(outlines):
            family = self._family(path)
            self._folders.setdefault((path.rpartition("/")[0], family), []).append(path)
            for name in self._defined[path]:
                self._owners.setdefault((family, name.rpartition(".")[2]), []).append(Target(path, name))

    def links(self, path: str) -> tuple[Link, ...]:
        """Return what a file and its definitions refer to, each target once a type with its highest confidence."""
        outline = self.outlines[path]
        found: dict[tuple[Target, Target, str], Link] = {}
        for link in (*self._import_links(path), *self._reference_links(path, outline)):
            known = found.get((link.source, link.target, link.type))
            if link.source != link.target and (known is None or known.confidence < link.confidence):
                found[link.source, link.target, link.type] = link
        return tuple(found.values())

    def _import_links(self, path: str) -> Iterator[Link]:
        for target, line in self._imported_names(path).lines.items():
            yield Link(Target(path, ""), Target(target, ""), "imports", _SAME_FILE, line)

    def _reference_links(self, path: str, outline: Outline) -> Iterator[Link]:
        is_test_file = is_test(path)
        own = [("", outline.references), *((symbol.name, symbol.references) for symbol in outline.symbols)]
        for name, references in own:
            is_test_code = is_test_file or name.startswith(f"{RUST_TESTS}.")
            for reference in references:
                for target, confidence in self._resolve(path, name, reference):
                    is_tested = is_test_code and not is_test(target.path) and reference.kind != "base"
                    type = "tests" if is_tested else _EDGE_TYPES[reference.kind]
                    yield Link(Target(path, name), target, type, confidence, reference.line)

    def _resolve(self, path: str, within: str, reference: Reference) -> list[tuple[Target, float]]:
        """Return the definitions that a reference may mean, each with its confidence."""
        on, name = reference.on, reference.name
        if on.split(".")[0] in _SELF_NAMES:
            own = self._find_member(self._enclosing_class(path, within), name) if "." not in on else None
            return [(own, _SAME_FILE)] if own else self._guess_by_name(path, reference)
        # Certain ways come first: a guess is made only where none of them finds anything.
        direct = self._resolve_qualified(path, on, name) if on else self._resolve_bare(path, within, name)
        return [direct] if direct else self._guess_by_name(path, reference)

    def _resolve_bare(self, path: str, within: str, name: str) -> tuple[Target, float] | None:
        """Resolve a bare name: to a definition of this file, of what it imports, or of its package."""
        if name in self._defined[path]:
            return Target(path, name), _SAME_FILE
        outer = within
        while outer:
            outer = outer.rpartition(".")[0]
            if outer and f"{outer}.{name}" in self._defined[path]:
                return Target(path, f"{outer}.{name}"), _SAME_FILE
        known = self._resolve_imported(path, name)
        if known:
            return known, _IMPORTED
        if self.outlines[path].language in _PACKAGE_LANGUAGES:
            for sibling in self._folders[path.rpartition("/")[0], self._family(path)]:
                if name in self._defined[sibling]:
                    return Target(sibling, name), _KNOWN_FILE
        return None

    def _resolve_qualified(self, path: str, on: str, name: str) -> tuple[Target, float] | None:
        """Resolve `on.name` where `on` is a module or a class that is known here."""
        for module in self._imported_names(path).modules.get(on, ()):
            found = self._resolve_imported(module, name) or self._defined_in(module, name)
            if found:
                return found, _IMPORTED
        holder = self._resolve_bare(path, "", on)
        member = self._find_member(holder[0], name) if holder else None
        return (member, holder[1]) if member and holder else None

    def _guess_by_name(self, path: str, reference: Reference) -> list[tuple[Target, float]]:
        """Guess the target of a call: a definition in a file this one knows, else any of the same unusual name."""
        if reference.kind != "call":
            return []
        owners = self._owners.get((self._family(path), reference.name), [])
        if reference.on:
            # What is called on something is a member; a plain function of that name is not meant.
            owners = [owner for owner in owners if "." in owner.name]
        near = self._near_files(path)
        close = [owner for owner in owners if owner.path in near]
        if close:
            return [(owner, _KNOWN_FILE / len(close)) for owner in close] if len(close) <= _MAX_CANDIDATES else []
        is_unusual = _COMPOUND_NAME.search(reference.name) is not None and len(owners) <= _MAX_CANDIDATES
        return [(owner, _NAME_ONLY / len(owners)) for owner in owners] if is_unusual else []

    def _near_files(self, path: str) -> frozenset[str]:
        """Return the file, those it imports, and those that define what it imports by name."""
        if path not in self._near_by_file:
            bound = self._imported_names(path)
            passed_on = (self._resolve_imported(path, name) for name in bound.names)
            defining = (target.path for target in passed_on if target)
            self._near_by_file[path] = frozenset({path, *bound.lines, *defining})
        return self._near_by_file[path]

    def _resolve_imported(self, path: str, name: str, depth: int = 0) -> Target | None:
        """Resolve a name that a file imports, through files that import it in turn and pass it on."""
        bound = self._imported_names(path)
        paths, item = bound.names.get(name, (bound.star_files, name))
        for other in paths if depth < _MAX_HOPS else ():
            found = self._defined_in(other, item) or (
                self._resolve_imported(other, item, depth + 1) if other != path else None
            )
            if found:
                return found
        return None

    def _defined_in(self, path: str, name: str) -> Target | None:
        return Target(path, name) if name in self._defined[path] else None

    def _enclosing_class(self, path: str, within: str) -> Target | None:
        outer = within.rpartition(".")[0]
        return Target(path, outer) if outer else None

    def _find_member(self, holder: Target | None, name: str, depth: int = 0) -> Target | None:
        """Return the member of a class by its name, its own or an inherited one."""
        if holder is None or depth > _MAX_HOPS:
            return None
        if f"{holder.name}.{name}" in self._defined[holder.path]:
            return Target(holder.path, f"{holder.name}.{name}")
        symbol = self._defined[holder.path].get(holder.name)
        for reference in symbol.references if symbol else ():
            if reference.kind == "base":
                direct = (
                    self._resolve_qualified(holder.path, reference.on, reference.name)
                    if reference.on
                    else self._resolve_bare(holder.path, "", reference.name)
                )
                found = self._find_member(direct[0], name, depth + 1) if direct and direct[0] != holder else None
                if found:
                    return found
        return None

    def _imported_names(self, path: str) -> _ImportedNames:
        if path not in self._imports_by_file:
            self._imports_by_file[path] = self._collect_imports(path)
        return self._imports_by_file[path]

    def _collect_imports(self, path: str) -> _ImportedNames:
        modules: dict[str, tuple[str, ...]] = {}
        names: dict[str, tuple[tuple[str, ...], str]] = {}
        star_files: list[str] = []
        lines: dict[str, int] = {}
        for imported in self.outlines[path].imports:
            is_module, files = self._find_modules(path, imported)
            for file in files:
                lines.setdefault(file, imported.line)
            if imported.item == "*" or not files:
                star_files += files
            elif is_module or not imported.item:
                modules[imported.alias or imported.item or imported.module] = files
                last = MODULE_SEPARATOR.split(imported.module)[-1]
                modules.setdefault(last, files)
                # `use crate::shelf` or `import Shelf` may bring in the main definition of a module by its name.
                names.setdefault(imported.alias or imported.item or last, (files, imported.item or last))
            else:
                names[imported.alias or imported.item] = (files, imported.item)
        return _ImportedNames(modules, names, tuple(dict.fromkeys(star_files)), lines)

    def _find_modules(self, path: str, imported: Import) -> tuple[bool, tuple[str, ...]]:
        """Return whether an import brings in a whole module, and its files."""
        is_package = self.outlines[path].language in _PACKAGE_LANGUAGES
        if imported.item and imported.item != "*":
            # `from a import b` means the module `a.b` if there is one.
            dot = "" if imported.module.endswith(".") else "."
            files = self._modules.find(f"{imported.module}{dot}{imported.item}", path, False)
            if files:
                return True, files
        return False, self._modules.find(imported.module, path, is_package)

    def _family(self, path: str) -> str:
        language = self.outlines[path].language
        return _LANGUAGE_FAMILIES.get(language, language)


def is_test(path: str) -> bool:
    """Return whether a file holds tests, by its path."""
    return _TEST_PATH.search(path) is not None


# --- modules -----------------------------------------------------------------------------------------------


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
    """Return whether imports of one word are looked up there: in a source folder or above the importer."""
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
