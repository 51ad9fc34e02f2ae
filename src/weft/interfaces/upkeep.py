"""Read in the background what a question left unread, so that the next one finds it."""

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.api import Weft


def finish_reading(weft: "Weft") -> bool:
    """Start a process that indexes the sources of which the last question left something unread.

    Return whether one was started. It is neither waited for nor ended with this process; while another one writes,
    none is started, since that one is most likely doing the same.
    """
    from weft.ports import WritesNow

    unread, store = weft.reader.upkeep.last.unread, weft.store
    if not unread or not isinstance(store, WritesNow):
        return False
    with store.writing_now() as is_free:
        if not is_free:
            return False
    for each in unread:
        subprocess.Popen(
            [
                *(sys.executable, "-m", "weft", "index", str(each.root), "--source", each.source),
                *("--tenant", each.tenant, "--store", weft.location),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    return True
