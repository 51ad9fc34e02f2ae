"""Read folders of Markdown notes: front matter, links, tags, pictures, and the chapters of a story among them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from weft.model import Alias, Edge, Json, Node, Origin
from weft.ports import NOTE_FORM, Problem, Unit
from weft.sources.documents.sections import Document, document_nodes, has_named_kinds
from weft.sources.files import (
    MAX_TEXT_BYTES,
    MAX_TEXT_CHARACTERS,
    NOTES,
    STORY,
    SourceSettings,
    clean,
    decode,
    file_stamp,
    read_bytes,
)
from weft.sources.notes.references import (
    NOTE_SUFFIXES,
    NoteIndex,
    Pictures,
    Reference,
    add_pictures,
    find_headings,
    find_inline_fields,
    find_references,
    find_tags,
    first_heading,
    split_front_matter,
)
from weft.sources.values import UnusableValue, split_names, split_words, to_integer, to_number, to_text, to_time
from weft.sources.walk_files import File
from weft.text.chapters import SCENE_CHARACTERS, find_number, split_scenes
from weft.text.redact_source import redact_source

Value = TypeVar("Value")

_DEFAULT_KIND: Final = "note"
_NO_TEXTS: Final[tuple[str, ...]] = ()

_KIND_BY_FOLDER: Final = {
    **dict.fromkeys(("characters", "character", "people", "cast"), "character"),
    **dict.fromkeys(("locations", "location", "places", "settings"), "location"),
    **dict.fromkeys(("factions", "faction", "organizations", "organisations", "groups", "houses"), "faction"),
    **dict.fromkeys(("objects", "items", "artifacts", "artefacts"), "object"),
    **dict.fromkeys(("events",), "event"),
    **dict.fromkeys(("chapters", "chapter", "manuscript", "draft"), "chapter"),
    **dict.fromkeys(("scenes", "scene"), "scene"),
}
"""The kind of a note by the name of its folder."""
_STORY_FOLDERS: Final = frozenset({"characters", "chapters"})
"""Folders that only a story has; `people` or `events` occur in any vault."""
_MIN_CHAPTER_FILES: Final = 2
"""Files called chapters that make a folder a story; a single one may be about anything."""
_MIN_SCENES_CHARACTERS: Final = 2 * SCENE_CHARACTERS
"""A chapter is split into scenes only if it is longer than this; shorter ones are quoted whole."""
_CHAPTER: Final = re.compile(r"chapter[\s_.-]*\w+", re.IGNORECASE)
_PROSE_KINDS: Final = ("chapter", "scene")
_DAILY_NAME: Final = re.compile(r"(\d{4})[-_.](\d{2})[-_.](\d{2})(?!\d)")


class Markdown:
    """The Markdown notes of one source, one unit a file; links are resolved among all its notes."""

    suffixes = NOTE_SUFFIXES

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
        # Built anew at every listing, because a note that came or went changes what links in other notes mean.
        self._note_index = NoteIndex.of(list(self._files))
        self._vault = read_vault(list(self._files), self.settings.reading)
        for file in files:
            yield file.name, self._stamp(file)

    def reread(self, files: Sequence[File], changed: Sequence[File]) -> Iterator[Unit]:
        """Iterate over changed notes; their links are resolved among all notes."""
        self.survey(files)
        list(self.units([file for file in files if file.path.suffix.lower() in NOTE_SUFFIXES]))
        yield from (self.read(file.name) for file in changed)

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
        safe = redact_source(clean(text))
        nodes, edges, more = self._parse(file, safe.text)
        return Unit(unit, stamp, nodes, edges, (*problems, *more), redacted=len(safe.kinds))

    def _parse(self, file: File, text: str) -> tuple[tuple[Node, ...], tuple[Edge, ...], tuple[Problem, ...]]:
        values, body, line, problems = split_front_matter(text, file.name)
        references = find_references(body)
        front_matter = _FrontMatterReader(file.name, values, list(problems))
        node = _note_node(front_matter, self.settings, file, _Body(body, line), self._vault)
        inline = find_inline_fields(body)
        # What the front matter says comes first.
        fields = {**inline, **add_pictures(node.fields, references, self._pictures, file.name)}
        # Links in double brackets, tags and aliases are how a graph of notes is written; documentation has none.
        if node.tags or node.aliases or any(reference.wiki for reference in references):
            fields.update(NOTE_FORM)
        # The order of keys in front matter means nothing, so pages print fields in one order.
        node = replace(node, fields={name: fields[name] for name in sorted(fields)})
        nodes, inner_edges = split_into_scenes(node)
        # A chapter in scenes is prose: its headings are not those of requirements.
        if len(nodes) == 1:
            nodes, inner_edges = self._split_sections(node, file.name)
        typed = [self._field_edges(node.key, file.name, key, value) for key, value in inline.items()]
        links = self._link_edges(node.key, file.name, references)
        edges = (*links, *(edge for each in typed for edge in each), *inner_edges)
        return nodes, edges, tuple(front_matter.problems)

    def _split_sections(self, note: Node, name: str) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
        """Split a note whose headings name requirements or features into sections; return any other alone."""
        headings = find_headings(note.text)
        if not has_named_kinds(headings):
            return (note,), ()
        document = Document(note.title, note.text, headings, note.language, note.origin.first_line or 1)
        (whole, *sections), edges = document_nodes(document, name, self.settings, note.modified)
        # What the front matter says comes before what the heading names.
        kind = note.kind if note.kind != _DEFAULT_KIND else whole.kind
        summary = note.summary or whole.summary
        first = replace(note, kind=kind, summary=summary, text=whole.text, origin=whole.origin)
        return (first, *sections), edges

    def _field_edges(self, key: str, name: str, field_name: str, value: str) -> tuple[Edge, ...]:
        """Return the links in the value of an inline field, which say how the notes are related."""
        links = self._link_edges(key, name, find_references(value))
        return tuple(replace(edge, type="field", evidence=field_name) for edge in links)

    def _link_edges(self, key: str, name: str, references: Sequence[Reference]) -> tuple[Edge, ...]:
        """Return one edge for each note and kind of link; its evidence is the first such link."""
        edges: dict[tuple[str, str], Edge] = {}
        for reference in references:
            # Only pictures are kept with an address on the web, and those are fields and not links.
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


# --- a story in notes: its chapters, and the notes about its entities ------------------------------------


class Vault(Struct, frozen=True):
    """The kinds and chapter numbers that follow from the paths of notes; empty when they hold no story."""

    kinds: dict[str, str] = field(default_factory=dict)
    chapter_numbers: dict[str, int] = field(default_factory=dict)

    def kind(self, name: str) -> str:
        """Return the kind of a note whose front matter gives none."""
        return self.kinds.get(name, "note")

    def sequence(self, name: str) -> int | None:
        """Return the number of a chapter whose front matter gives none."""
        return self.chapter_numbers.get(name)


def read_vault(names: Sequence[str], reading: str) -> Vault:
    """Return the vault that notes of these paths make, read as a story, as notes, or by what they look like."""
    if reading == NOTES or not (reading == STORY or _looks_like_story(names)):
        return Vault()
    kinds = {name: kind for name in names if (kind := _kind_by_path(name, reading))}
    # By path, so that files without a number in their name still follow each other as they are listed.
    prose = sorted(name for name, kind in kinds.items() if kind in _PROSE_KINDS)
    return Vault(kinds, {name: _chapter_number(name, index) for index, name in enumerate(prose, start=1)})


def _looks_like_story(names: Sequence[str]) -> bool:
    """Say whether there is a folder that only a story has, or at least two files are called chapters."""
    folders = {part.casefold() for name in names for part in PurePosixPath(name).parts[:-1]}
    chapter_files = sum(_CHAPTER.match(PurePosixPath(name).stem) is not None for name in names)
    return bool(folders & _STORY_FOLDERS) or chapter_files >= _MIN_CHAPTER_FILES


def _kind_by_path(name: str, reading: str) -> str:
    """Return the kind by the innermost folder that names one, or `chapter` for a file that is called so."""
    path = PurePosixPath(name)
    # The innermost folder counts: `Chapters/Characters/` holds characters.
    for part in reversed(path.parts[:-1]):
        if part.casefold() in _KIND_BY_FOLDER:
            return _KIND_BY_FOLDER[part.casefold()]
    return "chapter" if reading == STORY or _CHAPTER.match(path.stem) else ""


def _chapter_number(name: str, index: int) -> int:
    """Return the number in a file's name, 0 for what comes before the first chapter, or else its index."""
    stem = PurePosixPath(name).stem
    number = find_number(stem)
    if number is None and stem.casefold().startswith(("prologue", "preface")):
        return 0
    return index if number is None else number


