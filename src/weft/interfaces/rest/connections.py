"""The connections of the service: uvicorn's HTTP protocol with bounds on heads, time and number."""

from asyncio import TimerHandle, Transport
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES: Final = 128 << 10
"""Bytes of the request line and the headers before they are complete; the gate then checks them one by one."""
HEAD_SECONDS: Final = 10.0
"""Seconds from the first byte of a connection, or of its next request, to the end of the headers."""
_LINGER_SECONDS: Final = 2.0
"""Seconds for which a body that nobody wants is read and dropped, so that its sender sees the answer."""
MAX_CONNECTIONS: Final = 2000
"""Connections of one process; each takes some kilobytes."""

_ANSWER: Final = (
    "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncontent-length: {length}\r\n"
    "retry-after: 1\r\nconnection: close\r\n\r\n{body}"
)


class BoundedProtocol(HttpToolsProtocol):
    """A connection that refuses heads that are too large or too slow, and bodies that nobody reads."""

    head_seconds: ClassVar[float] = HEAD_SECONDS
    linger_seconds: ClassVar[float] = _LINGER_SECONDS

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head_bytes = 0
        self._in_head = True
        self._head_timer: TimerHandle | None = None
        self._linger_timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Accept a connection, unless there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            self._refuse("503 Service Unavailable", "There are too many connections. Try again in a moment.")
            return
        self._start_head()

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
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Begin the request."""
        self._in_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Begin to count the next head."""
        self._in_head, self._head_bytes = True, 0
        if self._linger_timer is not None:
            self._linger_timer.cancel()
            self._linger_timer = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Give a body that was not read a moment to end."""
        if not self._in_head and not self.transport.is_closing():
            self._linger_timer = self.loop.call_later(self.linger_seconds, self.transport.abort)
        super().on_response_complete()

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
        for timer in (self._head_timer, self._linger_timer):
            if timer is not None:
                timer.cancel()
        self._head_timer = self._linger_timer = None
