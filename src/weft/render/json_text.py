"""Print pages as JSON data: an object with sections of nodes, and one line per node.

Every line begins with its comma or bracket: no line has to know whether it is the last, so nodes can be printed
and counted one by one. The comma of the first element of a list is taken off at the end. docs/page.schema.json
describes the whole.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.model import Candidate, Citation, Detail, Item, Json, Node
from weft.render.blocks import Entries, ItemStyle, Phrase, Piece, Prose, Title, build_pieces, shown_line
from weft.render.harmless import clean, encode_tags, one_line
from weft.render.lines import Lines, frame_lines, node_line
from weft.render.node_values import Dialect, display_name, format_occasion, format_related_link

# Strings are encoded as a whole, so nothing needs a guard at the start of a line.
DIALECT: Final = Dialect(keeps_marks=False, guard=str, is_data=True)
_DECIMALS: Final = 4
"""Decimals of scores and their parts: more would cost tokens and tell nothing."""


class JsonText(Struct, frozen=True):
    """The JSON format: one object with the page's title, its sections and metadata, notes, sources and footer."""

    name: str = "json"

    def head(self, title: str) -> tuple[Lines, ...]:
        """Print the page's opening and its title."""
        return frame_lines(_encode({"title": one_line(title)})[:-1] + ',"sections":[')

    def section(self, name: str, heading: str, first: bool, separator: bool) -> tuple[Lines, ...]:
        """Print a section's opening, name and heading."""
        # An empty member would cost tokens and say nothing.
        members = {"name": one_line(name), "heading": one_line(heading)}
        filled = _encode({label: words for label, words in members.items() if words})
        return frame_lines(f',{filled[:-1]},"nodes":[')

    def section_end(self) -> tuple[Lines, ...]:
        """Print a section's end."""
        return frame_lines("]}")

    def group(self, subject: Candidate) -> tuple[Lines, ...]:
        """Print the opening of a subject: a node with parts."""
        node = subject.node
        return (node_line(node, f',{_encode(_identify(node))[:-1]},"parts":['),)

    def group_end(self) -> tuple[Lines, ...]:
        """Print a subject's end."""
        return frame_lines("]}")

    def part(self, label: str) -> tuple[Lines, ...]:
        """Print a part's opening and label."""
        return frame_lines(f',{_encode({"label": one_line(label)})[:-1]},"nodes":[')

    def part_end(self) -> tuple[Lines, ...]:
        """Print a part's end."""
        return frame_lines("]}")

    def item(self, item: Item, style: ItemStyle) -> tuple[Lines, ...]:
        """Print one node on one line, its members named by the blocks that they come from."""
        node = item.candidate.node
        if item.detail is Detail.DROPPED:
            return ()
        if item.detail is Detail.POINTER:
            link = format_related_link(item.candidate, style.related_edge_types)
            pointer = {**_identify(node), "detail": Detail.POINTER.value, **({"link": link} if link else {})}
            return (node_line(node, "," + _encode(pointer)),)
        pieces = build_pieces(item, style, DIALECT)
        if not pieces:
            return ()
        members = _describe(item)
        # The whole item is one line, so the manifest can name only the source line of its first quotation.
        line: int | None = None
        for piece in pieces:
            _add_piece(members, piece)
            if line is None and isinstance(piece, Prose) and piece.body:
                line = piece.body.runs[0].first_line if piece.body.runs else None
        return (Lines("," + _encode(members), node.key, node.tenant, node.origin, line),)

    def before_pointers(self) -> tuple[Lines, ...]:
        """End the list of nodes, and open that of nodes for which there was no room."""
        return frame_lines('],"overflow":[')

    def metadata(self, metadata: Mapping[str, Json]) -> tuple[Lines, ...]:
        """End the list of sections, and print how the page was made."""
        # A page without room for it ends the list alone.
        return frame_lines(f'],"metadata":{_encode(_clean_value(metadata))}' if metadata else "]")

    def notes(self, notes: Sequence[str]) -> tuple[Lines, ...]:
        """Print the notes on one line."""
        return frame_lines(f',"notes":{_encode([one_line(note) for note in notes])}') if notes else ()

    def footer(self, text: str) -> tuple[Lines, ...]:
        """Print the footer on one line."""
        return frame_lines(f',"footer":{_encode(one_line(text))}') if text else ()

    def sources(self, citations: Sequence[Citation]) -> tuple[Lines, ...]:
        """Print the citations, one per line."""
        return (Lines(',"sources":['), *map(_citation_line, citations), Lines("]")) if citations else ()

    def end(self) -> tuple[Lines, ...]:
        """Print the page's closing bracket."""
        return frame_lines("}")

    def finish(self, lines: Sequence[Lines]) -> tuple[Lines, ...]:
        """Take off the comma before the first element of every list."""
        before = ""
        finished = []
        for each in lines:
            first = before.endswith("[") and each.text.startswith(",")
            finished.append(replace(each, text=each.text[1:]) if first else each)
            before = each.text
        return tuple(finished)


