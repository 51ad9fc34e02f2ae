"""What things cost when printed: every heading and item is rendered in its format and counted as it will stand."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from weft.frozen import dataclass
from weft.model import Candidate, Detail, Item
from weft.pipeline.excerpt import (
    Asked,
    Measured,
    Quotable,
    declaration,
    excerpt,
    indented,
    measure,
    quotable,
    quotation,
)
from weft.pipeline.slots import Leaf
from weft.ports import TokenCounter
from weft.render import Format, ItemStyle, Lines, text_of
from weft.text import is_code

if TYPE_CHECKING:
    from weft.tokens.encodings import EncodingCounter


_JOIN = 1
"""Tokens by which joined parts may exceed the sum of their counts, for each part."""


@dataclass(frozen=True, slots=True)
class Printer:
    """Costs under one format and tokenizer; `stored` is the tokenizer where stored counts are its own."""

    format: Format
    count: TokenCounter
    styles: Mapping[str, ItemStyle]
    asked: Asked
    stored: "EncodingCounter | None"
    headings: dict[tuple[str, str], int] = field(default_factory=dict)
    known: dict[str, ItemStyle] = field(default_factory=dict)
    printed: dict[tuple[object, ...], tuple[Lines, ...]] = field(default_factory=dict)
    quotable: dict[tuple[object, ...], Quotable] = field(default_factory=dict)
    measured: dict[tuple[object, ...], Measured] = field(default_factory=dict)

    def style(self, leaf: str) -> ItemStyle:
        """How the items of a leaf are printed."""
        if leaf not in self.known:
            section, _, rest = leaf.partition("/")
            shared = f"{section}/{rest.rpartition('/')[2]}" if rest else section
            self.known[leaf] = self.styles.get(leaf) or self.styles[shared]
        return self.known[leaf]

    def lines(self, lines: Sequence[Lines]) -> int:
        """The cost of some lines."""
        return self.count.count(text_of(lines)) + _JOIN if lines else 0

    def opening(self, kind: str, heading: str | Candidate) -> int:
        """The cost of a section's, group's or part's heading, with what closes it."""
        key = (kind, heading if isinstance(heading, str) else heading.node.key)
        if key not in self.headings:
            self.headings[key] = self.lines(self._heading(kind, heading))
        return self.headings[key]

    def _heading(self, kind: str, heading: str | Candidate) -> tuple[Lines, ...]:
        if isinstance(heading, Candidate):
            return self.format.group(heading) + self.format.group_end()
        if kind == "section":
            return self.format.section(heading, heading, False, True) + self.format.section_end()
        return self.format.part(heading) + self.format.part_end()

    def item(self, item: Item, style: ItemStyle) -> tuple[Lines, ...]:
        """The lines of an item, printed once however often they are asked for."""
        node = item.candidate.node
        key = (id(style), node.tenant, node.key, item.detail, item.spans)
        if key not in self.printed:
            self.printed[key] = self.format.item(item, style)
        return self.printed[key]

    def cost(self, leaf: Leaf, item: Item) -> int:
        """The cost of an item; the stored count stands for a text that is printed whole and unchanged."""
        lines = self.item(item, self.style(leaf.name))
        known = item.candidate.text_tokens
        if self.stored is not None and known is not None and item.detail is Detail.WHOLE:
            quoted = sum([each.count for each in lines if each.verbatim])
            if quoted == item.candidate.node.text.strip().count("\n") + 1:
                around = [each for each in lines if not each.verbatim]
                return known + self.lines(around) + _JOIN
        return self.lines(lines)

    def page(self, text: str, items: Iterable[Item]) -> int:
        """The cost of a page that shows these items in this order; stored counts stand for texts printed whole."""
        if self.stored is None:
            return self.count.count(text)
        whole = [item.candidate for item in items if item.detail is Detail.WHOLE]
        known = [(each.node.text, each.text_tokens) for each in whole if each.text_tokens is not None]
        return self.stored.count_holding(text, known)

    def shorten(self, candidate: Candidate, room: int) -> tuple[tuple[int, int], ...]:
        """The spans of a candidate's text that speak most to the question within the room."""
        node = candidate.node
        if candidate.window is not None:
            return self._quoted(candidate, candidate.window, room)
        spans = excerpt(self._measured(candidate), room, self.count)
        if is_code(node.language):
            return tuple((indented(node.text, start), end) for start, end in spans)
        return spans

    def _measured(self, candidate: Candidate) -> Measured:
        """The candidate's text read for excerpts, once however many lengths are tried."""
        node, key = candidate.node, (candidate.node.tenant, candidate.node.key, candidate.spans)
        if key not in self.measured:
            signature = node.fields.get("signature")
            stated = signature if isinstance(signature, str) else ""
            head = declaration(node.text, stated) if is_code(node.language) else (0, 0)
            self.measured[key] = measure(node.text, candidate.spans, self.asked.weights, self.count, head)
        return self.measured[key]

    def _quoted(self, candidate: Candidate, window: tuple[int, int], room: int) -> tuple[tuple[int, int], ...]:
        """A passage whole, or as much of it as fits in one piece."""
        node, key = candidate.node, (candidate.node.tenant, candidate.node.key, window, candidate.spans)
        if key not in self.quotable:
            self.quotable[key] = quotable(node.text, window, candidate.spans, self.asked, self.count)
        passage = self.quotable[key]
        return (window,) if passage.tokens <= room else quotation(node.text, passage, room, self.count)
