"""Read folders of Markdown notes: front matter, links, tags, tasks, pictures, and the chapters of a story."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from weft.model import Edge, Json, Node
from weft.ports import NOTE_FORM, Problem, Unit
from weft.sources.derived_cache import DerivedCache
from weft.sources.documents.sections import Document, document_nodes, has_named_kinds
from weft.sources.files import (
    MAX_TEXT_BYTES,
    MAX_TEXT_CHARACTERS,
    SourceSettings,
    clean,
    decode,
    file_stamp,
    read_bytes,
)
from weft.sources.notes.boards import BOARD_SUFFIXES
from weft.sources.notes.front_matter import FrontMatterReader, split_front_matter
from weft.sources.notes.note_index import NoteIndex, NoteNames, Pictures, add_pictures, is_picture
from weft.sources.notes.note_nodes import (
    Body,
    add_page_properties,
    daily_names,
    file_aliases,
    links_in,
    note_node,
    remaining_fields,
)
from weft.sources.notes.references import (
    NOTE_SUFFIXES,
    Reference,
    blank_code,
    find_blocks,
    find_headings,
    find_inline_fields,
    find_references,
    find_wikilinks,
    hide_comments,
)
from weft.sources.notes.story_vault import DEFAULT_KIND, Vault, read_vault, split_into_scenes
from weft.sources.notes.tasks import task_nodes
from weft.sources.notes.vaults import Vaults, has_placeholders
from weft.sources.values import UnusableValue, split_names
from weft.sources.walk_files import File
from weft.text.redact_source import redact_source

_VERSION: Final = "2"
"""To be changed whenever the same note would give other nodes or edges; all notes are then read again."""
_PICTURE_KEYS: Final = ("image", "images")


class Markdown:
    """The Markdown notes of one source, one unit a file; links are resolved among all its notes.

    A unit's stamp holds the state of its file and of the notes that its links mean, so that a note which comes or
    goes has only those read again that link to it. The links of notes that did not change are cached.
    """

    suffixes = NOTE_SUFFIXES

    def __init__(self, settings: SourceSettings) -> None:
        self.settings = settings
        self._cache = DerivedCache(settings.cache_file("notes"))
        self._files: dict[str, File] = {}
        self._names: dict[str, NoteNames] = {}
        self._boards: tuple[str, ...] = ()
        self._note_index = NoteIndex()
        self._pictures = Pictures()
        self._vaults = Vaults()
        self._vault = Vault()
        self._skipped: dict[str, str] = {}

    def survey(self, files: Sequence[File]) -> None:
        """Take note of the pictures and boards among the files, which notes may show."""
        self._pictures = Pictures.of([file.name for file in files])
        self._boards = tuple(file.name for file in files if file.name.lower().endswith(tuple(BOARD_SUFFIXES)))

    def takes(self, file: File) -> bool:
        """Take every file with one of the suffixes."""
        return True

    def list_skipped(self) -> Mapping[str, str]:
        """Return why notes were passed over when the units were last listed."""
        return self._skipped

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """List the (name, stamp) of every note that is not a template."""
        stamps = {file.name: f"{file_stamp(file.path)}-{_VERSION}" for file in files}
        self._list_notes(files, stamps)
        for name in self._files:
            yield name, self._stamp(name, stamps[name])

    def reread(self, files: Sequence[File], changed: Sequence[File]) -> Iterator[Unit]:
        """Iterate over changed notes; their links are resolved among all notes."""
        self.survey(files)
        notes = [file for file in files if file.path.suffix.lower() in NOTE_SUFFIXES]
        self._list_notes(notes, {file.name: f"{file_stamp(file.path)}-{_VERSION}" for file in changed})
        yield from (self.read(file.name) for file in changed if file.name in self._files)

    def _list_notes(self, files: Sequence[File], stamps: Mapping[str, str]) -> None:
        """Read the names and links of notes whose stamp is not that of the cache; take the others from there."""
        by_name = {file.name: file for file in files}
        try:
            cached = self._cache.entries()
            decoder = msgspec.msgpack.Decoder(NoteNames)
            names = {name: decoder.decode(content) for name, content in self._cache.contents() if name in by_name}
            stale = [
                name
                for name in by_name
                if name not in names or stamps.get(name, "") not in ("", cached[name].stamp)
            ]
            for name in stale:
                names[name] = _read_names(by_name[name])
                if name in stamps:
                    self._cache.put(name, stamps[name], msgspec.msgpack.encode(names[name]))
            self._cache.delete([name for name in cached if name not in by_name])
        finally:
            self._cache.close()
        self._vaults = Vaults.of(files)
        reasons = {
            name: self._vaults.exclusion_reason(name, has_placeholders=names[name].has_placeholders)
            for name in by_name
        }
        self._skipped = {name: reason for name, reason in reasons.items() if reason}
        self._files = {name: file for name, file in by_name.items() if not reasons[name]}
        self._names = {name: names[name] for name in self._files}
        self._note_index = NoteIndex.of(self._names, self._boards)
        self._vault = read_vault(list(self._files), self.settings.reading)

    def _stamp(self, name: str, stamp: str) -> str:
        """Return the stamp of a note: its own, that of what its links mean, and how its folder is read."""
        names = self._names[name]
        parts = [
            stamp,
            self._note_index.links_state(names, name),
            self._pictures.digest if names.has_pictures else "",
            self.settings.reading,
            f"{self._vault.kind(name)} {self._vault.sequence(name)}" if self._vault.kinds else "",
            "vault" if self._vaults.holds(name) else "",
        ]
        return "-".join(filter(None, parts))

    def read(self, unit: str) -> Unit:
        """Read one note with its links and tasks."""
        file = self._files[unit]
        # The stamp is taken before the content: a note that changes in between is read again the next time.
        stamp = self._stamp(unit, f"{file_stamp(file.path)}-{_VERSION}")
        content, problem = read_bytes(file, MAX_TEXT_BYTES)
        if problem:
            return Unit(unit, stamp, problems=(problem,))
        text, problems = decode(content, unit)
        if len(text) > MAX_TEXT_CHARACTERS:
            reason = f"The note has {len(text):,} characters; at most {MAX_TEXT_CHARACTERS:,} are kept. Split it."
            return Unit(unit, stamp, problems=(Problem(unit, reason),))
        safe = redact_source(clean(text))
        nodes, edges, more = self._parse(file, safe.text)
        return Unit(unit, stamp, nodes, edges, (*problems, *more), redacted=len(safe.kinds))

    def _parse(self, file: File, text: str) -> tuple[tuple[Node, ...], tuple[Edge, ...], tuple[Problem, ...]]:
        values, body, line, problems = split_front_matter(text, file.name)
        references = find_references(body)
        inline = find_inline_fields(body)
        add_page_properties(values, inline)
        front_matter = FrontMatterReader(file.name, values, list(problems))
        node = note_node(front_matter, self.settings, file, Body(hide_comments(body), line), self._vault)
        # What the front matter says comes first.
        given: dict[str, Json] = {key: each[0] if len(each) == 1 else list(each) for key, each in inline.items()}
        given |= add_pictures(node.fields, references, self._pictures, file.name)
        fields = remaining_fields(given, node.importance)
        # Links in double brackets, tags and aliases are how a graph of notes is written; documentation has none.
        is_note = bool(node.tags or node.aliases or any(reference.wiki for reference in references))
        is_note = is_note or self._vaults.holds(file.name)
        # The files of a story are numbered chapters, which nobody calls by those names.
        by_file = file_aliases(node, file.name, self.settings) if is_note and not self._vault.kinds else ()
        fields |= NOTE_FORM if is_note else {}
        # The order of keys in front matter means nothing, so pages print fields in one order.
        node = replace(
            node, aliases=(*node.aliases, *by_file), fields={name: fields[name] for name in sorted(fields)}
        )
        nodes, inner_edges = split_into_scenes(node)
        # A chapter in scenes is prose: its headings are not those of requirements.
        if len(nodes) == 1:
            nodes, inner_edges = self._split_sections(node, file.name)
        tasks, task_edges = task_nodes(node, body) if is_note else ((), ())
        edges = (
            *self._link_edges(node.key, file.name, references),
            *self._field_edges(node.key, file.name, given),
        )
        return (*nodes, *tasks), (*edges, *inner_edges, *task_edges), tuple(front_matter.problems)

    def _split_sections(self, note: Node, name: str) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
        """Split a note whose headings name requirements or features into sections; return any other alone."""
        headings = find_headings(note.text)
        if not has_named_kinds(headings):
            return (note,), ()
        document = Document(note.title, note.text, headings, note.language, note.origin.first_line or 1)
        (whole, *sections), edges = document_nodes(document, name, self.settings, note.modified)
        # What the front matter says comes before what the heading names.
        kind = note.kind if note.kind != DEFAULT_KIND else whole.kind
        summary = note.summary or whole.summary
        first = replace(note, kind=kind, summary=summary, text=whole.text, origin=whole.origin)
        return (first, *sections), edges

    def _field_edges(self, key: str, name: str, fields: Mapping[str, Json]) -> Iterator[Edge]:
        """Iterate over the links in the values of fields, which say how the notes are related."""
        for field_name, value in fields.items():
            references = [link for written in links_in(value) for link in find_wikilinks(written)]
            links = self._link_edges(key, name, references)
            yield from (replace(edge, type="field", evidence=field_name) for edge in links)

    def _link_edges(self, key: str, name: str, references: Sequence[Reference]) -> tuple[Edge, ...]:
        """Return one edge for each note and kind of link; its evidence is the first such link."""
        edges: dict[tuple[str, str], Edge] = {}
        for reference in references:
            # Only pictures are kept with an address on the web, and those are fields and not links.
            if reference.remote:
                continue
            target, confidence = self._note_index.resolve(reference, name)
            target_key = f"{self.settings.source}:{target}"
            kind = "embeds" if reference.embedded else "queries" if reference.query else "links"
            if target is not None and target_key != key:
                evidence = f"{reference.written} (line {reference.line})"
                edge = Edge(
                    key, target_key, kind, confidence=confidence, evidence=evidence, tenant=self.settings.tenant
                )
                edges.setdefault((target_key, kind), edge)
        return tuple(edges.values())


def _read_names(file: File) -> NoteNames:
    """Return the names and links of a note; of one that cannot be read there are none, and reading it says why."""
    try:
        content, problem = read_bytes(file, MAX_TEXT_BYTES)
    except OSError:
        return NoteNames()
    if problem:
        return NoteNames()
    values, body, _, _ = split_front_matter(clean(decode(content, file.name)[0]), file.name)
    references = find_references(body)
    linked = [link for value in values.values() for written in links_in(value) for link in find_wikilinks(written)]
    links = dict.fromkeys(
        (reference.target, reference.wiki, reference.block)
        for reference in (*references, *linked)
        if not reference.remote
    )
    add_page_properties(values, find_inline_fields(body))
    try:
        aliases = split_names(values.get("aliases") or values.get("alias") or ())
    except UnusableValue:
        aliases = ()
    shows_pictures = any(
        reference.embedded and (reference.remote or is_picture(reference.target)) for reference in references
    )
    return NoteNames(
        aliases=(*aliases, *daily_names(file.name)),
        blocks=find_blocks(body),
        links=tuple(links),
        has_pictures=shows_pictures or any(values.get(key) for key in _PICTURE_KEYS),
        has_placeholders=has_placeholders(blank_code(body)),
    )
