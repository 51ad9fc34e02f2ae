"""The service's own log: one JSON object a line on stderr, without secrets and without stored text."""

import sys
from typing import Any

import structlog


def make_log() -> Any:
    """Return a logger for what operators should know; each line has a time, a level and an event."""
    return structlog.wrap_logger(
        structlog.WriteLogger(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(sort_keys=True),
        ],
    )
