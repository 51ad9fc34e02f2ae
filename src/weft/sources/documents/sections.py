"""A document becomes a node for itself and one for each section, of the kind that its heading says."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Final

from weft.frozen import dataclass
from weft.model import Edge, Json, Node, Origin
from weft.sources.files import Naming

_ONE: Final[Mapping[str, re.Pattern[str]]] = {
    "requirement": re.compile(
        r"(?:(?i:(?:(?:non-)?functional|system|user|business) )?(?i:requirement)\b|(?:REQ|FR|NFR|SRS)[-_ ]?\d)"
    ),
    "feature": re.compile(r"(?:(?i:feature|user story)\b|(?:FEAT|US)[-_ ]?\d|F-?\d+(?:[.-]\d+)*\b)"),
}
"""Headings of one requirement or feature: `Requirement: …`, `REQ-12 …`, `Feature 3 …`, `F6.3 …`."""
_MANY: Final[Mapping[str, re.Pattern[str]]] = {
    "requirement": re.compile(r"\brequirements\s*$", re.IGNORECASE),
    "feature": re.compile(r"\bfeatures\s*$", re.IGNORECASE),
}
"""Headings whose sections are one each."""
_NO_SLUG: Final = re.compile(r"[^\w.]+")
_OUTLINE: Final = 12
"""How many sections the summary of a document without words of its own names."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document: how deep it stands, where it begins in the text, and where what it heads begins."""

    level: int
    title: str
    start: int
    body: int
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A text and its headings in order. `first_line` is the file's line on which the text begins, None where the
    text is not made of the file's own lines. `links` are the names of other files of the source."""

    title: str
    text: str
    headings: tuple[Heading, ...] = ()
    language: str | None = None
    first_line: int | None = 1
    links: tuple[str, ...] = ()
    fields: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Part:
    """One section: its heading, what it says without the sections below it, and its place among the parts."""

    title: str
    kind: str
    span: tuple[int, int]
    parent: int | None = None
    path: tuple[str, ...] = ()
    page: int | None = None


def kind_said(title: str) -> str | None:
    """`requirement` or `feature` where a heading says that it is about one."""
    return next((kind for kind, pattern in _ONE.items() if pattern.match(title.strip())), None)


def speaks_of_kinds(headings: Sequence[Heading]) -> bool:
    """Whether any section of the headings is a requirement or a feature."""
    parts = _parts(Document("", "", tuple(headings)))
    return any(part.kind not in ("document", "section") for part in parts)


def nodes_of(
    document: Document, name: str, naming: Naming, modified: datetime | None
) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
    """The document and its sections, the links from each to those it contains, and those to other documents."""
    parts = _parts(document)
    keys = _keys(f"{naming.source}:{name}", parts)
    outlines = _outlines(parts)
    kept = [place for place, part in enumerate(parts) if _says_something(document, part, outlines[place])]
    nodes = tuple(
        _node(document, parts[place], (keys[place], name, outlines[place]), naming, modified) for place in kept
    )
    edges = [
        Edge(keys[above], keys[place], "contains", tenant=naming.tenant)
        for place in kept
        if (above := parts[place].parent) is not None
    ]
    targets = dict.fromkeys(f"{naming.source}:{link}" for link in document.links if link != name)
    edges += [Edge(keys[0], target, "links", tenant=naming.tenant) for target in targets]
    return nodes, tuple(edges)


def _parts(document: Document) -> list[_Part]:
    """The document itself, then its sections in order; a single heading above all others is the document's own."""
    headings, title, begin = list(document.headings), document.title, 0
    if headings and _is_own(headings, title):
        own = headings.pop(0)
        title = own.title
        begin = 0 if document.text[: own.start].strip() else own.body
    ends = [*(heading.start for heading in headings), len(document.text)]
    parts = [_Part(title, kind_said(title) or "document", (begin, ends[0]))]
    above: list[tuple[int, int]] = []
    for place, heading in enumerate(headings, start=1):
        above = [each for each in above if each[0] < heading.level]
        parent = above[-1][1] if above else 0
        path = (*parts[parent].path, parts[parent].title) if parts[parent].title else ()
        span = (heading.body, max(heading.body, ends[place]))
        parts.append(_Part(heading.title, _kind(heading.title, parts[parent]), span, parent, path, heading.page))
        above.append((heading.level, place))
    return parts


def _is_own(headings: Sequence[Heading], title: str) -> bool:
    return title in ("", headings[0].title) and all(each.level > headings[0].level for each in headings[1:])


def _kind(title: str, parent: _Part) -> str:
    """What a heading says, or the heading above it: what stands under `Requirements` is one each."""
    said = kind_said(title)
    return said or next((kind for kind, many in _MANY.items() if many.search(parent.title)), "section")


def _keys(document: str, parts: Sequence[_Part]) -> list[str]:
    """The key of the document and of each section after it, told apart by number where titles are the same."""
    met: dict[str, int] = {}
    keys = [document]
    for part in parts[1:]:
        slug = _NO_SLUG.sub("-", part.title.lower()).strip("-")[:80] or "section"
        met[slug] = met.get(slug, 0) + 1
        keys.append(f"{document}#{slug}" + (f"-{met[slug]}" if met[slug] > 1 else ""))
    return keys


def _node(
    document: Document, part: _Part, named: tuple[str, str, str], naming: Naming, modified: datetime | None
) -> Node:
    key, name, outline = named
    start, end = part.span
    text = document.text[start:end].strip("\n")
    first = last = None
    if document.first_line is not None:
        blank = len(document.text[start:end]) - len(document.text[start:end].lstrip("\n"))
        first = document.first_line + document.text.count("\n", 0, start + blank)
        last = first + text.count("\n")
    return Node(
        key=key,
        kind=part.kind,
        tenant=naming.tenant,
        title=part.title,
        summary="" if text.strip() else outline,
        text=text,
        language=document.language,
        fields=dict(_fields(document, part)),
        origin=Origin(naming.source, name, first, last),
        modified=modified,
    )


def _says_something(document: Document, part: _Part, outline: str) -> bool:
    """Whether a part has words or sections; one that is only a name is kept where the name says what it is."""
    told = document.text[slice(*part.span)].strip() or outline
    return bool(told) or part.kind not in ("document", "section")


def _outlines(parts: Sequence[_Part]) -> list[str]:
    """The names of the sections directly below each part, which stand for its words where it has none."""
    below: list[list[str]] = [[] for _ in parts]
    for part in parts:
        if part.parent is not None:
            below[part.parent].append(part.title)
    return [_outline(titles) for titles in below]


def _outline(titles: Sequence[str]) -> str:
    more = f", and {len(titles) - _OUTLINE} more" if len(titles) > _OUTLINE else ""
    return f"Sections: {', '.join(titles[:_OUTLINE])}{more}." if titles else ""


def _fields(document: Document, part: _Part) -> Iterator[tuple[str, Json]]:
    if part.parent is None:
        yield from document.fields.items()
    if part.path:
        yield "within", " › ".join(part.path)
    if part.page is not None:
        yield "page", part.page
