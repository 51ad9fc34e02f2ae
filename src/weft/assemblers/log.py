"""The log of the assemblers: that of the program they are used in, and otherwise lines on stderr."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from weft.errors import WeftError

_EXPECTED = (WeftError, OSError)
"""Errors that say what is wrong; any other may be a mistake in a program, and is logged with its traceback."""


def open_log(name: str) -> Any:
    """Return the logger of a name, as the program configured structlog; without that, it prints to stderr.

    Structlog's own default is stdout, where programs expect the page and nothing else.
    """
    # Loaded with the first line: most pages log nothing.
    import structlog

    if structlog.is_configured():
        return structlog.get_logger(name)
    return structlog.wrap_logger(structlog.PrintLogger(sys.stderr))


def log_narrative(level: str, event: str, **facts: object) -> None:
    """Log an event of the narrative formatter; a line that cannot be written is lost, and the page is not."""
    # Processors and streams are those of the program, and may fail in any way.
    with suppress(Exception):
        getattr(open_log("weft.narrative"), level)(
            event, **{name: _to_unicode(value) for name, value in facts.items()}
        )


@contextmanager
def log_failure(event: str, level: str = "warning", **facts: object) -> Iterator[None]:
    """Log whatever the block raises and end the block, because `format_context` never raises.

    This is the one place of the narrative design that catches every exception: stores, strategies, records and
    iterables are objects of the caller, which fail in ways of their own.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001  (as the docstring says)
        traceback = {} if isinstance(error, _EXPECTED) else {"exc_info": True}
        log_narrative(level, event, error=str(error), error_type=type(error).__name__, **facts, **traceback)


def _to_unicode(value: object) -> object:
    """Replace broken surrogates in a text, which printing it would fail on."""
    # Queries are pasted by people, and half an emoji is enough to break a log line.
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
