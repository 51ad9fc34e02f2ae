"""What an item prints, in pieces that mean the same in every format."""

from weft.frozen import dataclass
from weft.model import Json
from weft.profile import Block
from weft.render.body import Body


@dataclass(frozen=True, slots=True)
class ItemStyle:
    """How the items of one section or part are printed.

    `fields` are the lens's, and restrict the `fields` block; empty means all. `level` is the depth of an item's
    heading: 3 in a section, 4 in a part. `named` says that the heading above the items already names them.
    Pointers to what was walked to against a link of a type in `asides` name that link.
    """

    blocks: tuple[Block, ...]
    include_fields: bool = True
    fields: tuple[str, ...] = ()
    level: int = 3
    named: bool = False
    asides: tuple[str, ...] = ()

    @property
    def titled(self) -> bool:
        """Whether the item's name is printed above its text."""
        return self.named or any(each.block == "title" or "{title}" in each.form for each in self.blocks)


@dataclass(frozen=True, slots=True)
class Title:
    """The item's name, with its kind when the block asks for it."""

    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """A few words on one line, already cleaned; `role` is the block they come from."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One named value: the name as stored, its label, the value and the words for it."""

    name: str
    label: str
    value: Json
    text: str


@dataclass(frozen=True, slots=True)
class Entries:
    """A list of named values; `role` is fields, links, tree or images."""

    role: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Prose:
    """Words of the node, over several lines if need be, between a lead and a tail on the first and last line."""

    role: str
    body: Body | None
    lead: str = ""
    tail: str = ""


Piece = Title | Words | Entries | Prose