def split_into_scenes(node: Node) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
    """Split a long chapter into itself and its scenes, which then hold its text; return others as they are."""
    is_long = node.kind in _PROSE_KINDS and len(node.text) > _MIN_SCENES_CHARACTERS
    spans = split_scenes(node.text, 0, len(node.text)) if is_long else ()
    if len(spans) < 2:
        return (node,), ()
    scene_nodes = [_scene_node(node, number, span) for number, span in enumerate(spans, start=1)]
    edges = (Edge(node.key, scene.key, "contains", tenant=node.tenant) for scene in scene_nodes)
    return (replace(node, text=""), *scene_nodes), tuple(edges)


def _scene_node(node: Node, number: int, span: tuple[int, int]) -> Node:
    start, end = span
    first = (node.origin.first_line or 1) + node.text.count("\n", 0, start)
    last = first + node.text.count("\n", start, end)
    prefix = "" if node.sequence is None else f"Ch. {node.sequence}, "
    return Node(
        key=f"{node.key}#{number:02d}",
        kind="scene",
        tenant=node.tenant,
        title=f"{prefix}scene {number}".capitalize(),
        text=node.text[start:end],
        language=node.language,
        origin=replace(node.origin, first_line=first, last_line=last),
        sequence=node.sequence,
        known_from=node.known_from,
        created=node.created,
        modified=node.modified,
    )


# --- one note --------------------------------------------------------------------------------------------


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
            # Taken out only once it was converted, so that an unusable value remains as a field.
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
    date = front_matter.values.get("date")
    created = take(("created", "date"), to_time, None) or _daily_date(file.name)
    if date is not None:
        # The day of a meeting is what people look for, so that it is printed too.
        front_matter.values["date"] = date
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


def _daily_date(name: str) -> datetime | None:
    """Return the day that a daily note is named after, as in `2026-04-02.md` or Logseq's `2026_04_02.md`."""
    match = _DAILY_NAME.match(PurePosixPath(name).stem)
    try:
        return datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=UTC) if match else None
    except ValueError:
        return None


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
