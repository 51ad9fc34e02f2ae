"""The gate in front of every route: names, addresses, keys and rights first, the body only then.

What happens to a request, in this order: its head is measured, its host and address are checked, its caller is
identified and its rights are compared with the route, its body is read within bounds, its key's limits are
counted, and it waits for a place in its lane. Only then a route sees it, with a deadline.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from hashlib import blake2b
from typing import Final

import anyio.to_thread
from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.errors import WeftError
from weft.interfaces.rest import idempotency
from weft.interfaces.rest.access import READING_METHODS, Caller, admit, is_under, needed_scope
from weft.interfaces.rest.addresses import read_peer
from weft.interfaces.rest.idempotency import KeptAnswer
from weft.interfaces.rest.lanes import Lane, LaneName, Lanes, choose_lane
from weft.interfaces.rest.problems import Problem, problem_response
from weft.interfaces.rest.served_store import Served
from weft.runtime.deadline import Deadline, limit

_KIB: Final = 1 << 10
_MIB: Final = 1 << 20
MAX_BODY_BYTES: Final = 8 * _MIB
"""Bytes of the largest bodies: a batch of 1,000 nodes of a few pages each fits."""
_BODY_LIMITS: Final = (
    ("/api/nodes", MAX_BODY_BYTES),
    ("/api/edges", MAX_BODY_BYTES),
    # 1,000 candidates or 100 turns of 20,000 characters.
    ("/api/context", 4 * _MIB),
    ("/api/memories", _MIB),
    ("/api/experiences", _MIB),
    # Pieces of an export.
    ("/api/admin/tenants", MAX_BODY_BYTES),
    ("/api/search", 256 * _KIB),
)
_OTHER_BODY_BYTES: Final = 64 * _KIB
"""Bytes of a body by the beginning of its path, and of all others."""
_IMPORTS: Final = ("/api/admin/tenants/", "/import")
"""The beginning and the end of the paths whose bodies are lines of JSON."""
_BODIES_AT_ONCE_BYTES: Final = 64 * _MIB
_KEPT_FOR_SMALL_BYTES: Final = 16 * _MIB
"""Bytes of all bodies that one process holds, and the part of it that is kept for bodies of a few kilobytes: 400
callers with 8 MiB each must not fill the memory, and must not keep questions out."""
_BODY_SECONDS: Final = 30.0
"""Seconds for a whole body: 8 MiB at two megabits a second."""
_SEND_SECONDS: Final = 120.0
"""Seconds that a caller may take to receive a large answer, which is kept in memory meanwhile."""
_PART_BYTES: Final = 64 * _KIB
"""Bytes of an answer that are given to the connection at once. It takes any number and keeps them until the caller
does, so that answers nobody reads would fill the memory; the next part waits until the last one is taken."""
_MAX_PATH_BYTES: Final = 60 * _KIB
_MAX_HEADERS: Final = 100
_MAX_HEADERS_BYTES: Final = 32 * _KIB
"""Bounds on a head. A path is long because a query may name tenants and tags in any script."""
_REMEMBERED_PATH: Final = "/api/context"
"""The path whose answers are remembered."""
_SECRET_PATHS: Final = ("/api/keys",)
"""The beginning of the paths whose answers hold the secret of a key, of which only a hash is kept."""
_UNBOUNDED_PATH: Final = "/healthz"
"""The path that is answered however many ask: it takes no thread and does not look at the store."""
_WATCH_AFTER_SECONDS: Final = 0.05
"""Seconds after which it is watched whether the caller is still there: most answers are given sooner."""


class _RememberedRoute(Struct, frozen=True):
    """The route of an answer that no route was asked for, for the metrics."""

    path: str


class Gate:
    """Middleware that lets a request in, or refuses it with a problem document."""

    def __init__(self, app: ASGIApp, served: Served) -> None:
        self._app, self._served = app, served
        self._lanes = Lanes(served.serving.on_server)
        self._held_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        try:
            if scope["method"] != "HEAD":
                await self._handle(scope, receive, answer)
                return
            # HEAD is GET without its body; the routes are asked for the one, and the other is sent.
            await self._handle({**scope, "method": "GET"}, receive, answer.without_body())
        except (Problem, WeftError) as problem:
            if not answer.has_begun:
                await problem_response(problem, scope)(scope, receive, send)

    async def _handle(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        check_head(scope)
        check_framing(scope)
        state = scope.setdefault("state", {})
        state["peer"] = peer = read_peer(scope, self._served.serving.exposure)
        state["caller"] = caller = admit(scope, peer, self._served)
        if caller is None:
            await self._answer_anybody(scope, receive, answer)
            return
        # Counted before the body is read, so that no caller can hold more than its share of the memory.
        with self._counting(caller), self._holding() as held:
            body = await held.read(receive, scope)
            self._served.quotas.receive(caller.key, len(body))
            needed = needed_scope(scope["method"], scope["path"])
            state["lane"] = name = choose_lane(scope["path"], needed, body)
            deadline = Deadline(self._served.serving.answer_seconds)
            check_media_type(scope, body)
            is_remembered = (scope["method"], scope["path"]) == ("POST", _REMEMBERED_PATH)
            if is_remembered and await self._answer_again(scope, body, deadline, answer):
                return
            await self._enter(name, deadline, caller.key, answer)
            try:
                async with _stopped_when_left(receive, deadline):
                    with limit(deadline):
                        await self._answer_once(scope, body, receive, answer)
            finally:
                answer.leave_lane()

    async def _answer_anybody(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        """Answer a request for a public path, which needs no key."""
        # Without its body, which no such path reads: whoever sends it slowly would hold a connection meanwhile.
        if scope["path"] != _UNBOUNDED_PATH:
            await self._enter(LaneName.PUBLIC, Deadline(self._served.serving.answer_seconds), "", answer)
        try:
            await self._app(scope, _replay(b"", receive), answer)
        finally:
            answer.leave_lane()

    async def _enter(self, name: LaneName, deadline: Deadline, caller: str, answer: "_Answer") -> None:
        """Wait for a place in a lane, which is left when the answer begins."""
        lane = self._lanes.get(name)
        try:
            await lane.enter(deadline, caller)
        except Problem:
            self._served.metrics.shed.labels(str(name)).inc()
            raise
        answer.lane = lane

    async def _answer_again(self, scope: Scope, body: bytes, deadline: Deadline, answer: "_Answer") -> bool:
        """Send the remembered answer to the same question if it is still true; say whether there was one."""
        # The route takes many times as long as the rest, and would find the same.
        asked = scope["state"]["asked"] = (
            blake2b(body, digest_size=32).digest(),
            scope["state"]["caller"].tenants,
        )
        remembered = self._served.answers.get(asked)
        if remembered is None:
            return False
        with limit(deadline):
            # In a thread, because a store on a server takes its time to say what has changed.
            if not await anyio.to_thread.run_sync(self._served.is_true, remembered):
                return False
        # Remembered or not, a caller is given no more than its limit.
        self._served.quotas.spend(scope["state"]["caller"].key, remembered.tokens)
        scope["route"] = _RememberedRoute(_REMEMBERED_PATH)
        self._served.metrics.cache.labels("hit").inc()
        size = str(len(remembered.content)).encode()
        headers = [(b"content-length", size), (b"content-type", b"application/json")]
        await answer({"type": "http.response.start", "status": 200, "headers": headers})
        await answer({"type": "http.response.body", "body": remembered.content})
        return True

    async def _answer_once(self, scope: Scope, body: bytes, receive: Receive, answer: "_Answer") -> None:
        """Let the route answer; a change that comes again under its Idempotency-Key is answered as before."""
        method, headers = scope["method"], scope["headers"]
        key = idempotency.read_key(headers) if method not in READING_METHODS else None
        if key is None:
            await self._app(scope, _replay(body, receive), answer)
            return
        kept, caller = self._served.kept_answers, scope["state"]["caller"].key
        digest = idempotency.digest(method, scope["path"], scope["query_string"], body)
        before = await anyio.to_thread.run_sync(kept.begin, caller, key, digest)
        if before is not None:
            replayed = [*before.headers, (b"idempotency-replayed", b"true")]
            await answer({"type": "http.response.start", "status": before.status, "headers": replayed})
            await answer({"type": "http.response.body", "body": before.body})
            return
        answer.is_recorded = True
        try:
            await self._app(scope, _replay(body, receive), answer)
        finally:
            is_secret = is_under(scope["path"], _SECRET_PATHS)
            finish = partial(kept.finish, caller, key, answer.recorded(), is_secret=is_secret)
            await anyio.to_thread.run_sync(finish)

    @contextmanager
    def _counting(self, caller: Caller) -> Iterator[None]:
        """Count a request among those of its caller."""
        quotas = self._served.quotas
        quotas.begin(caller.key, caller.limits)
        try:
            yield
        finally:
            quotas.end(caller.key)

    @contextmanager
    def _holding(self) -> Iterator["_HeldBody"]:
        held = _HeldBody(self)
        try:
            yield held
        finally:
            self._held_bytes -= held.bytes

    def hold(self, held: "_HeldBody", size: int) -> None:
        """Take memory for a part of a body; refuse it where all bodies together would need too much."""
        is_small = held.bytes + size <= _OTHER_BODY_BYTES
        most = _BODIES_AT_ONCE_BYTES - (0 if is_small else _KEPT_FOR_SMALL_BYTES)
        if self._held_bytes + size > most:
            raise Problem(
                503, "Too many large requests are under way. Try again in a moment, or send less at once."
            )
        self._held_bytes += size
        held.bytes += size


class _Answer:
    """The way back to the caller; a lane is left when the answer begins, however slowly it is received."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False
        self.lane: Lane | None = None
        self.is_recorded = False
        self._drops_body = False
        self._start: Message | None = None
        self._parts: list[bytes] = []

    def without_body(self) -> "_Answer":
        """Return the same way back for an answer whose body is dropped."""
        self._drops_body = True
        return self

    async def __call__(self, message: Message) -> None:
        """Send a part of the answer."""
        if self._drops_body and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        self.has_begun = True
        self.leave_lane()
        if self.is_recorded:
            self._record(message)
        body = message.get("body", b"")
        if len(body) <= _PART_BYTES:
            await self._send(message)
            return
        last = (len(body) - 1) // _PART_BYTES * _PART_BYTES
        async with asyncio.timeout(_SEND_SECONDS):
            for start in range(0, last, _PART_BYTES):
                await self._send({**message, "body": body[start : start + _PART_BYTES], "more_body": True})
            await self._send({**message, "body": body[last:]})

    def _record(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
        else:
            self._parts.append(message.get("body", b""))

    def recorded(self) -> KeptAnswer | None:
        """Return the answer that was sent; None for one that says to try again."""
        if self._start is None or self._start["status"] >= 500 or self._start["status"] in (408, 429):
            return None
        return KeptAnswer(self._start["status"], tuple(self._start["headers"]), b"".join(self._parts))

    def leave_lane(self) -> None:
        """Give the place in the lane to the next request, once."""
        lane, self.lane = self.lane, None
        if lane is not None:
            lane.leave()


class _HeldBody:
    """The body of one request, and the memory that it takes."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.bytes = 0

    async def read(self, receive: Receive, scope: Scope) -> bytes:
        """Return the body; refuse one that is too large or too slow."""
        most = body_limit(scope["path"])
        # A body that announces its size is refused before it is read; others are counted as they come.
        if _announced_bytes(scope) > most:
            raise _too_large(most)
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                return await self._read_parts(receive, most)
        except TimeoutError:
            raise Problem(
                408, f"The body did not arrive within {_BODY_SECONDS:g} seconds. Send it faster."
            ) from None

    async def _read_parts(self, receive: Receive, most: int) -> bytes:
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Problem(400, "The connection was closed before the body was complete. Send all of it again.")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise _too_large(most)
            # What was announced takes no memory yet: else a caller could take all of it by announcing much.
            self._gate.hold(self, len(parts[-1]))
            more = message.get("more_body", False)
        return b"".join(parts)


def check_head(scope: Scope) -> None:
    """Refuse a path or headers that are too large."""
    if len(scope.get("raw_path") or scope["path"].encode()) + len(scope["query_string"]) > _MAX_PATH_BYTES:
        raise Problem(
            414, f"A path with its query has at most {_MAX_PATH_BYTES:,} bytes. Send the rest as a body."
        )
    headers = scope["headers"]
    if len(headers) > _MAX_HEADERS or sum(len(name) + len(value) for name, value in headers) > _MAX_HEADERS_BYTES:
        raise Problem(431, f"Send at most {_MAX_HEADERS} headers of {_MAX_HEADERS_BYTES:,} bytes together.")


def check_framing(scope: Scope) -> None:
    """Refuse a body in an encoding that is not undone here."""
    for name, value in scope["headers"]:
        if name == b"transfer-encoding" and value.strip().lower() != b"chunked":
            raise Problem(400, "Bodies are taken whole or in chunks. Send it without another Transfer-Encoding.")


def check_media_type(scope: Scope, body: bytes) -> None:
    """Refuse a body that does not say that it is JSON, or that is compressed."""
    headers = dict(scope["headers"])
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        # What a few kilobytes unpack to is not known before it is too late.
        raise Problem(415, "Bodies are taken as they are, without Content-Encoding. Send it uncompressed.")
    if not body or scope["method"] in READING_METHODS:
        return
    media_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if scope["path"].startswith(_IMPORTS[0]) and scope["path"].endswith(_IMPORTS[1]):
        if media_type != b"application/x-ndjson":
            raise Problem(415, "An import is lines of JSON. Send it with Content-Type: application/x-ndjson.")
        return
    if media_type != b"application/json" and not (
        media_type.startswith(b"application/") and media_type.endswith(b"+json")
    ):
        raise Problem(415, "A body is JSON here. Send it with Content-Type: application/json.")


def body_limit(path: str) -> int:
    """Return how many bytes a body may have, by its path."""
    return next(
        (most for beginning, most in _BODY_LIMITS if path == beginning or path.startswith(f"{beginning}/")),
        _OTHER_BODY_BYTES,
    )


def _announced_bytes(scope: Scope) -> int:
    given = {value for name, value in scope["headers"] if name == b"content-length"}
    if len(given) > 1:
        raise Problem(400, "Content-Length is there twice and differs. Send it once.")
    for value in given:
        # More digits than any limit has: they would take long to read as a number.
        return int(value) if value.isdigit() and len(value) < 16 else MAX_BODY_BYTES + 1
    return 0


def _too_large(most: int) -> Problem:
    return Problem(413, f"The body is larger than {most:,} bytes. Send less at once, in batches.")


@asynccontextmanager
async def _stopped_when_left(receive: Receive, deadline: Deadline) -> AsyncIterator[None]:
    """Cancel the deadline if the caller leaves before the block ends, so that nobody computes for nobody."""

    async def watch() -> None:
        await asyncio.sleep(_WATCH_AFTER_SECONDS)
        while (await receive())["type"] != "http.disconnect":
            pass
        deadline.cancel()

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()


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
