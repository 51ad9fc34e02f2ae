"""Names as Tana stores them, with markup and inline references, as plain text."""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Final

import orjson
import xxhash

from weft.frozen import dataclass
from weft.model import Edge, Json, Node, Origin
from weft.ports import Problem, Unit
from weft.sources.files import Naming, clean, read_bytes
from weft.sources.tana.documents import TAG, Doc, Docs, looks_like_tana, read_docs
from weft.sources.walk_files import File

TitleOf = Callable[[str], str]
"""The readable name of a node, by its id; empty when there is no such node."""

MISSING: Final = "(missing node)"

_NODE: Final = re.compile(
    r'<span\b[^<>]*?\bdata-inlineref-node="([^"<>]*)"[^<>]*>(.*?)</span>', re.IGNORECASE | re.DOTALL
)
_DATE: Final = re.compile(r'<span\b[^<>]*?\bdata-inlineref-date="([^"<>]*)"[^<>]*>.*?</span>', re.I | re.DOTALL)
_LINK: Final = re.compile(r'<a\b[^<>]*?\bhref="([^"<>]*)"[^<>]*>(.*?)</a>', re.IGNORECASE | re.DOTALL)
_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_MARKUP: Final = re.compile(
    r"</?(?:a|b|code|del|div|em|i|ins|mark|p|s|span|strike|strong|sub|sup|u)\b[^<>]*>", re.I
)
_BRACKETS: Final = re.compile(r"\[\[([^\[\]^]+)(?:\^([\w-]+))?\]\]")


@dataclass(frozen=True, slots=True)
class PlainName:
    """A name without markup, and the ids of the nodes that it refers to, in order."""

    text: str
    references: tuple[str, ...] = ()


def plain_name(raw: str, title_of: TitleOf) -> PlainName:
    """The name as people read it: references as the names they point to, dates as dates, links with addresses."""
    if "<" not in raw and "[[" not in raw and "&" not in raw:
        return PlainName(clean(raw).strip())
    references: list[str] = []

    def named(match: re.Match[str]) -> str:
        references.append(html.unescape(match[1]))
        return html.escape(title_of(references[-1]) or _stripped(match[2]) or MISSING, quote=False)

    def bracketed(match: re.Match[str]) -> str:
        if match[2]:
            references.append(match[2])
        return match[1]

    text = _BRACKETS.sub(bracketed, _LINK.sub(_linked, _DATE.sub(_dated, _NODE.sub(named, raw))))
    return PlainName(clean(_stripped(text)).strip(), tuple(dict.fromkeys(references)))


def _stripped(markup: str) -> str:
    return html.unescape(_MARKUP.sub("", _BREAK.sub("\n", markup)))


def _dated(match: re.Match[str]) -> str:
    """What Tana keeps as JSON inside an attribute; anything else is shown as it is."""
    said = html.unescape(match[1])
    try:
        value = orjson.loads(said)
    except orjson.JSONDecodeError:
        return html.escape(said, quote=False)
    date = value.get("dateTimeString") if isinstance(value, dict) else None
    return html.escape(str(date or ""), quote=False)


def _linked(match: re.Match[str]) -> str:
    words = match[2].strip()
    return match[1] if not words or words == match[1] else f"{words} ({match[1]})"


_TITLE_LENGTH: Final = 120
_BEGINNING: Final = 60
"""How much of a longer name is its title; the whole name is the text, so more would only be read twice."""
_NESTED_NAMES: Final = 4
TAG_WEIGHT: Final = 0.3
"""What merely bears the same tag is worth less than what is linked by hand."""
_KINDS: Final = {TAG: "supertag", "journal": "calendar", "journalPart": "calendar", "codeblock": "code"}


@dataclass(frozen=True, slots=True)
class Told:
    """One note as a node, with the edges that it makes."""

    node: Node
    edges: tuple[Edge, ...]


def titled(name: str) -> tuple[str, str]:
    """A title and a text for a note that has only a name: a long name is the text, and its beginning the title."""
    line = name.partition("\n")[0].strip()
    if len(name) <= _TITLE_LENGTH and "\n" not in name:
        return name, ""
    if len(line) > _TITLE_LENGTH:
        line = f"{line[:_BEGINNING].rsplit(' ', 1)[0].rstrip(' ,;:.')}…"
    return line, name


