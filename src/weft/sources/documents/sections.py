"""Split a document into nodes: one for itself and one for each section, of the kind that its heading names."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct, field

from weft.model import Edge, Json, Node, Origin
from weft.sources.files import SourceSettings
from weft.text.slugs import number_repeated, title_slug

_NAMES_ONE: Final[Mapping[str, re.Pattern[str]]] = {
    "requirement": re.compile(
        r"(?:(?i:(?:(?:non-)?functional|system|user|business) )?(?i:requirement)\b|(?:REQ|FR|NFR|SRS)[-_ ]?\d)"
    ),
    "feature": re.compile(r"(?:(?i:feature|user story)\b|(?:FEAT|US)[-_ ]?\d|F-?\d+(?:[.-]\d+)*\b)"),
}
"""Headings that name one requirement or feature: `Requirement: …`, `REQ-12 …`, `Feature 3 …`, `F6.3 …`."""
_NAMES_MANY: Final[Mapping[str, re.Pattern[str]]] = {
    "requirement": re.compile(r"\brequirements\s*$", re.IGNORECASE),
    "feature": re.compile(r"\bfeatures\s*$", re.IGNORECASE),
}
"""Headings under which every section is one requirement or feature."""
_LABELS: Final = re.compile(r"^(?:\.\. _.*:|:orphan:)[ \t]*$", re.MULTILINE)
"""Lines of reStructuredText that only give the title below them a name to refer to."""
_MAX_LISTED_SECTIONS: Final = 12
"""How many sections the summary of a part without text of its own lists: about as many as fit on two lines."""


class Heading(Struct, frozen=True):
    """A heading of a document: its level, and the offsets in the text where it and its section's body begin."""

    level: int
    title: str
    start: int
    body: int
    page: int | None = None


class Document(Struct, frozen=True):
    """A text and its headings in order.

    `first_line` is the file's line on which the text begins, None where the text is not made of the file's own
    lines. `links` are the names of other files of the source.
    """

    title: str
    text: str
    headings: tuple[Heading, ...] = ()
    language: str | None = None
    first_line: int | None = 1
    links: tuple[str, ...] = ()
    fields: Mapping[str, Json] = field(default_factory=dict)


class _Part(Struct, frozen=True):
    """The document itself or one section: `span` is its text without the sections below it, `parent` an index."""

    title: str
    kind: str
    span: tuple[int, int]
    parent: int | None = None
    path: tuple[str, ...] = ()
    page: int | None = None


def kind_in_heading(title: str) -> str | None:
    """Return `requirement` or `feature` if a heading names one, else None."""
    return next((kind for kind, pattern in _NAMES_ONE.items() if pattern.match(title.strip())), None)


def has_named_kinds(headings: Sequence[Heading]) -> bool:
    """Return whether any section under these headings is a requirement or a feature."""
    parts = _split_parts(Document("", "", tuple(headings)))
    return any(part.kind not in ("document", "section") for part in parts)


def document_nodes(
    document: Document, name: str, settings: SourceSettings, modified: datetime | None
) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
    """Return the nodes of a document and its sections, and the edges between them and to other documents."""
    parts = _split_parts(document)
    keys = _part_keys(f"{settings.source}:{name}", parts)
    summaries = _list_subsections(parts)
    # Keys are made for all parts before some are dropped, so that text added to one part renames no other.
    kept = [index for index, part in enumerate(parts) if _is_worth_a_node(document, part, summaries[index])]
    nodes = tuple(
        _part_node(document, parts[index], (keys[index], name, summaries[index]), settings, modified)
        for index in kept
    )
    edges = [
        Edge(keys[parent], keys[index], "contains", tenant=settings.tenant)
        for index in kept
        if (parent := parts[index].parent) is not None
    ]
    targets = dict.fromkeys(f"{settings.source}:{link}" for link in document.links if link != name)
    edges += [Edge(keys[0], target, "links", tenant=settings.tenant) for target in targets]
    return nodes, tuple(edges)


