"""List memories and experiences with their status: in use, contradicted, stale, resolved or open."""

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from weft.history.usage import MemoryUsage, UsageLog
from weft.memory.experience_store import list_experiences
from weft.memory.experiences import Experience
from weft.memory.memories import Memory
from weft.memory.memory_store import CONTRADICTS, find_stale, list_memories
from weft.model import DEFAULT_TENANT, View
from weft.ports import rows_with_keys

if TYPE_CHECKING:
    from weft.api import Weft

_MAX_LISTED: Final = 500
"""Memories, and experiences, that are listed, the newest ones."""
_MAX_CONTRADICTIONS: Final = 5_000


class KnownMemory(Struct, frozen=True):
    """A memory with its status in a word, the reason for it, and its uses."""

    memory: Memory
    status: str
    why: str = ""
    uses: MemoryUsage = MemoryUsage()


class Learned(Struct, frozen=True):
    """The memories and experiences of a tenant, newest first."""

    memories: tuple[KnownMemory, ...]
    experiences: tuple[Experience, ...]


def read_learned(weft: "Weft", tenant: str = DEFAULT_TENANT) -> Learned:
    """Return the newest memories and experiences of a tenant with their status."""
    context = weft.indexing_context()
    memories = list_memories(context, limit=_MAX_LISTED, tenant=tenant)
    uses = UsageLog(weft.folder).read_uses([(memory.tenant, memory.key) for memory in memories])
    gone = {memory.key: names for memory, names in find_stale(context, tenant=tenant)}
    against = _find_contradictions(weft, memories, tenant)
    known = []
    for memory in memories:
        status, why = "current", ""
        if memory.key in gone:
            status, why = "stale", f"names what is gone: {', '.join(gone[memory.key])}"
        elif memory.key in against:
            status, why = "contradicted", against[memory.key]
        elif memory.history:
            status, why = "updated", f"said before: {memory.history[-1].text}"
        known.append(KnownMemory(memory, status, why, uses.get((memory.tenant, memory.key), MemoryUsage())))
    return Learned(tuple(known), list_experiences(context, limit=_MAX_LISTED, tenant=tenant))


def _find_contradictions(weft: "Weft", memories: tuple[Memory, ...], tenant: str) -> dict[str, str]:
    """Return the reason by key for the memories that contradict another one."""
    with weft.store.snapshot(View((tenant,))) as snapshot:
        ids = sorted(rows_with_keys(snapshot, (memory.key for memory in memories)))
        edges = snapshot.edges(ids, _MAX_CONTRADICTIONS) if ids else []
    against: dict[str, str] = {}
    for _, _, edge in edges:
        if edge.type == CONTRADICTS:
            against.setdefault(edge.source, f"against {edge.target}: {edge.evidence}")
            against.setdefault(edge.target, f"against {edge.source}: {edge.evidence}")
    return against
