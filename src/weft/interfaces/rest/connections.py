"""The connections of the service: uvicorn's HTTP protocol with bounds on bytes around bodies, time and number."""

from asyncio import SelectorEventLoop, Server, TimerHandle, Transport
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

try:
    import resource
except ImportError:
    # Windows, which bounds files otherwise.
    resource = None  # type: ignore[assignment]

MAX_HEAD_BYTES: Final = 128 << 10
"""Bytes of the request line and the headers before they are complete; the gate then checks them one by one."""
HEAD_SECONDS: Final = 10.0
"""Seconds from the first byte of a connection, or of its next request, to the end of the headers."""
_LINGER_SECONDS: Final = 2.0
"""Seconds for which a body that nobody wants is read and dropped, so that its sender sees the answer."""
SEND_SECONDS: Final = 30.0
"""Seconds in which a caller takes what waits to be sent to it, some hundred kilobytes at most."""
_MOST_PIPELINED: Final = 16
"""Requests that may wait behind the one that is answered: 256 kilobytes hold thousands of them."""
MAX_CONNECTIONS: Final = 2000
"""Connections of one process; each takes some kilobytes."""
_FILES_BESIDE: Final = 256
"""Files that a process keeps open beside its connections: those of the store, of its searches, and its logs."""

_ANSWER: Final = (
    "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncontent-length: {length}\r\n"
    "retry-after: 1\r\nconnection: close\r\n\r\n{body}"
)


class BoundedLoop(SelectorEventLoop):
    """An event loop that gives a caller as long for agreeing on keys (TLS) as for the head of a request."""

    handshake_seconds: ClassVar[float] = HEAD_SECONDS

    async def create_server(self, *given: Any, **named: Any) -> Server:
        """Serve. Until keys are agreed on, the protocol does not know of a connection; the default is a minute."""
        if named.get("ssl") is not None:
            named["ssl_handshake_timeout"] = self.handshake_seconds
        return await super().create_server(*given, **named)


