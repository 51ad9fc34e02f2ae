"""Limit each caller of the service: requests, bytes and tokens a minute, and requests at once.

Counted in each process, which gives a key its share of the limits, so that all processes together keep to them.
"""

import math
import threading
import time
from collections.abc import Callable
from typing import Final

from weft.interfaces.keys import Limits
from weft.interfaces.rest.problems import Problem

_MINUTE: Final = 60.0
_MOST_CALLERS: Final = 10_000
"""Callers that are counted at once; there are as many as keys, so more mean that keys were deleted."""
_CONCURRENT: Final = 16
"""Requests of one caller at once, in each process, where its key says nothing: half of the light lane."""


class _Bucket:
    """The rest of an amount a minute; it fills up evenly, and a whole minute's worth may be used at once."""

    def __init__(self, per_minute: float, now: float) -> None:
        self._per_minute, self._left, self._at = per_minute, per_minute, now

    def wait(self, now: float) -> float:
        """Return the seconds until at least one is left; 0 now."""
        self._left = min(self._per_minute, self._left + (now - self._at) * self._per_minute / _MINUTE)
        self._at = now
        # What a request uses is partly known only afterwards, so the amount may fall below nothing.
        return 0.0 if self._left >= 1 else (1 - self._left) * _MINUTE / self._per_minute

    def take(self, amount: float) -> None:
        """Use some of it."""
        self._left -= amount


class _Usage:
    """The use that one caller makes of this process."""

    def __init__(self, limits: Limits, processes: int, now: float) -> None:
        self.limits = limits
        self.running = 0
        self.concurrent = _share(limits.concurrent, processes) if limits.concurrent else _CONCURRENT
        self.buckets = {
            what: _Bucket(_share(amount, processes), now)
            for what, amount in (
                ("requests", limits.requests),
                ("bytes", limits.bytes),
                ("tokens", limits.tokens),
            )
            if amount
        }


class Quotas:
    """The use that callers make of this process."""

    def __init__(self, processes: int = 1, clock: Callable[[], float] = time.monotonic) -> None:
        self._processes, self._clock = max(processes, 1), clock
        self._used: dict[str, _Usage] = {}
        self._guard = threading.Lock()

    def begin(self, caller: str, limits: Limits) -> None:
        """Count a request of a caller; refuse one beyond its limits."""
        with self._guard:
            usage, now = self._usage(caller, limits), self._clock()
            for what, bucket in usage.buckets.items():
                seconds = bucket.wait(now)
                if seconds:
                    raise Problem(
                        429,
                        f"This key has used up its {what}. Ask again in {math.ceil(seconds)} seconds.",
                        retry_after=math.ceil(seconds),
                    )
            if usage.running >= usage.concurrent:
                raise Problem(
                    429, f"This key has {usage.running} requests under way, its limit. Wait for their answers."
                )
            usage.running += 1
            self._take(usage, "requests", 1)

    def end(self, caller: str) -> None:
        """Count a request as answered."""
        with self._guard:
            if caller in self._used:
                self._used[caller].running -= 1

    def receive(self, caller: str, body_bytes: int) -> None:
        """Count the bytes of a body."""
        with self._guard:
            if caller in self._used:
                self._take(self._used[caller], "bytes", body_bytes)

    def spend(self, caller: str, tokens: int) -> None:
        """Count tokens that were handed out; they are known only afterwards, and weigh on the next request."""
        with self._guard:
            if caller in self._used:
                self._take(self._used[caller], "tokens", tokens)

    @staticmethod
    def _take(usage: _Usage, what: str, amount: float) -> None:
        if what in usage.buckets:
            usage.buckets[what].take(amount)

    def _usage(self, caller: str, limits: Limits) -> _Usage:
        known = self._used.get(caller)
        if known is None or known.limits != limits:
            if len(self._used) >= _MOST_CALLERS:
                self._used = {name: usage for name, usage in self._used.items() if usage.running}
            running = known.running if known else 0
            known = self._used[caller] = _Usage(limits, self._processes, self._clock())
            known.running = running
        return known


def _share(amount: int, processes: int) -> int:
    return max(math.ceil(amount / processes), 1)