def _citation_line(citation: Citation) -> Lines:
    node = Node(citation.key, citation.kind, citation.tenant, citation.title, origin=citation.origin)
    return node_line(node, "," + _encode({**_identify(node), **_source(node, None)}))


def _identify(node: Node) -> dict[str, Json]:
    return {"id": one_line(node.key), "name": display_name(node), "type": one_line(node.kind)}


def _describe(item: Item) -> dict[str, Json]:
    """Return what every printed node says: what it is, from where and when, how well it fits, what is shown."""
    node = item.candidate.node
    date, author = format_occasion(node)
    known = {"tags": [tag for tag in map(one_line, node.tags) if tag], "date": date, "author": author}
    return {
        **_identify(node),
        **{name: value for name, value in known.items() if value},
        **_source(node, shown_line(item)),
        "score": round(item.candidate.score, _DECIMALS),
        "detail": item.detail.value,
    }


def _source(node: Node, line: int | None) -> dict[str, Json]:
    """Return where a node comes from, as a member `source`; nothing if that is not known."""
    origin = node.origin
    known: dict[str, Json] = {
        "file": one_line(origin.file or ""),
        "line": (line if line is not None else origin.first_line) if origin.file else None,
        "url": one_line(origin.url or ""),
        "commit": one_line(origin.commit or ""),
        "stale": origin.stale.value if origin.stale is not None else "",
    }
    filled = {name: value for name, value in known.items() if value}
    return {"source": filled} if filled else {}


def _add_piece(members: dict[str, Json], piece: Piece) -> None:
    if isinstance(piece, Prose):
        _add_prose(members, piece)
    elif isinstance(piece, Entries):
        members[piece.role] = _entry_values(piece)
    elif isinstance(piece, Phrase):
        _add_phrase(members, piece)
    elif isinstance(piece, Title):
        members["name"] = piece.text


def _add_phrase(members: dict[str, Json], piece: Phrase) -> None:
    """Add what a phrase stands for; locations, tags and handles are members of every node."""
    if piece.role == "score" and isinstance(piece.value, Mapping):
        parts = {name: part for name, part in piece.value.items() if isinstance(part, int | float)}
        members["parts"] = {name: round(part, _DECIMALS) for name, part in parts.items()}
    elif piece.role == "path":
        members["path"] = _clean_value(piece.value)
    elif piece.role == "caption":
        members["caption"] = piece.text


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
    elif len(runs) > 1 or piece.body.gap_before or piece.body.gap_after:
        members["excerpts"] = runs
    elif runs:
        members["summary" if piece.role == "summary" else "text"] = runs[0]
    if piece.body is not None and piece.body.members:
        members["outline"] = [
            {
                "title": one_line(member.title),
                "line": member.origin.first_line,
                "signature": one_line(str(member.fields.get("signature") or "")),
            }
            for member in piece.body.members
        ]


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
