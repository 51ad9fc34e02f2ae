"""Index a folder beside the answers, and tell how far it is.

The state lies in a file beside the store, so that every process of a service can answer, and a page that is loaded
again goes on where it was.
"""

import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson

from weft.api import Weft
from weft.errors import WeftError
from weft.interfaces.rest.problems import Problem
from weft.runtime.files import replace_file

FILE_NAME: Final = "indexing.json"
_EVERY_SECONDS: Final = 0.2
"""How often the state is written: a person sees no more."""
_SILENT_SECONDS: Final = 120.0
"""After so long without a word a run is taken for dead: its process was stopped."""

_running = threading.Lock()


def start_indexing(weft: Weft, path: Path, tenant: str, reading: str) -> None:
    """Begin to index a folder in a thread; only one at a time."""
    state = read_progress(weft.folder)
    if state["state"] == "running" or not _running.acquire(blocking=False):
        raise Problem(409, f"{state.get('path') or 'A folder'} is being indexed. Wait until it is done.")
    job = _Job(weft.folder, {"state": "running", "path": str(path), "tenant": tenant, "stage": "reading"})
    job.write()
    threading.Thread(target=_run, args=(weft, path, tenant, reading, job), daemon=True).start()


def read_progress(folder: Path) -> dict[str, Any]:
    """Return the state of the last run: `none`, `running`, `done` or `failed`, and what it did."""
    try:
        state: dict[str, Any] = orjson.loads((folder / FILE_NAME).read_bytes())
        silent = time.time() - (folder / FILE_NAME).stat().st_mtime
    except (OSError, orjson.JSONDecodeError):
        return {"state": "none"}
    if state.get("state") == "running" and silent > _SILENT_SECONDS:
        return {**state, "state": "failed", "problem": "The run was stopped. Index the folder again; it goes on."}
    return state


class _Job:
    """The state of one run, written down now and then."""

    def __init__(self, folder: Path, state: dict[str, Any]) -> None:
        self.file, self.state, self._written = folder / FILE_NAME, state, 0.0

    def progress(self, stage: str, done: int, total: int | None) -> None:
        """Take note of a step; most are too quick to be worth a write."""
        self.state |= {"stage": stage, "done": done, "total": total}
        if time.monotonic() - self._written > _EVERY_SECONDS:
            self.write()

    def write(self) -> None:
        """Write the state; trouble with the file must not end the run."""
        self._written = time.monotonic()
        with suppress(OSError):
            replace_file(self.file, orjson.dumps(self.state))


def _run(weft: Weft, path: Path, tenant: str, reading: str, job: _Job) -> None:
    try:
        report = weft.index(path, tenant=tenant, reading=reading, progress=job.progress)
        job.state |= {
            "state": "done",
            "written": report.written,
            "unchanged": report.unchanged,
            "removed": report.removed,
            "problems": [[problem.where, problem.reason] for problem in report.problems[:20]],
            "problem_count": len(report.problems),
        }
    except WeftError as error:
        job.state |= {"state": "failed", "problem": str(error)}
    except Exception as error:
        # The thread has nobody above it: without this the page would wait for ever.
        job.state |= {"state": "failed", "problem": f"{type(error).__name__}: {error}"}
        raise
    finally:
        job.write()
        _running.release()