def word(name: str) -> str:
    """A tag's name as tags and kinds are written: lower case, words joined by `-`."""
    return re.sub(r"\s+", "-", clean(name).strip().lower()).lstrip("#")


def field_key(name: str) -> str:
    """A field's name as profiles write it: lower case, words joined by `_`."""
    return re.sub(r"[\s.]+", "_", clean(name).strip().lower())


def link_to(node_id: str) -> str:
    """The address that opens a node in Tana."""
    return f"https://app.tana.inc/?nodeid={node_id}"


@dataclass(slots=True)
class Graph:
    """Makes nodes and edges of the documents of one workspace."""

    docs: Docs
    naming: Naming
    file: str
    _names: dict[str, PlainName] = field(default_factory=dict)

    def told(self) -> Iterator[Told]:
        """Every note, in the order of the export."""
        for doc in self.docs.notes():
            told = self._told(doc)
            if told is not None:
                yield told

    def _told(self, doc: Doc) -> Told | None:
        name, description = self._name(doc.id), plain_name(doc.description, self._title)
        fields, values = self._fields(doc)
        if not (name.text or description.text or fields or doc.children):
            return None
        title, text = titled(name.text)
        edges = dict.fromkeys(self._edges(doc, values, (*name.references, *description.references)))
        return Told(self._node(doc, (title or "Untitled", text, description.text), fields), tuple(edges))

    def _node(self, doc: Doc, words: tuple[str, str, str], fields: dict[str, Json]) -> Node:
        title, text, description = words
        tags = self._all_tags(doc)
        kind = _KINDS.get(doc.type) or (tags[0] if tags else "note")
        if doc.type == TAG:
            fields = {**self._schema(doc), **fields}
        return Node(
            key=self._key(doc.id),
            kind=kind,
            tenant=self.naming.tenant,
            title=title,
            text="\n\n".join(part for part in (text, description) if part),
            fields={**({"done": True} if doc.done else {}), **fields},
            tags=tags if doc.type != TAG else (),
            origin=Origin(source=self.naming.source, file=self.file, url=link_to(doc.id)),
            created=doc.created,
            modified=doc.modified or doc.created,
        )

    def _key(self, node_id: str) -> str:
        return f"{self.naming.source}:{node_id}"

    def _name(self, node_id: str, depth: int = 0) -> PlainName:
        """The plain name of a node; names inside names are followed a few times, also in circles."""
        known = self._names.get(node_id)
        doc = self.docs.by_id.get(node_id)
        if known is not None or doc is None:
            return known or PlainName("")
        if depth >= _NESTED_NAMES:
            return PlainName("…")
        name = plain_name(doc.name, lambda each: self._name(each, depth + 1).text)
        if depth == 0:
            self._names[node_id] = name
        return name

    def _title(self, node_id: str) -> str:
        return self._name(node_id).text

    def _all_tags(self, doc: Doc) -> tuple[str, ...]:
        """The note's own tags, then what they extend, nearest first."""
        found: dict[str, None] = {}
        level = self.docs.tags_of(doc)
        while level:
            fresh = [tag for tag in level if tag not in found]
            found.update(dict.fromkeys(fresh))
            level = tuple(parent for tag in fresh for parent in self.docs.tags_of(self.docs.by_id[tag]))
        return tuple(dict.fromkeys(name for tag in found if (name := word(self._title(tag)))))

    def _schema(self, doc: Doc) -> dict[str, Json]:
        names = list(dict.fromkeys(plain_name(name, self._title).text for name, _ in self.docs.fields_of(doc)))
        extends = [self._title(tag) for tag in self.docs.tags_of(doc)]
        return {**({"extends": extends} if extends else {}), **({"fields": names} if names else {})}

    def _fields(self, doc: Doc) -> tuple[dict[str, Json], list[tuple[str, str]]]:
        """The fields of a note, and (field, id) for every value that is a node of its own."""
        values: dict[str, list[str]] = {}
        links: list[tuple[str, str]] = []
        for raw, row in self.docs.fields_of(doc) if doc.type != TAG else ():
            name = plain_name(raw, self._title).text
            said = values.setdefault(field_key(name), [])
            for each in row.children[1:]:
                said += [self._title(each)] if self._title(each) else []
                links += [(name, target) for target in self._targets(each, row)]
        fields: dict[str, Json] = {
            key: said[0] if len(said) == 1 else said for key, said in values.items() if said
        }
        images = self.docs.images_of(doc)
        return {**fields, **({"images": list(images)} if images else {})}, links

    def _targets(self, value: str, row: Doc) -> tuple[str, ...]:
        """What a value leads to: itself when it is a note, and what its name refers to."""
        doc = self.docs.by_id.get(value)
        itself = (value,) if self._may_link(value) and (doc is None or self.docs.is_note(value)) else ()
        return itself or (self._name(value).references if doc is not None and doc.owner == row.id else ())

    def _may_link(self, target: str) -> bool:
        """Links to what is missing wait for it; links to machinery and trash are not drawn."""
        return not target.startswith("SYS_") and (target not in self.docs.by_id or self.docs.is_note(target))

    def _edges(self, doc: Doc, values: list[tuple[str, str]], named: tuple[str, ...]) -> Iterator[Edge]:
        here = Edge(self._key(doc.id), "", "references", tenant=self.naming.tenant)
        if self.docs.is_note(doc.owner) and doc.type != TAG:
            yield replace(here, source=self._key(doc.owner), target=self._key(doc.id), type="parent")
        for name, target in values:
            if self._may_link(target):
                yield replace(here, target=self._key(target), type="field", evidence=name)
        for target in (*named, *self._referred(doc)):
            if self._may_link(target) and target != doc.id:
                yield replace(here, target=self._key(target))
        for tag in self.docs.tags_of(doc):
            made = "extends" if doc.type == TAG else "tagged"
            yield replace(here, target=self._key(tag), type=made, weight=1.0 if doc.type == TAG else TAG_WEIGHT)

    def _referred(self, doc: Doc) -> Iterator[str]:
        """Children that live elsewhere: Tana shows them here as references."""
        for child in doc.children:
            below = self.docs.by_id.get(child)
            if below is None or (below.owner != doc.id and below.type not in ("tuple", "metanode")):
                yield child


