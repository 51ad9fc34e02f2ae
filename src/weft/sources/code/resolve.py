"""Names resolved within a repository: who imports, calls, uses, extends and tests whom."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from weft.sources.code.languages import LANGUAGES
from weft.sources.code.modules import Modules
from weft.sources.code.outline import Import, Outline, Reference, Symbol

SAME_FILE: Final = 1.0
IMPORTED: Final = 0.9
NEARBY: Final = 0.7
BY_NAME: Final = 0.5

_SELVES: Final = frozenset({"self", "this", "cls", "super", "$this", "Self", "static", "parent", "base"})
_PACKAGES: Final = frozenset(language.name for language in LANGUAGES if language.package)
_FAMILIES: Final = {"tsx": "typescript", "javascript": "typescript", "c": "cpp"}
_TYPES: Final = {"base": "inherits", "call": "calls", "use": "references"}
_DEEPEST: Final = 4
_MOST_OWNERS: Final = 3
_COMPOUND: Final = re.compile(r"[a-z0-9]_[a-z0-9]|[a-z0-9][A-Z]")
_TEST_PATH: Final = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?)/|(?:^|/)(?:test_|conftest)[^/]*$"
    r"|(?:_test|_spec|\.test|\.spec|Tests?)\.\w+$"
)


class Target(NamedTuple):
    """A definition: the path of its file and its name there (empty: the file itself)."""

    path: str
    name: str


class Link(NamedTuple):
    """A resolved reference from one definition to another, and how sure it is."""

    source: Target
    target: Target
    type: str
    confidence: float
    line: int


@dataclass(frozen=True, slots=True)
class _Bound:
    """What the imports of a file make known in it: modules and names by what they are called there."""

    modules: Mapping[str, tuple[str, ...]]
    names: Mapping[str, tuple[tuple[str, ...], str]]
    open: tuple[str, ...]
    """Files all of whose names are known."""
    lines: Mapping[str, int]
    """Every file that is imported, with the line that does it."""


@dataclass(slots=True)
class Repository:
    """The outlines of all files, and what their names mean to each other."""

    outlines: Mapping[str, Outline]
    _modules: Modules = field(init=False)
    _defined: dict[str, dict[str, Symbol]] = field(init=False)
    _owners: dict[tuple[str, str], list[Target]] = field(init=False)
    _folders: dict[tuple[str, str], list[str]] = field(init=False)
    _bindings: dict[str, _Bound] = field(default_factory=dict)
    _nearby: dict[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._modules = Modules.of(self.outlines)
        self._defined = {path: {each.name: each for each in of.symbols} for path, of in self.outlines.items()}
        self._owners, self._folders = {}, {}
        for path in sorted(self.outlines):
            family = self._family(path)
            self._folders.setdefault((path.rpartition("/")[0], family), []).append(path)
            for name in self._defined[path]:
                self._owners.setdefault((family, name.rpartition(".")[2]), []).append(Target(path, name))

    def links(self, path: str) -> tuple[Link, ...]:
        """What a file and the definitions in it refer to elsewhere, each target once a type, surest first seen."""
        outline = self.outlines[path]
        found: dict[tuple[Target, Target, str], Link] = {}
        for made in (*self._imports(path), *self._references(path, outline)):
            known = found.get((made.source, made.target, made.type))
            if made.source != made.target and (known is None or known.confidence < made.confidence):
                found[made.source, made.target, made.type] = made
        return tuple(found.values())

    def _imports(self, path: str) -> Iterator[Link]:
        for target, line in self._bound(path).lines.items():
            yield Link(Target(path, ""), Target(target, ""), "imports", SAME_FILE, line)

    def _references(self, path: str, outline: Outline) -> Iterator[Link]:
        testing = is_test(path)
        for name, references in (
            ("", outline.references),
            *((each.name, each.references) for each in outline.symbols),
        ):
            for reference in references:
                for target, sure in self._meant(path, name, reference):
                    tests = (testing or name.startswith("tests.")) and not is_test(target.path)
                    type = "tests" if tests and reference.kind != "base" else _TYPES[reference.kind]
                    yield Link(Target(path, name), target, type, sure, reference.line)

    def _meant(self, path: str, within: str, reference: Reference) -> list[tuple[Target, float]]:
        """The definitions that a reference means, with how sure each is."""
        on, name = reference.on, reference.name
        if on.split(".")[0] in _SELVES:
            own = self._member(self._class_around(path, within), name) if "." not in on else None
            return [(own, SAME_FILE)] if own else self._somewhere(path, reference)
        direct = self._qualified(path, on, name) if on else self._plain(path, within, name)
        return [direct] if direct else self._somewhere(path, reference)

    def _plain(self, path: str, within: str, name: str) -> tuple[Target, float] | None:
        """What a bare name means: something of this file, of what it imports, or of its package."""
        if name in self._defined[path]:
            return Target(path, name), SAME_FILE
        outer = within
        while outer:
            outer = outer.rpartition(".")[0]
            if outer and f"{outer}.{name}" in self._defined[path]:
                return Target(path, f"{outer}.{name}"), SAME_FILE
        known = self._known(path, name)
        if known:
            return known, IMPORTED
        if self.outlines[path].language in _PACKAGES:
            for beside in self._folders[path.rpartition("/")[0], self._family(path)]:
                if name in self._defined[beside]:
                    return Target(beside, name), NEARBY
        return None

    def _qualified(self, path: str, on: str, name: str) -> tuple[Target, float] | None:
        """What `on.name` means where `on` is a module or a class that is known here."""
        for module in self._bound(path).modules.get(on, ()):
            found = self._known(module, name) or self._exported(module, name)
            if found:
                return found, IMPORTED
        holder = self._plain(path, "", on)
        member = self._member(holder[0], name) if holder else None
        return (member, holder[1]) if member and holder else None

    def _somewhere(self, path: str, reference: Reference) -> list[tuple[Target, float]]:
        """Definitions of that name in files this one knows, else the only ones there are of a telling name."""
        if reference.kind != "call":
            return []
        owners = self._owners.get((self._family(path), reference.name), [])
        if reference.on:
            owners = [owner for owner in owners if "." in owner.name]
        near = self._near(path)
        close = [owner for owner in owners if owner.path in near]
        if close:
            return [(owner, NEARBY / len(close)) for owner in close] if len(close) <= _MOST_OWNERS else []
        telling = _COMPOUND.search(reference.name) is not None and len(owners) <= _MOST_OWNERS
        return [(owner, BY_NAME / len(owners)) for owner in owners] if telling else []

    def _near(self, path: str) -> frozenset[str]:
        """The file, those it imports, and those that define what it imports by name."""
        if path not in self._nearby:
            bound = self._bound(path)
            passed_on = (self._known(path, name) for name in bound.names)
            defining = (target.path for target in passed_on if target)
            self._nearby[path] = frozenset({path, *bound.lines, *defining})
        return self._nearby[path]

    def _known(self, path: str, name: str, depth: int = 0) -> Target | None:
        """What a name that a file has from its imports means, followed through files that pass it on."""
        bound = self._bound(path)
        paths, item = bound.names.get(name, (bound.open, name))
        for other in paths if depth < _DEEPEST else ():
            found = self._exported(other, item) or (self._known(other, item, depth + 1) if other != path else None)
            if found:
                return found
        return None

    def _exported(self, path: str, name: str) -> Target | None:
        return Target(path, name) if name in self._defined[path] else None

    def _class_around(self, path: str, within: str) -> Target | None:
        outer = within.rpartition(".")[0]
        return Target(path, outer) if outer else None

    def _member(self, holder: Target | None, name: str, depth: int = 0) -> Target | None:
        """The member of a class by its name, its own or inherited."""
        if holder is None or depth > _DEEPEST:
            return None
        if f"{holder.name}.{name}" in self._defined[holder.path]:
            return Target(holder.path, f"{holder.name}.{name}")
        symbol = self._defined[holder.path].get(holder.name)
        for reference in symbol.references if symbol else ():
            if reference.kind == "base":
                direct = (
                    self._qualified(holder.path, reference.on, reference.name)
                    if reference.on
                    else self._plain(holder.path, "", reference.name)
                )
                found = self._member(direct[0], name, depth + 1) if direct and direct[0] != holder else None
                if found:
                    return found
        return None

    def _bound(self, path: str) -> _Bound:
        if path not in self._bindings:
            self._bindings[path] = self._bind(path)
        return self._bindings[path]

    def _bind(self, path: str) -> _Bound:
        modules: dict[str, tuple[str, ...]] = {}
        names: dict[str, tuple[tuple[str, ...], str]] = {}
        everything: list[str] = []
        lines: dict[str, int] = {}
        for each in self.outlines[path].imports:
            whole, files = self._imported(path, each)
            for file in files:
                lines.setdefault(file, each.line)
            if each.item == "*" or not files:
                everything += files
            elif whole or not each.item:
                modules[each.alias or each.item or each.module] = files
                last = re.split(r"[./\\:]", each.module)[-1]
                modules.setdefault(last, files)
                names.setdefault(each.alias or each.item or last, (files, each.item or last))
            else:
                names[each.alias or each.item] = (files, each.item)
        return _Bound(modules, names, tuple(dict.fromkeys(everything)), lines)

    def _imported(self, path: str, each: Import) -> tuple[bool, tuple[str, ...]]:
        """Whether an import brings in a whole module, and its files."""
        package = self.outlines[path].language in _PACKAGES
        if each.item and each.item != "*":
            joint = "" if each.module.endswith(".") else "."
            inner = self._modules.find(f"{each.module}{joint}{each.item}", path, False)
            if inner:
                return True, inner
        return False, self._modules.find(each.module, path, package)

    def _family(self, path: str) -> str:
        language = self.outlines[path].language
        return _FAMILIES.get(language, language)


def is_test(path: str) -> bool:
    """Whether a file holds tests, as its path tells."""
    return _TEST_PATH.search(path) is not None
