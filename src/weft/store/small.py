"""Views that hold few passages, read whole and searched one passage after another.

Engines round what they count: of passages that weigh nearly the same, one lets in those that another leaves out.
Where there is little to search, none is asked, and every store prints the same page.
"""

from collections.abc import Callable
from typing import Final

from weft.ports import Snapshot
from weft.recent import Recent
from weft.store.overlay import Known, Overlay, overlay_of

EXACT_BELOW: Final = 4000
"""So many passages are searched one by one; beyond them engines propose."""
_REMEMBERED: Final = 8


class SmallViews:
    """What the small views that were read last hold, remembered until the store changes."""

    def __init__(self) -> None:
        self._recent = Recent[tuple[object, ...], Overlay](_REMEMBERED)

    def of(self, snapshot: Snapshot, most: int, read: Callable[[Snapshot], Overlay]) -> Overlay | None:
        """All that the view holds, unless that is more than `most` passages."""
        if snapshot.statistics(()).passages > most:
            return None
        key = (snapshot.identity, snapshot.sequence, snapshot.view, snapshot.embedder())
        return self._recent.get_or_make(key, lambda: read(snapshot))

    def clear(self) -> None:
        """Forget everything."""
        self._recent.clear()


def terms_of(snapshot: Snapshot) -> Overlay:
    """The terms of all passages that a view holds, without their vectors."""
    return overlay_of((), [Known(*row, vector=b"") for row in snapshot.words()])
