"""A Tana workspace as nodes and edges: notes with their fields, tags, parents and references."""

import re
from collections.abc import Iterator
from dataclasses import field, replace
from typing import Final

from weft.frozen import dataclass
from weft.model import Edge, Json, Node, Origin
from weft.sources.files import Naming, clean
from weft.sources.tana_docs import TAG, Doc, Docs
from weft.sources.tana_names import PlainName, plain_name

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
