"""Serve the protocol over HTTP with the official SDK, which brings sessions and the protection of a local port."""

import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from weft import __version__
from weft.errors import InvalidInput
from weft.interfaces.forwarded import is_forwarded
from weft.interfaces.mcp import INSTRUCTIONS, ServedStore, Settings, answer_hooks_of
from weft.interfaces.mcp.protocol import SERVER_INFO, ProtocolError, answer_request


def make_server(served: ServedStore) -> "Server[Any]":
    """Return a server of the SDK that passes every request on to `protocol`."""

    def handler(method: str, result: type[types.Result]) -> Any:
        async def handle(context: Any, params: Any) -> types.Result:
            given = {} if params is None else params.model_dump(by_alias=True, exclude_none=True)
            try:
                # The engine is synchronous; in the event loop a page would block every other call.
                answer = await anyio.to_thread.run_sync(partial(answer_request, served, method, given))
            except ProtocolError as error:
                raise MCPError(error.code, str(error)) from error
            return result.model_validate(answer)

        return handle

    return Server(
        SERVER_INFO["name"],
        version=__version__,
        title=SERVER_INFO["title"],
        instructions=INSTRUCTIONS,
        on_list_tools=handler("tools/list", types.ListToolsResult),
        on_call_tool=handler("tools/call", types.CallToolResult),
        on_list_resources=handler("resources/list", types.ListResourcesResult),
        on_list_resource_templates=handler("resources/templates/list", types.ListResourceTemplatesResult),
        on_read_resource=handler("resources/read", types.ReadResourceResult),
        on_list_prompts=handler("prompts/list", types.ListPromptsResult),
        on_get_prompt=handler("prompts/get", types.GetPromptResult),
    )


def serve_http(settings: Settings, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve any number of clients until interrupted; `announce` gets the address once it takes connections."""
    import uvicorn

    served = ServedStore(settings)
    # Stateless, so that a client may reconnect or be balanced over several servers.
    app = _refuse_proxies(
        make_server(served).streamable_http_app(host=host, json_response=True, stateless_http=True)
    )
    with _listen(host, port) as listener:
        shown_host = f"[{host}]" if ":" in host else host
        announce(f"http://{shown_host}:{listener.getsockname()[1]}/mcp")
        try:
            with answer_hooks_of(served):
                uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
        finally:
            served.close()


def _refuse_proxies(app: ASGIApp) -> ASGIApp:
    """Return the app without requests through a proxy, which may come from another machine."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and is_forwarded(scope["headers"]):
            told = "Only this machine is served, and no proxies. Serve others with `weft serve` and keys."
            await PlainTextResponse(told, 403)(scope, receive, send)
            return
        await app(scope, receive, send)

    return answer


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise InvalidInput(
            f"Port {port} of {host} cannot be used ({error.strerror}). Give another with --port, or 0 for any."
        ) from error