_MAX_FILE: Final = 1_000_000_000
_GROUPS: Final = 64
"""Notes are grouped by their id into this many units, always: groups that did not change are not read in again,
and an export that cannot be read has the same groups as the one before it, so that nothing is lost."""
_SNIFF: Final = 65_536


class Tana:
    """Exports of Tana among the files of one source."""

    suffixes = frozenset({".json"})

    def __init__(self, naming: Naming) -> None:
        self.naming = naming
        self._units: dict[str, Unit] = {}

    def takes(self, file: File) -> bool:
        """Whether the file begins like an export of Tana."""
        try:
            with file.path.open("rb") as stream:
                return looks_like_tana(stream.read(_SNIFF))
        except OSError:
            return False

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """The (name, hash of the content) of each group of notes; of an unreadable export, of all there can be."""
        self._units.clear()
        for file in files:
            for unit in self._understood(file):
                self._units[unit.name] = unit
                yield unit.name, unit.stamp or "unreadable"

    def read(self, unit: str) -> Unit:
        """The notes of one group."""
        return self._units[unit]

    def _understood(self, file: File) -> Iterator[Unit]:
        content, problem = read_bytes(file, _MAX_FILE)
        docs, problems = read_docs(content, file.name) if problem is None else (None, (problem,))
        if docs is None:
            yield from _unreadable(file, problems)
            return
        groups: dict[int, list[Told]] = {}
        for told in Graph(Docs(docs), self.naming, file.name).told():
            groups.setdefault(_group_of(told.node.key), []).append(told)
        for number, members in sorted(groups.items()):
            yield _unit(f"{file.name}#{number}", members)
        if problems:
            yield Unit(f"{file.name}#problems", _digest(problems), problems=problems)


def _group_of(key: str) -> int:
    return xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass")) % _GROUPS


def _unit(name: str, members: Sequence[Told]) -> Unit:
    nodes = tuple(told.node for told in members)
    edges = tuple(edge for told in members for edge in told.edges)
    return Unit(name, _digest([nodes, edges]), nodes, edges)


def _digest(content: object) -> str:
    return xxhash.xxh3_128_hexdigest(orjson.dumps(content, default=str))


def _unreadable(file: File, problems: tuple[Problem, ...]) -> Iterator[Unit]:
    """All groups there can be, none of them readable: what was stored of them stays."""
    first = Unit(f"{file.name}#0", "", problems=problems)
    yield first
    for number in range(1, _GROUPS):
        yield replace(first, name=f"{file.name}#{number}", problems=())
