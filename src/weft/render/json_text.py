"""Print pages as JSON: nested arrays, each with its heading first, and one line per item.

Every line but the first of the page begins with its comma or bracket: no line has to know whether it is the
last, so items can be printed and counted one by one.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from weft.model import Candidate, Citation, Detail, Item, Json, Node
from weft.render.blocks import Entries, ItemStyle, Piece, Prose, Title, build_pieces
from weft.render.harmless import clean, encode_tags, one_line
from weft.render.lines import Lines, frame_lines, node_line
from weft.render.node_values import Dialect, display_name, format_reference, format_related_link

# Strings are encoded as a whole, so nothing needs a guard at the start of a line.
DIALECT: Final = Dialect(keeps_marks=False, guard=str)


class JsonText(Struct, frozen=True):
    """The JSON format: one array of the page's title, an array per section, then notes, sources and footer."""

    name: str = "json"

    def head(self, title: str) -> tuple[Lines, ...]:
        """Print the page's opening bracket and its title."""
        return frame_lines("[" + _encode({"title": one_line(title)}))

    def section(self, name: str, heading: str, first: bool, separator: bool) -> tuple[Lines, ...]:
        """Print a section's opening bracket, name and heading."""
        # An empty member would cost tokens and say nothing.
        members = {"section": one_line(name), "heading": one_line(heading)}
        return frame_lines(",[" + _encode({label: words for label, words in members.items() if words}))

    def section_end(self) -> tuple[Lines, ...]:
        """Print a section's closing bracket."""
        return frame_lines("]")

    def group(self, subject: Candidate) -> tuple[Lines, ...]:
        """Print the opening bracket of a subject's group, with its name and kind."""
        node = subject.node
        return (node_line(node, ",[" + _encode({"subject": display_name(node), "kind": one_line(node.kind)})),)

    def group_end(self) -> tuple[Lines, ...]:
        """Print a group's closing bracket."""
        return frame_lines("]")

    def part(self, label: str) -> tuple[Lines, ...]:
        """Print a part's opening bracket and label."""
        return frame_lines(",[" + _encode({"part": one_line(label)}))

    def part_end(self) -> tuple[Lines, ...]:
        """Print a part's closing bracket."""
        return frame_lines("]")

    def item(self, item: Item, style: ItemStyle) -> tuple[Lines, ...]:
        """Print one object on one line, its members named by the blocks that they come from."""
        node = item.candidate.node
        if item.detail is Detail.DROPPED:
            return ()
        if item.detail is Detail.POINTER:
            pointer = _describe(node)
            link = format_related_link(item.candidate, style.related_edge_types)
            return (node_line(node, "," + _encode({**pointer, "link": link} if link else pointer)),)
        pieces = build_pieces(item, style, DIALECT)
        if not pieces:
            return ()
        members: dict[str, Json] = {"kind": one_line(node.kind)}
        # The whole item is one line, so the manifest can name only the source line of its first quotation.
        line: int | None = None
        for piece in pieces:
            _add_piece(members, piece)
            if line is None and isinstance(piece, Prose) and piece.body:
                line = piece.body.runs[0].first_line
        return (Lines("," + _encode(members), node.key, node.tenant, node.origin, line),)

    def before_pointers(self) -> tuple[Lines, ...]:
        """Print nothing: every item has brackets of its own."""
        return ()

    def notes(self, notes: Sequence[str]) -> tuple[Lines, ...]:
        """Print the notes on one line."""
        return frame_lines("," + _encode({"notes": [one_line(note) for note in notes]})) if notes else ()

    def footer(self, text: str) -> tuple[Lines, ...]:
        """Print the footer on one line."""
        return frame_lines("," + _encode({"footer": one_line(text)})) if text else ()

    def sources(self, citations: Sequence[Citation]) -> tuple[Lines, ...]:
        """Print the citations, one per line under the heading `sources`."""
        if not citations:
            return ()
        return (Lines(',["sources"'), *map(_citation_line, citations), Lines("]"))

    def end(self) -> tuple[Lines, ...]:
        """Print the page's closing bracket."""
        return frame_lines("]")


def _citation_line(citation: Citation) -> Lines:
    node = Node(citation.key, citation.kind, citation.tenant, citation.title, origin=citation.origin)
    return node_line(node, "," + _encode(_describe(node)))


def _describe(node: Node) -> dict[str, Json]:
    return {"title": display_name(node), "kind": one_line(node.kind), "at": format_reference(node)}


def _add_piece(members: dict[str, Json], piece: Piece) -> None:
    if isinstance(piece, Title):
        members["title"] = piece.text
    elif isinstance(piece, Prose):
        _add_prose(members, piece)
    elif isinstance(piece, Entries):
        members[piece.role] = _entry_values(piece)
    else:
        members["key" if piece.role == "handle" else piece.role] = piece.text


def _add_prose(members: dict[str, Json], piece: Prose) -> None:
    """Add filled-in forms to `lines`, text with gaps as `excerpts`, and whole text as `text` or `summary`."""
    runs = [run.text for run in piece.body.runs] if piece.body else []
    # An item may print several forms, and a JSON object has one member of a name.
    if piece.role == "line" or piece.body is None:
        earlier = members.get("lines")
        members["lines"] = [
            *(earlier if isinstance(earlier, list) else []),
            piece.lead + "\n".join(runs) + piece.tail,
        ]
    elif piece.body and (len(runs) > 1 or piece.body.gap_before or piece.body.gap_after):
        members["excerpts"] = runs
    else:
        members["summary" if piece.role == "summary" else "text"] = runs[0]


def _entry_values(piece: Entries) -> Json:
    if piece.role == "fields":
        return {entry.name: _clean_value(entry.value) for entry in piece.entries}
    if piece.role == "images":
        return [{"alt": entry.name, "ref": entry.text} for entry in piece.entries]
    return [{"type": entry.label, "title": entry.text} for entry in piece.entries]


def _clean_value(value: Json) -> Json:
    """Return the value with every string cleaned, and numbers that JSON cannot write as strings."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        # Sorted, so that the bytes do not depend on the order in which the fields were written.
        return {clean(name): _clean_value(value[name]) for name in sorted(value)}
    if isinstance(value, Sequence):
        return [_clean_value(part) for part in value]
    return value


def _encode(value: Json) -> str:
    return encode_tags(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
