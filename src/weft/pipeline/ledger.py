"""Account for a page: a ledger entry for every candidate considered, a citation for every one printed."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from weft.model import Candidate, Citation, Context, Detail, Item, LedgerEntry, NodeRef, Request
from weft.pipeline.plan import Plan
from weft.pipeline.query import Reading
from weft.pipeline.retrieve import Gathered
from weft.pipeline.sections import Layout
from weft.pipeline.shapes import MARK, asks_history, read_shapes
from weft.pipeline.slots import Outcome
from weft.ports import Snapshot
from weft.profiles.types import Frame

_AMPLE_TOKENS: Final = 1_000
"""Tokens left on a page from which on it was not for want of room that a text is printed in part: no single piece
of a text is so long."""
_QUOTES: Final = frozenset("\"“«‘'")
_PROSE: Final = ("scene", "chapter")


def make_ledger(outcomes: Sequence[Outcome], layout: Layout) -> tuple[LedgerEntry, ...]:
    """Return an entry for every candidate: printed ones in the page's order, then the others, best first."""
    printed = [
        _make_entry(outcome.candidate, outcome.slot, outcome.item.detail, outcome.item.tokens, outcome.explanation)
        for outcome in outcomes
        if outcome.item is not None
    ]
    dropped = [
        _make_entry(outcome.candidate, outcome.slot, Detail.DROPPED, 0, outcome.explanation)
        for outcome in outcomes
        if outcome.item is None
    ]
    refused = [
        _make_entry(refusal.candidate, refusal.section, Detail.DROPPED, 0, refusal.reason)
        for refusal in layout.refusals
    ]
    # A subject's heading is printed only with something below it.
    printed_slots = {outcome.slot for outcome in outcomes if outcome.item is not None}
    headings, unprinted = _subject_entries(layout, printed_slots)
    # A node dropped in one place but printed in another is listed once, as printed.
    printed_nodes = {(entry.tenant, entry.key) for entry in printed}
    rest = [
        entry
        for entry in [*headings, *dropped, *refused, *unprinted]
        if (entry.tenant, entry.key) not in printed_nodes
    ]
    rest.sort(key=lambda entry: (-entry.score, entry.tenant, entry.key))
    return (*printed, *_first_of_each(rest))


def _first_of_each(entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """Return the first entry of each node in each section."""
    # A slot is named <section>/<group>/<part>: one entry for the section stands for all its parts.
    first: dict[tuple[str, str, str], LedgerEntry] = {}
    for entry in entries:
        first.setdefault((entry.tenant, entry.key, entry.section.partition("/")[0]), entry)
    return list(first.values())


def _subject_entries(
    layout: Layout, printed_slots: Collection[str]
) -> tuple[list[LedgerEntry], list[LedgerEntry]]:
    """Return entries for subjects that a heading names, and for those that have an empty part.

    A subject may get both: the first entry stands in the ledger, so headings come before the rest.
    """
    headings, unprinted = [], []
    for placed in layout.slots:
        if placed.subject is None:
            continue
        if placed.slot.name in printed_slots:
            reason = "heads its part of the section"
            headings.append(_make_entry(placed.subject, placed.section.name, Detail.POINTER, 0, reason))
        else:
            reason = "nothing of its parts is printed"
            unprinted.append(_make_entry(placed.subject, placed.section.name, Detail.DROPPED, 0, reason))
    return headings, unprinted


def _make_entry(candidate: Candidate, section: str, detail: Detail, tokens: int, reason: str) -> LedgerEntry:
    node = candidate.node
    # By position, which is quicker than by name: a page may account for thousands of candidates.
    return LedgerEntry(
        node.key,
        node.id,
        node.kind,
        node.title,
        node.tenant,
        section,
        candidate.score,
        candidate.parts,
        candidate.match_source,
        candidate.distance,
        candidate.path,
        detail,
        tokens,
        reason,
        node.handle,
        str(node.fields.get(MARK, "")),
    )


def count_things(frame: Frame, items: Iterable[Item]) -> int:
    """Count the different things that the items are about, by the fields that the frame names, else by node."""
    nodes = [item.candidate.node for item in items]
    if not frame.counted:
        return len({node.ref for node in nodes})
    # Two records of one ticket, say, are one thing; what has none of the fields is one only by its kind.
    names = frame.counted.split("|")
    things: set[object] = set()
    for node in nodes:
        value = next((str(node.fields[name]) for name in names if node.fields.get(name)), None)
        if value is not None or node.kind == frame.counted_kind:
            things.add(value or node.ref)
    return len(things)


def list_citations(items: Iterable[Item]) -> tuple[Citation, ...]:
    """Return the sources of the items in printed order, each once; a pointer cites nothing it does not show."""
    cited: dict[NodeRef, Citation] = {}
    for item in items:
        if item.detail is Detail.POINTER:
            continue
        candidate, node = item.candidate, item.candidate.node
        cited.setdefault(
            candidate.node.ref,
            Citation(
                node.key, node.id, node.kind, node.title, node.tenant, node.origin, candidate.score, item.detail
            ),
        )
    return tuple(cited.values())


def quotation_notes(question: str, page: Context, snapshot: Snapshot) -> tuple[str, ...]:
    """Return who says what a question quotes, where the page shows prose of a story."""
    if not _QUOTES.intersection(question) or not any(each.kind in _PROSE for each in page.sources):
        return ()
    # Few questions quote, and no other needs the words of speech.
    from weft.pipeline.said_by import name_speaker

    return name_speaker(question, page, snapshot)


def complete_page_note(outcomes: Sequence[Outcome], noise: int, unspent: float) -> tuple[str, ...]:
    """Return the note of a page that is short because only noise is left; `unspent` are the tokens it leaves."""
    if not noise or (unspent < _AMPLE_TOKENS and any(outcome.reason.wants_room for outcome in outcomes)):
        return ()
    weaker = "1 weaker candidate is" if noise == 1 else f"{noise} weaker candidates are"
    return (
        f"All that is relevant is on the page: {weaker} left out, far below the floor (`--floor 0` prints them).",
    )


def idle_lens_note(plan: Plan, layout: Layout) -> tuple[str, ...]:
    """Say so where a lens that was asked for found nothing of what it raises."""
    lens = plan.lens
    raised = sorted({*lens.raise_tags, *lens.raise_kinds})
    is_asked = plan.request.lens is not None and raised and not layout.is_silent
    if not is_asked or any("raised" in candidate.parts for candidate in layout.candidates()):
        return ()
    return (f"The lens {lens.name!r} raised nothing: no note found has one of its tags ({', '.join(raised)}).",)


def missing_embedder_note(gathered: Gathered) -> tuple[str, ...]:
    """Say so where nothing was searched by its meaning."""
    query = gathered.query
    if query.vector is None and query.text.strip() and not query.notes:
        return ("No embedder is in use: candidates come from words and links alone.",)
    return ()


def shallow_history_note(request: Request, reading: Reading) -> tuple[str, ...]:
    """Say so to a question about history where commits are missing because a clone is shallow."""
    asks = request.candidates is None and asks_history(read_shapes(request.question))
    shallow = reading.repositories.list_shallow(request.view.tenants) if asks and reading.repositories else ()
    return (describe_shallow(shallow),) if shallow else ()


def describe_shallow(sources: Sequence[str]) -> str:
    """Return the sentences that say that the older commits of some sources are missing, and how to get them."""
    return (
        f"Older commits are not in this clone of {', '.join(map(repr, sources))}, which is shallow: the oldest "
        "here may not be the first. `git fetch --unshallow` there brings them, and `weft index` reads them."
    )
