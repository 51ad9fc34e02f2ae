"""Ask a real service for twice what it can carry: what it refuses, how late it is, and whether it recovers.

Requests come at their own times, however late the answers are, as those of many callers do. First it is measured
how many a second the service answers if each caller waits for its answer; then twice as many come.
"""

import asyncio
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from torture.served import NODES_OF_A_TENANT, TOPICS, Server, make_keys, make_store, serving
from weft.interfaces.keys import Grant, Scope

_TENANTS = 20
_CALLERS = 64
"""Callers that wait for their answers, while it is measured what the service can carry."""
_DEADLINE_SECONDS = 8
_LATE_SECONDS = 2.0
"""Seconds beyond the deadline of the service after which an accepted request counts as unbounded: the time that
this process takes to send it and to read the answer, on the same processors."""
_CANDIDATES = 200
"""Candidates that a heavy question brings: its page takes many times what a light one takes."""
_MOST_OPEN = 1800
"""Connections that are open at once at most: files that this process may have open are bounded too."""
_LOOK_SECONDS = 0.005
_RECOVERY_SECONDS = 30.0
_GROWTH_SHARE = 0.05
_GROWTH_BYTES = 40 << 20
"""Growth of the memory during the second half of the load that is still flat: caches that have not reached their
bounds in a short run make up the bytes."""
MIX = {"light": 70, "again": 10, "search": 8, "write": 6, "heavy": 4, "list": 2}
"""The kinds of requests and how many of a hundred they are."""
_SHED = (429, 503)


class Tally(Struct):
    """The results of requests."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    most_seconds: float = _DEADLINE_SECONDS + _LATE_SECONDS
    """Seconds beyond which an accepted request counts as unbounded."""
    own_delays: list[float] = field(default_factory=list)
    """Seconds by which this process itself came too late, at every look: they are in all times."""

    def note(self, kind: str, status: int, headers: Mapping[str, str], seconds: float) -> None:
        """Take in one answer."""
        self.statuses[status] += 1
        if 200 <= status < 300:
            self.seconds.setdefault(kind, []).append(seconds)
            if seconds > self.most_seconds:
                self.wrong.append(f"a {kind} request was accepted and took {seconds:.1f} s")
        elif status not in _SHED:
            self.wrong.append(f"a {kind} request was answered with {status}")
        elif not headers.get("retry-after", "").isdigit():
            self.wrong.append(f"{status} without Retry-After")

    @property
    def accepted(self) -> int:
        """Return how many were done."""
        return sum(count for status, count in self.statuses.items() if 200 <= status < 300)

    @property
    def shed(self) -> int:
        """Return how many were refused because there were too many."""
        return sum(self.statuses[status] for status in _SHED)


class Traffic:
    """Requests of many callers, no question twice but for those that are meant to be."""

    def __init__(self, secrets: list[str], seed: int) -> None:
        self._secrets, self._chance, self._number = secrets, random.Random(seed), 0

    def next(self) -> tuple[str, bytes]:
        """Return the kind of the next request, and the request itself."""
        self._number += 1
        kind = self._chance.choices(tuple(MIX), tuple(MIX.values()))[0]
        caller = self._chance.randrange(len(self._secrets))
        tenant, topic = f"t{caller}", self._chance.choice(TOPICS)
        asked: dict[str, Any] = {"query": f"How do I handle a {topic} of case {self._number}?"}
        asked["tenant_ids"] = [tenant]
        method, path = "POST", "/api/context"
        if kind == "again":
            asked["query"] = f"How do I handle a {topic}?"
        elif kind == "search":
            path = "/api/search"
        elif kind == "heavy":
            asked |= {"format": "plain", "max_tokens": 60_000, "history": [f"The {topic} is late. " * 60] * 10}
            asked["candidates"] = [_make_candidate(topic, self._number, place) for place in range(_CANDIDATES)]
        elif kind == "write":
            method, path, key = "PUT", "/api/nodes", f"app:{NODES_OF_A_TENANT + self._number % 5}"
            text = f"The {topic} of case {self._number} is closed."
            node = {"tenant_id": tenant, "key": key, "node_type": "faq", "title": topic, "content": {"text": text}}
            asked = {"nodes": [node]}
        body = json.dumps(asked).encode()
        if kind == "list":
            method, path, body = "GET", f"/api/nodes?tenant_id={tenant}&limit=20", b""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self._secrets[caller]}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return kind, head.encode() + body


def _make_candidate(topic: str, number: int, place: int) -> dict[str, Any]:
    words = " ".join(f"{topic}{(number + place * word) % 97}" for word in range(60))
    return {"key": f"found:{place}", "node_type": "faq", "title": f"{topic} {place}", "content": {"text": words}}


class Connections:
    """Connections to a service, used again where the service leaves them open."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, request: bytes) -> tuple[int, dict[str, str]]:
        """Return status and headers of the answer to a request."""
        while self._free:
            reader, writer = self._free.pop()
            if not reader.at_eof() and not writer.is_closing():
                try:
                    return await self._ask_on(reader, writer, request)
                except (OSError, EOFError):
                    # The service closes connections that were idle for long; one may be just closing.
                    continue
        return await self._ask_on(*await asyncio.open_connection("127.0.0.1", self._port), request)

    async def _ask_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
    ) -> tuple[int, dict[str, str]]:
        try:
            writer.write(request)
            status, headers = await _read_answer(reader)
        except BaseException:
            writer.close()
            raise
        if headers.get("connection") == "close":
            writer.close()
        else:
            self._free.append((reader, writer))
        return status, headers

    def close(self) -> None:
        """Close all of them."""
        for _, writer in self._free:
            writer.close()


