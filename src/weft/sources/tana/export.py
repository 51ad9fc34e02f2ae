"""Read an exported Tana workspace: names as plain text, notes as nodes and edges, groups of notes as units."""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import orjson
import xxhash
from msgspec import Struct, field
from msgspec.structs import replace

from weft.model import Edge, Json, Node, Origin, to_plain
from weft.ports import TANA_FORM, Problem, Unit
from weft.sources.files import UNREADABLE, SourceSettings, clean, read_bytes
from weft.sources.tana.documents import TAG_TYPE, Doc, Docs, looks_like_tana, read_docs
from weft.sources.walk_files import File

TAG_WEIGHT: Final = 0.3
"""The weight of the edge to a supertag: notes with the same tag are related less than notes linked by hand."""
_MISSING: Final = "(missing node)"
_MAX_FILE_BYTES: Final = 1_000_000_000
"""The largest export, which is parsed in memory as a whole and takes several times its size there."""
_SNIFF_BYTES: Final = 65_536
"""How much of a file is searched for the keys of an export."""
_GROUPS: Final = 64
"""Units into which the notes of an export are grouped by their ids. The number never changes: groups that did not
change are not read in again, and an unreadable export has the same groups as the one before it, so that nothing
stored is lost."""
_MAX_TITLE_CHARACTERS: Final = 120
"""A longer name becomes the text of its note."""
_CUT_TITLE_CHARACTERS: Final = 60
"""How much of such a name is the title; more would only print the same words twice."""
_MAX_NAME_NESTING: Final = 4
"""How deep names are expanded that refer to nodes whose names refer to others, also in circles."""
_KINDS: Final = {TAG_TYPE: "supertag", "journal": "calendar", "journalPart": "calendar", "codeblock": "code"}

_NODE_REFERENCE: Final = re.compile(
    r'<span\b[^<>]*?\bdata-inlineref-node="([^"<>]*)"[^<>]*>(.*?)</span>', re.IGNORECASE | re.DOTALL
)
_DATE: Final = re.compile(r'<span\b[^<>]*?\bdata-inlineref-date="([^"<>]*)"[^<>]*>.*?</span>', re.I | re.DOTALL)
_LINK: Final = re.compile(r'<a\b[^<>]*?\bhref="([^"<>]*)"[^<>]*>(.*?)</a>', re.IGNORECASE | re.DOTALL)
_LINE_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_MARKUP: Final = re.compile(
    r"</?(?:a|b|code|del|div|em|i|ins|mark|p|s|span|strike|strong|sub|sup|u)\b[^<>]*>", re.I
)
# `[[name^id]]`; the id may be missing.
_BRACKETS: Final = re.compile(r"\[\[([^\[\]^]+)(?:\^([\w-]+))?\]\]")

FindTitle = Callable[[str], str]
"""Returns the readable name of a node by its id, or an empty text when there is no such node."""


class Tana:
    """The exports of Tana among the files of one source."""

    suffixes = frozenset({".json"})

    def __init__(self, settings: SourceSettings) -> None:
        self.settings = settings
        self._units: dict[str, Unit] = {}

    def takes(self, file: File) -> bool:
        """Take a file that begins like an export of Tana."""
        try:
            with file.path.open("rb") as stream:
                return looks_like_tana(stream.read(_SNIFF_BYTES))
        except OSError:
            return False

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """List the (name, hash of the content) of each group of notes; of an unreadable export, every group."""
        self._units.clear()
        for file in files:
            # The whole export is read to list its units, so their content is kept for `read`.
            for unit in self._read_export(file):
                self._units[unit.name] = unit
                yield unit.name, unit.stamp or UNREADABLE

    def read(self, unit: str) -> Unit:
        """Return the notes of one group."""
        return self._units[unit]

    def _read_export(self, file: File) -> Iterator[Unit]:
        content, problem = read_bytes(file, _MAX_FILE_BYTES)
        docs, problems = read_docs(content, file.name) if problem is None else (None, (problem,))
        if docs is None:
            yield from _unreadable_groups(file, problems)
            return
        groups: dict[int, list[NoteNode]] = {}
        for note in Workspace(Docs(docs), self.settings, file.name).note_nodes():
            # By a hash of the key, so that a note stays in its group when others come or go.
            key_hash = xxhash.xxh3_64_intdigest(note.node.key.encode("utf-8", "surrogatepass"))
            groups.setdefault(key_hash % _GROUPS, []).append(note)
        for number, notes in sorted(groups.items()):
            nodes = tuple(note.node for note in notes)
            edges = tuple(edge for note in notes for edge in note.edges)
            yield Unit(f"{file.name}#{number}", _digest([nodes, edges]), nodes, edges)
        # A unit of its own, so that problems are reported even if no group changed.
        if problems:
            yield Unit(f"{file.name}#problems", _digest(problems), problems=problems)


def _digest(content: object) -> str:
    return xxhash.xxh3_128_hexdigest(orjson.dumps(content, default=to_plain))


