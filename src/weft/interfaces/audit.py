"""The audit log of a store: who changed what, who was refused, and what was done to keys and tenants.

One JSON object a line, appended to `audit.log` beside the store and rotated by size. It holds ids, names and
counts, never a secret and never stored text.
"""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import orjson
from filelock import FileLock, Timeout

FILE_NAME: Final = "audit.log"
MAX_BYTES: Final = 10 << 20
KEPT_FILES: Final = 10
"""Bytes of a file before a new one is begun, and how many old ones are kept: some half a million lines."""
_OWNER_ONLY: Final = 0o600
_LONGEST_VALUE: Final = 300
"""Characters of a value: a path of a refused request is written by whoever sent it."""


class AuditLog:
    """The audit log of one store; several processes append to it."""

    def __init__(self, store: Path, *, max_bytes: int = MAX_BYTES, kept_files: int = KEPT_FILES) -> None:
        self.file = store / FILE_NAME
        self._max_bytes, self._kept_files = max_bytes, kept_files

    def write(self, event: str, **facts: str | int | None) -> None:
        """Append one line. A log that cannot be written is no reason to refuse the caller."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        written = {name: _bounded(value) for name, value in facts.items() if value not in (None, "")}
        line = orjson.dumps({"at": at, "event": event, **written}) + b"\n"
        try:
            self._rotate_if_large()
            # One write of a short line to a file that is opened to append is never mixed with another's.
            handle = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _OWNER_ONLY)
            try:
                os.write(handle, line)
            finally:
                os.close(handle)
        except OSError:
            return

    def _rotate_if_large(self) -> None:
        try:
            if self.file.stat().st_size < self._max_bytes:
                return
        except FileNotFoundError:
            return
        try:
            with FileLock(self.file.with_suffix(".lock"), timeout=0):
                # Another process may have rotated it while this one came here.
                if self.file.stat().st_size < self._max_bytes:
                    return
                for number in range(self._kept_files - 1, 0, -1):
                    older = self._numbered(number)
                    if older.exists():
                        older.replace(self._numbered(number + 1))
                self.file.replace(self._numbered(1))
        except (Timeout, FileNotFoundError):
            return

    def _numbered(self, number: int) -> Path:
        return self.file.with_name(f"{FILE_NAME}.{number}")


def _bounded(value: str | int | None) -> str | int | None:
    if not isinstance(value, str):
        return value
    # Lone surrogates and controls are written as escapes, so that a line is always one line of valid JSON.
    return value[:_LONGEST_VALUE].encode("utf-8", "backslashreplace").decode()
