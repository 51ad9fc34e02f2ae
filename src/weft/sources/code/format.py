"""Read the code files of a source, parsing only those that changed, and pass over generated ones."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import orjson
import xxhash
from msgspec import Struct

from weft.ports import Problem, ReportProgress, Unit, ignore_progress
from weft.sources.code.languages import (
    SUFFIXES,
    Language,
    find_language,
    find_script_language,
    grammar_command,
    has_grammar,
)
from weft.sources.code.nodes import containment_edges, file_nodes, link_edges
from weft.sources.code.outline import Outline, follow_aliases, list_changed_names, pack, unpack
from weft.sources.code.parse import parse_outline
from weft.sources.code.resolve import Repository
from weft.sources.derived_cache import DerivedCache
from weft.sources.files import (
    BINARY,
    MAX_TEXT_CHARACTERS,
    UNREADABLE,
    SourceSettings,
    clean,
    decode,
    exclusion_reason,
    file_stamp,
    looks_binary,
)
from weft.sources.walk_files import File
from weft.text.redact_source import redact_source

_PARSER_VERSION: Final = "6"
"""To be changed whenever the same file would give another outline or other nodes; all are then parsed anew."""
_PASSED_OVER: Final = "passed over"
"""The links state of a file that gets no unit."""
_BROKEN: Final = "read with syntax errors"
_WITHOUT_GRAMMAR: Final = "-text"
_MAX_CHANGED_NAMES: Final = 20
"""Names that are looked for in the outlines of all files; with more, most files have one of them."""
_MAX_NAMED_FILES: Final = 3
"""Files that a remark names: enough to look into, and a line still."""


class _FileContent(Struct, frozen=True):
    """A file as it was read: its text, or the reason why it is passed over."""

    text: str = ""
    exclusion: str = ""
    problems: tuple[Problem, ...] = ()
    redacted: int = 0


class Code:
    """The code files of one source, one unit a file.

    A unit's stamp holds the state of its file and of everything its names resolve to, so that a file is stored
    again when a definition it refers to is added, removed or moved.
    """

    suffixes = SUFFIXES | {""}

    def __init__(self, settings: SourceSettings) -> None:
        self.settings = settings
        self._cache = DerivedCache(settings.cache_file("code"))
        self._files: dict[str, File] = {}
        self._stamps: dict[str, str] = {}
        self._repository: Repository | None = None
        self._complete: frozenset[str] = frozenset()
        """The files of which the repository knows what they refer to; of the others only what they define."""
        self._interfaces: dict[str, str] = {}
        self._languages: dict[str, Language] = {}
        self._report: ReportProgress = ignore_progress
        self._remarks: dict[str, list[str]] = {}
        self._skipped: dict[str, str] = {}

    def takes(self, file: File) -> bool:
        """Take every file with one of the suffixes, and a script whose first line names its language."""
        language = find_language(file.name) or find_script_language(file.path)
        if language is not None:
            self._languages[file.name] = language
        return language is not None

    def report_progress_to(self, report: ReportProgress) -> None:
        """Report to `report` from now on how many of the changed files are parsed."""
        self._report = report

    def count_skipped(self) -> Mapping[str, int]:
        """Count the files that were read in part, by reason, which names the first of them."""
        return {f"{remark} ({_name_some(names)})": len(names) for remark, names in sorted(self._remarks.items())}

    def list_skipped(self) -> Mapping[str, str]:
        """Return why files were passed over when the units were last listed."""
        return self._skipped

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """List the (name, stamp) of every file that is not passed over."""
        self._remarks.clear()
        self._repository = None
        self._files = {file.name: file for file in files}
        self._stamps = {name: self._stamp(file) for name, file in self._files.items()}
        try:
            self._update_cache()
            entries = self._cache.entries()
        finally:
            self._cache.close()
        # Entries come by name, whatever the order in which files were found.
        self._interfaces = {name: entry.interface for name, entry in entries.items()}
        skipped = {name for name, entry in entries.items() if entry.links_state == _PASSED_OVER}
        self._skipped = {name: entries[name].remark for name in sorted(skipped)}
        for name, entry in entries.items():
            if entry.remark and name not in skipped:
                self._remarks.setdefault(entry.remark, []).append(name)
        for name in self._files:
            if name not in entries:
                yield name, UNREADABLE
            # A file that is passed over gets no unit, and what was stored of it before is removed.
            elif name not in skipped:
                yield name, f"{entries[name].stamp}-{entries[name].links_state}"

    def read(self, unit: str) -> Unit:
        """Read a file, its definitions and the parts between them, with everything they refer to."""
        file = self._files[unit]
        # The stamp is taken before the content: a file that changes in between is read again the next time.
        stamp = self._stamp(file)
        content = _read_file(file)
        repository = self._resolver([unit])
        outline = repository.outlines.get(unit)
        if outline is None or stamp != self._stamps[unit]:
            # The file changed since the units were listed: the next run resolves its names.
            outline = parse_outline(content.text, self._languages[unit])
        if content.exclusion:
            return Unit(unit, stamp)
        nodes = file_nodes(unit, content.text, outline, self.settings)
        links = repository.links(unit) if unit in repository.outlines else ()
        edges = (*containment_edges(unit, nodes, outline, self.settings), *link_edges(links, self.settings))
        return Unit(unit, stamp, nodes, edges, content.problems, redacted=content.redacted)

    def reread(self, files: Sequence[File], changed: Sequence[File]) -> Iterator[Unit]:
        """Iterate over changed files, their names resolved among the cached outlines of the others."""
        fresh: dict[str, tuple[str, _FileContent, Outline]] = {}
        for file in changed:
            # Before the content, as in `read`: a file that changes meanwhile counts as changed the next time.
            stamp = file_stamp(file.path)
            content = _read_file(file)
            fresh[file.name] = stamp, content, parse_outline(content.text, self._languages[file.name])
        names = {file.name for file in files} - fresh.keys()
        outlines = {
            name: unpack(content, interface_only=True) for name, content in self._cache.contents() if name in names
        }
        self._cache.close()
        outlines |= {name: outline for name, (_, content, outline) in fresh.items() if not content.exclusion}
        repository = Repository(outlines)
        for name, (stamp, content, outline) in fresh.items():
            if content.exclusion:
                yield Unit(name, stamp)
                continue
            nodes = file_nodes(name, content.text, outline, self.settings)
            edges = (
                *containment_edges(name, nodes, outline, self.settings),
                *link_edges(repository.links(name), self.settings),
            )
            yield Unit(name, stamp, nodes, edges, content.problems, redacted=content.redacted)

    def release_memory(self) -> None:
        """Release the memory of the outlines; they are read from the cache again when needed."""
        self._repository = None
        self._cache.close()

    def digests(self) -> Mapping[str, str]:
        """Return for each listed file a digest that changes whenever a definition in it changes its name."""
        return self._interfaces

    def symbols(self, path: str) -> dict[str, str]:
        """Return the full names of the definitions in a file by their last part, where that is unique."""
        if self._repository is not None:
            outline = self._repository.outlines.get(path)
            return _names_by_last_part(outline) if outline is not None else {}
        _, content = self._cache.entry(path) or ("", b"")
        return _names_by_last_part(unpack(content, interface_only=True)) if content else {}

    def _stamp(self, file: File) -> str:
        """Return the state of a file and of the parser; it changes when a missing grammar is installed."""
        as_text = "" if has_grammar(self._languages[file.name]) else _WITHOUT_GRAMMAR
        return f"{file_stamp(file.path)}-{_PARSER_VERSION}{as_text}"

    def _update_cache(self) -> None:
        """Parse the files that changed, and resolve again the names of those whose links may have changed."""
        before = self._cache.entries()
        gone = [name for name in before if name not in self._stamps]
        changed = [
            name for name, stamp in self._stamps.items() if name not in before or before[name].stamp != stamp
        ]
        # An earlier run may have been interrupted between parsing and resolving.
        unresolved = [name for name, entry in before.items() if not entry.links_state and name not in gone]
        if not (changed or gone or unresolved):
            return
        parsed_before = {name: self._cache.entry(name) for name in changed}
        self._cache.delete(gone)
        interfaces = dict(self._parse_files(changed))
        # Other files than before may change what any import means.
        names: frozenset[str] | None = None
        if not gone and all(name in before for name in changed):
            differing = [name for name, interface in interfaces.items() if before[name].interface != interface]
            names = self._changed_names({name: parsed_before[name] for name in differing})
        outdated = [*dict.fromkeys([*changed, *unresolved, *self._list_files_with(names)])]
        self._resolver(outdated)
        self._cache.set_links_states([(name, self._links_state(name)) for name in outdated])

    def _changed_names(self, before: Mapping[str, tuple[str, bytes] | None]) -> frozenset[str] | None:
        """Return the names that may mean something else since these files, given as before, were parsed again.

        None stands for any name.
        """
        changed: set[str] = set()
        for name, entry in before.items():
            now = self._cache.entry(name)
            if not (entry and entry[1] and now and now[1]):
                return None
            names = list_changed_names(unpack(entry[1]), unpack(now[1]))
            if names is None:
                return None
            changed |= names
        return frozenset(changed)

    def _list_files_with(self, names: frozenset[str] | None) -> list[str]:
        """Return the files whose links depend on what these names mean."""
        if names is None or len(names) > _MAX_CHANGED_NAMES:
            return [*self._stamps]
        if not names:
            return []
        everywhere = follow_aliases(names, self._resolver([]).outlines.values())
        if everywhere is None:
            return [*self._stamps]
        # A name ends a string in the packed outline, on its own or as the last part of a module.
        endings = [orjson.dumps(name)[1:] for name in everywhere]
        return [name for name, content in self._cache.contents() if any(ending in content for ending in endings)]

    def _parse_files(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Parse files into the cache and iterate over (name, digest of the interface)."""
        for count, name in enumerate(names, 1):
            yield name, self._parse_file(name)
            self._report(f"parsing {self.settings.source}", count, len(names))

    def _parse_file(self, name: str) -> str:
        """Parse one file into the cache and return the digest of its interface; an unreadable one is deleted."""
        try:
            content = _read_file(self._files[name])
        # Without an entry the file is listed as unreadable, which keeps what is stored of it.
        except OSError:
            self._cache.delete([name])
            return ""
        stamp = self._stamps[name]
        if content.exclusion:
            self._cache.put(name, stamp, b"", remark=content.exclusion)
            return ""
        outline = parse_outline(content.text, self._languages[name])
        interface = _interface_digest(outline)
        self._cache.put(name, stamp, pack(outline), interface, _reading_remark(outline, self._languages[name]))
        return interface

    def _resolver(self, names: Sequence[str]) -> Repository:
        """Return a repository that knows what these files refer to; with others it has only their definitions."""
        if self._repository is None or not self._complete.issuperset(names):
            before, known = self._repository, self._complete
            # The second time, all are asked for: one after the other would read everything again for each.
            self._complete = frozenset([*names] if before is None or not known else self._stamps)
            self._repository = Repository(
                {
                    name: unpack(content, interface_only=name not in self._complete)
                    if before is None or name in self._complete
                    else before.outlines[name]
                    for name, content in self._cache.contents()
                }
            )
        return self._repository

    def _links_state(self, name: str) -> str:
        """Return a digest of everything that the names in a file resolve to."""
        repository = self._resolver([name])
        if name not in repository.outlines:
            return _PASSED_OVER
        return xxhash.xxh3_64_hexdigest(orjson.dumps(repository.links(name), default=tuple))


