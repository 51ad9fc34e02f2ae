"""Count what a service does for Prometheus, and trace it for OpenTelemetry if its API is installed (extra `all`).

Spans go wherever the operator's OpenTelemetry SDK sends them; without one the API itself drops them.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.types import Scope

try:
    from opentelemetry import trace
except ModuleNotFoundError:
    trace = None  # type: ignore[assignment]

_LATENCY_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
"""Upper bounds in seconds of the buckets of latency: an answer takes milliseconds, a cold one a second or more."""
_NAME: Final = "weft"


class Metrics:
    """Latency by route and by stage, tokens handed out, cache hits and errors.

    Each of several processes writes to the folder `figures`, and any of them can report the sums.
    """

    def __init__(self, figures: str = "") -> None:
        self._registry, self._figures = CollectorRegistry(), figures
        self.requests = self._histogram("weft_request_seconds", "Seconds a request took.", ("method", "route"))
        self.stages = self._histogram("weft_stage_seconds", "Seconds a stage of an answer took.", ("stage",))
        self.tokens = self._counter("weft_tokens_total", "Tokens of the contexts handed out.", ())
        self.cache = self._counter("weft_cache_total", "Contexts by where they came from.", ("result",))
        self.errors = self._counter("weft_errors_total", "Answers that were errors.", ("status",))
        self.answers = self._counter(
            "weft_requests_total", "Requests by how they were answered.", ("method", "route", "status", "caller")
        )
        self.shed = self._counter("weft_shed_total", "Requests refused because their lane was full.", ("lane",))

    def _histogram(self, name: str, help: str, labels: tuple[str, ...]) -> Histogram:
        return Histogram(name, help, labels, buckets=_LATENCY_BUCKETS, registry=self._registry)

    def _counter(self, name: str, help: str, labels: tuple[str, ...]) -> Counter:
        return Counter(name, help, labels, registry=self._registry)

    def clock(self) -> Callable[[str], None]:
        """Return a function to call at the end of each stage, which records the time since the call before."""
        last = time.perf_counter()

        def record(stage: str) -> None:
            nonlocal last
            now = time.perf_counter()
            self.stages.labels(stage).observe(now - last)
            trace_stage(stage, now - last)
            last = now

        return record

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        registry = self._registry
        if self._figures:
            # A fresh registry, which reads the files of all processes at the moment it is asked.
            registry = CollectorRegistry()
            MultiProcessCollector(registry, self._figures)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


# --- traces -------------------------------------------------------------------------------------------------


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
