"""What a session was shown, and whether a candidate would only repeat it."""

from collections.abc import Iterator

from weft.history.identity import fingerprint
from weft.model import Candidate, Context, Detail, Item, Received, Shown

_TOLD = (Detail.WHOLE, Detail.EXCERPT, Detail.SUMMARY)
"""A pointer only says that there is something: its node has not been received."""


def shown_on(context: Context) -> dict[tuple[str, str], Shown]:
    """What the page shows of each node, by tenant and key."""
    shown: dict[tuple[str, str], Shown] = {}
    for item in items_of(context):
        if item.detail in _TOLD:
            node = item.candidate.node
            place = (node.tenant, node.key)
            spans = None if item.detail is Detail.WHOLE else item.spans
            shown[place] = joined(shown.get(place), Shown(fingerprint(node), spans))
    return shown


def items_of(context: Context) -> Iterator[Item]:
    """Every item of the page in printed order."""
    for section in context.page.sections:
        yield from section.items
        for group in section.groups:
            for part in group.parts:
                yield from part.items


def joined(before: Shown | None, now: Shown) -> Shown:
    """Both together; what was shown of content that has changed since counts no more."""
    if before is None or before.fingerprint != now.fingerprint:
        return now
    if before.spans is None or now.spans is None:
        return Shown(now.fingerprint)
    return Shown(now.fingerprint, tuple(sorted({*before.spans, *now.spans})))


def already_received(received: Received | None, candidate: Candidate) -> bool:
    """Whether a session has what this candidate would show: unchanged, and whole or the part that matters now."""
    if received is None:
        return False
    node = candidate.node
    shown = received.nodes.get((node.tenant, node.key))
    if shown is None or shown.fingerprint != fingerprint(node):
        return False
    if shown.spans is None or not candidate.spans:
        return True
    first, last = candidate.spans[0]
    return any(start < last and first < end for start, end in shown.spans)
