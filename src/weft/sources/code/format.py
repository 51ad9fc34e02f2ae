"""Code files as a format: outlines are made of what changed, and names resolved among all of them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import orjson
import xxhash

from weft.frozen import dataclass
from weft.ports import Problem, Tell, Unit, untold
from weft.sources.code.languages import SUFFIXES, Language, language_of
from weft.sources.code.outline import Outline, packed, unpacked
from weft.sources.code.parsing import outline_of
from weft.sources.code.resolving import Repository
from weft.sources.code.screening import objection
from weft.sources.code.writing import contained, drawn, nodes_of
from weft.sources.files import MAX_TEXT, File, Naming, clean, decode, looks_binary, stamp_of
from weft.sources.memory import Memory

_OUTLINING: Final = "2"
"""Changes whenever the same file would give another outline or other nodes."""

_UNREADABLE: Final = "unreadable"
_PASSED_OVER: Final = "passed over"
_BROKEN: Final = "read with syntax errors"


@dataclass(frozen=True, slots=True)
class _Read:
    """A file as it was read: its text, or what speaks against it."""

    text: str = ""
    objection: str = ""
    problems: tuple[Problem, ...] = ()


class Code:
    """Code files of one source, one unit a file.

    A unit's stamp tells the state of its file and of all that its names mean, so that a file is written again
    when a definition it refers to comes, goes or moves.
    """

    suffixes = SUFFIXES

    def __init__(self, naming: Naming) -> None:
        self.naming = naming
        self._memory = Memory(naming.remembering("code"))
        self._files: dict[str, File] = {}
        self._stamps: dict[str, str] = {}
        self._repository: Repository | None = None
        self._digest = ""
        self._tell: Tell = untold
        self._remarks: Counter[str] = Counter()

    def takes(self, file: File) -> bool:
        """Every file of its suffixes."""
        return True

    def tell_to(self, tell: Tell) -> None:
        """Say from now on how many of the changed files are parsed."""
        self._tell = tell

    def remarks(self) -> Mapping[str, int]:
        """How many files were passed over, or read in part, by reason."""
        return dict(sorted(self._remarks.items()))

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """The (name, stamp) of every file that holds code which somebody wrote."""
        self._remarks.clear()
        self._repository = None
        self._files = {file.name: file for file in files}
        self._stamps = {name: f"{stamp_of(file.path)}-{_OUTLINING}" for name, file in self._files.items()}
        try:
            self._renew()
            known = self._memory.known()
        finally:
            self._memory.settle()
        faces = "".join(f"{name}\n{each.face}\n" for name, each in known.items())
        self._digest = xxhash.xxh3_64_hexdigest(faces.encode("utf-8", "replace"))
        self._remarks.update(each.remark for each in known.values() if each.remark)
        for name in self._files:
            if name not in known:
                yield name, _UNREADABLE
            elif known[name].mark != _PASSED_OVER:
                yield name, f"{known[name].stamp}-{known[name].mark}"

    def read(self, unit: str) -> Unit:
        """The file, its definitions and the parts between them, with all that they refer to."""
        file = self._files[unit]
        stamp = f"{stamp_of(file.path)}-{_OUTLINING}"
        read = _read(file)
        repository = self._resolved()
        outline = repository.outlines.get(unit)
        if outline is None or stamp != self._stamps[unit]:
            # It changed while the others were looked at: the next run resolves its names.
            outline = outline_of(read.text, _language(unit))
        if read.objection:
            return Unit(unit, stamp)
        nodes = nodes_of(unit, read.text, outline, self.naming)
        links = repository.links(unit) if unit in repository.outlines else ()
        edges = (*contained(unit, nodes, outline, self.naming), *drawn(links, self.naming))
        return Unit(unit, stamp, nodes, edges, read.problems)

    def let_go(self) -> None:
        """Forget the outlines of the repository."""
        self._repository = None
        self._memory.settle()

    def digest(self) -> str:
        """What changes whenever a definition in the files last listed comes, goes or gets another name."""
        return self._digest

    def symbols(self) -> dict[str, dict[str, str]]:
        """For each file the full names of its definitions by their last part, where only one ends so."""
        return {path: _by_last_part(outline) for path, outline in self._resolved().outlines.items()}

    def _renew(self) -> None:
        """Outline the files that changed, and mark again whoever may refer to them differently now."""
        before = self._memory.known()
        gone = [name for name in before if name not in self._stamps]
        changed = [
            name for name, stamp in self._stamps.items() if name not in before or before[name].stamp != stamp
        ]
        self._memory.forget(gone)
        faces = dict(self._outlined(changed))
        unmarked = [name for name, each in before.items() if not each.mark and name not in gone]
        if not (changed or gone or unmarked):
            return
        alike = not gone and all(name in before and before[name].face == face for name, face in faces.items())
        again = dict.fromkeys([*changed, *unmarked] if alike else self._stamps)
        self._memory.mark([(name, self._mark(name)) for name in again])

    def _outlined(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Each file with its face, once its outline is remembered."""
        for done, name in enumerate(names, 1):
            yield name, self._outline(name)
            self._tell(f"parsing {self.naming.source}", done, len(names))

    def _outline(self, name: str) -> str:
        """Remember a file's outline and return its face; one that vanished or cannot be read is forgotten."""
        try:
            read = _read(self._files[name])
        except OSError:
            self._memory.forget([name])
            return ""
        stamp = self._stamps[name]
        if read.objection:
            self._memory.keep(name, stamp, b"", remark=read.objection)
            return ""
        outline = outline_of(read.text, _language(name))
        face = _face(outline)
        self._memory.keep(name, stamp, packed(outline), face, _BROKEN if outline.broken else "")
        return face

    def _resolved(self) -> Repository:
        if self._repository is None:
            self._repository = Repository({name: unpacked(content) for name, content in self._memory.contents()})
        return self._repository

    def _mark(self, name: str) -> str:
        """The digest of what the names in a file mean."""
        repository = self._resolved()
        if name not in repository.outlines:
            return _PASSED_OVER
        return xxhash.xxh3_64_hexdigest(orjson.dumps(repository.links(name), default=tuple))


def _by_last_part(outline: Outline) -> dict[str, str]:
    named: dict[str, list[str]] = {}
    for symbol in outline.symbols:
        named.setdefault(symbol.name.rpartition(".")[2], []).append(symbol.name)
    return {last: names[0] for last, names in named.items() if len(names) == 1}


def _language(name: str) -> Language:
    language = language_of(name)
    assert language is not None, name  # only files of known suffixes are given to this format
    return language


def _read(file: File) -> _Read:
    if file.path.stat().st_size > MAX_TEXT:
        return _Read(objection=f"larger than {MAX_TEXT // 1_000_000} MB")
    content = file.path.read_bytes()
    if looks_binary(content):
        return _Read(objection="binary")
    text, problems = decode(content, file.name)
    cleaned = clean(text)
    against = "" if file.explicit else objection(file.name, cleaned)
    return _Read(objection=against) if against else _Read(cleaned, problems=problems)


def _face(outline: Outline) -> str:
    """What other files can see of one: its definitions, what these extend, and what it passes on."""
    told = [
        outline.language,
        [[each.name, [[r.on, r.name] for r in each.references if r.kind == "base"]] for each in outline.symbols],
        [[each.module, each.item, each.alias] for each in outline.imports],
    ]
    return xxhash.xxh3_64_hexdigest(orjson.dumps(told))