def _unreadable_groups(file: File, problems: tuple[Problem, ...]) -> Iterator[Unit]:
    """Return every possible group with an empty stamp, which keeps what is stored of it."""
    first = Unit(f"{file.name}#0", "", problems=problems)
    yield first
    for number in range(1, _GROUPS):
        yield replace(first, name=f"{file.name}#{number}", problems=())


class NoteNode(Struct, frozen=True):
    """One note as a node, with the edges that it makes."""

    node: Node
    edges: tuple[Edge, ...]


class Workspace(Struct):
    """The documents of one workspace, and the way from them to nodes and edges."""

    docs: Docs
    settings: SourceSettings
    file: str
    _names: "dict[str, PlainName]" = field(default_factory=dict)

    def note_nodes(self) -> Iterator[NoteNode]:
        """Iterate over the notes that have any content, in the order of the export."""
        for doc in self.docs.notes():
            name, description = self._name(doc.id), plain_name(doc.description, self._title)
            fields, values = self._fields(doc)
            if name.text or description.text or fields or doc.children:
                edges = dict.fromkeys(self._edges(doc, values, (*name.references, *description.references)))
                yield NoteNode(self._node(doc, name.text, description.text, fields), tuple(edges))

    def _node(self, doc: Doc, name: str, description: str, fields: dict[str, Json]) -> Node:
        title, text = split_title(name)
        tags = self._all_tags(doc)
        kind = _KINDS.get(doc.type) or (tags[0] if tags else "note")
        if doc.type == TAG_TYPE:
            fields = {**self._schema(doc), **fields}
        return Node(
            key=self._key(doc.id),
            kind=kind,
            tenant=self.settings.tenant,
            title=title or "Untitled",
            text="\n\n".join(part for part in (text, description) if part),
            fields={**({"done": True} if doc.done else {}), **fields, **TANA_FORM, **self._children(doc)},
            tags=tags if doc.type != TAG_TYPE else (),
            origin=Origin(source=self.settings.source, file=self.file, url=node_url(doc.id)),
            created=doc.created,
            modified=doc.modified or doc.created,
        )

    def _children(self, doc: Doc) -> dict[str, Json]:
        """Return the ids of the notes below a note in their order, by which pages print an outline."""
        children = [child for child in doc.children if self.docs.is_note(child)]
        return {"_children": children} if children else {}

    def _key(self, node_id: str) -> str:
        return f"{self.settings.source}:{node_id}"

    def _name(self, node_id: str, depth: int = 0) -> "PlainName":
        """Return the plain name of a node, with the names inside it expanded a few times."""
        known = self._names.get(node_id)
        doc = self.docs.by_id.get(node_id)
        if known is not None or doc is None:
            return known or PlainName("")
        if depth >= _MAX_NAME_NESTING:
            return PlainName("…")
        name = plain_name(doc.name, lambda inner_id: self._name(inner_id, depth + 1).text)
        # A name that was expanded inside another one may be cut short, so only outermost ones are kept.
        if depth == 0:
            self._names[node_id] = name
        return name

    def _title(self, node_id: str) -> str:
        return self._name(node_id).text

    def _all_tags(self, doc: Doc) -> tuple[str, ...]:
        """Return the note's own tags, then those they extend, nearest first."""
        found: dict[str, None] = {}
        level = self.docs.tags_of(doc)
        while level:
            fresh = [tag for tag in level if tag not in found]
            found.update(dict.fromkeys(fresh))
            level = tuple(parent for tag in fresh for parent in self.docs.tags_of(self.docs.by_id[tag]))
        return tuple(dict.fromkeys(name for tag in found if (name := tag_name(self._title(tag)))))

    def _schema(self, doc: Doc) -> dict[str, Json]:
        """Return the names of a supertag's fields and of the supertags it extends."""
        names = list(dict.fromkeys(plain_name(name, self._title).text for name, _ in self.docs.fields_of(doc)))
        extends = [self._title(tag) for tag in self.docs.tags_of(doc)]
        return {**({"extends": extends} if extends else {}), **({"fields": names} if names else {})}

    def _fields(self, doc: Doc) -> tuple[dict[str, Json], list[tuple[str, str]]]:
        """Return the fields of a note, and (field, id) for every value that is a node of its own."""
        values: dict[str, list[str]] = {}
        links: list[tuple[str, str]] = []
        # The rows of a supertag define the fields of its notes, and hold no values of its own.
        for raw, row in self.docs.fields_of(doc) if doc.type != TAG_TYPE else ():
            name = plain_name(raw, self._title).text
            texts = values.setdefault(field_key(name), [])
            for value in row.children[1:]:
                texts += [self._title(value)] if self._title(value) else []
                links += [(name, target) for target in self._value_targets(value, row)]
        fields: dict[str, Json] = {
            key: texts[0] if len(texts) == 1 else texts for key, texts in values.items() if texts
        }
        images = self.docs.images_of(doc)
        return {**fields, **({"images": list(images)} if images else {})}, links

    def _value_targets(self, value: str, row: Doc) -> tuple[str, ...]:
        """Return the ids that a field's value links to: its own if it is a note, or those in its name."""
        doc = self.docs.by_id.get(value)
        if self._may_link(value) and (doc is None or self.docs.is_note(value)):
            return (value,)
        return self._name(value).references if doc is not None and doc.owner == row.id else ()

    def _may_link(self, target: str) -> bool:
        """Return whether a link to a node is drawn: one to a missing node waits, one to an internal is not."""
        return not target.startswith("SYS_") and (target not in self.docs.by_id or self.docs.is_note(target))

    def _edges(self, doc: Doc, values: list[tuple[str, str]], references: tuple[str, ...]) -> Iterator[Edge]:
        edge = Edge(self._key(doc.id), "", "references", tenant=self.settings.tenant)
        # The note below which a supertag was first defined says nothing about it.
        if self.docs.is_note(doc.owner) and doc.type != TAG_TYPE:
            yield replace(edge, source=self._key(doc.owner), target=self._key(doc.id), type="parent")
        for name, target in values:
            if self._may_link(target):
                yield replace(edge, target=self._key(target), type="field", evidence=name)
        for target in (*references, *self._referenced_children(doc)):
            if self._may_link(target) and target != doc.id:
                yield replace(edge, target=self._key(target))
        for tag in self.docs.tags_of(doc):
            if doc.type == TAG_TYPE:
                yield replace(edge, target=self._key(tag), type="extends")
            else:
                yield replace(edge, target=self._key(tag), type="tagged", weight=TAG_WEIGHT)

    def _referenced_children(self, doc: Doc) -> Iterator[str]:
        """Iterate over the children that another node owns, which Tana shows here as references."""
        for child in doc.children:
            child_doc = self.docs.by_id.get(child)
            if child_doc is None or (child_doc.owner != doc.id and child_doc.type not in ("tuple", "metanode")):
                yield child


