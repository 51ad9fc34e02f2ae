"""Read folders of Markdown notes: front matter, wikilinks, relative links, tags, embeds and pictures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final, TypeVar

import xxhash
from msgspec import Struct, field
from msgspec.structs import replace

from weft.model import Alias, Edge, Json, Node, Origin
from weft.ports import Problem, Unit
from weft.sources.documents.sections import Document, document_nodes, has_named_kinds
from weft.sources.files import (
    MAX_TEXT_BYTES,
    MAX_TEXT_CHARACTERS,
    SourceSettings,
    clean,
    decode,
    file_stamp,
    read_bytes,
    resolve_link,
)
from weft.sources.notes.pictures import Pictures, add_pictures
from weft.sources.notes.references import (
    Reference,
    find_headings,
    find_references,
    find_tags,
    first_heading,
    split_front_matter,
)
from weft.sources.notes.vault import Vault, read_vault, split_into_scenes
from weft.sources.values import UnusableValue, split_names, split_words, to_integer, to_number, to_text, to_time
from weft.sources.walk_files import File

Value = TypeVar("Value")

_DEFAULT_KIND: Final = "note"
_NO_TEXTS: Final[tuple[str, ...]] = ()


class Markdown:
    """The Markdown notes of one source, one unit a file; links are resolved among all its notes."""

    suffixes = frozenset({".md", ".markdown", ".mdx"})

    def __init__(self, settings: SourceSettings) -> None:
        self.settings = settings
        self._files: dict[str, File] = {}
        self._note_index = NoteIndex()
        self._pictures = Pictures()
        self._vault = Vault()

    def survey(self, files: Sequence[File]) -> None:
        """Take note of the pictures among the files, which notes may show."""
        self._pictures = Pictures.of([file.name for file in files])

    def takes(self, file: File) -> bool:
        """Take every file with one of the suffixes."""
        return True

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """List the (name, stamp) of every note; all stamps change when a note or picture comes or goes."""
        self._files = {file.name: file for file in files}
        self._note_index = NoteIndex.of(list(self._files))
        self._vault = read_vault(list(self._files), self.settings.reading)
        for file in files:
            yield file.name, self._stamp(file)

    def _stamp(self, file: File) -> str:
        # The set of notes and pictures decides which file a link means, so it is part of every stamp.
        reading = f"-{self.settings.reading}" if self.settings.reading else ""
        return f"{file_stamp(file.path)}-{self._note_index.digest}{self._pictures.digest}{reading}"

    def read(self, unit: str) -> Unit:
        """Read one note with its links."""
        file = self._files[unit]
        content, problem = read_bytes(file, MAX_TEXT_BYTES)
        stamp = self._stamp(file)
        if problem:
            return Unit(unit, stamp, problems=(problem,))
        text, problems = decode(content, unit)
        if len(text) > MAX_TEXT_CHARACTERS:
            reason = f"The note has {len(text):,} characters; at most {MAX_TEXT_CHARACTERS:,} are kept. Split it."
            return Unit(unit, stamp, problems=(Problem(unit, reason),))
        nodes, edges, more = self._parse(file, clean(text))
        return Unit(unit, stamp, nodes, edges, (*problems, *more))

    def _parse(self, file: File, text: str) -> tuple[tuple[Node, ...], tuple[Edge, ...], tuple[Problem, ...]]:
        values, body, line, problems = split_front_matter(text, file.name)
        references = find_references(body)
        front_matter = _FrontMatterReader(file.name, values, list(problems))
        node = _note_node(front_matter, self.settings, file, _Body(body, line), self._vault)
        fields = add_pictures(node.fields, references, self._pictures, file.name)
        node = replace(node, fields={name: fields[name] for name in sorted(fields)})
        nodes, inner_edges = split_into_scenes(node)
        if len(nodes) == 1:
            nodes, inner_edges = self._split_sections(node, file.name)
        edges = (*self._link_edges(node.key, file.name, references), *inner_edges)
        return nodes, edges, tuple(front_matter.problems)

    def _split_sections(self, note: Node, name: str) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
        """Split a note whose headings name requirements or features into sections; return any other alone."""
        headings = find_headings(note.text)
        if not has_named_kinds(headings):
            return (note,), ()
        document = Document(note.title, note.text, headings, note.language, note.origin.first_line or 1)
        (whole, *sections), edges = document_nodes(document, name, self.settings, note.modified)
        kind = note.kind if note.kind != _DEFAULT_KIND else whole.kind
        summary = note.summary or whole.summary
        first = replace(note, kind=kind, summary=summary, text=whole.text, origin=whole.origin)
        return (first, *sections), edges

    def _link_edges(self, key: str, name: str, references: Sequence[Reference]) -> tuple[Edge, ...]:
        """Return one edge for each note and kind of link; its evidence is the first such link."""
        edges: dict[tuple[str, str], Edge] = {}
        for reference in references:
            if reference.remote:
                continue
            target, confidence = self._note_index.resolve(reference, name)
            target_key = f"{self.settings.source}:{target}"
            kind = "embeds" if reference.embedded else "links"
            if target is not None and target_key != key:
                evidence = f"{reference.written} (line {reference.line})"
                edge = Edge(
                    key, target_key, kind, confidence=confidence, evidence=evidence, tenant=self.settings.tenant
                )
                edges.setdefault((target_key, kind), edge)
        return tuple(edges.values())


class NoteIndex(Struct, frozen=True):
    """The notes of a folder by path and by stem in lower case, as links name them."""

    paths: Mapping[str, str] = field(default_factory=dict)
    stems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    digest: str = ""

    @classmethod
    def of(cls, names: Sequence[str]) -> "NoteIndex":
        """Index the notes of these names; of notes with the same stem the one nearest to the root comes first."""
        paths: dict[str, str] = {}
        stems: dict[str, tuple[str, ...]] = {}
        for name in sorted(names, key=lambda name: (name.count("/"), name)):
            path = PurePosixPath(name)
            paths.setdefault(name.casefold(), name)
            paths.setdefault(path.with_suffix("").as_posix().casefold(), name)
            stems[path.stem.casefold()] = (*stems.get(path.stem.casefold(), ()), name)
        digest = xxhash.xxh3_64_hexdigest("\n".join(sorted(names)).encode("utf-8", "replace"))
        return cls(paths, stems, digest)

    def resolve(self, reference: Reference, within: str) -> tuple[str | None, float]:
        """Return the note that a reference in the note `within` means, and the confidence in that.

        A note that does not exist (yet) is returned by the name it would have; None is no note at all.
        """
        target = PurePosixPath(reference.target)
        has_other_suffix = target.suffix and target.suffix.lower() not in Markdown.suffixes
        if has_other_suffix and not self._is_note(reference.target):
            return None, 0.0
        folder = PurePosixPath(within).parent
        beside_note = resolve_link(folder, reference.target)
        at_root = resolve_link(PurePosixPath(), reference.target)
        for path in (at_root, beside_note) if reference.wiki else (beside_note, at_root):
            if path is not None and path.casefold() in self.paths:
                return self.paths[path.casefold()], 1.0
        # Obsidian writes only a note's name where it suffices; several notes of that name share the confidence.
        stem = target.stem if _has_note_suffix(target) else target.name
        owners = self.stems.get(stem.casefold(), ())
        if owners:
            near = [owner for owner in owners if PurePosixPath(owner).parent == folder] or owners
            return near[0], round(1 / len(near), 3)
        missing = at_root if reference.wiki else beside_note or at_root
        if not missing:
            return None, 1.0
        return (missing if _has_note_suffix(PurePosixPath(missing)) else f"{missing}.md"), 1.0

    def _is_note(self, target: str) -> bool:
        # A dot in a name, as in `v1.2`, looks like a suffix.
        return target.casefold() in self.paths or PurePosixPath(target).name.casefold() in self.stems


def _has_note_suffix(path: PurePosixPath) -> bool:
    return path.suffix.lower() in Markdown.suffixes


class _Body(Struct, frozen=True):
    """The text of a note below its front matter, and the line on which it begins."""

    text: str
    first_line: int

    @property
    def last_line(self) -> int:
        """The last line that is not blank."""
        return self.first_line + self.text.rstrip("\n").count("\n")


class _FrontMatterReader(Struct):
    """A reader of front matter: known keys are taken out, and the rest becomes fields."""

    where: str
    values: dict[str, Json]
    problems: list[Problem]

    def take(self, names: Sequence[str], convert: Callable[[object], Value], default: Value) -> Value:
        """Take the first value under these names, converted; an unusable one is reported and stays a field."""
        for name in names:
            value = self.values.get(name)
            if value is None or value == "":
                continue
            try:
                converted = convert(value)
            except UnusableValue as error:
                self.problems.append(Problem(f"{self.where}:1", f"{name}: {error}. The note is kept without it."))
                return default
            del self.values[name]
            return converted
        return default


def _note_node(
    front_matter: _FrontMatterReader, settings: SourceSettings, file: File, body: _Body, vault: Vault
) -> Node:
    take = front_matter.take
    title = take(("title",), to_text, "") or first_heading(body.text) or PurePosixPath(file.name).stem
    tags = take(("tags", "tag"), _read_tags, _NO_TEXTS)
    aliases = take(("aliases", "alias"), split_names, _NO_TEXTS)
    created = take(("created", "date"), to_time, None)
    modified = take(("modified", "updated"), to_time, None) or _modified_time(file, settings)
    node = Node(
        key=f"{settings.source}:{file.name}",
        kind=take(("kind", "type"), to_text, vault.kind(file.name)).lower(),
        tenant=settings.tenant,
        title=title,
        summary=take(("summary", "description"), to_text, ""),
        text=body.text,
        language="markdown",
        tags=tuple(dict.fromkeys((*tags, *find_tags(body.text)))),
        aliases=tuple(Alias(alias, settings.maker) for alias in aliases if alias != title),
        origin=Origin(settings.source, file.name, body.first_line, body.last_line),
        sequence=take(("sequence", "chapter"), to_integer, vault.sequence(file.name)),
        known_from=take(("known_from",), to_integer, None),
        created=created,
        modified=modified,
        importance=take(("importance",), lambda value: to_number(value, 0.0, 1.0), 0.0),
    )
    return replace(node, fields=_remaining_fields(front_matter.values, node.importance))


def _remaining_fields(rest: Mapping[str, Json], importance: float) -> dict[str, Json]:
    fields: dict[str, Json] = {name: value for name, value in rest.items() if value is not None and value != ""}
    if importance:
        # Kept as a field too, so that a computed importance never replaces a given one.
        fields["importance"] = importance
    return fields


def _read_tags(value: object) -> tuple[str, ...]:
    """Return the tags of front matter, which are separated by blanks or commas and may begin with `#`."""
    words = split_words(value.replace(" ", ",")) if isinstance(value, str) else split_words(value)
    return tuple(dict.fromkeys(stripped for word in words if (stripped := word.lstrip("#").strip())))


def _modified_time(file: File, settings: SourceSettings) -> datetime | None:
    return datetime.fromtimestamp(int(file.path.stat().st_mtime), UTC) if settings.file_times else None
