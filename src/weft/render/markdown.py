"""Makes stored text harmless in markdown: nothing in it can open a heading, a rule, a fence, HTML or a label."""

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from weft.frozen import dataclass
from weft.model import Candidate, Citation, Node
from weft.render.body import Body, Entries, ItemStyle, Piece, Prose, Title, Words
from weft.render.line_format import OpenEnded, between, bulleted, headed, quoted, tree
from weft.render.lines import BLANK, Lines, about, frame, one_line
from weft.render.node_values import Dialect, name_of, place_of

GAP: Final = "[…]"

_HAZARD: Final = re.compile(
    r"""
    ^([ \t]*(?:>[ \t]*|(?:[-+*]|\d{1,9}[.)])[ \t]+(?=[^ \t\n]))*+)    # quote and list marks may stand before
    (?=
        \#                                                            # headings
      | [-=*_][-=*_ \t]*$                                             # rules and underlines
      | `{3} | ~{3}                                                   # fences
      | <(?![A-Za-z][A-Za-z0-9+.-]*:)(?:[A-Za-z/?]|!(?!--))           # HTML, but not <https://...>
      | \[(?:…|more:|[^\]\n]*+(?:\]:|$))                              # our marks, and link definitions
      | \*\*[^*\n]++(?:(?<=:)\*\*|\*\*[ \t]*(?:[:(`]|$))              # bold labels
      | __[^_\n]++(?:(?<=:)__|__[ \t]*(?:[:(`]|$))
      | \*[^*\s][^*\n]*+\*[ \t]*$                                     # captions
    )
    """,
    re.MULTILINE | re.VERBOSE,
)
_SUSPECT_FIRST: Final = re.compile(r"[ \t]*[-#=*_`~<\[>+\d]")
_SUSPECT: Final = re.compile(r"\n[ \t]*[-#=*_`~<\[>+\d]")  # begins with a literal, so that it is searched quickly
_COMMENT: Final = "<!--"
_OPENING: Final = re.compile(r"(`{3,8}|~{3,8})(?![`~])(?:(?<=`)[^`]*|(?<=~).*)")
_CLOSING: Final = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*")
_MARK_IN_CODE: Final = re.compile(r"^([ \t]*)(?=\[…\][ \t]*$)", re.MULTILINE)
_BACKTICKS: Final = re.compile("`{3,}")


def guarded(text: str) -> str:
    """The text with a backslash before whatever could pass for ours; fences that close within it may stay."""
    if _COMMENT not in text and not _SUSPECT_FIRST.match(text) and not _SUSPECT.search(text):
        return text
    if "```" not in text and "~~~" not in text:
        return escaped(text)
    return _between_fences(text.split("\n"))


def guarded_behind(text: str) -> str:
    """The same for text printed behind other words, where its first line cannot open a fence."""
    first, newline, rest = text.partition("\n")
    return escaped(first) + newline + guarded(rest)


def escaped(text: str) -> str:
    """The text with every hazard at the start of a line escaped, fences included."""
    if _COMMENT not in text and not _SUSPECT_FIRST.match(text) and not _SUSPECT.search(text):
        return text
    return _HAZARD.sub(r"\1\\", text).replace(_COMMENT, "\\" + _COMMENT)


def guarded_code(text: str) -> str:
    """Text to stand within a fence of ours, where only the mark for a gap could mislead."""
    return _MARK_IN_CODE.sub(r"\1\\", text) if GAP in text else text


def fence_for(texts: Sequence[str]) -> str:
    """A fence longer than any run of backticks within the texts."""
    longest = max((len(run) for text in texts for run in _BACKTICKS.findall(text)), default=2)
    return "`" * (longest + 1)


def _between_fences(lines: Sequence[str]) -> str:
    closings = _closings(lines)
    printed: list[str] = []
    index = outside = 0
    while index < len(lines):
        end = _fence_end(lines[index], index, closings)
        if end is None:
            index += 1
            continue
        if outside < index:
            printed.append(escaped("\n".join(lines[outside:index])))
        printed.append(guarded_code("\n".join(lines[index : end + 1])))
        index = outside = end + 1
    if outside < len(lines):
        printed.append(escaped("\n".join(lines[outside:])))
    return "\n".join(printed)


def _closings(lines: Sequence[str]) -> Mapping[str, Sequence[int]]:
    """For every fence of 3 to 8 marks, the lines that would close it, in order."""
    closings: dict[str, list[int]] = {mark * length: [] for mark in "`~" for length in range(3, 9)}
    for index, line in enumerate(lines):
        closing = _CLOSING.fullmatch(line)
        if closing is not None:
            mark, longest = closing[1][0], min(len(closing[1]), 8)
            for length in range(3, longest + 1):
                closings[mark * length].append(index)
    return closings


def _fence_end(line: str, index: int, closings: Mapping[str, Sequence[int]]) -> int | None:
    """The line that closes a fence opened here; indented ones do not count, since a list may end them early."""
    opening = _OPENING.fullmatch(line)
    if opening is None:
        return None
    later = closings[opening[1]]
    place = bisect_right(later, index)
    return later[place] if place < len(later) else None


DIALECT: Final = Dialect(marks=True, guard=escaped)

_OPENS_ON_ITS_OWN: Final = frozenset({"summary", "text", "code"})


