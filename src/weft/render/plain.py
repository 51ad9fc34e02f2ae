"""Print pages as plain text: names and locations on one line, sections between equals signs, no other marks."""

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from weft.model import Candidate, Citation, Node
from weft.render.blocks import Entries, ItemStyle, Phrase, Piece, Prose, Title, draw_tree
from weft.render.harmless import break_tags, break_tags_in_code, one_line
from weft.render.lines import (
    BLANK,
    Lines,
    add_lead_and_tail,
    bracket_gap,
    frame_lines,
    make_bullet,
    node_line,
    quote_body,
)
from weft.render.node_values import Dialect, display_name
from weft.render.page import LineFormat, section_heading

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
_LIKE_A_TITLE: Final = re.compile(
    # Any white space, not only blanks: a reader cannot tell them apart.
    r"(\A|\n[^\S\n]*\n)(?=[^\n]*\S[^\S\n]+(?:\[[^\[\]\n]+\]|\((?P<kind>[^()\n]+)\))[^\S\n]*$)",
    re.MULTILINE,
)
_LIKE_A_POINTER: Final = re.compile(r"^(?=[ \t]*-[ ][^\n]*\S[ ]\([^(),\n]++,[ ][^()\s:/.]*+[:/.])", re.MULTILINE)
_PHRASES: Final = {
    "location": "[{}]",
    "handle": "[more: {}]",
    "tags": "Tags: {}",
    "path": "via {}",
    "score": "score {}",
}


def guard_text(text: str) -> str:
    """Put a backslash before each line that could pass for one of ours, and into every tag."""
    return break_tags(_mark_titles(_mark_hazards(text)))


def guard_code(text: str) -> str:
    """Guard code in the same way, with fewer tags broken: a name in angle brackets is most often a type."""
    return break_tags_in_code(_mark_titles(_mark_hazards(text)))


def _mark_hazards(text: str) -> str:
    if _SUSPECT_FIRST_LINE.match(text) or _SUSPECT_LATER_LINE.search(text):
        return _LIKE_A_POINTER.sub(r"\\", _HAZARD.sub(r"\\", text))
    return text


def _mark_titles(text: str) -> str:
    # Our items begin with a name and a location in brackets or a kind in parentheses, below a blank line.
    return _LIKE_A_TITLE.sub(_escape_title, text) if "]" in text or ")" in text else text


def _escape_title(match: re.Match[str]) -> str:
    # Kinds are printed in capitals: other words in parentheses are an author's.
    kind = match["kind"]
    return match[0] if kind is not None and kind != kind.upper() else match[0] + "\\"


DIALECT: Final = Dialect(keeps_marks=False, guard=guard_text, inline=break_tags)


class Plain(LineFormat, frozen=True):
    """The plain text format."""

    dialect: ClassVar = DIALECT
    name: str = "plain"

    def head(self, title: str) -> tuple[Lines, ...]:
        """Print the title on a line of its own."""
        return frame_lines(break_tags(_mark_hazards(one_line(title)))) if title else ()

    def section(self, name: str, heading: str, first: bool, separator: bool) -> tuple[Lines, ...]:
        """Print a section's heading, below a blank line and perhaps a rule."""
        return section_heading(f"=== {break_tags(one_line(heading))} ===" if heading else "", first, separator)

    def group(self, subject: Candidate) -> tuple[Lines, ...]:
        """Print a subject's name and kind."""
        node = subject.node
        name = break_tags(f"{display_name(node)} ({one_line(node.kind).upper()})")
        return (BLANK, node_line(node, f"--- {name} ---"))

    def part(self, label: str) -> tuple[Lines, ...]:
        """Print a part's label."""
        return frame_lines("", f"-- {break_tags(one_line(label))} --") if label else ()

    @staticmethod
    def guard_name(name: str) -> str:
        """Break the tags of a name: behind a bullet nothing else can pass for one of our lines."""
        return break_tags(name)

    @staticmethod
    def item_lines(node: Node, pieces: Sequence[Piece], style: ItemStyle) -> list[Lines]:
        """Print the pieces of an item, its location behind its title."""
        lines: list[Lines] = []
        located = False
        for index, piece in enumerate(pieces, start=1):
            if isinstance(piece, Title):
                following = pieces[index] if index < len(pieces) else None
                located = isinstance(following, Phrase) and following.role == "location"
                lines.append(node_line(node, _format_title(node, piece, following if located else None)))
            elif located:
                # The location stands behind the title already.
                located = False
            else:
                lines += _piece_lines(node, piece)
        return lines

    def notes(self, notes: Sequence[str]) -> tuple[Lines, ...]:
        """Print the notes, one per line."""
        return frame_lines("", *(f"Note: {break_tags(one_line(note))}" for note in notes)) if notes else ()

    def footer(self, text: str) -> tuple[Lines, ...]:
        """Print a rule and the footer."""
        return frame_lines("", "---", break_tags(one_line(text))) if text else ()

    def sources(self, citations: Sequence[Citation]) -> tuple[Lines, ...]:
        """Print the list of citations."""
        return (*frame_lines("", "Sources:"), *map(_citation_line, citations)) if citations else ()


def _citation_line(citation: Citation) -> Lines:
    name = one_line(citation.title) or one_line(citation.key)
    return Lines(f"  - {break_tags(name)}", citation.key, citation.tenant, citation.origin)


def _format_title(node: Node, piece: Title, location: Piece | None) -> str:
    """Return a name with its kind or location, by which alone a reader knows the beginning of an item."""
    name = break_tags(" ".join([_mark_hazards(piece.text), *piece.tags]))
    if isinstance(location, Phrase):
        kind = f" ({break_tags(piece.kind)})" if piece.kind else ""
        return f"{name}{kind} {_format_phrase(location)}"
    return f"{name} ({break_tags(piece.kind or one_line(node.kind).upper())})"


def _piece_lines(node: Node, piece: Prose | Phrase | Entries) -> list[Lines]:
    if isinstance(piece, Phrase):
        return [node_line(node, _format_phrase(piece))]
    if isinstance(piece, Entries):
        return [node_line(node, break_tags(text)) for text in _format_entries(node, piece)]
    guard = guard_code if piece.role == "code" else guard_text
    lines = add_lead_and_tail(node, piece.lead, quote_body(node, piece.body, bracket_gap, guard), piece.tail)
    return make_bullet(lines) if piece.role == "bullet" else lines


def _format_phrase(piece: Phrase) -> str:
    return _PHRASES.get(piece.role, "{}").format(break_tags(piece.text))


def _format_entries(node: Node, piece: Entries) -> list[str]:
    if piece.role == "fields":
        return [f"- {entry.label}: {entry.text}" for entry in piece.entries]
    if piece.role == "images":
        return [f"Image: {entry.name} ({entry.text})" for entry in piece.entries]
    if piece.role == "links":
        return [f"- {entry.label} → {entry.text}" for entry in piece.entries]
    return [guard_text(text) for text in draw_tree(node, piece)]
