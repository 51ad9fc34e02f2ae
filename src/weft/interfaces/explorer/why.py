"""Answer "why is X not here?" for any node by name, and from which budget on an item appears.

A budget, a floor or a topic that is said to bring an item was tried, by making the page with that change.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from weft.api import Weft
from weft.history import printed_entries
from weft.interfaces.explorer.asked import LEAST_BUDGET, MOST_BUDGET, answer
from weft.interfaces.explorer.drawing import describe_entry
from weft.model import CALIBRATED, Context, Detail, LedgerEntry, Node, NodeRef, Request, View

BUDGETS: Final = (LEAST_BUDGET, 500, 1000, 2000, 4000, 8000, 16_000, MOST_BUDGET)
"""Tokens of the pages that are made to see from where on each item appears: each twice the one before."""
MORE_TOKENS: Final = 500
"""Tokens added to see what a larger budget would bring: a paragraph or two."""
_CLOSE_ENOUGH: Final = 1.05
"""The budget from which an item appears is looked for until the bounds differ by 5 %."""
_RANKS: Final = 200
"""Places of the search that are read to say where a node stands in it."""
_MOST_ALIKE: Final = 5
"""Nodes offered in place of a name that nothing has."""

_WITHOUT_PROFILE: Final = {"say": "Ask without this profile", "set": {"profile": None}}


def growth(weft: Weft, request: Request, context: Context) -> dict[str, Any]:
    """Return from which of the budgets on each node is printed, and what 500 more tokens would bring."""
    appears: dict[NodeRef, int] = {}
    for budget in BUDGETS:
        for ref in _printed(weft, replace(request, max_tokens=budget)):
            appears.setdefault(ref, budget)
    more = []
    if context.max_tokens is not None:
        before = printed_entries(context.ledger)
        larger = _printed(weft, replace(request, max_tokens=context.max_tokens + MORE_TOKENS))
        more = [
            _gain(entry, before.get(ref))
            for ref, entry in larger.items()
            if ref not in before or entry.tokens > before[ref].tokens
        ]
    return {
        "appears": [[tenant, key, budget] for (tenant, key), budget in appears.items()],
        "more_tokens": MORE_TOKENS,
        "more": more,
    }


def _printed(weft: Weft, request: Request) -> dict[NodeRef, LedgerEntry]:
    """Return the entries of the nodes that the page of a request prints."""
    return printed_entries(answer(weft, request).ledger)


def _gain(entry: LedgerEntry, before: LedgerEntry | None) -> dict[str, Any]:
    gained = entry.tokens - (before.tokens if before else 0)
    return {**describe_entry(entry), "tokens": gained, "before": before.detail.value if before else None}


def explain(weft: Weft, request: Request, name: str, readable: tuple[str, ...]) -> dict[str, Any]:
    """Return why a node, by key, id or title, is or is not on the page, and what would bring it."""
    view = request.view
    nodes = weft.show(name, tenants=view.tenants, as_of=view.as_of)
    context = answer(weft, request)
    entry = next((each for each in context.ledger if name in (each.key, each.title)), None)
    if entry is None and nodes:
        refs = {node.ref for node in nodes}
        entry = next((each for each in context.ledger if (each.tenant, each.key) in refs), None)
    if entry is not None:
        return _explain_candidate(weft, request, context, entry)
    if nodes:
        return _explain_stored(weft, request, nodes[0])
    return _explain_absent(weft, request, name, readable)


def _explain_candidate(weft: Weft, request: Request, context: Context, entry: LedgerEntry) -> dict[str, Any]:
    """Explain a node that was considered."""
    found = {"key": entry.key, "tenant": entry.tenant, "title": entry.title or entry.key}
    budget = _first_budget(weft, request, (entry.tenant, entry.key))
    if entry.detail is not Detail.DROPPED:
        said = [f"It is on the page as {entry.detail.value}, for {entry.tokens:,} tokens: {entry.reason}."]
        if budget is not None:
            said.append(f"It appears from about {budget:,} tokens on.")
        return {**found, "state": "printed", "said": said, "ways": []}
    said = [f"It was considered for {entry.section!r} (score {entry.score:.3f}) and left out: {entry.reason}."]
    ways = []
    if budget is not None:
        said.append(f"It appears from about {budget:,} tokens on.")
        ways.append({"say": f"Raise the budget to {budget:,}", "set": {"max_tokens": budget}})
    else:
        said.append(f"More tokens alone do not bring it, up to {MOST_BUDGET:,}.")
    ways += _other_ways(weft, request, (entry.tenant, entry.key))
    return {**found, "state": "dropped", "said": said, "ways": ways}


def _first_budget(weft: Weft, request: Request, ref: NodeRef) -> int | None:
    """Return about how many tokens a page needs before it prints a node; None if the largest does not."""
    if ref not in _printed(weft, replace(request, max_tokens=MOST_BUDGET)):
        return None
    least, most = LEAST_BUDGET, MOST_BUDGET
    while most > least * _CLOSE_ENOUGH:
        # Halved on the scale of the slider, where each step is a factor.
        middle = round((least * most) ** 0.5)
        if ref in _printed(weft, replace(request, max_tokens=middle)):
            most = middle
        else:
            least = middle
    # The bound that was tried, so that the page of that size does hold the node.
    return most


def _other_ways(weft: Weft, request: Request, ref: NodeRef) -> list[dict[str, Any]]:
    """Return the changes, besides a larger budget, that were tried and put the node on the page."""
    ways: list[dict[str, Any]] = []
    if request.floor != 0 and ref in _printed(weft, replace(request, floor=0.0)):
        ways.append({"say": "Set the floor to 0", "set": {"floor": 0}})
    started = replace(request, start=(*request.start, ref[1]))
    if not request.topics and ref in _printed(weft, started):
        ways.append({"say": "Ask about it too", "add": {"topic": ref[1]}})
    ways.append({"say": "Start from it instead", "set": {"topic": ref[1]}})
    return ways


def _explain_stored(weft: Weft, request: Request, node: Node) -> dict[str, Any]:
    """Explain a node that is stored but was never a candidate: which stage lost it."""
    if node.origin.source in weft.profile(request.profile).hidden_sources:
        hidden = f"Its source {node.origin.source!r} is hidden by the profile {request.profile!r}."
        return {**_names(node), "state": "hidden", "said": [hidden], "ways": [_WITHOUT_PROFILE]}
    said = ["It is stored, but no stage proposed it for this page."]
    question = " ".join((request.question, *(topic.question for topic in request.topics))).strip()
    if question:
        found = weft.search(
            question, limit=_RANKS, tenants=request.view.tenants, as_of=request.view.as_of, floor=0
        ).candidates
        rank = next((place for place, each in enumerate(found, start=1) if each.node.ref == node.ref), None)
        if rank is None:
            said.append(f"Search: it is not among the best {_RANKS} by words or meaning.")
        else:
            relevance = found[rank - 1].parts.get(CALIBRATED, 0.0)
            said.append(
                f"Search: it comes at place {rank} with a relevance of {relevance:.2f}; the profile takes fewer."
            )
    links = len(weft.related(node.key, tenants=request.view.tenants))
    if links:
        said.append(f"Walk: of its {links} links none was followed from what was found.")
    else:
        said.append("Walk: nothing links to it, so no walk can reach it.")
    ways = _other_ways(weft, request, node.ref)
    return {**_names(node), "state": "stored", "said": said, "ways": ways}


def _explain_absent(weft: Weft, request: Request, name: str, readable: tuple[str, ...]) -> dict[str, Any]:
    """Explain a name that nothing in the view has: it may be in another tenant, later, or not read at all."""
    view = request.view
    elsewhere = weft.show(name, tenants=readable)
    if elsewhere:
        node = elsewhere[0]
        if node.tenant not in view.tenants:
            way: Mapping[str, Any] = {"say": f"Read {node.tenant} too", "add": {"tenants": node.tenant}}
            said = [f"It belongs to the tenant {node.tenant!r}, which this page does not read."]
        else:
            way = {"say": "Read everything", "set": {"as_of": None}}
            said = [
                f"It is not known at point {view.as_of}; it becomes known at {node.known_from or node.sequence}."
            ]
        return {**_names(node), "state": "hidden", "said": said, "ways": [way]}
    said = [*weft.reader.why_not_read(name, view.tenants)] or [f"Nothing is stored under the name {name!r}."]
    return {
        "key": "",
        "tenant": "",
        "title": name,
        "state": "unknown",
        "said": said,
        "ways": _alike(weft, name, view),
    }


def _alike(weft: Weft, name: str, view: View) -> list[dict[str, Any]]:
    """Return nodes that the name may have meant, to ask about instead."""
    found = weft.search(name, limit=_MOST_ALIKE, tenants=view.tenants, as_of=view.as_of, floor=0).candidates
    return [{"say": f"Did you mean {each.node.title or each.node.key}?", "why": each.node.key} for each in found]


def _names(node: Node) -> dict[str, str]:
    return {"key": node.key, "tenant": node.tenant, "title": node.title or node.key}
