"""A page and a format become a text and its manifest."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Final, Protocol

from weft.errors import UnknownName
from weft.model import Candidate, Citation, Detail, Item, ManifestEntry, Page, PlacedGroup, PlacedSection
from weft.profiles.types import Frame
from weft.render.body import ItemStyle
from weft.render.lines import Lines, manifest_of, text_of


class Format(Protocol):
    """One way to print a page: every method gives the lines of one part, and the page is all of them joined.

    What separates a part from the one above is among its own lines, so that costs add up.
    """

    @property
    def name(self) -> str:
        """What a request calls the format."""
        ...

    def head(self, title: str) -> tuple[Lines, ...]:
        """The opening of the page."""
        ...

    def section(self, name: str, heading: str, first: bool, separator: bool) -> tuple[Lines, ...]:
        """The opening of a section."""
        ...

    def section_end(self) -> tuple[Lines, ...]:
        """The end of a section."""
        ...

    def group(self, subject: Candidate) -> tuple[Lines, ...]:
        """The opening of one subject's group."""
        ...

    def group_end(self) -> tuple[Lines, ...]:
        """The end of a group."""
        ...

    def part(self, label: str) -> tuple[Lines, ...]:
        """The opening of a part of a group."""
        ...

    def part_end(self) -> tuple[Lines, ...]:
        """The end of a part."""
        ...

    def item(self, item: Item, style: ItemStyle) -> tuple[Lines, ...]:
        """One item at its level of detail."""
        ...

    def before_pointers(self) -> tuple[Lines, ...]:
        """What sets a list of pointers off from the items above it."""
        ...

    def notes(self, notes: Sequence[str]) -> tuple[Lines, ...]:
        """The notes to the reader."""
        ...

    def footer(self, text: str) -> tuple[Lines, ...]:
        """The footer."""
        ...

    def sources(self, citations: Sequence[Citation]) -> tuple[Lines, ...]:
        """The list of citations."""
        ...

    def end(self) -> tuple[Lines, ...]:
        """The end of the page."""
        ...


PrintItem = Callable[[Item, ItemStyle], tuple[Lines, ...]]


def render(
    page: Page,
    format: Format,
    styles: Mapping[str, ItemStyle],
    frame: Frame,
    print_item: PrintItem | None = None,
) -> tuple[str, tuple[ManifestEntry, ...]]:
    """The whole text and the source of each of its lines; `styles` go by section name, or "section/part".

    A caller that has printed the items already, to know their cost, hands them over through `print_item`.
    """
    lines = lines_of(page, format, styles, frame, print_item)
    return text_of(lines), manifest_of(lines)


def lines_of(
    page: Page,
    format: Format,
    styles: Mapping[str, ItemStyle],
    frame: Frame,
    print_item: PrintItem | None = None,
) -> tuple[Lines, ...]:
    """All lines of the page in order; a blank line that would open the text is left out."""
    lines: list[Lines] = []
    for part in _parts(page, format, styles, frame, print_item or format.item):
        lines += part if lines or not part or part[0].text else part[1:]
    return tuple(lines)


def _parts(
    page: Page, format: Format, styles: Mapping[str, ItemStyle], frame: Frame, print_item: PrintItem
) -> Iterator[tuple[Lines, ...]]:
    yield format.head(page.title)
    printed = [section for section in page.sections if section.items or section.groups]
    for index, section in enumerate(printed):
        yield format.section(section.name, section.heading, index == 0, frame.separator)
        if section.items:
            yield from _items(section.items, styles[section.name], format, print_item)
        for group in section.groups:
            yield from _group(section, group, format, styles, print_item)
        yield format.section_end()
    if frame.notes:
        yield format.notes(page.notes)
    yield format.sources(page.sources[: frame.sources])
    yield format.footer(page.footer)
    yield format.end()


def _items(
    items: Sequence[Item], style: ItemStyle, format: Format, print_item: PrintItem
) -> Iterator[tuple[Lines, ...]]:
    """The items; the pointers that end them stand apart from what is above, unless that is a list too."""
    bullets = any(block.block == "bullet" for block in style.blocks)
    above = Detail.POINTER if bullets or style.level > 3 else None
    for item in items:
        if item.detail is Detail.POINTER and above is not Detail.POINTER:
            yield format.before_pointers()
        yield print_item(item, style)
        above = Detail.POINTER if bullets else item.detail


def _group(
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
            yield from _items(part.items, styles[f"{section.name}/{part.name}"], format, print_item)
            yield format.part_end()
    yield format.group_end()


_CLASSES: Final = {
    "markdown": ("markdown", "Markdown"),
    "xml": ("xml", "Xml"),
    "plain": ("plain", "Plain"),
    "json": ("json_text", "JsonText"),
}

FORMATS: Final = tuple(_CLASSES)


@cache
def open_format(name: str) -> Format:
    """The format of that name; refuses any other and lists those there are."""
    if name not in _CLASSES:
        raise UnknownName("format", name, FORMATS)
    module, kind = _CLASSES[name]
    made: Format = getattr(import_module(f"weft.render.{module}"), kind)()
    return made
