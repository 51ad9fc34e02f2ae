"""Run the service with uvicorn: in this process, or in several that each open the store themselves."""

import socket
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Final

from fastapi import FastAPI
from msgspec.structs import replace

from weft import config as wiring
from weft.api import Weft
from weft.errors import InvalidInput
from weft.interfaces.keys import KeyRing
from weft.interfaces.rest.access import is_loopback
from weft.interfaces.rest.app import make_app
from weft.interfaces.rest.served_store import Served, Serving

_WAITING: Final = 1024
_WORKER: Final = "weft.interfaces.rest.server:handed_down"


def serve(
    settings: wiring.ServeSettings, host: str, port: int, workers: int, announce: Callable[[str], None]
) -> None:
    """Serve until interrupted; `announce` gets the address once the store could be opened."""
    check_host(settings, host)
    listening = _listening(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}"
    if workers == 1:
        app = app_of(settings)
        announce(address)
        _serve_here(app, listening)
    else:
        # A store that cannot be opened is told here: a worker that fails over it would only be started again.
        open_served(settings).close()
        announce(address)
        _serve_with(settings, listening, workers)


def _serve_here(app: FastAPI, listening: socket.socket) -> None:
    import uvicorn

    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


def _serve_with(settings: wiring.ServeSettings, listening: socket.socket, workers: int) -> None:
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    with TemporaryDirectory(prefix="weft-figures-") as figures:
        wiring.pass_to_workers(replace(settings, metrics_folder=figures))
        config = uvicorn.Config(_WORKER, factory=True, workers=workers, log_level="warning", access_log=False)
        Multiprocess(config, sockets=[listening]).run()


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that names its protocol: asyncio sends small answers at once only on those."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        # Who is told the address may call before a process answers, and waits for it.
        listening.listen(_WAITING)
    except OSError as error:
        raise InvalidInput(
            f"{host}:{port} cannot be listened on ({error.strerror}). Choose another --host or --port."
        ) from error
    return listening


def check_host(settings: wiring.ServeSettings, host: str) -> None:
    """Refuse to listen to other machines while there are no keys."""
    if not is_loopback(host) and not KeyRing(settings.store).keys():
        raise InvalidInput(
            f"{host} is not this machine alone, and no API key is configured. Make one with "
            "`weft keys create --tenant NAME`, or serve on 127.0.0.1."
        )


def app_of(settings: wiring.ServeSettings) -> FastAPI:
    """Return the app over the store that is meant, which must open now."""
    serving = Serving(settings.store, settings.read_only, settings.metrics_folder, bool(settings.server))
    served = Served(serving, lambda: open_served(settings))
    served.weft()
    return make_app(served)


def open_served(settings: wiring.ServeSettings) -> Weft:
    """Return the store, opened as the settings say."""
    return wiring.open_weft(
        settings.server or settings.store,
        embedder=settings.embedder or None,
        read_only=settings.read_only,
        create=False,
    )


def handed_down() -> FastAPI:
    """Return the app of a worker process."""
    return app_of(wiring.settings_from_parent())
