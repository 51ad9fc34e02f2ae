"""XML: one element a thing, everything stored escaped."""

from collections.abc import Sequence
from typing import Final

from weft.frozen import dataclass
from weft.model import Candidate, Citation, Detail, Item, Node
from weft.render.blocks import pieces_of
from weft.render.body import Entries, ItemStyle, Piece, Title, Words
from weft.render.line_format import between, quoted, tree
from weft.render.lines import Lines, about, frame, one_line
from weft.render.node_values import Dialect, aside_words, is_one_of_many, name_of


def escape(text: str) -> str:
    """The text as character data."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


DIALECT: Final = Dialect(marks=False, guard=str)

_GAP: Final = "<gap/>"


@dataclass(frozen=True, slots=True)
class Xml:
    """One well-formed document whose root is `context`."""

    name: str = "xml"

    def head(self, title: str) -> tuple[Lines, ...]:
        """The root's opening tag."""
        return frame(_tag("context", title=one_line(title)))

    def section(self, name: str, heading: str, first: bool, separator: bool) -> tuple[Lines, ...]:
        """A section's opening tag, named by its heading."""
        return frame(_tag("section", name=one_line(heading or name)))

    def section_end(self) -> tuple[Lines, ...]:
        """A section's closing tag."""
        return frame("</section>")

    def group(self, subject: Candidate) -> tuple[Lines, ...]:
        """The opening tag of a subject's group."""
        node = subject.node
        return (about(node, _tag("subject", name=name_of(node), type=one_line(node.kind))),)

    def group_end(self) -> tuple[Lines, ...]:
        """A group's closing tag."""
        return frame("</subject>")

    def part(self, label: str) -> tuple[Lines, ...]:
        """A part's opening tag."""
        return frame(_tag("part", name=one_line(label)))

    def part_end(self) -> tuple[Lines, ...]:
        """A part's closing tag."""
        return frame("</part>")

    def item(self, item: Item, style: ItemStyle) -> tuple[Lines, ...]:
        """One `entity` element; a pointer is an empty one."""
        node = item.candidate.node
        if item.detail is Detail.DROPPED:
            return ()
        if item.detail is Detail.POINTER:
            link = aside_words(item.candidate, style.asides)
            attributes = {**_attributes(node, pointer=True), "link": link}
            return (about(node, _empty_tag("entity", name=name_of(node), **attributes)),)
        pieces = pieces_of(item, style, DIALECT)
        if not pieces:
            return ()
        title = next((piece.text for piece in pieces if isinstance(piece, Title)), "")
        located = any(isinstance(piece, Words) and piece.role == "location" for piece in pieces)
        attributes = _attributes(node) if located else {"type": one_line(node.kind)}
        lines = [about(node, _tag("entity", name=title, **attributes))]
        for piece in pieces:
            lines += _lines(node, piece)
        return (*lines, Lines("</entity>"))

    def before_pointers(self) -> tuple[Lines, ...]:
        """Nothing: every item has marks of its own."""
        return ()

    def notes(self, notes: Sequence[str]) -> tuple[Lines, ...]:
        """One `note` element a note."""
        return frame(*(f"<note>{escape(one_line(note))}</note>" for note in notes))

    def footer(self, text: str) -> tuple[Lines, ...]:
        """The `footer` element."""
        return frame(f"<footer>{escape(one_line(text))}</footer>") if text else ()

    def sources(self, citations: Sequence[Citation]) -> tuple[Lines, ...]:
        """The `sources` element with one `source` a citation."""
        if not citations:
            return ()
        return (Lines("<sources>"), *map(_citation, citations), Lines("</sources>"))

    def end(self) -> tuple[Lines, ...]:
        """The root's closing tag."""
        return frame("</context>")


def _tag(tag: str, **attributes: str) -> str:
    """An opening tag with those attributes that have a value."""
    written = "".join(f' {name}="{_quoted(value)}"' for name, value in attributes.items() if value)
    return f"<{tag}{written}>"


def _empty_tag(tag: str, **attributes: str) -> str:
    return _tag(tag, **attributes).removesuffix(">") + " />"


def _quoted(text: str) -> str:
    return escape(text).replace('"', "&quot;")


def _attributes(node: Node, pointer: bool = False) -> dict[str, str]:
    origin, kind = node.origin, one_line(node.kind)
    file, url = one_line(origin.file or ""), one_line(origin.url or "")
    if pointer and (is_one_of_many(node) or not (file or url)):
        return {"type": kind, "key": one_line(node.key)}
    line = str(origin.first_line) if file and origin.first_line is not None else ""
    return {"type": kind, "file": file, "line": line, "url": "" if file else url}


def _citation(citation: Citation) -> Lines:
    name = one_line(citation.title) or one_line(citation.key)
    tag = _empty_tag("source", name=name, type=one_line(citation.kind))
    return Lines(f"  {tag}", citation.key, citation.tenant, citation.origin)


def _lines(node: Node, piece: Piece) -> list[Lines]:
    if isinstance(piece, Title):
        return []
    if isinstance(piece, Words):
        return [about(node, text) for text in _words(piece)]
    if isinstance(piece, Entries):
        return [about(node, text) for text in _entries(node, piece)]
    lines = between(node, escape(piece.lead), quoted(node, piece.body, _GAP, escape), escape(piece.tail))
    if piece.role == "code":
        return [Lines(_tag("code", language=one_line(node.language or ""))), *lines, Lines("</code>")]
    return lines


def _words(piece: Words) -> list[str]:
    if piece.role == "location":
        return []
    if piece.role == "handle":
        return [_empty_tag("more", key=piece.text)]
    return [f"<{piece.role}>{escape(piece.text)}</{piece.role}>"]


def _entries(node: Node, piece: Entries) -> list[str]:
    if piece.role == "fields":
        return [f"{_tag('field', name=entry.label)}{escape(entry.text)}</field>" for entry in piece.entries]
    if piece.role == "links":
        return [_empty_tag("link", type=entry.label, to=entry.text) for entry in piece.entries]
    if piece.role == "images":
        return [_empty_tag("image", alt=entry.name, ref=entry.text) for entry in piece.entries]
    return ["<tree>", *map(escape, tree(node, piece)), "</tree>"]
