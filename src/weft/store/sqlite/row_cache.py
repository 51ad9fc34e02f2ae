"""Keep the rows that questions come back to, as they were read, until the store changes."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from weft.cache import LruCache
from weft.model import View
from weft.ports import NodeRow, PassageRow

Row = TypeVar("Row")
Fact = TypeVar("Fact")

_CACHED_VIEWS: Final = 4
"""Views whose rows are kept. Each may hold MAX_CACHED_ROWS rows of five kinds; a server has few views at a
time."""
MAX_CACHED_ROWS: Final = 4_000
"""Rows of one kind that a view keeps: the nodes and passages that a few dozen questions look at."""
MAX_ROWS_AT_ONCE: Final = 1_000
"""Rows of one read that are kept. A reader of more goes through the whole store and does not come back to them."""
_MAX_TEXT_CHARACTERS: Final = 16_000
"""Length of text up to which a node is kept, so that the cache stays below 64 million characters for a view."""


class ViewRows:
    """The rows that were read through one view of one state of a store; for any thread."""

    def __init__(self) -> None:
        self.nodes = CachedRows[NodeRow]()
        self.passages = CachedRows[PassageRow]()
        self.passages_of = CachedRows[tuple[PassageRow, ...]]()
        self.vectors = CachedRows[bytes]()
        self.frequency = CachedRows[int]()
        self._facts: dict[str, Any] = {}

    def once(self, name: str, read: Callable[[], Fact]) -> Fact:
        """Return another fact about the state, reading it the first time it is asked for."""
        if name not in self._facts:
            self._facts[name] = read()
        fact: Fact = self._facts[name]
        return fact


class CachedRows(dict[int, Row]):
    """Rows by their number; drops all when full, which changes no answer."""

    def get_rows(self, numbers: Iterable[int], read: Callable[[list[int]], Mapping[int, Row]]) -> dict[int, Row]:
        """Return the rows that exist, in the order asked, reading those that are not cached."""
        found = {number: self.get(number) for number in numbers}
        missing = [number for number, row in found.items() if row is None]
        if missing:
            fresh = read(missing)
            found.update(fresh)
            self._keep(fresh)
        return {number: row for number, row in found.items() if row is not None}

    def _keep(self, fresh: Mapping[int, Row]) -> None:
        if len(fresh) > MAX_ROWS_AT_ONCE:
            return
        if len(self) + len(fresh) > MAX_CACHED_ROWS:
            # Clearing is one step for other threads, and cheaper than keeping an order of use for every row.
            self.clear()
        self.update((number, row) for number, row in fresh.items() if not _is_large(row))


def _is_large(row: object) -> bool:
    return isinstance(row, NodeRow) and len(row.node.text) > _MAX_TEXT_CHARACTERS


class RowCaches:
    """The rows of the views that were read last."""

    def __init__(self) -> None:
        self._views: LruCache[tuple[View, int], ViewRows] = LruCache(_CACHED_VIEWS)

    def get(self, view: View, sequence: int) -> ViewRows:
        """Return the rows that are kept of a view at a sequence number."""
        return self._views.get_or_make((view, sequence), ViewRows)
