"""Describe what one assembly reads from, and keep the garbage collector out of its way."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from weft.frozen import dataclass
from weft.ports import Embedder, Index, Snapshot

StageCallback = Callable[[str], None]
"""Called with the name of each stage when the stage is finished; the service measures stages with it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One consistent reading of the store: a snapshot, the index over it, and an embedder if there is one.

    `notes` name what is missing from the reading; the caller that returns the answer adds them to it.
    """

    snapshot: Snapshot
    index: Index
    embedder: Embedder | None
    notes: tuple[str, ...] = ()


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Pause Python's collector of reference cycles.

    A page makes many small values and no cycles, and looking for cycles took a seventh of its time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
