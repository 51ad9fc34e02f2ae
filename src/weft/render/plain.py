"""Print pages as plain text: names and locations on one line, sections between equals signs, no other marks."""

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from weft.model import Candidate, Citation, Node
from weft.render.blocks import Entries, ItemStyle, Phrase, Piece, Title, draw_tree
from weft.render.lines import (
    BLANK,
    Lines,
    add_lead_and_tail,
    frame_lines,
    make_bullet,
    node_line,
    one_line,
    quote_body,
)
from weft.render.node_values import Dialect, display_name
from weft.render.page import LineFormat, section_heading

_GAP: Final = "[…]"
_HAZARD: Final = re.compile(
    r"""
    ^(?=[ \t]*(?:
        =={1,}                                   # section headings
      | -{2,}[ \t]*$ | -{2,3}[ ].*-{2,3}[ \t]*$  # rules, subjects and parts
      | (?i:sources|note)[ \t]*:
      | \[(?:…|more:)
    ))
    """,
    re.MULTILINE | re.VERBOSE,
)
# A quick test for most texts, which contain no hazard; the second pattern begins with a literal, which the regex
# engine searches for quickly.
_SUSPECT_FIRST_LINE: Final = re.compile(r"[ \t]*[-=\[SsNn]")
_SUSPECT_LATER_LINE: Final = re.compile(r"\n[ \t]*[-=\[SsNn]")
_LIKE_A_TITLE: Final = re.compile(r"(\A|\n[ \t]*\n)(?=[^\n]*\S \[[^\[\]\n]+\][ \t]*$)", re.MULTILINE)
_PHRASES: Final = {
    "location": "[{}]",
    "handle": "[more: {}]",
    "tags": "Tags: {}",
    "path": "via {}",
    "score": "score {}",
}


def guard_text(text: str) -> str:
    """Put a backslash before each line that could pass for one of ours."""
    if _SUSPECT_FIRST_LINE.match(text) or _SUSPECT_LATER_LINE.search(text):
        text = _HAZARD.sub(r"\\", text)
    # Our items begin with a name and a location in brackets, below a blank line.
    return _LIKE_A_TITLE.sub(r"\1\\", text) if "]" in text else text


DIALECT: Final = Dialect(keeps_marks=False, guard=guard_text)


class Plain(LineFormat, frozen=True):
    """The plain text format."""

    dialect: ClassVar = DIALECT
    name: str = "plain"

    def head(self, title: str) -> tuple[Lines, ...]:
        """Print the title on a line of its own."""
        return frame_lines(guard_text(one_line(title))) if title else ()

    def section(self, name: str, heading: str, first: bool, separator: bool) -> tuple[Lines, ...]:
        """Print a section's heading, below a blank line and perhaps a rule."""
        return section_heading(f"=== {one_line(heading)} ===" if heading else "", first, separator)

    def group(self, subject: Candidate) -> tuple[Lines, ...]:
        """Print a subject's name and kind."""
        node = subject.node
        return (BLANK, node_line(node, f"--- {display_name(node)} ({one_line(node.kind).upper()}) ---"))

    def part(self, label: str) -> tuple[Lines, ...]:
        """Print a part's label."""
        return frame_lines("", f"-- {one_line(label)} --") if label else ()

    @staticmethod
    def guard_name(name: str) -> str:
        """Return the name as it is: behind a bullet nothing can pass for one of our lines."""
        return name

    @staticmethod
    def item_lines(node: Node, pieces: Sequence[Piece], style: ItemStyle) -> list[Lines]:
        """Print the pieces of an item, its location behind its title."""
        lines: list[Lines] = []
        before: Piece | None = None
        for piece in pieces:
            if isinstance(before, Title) and isinstance(piece, Phrase) and piece.role == "location":
                # Name and location share a line, as `_LIKE_A_TITLE` expects of ours.
                lines[-1] = node_line(node, f"{lines[-1].text} {_format_phrase(piece)}")
            else:
                lines += _piece_lines(node, piece)
            before = piece
        return lines

    def notes(self, notes: Sequence[str]) -> tuple[Lines, ...]:
        """Print the notes, one per line."""
        return frame_lines("", *(f"Note: {one_line(note)}" for note in notes)) if notes else ()

    def footer(self, text: str) -> tuple[Lines, ...]:
        """Print a rule and the footer."""
        return frame_lines("", "---", one_line(text)) if text else ()

    def sources(self, citations: Sequence[Citation]) -> tuple[Lines, ...]:
        """Print the list of citations."""
        return (*frame_lines("", "Sources:"), *map(_citation_line, citations)) if citations else ()


def _citation_line(citation: Citation) -> Lines:
    name = one_line(citation.title) or one_line(citation.key)
    return Lines(f"  - {name}", citation.key, citation.tenant, citation.origin)


def _piece_lines(node: Node, piece: Piece) -> list[Lines]:
    if isinstance(piece, Title):
        return [node_line(node, guard_text(f"{piece.text} ({piece.kind})" if piece.kind else piece.text))]
    if isinstance(piece, Phrase):
        return [node_line(node, _format_phrase(piece))]
    if isinstance(piece, Entries):
        return [node_line(node, text) for text in _format_entries(node, piece)]
    lines = add_lead_and_tail(node, piece.lead, quote_body(node, piece.body, _GAP, guard_text), piece.tail)
    return make_bullet(lines) if piece.role == "bullet" else lines


def _format_phrase(piece: Phrase) -> str:
    return _PHRASES.get(piece.role, "{}").format(piece.text)


def _format_entries(node: Node, piece: Entries) -> list[str]:
    if piece.role == "fields":
        return [f"- {entry.label}: {entry.text}" for entry in piece.entries]
    if piece.role == "images":
        return [f"Image: {entry.name} ({entry.text})" for entry in piece.entries]
    if piece.role == "links":
        return [f"- {entry.label} → {entry.text}" for entry in piece.entries]
    return [guard_text(text) for text in draw_tree(node, piece)]
