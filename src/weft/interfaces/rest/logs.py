"""The service's own logs: JSON lines with request ids, without secrets and without stored text.

`make_log` is for operators (stderr); `Observed` gives every request an id, counts and times it, and writes the
access log if one is asked for; changes and refusals go to the audit log of the store.
"""

import re
import sys
import time
import uuid
from typing import Any, Final

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.interfaces.audit import AuditLog
from weft.interfaces.rest.metrics import Metrics, trace_request

REQUEST_ID: Final = b"x-request-id"
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}\Z")
"""A request id that is taken from the caller; any other is replaced, because it would be written into logs."""
_READING_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_READING_POSTS: Final = frozenset({"/api/context", "/api/search", "/api/premortem"})
"""Requests that change nothing and are therefore not audited when they are answered."""
_REFUSALS: Final = frozenset({401, 403, 421})
_REFUSALS_A_MINUTE: Final = 60
"""Refusals that each process writes in a minute; more are only counted, or a flood would push out the rest."""


def make_log(stream: Any = None) -> Any:
    """Return a logger for what operators should know; each line has a time, a level and an event."""
    return structlog.wrap_logger(
        structlog.WriteLogger(stream or sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(sort_keys=True),
        ],
    )


def open_access_log(where: str) -> Any:
    """Return the access log: `-` is stderr, anything else a file that is appended to, nothing is none."""
    if not where:
        return None
    # Line by line, so that several processes can append to one file and nothing is lost with a process.
    return make_log(None if where == "-" else open(where, "a", buffering=1, encoding="utf-8"))  # noqa: PTH123


class Observed:
    """Middleware around everything: a request id, metrics, a trace, the access log and the audit log."""

    def __init__(self, app: ASGIApp, metrics: Metrics, audit: AuditLog, access: Any = None) -> None:
        self._app, self._metrics, self._audit, self._access = app, metrics, audit, access
        self._minute, self._refusals = 0, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _read_request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        # An app that raises sends no status, and the server then answers with 500.
        started, status, size = time.perf_counter(), 500, 0

        async def send_and_note(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", ()), (REQUEST_ID, request_id.encode())]
                message = {**message, "headers": headers}
            else:
                size += len(message.get("body", b""))
            await send(message)

        with trace_request(scope, request_id) as span:
            try:
                await self._app(scope, receive, send_and_note)
            finally:
                span.set_attribute("http.response.status_code", status)
                self._note(scope, status, time.perf_counter() - started, size)

    def _note(self, scope: Scope, status: int, seconds: float, size: int) -> None:
        # The pattern of the route, not the path: ids in it would make a metric for every node.
        route = getattr(scope.get("route"), "path", "none")
        state = scope["state"]
        caller, peer = state.get("caller"), state.get("peer")
        kind = "refused" if status in _REFUSALS else "none" if caller is None else "key" if caller.key else "local"
        self._metrics.requests.labels(scope["method"], route).observe(seconds)
        self._metrics.answers.labels(scope["method"], route, str(status), kind).inc()
        if status >= 400:
            self._metrics.errors.labels(str(status)).inc()
        facts = {
            "request": state["request_id"],
            "client": peer.address if peer else None,
            "key": caller.key if caller else None,
            "key_name": caller.name if caller else None,
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
        }
        if self._access is not None:
            lane = state.get("lane")
            self._access.info("request", **facts, seconds=round(seconds, 4), bytes=size, lane=lane and str(lane))
        if status in _REFUSALS:
            self._note_refusal(facts)
        elif scope["method"] not in _READING_METHODS and status < 400 and route not in _READING_POSTS:
            self._audit.write("change", **facts)

    def _note_refusal(self, facts: dict[str, Any]) -> None:
        minute = int(time.time() // 60)
        if minute != self._minute:
            left_out = max(self._refusals - _REFUSALS_A_MINUTE, 0)
            if left_out:
                self._audit.write("refusals_left_out", count=left_out)
            self._minute, self._refusals = minute, 0
        self._refusals += 1
        if self._refusals <= _REFUSALS_A_MINUTE:
            self._audit.write("refusal", **facts)


def _read_request_id(scope: Scope) -> str:
    given = [value.decode("latin-1") for name, value in scope["headers"] if name == REQUEST_ID]
    return given[0] if len(given) == 1 and _REQUEST_ID.match(given[0]) else uuid.uuid4().hex