class PlainName(Struct, frozen=True):
    """A name without markup, and the ids of the nodes that it refers to, in order."""

    text: str
    references: tuple[str, ...] = ()


def plain_name(raw: str, find_title: FindTitle) -> PlainName:
    """Return a name as people read it, with the names of referenced nodes, dates, and addresses of links."""
    # Nearly all names have no markup.
    if "<" not in raw and "[[" not in raw and "&" not in raw:
        return PlainName(clean(raw).strip())
    references: list[str] = []

    def write_reference(match: re.Match[str]) -> str:
        references.append(html.unescape(match[1]))
        # Escaped, because the whole name is unescaped at the end.
        return html.escape(find_title(references[-1]) or _strip_markup(match[2]) or _MISSING, quote=False)

    def write_bracketed(match: re.Match[str]) -> str:
        if match[2]:
            references.append(match[2])
        return match[1]

    # References and dates first: they are spans with content, which stripping the markup would leave behind.
    text = _LINK.sub(_write_link, _DATE.sub(_write_date, _NODE_REFERENCE.sub(write_reference, raw)))
    text = _BRACKETS.sub(write_bracketed, text)
    return PlainName(clean(_strip_markup(text)).strip(), tuple(dict.fromkeys(references)))


def _strip_markup(markup: str) -> str:
    return html.unescape(_MARKUP.sub("", _LINE_BREAK.sub("\n", markup)))


def _write_date(match: re.Match[str]) -> str:
    """Write the date that Tana keeps as JSON inside an attribute; anything else is written as it is."""
    attribute = html.unescape(match[1])
    try:
        value = orjson.loads(attribute)
    except orjson.JSONDecodeError:
        return html.escape(attribute, quote=False)
    date = value.get("dateTimeString") if isinstance(value, dict) else None
    return html.escape(str(date or ""), quote=False)


def _write_link(match: re.Match[str]) -> str:
    words = match[2].strip()
    return match[1] if not words or words == match[1] else f"{words} ({match[1]})"


def split_title(name: str) -> tuple[str, str]:
    """Return a title and a text for a note that has only a name; a long name is the text."""
    first_line = name.partition("\n")[0].strip()
    if len(name) <= _MAX_TITLE_CHARACTERS and "\n" not in name:
        return name, ""
    if len(first_line) > _MAX_TITLE_CHARACTERS:
        first_line = f"{first_line[:_CUT_TITLE_CHARACTERS].rsplit(' ', 1)[0].rstrip(' ,;:.')}…"
    return first_line, name


def tag_name(name: str) -> str:
    """Return a supertag's name as tags and kinds are written: lower case, words joined by `-`."""
    return re.sub(r"\s+", "-", clean(name).strip().lower()).lstrip("#")


def field_key(name: str) -> str:
    """Return a field's name as profiles write it: lower case, words joined by `_`."""
    return re.sub(r"[\s.]+", "_", clean(name).strip().lower())


def node_url(node_id: str) -> str:
    """Return the address that opens a node in Tana."""
    return f"https://app.tana.inc/?nodeid={node_id}"
