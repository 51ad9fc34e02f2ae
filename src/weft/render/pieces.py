"""Define what lies between blocks and formats: how items are styled, and the pieces that an item prints.

Blocks turn an item into pieces, which are the same for all formats; each format turns the pieces into lines.
"""

from msgspec import Struct

from weft.model import Json
from weft.profiles.types import Block
from weft.render.lines import Body


class ItemStyle(Struct, frozen=True):
    """The style in which the items of one section or part are printed.

    `fields` are the lens's, and restrict the `fields` block; empty means all. `level` is the depth of an item's
    heading: 3 in a section, 4 in a part. `named` says that the heading above the items already names them.
    Pointers to nodes that were reached against an edge of a type in `asides` print that edge.
    """

    blocks: tuple[Block, ...]
    include_fields: bool = True
    fields: tuple[str, ...] = ()
    level: int = 3
    named: bool = False
    related_edge_types: tuple[str, ...] = ()

    @property
    def titled(self) -> bool:
        """Whether the item's name is printed above its text."""
        return self.named or any(block.block == "title" or "{title}" in block.form for block in self.blocks)


class Title(Struct, frozen=True):
    """The item's name, with its kind if the block asks for it."""

    text: str
    kind: str = ""


class Phrase(Struct, frozen=True):
    """Words on one line, already cleaned; `role` is the name of their block."""

    role: str
    text: str


class Entry(Struct, frozen=True):
    """One named value: its name as stored, the label to print, the value itself and its printed form."""

    name: str
    label: str
    value: Json
    text: str


class Entries(Struct, frozen=True):
    """A list of named values; `role` is fields, links, tree or images."""

    role: str
    entries: tuple[Entry, ...]


class Prose(Struct, frozen=True):
    """Text over one or more lines, with a lead before the first and a tail behind the last."""

    role: str
    body: Body | None
    lead: str = ""
    tail: str = ""


Piece = Title | Phrase | Entries | Prose
