"""Compose the page: fit the slots, render the items, and count the whole until it is within the budget.

The `Printer` tells what headings and items cost: each is rendered in its format, once, and counted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from weft.model import Candidate, Detail, Item, Json, NodeRef, Page, PlacedGroup, PlacedSection
from weft.pipeline.excerpt import (
    MeasuredPassage,
    MeasuredText,
    choose_excerpt,
    choose_quotation,
    find_declaration,
    include_indent,
    measure_passage,
    measure_text,
)
from weft.pipeline.fit import find_nested, fit, order_items
from weft.pipeline.ledger import count_things, list_citations
from weft.pipeline.neighbours import find_turns_below, gather_pieces
from weft.pipeline.plan import Plan
from weft.pipeline.query import QuestionTerms
from weft.pipeline.sections import Layout
from weft.pipeline.slots import Outcome, PlacedSlot, Reason, Slot
from weft.ports import TokenCounter
from weft.profiles import fill
from weft.profiles.types import Frame
from weft.render import Format, ItemStyle, Lines, join_lines, render_lines
from weft.text import is_code

if TYPE_CHECKING:
    from weft.tokens import EncodingCounter

_MAX_TITLE_CHARS: Final = 200
"""Characters of a question in the title: of a pasted log the beginning is enough."""
_MAX_FITTINGS: Final = 6
"""Attempts at fitting a page; most need one or two, and each costs printing the items that changed."""
_MAX_UNSPENT_SHARE: Final = 0.04
"""A page emptier than this is fitted once more, with the room that cautious counting had kept back."""
_MIN_UNSPENT_TOKENS: Final = 8
"""The same in tokens, for small pages: no item costs less."""
_WIDEST_COUNTS: Final = {"items": 999, "sections": 99, "sources": 999, "counted": 999}
"""The numbers for which room is kept in the footer before they are known."""
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
    item_costs: dict[tuple[object, ...], int] = field(default_factory=dict)
    passages: dict[tuple[object, ...], MeasuredPassage] = field(default_factory=dict)
    texts: dict[tuple[object, ...], MeasuredText] = field(default_factory=dict)
    nested: dict[str, frozenset[NodeRef]] = field(default_factory=dict)
    turns: dict[str, Mapping[NodeRef, int]] = field(default_factory=dict)

    def heading_cost(self, kind: str, heading: str | Candidate) -> int:
        """Return the cost of a section's, group's or part's heading, with what closes it."""
        key = (kind, heading if isinstance(heading, str) else heading.node.key)
        if key not in self.heading_costs:
            # With its end, because closing tags are printed only where a heading was.
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
        # No lines cost nothing, not even the join: a format without headings must stay free of them.
        return self.count.count(join_lines(lines)) + _JOIN_TOKENS if lines else 0

    def item_cost(self, slot: Slot, item: Item) -> int:
        """Return the cost of an item; the stored count stands for a text that is printed whole and unchanged."""
        style = self._slot_style(slot.name)
        # Below its parent an item costs less than by itself.
        if style.outline and item.candidate.node.ref in self._nested(slot):
            item = replace(item, level=1)
        if slot.snippets is not None and item.detail in (Detail.WHOLE, Detail.EXCERPT):
            turn = self._turns(slot).get(item.candidate.node.ref, 0)
            item = replace(item, turn=turn) if turn != item.turn else item
        key = _item_key(item, style)
        if key not in self.item_costs:
            self.item_costs[key] = self._count_item(item, self.print_item(item, style))
        return self.item_costs[key]

    def _count_item(self, item: Item, lines: Sequence[Lines]) -> int:
        text_tokens = item.candidate.text_tokens
        if self.stored is not None and text_tokens is not None and item.detail is Detail.WHOLE:
            # Only if every line of the text stands there as it is: escaping some would change the count.
            quoted = sum([line.count for line in lines if line.verbatim])
            if quoted == item.candidate.node.text.strip().count("\n") + 1:
                around = [line for line in lines if not line.verbatim]
                return text_tokens + self.lines_cost(around) + _JOIN_TOKENS
        return self.lines_cost(lines)

    def _turns(self, slot: Slot) -> Mapping[NodeRef, int]:
        if slot.name not in self.turns:
            self.turns[slot.name] = find_turns_below(slot.candidates)
        return self.turns[slot.name]

    def _nested(self, slot: Slot) -> frozenset[NodeRef]:
        if slot.name not in self.nested:
            self.nested[slot.name] = find_nested(slot.candidates)
        return self.nested[slot.name]

    def print_item(self, item: Item, style: ItemStyle) -> tuple[Lines, ...]:
        """Return the lines of an item, printed once however often they are asked for."""
        key = _item_key(item, style)
        if key not in self.item_lines:
            self.item_lines[key] = self.format.item(item, style)
        return self.item_lines[key]

    def _slot_style(self, slot: str) -> ItemStyle:
        """Return the style of a slot's items; the slots of all subjects share the styles of their parts."""
        if slot not in self.slot_styles:
            section, _, rest = slot.partition("/")
            shared = f"{section}/{rest.rpartition('/')[2]}" if rest else section
            # A slot is named <section>/<tenant>/<key>/<part>, and styles are kept by <section>/<part>.
            self.slot_styles[slot] = self.styles.get(slot) or self.styles[shared]
        return self.slot_styles[slot]

    def page_cost(self, text: str, items: Iterable[Item]) -> int:
        """Return the cost of a page that shows these items in this order; stored counts stand for whole texts."""
        if self.stored is None:
            return self.count.count(text)
        whole = [item.candidate for item in items if item.detail is Detail.WHOLE]
        known = [(each.node.text, each.text_tokens) for each in whole if each.text_tokens is not None]
        return self.stored.count_with_known_parts(text, known)

    def shorten(self, candidate: Candidate, max_tokens: int) -> tuple[tuple[int, int], ...]:
        """Return the spans of a candidate's text that speak most to the question within the tokens."""
        node = candidate.node
        # A passage is quoted in one piece; only whole texts are shown with gaps.
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
            # Code without its declaration could be any function, so an excerpt of code always shows it.
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


