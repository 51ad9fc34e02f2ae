"""The service as an ASGI app: routes, errors, limits and metrics put together."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft import __version__
from weft.errors import WeftError
from weft.interfaces.rest import contexts, edges, learning, nodes, problems
from weft.interfaces.rest.access import Service, identified, is_local
from weft.interfaces.rest.convert import answer
from weft.interfaces.rest.problems import MEDIA_TYPE, Problem, document
from weft.interfaces.rest.responses import ProblemDocument
from weft.interfaces.rest.served_store import Metrics, Served

LARGEST_BODY: Final = 8 << 20
# More than compute at once (`Served.turns`): some write, or wait for a server.
THREADS: Final = 8
_SAID: Final = (400, 401, 403, 404, 405, 409, 413, 422, 503)

health = APIRouter(tags=["service"])


def make_app(served: Served) -> FastAPI:
    """Return the service over one store."""
    app = FastAPI(
        title="Weft knowledge service",
        version=__version__,
        description="What is known about a question, within a token budget, for many tenants.",
        lifespan=_lifespan,
        responses={status: _told(status) for status in _SAID},
    )
    app.state.served = served
    for router in (contexts.router, nodes.router, edges.router, learning.router, health):
        app.include_router(router)
    problems.install(app)
    _say_keys_are_optional(app.openapi())
    app.add_middleware(_Counted, metrics=served.metrics)
    app.add_middleware(_Limited)
    return app


def _say_keys_are_optional(description: dict[str, Any]) -> None:
    """Describe keys as optional: where none is configured, none is needed."""
    for operations in description["paths"].values():
        for operation in operations.values():
            if "security" in operation:
                operation["security"].append({})


def _told(status: int) -> dict[str, Any]:
    return {
        "model": ProblemDocument,
        "description": "A problem document (RFC 9457).",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}},
    }


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
    yield
    app.state.served.close()


class _Limited:
    """Middleware that refuses bodies that are too large before anything reads them whole."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = await _whole(receive, scope)
        if body is None:
            detail = f"The body is larger than {LARGEST_BODY:,} bytes. Send less at once, in batches."
            await document(413, detail, scope["path"])(scope, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)


async def _whole(receive: Receive, scope: Scope) -> bytes | None:
    """Return the body, or None when it is too large."""
    length = dict(scope["headers"]).get(b"content-length", b"0")
    if length.isdigit() and int(length) > LARGEST_BODY:
        return None
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message["type"] == "http.request" and message.get("more_body", False)
        if size > LARGEST_BODY:
            return None
    return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


class _Counted:
    """Middleware that records how long every request took and which were errors."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.requests.labels(scope["method"], route).observe(time.perf_counter() - started)
            if status >= 400:
                self._metrics.errors.labels(str(status)).inc()


@health.get("/healthz")
async def healthz() -> dict[str, str]:
    """Answer while the process runs."""
    return {"status": "ok"}


@health.get("/readyz")
def readyz(service: Service) -> Response:
    """Answer whether the store can be read; 503 while it cannot."""
    try:
        sequence = service.weft().store.last_sequence()
    except WeftError as error:
        raise Problem(503, str(error)) from error
    return answer({"status": "ready", "sequence": sequence})


@health.get("/metrics", response_class=PlainTextResponse)
def metrics(request: Request, service: Service) -> Response:
    """Return metrics for Prometheus; where keys are in use, to this machine or to a holder of a key."""
    if not is_local(request):
        identified(request, service)
    return Response(service.metrics.exposition(), media_type="text/plain; version=0.0.4")
