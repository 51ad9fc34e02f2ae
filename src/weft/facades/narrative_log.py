"""The formatter's log, which never spoils a page: a line that cannot be written is lost."""

from contextlib import suppress
from typing import Final

import structlog

_logger: Final = structlog.get_logger("weft.narrative")


def log(level: str, event: str, **facts: object) -> None:
    """Log an event; texts that are no Unicode are made so, since whoever prints them would fail."""
    with suppress(Exception):
        getattr(_logger, level)(event, **{name: _printable(value) for name, value in facts.items()})


def _printable(value: object) -> object:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