def _split_parts(document: Document) -> list[_Part]:
    """Return the document itself, then its sections in order."""
    headings, title, begin = list(document.headings), document.title, 0
    if headings and _is_document_title(headings, title):
        title_heading = headings.pop(0)
        title = title_heading.title
        # Text above the title, such as a notice, belongs to the document; otherwise it begins below its heading.
        above = document.text[: title_heading.start]
        if document.language == "rst":
            above = _LABELS.sub("", above)
        begin = 0 if above.strip() else title_heading.body
    ends = [*(heading.start for heading in headings), len(document.text)]
    parts = [_Part(title, kind_in_heading(title) or "document", (begin, ends[0]))]
    # The (level, index) of the headings that the current one is nested in.
    open_headings: list[tuple[int, int]] = []
    for index, heading in enumerate(headings, start=1):
        open_headings = [outer for outer in open_headings if outer[0] < heading.level]
        parent = open_headings[-1][1] if open_headings else 0
        path = (*parts[parent].path, parts[parent].title) if parts[parent].title else ()
        # Two headings of an outline may point to the same words; the first one's section is then empty.
        span = (heading.body, max(heading.body, ends[index]))
        parts.append(
            _Part(heading.title, _section_kind(heading.title, parts[parent]), span, parent, path, heading.page)
        )
        open_headings.append((heading.level, index))
    return parts


def _is_document_title(headings: Sequence[Heading], title: str) -> bool:
    """Return whether the first heading stands above all others and is the document's own title."""
    first, *others = headings
    return title in ("", first.title) and all(heading.level > first.level for heading in others)


def _section_kind(title: str, parent: _Part) -> str:
    """Return the kind that a heading names, or the one above it: each section under `Requirements` is one."""
    kind_above = (kind for kind, pattern in _NAMES_MANY.items() if pattern.search(parent.title))
    return kind_in_heading(title) or next(kind_above, "section")


def _part_keys(document: str, parts: Sequence[_Part]) -> list[str]:
    """Return the key of the document and of each section after it, numbered where titles are the same."""
    # By title and not by number, so that a section keeps its key when others are added before it.
    slugs = number_repeated(title_slug(part.title) or "section" for part in parts[1:])
    return [document, *(f"{document}#{slug}" for slug in slugs)]


def _part_node(
    document: Document,
    part: _Part,
    labels: tuple[str, str, str],
    settings: SourceSettings,
    modified: datetime | None,
) -> Node:
    key, name, summary = labels
    start, end = part.span
    text = document.text[start:end].strip("\n")
    first = last = None
    if document.first_line is not None:
        # The node's text has no blank lines at its beginning, so its first line is counted behind them.
        blank = len(document.text[start:end]) - len(document.text[start:end].lstrip("\n"))
        first = document.first_line + document.text.count("\n", 0, start + blank)
        last = first + text.count("\n")
    return Node(
        key=key,
        kind=part.kind,
        tenant=settings.tenant,
        title=part.title,
        summary="" if text.strip() else summary,
        text=text,
        language=document.language,
        fields=dict(_part_fields(document, part)),
        origin=Origin(settings.source, name, first, last),
        modified=modified,
    )


def _is_worth_a_node(document: Document, part: _Part, summary: str) -> bool:
    """Return whether a part has text or sections; a requirement or feature is kept even as a heading alone."""
    content = document.text[slice(*part.span)].strip() or summary
    return bool(content) or part.kind not in ("document", "section")


def _list_subsections(parts: Sequence[_Part]) -> list[str]:
    """Return for each part a summary that lists the sections directly below it, for parts without text."""
    titles_below: list[list[str]] = [[] for _ in parts]
    for part in parts:
        if part.parent is not None:
            titles_below[part.parent].append(part.title)
    return [_list_titles(titles) for titles in titles_below]


def _list_titles(titles: Sequence[str]) -> str:
    left_out = len(titles) - _MAX_LISTED_SECTIONS
    more = f", and {left_out} more" if left_out > 0 else ""
    return f"Sections: {', '.join(titles[:_MAX_LISTED_SECTIONS])}{more}." if titles else ""


def _part_fields(document: Document, part: _Part) -> Iterator[tuple[str, Json]]:
    if part.parent is None:
        yield from document.fields.items()
    if part.path:
        yield "within", " › ".join(part.path)
    if part.page is not None:
        yield "page", part.page
