"""The log of the assemblers: that of the program they are used in, and otherwise lines on stderr."""

import sys
from typing import Any


def open_log(name: str) -> Any:
    """Return the logger of a name, as the program configured structlog; without that, it prints to stderr.

    Structlog's own default is stdout, where programs expect the page and nothing else.
    """
    # Loaded with the first line: most pages log nothing.
    import structlog

    if structlog.is_configured():
        return structlog.get_logger(name)
    return structlog.wrap_logger(structlog.PrintLogger(sys.stderr))