class BoundedProtocol(HttpToolsProtocol):
    """A connection that refuses heads that are too large or too slow, and gives up on callers that do not read."""

    head_seconds: ClassVar[float] = HEAD_SECONDS
    linger_seconds: ClassVar[float] = _LINGER_SECONDS
    send_seconds: ClassVar[float] = SEND_SECONDS
    most_connections: ClassVar[int] = MAX_CONNECTIONS

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head_bytes = 0
        self._in_head = True
        self.silent_since = 0.0
        # Bytes after the head that are no part of the body: sizes of chunks, their extensions, and trailers.
        self._framing_bytes = 0
        self._body_bytes = 0
        self._head_timer: TimerHandle | None = None
        self._linger_timer: TimerHandle | None = None
        self._send_timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Accept a connection; where there are too many, the one that has been silent for longest makes room."""
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            # Whoever opens many and sends nothing, or only slowly, or takes no answer, pushes out its own.
            waiting = [
                each for each in self.connections if isinstance(each, BoundedProtocol) and each.is_waiting()
            ]
            if not waiting:
                self._refuse("503 Service Unavailable", "There are too many connections. Try again in a moment.")
                return
            min(waiting, key=lambda each: each.silent_since).transport.abort()
        self.silent_since = self.loop.time()
        self._start_head()

    def is_waiting(self) -> bool:
        """Return whether the caller has to go on: to ask, to end its request, or to take what was sent to it."""
        is_asked = self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body
        is_read = not self.transport.get_write_buffer_size()
        return not (is_asked and is_read) and bool(self.silent_since) and not self.transport.is_closing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers with the connection."""
        self._cancel_timers()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what arrives of a head before it is read."""
        if self.transport.is_closing():
            return
        if self._in_head:
            if self._head_timer is None:
                self._start_head()
            # The parser itself joins the parts of a header again and again, which takes seconds for megabytes.
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(
                    "431 Request Header Fields Too Large", f"Headers end within {MAX_HEAD_BYTES:,} bytes."
                )
                return
            self._head_bytes += len(data)
        else:
            # Trailers are joined like headers, and sizes of chunks may carry endless extensions.
            if self._framing_bytes > MAX_HEAD_BYTES + self._body_bytes:
                self._refuse("400 Bad Request", "Send a body in larger chunks, without extensions and trailers.")
                return
            self._framing_bytes += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Begin a request, unless too many wait on this connection."""
        if len(self.pipeline) >= _MOST_PIPELINED:
            # The parser passes this on as a request that cannot be read, and the connection is closed.
            raise ValueError(f"more than {_MOST_PIPELINED} requests wait for their answers")
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; a trailer comes when it has been decided already who asks, and counts for nothing."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin the request."""
        self._in_head, self._framing_bytes, self._body_bytes = False, 0, 0
        self.silent_since = self.loop.time()
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        if self.parser.should_upgrade() and _announces_body(self.headers):
            # The parser takes what follows for another protocol, and the request for one without a body.
            raise ValueError("a request with a body asks for another protocol")
        if not self.url.startswith((b"/", b"*")):
            # A name in the request line goes before the one in Host. Where they differ there are two names, and a
            # request with two is refused.
            asked = urlsplit(self.url).netloc
            if any(name == b"host" and value != asked for name, value in self.headers):
                self.headers.append((b"host", asked))
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._body_bytes += len(body)
        self._framing_bytes -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Begin to count the next head."""
        self._in_head, self._head_bytes = True, 0
        if self._linger_timer is not None:
            self._linger_timer.cancel()
            self._linger_timer = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Give a body that was not read a moment to end; one that arrives may be that of a request that waits."""
        if not self._in_head and not self.pipeline and not self.transport.is_closing():
            self._linger_timer = self.loop.call_later(self.linger_seconds, self.transport.abort)
        self._watch_reader()
        self.silent_since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Wait for a caller that does not take what is sent, but not for ever."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """Go on; the rest has as much time again."""
        super().resume_writing()
        self._watch_reader()

    def _watch_reader(self) -> None:
        """Give the caller its time for what waits to be sent, if anything does."""
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None
        if self.transport.get_write_buffer_size():
            self._send_timer = self.loop.call_later(self.send_seconds, self._stop_sending)

    def _stop_sending(self) -> None:
        """Give up on a caller that has not taken what was sent; a connection that is closing would wait for it."""
        self._send_timer = None
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def _start_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_seconds, self._head_too_slow)

    def _head_too_slow(self) -> None:
        self._head_timer = None
        if not self._in_head or self.transport.is_closing():
            return
        if self._head_bytes == 0:
            # Nothing was asked, so there is nothing to answer.
            self.transport.close()
            return
        self._refuse("408 Request Timeout", f"Headers end within {self.head_seconds:g} seconds.")

    def _refuse(self, status: str, detail: str) -> None:
        number, _, title = status.partition(" ")
        body = f'{{"type":"about:blank","title":"{title}","status":{number},"detail":"{detail}"}}'
        self.transport.write(_ANSWER.format(status=status, length=len(body), body=body).encode("ascii"))
        self._cancel_timers()
        self.transport.close()

    def _cancel_timers(self) -> None:
        for timer in (self._head_timer, self._linger_timer, self._send_timer):
            if timer is not None:
                timer.cancel()
        self._head_timer = self._linger_timer = self._send_timer = None


def _announces_body(headers: list[tuple[bytes, bytes]]) -> bool:
    """Return whether a body follows these headers."""
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip() != b"0")
        for name, value in headers
    )


def prepare_connections() -> None:
    """Let the process open as many files as it may, and take no more connections than leave some for the store."""
    if resource is None:
        return
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    if files != resource.RLIM_INFINITY:
        BoundedProtocol.most_connections = min(MAX_CONNECTIONS, max(files - _FILES_BESIDE, 1))
