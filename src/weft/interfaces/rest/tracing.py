"""OpenTelemetry traces of requests and of the stages of an answer, if its API is installed (extra `otel`).

Spans go wherever the operator's OpenTelemetry SDK sends them; without one the API itself drops them.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from starlette.types import Scope

try:
    from opentelemetry import trace
except ModuleNotFoundError:
    trace = None  # type: ignore[assignment]

_NAME: Final = "weft"


class _NoSpan:
    """A span that nobody records."""

    def set_attribute(self, name: str, value: object) -> None:
        """Drop an attribute."""


_NO_SPAN: Final = _NoSpan()


@contextmanager
def trace_request(scope: Scope, request_id: str) -> Iterator[Any]:
    """Record a request as a span for the block."""
    if trace is None:
        yield _NO_SPAN
        return
    attributes = {"http.request.method": scope["method"], "url.path": scope["path"], "weft.request_id": request_id}
    with trace.get_tracer(_NAME).start_as_current_span(
        f"{scope['method']} request", attributes=attributes
    ) as span:
        yield span


def trace_stage(stage: str, seconds: float) -> None:
    """Record a stage of an answer that has just ended as a span of its own."""
    if trace is None:
        return
    now = time.time_ns()
    span = trace.get_tracer(_NAME).start_span(f"weft.{stage}", start_time=now - int(seconds * 1e9))
    span.end(now)
