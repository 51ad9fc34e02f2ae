"""Folders of Markdown notes: front matter, wikilinks, relative links, tags, embeds and images."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final, TypeVar

import xxhash

from weft.frozen import dataclass
from weft.model import Alias, Edge, Json, Node, Origin
from weft.ports import Problem, Unit
from weft.sources.documents.sections import Document, nodes_of, speaks_of_kinds
from weft.sources.files import MAX_TEXT, Naming, clean, decode, read_bytes, stamp_of
from weft.sources.notes.pictures import Pictures, joined, with_pictures
from weft.sources.notes.references import (
    Reference,
    first_heading,
    headings_in,
    references,
    split_front_matter,
    tags_in,
)
from weft.sources.notes.vault import Vault, in_scenes, vault_of
from weft.sources.values import Unusable, integer_of, names_of, number_of, text_of, time_of, words_of
from weft.sources.walk_files import File

Value = TypeVar("Value")

_PLAIN_KIND: Final = "note"
_NO_WORDS: Final[tuple[str, ...]] = ()
_BYTES_A_CHARACTER: Final = 4


class Markdown:
    """Markdown notes of one source, one unit a file; links are resolved among all its notes."""

    suffixes = frozenset({".md", ".markdown", ".mdx"})

    def __init__(self, naming: Naming) -> None:
        self.naming = naming
        self._files: dict[str, File] = {}
        self._notes = Notes()
        self._pictures = Pictures()
        self._vault = Vault()

    def survey(self, files: Sequence[File]) -> None:
        """Note which pictures there are for notes to show."""
        self._pictures = Pictures.of([file.name for file in files])

    def takes(self, file: File) -> bool:
        """Every file of its suffixes."""
        return True

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """The (name, stamp) of every note; the stamps change together when notes or pictures come or go."""
        self._files = {file.name: file for file in files}
        self._notes = Notes.of(list(self._files))
        self._vault = vault_of(list(self._files), self.naming.reading)
        for file in files:
            yield file.name, self._stamp(file)

    def _stamp(self, file: File) -> str:
        reading = f"-{self.naming.reading}" if self.naming.reading else ""
        return f"{stamp_of(file.path)}-{self._notes.digest}{self._pictures.digest}{reading}"

    def read(self, unit: str) -> Unit:
        """One note with its links."""
        file = self._files[unit]
        content, problem = read_bytes(file, MAX_TEXT * _BYTES_A_CHARACTER)
        stamp = self._stamp(file)
        if problem:
            return Unit(unit, stamp, problems=(problem,))
        text, problems = decode(content, unit)
        if len(text) > MAX_TEXT:
            reason = f"The note has {len(text):,} characters; at most {MAX_TEXT:,} are kept. Split it."
            return Unit(unit, stamp, problems=(Problem(unit, reason),))
        nodes, edges, more = self._understand(file, clean(text))
        return Unit(unit, stamp, nodes, edges, (*problems, *more))

    def _understand(self, file: File, text: str) -> tuple[tuple[Node, ...], tuple[Edge, ...], tuple[Problem, ...]]:
        matter, body, line, problems = split_front_matter(text, file.name)
        found = references(body)
        notes = _FrontMatter(file.name, matter, list(problems))
        key = f"{self.naming.source}:{file.name}"
        node = _node(notes, self.naming, file, _Body(body, line, found), self._vault)
        node = replace(node, fields=_sorted(with_pictures(node.fields, found, self._pictures, file.name)))
        nodes, contained = in_scenes(node)
        if len(nodes) == 1:
            nodes, contained = self._specified(node, file.name)
        return nodes, (*self._edges(key, file.name, found), *contained), tuple(notes.problems)

    def _specified(self, note: Node, name: str) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
        """The note alone; one whose headings name requirements or features, as a document with its sections."""
        headings = headings_in(note.text)
        if not speaks_of_kinds(headings):
            return (note,), ()
        document = Document(note.title, note.text, headings, note.language, note.origin.first_line or 1)
        (whole, *sections), edges = nodes_of(document, name, self.naming, note.modified)
        kind = note.kind if note.kind != _PLAIN_KIND else whole.kind
        summary = note.summary or whole.summary
        first = replace(note, kind=kind, summary=summary, text=whole.text, origin=whole.origin)
        return (first, *sections), edges

    def _edges(self, key: str, name: str, found: Sequence[Reference]) -> tuple[Edge, ...]:
        edges: dict[tuple[str, str], Edge] = {}
        for reference in found:
            if reference.remote:
                continue
            target, share = self._notes.resolve(reference, name)
            full = f"{self.naming.source}:{target}"
            kind = "embeds" if reference.embedded else "links"
            if target is not None and full != key:
                evidence = f"{reference.written} (line {reference.line})"
                edge = Edge(key, full, kind, confidence=share, evidence=evidence, tenant=self.naming.tenant)
                edges.setdefault((full, kind), edge)
        return tuple(edges.values())


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes of a folder as links name them: by path and by stem, whatever the case."""

    paths: Mapping[str, str] = field(default_factory=dict)
    stems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    digest: str = ""

    @classmethod
    def of(cls, names: Sequence[str]) -> "Notes":
        """The names to resolve among; shorter paths come first where a stem is not unique."""
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
        """The note a reference names and how sure that is; the name it would have if there is none (yet)."""
        target = PurePosixPath(reference.target)
        if (
            target.suffix
            and target.suffix.lower() not in Markdown.suffixes
            and not self._is_note(reference.target)
        ):
            return None, 0.0
        here = PurePosixPath(within).parent
        beside = joined(here, reference.target)
        at_root = joined(PurePosixPath(), reference.target)
        for path in (at_root, beside) if reference.wiki else (beside, at_root):
            if path is not None and path.casefold() in self.paths:
                return self.paths[path.casefold()], 1.0
        owners = self.stems.get(_stem(target).casefold(), ())
        if owners:
            near = [owner for owner in owners if PurePosixPath(owner).parent == here] or owners
            return near[0], round(1 / len(near), 3)
        missing = at_root if reference.wiki else beside or at_root
        return (_with_suffix(missing) if missing else None), 1.0

    def _is_note(self, target: str) -> bool:
        return target.casefold() in self.paths or PurePosixPath(target).name.casefold() in self.stems


