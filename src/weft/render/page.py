"""Turn a page into its text and manifest, in one of the four formats."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import ClassVar, Final, Protocol

from msgspec import Struct

from weft.errors import UnknownName
from weft.model import (
    Candidate,
    Citation,
    Detail,
    Item,
    Json,
    ManifestEntry,
    Node,
    Page,
    PlacedGroup,
    PlacedSection,
)
from weft.profiles.types import Frame
from weft.render.blocks import ItemStyle, Phrase, Piece, Prose, Title, build_pieces
from weft.render.harmless import one_line
from weft.render.lines import (
    BLANK,
    Lines,
    frame_lines,
    indent_lines,
    make_bullet,
    node_line,
)
from weft.render.node_values import Dialect, display_name, format_reference, format_related_link

# Module and class of each format; a format is imported when it is first asked for.
_FORMAT_CLASSES: Final = {
    "markdown": ("markdown", "Markdown"),
    "xml": ("xml", "Xml"),
    "plain": ("plain", "Plain"),
    "json": ("json_text", "JsonText"),
}
FORMATS: Final = tuple(_FORMAT_CLASSES)
"""The names of the formats, the default first."""


class Format(Protocol):
    """One way to print a page: every method returns the lines of one component; joined, they are the page.

    Whatever separates a component from the one above is among its own lines, so that the costs of the components
    add up to the cost of the page.
    """

    @property
    def name(self) -> str:
        """The name by which a request chooses the format."""
        ...

    def head(self, title: str) -> tuple[Lines, ...]:
        """Print the opening of the page."""
        ...

    def section(self, name: str, heading: str, first: bool, separator: bool) -> tuple[Lines, ...]:
        """Print the opening of a section; `separator` asks for a rule above all but the first."""
        ...

    def section_end(self) -> tuple[Lines, ...]:
        """Print the end of a section."""
        ...

    def group(self, subject: Candidate) -> tuple[Lines, ...]:
        """Print the opening of one subject's group."""
        ...

    def group_end(self) -> tuple[Lines, ...]:
        """Print the end of a group."""
        ...

    def part(self, label: str) -> tuple[Lines, ...]:
        """Print the opening of a part of a group."""
        ...

    def part_end(self) -> tuple[Lines, ...]:
        """Print the end of a part."""
        ...

    def item(self, item: Item, style: ItemStyle) -> tuple[Lines, ...]:
        """Print one item at its level of detail."""
        ...

    def before_pointers(self) -> tuple[Lines, ...]:
        """Print what separates a list of pointers from the items above it."""
        ...

    def metadata(self, metadata: Mapping[str, Json]) -> tuple[Lines, ...]:
        """Print how the page was made, in formats that programs read."""
        ...

    def notes(self, notes: Sequence[str]) -> tuple[Lines, ...]:
        """Print the notes to the reader."""
        ...

    def footer(self, text: str) -> tuple[Lines, ...]:
        """Print the footer."""
        ...

    def sources(self, citations: Sequence[Citation]) -> tuple[Lines, ...]:
        """Print the list of citations."""
        ...

    def end(self) -> tuple[Lines, ...]:
        """Print the end of the page."""
        ...

    def finish(self, lines: Sequence[Lines]) -> tuple[Lines, ...]:
        """Return all lines of a page as they are printed in the end."""
        ...


