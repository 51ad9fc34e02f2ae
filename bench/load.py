"""Put a load on an HTTP service from one process, at a few microseconds a request, so that it is what is measured.

Each connection sends a request and waits for its answer, as a caller does; all connections are in one loop.
"""

import selectors
import socket
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"content-length:"
_PART_BYTES = 1 << 16


class Measured(Struct):
    """The result of a load: answers by status, their milliseconds by kind, and the seconds it took."""

    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    milliseconds: dict[str, list[float]] = field(default_factory=dict)

    @property
    def answered(self) -> int:
        """Return how many requests were answered with 200."""
        return self.statuses[200]

    @property
    def rate(self) -> float:
        """Return answers a second."""
        return self.answered / max(self.seconds, 1e-9)

    def percentile(self, share: float, kind: str = "") -> float:
        """Return the milliseconds within which a share of the answers came."""
        ordered = sorted(self.milliseconds.get(kind, ()))
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0

    def describe(self, kind: str = "") -> str:
        """Return the figures in a line."""
        times = self.milliseconds.get(kind, [])
        median = statistics.median(times) if times else 0.0
        others = {status: count for status, count in self.statuses.items() if status != 200}
        return (
            f"{self.rate:.0f} a second, p50 {median:.1f} ms, p95 {self.percentile(0.95, kind):.1f} ms"
            f"{f', refused {others}' if others else ''}"
        )


def post(path: str, body: str, headers: Mapping[str, str] | None = None) -> bytes:
    """Return a request as it is sent."""
    content = body.encode()
    more = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{more}"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


class _Connection:
    """One caller: what it waits for, and since when."""

    def __init__(self, port: int, kind: str, requests: Iterator[bytes], clock: Callable[[], float]) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.kind, self._requests, self._clock = kind, requests, clock
        self._received, self._missing = bytearray(), -1
        self.sent_at = 0.0

    def send(self) -> None:
        """Send the next request."""
        self._received, self._missing = bytearray(), -1
        self.sent_at = self._clock()
        self.socket.sendall(next(self._requests))

    def receive(self) -> int:
        """Take in a part of the answer; return its status when it is complete, else 0."""
        part = self.socket.recv(_PART_BYTES)
        if not part:
            raise ConnectionError("the service closed a connection in the middle of an answer")
        self._received += part
        if self._missing < 0:
            end = self._received.find(_END_OF_HEAD)
            if end < 0:
                return 0
            head = bytes(self._received[:end]).lower()
            length = int(head.partition(_LENGTH)[2].partition(b"\r\n")[0] or b"0")
            self._missing = end + len(_END_OF_HEAD) + length
        return int(self._received[9:12]) if len(self._received) >= self._missing else 0


def put_load(
    port: int,
    kinds: Mapping[str, tuple[int, Iterable[bytes]]],
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> Measured:
    """Let so many connections of each kind ask its requests one after the other, and measure their answers."""
    measured, watching = Measured(), selectors.DefaultSelector()
    for kind, (connections, requests) in kinds.items():
        shared = iter(requests)
        for _ in range(connections):
            connection = _Connection(port, kind, shared, clock)
            watching.register(connection.socket, selectors.EVENT_READ, connection)
            connection.send()
    started = time.perf_counter()
    ends = started + seconds
    while (now := time.perf_counter()) < ends:
        for key, _ in watching.select(ends - now):
            connection = key.data
            status = connection.receive()
            if status:
                measured.statuses[status] += 1
                if status == 200:
                    taken = (clock() - connection.sent_at) * 1000
                    measured.milliseconds.setdefault(connection.kind, []).append(taken)
                connection.send()
    measured.seconds = time.perf_counter() - started
    for key in list(watching.get_map().values()):
        key.data.socket.close()
    return measured


def repeat(requests: Sequence[bytes]) -> Iterator[bytes]:
    """Return the same requests again and again."""
    while True:
        yield from requests
