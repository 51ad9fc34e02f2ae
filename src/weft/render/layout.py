"""What the formats that print line by line share: quoted text with its gaps, bullets, leads and trees."""

from collections.abc import Callable, Sequence

from weft.model import Item, Node
from weft.render.body import Body, quoted_lines
from weft.render.clean import one_line
from weft.render.lines import Line, about
from weft.render.pieces import Entries, ItemStyle, Piece, Prose, Title
from weft.render.values import aside_words, found_at, name_of


def set_off(pieces: Sequence[Piece], style: ItemStyle) -> bool:
    """Whether a blank line stands above: not for bullets, nor for what a part prints without a title."""
    if not pieces or (isinstance(pieces[0], Prose) and pieces[0].role == "bullet"):
        return False
    return style.level < 4 or isinstance(pieces[0], Title)


def quoted(node: Node, body: Body | None, gap: str, guard: Callable[[str], str]) -> list[Line]:
    """The body's lines made harmless by `guard`, with the mark `gap` wherever something was left out."""
    if body is None:
        return []
    lines: list[Line] = []
    for index, run in enumerate(body.runs):
        if index or body.gap_before:
            lines.append(Line(gap))
        lines += quoted_lines(node, run, guard(run.text))
    if body.gap_after:
        lines.append(Line(gap))
    return lines


def between(node: Node, lead: str, lines: list[Line], tail: str) -> list[Line]:
    """The lines with a lead before the first and a tail behind the last."""
    if not lines:
        return [about(node, lead + tail)]
    if lead:
        lines[0] = Line(lead + lines[0].text, node.key, node.tenant, node.origin, lines[0].source_line)
    if tail:
        lines[-1] = Line(lines[-1].text + tail, node.key, node.tenant, node.origin, lines[-1].source_line)
    return lines


def bulleted(lines: Sequence[Line]) -> list[Line]:
    """The lines as one list item, all but the first indented."""
    texts = [f"- {lines[0].text.lstrip()}", *(f"  {line.text}" if line.text else "" for line in lines[1:])]
    return [
        Line(text, line.key, line.tenant, line.origin, line.source_line, text == line.text and line.verbatim)
        for text, line in zip(texts, lines, strict=True)
    ]


def pointer(item: Item, style: ItemStyle, guard: Callable[[str], str]) -> Line:
    """The one line that says a node exists, what it is and where to find it, and of an aside how it is linked."""
    node = item.candidate.node
    link = aside_words(item.candidate, style.asides)
    told = f"{one_line(node.kind)}, {found_at(node)}{f'; {link}' if link else ''}"
    return about(node, f"- {guard(name_of(node))} ({told})")


def tree(node: Node, piece: Entries) -> list[str]:
    """The node's name above its relations, drawn as branches."""
    branches = ["├─"] * (len(piece.entries) - 1) + ["└─"]
    drawn = (
        f"  {branch} {entry.label} → {entry.text}" for branch, entry in zip(branches, piece.entries, strict=True)
    )
    return [name_of(node), *drawn]