class LineFormat(Struct, frozen=True):
    """A format whose sections, groups and parts need no closing line, and whose items follow a blank line."""

    dialect: ClassVar[Dialect]

    def item(self, item: Item, style: ItemStyle) -> tuple[Lines, ...]:
        """Print the item at its level of detail, with the blank line that separates it from what is above."""
        if item.detail is Detail.DROPPED:
            return ()
        if item.detail is Detail.POINTER:
            return (self._pointer(item, style),)
        pieces = build_pieces(item, style, self.dialect)
        if item.level:
            return self._nested(item, pieces, style)
        above = (BLANK,) if _needs_blank_above(pieces, style) else ()
        return (*above, *self.item_lines(item.candidate.node, pieces, style))

    def _nested(self, item: Item, pieces: Sequence[Piece], style: ItemStyle) -> tuple[Lines, ...]:
        """Print an item of an outline as a bullet below the item that it belongs to, without its location."""
        node = item.candidate.node
        title = next((piece for piece in pieces if isinstance(piece, Title)), Title(display_name(node)))
        others = [piece for piece in pieces if not isinstance(piece, Title | Phrase)]
        lines = self.item_lines(node, others, style)
        # A long name is the text of its note, and its beginning the title.
        begins = node.text.strip().startswith(node.title.rstrip("…")) and any(isinstance(p, Prose) for p in others)
        kind = f" ({title.kind})" if title.kind else ""
        words = self.dialect.inline("".join([kind, *(f" {tag}" for tag in title.tags)]))
        head = [] if begins and not words else [node_line(node, f"{self.guard_name(title.text)}{words}")]
        return tuple(indent_lines(make_bullet([*head, *lines]), item.level - 1))

    def _pointer(self, item: Item, style: ItemStyle) -> Lines:
        """Print one line with the node's name, its kind and how to find it, and its link if it is related."""
        node = item.candidate.node
        link = format_related_link(item.candidate, style.related_edge_types)
        details = f"{one_line(node.kind)}, {format_reference(node)}{f'; {link}' if link else ''}"
        return node_line(node, f"- {self.guard_name(display_name(node))} ({self.dialect.inline(details)})")

    @staticmethod
    @abstractmethod
    def guard_name(name: str) -> str:
        """Make a name harmless behind a bullet."""

    @staticmethod
    @abstractmethod
    def item_lines(node: Node, pieces: Sequence[Piece], style: ItemStyle) -> list[Lines]:
        """Print the pieces of an item."""

    def section_end(self) -> tuple[Lines, ...]:
        """Print nothing: the next heading ends a section."""
        return ()

    def group_end(self) -> tuple[Lines, ...]:
        """Print nothing: the next heading ends a group."""
        return ()

    def part_end(self) -> tuple[Lines, ...]:
        """Print nothing: the next label ends a part."""
        return ()

    def before_pointers(self) -> tuple[Lines, ...]:
        """Print a blank line."""
        return (BLANK,)

    def metadata(self, metadata: Mapping[str, Json]) -> tuple[Lines, ...]:
        """Print nothing: people ask for it with `--explain`."""
        return ()

    def finish(self, lines: Sequence[Lines]) -> tuple[Lines, ...]:
        """Return the lines as they are."""
        return tuple(lines)

    def end(self) -> tuple[Lines, ...]:
        """Print nothing: the page needs no closing."""
        return ()


def section_heading(heading: str, first: bool, separator: bool) -> tuple[Lines, ...]:
    """Return a section's heading, if it has one, below a blank line and perhaps a rule."""
    rule = frame_lines("", "---") if separator and not first else ()
    return (*rule, *frame_lines("", heading)) if heading else rule


def _needs_blank_above(pieces: Sequence[Piece], style: ItemStyle) -> bool:
    """Return whether a blank line goes above: not for bullets, nor for items of a part that have no title."""
    if not pieces or (isinstance(pieces[0], Prose) and pieces[0].role == "bullet"):
        return False
    # Level 4 is an item of a part, which follows the part's label.
    return style.level < 4 or isinstance(pieces[0], Title)


PrintItem = Callable[[Item, ItemStyle], tuple[Lines, ...]]


def render_lines(
    page: Page,
    format: Format,
    styles: Mapping[str, ItemStyle],
    frame: Frame,
    print_item: PrintItem | None = None,
) -> tuple[Lines, ...]:
    """Return all lines of the page in order, without a blank line at its beginning.

    `styles` maps section names, or "section/part", to the style of their items. A caller that has printed the
    items already, to know their cost, passes a `print_item` that returns the printed lines.
    """
    lines: list[Lines] = []
    for component in _render_components(page, format, styles, frame, print_item or format.item):
        # Every component brings the blank line above it, which the first one must not print.
        lines += component if lines or not component or component[0].text else component[1:]
    return format.finish(lines)


