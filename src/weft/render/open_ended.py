"""The frame of formats in which the next heading ends what stands before it."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from weft.model import Detail, Item, Node
from weft.render.blocks import pieces_of
from weft.render.layout import pointer, set_off
from weft.render.lines import BLANK, Lines, frame
from weft.render.pieces import ItemStyle, Piece
from weft.render.values import Dialect


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
