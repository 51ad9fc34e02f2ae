"""Memories that are to be gone for good, with what was written down about their use."""

from collections.abc import Sequence

from weft.faces.library import Weft
from weft.learning import Memory, UsageBook
from weft.remembering import forget


def forget_memories(weft: Weft, keys: Sequence[str], tenant: str) -> tuple[Memory, ...]:
    """Remove memories and the counts of their uses; return them as they were."""
    gone = forget(weft.workshop(), keys, tenant=tenant)
    UsageBook(weft.folder).forget([(memory.tenant, memory.key) for memory in gone])
    return gone
