"""Structured log lines: through structlog where it is installed, else through the standard library."""

import logging
from typing import Final

_NAME: Final = "weft"


def warn(event: str, **facts: object) -> None:
    """Log that something went wrong that the caller gets a partial result for."""
    try:
        import structlog
    except ModuleNotFoundError:
        told = " ".join(f"{name}={value!r}" for name, value in facts.items())
        logging.getLogger(_NAME).warning("%s %s", event, told)
    else:
        structlog.get_logger(_NAME).warning(event, **facts)
