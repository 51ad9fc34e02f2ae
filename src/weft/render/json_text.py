"""JSON in which every array is a heading followed by what stands under it, one line an item.

Every line but the first of the page begins with its comma or bracket, so no line depends on being the last.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Final

from weft.frozen import dataclass
from weft.model import Candidate, Citation, Detail, Item, Json, Node
from weft.render.blocks import pieces_of
from weft.render.body import Entries, ItemStyle, Piece, Prose, Title
from weft.render.lines import Lines, about, clean, frame, one_line
from weft.render.node_values import Dialect, aside_words, found_at, name_of

DIALECT: Final = Dialect(marks=False, guard=str)


@dataclass(frozen=True, slots=True)
class JsonText:
    """One JSON array: the page's title, an array a section, then notes, sources and footer."""

    name: str = "json"

    def head(self, title: str) -> tuple[Lines, ...]:
        """The page's opening bracket and its title."""
        return frame("[" + _encoded({"title": one_line(title)}))

    def section(self, name: str, heading: str, first: bool, separator: bool) -> tuple[Lines, ...]:
        """A section's opening bracket, name and heading."""
        about_it = {"section": one_line(name), "heading": one_line(heading)}
        return frame(",[" + _encoded({label: words for label, words in about_it.items() if words}))

    def section_end(self) -> tuple[Lines, ...]:
        """A section's closing bracket."""
        return frame("]")

    def group(self, subject: Candidate) -> tuple[Lines, ...]:
        """The opening bracket of a subject's group, with its name and kind."""
        node = subject.node
        return (about(node, ",[" + _encoded({"subject": name_of(node), "kind": one_line(node.kind)})),)

    def group_end(self) -> tuple[Lines, ...]:
        """A group's closing bracket."""
        return frame("]")

    def part(self, label: str) -> tuple[Lines, ...]:
        """A part's opening bracket and label."""
        return frame(",[" + _encoded({"part": one_line(label)}))

    def part_end(self) -> tuple[Lines, ...]:
        """A part's closing bracket."""
        return frame("]")

    def item(self, item: Item, style: ItemStyle) -> tuple[Lines, ...]:
        """One object on one line, its members named by the blocks they come from."""
        node = item.candidate.node
        if item.detail is Detail.DROPPED:
            return ()
        if item.detail is Detail.POINTER:
            pointer = {
                "title": name_of(node),
                "kind": one_line(node.kind),
                "at": found_at(node),
            }
            link = aside_words(item.candidate, style.asides)
            return (about(node, "," + _encoded({**pointer, "link": link} if link else pointer)),)
        pieces = pieces_of(item, style, DIALECT)
        if not pieces:
            return ()
        members: dict[str, Json] = {"kind": one_line(node.kind)}
        line: int | None = None
        for piece in pieces:
            _add(members, piece)
            if line is None and isinstance(piece, Prose) and piece.body:
                line = piece.body.runs[0].first_line
        return (Lines("," + _encoded(members), node.key, node.tenant, node.origin, line),)

    def before_pointers(self) -> tuple[Lines, ...]:
        """Nothing: every item has marks of its own."""
        return ()

    def notes(self, notes: Sequence[str]) -> tuple[Lines, ...]:
        """The notes, on one line."""
        return frame("," + _encoded({"notes": [one_line(note) for note in notes]})) if notes else ()

    def footer(self, text: str) -> tuple[Lines, ...]:
        """The footer, on one line."""
        return frame("," + _encoded({"footer": one_line(text)})) if text else ()

    def sources(self, citations: Sequence[Citation]) -> tuple[Lines, ...]:
        """The citations, one a line under the heading `sources`."""
        if not citations:
            return ()
        return (Lines(',["sources"'), *map(_citation, citations), Lines("]"))

    def end(self) -> tuple[Lines, ...]:
        """The page's closing bracket."""
        return frame("]")


def _citation(citation: Citation) -> Lines:
    node = Node(citation.key, citation.kind, citation.tenant, citation.title, origin=citation.origin)
    return about(node, "," + _encoded({"title": name_of(node), "kind": one_line(node.kind), "at": found_at(node)}))


def _add(members: dict[str, Json], piece: Piece) -> None:
    if isinstance(piece, Title):
        members["title"] = piece.text
    elif isinstance(piece, Prose):
        _add_prose(members, piece)
    elif isinstance(piece, Entries):
        members[piece.role] = _entries(piece)
    else:
        members["key" if piece.role == "handle" else piece.role] = piece.text


def _add_prose(members: dict[str, Json], piece: Prose) -> None:
    runs = [run.text for run in piece.body.runs] if piece.body else []
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


def _entries(piece: Entries) -> Json:
    if piece.role == "fields":
        return {entry.name: _value(entry.value) for entry in piece.entries}
    if piece.role == "images":
        return [{"alt": entry.name, "ref": entry.text} for entry in piece.entries]
    return [{"type": entry.label, "title": entry.text} for entry in piece.entries]


def _value(value: Json) -> Json:
    """The value with every string cleaned and no number that JSON cannot write."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {clean(name): _value(value[name]) for name in sorted(value)}
    if isinstance(value, Sequence):
        return [_value(part) for part in value]
    return value


def _encoded(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
