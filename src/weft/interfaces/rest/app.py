"""The service as an ASGI app (routes, errors, limits and metrics put together), and how uvicorn runs it.

It runs in this process, or in several that each open the store themselves.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio.to_thread
import orjson
from fastapi import APIRouter, FastAPI
from msgspec.structs import replace
from starlette.responses import PlainTextResponse, Response

from weft import __version__, config
from weft.api import Weft
from weft.errors import InvalidInput
from weft.interfaces.explorer import routes as explorer
from weft.interfaces.hooks.service import answer_hooks
from weft.interfaces.keys import KeyRing
from weft.interfaces.rest import admin, contexts, keys, learning, nodes_and_edges, problems
from weft.interfaces.rest.access import CurrentCaller, Service
from weft.interfaces.rest.addresses import Exposure, check_proxies, is_loopback
from weft.interfaces.rest.admin import index_lag
from weft.interfaces.rest.connections import BoundedProtocol, prepare_connections
from weft.interfaces.rest.convert import answer
from weft.interfaces.rest.gate import Gate
from weft.interfaces.rest.lanes import THREADS
from weft.interfaces.rest.logs import Observed, open_access_log
from weft.interfaces.rest.problems import MEDIA_TYPE, Problem
from weft.interfaces.rest.responses import ProblemDocument
from weft.interfaces.rest.routes_page import routes_page
from weft.interfaces.rest.served_store import Served, Serving
from weft.interfaces.rest.threads import prepare_threads
from weft.runtime.heaps import give_back

_DOCUMENTED_ERRORS: Final = (400, 401, 403, 404, 405, 408, 409, 412, 413, 414, 415, 422, 429, 431, 503)
"""The statuses of errors that the description of every route names."""
_PENDING_CONNECTIONS: Final = 1024
"""Connections that the system holds for us: callers that come before a process accepts them are not refused."""
_DRAIN_SECONDS: Final = 30
"""Seconds that a service which is stopped gives the answers that are under way."""
_WORKER_SILENCE_SECONDS: Final = 60
"""Seconds after which a worker process that says nothing is killed and started anew: with uvicorn's five, workers
that only had to wait for a busy machine were killed together with the answers they were at."""
_TRIM_SECONDS: Final = 60.0
"""Seconds between two times that a process gives back the memory which it holds free. Without it a process held a
third more after an hour than its values take."""
_WORKER: Final = "weft.interfaces.rest.app:make_worker_app"
"""The function that every worker process calls, by name, because nothing else can be handed to a new process."""
_LOOP: Final = "weft.interfaces.rest.connections:BoundedLoop"
"""The event loop of a service with TLS, by name for the same reason."""

health = APIRouter(tags=["service"])


def make_app(served: Served) -> FastAPI:
    """Return the service over one store."""
    app = FastAPI(
        title="Weft knowledge service",
        version=__version__,
        description="What is known about a question, within a token budget, for many tenants.",
        lifespan=_lifespan,
        responses={status: _describe_problem() for status in _DOCUMENTED_ERRORS},
        # FastAPI's pages load their viewers from a public network.
        docs_url=None,
        redoc_url=None,
        # FastAPI writes the description anew for everybody who asks; ours is written once.
        openapi_url=None,
    )
    app.state.served = served
    for router in (
        contexts.router,
        nodes_and_edges.node_router,
        nodes_and_edges.edge_router,
        learning.router,
        keys.router,
        admin.router,
        explorer.router,
        health,
    ):
        app.include_router(router)
    problems.install(app)
    description = app.openapi()
    _describe_keys_as_optional(description)
    _add_descriptions(app, description)
    # Middleware that is added last runs first: what the gate refuses is measured too.
    app.add_middleware(Gate, served=served)
    access = open_access_log(served.serving.access_log)
    app.add_middleware(Observed, metrics=served.metrics, audit=served.audit, access=access)
    return app


def _add_descriptions(app: FastAPI, description: dict[str, Any]) -> None:
    """Add the routes that give the description of all routes, as a page and for programs."""
    page, document = routes_page(description), orjson.dumps(description)

    async def show_page() -> Response:
        return Response(page.body, headers=dict(page.headers))

    async def show_document() -> Response:
        return Response(document, media_type="application/json")

    app.add_api_route("/docs", show_page, include_in_schema=False)
    app.add_api_route("/openapi.json", show_document, include_in_schema=False)
    # Routes that are added let the app make another description, without our changes to it.
    app.openapi = lambda: description  # type: ignore[method-assign]


def _describe_keys_as_optional(description: dict[str, Any]) -> None:
    """Describe keys as optional: where none is configured, none is needed."""
    # In OpenAPI an empty requirement beside others means that the call also works without a key.
    for operations in description["paths"].values():
        for operation in operations.values():
            if "security" in operation:
                operation["security"].append({})


def _describe_problem() -> dict[str, Any]:
    # Shared by all errors; spelled out, because FastAPI would describe the model as application/json.
    return {
        "model": ProblemDocument,
        "description": "A problem document (RFC 9457).",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}},
    }


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    # Set here, because the limiter belongs to the event loop, which runs only now.
    anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
    served: Served = app.state.served
    trimming = asyncio.create_task(_trim_heaps())
    with answer_hooks(served.weft, lambda: served.serving.store):
        yield
    trimming.cancel()
    served.close()


async def _trim_heaps() -> None:
    """Give back what the heaps hold free, every now and then."""
    while True:
        await asyncio.sleep(_TRIM_SECONDS)
        # In a thread: it looks through the whole heap, which takes milliseconds.
        if not await anyio.to_thread.run_sync(give_back):
            return


@health.get("/healthz")
async def healthz() -> dict[str, str]:
    """Answer while the process runs."""
    return {"status": "ok"}


@health.get("/readyz")
def readyz(service: Service) -> Response:
    """Answer whether the store can be read; 503 while it cannot."""
    # How far it is behind would tell everybody how much others write; whether it is, helps an operator.
    behind = index_lag(service.weft()) > 0
    return answer({"status": "ready", "search_files": "behind" if behind else "current"})


@health.get("/metrics", response_class=PlainTextResponse)
def metrics(service: Service, caller: CurrentCaller) -> Response:
    """Return metrics for Prometheus; where keys are in use, to a key for every tenant with the scope admin."""
    if caller.tenants is not None:
        raise Problem(403, "The figures are of all tenants together. Use a key made with --tenant '*'.")
    return Response(service.metrics.exposition(), media_type="text/plain; version=0.0.4")


# --- running it --------------------------------------------------------------------------------------------


def serve(
    settings: config.ServeSettings, host: str, port: int, workers: int, announce: Callable[[str], None]
) -> None:
    """Serve until interrupted; `announce` gets the address once the store could be opened."""
    _check_exposure(settings, host)
    listener = _listen(host, port)
    # The address is bound by now, so that a port of 0 has become the one to announce.
    shown_host = f"[{host}]" if ":" in host else host
    scheme = "https" if settings.tls_cert else "http"
    address = f"{scheme}://{shown_host}:{listener.getsockname()[1]}"
    # A store that cannot be opened is reported here: a worker that fails over it would only be started again.
    _open_store(settings, create=not settings.read_only).close()
    if workers == 1:
        app = make_app_for(settings)
        announce(address)
        _serve_here(app, settings, listener)
    else:
        announce(address)
        _serve_in_workers(settings, listener, workers)


def uvicorn_options(settings: config.ServeSettings) -> dict[str, Any]:
    """Return how uvicorn runs in every process."""
    return {
        "log_level": "warning",
        "access_log": False,
        # Forwarded headers are read by the gate, from the proxies that were named and from nobody else.
        "proxy_headers": False,
        "server_header": False,
        "ws": "none",
        "http": BoundedProtocol,
        "loop": _LOOP if settings.tls_cert else "auto",
        # Answers that are under way are given to their end; no new ones are begun.
        "timeout_graceful_shutdown": _DRAIN_SECONDS,
        "timeout_worker_healthcheck": _WORKER_SILENCE_SECONDS,
        "ssl_certfile": settings.tls_cert or None,
        "ssl_keyfile": settings.tls_key or None,
    }


def _serve_here(app: FastAPI, settings: config.ServeSettings, listener: socket.socket) -> None:
    import uvicorn

    uvicorn.Server(uvicorn.Config(app, **uvicorn_options(settings))).run(sockets=[listener])


def _serve_in_workers(settings: config.ServeSettings, listener: socket.socket, workers: int) -> None:
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    with TemporaryDirectory(prefix="weft-figures-") as figures:
        config.pass_to_workers(replace(settings, metrics_folder=figures, workers=workers))
        server_config = uvicorn.Config(_WORKER, factory=True, workers=workers, **uvicorn_options(settings))
        Multiprocess(server_config, sockets=[listener]).run()


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on the address."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # The protocol is named because asyncio sends small answers without delay only on such sockets.
        listener = socket.socket(family, kind, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # Callers that learn the address may connect before a process answers; they wait here.
        listener.listen(_PENDING_CONNECTIONS)
    except OSError as error:
        raise InvalidInput(
            f"{host}:{port} cannot be listened on ({error.strerror}). Choose another --host or --port."
        ) from error
    return listener


def _check_exposure(settings: config.ServeSettings, host: str) -> None:
    """Refuse to listen to other machines without keys, or where keys would travel unencrypted."""
    check_proxies(settings.proxies)
    _check_certificate(settings)
    ring = KeyRing(settings.store)
    # A store whose keys are older than the marker is marked now, before anything can be lost.
    ring.require()
    # Read even on a local address: a key file that is damaged is better reported now than at every request.
    usable = ring.usable(datetime.now(UTC))
    if is_loopback(host):
        return
    if not usable:
        raise InvalidInput(
            f"{host} is not this machine alone, and no API key is in use. Make one with "
            "`weft keys create --tenant NAME`, or serve on 127.0.0.1."
        )
    if not settings.tls_cert and not settings.proxies:
        raise InvalidInput(
            f"{host} is not this machine alone, and keys would travel unencrypted. Give --tls-cert and --tls-key, "
            "or --behind-proxy with the address of the proxy that does TLS, or serve on 127.0.0.1."
        )


def _check_certificate(settings: config.ServeSettings) -> None:
    """Refuse a certificate that cannot be used, before a process would fail over it."""
    if bool(settings.tls_cert) != bool(settings.tls_key):
        raise InvalidInput("A certificate needs its key. Give both --tls-cert and --tls-key.")
    if not settings.tls_cert:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.tls_cert, settings.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise InvalidInput(
            f"{settings.tls_cert} and {settings.tls_key} are no certificate and key ({error}). Give PEM files."
        ) from error


def make_app_for(settings: config.ServeSettings) -> FastAPI:
    """Return the app over the store of the settings, which must open now."""
    prepare_threads()
    prepare_connections()
    serving = Serving(
        store=settings.store,
        read_only=settings.read_only,
        figures=settings.metrics_folder,
        on_server=bool(settings.server),
        exposure=Exposure(settings.proxies, settings.hosts),
        answer_seconds=settings.answer_seconds,
        access_log=settings.access_log,
        processes=settings.workers,
        explorer_writes=settings.explorer_writes,
    )
    served = Served(serving, lambda: _open_store(settings))
    served.weft()
    return make_app(served)


def _open_store(settings: config.ServeSettings, *, create: bool = False) -> Weft:
    """Return the store, opened as the settings say; `create` makes a new one where there is none."""
    return config.open_weft(
        settings.server or settings.store,
        embedder=settings.embedder or None,
        read_only=settings.read_only,
        create=create,
    )


def make_worker_app() -> FastAPI:
    """Return the app of a worker process."""
    return make_app_for(config.settings_from_parent())
