"""Rows that questions come back to, kept as they were read until the store changes."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from weft.model import View
from weft.ports import NodeRow, PassageRow
from weft.recent import Recent

Row = TypeVar("Row")
Fact = TypeVar("Fact")

_VIEWS: Final = 4
_ROWS: Final = 4_000
_AT_ONCE: Final = 1_000
"""Who reads more at once reads through everything, and does not come back to it."""
_LONGEST_TEXT: Final = 16_000


class RowsOfView:
    """What was read through one view of one state of a store; for any thread."""

    def __init__(self) -> None:
        self.nodes = Kept[NodeRow]()
        self.passages = Kept[PassageRow]()
        self.passages_of = Kept[tuple[PassageRow, ...]]()
        self.vectors = Kept[bytes]()
        self.frequency = Kept[int]()
        self._facts: dict[str, Any] = {}

    def once(self, name: str, read: Callable[[], Fact]) -> Fact:
        """Something else about the state, read the first time it is asked for."""
        if name not in self._facts:
            self._facts[name] = read()
        known: Fact = self._facts[name]
        return known


class Kept(dict[int, Row]):
    """Rows by their number; forgets all when full, which changes no answer."""

    def recalled(self, numbers: Iterable[int], read: Callable[[list[int]], Mapping[int, Row]]) -> dict[int, Row]:
        """The rows in the order asked, those that are not kept read now; what is not there is left out."""
        found = {number: self.get(number) for number in numbers}
        missing = [number for number, row in found.items() if row is None]
        if missing:
            fresh = read(missing)
            found.update(fresh)
            self._keep(fresh)
        return {number: row for number, row in found.items() if row is not None}

    def _keep(self, fresh: Mapping[int, Row]) -> None:
        if len(fresh) > _AT_ONCE:
            return
        if len(self) + len(fresh) > _ROWS:
            self.clear()
        self.update((number, row) for number, row in fresh.items() if not _is_large(row))


def _is_large(row: object) -> bool:
    return isinstance(row, NodeRow) and len(row.node.text) > _LONGEST_TEXT


class RememberedRows:
    """The rows of the views last read."""

    def __init__(self) -> None:
        self._views: Recent[tuple[View, int], RowsOfView] = Recent(_VIEWS)

    def of(self, view: View, sequence: int) -> RowsOfView:
        """What is kept of a view at a sequence number."""
        return self._views.get_or_make((view, sequence), RowsOfView)
