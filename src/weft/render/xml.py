"""Print pages as XML: one element per section, subject, part and item, with everything stored escaped."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from weft.model import Candidate, Citation, Detail, Item, Json, Node
from weft.render.blocks import Entries, ItemStyle, Phrase, Piece, Title, build_pieces, draw_tree
from weft.render.harmless import one_line
from weft.render.lines import Lines, add_lead_and_tail, frame_lines, node_line, quote_body
from weft.render.node_values import Dialect, display_name, format_related_link, is_one_of_many

# Nothing needs a guard at the start of a line: tags are the only marks, and all values are escaped.
DIALECT: Final = Dialect(keeps_marks=False, guard=str, is_data=True)


class Xml(Struct, frozen=True):
    """The XML format: one well-formed document whose root is `context`."""

    name: str = "xml"

    def head(self, title: str) -> tuple[Lines, ...]:
        """Print the root's opening tag."""
        return frame_lines(_tag("context", title=one_line(title)))

    def section(self, name: str, heading: str, first: bool, separator: bool) -> tuple[Lines, ...]:
        """Print a section's opening tag, named by its heading."""
        return frame_lines(_tag("section", name=one_line(heading or name)))

    def section_end(self) -> tuple[Lines, ...]:
        """Print a section's closing tag."""
        return frame_lines("</section>")

    def group(self, subject: Candidate) -> tuple[Lines, ...]:
        """Print the opening tag of a subject's group."""
        node = subject.node
        return (node_line(node, _tag("subject", name=display_name(node), type=one_line(node.kind))),)

    def group_end(self) -> tuple[Lines, ...]:
        """Print a group's closing tag."""
        return frame_lines("</subject>")

    def part(self, label: str) -> tuple[Lines, ...]:
        """Print a part's opening tag."""
        return frame_lines(_tag("part", name=one_line(label)))

    def part_end(self) -> tuple[Lines, ...]:
        """Print a part's closing tag."""
        return frame_lines("</part>")

    def item(self, item: Item, style: ItemStyle) -> tuple[Lines, ...]:
        """Print one `entity` element; a pointer is an empty one."""
        node = item.candidate.node
        if item.detail is Detail.DROPPED:
            return ()
        if item.detail is Detail.POINTER:
            link = format_related_link(item.candidate, style.related_edge_types)
            attributes = {**_origin_attributes(node, pointer=True), "link": link}
            return (node_line(node, _empty_tag("entity", name=display_name(node), **attributes)),)
        pieces = build_pieces(item, style, DIALECT)
        if not pieces:
            return ()
        # Title and location become attributes of the element; `_piece_lines` leaves them out.
        title = next((piece.text for piece in pieces if isinstance(piece, Title)), "")
        located = any(isinstance(piece, Phrase) and piece.role == "location" for piece in pieces)
        attributes = _origin_attributes(node) if located else {"type": one_line(node.kind)}
        tags = next((" ".join(piece.tags) for piece in pieces if isinstance(piece, Title)), "")
        lines = [node_line(node, _tag("entity", name=title, tags=tags, **attributes))]
        for piece in pieces:
            lines += _piece_lines(node, piece)
        return (*lines, Lines("</entity>"))

    def before_pointers(self) -> tuple[Lines, ...]:
        """Print nothing: every item has tags of its own."""
        return ()

    def metadata(self, metadata: Mapping[str, Json]) -> tuple[Lines, ...]:
        """Print nothing: the page is read as a text with tags."""
        return ()

    def finish(self, lines: Sequence[Lines]) -> tuple[Lines, ...]:
        """Return the lines as they are."""
        return tuple(lines)

    def notes(self, notes: Sequence[str]) -> tuple[Lines, ...]:
        """Print one `note` element per note."""
        return frame_lines(*(f"<note>{escape(one_line(note))}</note>" for note in notes))

    def footer(self, text: str) -> tuple[Lines, ...]:
        """Print the `footer` element."""
        return frame_lines(f"<footer>{escape(one_line(text))}</footer>") if text else ()

    def sources(self, citations: Sequence[Citation]) -> tuple[Lines, ...]:
        """Print the `sources` element with one `source` per citation."""
        if not citations:
            return ()
        return (Lines("<sources>"), *map(_citation_line, citations), Lines("</sources>"))

    def end(self) -> tuple[Lines, ...]:
        """Print the root's closing tag."""
        return frame_lines("</context>")


def escape(text: str) -> str:
    """Escape text that stands between tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _tag(tag: str, **attributes: str) -> str:
    """Return an opening tag with those attributes that have a value."""
    written = "".join(f' {name}="{_escape_attribute(value)}"' for name, value in attributes.items() if value)
    return f"<{tag}{written}>"


def _empty_tag(tag: str, **attributes: str) -> str:
    return _tag(tag, **attributes).removesuffix(">") + " />"


def _escape_attribute(text: str) -> str:
    return escape(text).replace('"', "&quot;")


def _gap(line: int | None) -> str:
    return "<gap/>" if line is None else f'<gap line="{line}"/>'


def _origin_attributes(node: Node, pointer: bool = False) -> dict[str, str]:
    """Return the kind and the location; a pointer without a location of its own has its key instead."""
    origin, kind = node.origin, one_line(node.kind)
    file, url = one_line(origin.file or ""), one_line(origin.url or "")
    if pointer and (is_one_of_many(node) or not (file or url)):
        return {"type": kind, "key": one_line(node.key)}
    if url and is_one_of_many(node):
        return {"type": kind, "url": url}
    # A line means something only within a file.
    line = str(origin.first_line) if file and origin.first_line is not None else ""
    stale = origin.stale.value if origin.stale is not None else ""
    return {"type": kind, "file": file, "line": line, "url": "" if file else url, "stale": stale}


def _citation_line(citation: Citation) -> Lines:
    name = one_line(citation.title) or one_line(citation.key)
    tag = _empty_tag("source", name=name, type=one_line(citation.kind))
    return Lines(f"  {tag}", citation.key, citation.tenant, citation.origin)


def _piece_lines(node: Node, piece: Piece) -> list[Lines]:
    if isinstance(piece, Title):
        return []
    if isinstance(piece, Phrase):
        return [node_line(node, text) for text in _format_phrase(piece)]
    if isinstance(piece, Entries):
        return [node_line(node, text) for text in _format_entries(node, piece)]
    # The lead comes from the profile's form with stored values in it, so it is escaped too.
    lines = add_lead_and_tail(
        node, escape(piece.lead), quote_body(node, piece.body, _gap, escape), escape(piece.tail)
    )
    if piece.role == "code":
        return [Lines(_tag("code", language=one_line(node.language or ""))), *lines, Lines("</code>")]
    return lines


def _format_phrase(piece: Phrase) -> list[str]:
    if piece.role == "location":
        return []
    if piece.role == "handle":
        return [_empty_tag("more", key=piece.text)]
    return [f"<{piece.role}>{escape(piece.text)}</{piece.role}>"]


def _format_entries(node: Node, piece: Entries) -> list[str]:
    if piece.role == "fields":
        return [f"{_tag('field', name=entry.label)}{escape(entry.text)}</field>" for entry in piece.entries]
    if piece.role == "links":
        return [_empty_tag("link", type=entry.label, to=entry.text) for entry in piece.entries]
    if piece.role == "images":
        return [_empty_tag("image", alt=entry.name, ref=entry.text) for entry in piece.entries]
    return ["<tree>", *map(escape, draw_tree(node, piece)), "</tree>"]
