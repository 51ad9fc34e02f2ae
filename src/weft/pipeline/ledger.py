"""The books of a page: a ledger entry for every candidate considered, a citation for every one printed."""

from collections.abc import Collection, Iterable, Sequence

from weft.model import Candidate, Citation, Detail, LedgerEntry
from weft.pipeline.sections import Layout, Refused
from weft.pipeline.slots import Outcome


def ledger(outcomes: Sequence[Outcome], layout: Layout) -> tuple[LedgerEntry, ...]:
    """What became of every candidate: printed ones in the page's order, then the others, best first."""
    printed = [
        _entry(each.candidate, each.leaf, each.item.detail, each.item.tokens, each.reason)
        for each in outcomes
        if each.item is not None
    ]
    dropped = [
        _entry(each.candidate, each.leaf, Detail.DROPPED, 0, each.reason) for each in outcomes if each.item is None
    ]
    refused = [_refusal(each) for each in layout.refused]
    told = {(entry.tenant, entry.key) for entry in printed}
    # A node dropped in one place but printed in another is told once, as printed.
    heads, unheard = _subjects(layout, {each.leaf for each in outcomes if each.item is not None})
    others = [*heads, *dropped, *refused, *unheard]
    rest = [entry for entry in others if (entry.tenant, entry.key) not in told]
    rest.sort(key=lambda entry: (-entry.score, entry.tenant, entry.key))
    return (*printed, *_first_of_each(rest))


def _first_of_each(entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    seen: dict[tuple[str, str, str], LedgerEntry] = {}
    for entry in entries:
        seen.setdefault((entry.tenant, entry.key, entry.section.partition("/")[0]), entry)
    return list(seen.values())


def _subjects(layout: Layout, printed: Collection[str]) -> tuple[list[LedgerEntry], list[LedgerEntry]]:
    """Subjects that a heading names, and those that may have no part with anything printed."""
    heads, unheard = [], []
    for spot in layout.spots:
        if spot.subject is not None and spot.leaf.name in printed:
            reason = "heads its part of the section"
            heads.append(_entry(spot.subject, spot.section.name, Detail.POINTER, 0, reason))
        elif spot.subject is not None:
            reason = "nothing of its parts is printed"
            unheard.append(_entry(spot.subject, spot.section.name, Detail.DROPPED, 0, reason))
    return heads, unheard


def _refusal(refused: Refused) -> LedgerEntry:
    return _entry(refused.candidate, refused.section, Detail.DROPPED, 0, refused.reason)


def _entry(candidate: Candidate, section: str, detail: Detail, tokens: int, reason: str) -> LedgerEntry:
    node = candidate.node
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
    )


def citations(outcomes: Sequence[Outcome]) -> tuple[Citation, ...]:
    """The sources of the page in printed order, each once; a pointer cites nothing it does not show."""
    cited: dict[tuple[str, str], Citation] = {}
    for outcome in outcomes:
        if outcome.item is None or outcome.item.detail is Detail.POINTER:
            continue
        node = outcome.candidate.node
        cited.setdefault(
            (node.tenant, node.key),
            Citation(
                node.key,
                node.id,
                node.kind,
                node.title,
                node.tenant,
                node.origin,
                outcome.candidate.score,
                outcome.item.detail,
            ),
        )
    return tuple(cited.values())
