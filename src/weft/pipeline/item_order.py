"""Order the items of a section: by time, by title, by their sequence, or children below their parent."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from weft.model import Candidate, Detail, Item, Node, NodeRef
from weft.profiles.types import Order

_MAX_LEVEL: Final = 6
"""The deepest level that is printed: a tree of a hundred levels would leave no room for words."""
_FAR_PAST: Final = datetime.min.replace(tzinfo=UTC)

Children = Mapping[NodeRef, Sequence[NodeRef]]


def order_items(items: Sequence[Item], order: Order) -> tuple[Item, ...]:
    """Return the items as printed; pointers come last, so that they read as a list of what else there is."""
    if order == "time":
        items = sorted(items, key=_time_order)
    elif order == "sequence":
        items = sorted(
            items, key=lambda item: (item.candidate.node.sequence is None, item.candidate.node.sequence or 0)
        )
    elif order == "outline":
        items = order_outline(items)
    elif order == "title":
        items = sorted(items, key=lambda item: (item.candidate.node.title, item.candidate.node.key))
    return tuple(sorted(items, key=lambda item: item.detail is Detail.POINTER))


def _time_order(item: Item) -> tuple[datetime, int]:
    """Return when something happened, and its place among others of that moment, which no score decides."""
    node = item.candidate.node
    return node.created or node.modified or _FAR_PAST, node.sequence or 0


def find_nested(candidates: Iterable[Candidate]) -> frozenset[NodeRef]:
    """Return the candidates that stand below another one of them; what a page starts from stands alone."""
    children = _children_of(candidates)
    return frozenset([child for below in children.values() for child in below])


def order_outline(items: Sequence[Item]) -> list[Item]:
    """Return the items with every child below its parent, where both are printed.

    A tree stands where the best of its items would stand.
    """
    printed = {item.candidate.node.ref: item for item in items if item.detail is not Detail.POINTER}
    children = _children_of(item.candidate for item in printed.values())
    nested = {child for below in children.values() for child in below}
    index_of = {item.candidate.node.ref: index for index, item in enumerate(items)}
    trees = [list(_descend(item, printed, children)) for item in items if item.candidate.node.ref not in nested]
    trees.sort(key=lambda tree: min(index_of[item.candidate.node.ref] for item in tree))
    ordered: dict[NodeRef, Item] = {}
    # Items in a circle stand below each other and below nothing else: they follow as they came.
    for item in [*(item for tree in trees for item in tree), *items]:
        ordered.setdefault(item.candidate.node.ref, item)
    return list(ordered.values())


def _descend(root: Item, printed: Mapping[NodeRef, Item], children: Children) -> Iterator[Item]:
    """Yield an item with everything below it, in the order of the outline."""
    seen = {root.candidate.node.ref}
    # A stack and not recursion: an outline may be deeper than the recursion limit.
    waiting = [(root, 0)]
    while waiting:
        item, level = waiting.pop()
        yield replace(item, level=min(level, _MAX_LEVEL))
        for ref in reversed(children.get(item.candidate.node.ref, ())):
            if ref not in seen:
                seen.add(ref)
                waiting.append((printed[ref], level + 1))


def _children_of(candidates: Iterable[Candidate]) -> Children:
    """Return the children of each candidate that are candidates too, but for those that the page starts from."""
    known = {candidate.node.ref: candidate for candidate in candidates}
    return {
        ref: [
            child for child in _child_refs(candidate.node) if child in known and "start" not in known[child].parts
        ]
        for ref, candidate in known.items()
    }


def _child_refs(node: Node) -> list[NodeRef]:
    """Return the children that a source of outlines lists."""
    listed = node.fields.get("_children")
    source = node.key.partition(":")[0]
    names = listed if isinstance(listed, list | tuple) else ()
    return [(node.tenant, f"{source}:{name}") for name in names]
