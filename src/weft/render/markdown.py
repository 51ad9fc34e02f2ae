"""Print pages as Markdown: headings, captions in italics, labels in bold, code in fences.

The first half makes stored text harmless: nothing in it can open a heading, a rule, a fence, HTML or a label,
because any of these could pass for a part of the page that Weft printed.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

from weft.model import Candidate, Citation, Node
from weft.render.blocks import Entries, ItemStyle, Phrase, Piece, Prose, Title, draw_tree
from weft.render.harmless import break_frame_tags, escape_odd_backticks, one_line, write_entities
from weft.render.lines import (
    BLANK,
    Body,
    Lines,
    add_lead_and_tail,
    bracket_gap,
    frame_lines,
    make_bullet,
    node_line,
    quote_body,
)
from weft.render.node_values import Dialect, display_name, format_location, label_key
from weft.render.page import LineFormat, section_heading
from weft.text import without_anchor

Labels = frozenset[str] | None
"""The labels in bold that a page prints, as `label_key` writes them; None stands for all words."""

_HAZARD: Final = re.compile(
    r"""
    ^([ \t]*(?:>[ \t]*|(?:[-+*]|\d{1,9}[.)])[ \t]+(?=[^ \t\n]))*+)    # quote and list marks may stand before
    (?=
        \#(?!\d*[^\W\d_][\w/-]*(?:\s|\Z))                              # headings, but not a #tag
      | [-=*_][-=*_ \t]*$                                             # rules and underlines
      | `{3} | ~{3}                                                   # fences
      | \[(?:…|more:|[^\]\n]*+(?:\]:|$))                              # our marks, and link definitions
      | \*\*(?P<stars>[^*\n]++)(?:(?<=:)\*\*|\*\*[ \t]*(?:[:(`]|$))    # bold labels
      | __(?P<bars>[^_\n]++)(?:(?<=:)__|__[ \t]*(?:[:(`]|$))
      | \*(?:[^*\s]++|[^*\s:/·][^*\n:/·]*+[:/·][^*\n]*+|(?:\d|[Bb]ased[ ]on)[^*\n]*+)\*[ \t]*$    # captions
      | (?<=-[ ])[^\n]*\S[ ]\([^(),\n]++,[ ][^()\s:/.]*+[:/.][^()\n]*+\)[ \t]*$    # pointers
    )
    """,
    re.MULTILINE | re.VERBOSE,
)
_HEADING: Final = re.compile(r"^\#{1,6}[ \t]+([^\\\s][^\\\n]*)$", re.MULTILINE)
"""A heading of stored text whose words can be printed in bold: with a backslash before it, it reads badly."""
# Most texts contain no line that begins like a hazard. These two patterns find that out at a fraction of the cost
# of _HAZARD; the second begins with a literal, which the regex engine searches for quickly.
_SUSPECT_FIRST_LINE: Final = re.compile(r"[ \t]*[-#=*_`~<\[>+\d]")
_SUSPECT_LATER_LINE: Final = re.compile(r"\n[ \t]*[-#=*_`~<\[>+\d]")
_GAP_IN_CODE: Final = re.compile(r"^([ \t]*)(?=\[…(?: \d+:)?\][ \t]*$)", re.MULTILINE)
_BACKTICKS: Final = re.compile("`{3,}")

_MIN_FENCE: Final = 3
"""Marks of the shortest fence, as CommonMark defines it."""
_MAX_FENCE: Final = 8
"""Marks of the longest fence in stored text that may stay; longer ones are rare, and are escaped."""
_OPENING_FENCE: Final = re.compile(r"(`{3,8}|~{3,8})(?![`~])(?:(?<=`)[^`]*|(?<=~).*)")
_CLOSING_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*")

Guard = Callable[[str], str]

_PARAGRAPH_ROLES: Final = frozenset({"summary", "text", "code"})


def guard_text(text: str, labels: Labels = None, *, in_paragraph: bool = False) -> str:
    """Make everything harmless that could pass for ours; fences that close within the text may stay.

    A text `in_paragraph` goes on what other text began: its first code spans are not certain, and tags in them go.
    """
    if "```" not in text and "~~~" not in text:
        return escape(text, labels, in_paragraph=in_paragraph)
    # Hazards within a fence are shown as they are, and a backslash there would be printed.
    return _guard_between_fences(text.split("\n"), labels, in_paragraph)


def guard_after_lead(text: str, labels: Labels = None, *, in_paragraph: bool = False) -> str:
    """Do the same for text printed behind other words, where its first line cannot open a fence."""
    # Fences after the first line are judged alone: a line behind our lead opens none of them.
    first, newline, rest = text.partition("\n")
    guarded = escape(first, labels, in_paragraph=True)
    return guarded + newline + guard_text(rest, labels, in_paragraph=True)


def escape(text: str, labels: Labels = None, *, in_paragraph: bool = False) -> str:
    """Put a backslash before every hazard at the start of a line, fences included, and write tags as entities.

    Where the labels of the page are known, headings are printed in bold, which nothing else of ours is.
    """
    if _SUSPECT_FIRST_LINE.match(text) or _SUSPECT_LATER_LINE.search(text):
        if labels is not None and "#" in text:
            # Before the hazards: bold words that are a label of the page are one.
            text = _HEADING.sub(_embolden, text)
        text = _HAZARD.sub(lambda match: _escape_hazard(match, labels), text)
    return write_entities(text, in_paragraph=in_paragraph)


def inline(text: str) -> str:
    """Make a value of one line harmless that is printed within a line of ours."""
    return escape_odd_backticks(write_entities(text, in_paragraph=True))


def _embolden(heading: re.Match[str]) -> str:
    words = heading[1].rstrip()
    # Marks may close a heading behind a blank; those of C# belong to its words.
    open_words = words.rstrip("#")
    words = without_anchor(open_words.rstrip() if open_words.endswith((" ", "\t")) else words)
    # Emphasis within bold words would end them early.
    words = words.replace("*", "").strip()
    return f"**{words}**" if words else heading[0]


def _escape_hazard(match: re.Match[str], labels: Labels) -> str:
    label = match["stars"] or match["bars"]
    # Bold words that the page uses for no label are the author's own emphasis.
    if label is not None and labels is not None and label_key(label) not in labels:
        return match[0]
    return match[0] + "\\"


def guard_code(text: str) -> str:
    """Guard text that goes into a fence, where only the mark for a gap and tags around the page could mislead."""
    return break_frame_tags(_GAP_IN_CODE.sub(r"\1\\", text) if "[…" in text else text)


def choose_fence(texts: Sequence[str]) -> str:
    """Return a fence longer than any run of backticks within the texts."""
    longest = max((len(run) for text in texts for run in _BACKTICKS.findall(text)), default=_MIN_FENCE - 1)
    return "`" * (longest + 1)


def _guard_between_fences(lines: Sequence[str], labels: Labels, in_paragraph: bool) -> str:
    closings = _find_closings(lines)
    printed: list[str] = []
    index = outside = 0  # `outside` is the first line after the last closed fence
    while index < len(lines):
        end = _fence_end(lines[index], index, closings)
        if end is None:
            index += 1
            continue
        if outside < index:
            printed.append(escape("\n".join(lines[outside:index]), labels, in_paragraph=in_paragraph))
        printed.append(guard_code("\n".join(lines[index : end + 1])))
        index = outside = end + 1
    if outside < len(lines):
        printed.append(escape("\n".join(lines[outside:]), labels, in_paragraph=in_paragraph))
    return "\n".join(printed)


def _find_closings(lines: Sequence[str]) -> Mapping[str, Sequence[int]]:
    """Return for every fence the lines that would close it, in order.

    Listing them once keeps a text of many unclosed fences from being searched to its end for each of them.
    """
    lengths = range(_MIN_FENCE, _MAX_FENCE + 1)
    closings: dict[str, list[int]] = {mark * length: [] for mark in "`~" for length in lengths}
    for index, line in enumerate(lines):
        closing = _CLOSING_FENCE.fullmatch(line)
        if closing is not None:
            # A closing fence may be longer than the opening one, so it closes all shorter ones.
            mark, longest = closing[1][0], min(len(closing[1]), _MAX_FENCE)
            for length in range(_MIN_FENCE, longest + 1):
                closings[mark * length].append(index)
    return closings


def _fence_end(line: str, index: int, closings: Mapping[str, Sequence[int]]) -> int | None:
    """Return the line that closes a fence opened here, or None if it opens none or nothing closes it.

    Indented fences do not count, since a list around them may end early and the fence with it.
    """
    opening = _OPENING_FENCE.fullmatch(line)
    if opening is None:
        return None
    # By binary search, so that thousands of fences take no quadratic time.
    candidates = closings[opening[1]]
    later = bisect_right(candidates, index)
    return candidates[later] if later < len(candidates) else None


DIALECT: Final = Dialect(keeps_marks=True, guard=escape, inline=inline)


class Markdown(LineFormat, frozen=True):
    """The Markdown format."""

    dialect: ClassVar = DIALECT
    name: str = "markdown"

    def head(self, title: str) -> tuple[Lines, ...]:
        """Print the page's heading."""
        return frame_lines(f"# {escape(one_line(title))}") if title else ()

    def section(self, name: str, heading: str, first: bool, separator: bool) -> tuple[Lines, ...]:
        """Print a section's heading, below a blank line and perhaps a rule."""
        return section_heading(f"## {escape(one_line(heading))}" if heading else "", first, separator)

    def group(self, subject: Candidate) -> tuple[Lines, ...]:
        """Print a subject's heading with its kind."""
        node = subject.node
        return (
            BLANK,
            node_line(node, f"### {escape(display_name(node))} ({inline(one_line(node.kind)).upper()})"),
        )

    def part(self, label: str) -> tuple[Lines, ...]:
        """Print a part's label in bold."""
        return frame_lines("", f"**{inline(one_line(label))}:**") if label else ()

    @staticmethod
    def guard_name(name: str) -> str:
        """Make a name harmless behind a bullet."""
        return escape(name)

    @staticmethod
    def item_lines(node: Node, pieces: Sequence[Piece], style: ItemStyle) -> list[Lines]:
        """Print the pieces of an item, with blank lines where Markdown needs them."""
        lines: list[Lines] = []
        before: Piece | None = None
        for piece in pieces:
            if _needs_blank_between(before, piece):
                lines.append(BLANK)
            lines += _piece_lines(node, piece, style)
            before = piece
        return lines

    def notes(self, notes: Sequence[str]) -> tuple[Lines, ...]:
        """Print the notes in italics, one per line."""
        return frame_lines("", *(_italic(f"Note: {one_line(note)}") for note in notes)) if notes else ()

    def footer(self, text: str) -> tuple[Lines, ...]:
        """Print a rule and the footer in italics."""
        return frame_lines("", "---", _italic(one_line(text))) if text else ()

    def sources(self, citations: Sequence[Citation]) -> tuple[Lines, ...]:
        """Print a rule and the list of citations."""
        if not citations:
            return ()
        return (*frame_lines("", "---", "**Sources:**"), *map(_citation_line, citations))


def _citation_line(citation: Citation) -> Lines:
    node = Node(citation.key, citation.kind, citation.tenant, citation.title, origin=citation.origin)
    return node_line(
        node, f"- {escape(display_name(node))} ({inline(format_location(node) or one_line(node.kind))})"
    )


def _needs_blank_between(before: Piece | None, piece: Piece) -> bool:
    """Return whether a paragraph or fence needs a blank line above: always, except first and behind a `line`."""
    if before is None or not isinstance(piece, Prose) or piece.role not in _PARAGRAPH_ROLES:
        return False
    return not (isinstance(before, Prose) and before.role == "line")


def _piece_lines(node: Node, piece: Piece, style: ItemStyle) -> Sequence[Lines]:
    if isinstance(piece, Title):
        return [node_line(node, f"{'#' * style.level} {escape(piece.text)}{_title_end(piece)}")]
    # Phrases are on one line, and each form begins with a mark of ours: no guard is needed.
    if isinstance(piece, Phrase):
        return [node_line(node, _PHRASES[piece.role](piece.text))]
    if isinstance(piece, Entries):
        return _ENTRIES[piece.role](node, piece)
    if piece.role == "code" and piece.body:
        return _fenced_code(node, piece.body)
    # Where people talk, any name in bold could pass for the next speaker.
    labels = None if piece.lead and "author" in node.fields else style.labels
    quoted = quote_body(node, piece.body, bracket_gap, *_guards_for(piece, labels))
    lines = add_lead_and_tail(node, piece.lead, quoted, piece.tail)
    return make_bullet(lines) if piece.role == "bullet" else lines


def _title_end(piece: Title) -> str:
    """Return the kind and the tags behind a title."""
    kind = f" ({inline(piece.kind)})" if piece.kind else ""
    return "".join([kind, *(f" {inline(tag)}" for tag in piece.tags)])


def _guards_for(piece: Prose, labels: Labels) -> tuple[Guard, Guard]:
    """Choose the guards of the first run and of later ones.

    A tail would spoil a fence that closes on the last line, a lead one on the first line. Runs behind a gap, and
    filled-in forms, go on a paragraph that other text began, so that code spans in them are not certain.
    """
    guard: Callable[..., str] = escape if piece.tail else guard_after_lead if piece.lead else guard_text
    later = partial(guard, labels=labels, in_paragraph=True)
    return (later if piece.role == "line" else partial(guard, labels=labels)), later


def _fenced_code(node: Node, body: Body) -> list[Lines]:
    signatures = [str(member.fields.get("signature", "")) for member in body.members]
    fence = choose_fence([*(run.text for run in body.runs), *signatures])
    # Stored too: a backtick or blank in it would end the fence's own line early.
    language = "".join(one_line(node.language or "").replace("`", "").split())
    return [Lines(fence + language), *quote_body(node, body, bracket_gap, guard_code), Lines(fence)]


def _italic(text: str) -> str:
    return f"*{_escape_asterisks(inline(text))}*"


def _escape_asterisks(text: str) -> str:
    return text.replace("*", r"\*")


def _field_lines(node: Node, piece: Entries) -> list[Lines]:
    return [
        node_line(node, f"- **{_escape_asterisks(inline(entry.label))}**: {inline(entry.text)}")
        for entry in piece.entries
    ]


def _link_lines(node: Node, piece: Entries) -> list[Lines]:
    return [node_line(node, f"- {escape(inline(entry.label))} → {inline(entry.text)}") for entry in piece.entries]


def _tree_lines(node: Node, piece: Entries) -> list[Lines]:
    texts = draw_tree(node, piece)
    fence = choose_fence(texts)
    return [Lines(fence), *(node_line(node, text) for text in texts), Lines(fence)]


def _image_lines(node: Node, piece: Entries) -> list[Lines]:
    return [
        node_line(node, f"![{_escape_brackets(inline(entry.name))}]({_encode_reference(entry.text)})")
        for entry in piece.entries
    ]


def _escape_brackets(text: str) -> str:
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _encode_reference(text: str) -> str:
    """Percent-encode the characters that would end a link's target or open a tag in it."""
    # Percent signs stay, because a reference may be encoded already.
    for character, code in (("\\", "%5C"), (" ", "%20"), ("(", "%28"), (")", "%29"), ("<", "%3C"), (">", "%3E")):
        text = text.replace(character, code)
    return text


_PHRASES: Final[Mapping[str, Callable[[str], str]]] = {
    "location": _italic,
    "caption": _italic,
    "path": lambda text: _italic(f"via {text}"),
    "score": lambda text: _italic(f"score {text}"),
    "tags": lambda text: _italic(f"Tags: {text}"),
    "handle": lambda text: f"[more: {inline(text)}]",
}
_ENTRIES: Final[Mapping[str, Callable[[Node, Entries], list[Lines]]]] = {
    "fields": _field_lines,
    "links": _link_lines,
    "tree": _tree_lines,
    "images": _image_lines,
}
