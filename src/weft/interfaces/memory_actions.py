"""Actions on memories and values that the command line, the hooks, REST and MCP share."""

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from weft.api import Weft
from weft.interfaces.weft_process import start_weft
from weft.memory import Memory, UsageLog
from weft.memory.exchange import note_forgotten
from weft.memory.memory_store import forget
from weft.model import DEFAULT_TENANT

if TYPE_CHECKING:
    from weft.indexing.ingest import IndexingContext


def start_values_refresh(
    context: "IndexingContext", store: str | Path | None, tenant: str = DEFAULT_TENANT
) -> bool:
    """Start a background process that computes the values again, if they are due; return whether it started.

    `store` is the --store option of this process; without one, the new process finds the same store by itself.
    """
    from weft.memory.value_store import values_are_due

    # Clustering needs scikit-learn, which only the extra `values` installs.
    if find_spec("sklearn") is None or not values_are_due(context, tenant=tenant):
        return False
    where = ("--store", str(store)) if store is not None else ()
    # In the background: a hook or command must not take longer for it.
    start_weft("values", "--refresh", "--tenant", tenant, *where)
    return True


def forget_memories(weft: Weft, keys: Sequence[str], tenant: str) -> tuple[Memory, ...]:
    """Remove memories together with their usage counts, and return the removed memories."""
    context = weft.indexing_context()
    forgotten = forget(context, keys, tenant=tenant)
    # Without this an export of another machine would bring them back.
    note_forgotten(context, [memory.key for memory in forgotten], datetime.now(UTC), tenant)
    # After the memories: counts without a memory do no harm, a memory without counts looks unused.
    UsageLog(weft.folder).forget([(memory.tenant, memory.key) for memory in forgotten])
    return forgotten
