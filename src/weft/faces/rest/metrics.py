"""What the service counts about itself, for Prometheus."""

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    """Latency by route and by stage, tokens handed out, cache hits and errors.

    Of several processes each writes to the folder `figures`, and any of them tells the sums.
    """

    def __init__(self, figures: str = "") -> None:
        self._registry, self._figures = CollectorRegistry(), figures
        self.requests = self._histogram("weft_request_seconds", "Seconds a request took.", ("method", "route"))
        self.stages = self._histogram("weft_stage_seconds", "Seconds a stage of an answer took.", ("stage",))
        self.tokens = self._counter("weft_tokens_total", "Tokens of the contexts handed out.", ())
        self.cache = self._counter("weft_cache_total", "Contexts by where they came from.", ("result",))
        self.errors = self._counter("weft_errors_total", "Answers that were errors.", ("status",))

    def _histogram(self, name: str, told: str, labels: tuple[str, ...]) -> Histogram:
        return Histogram(name, told, labels, buckets=_SECONDS, registry=self._registry)

    def _counter(self, name: str, told: str, labels: tuple[str, ...]) -> Counter:
        return Counter(name, told, labels, registry=self._registry)

    def clock(self) -> Callable[[str], None]:
        """A watcher that books the time since it was last called under the stage it is told."""
        last = time.perf_counter()

        def told(stage: str) -> None:
            nonlocal last
            now = time.perf_counter()
            self.stages.labels(stage).observe(now - last)
            last = now

        return told

    def exposition(self) -> bytes:
        """All of it in Prometheus' text format."""
        told = self._registry
        if self._figures:
            told = CollectorRegistry()
            MultiProcessCollector(told, self._figures)  # type: ignore[no-untyped-call]
        return generate_latest(told)