def _item_key(item: Item, style: ItemStyle) -> tuple[object, ...]:
    """Return what tells the lines of an item from those of all others of a page."""
    # By identity, which is quicker than hashing a style, and safe while the printer holds all styles.
    return id(style), *item.candidate.node.ref, item.detail, item.spans, item.level, item.turn


class ComposedPage(Struct, frozen=True):
    """A printed page: its text and lines, the outcome of each candidate, and notes for the caller."""

    page: Page
    text: str
    lines: tuple[Lines, ...]
    outcomes: tuple[Outcome, ...]
    tokens: int
    notes: tuple[str, ...]

    def items(self) -> list[Item]:
        """Return the printed items in the order of the slots."""
        return _printed_items(self.outcomes)

    def hash(self) -> str:
        """Return a hash of the text, by which contexts are told apart."""
        return blake2b(self.text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def prints(self, items: Iterable[Item]) -> bool:
        """Return whether all of these items stand on the page, at any level of detail."""
        return {item.candidate.node.ref for item in items} <= {each.candidate.node.ref for each in self.items()}


def compose(plan: Plan, layout: Layout, printer: Printer) -> ComposedPage:
    """Return the fullest page within the budget; where it is very small, with a plainer frame, then with none."""
    warnings = (*_small_budget_warning(plan), *_layout_notes(plan, layout))
    full = plan.profile.frame
    # From the fullest frame to none: what stands around the items goes before the items do.
    for frame in (full, Frame(title=full.title, empty=full.empty), Frame(title="", notes=False, empty=full.empty)):
        composed = _compose_within_budget(plan, layout, printer, frame, warnings)
        if composed is not None:
            if frame.title:
                return composed
            note = f"A budget of {plan.budget} tokens takes no title: only what fits is listed. Raise max_tokens."
            return replace(composed, notes=(*composed.notes, note))
    return _empty_page(plan, layout, warnings)


def _small_budget_warning(plan: Plan) -> tuple[str, ...]:
    if not plan.prints_names_only:
        return ()
    below = plan.profile.summary_only_below
    return (f"A budget of {plan.budget} tokens is under {below}: only names and types are printed.",)


def _layout_notes(plan: Plan, layout: Layout) -> tuple[str, ...]:
    """Return what a page says that doubts, and one of a session about the nodes it leaves out."""
    doubt = (layout.doubt,) if layout.doubt else ()
    if plan.request.received is None or not layout.received:
        return doubt
    left = "1 node was" if layout.received == 1 else f"{layout.received} nodes were"
    return (*doubt, f"{left} {plan.request.received.reason}, and left out here.")


def _compose_within_budget(
    plan: Plan, layout: Layout, printer: Printer, frame: Frame, warnings: tuple[str, ...]
) -> ComposedPage | None:
    """Return a page with this frame, or None when the budget does not even take its smallest form."""
    if plan.budget is None:
        return _compose_once(plan, layout, printer, frame, warnings, None)
    # The frame is kept back at first; each fitting then corrects the room by what the page really cost.
    room = fitted = plan.budget - _frame_cost(plan, layout, printer, frame, warnings)
    exceeded: int | None = None
    best: ComposedPage | None = None
    correction = 0
    for _ in range(_MAX_FITTINGS):
        composed = _compose_once(plan, layout, printer, frame, warnings, max(room, 0))
        left = plan.budget - composed.tokens
        if left < 0:
            if room <= 0:
                break
            exceeded = room
            # Parts cost more together than the sum of their counts: keep back what was missing, and twice as much
            # as the last time, because the same items may fit into a little less room.
            correction = max(-left, 2 * correction)
            room = room - correction if best is None else (fitted + room) // 2
            continue
        # A fitting with more room that spends no more, or passes the best item over, will not get better.
        if best is not None and (composed.tokens <= best.tokens or not composed.prints(best.items()[:1])):
            break
        best, fitted = composed, room
        is_full = left <= max(_MAX_UNSPENT_SHARE * plan.budget, _MIN_UNSPENT_TOKENS)
        if is_full or not any(outcome.reason.wants_room for outcome in composed.outcomes):
            break
        # Items are priced one by one and may cost less together: all that this saved is given to them.
        room = room + left if exceeded is None else (room + exceeded) // 2
    if best is None or (layout.candidates() and not best.items()):
        return None
    return best


def _frame_cost(plan: Plan, layout: Layout, printer: Printer, frame: Frame, warnings: tuple[str, ...]) -> int:
    """Return the cost of what stands around the items, with the widest numbers the footer could show."""
    format = printer.format
    cost = printer.lines_cost(format.head(_title(plan, layout, frame))) + printer.lines_cost(format.end())
    cost += printer.lines_cost(format.notes(_page_notes(frame, layout, warnings)))
    cost += printer.lines_cost(format.metadata(_metadata(plan, printer, frame)))
    if frame.footer:
        cost += printer.lines_cost(format.footer(_footer(plan, frame, _WIDEST_COUNTS)))
    if frame.sources:
        # Which candidates will be printed is not known yet; the first ones stand for them.
        citations = list_citations(Item(candidate, Detail.WHOLE) for candidate in layout.candidates())
        cost += printer.lines_cost(format.sources(citations[: frame.sources]))
    return cost


def _compose_once(
    plan: Plan, layout: Layout, printer: Printer, frame: Frame, warnings: tuple[str, ...], room: int | None
) -> ComposedPage:
    """Fit the items into the room, render the page, and count it as a whole."""
    outcomes = fit(
        [placed.slot for placed in layout.slots],
        room,
        select=plan.profile.select,
        cost=printer.item_cost,
        shorten=printer.shorten,
        repeats=plan.profile.dedupe.scope == "section",
    )
    page = replace(_make_page(plan, layout, frame, outcomes, warnings), metadata=_metadata(plan, printer, frame))
    lines = render_lines(page, printer.format, printer.styles, frame, printer.print_item)
    text = join_lines(lines)
    # In printed order, because known counts are matched with the text from its beginning to its end.
    tokens = printer.page_cost(text, _items_in_order(page))
    return ComposedPage(page, text, lines, outcomes, tokens, _layout_notes(plan, layout))


def _metadata(plan: Plan, printer: Printer, frame: Frame) -> Mapping[str, Json]:
    return plan.metadata(printer.count.name) if frame.notes else {}


def _items_in_order(page: Page) -> Iterator[Item]:
    """Yield the items of a page in printed order."""
    for section in page.sections:
        yield from section.items
        for group in section.groups:
            for part in group.parts:
                yield from part.items


def _empty_page(plan: Plan, layout: Layout, warnings: tuple[str, ...]) -> ComposedPage:
    """Return the page of a budget in which not even one name fits: no text, and a note that says so."""
    note = (
        f"The budget of {plan.budget} tokens is too small for a page: one name alone costs more. Raise max_tokens."
    )
    reason = Reason.PAGE_TOO_SMALL
    outcomes = tuple(
        Outcome(placed.slot.name, candidate, None, reason, reason.value)
        for placed in layout.slots
        for candidate in placed.slot.candidates
    )
    return ComposedPage(Page(), "", (), outcomes, 0, (*warnings, note))


def _make_page(
    plan: Plan, layout: Layout, frame: Frame, outcomes: Sequence[Outcome], warnings: tuple[str, ...]
) -> Page:
    by_slot: dict[str, list[Item]] = {}
    for outcome in outcomes:
        if outcome.item is not None:
            by_slot.setdefault(outcome.slot, []).append(outcome.item)
    sections = _make_sections(layout, by_slot)
    items = [item for slot_items in by_slot.values() for item in slot_items]
    citations = list_citations(_printed_items(outcomes))
    counts = {
        "items": len(items),
        "sections": len(sections),
        "sources": len(citations),
        "counted": count_things(frame, items),
    }
    return Page(
        title=_title(plan, layout, frame),
        sections=sections,
        notes=_page_notes(frame, layout, warnings),
        footer=_footer(plan, frame, counts) if frame.footer and items else "",
        sources=citations[: frame.sources],
    )


def _printed_items(outcomes: Iterable[Outcome]) -> list[Item]:
    return [outcome.item for outcome in outcomes if outcome.item is not None]


def _title(plan: Plan, layout: Layout, frame: Frame) -> str:
    """Return the title with the question in it, or else with the nodes that the page starts from."""
    question = str(plan.values.get("question") or _start_titles(layout) or ", ".join(plan.request.start))
    if len(question) > _MAX_TITLE_CHARS:
        question = f"{question[:_MAX_TITLE_CHARS].rstrip()}…"
    return fill(frame.title, {**plan.values, "question": question})


def _start_titles(layout: Layout) -> str:
    titles = [candidate.node.title for candidate in layout.candidates() if "start" in candidate.parts]
    return ", ".join(dict.fromkeys(title for title in titles if title))


def _page_notes(frame: Frame, layout: Layout, warnings: tuple[str, ...]) -> tuple[str, ...]:
    if layout.is_silent or not any(placed.slot.candidates for placed in layout.slots):
        # A session that has everything already is told so by a warning: the store is not empty.
        return warnings if layout.received else (*warnings, frame.empty)
    return warnings if frame.notes else ()


def _footer(plan: Plan, frame: Frame, counts: Mapping[str, int]) -> str:
    return fill(frame.footer, {**plan.values, **counts})


def _make_sections(layout: Layout, by_slot: Mapping[str, list[Item]]) -> tuple[PlacedSection, ...]:
    sections: dict[str, PlacedSection] = {}
    for placed in layout.slots:
        items = by_slot.get(placed.slot.name, [])
        # Passages of one text are joined, but for subjects, whose parts keep each passage apart.
        # Joined before they are ordered, so that a joined item stands where its best passage stood.
        joined = items if placed.subject is not None else _join_passages(items)
        if placed.section.unit == "snippet":
            joined = gather_pieces(joined)
        ordered = order_items(joined, placed.order)
        if not ordered:
            continue
        name = placed.section.name
        section = sections.get(name, PlacedSection(name, placed.heading))
        if placed.subject is None:
            sections[name] = replace(section, items=(*section.items, *ordered))
        else:
            sections[name] = replace(section, groups=_add_part(section.groups, placed, ordered))
    return tuple(sections.values())


def _join_passages(items: Sequence[Item]) -> list[Item]:
    """Return the items with passages of one text as one item, where the best of them stands."""
    joined: dict[tuple[str, str, int | None], Item] = {}
    for index, item in enumerate(items):
        # Only passages are joined: any other item gets a key of its own.
        key = (*item.candidate.node.ref, None if item.candidate.window else index)
        joined[key] = _join_two(joined[key], item) if key in joined else item
    return list(joined.values())


def _join_two(first: Item, second: Item) -> Item:
    spans = tuple(sorted((*first.spans, *second.spans)))
    windows = [window for window in (first.candidate.window, second.candidate.window) if window]
    window = (min(start for start, _ in windows), max(end for _, end in windows))
    return Item(replace(first.candidate, window=window), first.detail, spans, first.tokens + second.tokens)


def _add_part(
    groups: tuple[PlacedGroup, ...], placed: PlacedSlot, items: tuple[Item, ...]
) -> tuple[PlacedGroup, ...]:
    """Add a part to the group of its subject, which is the last one or a new one."""
    if placed.subject is None or placed.part is None:
        return groups
    # The parts of a subject come one after the other, so only the last group can be theirs.
    part = PlacedSection(placed.part.name, placed.part.label, items)
    if groups and groups[-1].subject.node.ref == placed.subject.node.ref:
        return (*groups[:-1], replace(groups[-1], parts=(*groups[-1].parts, part)))
    return (*groups, PlacedGroup(placed.subject, (part,)))