@dataclass(frozen=True, slots=True)
class Markdown(OpenEnded):
    """Headings, captions in italics, labels in bold, code in fences."""

    dialect: ClassVar = DIALECT
    name: str = "markdown"

    def head(self, title: str) -> tuple[Lines, ...]:
        """The page's heading."""
        return frame(f"# {escaped(one_line(title))}") if title else ()

    def section(self, name: str, heading: str, first: bool, separator: bool) -> tuple[Lines, ...]:
        """A section's heading, below a blank line and perhaps a rule."""
        return headed(f"## {escaped(one_line(heading))}" if heading else "", first, separator)

    def group(self, subject: Candidate) -> tuple[Lines, ...]:
        """A subject's heading with its kind."""
        node = subject.node
        return (BLANK, about(node, f"### {escaped(name_of(node))} ({one_line(node.kind).upper()})"))

    def part(self, label: str) -> tuple[Lines, ...]:
        """A part's label in bold."""
        return frame("", f"**{one_line(label)}:**") if label else ()

    @staticmethod
    def named(name: str) -> str:
        """A name made harmless behind a bullet."""
        return escaped(name)

    @staticmethod
    def lines(node: Node, pieces: Sequence[Piece], style: ItemStyle) -> list[Lines]:
        """The pieces of an item as lines, with blank ones where Markdown needs them."""
        lines: list[Lines] = []
        before: Piece | None = None
        for piece in pieces:
            if _apart(before, piece):
                lines.append(BLANK)
            lines += _lines(node, piece, style)
            before = piece
        return lines

    def notes(self, notes: Sequence[str]) -> tuple[Lines, ...]:
        """The notes in italics, one a line."""
        return frame("", *(f"*Note: {_plain(one_line(note))}*" for note in notes)) if notes else ()

    def footer(self, text: str) -> tuple[Lines, ...]:
        """A rule and the footer in italics."""
        return frame("", "---", f"*{_plain(one_line(text))}*") if text else ()

    def sources(self, citations: Sequence[Citation]) -> tuple[Lines, ...]:
        """A rule and the list of citations."""
        if not citations:
            return ()
        return (*frame("", "---", "**Sources:**"), *map(_citation, citations))


def _citation(citation: Citation) -> Lines:
    node = Node(citation.key, citation.kind, citation.tenant, citation.title, origin=citation.origin)
    return about(node, f"- {escaped(name_of(node))} ({place_of(node) or one_line(node.kind)})")


def _apart(before: Piece | None, piece: Piece) -> bool:
    """Paragraphs and fences stand apart from titles, locations and one another, but follow a `line` directly."""
    if before is None or not isinstance(piece, Prose) or piece.role not in _OPENS_ON_ITS_OWN:
        return False
    return not (isinstance(before, Prose) and before.role == "line")


def _lines(node: Node, piece: Piece, style: ItemStyle) -> Sequence[Lines]:
    if isinstance(piece, Title):
        kind = f" ({piece.kind})" if piece.kind else ""
        return [about(node, f"{'#' * style.level} {escaped(piece.text)}{kind}")]
    if isinstance(piece, Words):
        return [about(node, _WORDS[piece.role](piece.text))]
    if isinstance(piece, Entries):
        return _ENTRIES[piece.role](node, piece)
    if piece.role == "code" and piece.body:
        return _fenced(node, piece.body)
    lines = _prose(node, piece)
    return bulleted(lines) if piece.role == "bullet" else lines


def _prose(node: Node, piece: Prose) -> list[Lines]:
    return between(node, piece.lead, quoted(node, piece.body, GAP, _guard_for(piece)), piece.tail)


def _guard_for(piece: Prose) -> Callable[[str], str]:
    """A tail would spoil a fence that closes on the last line, a lead one that opens on the first."""
    if piece.tail:
        return escaped
    return guarded_behind if piece.lead else guarded


def _fenced(node: Node, body: Body) -> list[Lines]:
    fence = fence_for([run.text for run in body.runs])
    language = "".join(one_line(node.language or "").replace("`", "").split())
    return [Lines(fence + language), *quoted(node, body, GAP, guarded_code), Lines(fence)]


def _plain(text: str) -> str:
    """Words to stand between asterisks."""
    return text.replace("*", r"\*")


def _italic(text: str) -> str:
    return f"*{_plain(text)}*"


def _fields(node: Node, piece: Entries) -> list[Lines]:
    return [about(node, f"- **{_plain(entry.label)}**: {entry.text}") for entry in piece.entries]


def _links(node: Node, piece: Entries) -> list[Lines]:
    return [about(node, f"- {escaped(entry.label)} → {entry.text}") for entry in piece.entries]


def _tree(node: Node, piece: Entries) -> list[Lines]:
    texts = tree(node, piece)
    fence = fence_for(texts)
    return [Lines(fence), *(about(node, text) for text in texts), Lines(fence)]


def _images(node: Node, piece: Entries) -> list[Lines]:
    return [about(node, f"![{_bracketed(entry.name)}]({_reference(entry.text)})") for entry in piece.entries]


def _bracketed(text: str) -> str:
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _reference(text: str) -> str:
    for character, code in (("\\", "%5C"), (" ", "%20"), ("(", "%28"), (")", "%29"), ("<", "%3C"), (">", "%3E")):
        text = text.replace(character, code)
    return text


_WORDS: Final[Mapping[str, Callable[[str], str]]] = {
    "location": _italic,
    "caption": _italic,
    "path": lambda text: _italic(f"via {text}"),
    "score": lambda text: _italic(f"score {text}"),
    "tags": lambda text: _italic(f"Tags: {text}"),
    "handle": lambda text: f"[more: {text}]",
}
_ENTRIES: Final[Mapping[str, Callable[[Node, Entries], list[Lines]]]] = {
    "fields": _fields,
    "links": _links,
    "tree": _tree,
    "images": _images,
}
