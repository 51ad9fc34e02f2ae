"""Python's collector of cycles, kept still where it only costs."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from weft.frozen import dataclass
from weft.ports import Embedder, Index, Snapshot


@contextmanager
def uncollected() -> Iterator[None]:
    """No search for cycles meanwhile: a page makes many small values and no cycles, and the search took a seventh
    of its time."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


@dataclass(frozen=True, slots=True)
class Desk:
    """What an assembly works with: one snapshot, the index over it, and an embedder if there is one.

    `notes` say what of it is missing; whoever hands out the answer adds them.
    """

    snapshot: Snapshot
    index: Index
    embed: Embedder | None
    notes: tuple[str, ...] = ()


Observe = Callable[[str], None]