async def _read_answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)
    }
    await reader.readexactly(int(headers.get("content-length", "0")))
    return int(head[0].split()[1]), headers


async def ask_in_turn(
    connections: Connections, traffic: Traffic, callers: int, seconds: float, tally: Tally | None = None
) -> Tally:
    """Let some callers ask, each after its last answer, and return what they got."""
    tally, ends = tally or Tally(), time.monotonic() + seconds

    async def call() -> None:
        while time.monotonic() < ends:
            await _ask_once(connections, traffic, tally)

    await asyncio.gather(*(call() for _ in range(callers)))
    return tally


async def ask_at_rate(
    connections: Connections, traffic: Traffic, rate: float, seconds: float, halfway: Callable[[], None]
) -> Tally:
    """Let requests come at a rate, whatever becomes of those before, and return what they got."""
    tally, asking, started, sent = Tally(), set[asyncio.Task[None]](), time.monotonic(), 0
    is_first_half = True
    while (passed := time.monotonic() - started) < seconds:
        if is_first_half and passed > seconds / 2:
            is_first_half = False
            halfway()
        while sent < rate * passed and len(asking) < _MOST_OPEN:
            task = asyncio.create_task(_ask_once(connections, traffic, tally))
            asking.add(task)
            task.add_done_callback(asking.discard)
            sent += 1
        looked = time.monotonic()
        await asyncio.sleep(_LOOK_SECONDS)
        tally.own_delays.append(time.monotonic() - looked - _LOOK_SECONDS)
    await asyncio.gather(*asking)
    return tally


async def _ask_once(connections: Connections, traffic: Traffic, tally: Tally) -> None:
    kind, request = traffic.next()
    started = time.monotonic()
    try:
        async with asyncio.timeout(60):
            status, headers = await connections.ask(request)
    except (OSError, EOFError, TimeoutError) as error:
        tally.wrong.append(f"a {kind} request was not answered: {type(error).__name__}")
        return
    tally.note(kind, status, headers, time.monotonic() - started)