def _render_components(
    page: Page, format: Format, styles: Mapping[str, ItemStyle], frame: Frame, print_item: PrintItem
) -> Iterator[tuple[Lines, ...]]:
    yield format.head(page.title)
    # Whether a section is the first depends on what is printed, not on what the profile lists.
    printed = [section for section in page.sections if section.items or section.groups]
    for index, section in enumerate(printed):
        yield format.section(section.name, section.heading, index == 0, frame.separator)
        if section.items:
            yield from _render_items(section.items, styles[section.name], format, print_item)
        for group in section.groups:
            yield from _render_group(section, group, format, styles, print_item)
        yield format.section_end()
    yield format.metadata(page.metadata)
    if frame.notes:
        yield format.notes(page.notes)
    # The footer counts what stands above it, so it comes last.
    yield format.sources(page.sources[: frame.sources])
    yield format.footer(page.footer)
    yield format.end()


def _render_items(
    items: Sequence[Item], style: ItemStyle, format: Format, print_item: PrintItem
) -> Iterator[tuple[Lines, ...]]:
    """Print the items; pointers at their end are separated from what is above, unless that is a list too."""
    bullets = any(block.block == "bullet" for block in style.blocks)
    # Items of a part (level 4) follow its label directly, and bullets are a list themselves.
    above = Detail.POINTER if bullets or style.level > 3 else None
    for item in items:
        if item.detail is Detail.POINTER and above is not Detail.POINTER:
            yield format.before_pointers()
        yield print_item(item, style)
        above = Detail.POINTER if bullets else item.detail


def _render_group(
    section: PlacedSection,
    group: PlacedGroup,
    format: Format,
    styles: Mapping[str, ItemStyle],
    print_item: PrintItem,
) -> Iterator[tuple[Lines, ...]]:
    yield format.group(group.subject)
    for part in group.parts:
        if part.items:
            yield format.part(part.heading)
            yield from _render_items(part.items, styles[f"{section.name}/{part.name}"], format, print_item)
            yield format.part_end()
    yield format.group_end()


@cache
def open_format(name: str) -> Format:
    """Return the format of that name; raise UnknownName, which lists the formats, for any other."""
    if name not in _FORMAT_CLASSES:
        raise UnknownName("format", name, FORMATS)
    module, class_name = _FORMAT_CLASSES[name]
    format: Format = getattr(import_module(f"weft.render.{module}"), class_name)()
    return format


def build_manifest(lines: Sequence[Lines]) -> tuple[ManifestEntry, ...]:
    """Return the source of every line, counted from 1; neighbours from one place are merged into a range."""
    entries: list[ManifestEntry] = []
    printed, start = 0, 0
    for index, current in enumerate(lines):
        printed += current.count
        # Only where the source breaks off, so that a quoted file is one entry and not hundreds.
        if index + 1 == len(lines) or not _continues(current, lines[index + 1]):
            first = entries[-1].last_line + 1 if entries else 1
            entries.append(_range_entry(lines[start], current, first, printed))
            start = index + 1
    return tuple(entries)


def _continues(lines: Lines, following: Lines) -> bool:
    """Return whether the following lines go on in the same source where these end."""
    if following.key is None or lines.key is None:
        return following.key is lines.key
    if lines.source_line is None or following.source_line is None:
        adjacent = lines.source_line is following.source_line
    else:
        adjacent = following.source_line == lines.source_line + lines.count
    return (
        adjacent
        and lines.key == following.key
        and lines.tenant == following.tenant
        and lines.verbatim is following.verbatim
        and lines.origin == following.origin
    )


def _range_entry(first: Lines, last: Lines, first_line: int, last_line: int) -> ManifestEntry:
    source_end = None if last.source_line is None else last.source_line + last.count - 1
    source = (first.key, first.tenant, first.origin, first.source_line)
    return ManifestEntry(first_line, last_line, *source, source_end, first.verbatim)