def _stem(target: PurePosixPath) -> str:
    return target.stem if target.suffix.lower() in Markdown.suffixes else target.name


def _with_suffix(target: str) -> str:
    return target if PurePosixPath(target).suffix.lower() in Markdown.suffixes else f"{target}.md"


@dataclass(frozen=True, slots=True)
class _Body:
    text: str
    line: int
    found: tuple[Reference, ...]

    @property
    def last_line(self) -> int:
        return self.line + self.text.rstrip("\n").count("\n")


@dataclass(slots=True)
class _FrontMatter:
    """Front matter being read: known keys are taken out, what is left over becomes fields."""

    where: str
    values: dict[str, Json]
    problems: list[Problem]

    def take(self, names: Sequence[str], convert: Callable[[object], Value], default: Value) -> Value:
        """The first of the names that is there, converted; an unusable value is reported and stays a field."""
        for name in names:
            value = self.values.get(name)
            if value is None or value == "":
                continue
            try:
                converted = convert(value)
            except Unusable as error:
                self.problems.append(Problem(f"{self.where}:1", f"{name}: {error}. The note is kept without it."))
                return default
            del self.values[name]
            return converted
        return default


def _node(matter: _FrontMatter, naming: Naming, file: File, body: _Body, vault: Vault) -> Node:
    take = matter.take
    title = take(("title",), text_of, "") or first_heading(body.text) or PurePosixPath(file.name).stem
    tags = take(("tags", "tag"), _tags, _NO_WORDS)
    aliases = take(("aliases", "alias"), names_of, _NO_WORDS)
    created = take(("created", "date"), time_of, None)
    modified = take(("modified", "updated"), time_of, None) or _file_time(file, naming)
    node = Node(
        key=f"{naming.source}:{file.name}",
        kind=take(("kind", "type"), text_of, vault.kind(file.name)).lower(),
        tenant=naming.tenant,
        title=title,
        summary=take(("summary", "description"), text_of, ""),
        text=body.text,
        language="markdown",
        tags=tuple(dict.fromkeys((*tags, *tags_in(body.text)))),
        aliases=tuple(Alias(alias, naming.maker) for alias in aliases if alias != title),
        origin=Origin(naming.source, file.name, body.line, body.last_line),
        sequence=take(("sequence", "chapter"), integer_of, vault.sequence(file.name)),
        known_from=take(("known_from",), integer_of, None),
        created=created,
        modified=modified,
        importance=take(("importance",), lambda value: number_of(value, 0.0, 1.0), 0.0),
    )
    return replace(node, fields=_fields(matter.values, node.importance))


def _fields(rest: Mapping[str, Json], importance: float) -> dict[str, Json]:
    fields: dict[str, Json] = {name: value for name, value in rest.items() if value is not None and value != ""}
    if importance:
        # Kept as a field too, so that a computed importance never replaces a given one.
        fields["importance"] = importance
    return fields


def _sorted(fields: Mapping[str, Json]) -> dict[str, Json]:
    return {name: fields[name] for name in sorted(fields)}


def _tags(value: object) -> tuple[str, ...]:
    words = words_of(value.replace(" ", ",")) if isinstance(value, str) else words_of(value)
    return tuple(dict.fromkeys(stripped for word in words if (stripped := word.lstrip("#").strip())))


def _file_time(file: File, naming: Naming) -> datetime | None:
    return datetime.fromtimestamp(int(file.path.stat().st_mtime), UTC) if naming.file_times else None
