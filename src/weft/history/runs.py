"""Keep a line for every indexing run beside the store: what changed, what failed, how much there is."""

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

import orjson
from msgspec import Struct
from msgspec.structs import asdict

from weft.runtime.files import replace_file

FILE_NAME: Final = "runs.jsonl"
"""The file beside the store. No page depends on it, so losing it does no harm."""
KEPT_RUNS: Final = 500
"""Runs that are kept, the newest ones: a line has some 200 bytes, and a drawing of growth shows no more."""
_TRIMMED_BYTES: Final = 400_000
"""The size from which on the file is cut back to the runs that are kept; looking at the size costs nothing."""
KEPT_PROBLEMS: Final = 20
"""Problems that are kept of one run; `weft index` prints all of them."""


class Run(Struct, frozen=True):
    """One indexing run of one tenant; `passages` is what the tenant had when it was done."""

    at: datetime
    tenant: str
    sources: tuple[str, ...] = ()
    written: int = 0
    removed: int = 0
    passages: int = 0
    problems: tuple[tuple[str, str], ...] = ()
    """Where something could not be read, and why."""


class RunLog(Struct, frozen=True):
    """The indexing runs of one store."""

    folder: Path

    @property
    def file(self) -> Path:
        """The path of the file that holds the runs."""
        return self.folder / FILE_NAME

    def add(self, run: Run) -> None:
        """Write a run down; a folder that takes no writes loses only this line."""
        with suppress(OSError):
            # One write of one line, so that two processes that index at once do not mix theirs.
            with self.file.open("ab") as file:
                file.write(orjson.dumps(asdict(run)) + b"\n")
                is_long = file.tell() > _TRIMMED_BYTES
            if is_long:
                self._replace(self.read())

    def read(self) -> tuple[Run, ...]:
        """Return the newest runs, oldest first; lines that are damaged are passed over."""
        try:
            lines = self.file.read_bytes().splitlines()
        except OSError:
            return ()
        found = [run for line in lines[-KEPT_RUNS:] if (run := _read_run(line)) is not None]
        return tuple(found)

    def forget_tenant(self, tenant: str) -> None:
        """Remove the runs of a tenant."""
        if self.file.is_file():
            self._replace([run for run in self.read() if run.tenant != tenant])

    def _replace(self, runs: Sequence[Run]) -> None:
        """Make these all the runs."""
        replace_file(self.file, b"".join(orjson.dumps(asdict(run)) + b"\n" for run in runs))


def _read_run(line: bytes) -> Run | None:
    try:
        plain = json.loads(line)
        problems = tuple((str(where), str(reason)) for where, reason in plain.pop("problems"))
        at = datetime.fromisoformat(plain.pop("at"))
        return Run(at, problems=problems, **{**plain, "sources": tuple(plain["sources"])})
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
