"""Share what Markdown and plain text have in common: formats that print line by line, without closing tags."""

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from msgspec import Struct

from weft.model import Detail, Item, Node
from weft.render.blocks import build_pieces
from weft.render.lines import BLANK, Body, Lines, frame_lines, node_line, one_line, run_lines
from weft.render.node_values import Dialect, display_name, format_reference, format_related_link
from weft.render.pieces import Entries, ItemStyle, Piece, Prose, Title

_BEFORE_FILLED_LINE: Final = re.compile(r"\n(?!\n|\Z)")


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
        above = (BLANK,) if _needs_blank_above(pieces, style) else ()
        return (*above, *self.item_lines(item.candidate.node, pieces, style))

    def _pointer(self, item: Item, style: ItemStyle) -> Lines:
        """Print one line with the node's name, its kind and how to find it, and its link if it is related."""
        node = item.candidate.node
        link = format_related_link(item.candidate, style.related_edge_types)
        details = f"{one_line(node.kind)}, {format_reference(node)}{f'; {link}' if link else ''}"
        return node_line(node, f"- {self.guard_name(display_name(node))} ({details})")

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

    def end(self) -> tuple[Lines, ...]:
        """Print nothing: the page needs no closing."""
        return ()


def section_heading(heading: str, first: bool, separator: bool) -> tuple[Lines, ...]:
    """Return a section's heading, if it has one, below a blank line and perhaps a rule."""
    rule = frame_lines("", "---") if separator and not first else ()
    return (*rule, *frame_lines("", heading)) if heading else rule


def _needs_blank_above(pieces: Sequence[Piece], style: ItemStyle) -> bool:
    """Tell whether a blank line goes above: not for bullets, nor for items of a part that have no title."""
    if not pieces or (isinstance(pieces[0], Prose) and pieces[0].role == "bullet"):
        return False
    # Level 4 is an item of a part, which follows the part's label.
    return style.level < 4 or isinstance(pieces[0], Title)


def quote_body(node: Node, body: Body | None, gap: str, guard: Callable[[str], str]) -> list[Lines]:
    """Return the body's lines made harmless by `guard`, with the mark `gap` wherever text was left out."""
    if body is None:
        return []
    lines: list[Lines] = []
    for index, run in enumerate(body.runs):
        if index or body.gap_before:
            lines.append(Lines(gap))
        lines += run_lines(node, run, guard(run.text))
    if body.gap_after:
        lines.append(Lines(gap))
    return lines


def add_lead_and_tail(node: Node, lead: str, lines: list[Lines], tail: str) -> list[Lines]:
    """Return the lines with a lead before the first and a tail behind the last."""
    if not lines:
        return [node_line(node, lead + tail)]
    if lead:
        first, *others = lines[0].split_first()
        lines[:1] = [_reworded(node, lead + first.text, first), *others]
    if tail:
        *others, last = lines[-1].split_last()
        lines[-1:] = [*others, _reworded(node, last.text + tail, last)]
    return lines


def _reworded(node: Node, text: str, lines: Lines) -> Lines:
    """Return other words for some lines: they keep the source line, but are no longer verbatim."""
    return Lines(text, node.key, node.tenant, node.origin, lines.source_line)


def make_bullet(lines: Sequence[Lines]) -> list[Lines]:
    """Return the lines as one list item, all but the first indented."""
    texts = [f"- {lines[0].text.lstrip()}", *[f"  {each.text}" if each.text else "" for each in lines[1:]]]
    return [
        Lines(_indent_following(text), each.key, each.tenant, each.origin, each.source_line)
        for text, each in zip(texts, lines, strict=True)
    ]


def _indent_following(text: str) -> str:
    """Put two spaces before all but the first line, and before none that is empty."""
    # Plain replacement is faster, and right unless there are empty lines.
    return _BEFORE_FILLED_LINE.sub("\n  ", text) if "\n\n" in text else text.replace("\n", "\n  ")


def draw_tree(node: Node, piece: Entries) -> list[str]:
    """Return the node's name above its relations, drawn as branches."""
    branches = ["├─"] * (len(piece.entries) - 1) + ["└─"]
    rows = (
        f"  {branch} {entry.label} → {entry.text}" for branch, entry in zip(branches, piece.entries, strict=True)
    )
    return [display_name(node), *rows]
