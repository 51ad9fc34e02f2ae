"""All nodes of a tenant, or all names, a page at a time, so that no transaction stays open in between."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Final, Protocol, TypeAlias

from weft.ports import NameRow, NodeRow

_NODES: Final = 500
_NAMES: Final = 10_000


class Paged(Protocol):
    """A snapshot that is read in pages by rising id."""

    def page_of_nodes(self, after_id: int, limit: int) -> Sequence[NodeRow]: ...

    def page_of_names(self, after_id: int, limit: int) -> Sequence[tuple[int, NameRow]]: ...


Opening: TypeAlias = Callable[[], AbstractContextManager[Paged]]


def nodes_in_pages(opening: Opening, after_id: int = 0) -> Iterator[NodeRow]:
    """The nodes after an id, each page from a snapshot of its own."""
    while True:
        with opening() as snapshot:
            page = snapshot.page_of_nodes(after_id, _NODES)
        yield from page
        if len(page) < _NODES:
            return
        after_id = page[-1].node.id


def names_in_pages(opening: Opening) -> Iterator[NameRow]:
    """What every node is called, each page from a snapshot of its own."""
    after_id = 0
    while True:
        with opening() as snapshot:
            page = snapshot.page_of_names(after_id, _NAMES)
        yield from (row for _, row in page)
        if len(page) < _NAMES:
            return
        after_id = page[-1][0]
