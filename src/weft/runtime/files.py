"""Replace files so that readers never see half of one."""

import os
import threading
from contextlib import suppress
from pathlib import Path


def replace_file(file: Path, content: bytes) -> None:
    """Write a file in one step: who reads it meanwhile sees the old content or the new one."""
    # A name of its own for each thread: two that write at once must not mix their drafts.
    draft = file.with_name(f"{file.name}.{os.getpid()}-{threading.get_ident()}.new")
    try:
        draft.write_bytes(content)
        draft.replace(file)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
