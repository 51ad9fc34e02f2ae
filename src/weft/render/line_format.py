"""What the formats that print line by line share: quoted text with its gaps, bullets, leads and trees."""

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from weft.model import Detail, Item, Node
from weft.render.blocks import pieces_of
from weft.render.body import Body, Entries, ItemStyle, Piece, Prose, Title, quoted_lines
from weft.render.lines import BLANK, Lines, about, frame, one_line
from weft.render.node_values import Dialect, aside_words, found_at, name_of

_BEFORE_WORDS: Final = re.compile(r"\n(?!\n|\Z)")


def set_off(pieces: Sequence[Piece], style: ItemStyle) -> bool:
    """Whether a blank line stands above: not for bullets, nor for what a part prints without a title."""
    if not pieces or (isinstance(pieces[0], Prose) and pieces[0].role == "bullet"):
        return False
    return style.level < 4 or isinstance(pieces[0], Title)


def quoted(node: Node, body: Body | None, gap: str, guard: Callable[[str], str]) -> list[Lines]:
    """The body's lines made harmless by `guard`, with the mark `gap` wherever something was left out."""
    if body is None:
        return []
    lines: list[Lines] = []
    for index, run in enumerate(body.runs):
        if index or body.gap_before:
            lines.append(Lines(gap))
        lines += quoted_lines(node, run, guard(run.text))
    if body.gap_after:
        lines.append(Lines(gap))
    return lines


def between(node: Node, lead: str, lines: list[Lines], tail: str) -> list[Lines]:
    """The lines with a lead before the first and a tail behind the last."""
    if not lines:
        return [about(node, lead + tail)]
    if lead:
        first, *others = lines[0].first_apart()
        lines[:1] = [_changed(node, lead + first.text, first), *others]
    if tail:
        *others, last = lines[-1].last_apart()
        lines[-1:] = [*others, _changed(node, last.text + tail, last)]
    return lines


def _changed(node: Node, text: str, lines: Lines) -> Lines:
    """Other words in the place of some lines."""
    return Lines(text, node.key, node.tenant, node.origin, lines.source_line)


def bulleted(lines: Sequence[Lines]) -> list[Lines]:
    """The lines as one list item, all but the first indented."""
    texts = [f"- {lines[0].text.lstrip()}", *[f"  {each.text}" if each.text else "" for each in lines[1:]]]
    return [
        Lines(_indented(text), each.key, each.tenant, each.origin, each.source_line)
        for text, each in zip(texts, lines, strict=True)
    ]


def _indented(text: str) -> str:
    """The text with two spaces before all but the first of its lines, and before none that is empty."""
    return _BEFORE_WORDS.sub("\n  ", text) if "\n\n" in text else text.replace("\n", "\n  ")


def pointer(item: Item, style: ItemStyle, guard: Callable[[str], str]) -> Lines:
    """The one line that says a node exists, what it is and where to find it, and of an aside how it is linked."""
    node = item.candidate.node
    link = aside_words(item.candidate, style.asides)
    told = f"{one_line(node.kind)}, {found_at(node)}{f'; {link}' if link else ''}"
    return about(node, f"- {guard(name_of(node))} ({told})")


def tree(node: Node, piece: Entries) -> list[str]:
    """The node's name above its relations, drawn as branches."""
    branches = ["├─"] * (len(piece.entries) - 1) + ["└─"]
    drawn = (
        f"  {branch} {entry.label} → {entry.text}" for branch, entry in zip(branches, piece.entries, strict=True)
    )
    return [name_of(node), *drawn]


class OpenEnded:
    """Sections, groups and parts that need no closing line, and items that stand below a blank one."""

    __slots__ = ()
    dialect: ClassVar[Dialect]

    def item(self, item: Item, style: ItemStyle) -> tuple[Lines, ...]:
        """The item at its level of detail, with the blank line that sets it off from what stands above."""
        if item.detail is Detail.DROPPED:
            return ()
        if item.detail is Detail.POINTER:
            return (pointer(item, style, self.named),)
        pieces = pieces_of(item, style, self.dialect)
        above = (BLANK,) if set_off(pieces, style) else ()
        return (*above, *self.lines(item.candidate.node, pieces, style))

    @staticmethod
    @abstractmethod
    def named(name: str) -> str:
        """A name made harmless behind a bullet."""

    @staticmethod
    @abstractmethod
    def lines(node: Node, pieces: Sequence[Piece], style: ItemStyle) -> list[Lines]:
        """The pieces of an item as lines."""

    def section_end(self) -> tuple[Lines, ...]:
        """Nothing: the next heading ends a section."""
        return ()

    def group_end(self) -> tuple[Lines, ...]:
        """Nothing: the next heading ends a group."""
        return ()

    def part_end(self) -> tuple[Lines, ...]:
        """Nothing: the next label ends a part."""
        return ()

    def before_pointers(self) -> tuple[Lines, ...]:
        """A blank line."""
        return (BLANK,)

    def end(self) -> tuple[Lines, ...]:
        """Nothing: the page needs no closing."""
        return ()


def headed(heading: str, first: bool, separator: bool) -> tuple[Lines, ...]:
    """A section's heading, if it has one, below a blank line and perhaps a rule."""
    rule = frame("", "---") if separator and not first else ()
    return (*rule, *frame("", heading)) if heading else rule
