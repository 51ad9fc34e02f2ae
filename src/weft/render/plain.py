"""Plain text: names and places on one line, sections between equals signs, no other marks."""

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from weft.frozen import dataclass
from weft.model import Candidate, Citation, Node
from weft.render.body import Entries, ItemStyle, Piece, Title, Words
from weft.render.line_format import OpenEnded, between, bulleted, headed, quoted, tree
from weft.render.lines import BLANK, Lines, about, frame, one_line
from weft.render.node_values import Dialect, name_of

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
_SUSPECT_FIRST: Final = re.compile(r"[ \t]*[-=\[SsNn]")
_SUSPECT: Final = re.compile(r"\n[ \t]*[-=\[SsNn]")  # begins with a literal, so that it is searched quickly
_LIKE_A_TITLE: Final = re.compile(r"(\A|\n[ \t]*\n)(?=[^\n]*\S \[[^\[\]\n]+\][ \t]*$)", re.MULTILINE)


def guarded(text: str) -> str:
    """The text with a backslash before each line that could pass for one of ours."""
    if _SUSPECT_FIRST.match(text) or _SUSPECT.search(text):
        text = _HAZARD.sub(r"\\", text)
    return _LIKE_A_TITLE.sub(r"\1\\", text) if "]" in text else text


_WORDS: Final = {
    "location": "[{}]",
    "handle": "[more: {}]",
    "tags": "Tags: {}",
    "path": "via {}",
    "score": "score {}",
}
DIALECT: Final = Dialect(marks=False, guard=guarded)


@dataclass(frozen=True, slots=True)
class Plain(OpenEnded):
    """Text without markup."""

    dialect: ClassVar = DIALECT
    name: str = "plain"

    def head(self, title: str) -> tuple[Lines, ...]:
        """The title on a line of its own."""
        return frame(guarded(one_line(title))) if title else ()

    def section(self, name: str, heading: str, first: bool, separator: bool) -> tuple[Lines, ...]:
        """A section's heading, below a blank line and perhaps a rule."""
        return headed(f"=== {one_line(heading)} ===" if heading else "", first, separator)

    def group(self, subject: Candidate) -> tuple[Lines, ...]:
        """A subject's name and kind."""
        node = subject.node
        return (BLANK, about(node, f"--- {name_of(node)} ({one_line(node.kind).upper()}) ---"))

    def part(self, label: str) -> tuple[Lines, ...]:
        """A part's label."""
        return frame("", f"-- {one_line(label)} --") if label else ()

    @staticmethod
    def named(name: str) -> str:
        """A name as it is: behind a bullet nothing can pass for one of ours."""
        return name

    @staticmethod
    def lines(node: Node, pieces: Sequence[Piece], style: ItemStyle) -> list[Lines]:
        """The pieces of an item as lines, its place behind its title."""
        lines: list[Lines] = []
        before: Piece | None = None
        for piece in pieces:
            if isinstance(before, Title) and isinstance(piece, Words) and piece.role == "location":
                lines[-1] = about(node, f"{lines[-1].text} {_words(piece)}")
            else:
                lines += _lines(node, piece)
            before = piece
        return lines

    def notes(self, notes: Sequence[str]) -> tuple[Lines, ...]:
        """The notes, one a line."""
        return frame("", *(f"Note: {one_line(note)}" for note in notes)) if notes else ()

    def footer(self, text: str) -> tuple[Lines, ...]:
        """A rule and the footer."""
        return frame("", "---", one_line(text)) if text else ()

    def sources(self, citations: Sequence[Citation]) -> tuple[Lines, ...]:
        """The list of citations."""
        return (*frame("", "Sources:"), *map(_citation, citations)) if citations else ()


def _citation(citation: Citation) -> Lines:
    return Lines(
        f"  - {one_line(citation.title) or one_line(citation.key)}", citation.key, citation.tenant, citation.origin
    )


def _lines(node: Node, piece: Piece) -> list[Lines]:
    if isinstance(piece, Title):
        return [about(node, guarded(f"{piece.text} ({piece.kind})" if piece.kind else piece.text))]
    if isinstance(piece, Words):
        return [about(node, _words(piece))]
    if isinstance(piece, Entries):
        return [about(node, text) for text in _entries(node, piece)]
    lines = between(node, piece.lead, quoted(node, piece.body, _GAP, guarded), piece.tail)
    return bulleted(lines) if piece.role == "bullet" else lines


def _words(piece: Words) -> str:
    return _WORDS.get(piece.role, "{}").format(piece.text)


def _entries(node: Node, piece: Entries) -> list[str]:
    if piece.role == "fields":
        return [f"- {entry.label}: {entry.text}" for entry in piece.entries]
    if piece.role == "images":
        return [f"Image: {entry.name} ({entry.text})" for entry in piece.entries]
    if piece.role == "links":
        return [f"- {entry.label} → {entry.text}" for entry in piece.entries]
    return [guarded(text) for text in tree(node, piece)]