def run_overload(
    folder: Path, seed: int, until: float, most: int, factor: float = 2.0, workers: int = 2
) -> dict[str, int]:
    """Return how many requests came, how many were accepted and refused, and what went wrong."""
    store = folder / ".weft"
    tenants = make_store(store, _TENANTS)
    grants = [Grant(tenant, (tenant,), (Scope.READ, Scope.WRITE)) for tenant in tenants]
    secrets = [secret for _, secret in make_keys(store, grants)]
    with serving(store, "--workers", str(workers), "--deadline", str(_DEADLINE_SECONDS)) as server:
        seconds = max(until - time.monotonic(), 6.0)
        return asyncio.run(_overload(server, Traffic(secrets, seed), seconds, factor, most))


async def _overload(server: Server, traffic: Traffic, seconds: float, factor: float, most: int) -> dict[str, int]:
    connections = Connections(server.port)
    # The first answers of each process load models and files, and tell nothing of what it can carry.
    await ask_in_turn(connections, traffic, _CALLERS, 1.0)
    measured = min(max(seconds * 0.15, 2.0), 20.0)
    before = await ask_in_turn(connections, traffic, _CALLERS, measured)
    taken = sum(len(times) for times in before.seconds.values())
    rate, memory = factor * taken / measured, [server.memory()]
    load_seconds = min(seconds * 0.7, most / max(rate, 1.0))
    busy = server.processor_seconds()
    during = await ask_at_rate(connections, traffic, rate, load_seconds, lambda: memory.append(server.memory()))
    busy, memory = server.processor_seconds() - busy, [*memory, server.memory()]
    recovered, after = await _recover(connections, traffic)
    connections.close()
    wrong = [*before.wrong, *during.wrong, *after.wrong]
    if recovered is None:
        wrong.append(f"requests were still refused {_RECOVERY_SECONDS:g} s after the load had ended")
    if memory[-1] > memory[1] * (1 + _GROWTH_SHARE) + _GROWTH_BYTES:
        wrong.append(f"memory grew from {memory[1] >> 20} to {memory[-1] >> 20} MiB in the second half")
    print(f"   carried {taken / measured:.0f} a second, then {rate:.0f} a second came for {load_seconds:.0f} s")
    print(f"   answers: {dict(sorted(during.statuses.items()))}")
    print(
        f"   {during.accepted / max(busy, 0.01):.0f} accepted a processor second; memory "
        f"{' -> '.join(str(held >> 20) for held in memory)} MiB"
    )
    print(f"   this process itself came late by {_describe(during.own_delays)}")
    for kind, times in during.seconds.items():
        print(f"   accepted {kind}: {_describe(times)}; before the load {_describe(before.seconds.get(kind, []))}")
    if recovered is not None:
        print(f"   everything was accepted again {recovered:.1f} s after the load")
    for what, count in Counter(wrong).most_common(20):
        print(f"   {what} ({count} times)")
    if wrong and server.told:
        print("   the last lines of the service's log:", *server.told, sep="\n      ")
    asked = sum(during.statuses.values())
    return {"requests": asked, "accepted": during.accepted, "shed": during.shed, "losses": len(wrong)}


async def _recover(connections: Connections, traffic: Traffic) -> tuple[float | None, Tally]:
    """Return the seconds until a few callers get all their answers again, and what they got last."""
    started = time.monotonic()
    while (passed := time.monotonic() - started) < _RECOVERY_SECONDS:
        tally = await ask_in_turn(connections, traffic, _CALLERS // 4, 1.0)
        if not tally.shed and not tally.wrong:
            return passed, tally
    return None, tally


def _describe(times: list[float]) -> str:
    if not times:
        return "none"
    ordered = sorted(times)
    at_95 = ordered[int(len(ordered) * 0.95)]
    return f"p50 {statistics.median(ordered) * 1e3:.0f}, p95 {at_95 * 1e3:.0f}, most {ordered[-1] * 1e3:.0f} ms"