def _reading_remark(outline: Outline, language: Language) -> str:
    """Return what a user should know about how a file was read, or an empty text."""
    if has_grammar(language):
        return _BROKEN if outline.broken else ""
    return f"read as text, without definitions, until its grammar is installed: {grammar_command(language)}"


def _name_some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED_FILES} more" if len(names) > _MAX_NAMED_FILES else ""
    return f"{', '.join(names[:_MAX_NAMED_FILES])}{more}"


def _names_by_last_part(outline: Outline) -> dict[str, str]:
    named: dict[str, list[str]] = {}
    for symbol in outline.symbols:
        named.setdefault(symbol.name.rpartition(".")[2], []).append(symbol.name)
    return {last: names[0] for last, names in named.items() if len(names) == 1}


def _read_file(file: File) -> _FileContent:
    # By size before reading, so that a huge file does not fill the memory first.
    if file.path.stat().st_size > MAX_TEXT_CHARACTERS:
        return _FileContent(exclusion=f"too large: more than {MAX_TEXT_CHARACTERS // 1_000_000} MB")
    content = file.path.read_bytes()
    if looks_binary(content):
        return _FileContent(exclusion=BINARY)
    text, problems = decode(content, file.name)
    cleaned = clean(text)
    # A user who names a generated file wants to have it read.
    exclusion = "" if file.explicit else exclusion_reason(file.name, cleaned)
    if exclusion:
        return _FileContent(exclusion=exclusion)
    # Before parsing, so that signatures and docstrings are without secrets too; lines keep their numbers.
    safe = redact_source(cleaned)
    return _FileContent(safe.text, problems=problems, redacted=len(safe.kinds))


def _interface_digest(outline: Outline) -> str:
    """Return a digest of what other files can refer to: definitions, what these extend, and imports passed on."""
    visible = [
        outline.language,
        [
            [symbol.name, [[base.on, base.name] for base in symbol.references if base.kind == "base"]]
            for symbol in outline.symbols
        ],
        [[imported.module, imported.item, imported.alias] for imported in outline.imports],
    ]
    return xxhash.xxh3_64_hexdigest(orjson.dumps(visible))
