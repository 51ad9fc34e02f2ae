"""A layout becomes a page that costs no more than its budget, counted as a whole once it is printed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final

from weft.frozen import dataclass
from weft.model import Detail, Item, ManifestEntry, Page, PlacedGroup, PlacedSection
from weft.pipeline.fit import fit
from weft.pipeline.ledger import citations
from weft.pipeline.plan import Plan
from weft.pipeline.printer import Printer
from weft.pipeline.sections import Layout
from weft.pipeline.slots import Outcome, Spot, node_slot
from weft.profiles import fill
from weft.profiles.types import Frame, Order
from weft.render import render

_TITLE_LIMIT: Final = 200
_ATTEMPTS: Final = 6
_SLACK: Final = 0.04
"""A page emptier than this is fitted once more, with the room that cautious counting had kept back."""
_WIDEST: Final = {"items": 999, "sections": 99, "sources": 999, "counted": 999}
_FAR_PAST: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Composed:
    """A printed page: its text and manifest, what became of each candidate, and what must be told."""

    page: Page
    text: str
    manifest: tuple[ManifestEntry, ...]
    outcomes: tuple[Outcome, ...]
    tokens: int
    notes: tuple[str, ...]
    hash: str


def compose(plan: Plan, layout: Layout, printer: Printer) -> Composed:
    """The fullest page within the budget; a plainer frame, then none at all, where the budget is very small."""
    warning = (*_warning(plan), *_received(plan, layout))
    full = plan.profile.frame
    for frame in (full, Frame(title=full.title, empty=full.empty), Frame(title="", notes=False, empty=full.empty)):
        composed = _within(plan, layout, printer, frame, warning)
        if composed is not None:
            return composed if frame.title else _untitled(plan, composed)
    return _nothing(plan, layout, warning)


def _untitled(plan: Plan, composed: Composed) -> Composed:
    note = f"A budget of {plan.budget} tokens takes no title: only what fits is listed. Raise max_tokens."
    return replace(composed, notes=(*composed.notes, note))


def _warning(plan: Plan) -> tuple[str, ...]:
    below = plan.profile.summary_only_below
    if plan.budget is None or plan.budget >= below:
        return ()
    return (f"A budget of {plan.budget} tokens is under {below}: only names and types are printed.",)


def _received(plan: Plan, layout: Layout) -> tuple[str, ...]:
    """What a page of a session says about what it leaves out."""
    if plan.request.received is None or not layout.received:
        return ()
    left = "1 node was" if layout.received == 1 else f"{layout.received} nodes were"
    return (f"{left} {plan.request.received.reason}, and left out here.",)


def _within(
    plan: Plan, layout: Layout, printer: Printer, frame: Frame, warning: tuple[str, ...]
) -> Composed | None:
    """A page with this frame, or None when the budget does not even take its smallest form."""
    if plan.budget is None:
        return _printed(plan, layout, printer, frame, warning, None)
    reserve = _frame_cost(plan, layout, printer, frame, warning)
    best: Composed | None = None
    for _ in range(_ATTEMPTS):
        composed = _printed(plan, layout, printer, frame, warning, max(plan.budget - reserve, 0))
        over = composed.tokens - plan.budget
        if over > 0:
            reserve += over
            continue
        if best is not None and composed.tokens <= best.tokens:
            break
        best = composed
        if -over <= max(_SLACK * plan.budget, 8) or not _wanting(composed.outcomes):
            break
        reserve += over // 2
    wants = any(spot.leaf.candidates for spot in layout.spots)
    shows = best is not None and any(outcome.item for outcome in best.outcomes)
    return best if best is not None and (shows or not wants) else None


def _wanting(outcomes: Sequence[Outcome]) -> bool:
    """Whether anything would take more room."""
    return any(
        outcome.reason.startswith(("no room", "reduced"))
        for outcome in outcomes
        if outcome.item is None or outcome.item.detail is not Detail.WHOLE
    )


def _frame_cost(plan: Plan, layout: Layout, printer: Printer, frame: Frame, warning: tuple[str, ...]) -> int:
    """What stands around the items, with the widest numbers the footer could show."""
    shown = printer.format
    cost = printer.lines(shown.head(_title(plan, layout, frame))) + printer.lines(shown.end())
    cost += printer.lines(shown.notes(_printed_notes(frame, layout, warning)))
    if frame.footer:
        cost += printer.lines(shown.footer(_footer(plan, frame, _WIDEST)))
    if frame.sources:
        foremost = [
            Outcome("", each, Item(each, Detail.WHOLE), "")
            for spot in layout.spots
            for each in spot.leaf.candidates
        ]
        cost += printer.lines(shown.sources(citations(foremost)[: frame.sources]))
    return cost


def _title(plan: Plan, layout: Layout, frame: Frame) -> str:
    asked = str(plan.values.get("question") or _started(layout) or ", ".join(plan.request.start))
    # A pasted log may be asked about; as a heading its beginning is enough, and leaves the budget to the answer.
    short = asked if len(asked) <= _TITLE_LIMIT else f"{asked[:_TITLE_LIMIT].rstrip()}…"
    return fill(frame.title, {**plan.values, "question": short})


def _started(layout: Layout) -> str:
    """The titles of the nodes that the page starts from."""
    started = [each for spot in layout.spots for each in spot.leaf.candidates if "start" in each.parts]
    return ", ".join(dict.fromkeys(each.node.title for each in started if each.node.title))


def _footer(plan: Plan, frame: Frame, counts: Mapping[str, int]) -> str:
    return fill(frame.footer, {**plan.values, **counts})


def _counted(frame: Frame, items: Iterable[Item]) -> int:
    """How many different things the items tell of, by the fields that the frame counts, else by their nodes."""
    names = frame.counted.split("|")
    nodes = [item.candidate.node for item in items]
    told = [next((node.fields[name] for name in names if node.fields.get(name)), None) for node in nodes]
    return len({str(value or f"{node.tenant} {node.key}") for value, node in zip(told, nodes, strict=True)})


def _printed_notes(frame: Frame, layout: Layout, warning: tuple[str, ...]) -> tuple[str, ...]:
    if not any(spot.leaf.candidates for spot in layout.spots):
        return warning if layout.received else (*warning, frame.empty)
    return warning if frame.notes else ()


def _printed(
    plan: Plan, layout: Layout, printer: Printer, frame: Frame, warning: tuple[str, ...], room: int | None
) -> Composed:
    outcomes = fit(
        [spot.leaf for spot in layout.spots],
        room,
        select=plan.profile.select,
        cost=printer.cost,
        shorten=printer.shorten,
        repeat=plan.profile.dedupe.scope == "section",
    )
    page = _page(plan, layout, frame, outcomes, warning)
    text, manifest = render(page, printer.format, printer.styles, frame, printer.item)
    tokens = printer.page(text, _shown(page))
    return _composed(page, text, manifest, outcomes, tokens, _received(plan, layout))


def _shown(page: Page) -> Iterator[Item]:
    """The items of a page in printed order."""
    for section in page.sections:
        yield from section.items
        for group in section.groups:
            for part in group.parts:
                yield from part.items


def _composed(
    page: Page,
    text: str,
    manifest: tuple[ManifestEntry, ...],
    outcomes: tuple[Outcome, ...],
    tokens: int,
    notes: tuple[str, ...],
) -> Composed:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return Composed(page, text, manifest, outcomes, tokens, notes, digest)


def _nothing(plan: Plan, layout: Layout, warning: tuple[str, ...]) -> Composed:
    note = (
        f"The budget of {plan.budget} tokens is too small for a page: one name alone costs more. Raise max_tokens."
    )
    outcomes = tuple(
        Outcome(spot.leaf.name, each, None, "no room: the budget is below the smallest page")
        for spot in layout.spots
        for each in spot.leaf.candidates
    )
    return _composed(Page(), "", (), outcomes, 0, (*warning, note))


def _page(plan: Plan, layout: Layout, frame: Frame, outcomes: Sequence[Outcome], warning: tuple[str, ...]) -> Page:
    items: dict[str, list[Item]] = {}
    for outcome in outcomes:
        if outcome.item is not None:
            items.setdefault(outcome.leaf, []).append(outcome.item)
    sections = _sections(layout, items)
    shown = [item for placed in items.values() for item in placed]
    cited = citations(outcomes)
    counts = {
        "items": len(shown),
        "sections": len(sections),
        "sources": len(cited),
        "counted": _counted(frame, shown),
    }
    return Page(
        title=_title(plan, layout, frame),
        sections=sections,
        notes=_printed_notes(frame, layout, warning),
        footer=_footer(plan, frame, counts) if frame.footer and shown else "",
        sources=cited[: frame.sources],
    )


def _sections(layout: Layout, items: dict[str, list[Item]]) -> tuple[PlacedSection, ...]:
    sections: dict[str, PlacedSection] = {}
    for spot in layout.spots:
        placed = _ordered(_joined(items.get(spot.leaf.name, []), spot), spot.order)
        if not placed:
            continue
        name = spot.section.name
        section = sections.get(name, PlacedSection(name, spot.heading))
        if spot.subject is None:
            sections[name] = replace(section, items=(*section.items, *placed))
        else:
            sections[name] = replace(section, groups=_with_part(section.groups, spot, placed))
    return tuple(sections.values())


def _joined(items: Sequence[Item], spot: Spot) -> list[Item]:
    """The items of a section, passages of one text together where the best of them stands."""
    if spot.subject is not None:
        return list(items)
    joined: dict[tuple[str, str, int | None], Item] = {}
    for place, item in enumerate(items):
        slot = (*node_slot(item.candidate), None if item.candidate.window else place)
        joined[slot] = _both(joined[slot], item) if slot in joined else item
    return list(joined.values())


def _both(one: Item, other: Item) -> Item:
    """Two passages of one text as one item."""
    spans = tuple(sorted((*one.spans, *other.spans)))
    windows = [window for window in (one.candidate.window, other.candidate.window) if window]
    whole = (min(start for start, _ in windows), max(end for _, end in windows))
    return Item(replace(one.candidate, window=whole), one.detail, spans, one.tokens + other.tokens)


def _with_part(groups: tuple[PlacedGroup, ...], spot: Spot, items: tuple[Item, ...]) -> tuple[PlacedGroup, ...]:
    if spot.subject is None or spot.part is None:
        return groups
    part = PlacedSection(spot.part.name, spot.part.label, items)
    if groups and node_slot(groups[-1].subject) == node_slot(spot.subject):
        return (*groups[:-1], replace(groups[-1], parts=(*groups[-1].parts, part)))
    return (*groups, PlacedGroup(spot.subject, (part,)))


def _ordered(items: Sequence[Item], order: Order) -> tuple[Item, ...]:
    """Items as printed; pointers always come last, so that they read as a list of what else there is."""
    if order == "time":
        items = sorted(items, key=_moment)
    elif order == "sequence":
        items = sorted(
            items, key=lambda item: (item.candidate.node.sequence is None, item.candidate.node.sequence or 0)
        )
    elif order == "title":
        items = sorted(items, key=lambda item: (item.candidate.node.title, item.candidate.node.key))
    return tuple(sorted(items, key=lambda item: item.detail is Detail.POINTER))


def _moment(item: Item) -> datetime:
    node = item.candidate.node
    return node.created or node.modified or _FAR_PAST
