"""Count what things cost when printed: every heading and item is rendered in its format, once, and counted."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from weft.model import Candidate, Detail, Item
from weft.pipeline.excerpt import (
    MeasuredPassage,
    MeasuredText,
    QuestionTerms,
    choose_excerpt,
    choose_quotation,
    find_declaration,
    include_indent,
    measure_passage,
    measure_text,
)
from weft.pipeline.slots import Slot
from weft.ports import TokenCounter
from weft.render import Format, ItemStyle, Lines, join_lines
from weft.text import is_code

if TYPE_CHECKING:
    from weft.tokens.encodings import EncodingCounter


_JOIN_TOKENS: Final = 1
"""Tokens by which joined parts may exceed the sum of their counts, for each part."""


class Printer(Struct, frozen=True):
    """The costs of headings and items under one format and tokenizer.

    `stored` is the tokenizer where stored counts are its own. The fields after it are caches: a page is fitted
    several times, and asks for the same items again.
    """

    format: Format
    count: TokenCounter
    styles: Mapping[str, ItemStyle]
    question: QuestionTerms
    stored: "EncodingCounter | None"
    heading_costs: dict[tuple[str, str], int] = field(default_factory=dict)
    slot_styles: dict[str, ItemStyle] = field(default_factory=dict)
    item_lines: dict[tuple[object, ...], tuple[Lines, ...]] = field(default_factory=dict)
    passages: dict[tuple[object, ...], MeasuredPassage] = field(default_factory=dict)
    texts: dict[tuple[object, ...], MeasuredText] = field(default_factory=dict)

    def heading_cost(self, kind: str, heading: str | Candidate) -> int:
        """Return the cost of a section's, group's or part's heading, with what closes it."""
        key = (kind, heading if isinstance(heading, str) else heading.node.key)
        if key not in self.heading_costs:
            self.heading_costs[key] = self.lines_cost(self._heading_lines(kind, heading))
        return self.heading_costs[key]

    def _heading_lines(self, kind: str, heading: str | Candidate) -> tuple[Lines, ...]:
        if isinstance(heading, Candidate):
            return self.format.group(heading) + self.format.group_end()
        if kind == "section":
            return self.format.section(heading, heading, False, True) + self.format.section_end()
        return self.format.part(heading) + self.format.part_end()

    def lines_cost(self, lines: Sequence[Lines]) -> int:
        """Return the cost of some lines."""
        return self.count.count(join_lines(lines)) + _JOIN_TOKENS if lines else 0

    def item_cost(self, slot: Slot, item: Item) -> int:
        """Return the cost of an item; the stored count stands for a text that is printed whole and unchanged."""
        lines = self.print_item(item, self._slot_style(slot.name))
        text_tokens = item.candidate.text_tokens
        if self.stored is not None and text_tokens is not None and item.detail is Detail.WHOLE:
            # Only if every line of the text stands there as it is: escaping some would change the count.
            quoted = sum([line.count for line in lines if line.verbatim])
            if quoted == item.candidate.node.text.strip().count("\n") + 1:
                around = [line for line in lines if not line.verbatim]
                return text_tokens + self.lines_cost(around) + _JOIN_TOKENS
        return self.lines_cost(lines)

    def print_item(self, item: Item, style: ItemStyle) -> tuple[Lines, ...]:
        """Return the lines of an item, printed once however often they are asked for."""
        node = item.candidate.node
        # By identity, which is quicker than hashing a style, and safe while the printer holds all styles.
        key = (id(style), node.tenant, node.key, item.detail, item.spans)
        if key not in self.item_lines:
            self.item_lines[key] = self.format.item(item, style)
        return self.item_lines[key]

    def _slot_style(self, slot: str) -> ItemStyle:
        """Return the style of a slot's items; the slots of all subjects share the styles of their parts."""
        if slot not in self.slot_styles:
            section, _, rest = slot.partition("/")
            shared = f"{section}/{rest.rpartition('/')[2]}" if rest else section
            self.slot_styles[slot] = self.styles.get(slot) or self.styles[shared]
        return self.slot_styles[slot]

    def page_cost(self, text: str, items: Iterable[Item]) -> int:
        """Return the cost of a page that shows these items in this order; stored counts stand for whole texts."""
        if self.stored is None:
            return self.count.count(text)
        whole = [item.candidate for item in items if item.detail is Detail.WHOLE]
        known = [
            (candidate.node.text, candidate.text_tokens)
            for candidate in whole
            if candidate.text_tokens is not None
        ]
        return self.stored.count_with_known_parts(text, known)

    def shorten(self, candidate: Candidate, max_tokens: int) -> tuple[tuple[int, int], ...]:
        """Return the spans of a candidate's text that speak most to the question within the tokens."""
        node = candidate.node
        if candidate.window is not None:
            return self._quote_passage(candidate, candidate.window, max_tokens)
        spans = choose_excerpt(self._measure_text(candidate), max_tokens, self.count)
        if is_code(node.language):
            return tuple((include_indent(node.text, start), end) for start, end in spans)
        return spans

    def _measure_text(self, candidate: Candidate) -> MeasuredText:
        """Return the candidate's text read for excerpts, once however many lengths are tried."""
        node, key = candidate.node, (candidate.node.tenant, candidate.node.key, candidate.spans)
        if key not in self.texts:
            signature = node.fields.get("signature")
            declared = signature if isinstance(signature, str) else ""
            head = find_declaration(node.text, declared) if is_code(node.language) else (0, 0)
            self.texts[key] = measure_text(node.text, candidate.spans, self.question.weights, self.count, head)
        return self.texts[key]

    def _quote_passage(
        self, candidate: Candidate, window: tuple[int, int], max_tokens: int
    ) -> tuple[tuple[int, int], ...]:
        """Return a passage whole, or as much of it as fits in one piece."""
        node, key = candidate.node, (candidate.node.tenant, candidate.node.key, window, candidate.spans)
        if key not in self.passages:
            self.passages[key] = measure_passage(node.text, window, candidate.spans, self.question, self.count)
        passage = self.passages[key]
        if passage.tokens <= max_tokens:
            return (window,)
        return choose_quotation(node.text, passage, max_tokens, self.count)
