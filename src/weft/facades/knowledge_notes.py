"""Why a list is empty or short, told so that the caller can do something about it."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from weft.facades.knowledge_budget import Lists, Spending
from weft.model import Filter
from weft.ports import Snapshot

if TYPE_CHECKING:
    from weft.facades.knowledge import KnowledgeRequest

_NAMES: Final = {"entry_points": "entry points", "context_nodes": "context nodes", "entities": "entities"}
_SHOWN_TYPES: Final = 10
NOTHING_HELD: Final = "The tenants hold nothing to search: check tenant_ids."


def notes_on(
    request: "KnowledgeRequest", kinds: Sequence[str], lists: Lists, spending: Spending, snapshot: Snapshot
) -> Iterator[str]:
    """What the caller should know about an answer."""
    if not lists.entry_points:
        yield _nothing_found(request, kinds, snapshot)
    elif request.expand and not lists.context:
        yield _nothing_around(request, lists, snapshot)
    yield from _left_out(request, lists, spending)


def _nothing_found(request: "KnowledgeRequest", kinds: Sequence[str], snapshot: Snapshot) -> str:
    if not request.query.strip():
        return "The query is empty, so nothing was searched for: give words or a question in `query`."
    if not snapshot.statistics([]).passages:
        return NOTHING_HELD
    if not len(snapshot.matching(Filter(kinds=tuple(kinds)))):
        return (
            f"The tenants hold no node of the types searched ({', '.join(kinds)}): widen entry_types, or set "
            "include_schemas or include_examples."
        )
    return f"No node of the types {', '.join(kinds)} matches the query: ask in other words, or widen entry_types."


def _nothing_around(request: "KnowledgeRequest", lists: Lists, snapshot: Snapshot) -> str:
    if request.max_depth == 0 or request.context_limit == 0:
        return "max_depth or context_limit is 0, so nothing around the entry points was looked at."
    near = snapshot.adjacency([each.node.id for each in lists.entry_points], 256)
    found = {each.node.id for each in lists.entry_points}
    types = sorted(
        {
            near.kinds[kind]
            for neighbour, kind in zip(near.neighbour.tolist(), near.kind.tolist(), strict=True)
            if neighbour not in found
        }
    )
    if types and request.expansion_types is not None:
        return (
            f"The entry points are linked only with types that expansion_types leaves out "
            f"({', '.join(types[:_SHOWN_TYPES])}): add them, or leave expansion_types out."
        )
    if len(near.neighbour):
        return "The entry points are linked only with each other: no other node is near."
    return "The entry points have no links in these tenants: draw edges, or read more tenants."


def _left_out(request: "KnowledgeRequest", lists: Lists, spending: Spending) -> Iterator[str]:
    kept = spending.kept.by_name()
    for name, members in lists.by_name().items():
        missing = len(members) - len(kept[name])
        if missing and spending.smallest_dropped is not None:
            yield (
                f"{missing} of {len(members)} {_NAMES[name]} did not fit into max_tokens {request.max_tokens}; "
                f"the smallest of them takes about {spending.smallest_dropped[name]} tokens."
            )
