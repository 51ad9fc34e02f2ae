"""The gate in front of every route: names, addresses, keys and rights first, the body only then."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.interfaces.rest.access import admit
from weft.interfaces.rest.addresses import read_peer
from weft.interfaces.rest.problems import Problem, problem_response
from weft.interfaces.rest.served_store import Served

MAX_BODY_BYTES = 8 << 20
"""Bytes of a request: a batch of 1,000 nodes of a few pages each fits, and all of it is in memory at once."""


class Gate:
    """Middleware that lets a request in, or refuses it with a problem document."""

    def __init__(self, app: ASGIApp, served: Served) -> None:
        self._app, self._served = app, served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            peer = read_peer(scope, self._served.serving.exposure)
            state = scope.setdefault("state", {})
            state["peer"] = peer
            state["caller"] = admit(scope, peer, self._served)
            body = await read_body(receive, scope)
        except Problem as problem:
            await problem_response(problem, scope["path"])(scope, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)


async def read_body(receive: Receive, scope: Scope) -> bytes:
    """Return the body; refuse one that is too large."""
    # A body that announces its size is refused before it is read; others are counted as they come.
    length = dict(scope["headers"]).get(b"content-length", b"0")
    if length.isdigit() and int(length) > MAX_BODY_BYTES:
        raise _too_large()
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message["type"] == "http.request" and message.get("more_body", False)
        if size > MAX_BODY_BYTES:
            raise _too_large()
    return b"".join(parts)


def _too_large() -> Problem:
    return Problem(413, f"The body is larger than {MAX_BODY_BYTES:,} bytes. Send less at once, in batches.")


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a function that gives the app the body that was read already, then what else arrives."""
    sent = False

    async def receive_again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
