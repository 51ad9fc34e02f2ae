"""Start work in the background after a write: renew values, and forget the use counts of removed memories."""

import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from weft.api import Weft
from weft.memory import Memory, UsageBook
from weft.memory.memory_store import forget
from weft.model import DEFAULT_TENANT

if TYPE_CHECKING:
    from weft.indexing.ingest import Workshop


def renew_values(shop: "Workshop", store: str | Path | None, tenant: str = DEFAULT_TENANT) -> bool:
    """Start a process that finds the values anew, if they are due and can be found; whether it was started.

    `store` is what this process was told; told nothing, the other one finds the same store.
    """
    from weft.memory.value_store import values_are_due

    if find_spec("sklearn") is None or not values_are_due(shop, tenant=tenant):
        return False
    command = [sys.executable, "-m", "weft", "values", "--refresh", "--tenant", tenant]
    command += ["--store", str(store)] if store is not None else []
    subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return True


def forget_memories(weft: Weft, keys: Sequence[str], tenant: str) -> tuple[Memory, ...]:
    """Remove memories and the counts of their uses; return them as they were."""
    gone = forget(weft.workshop(), keys, tenant=tenant)
    UsageBook(weft.folder).forget([(memory.tenant, memory.key) for memory in gone])
    return gone
