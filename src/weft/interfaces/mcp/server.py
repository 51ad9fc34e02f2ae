"""The MCP server on the official SDK: it passes requests to the tools, resources and prompts."""

import logging
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from weft import __version__
from weft.errors import InvalidInput, UnknownName, WeftError
from weft.interfaces.mcp import INSTRUCTIONS, ServedStore, Settings

if TYPE_CHECKING:
    from weft.interfaces.mcp.tools import ToolCard


Result = TypeVar("Result")

_HOOKS_AFTER_SECONDS: Final = 0.5
"""When the server begins to answer hooks: the handshake with its client goes first."""
META: Final = "weft"
"""The key under which a result's facts travel: many clients show a model either structured content or text, so
structured content would hide the page."""


def make_server(served: ServedStore, resources_per_page: int | None = None) -> "Server[Any]":
    """Return a server that answers from the store; `resources_per_page` bounds a page of the list of resources."""

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        tana = await anyio.to_thread.run_sync(served.holds_tana)
        return types.ListToolsResult(tools=[_tool(card) for card in _cards(served, tana).values()])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        # The engine is synchronous; in the event loop a page would block every other call.
        return await anyio.to_thread.run_sync(partial(_call, served, params.name, params.arguments or {}))

    return Server(
        "weft",
        version=__version__,
        title="Weft",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        **_resource_handlers(served, resources_per_page),
        **_prompt_handlers(served),
    )


def _cards(served: ServedStore, tana: bool) -> "dict[str, ToolCard]":
    # Loaded by the first request, like everything behind it: the handshake must not wait for it.
    from weft.interfaces.mcp.tools import offered

    return offered(served.settings.write, tana)


def _tool(card: "ToolCard") -> types.Tool:
    return types.Tool(
        name=card.name,
        title=card.title,
        description=card.description,
        input_schema=card.schema(),
        annotations=types.ToolAnnotations(
            title=card.title,
            read_only_hint=not card.writes,
            destructive_hint=card.removes,
            idempotent_hint=card.repeatable,
            open_world_hint=False,
        ),
    )


def _call(served: ServedStore, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    """Return the answer of a tool; whatever goes wrong becomes a result that says so, which a model can act on."""
    from weft.interfaces.mcp.arguments import read_arguments

    # Answered everywhere, listed only where there are notes of Tana.
    cards = _cards(served, tana=name == "tana_context")
    try:
        if name not in cards:
            raise UnknownName("tool", name, cards)
        card = cards[name]
        answer = card.answer(served, read_arguments(arguments, card.taken))
        notes = () if card.writes else served.after_answer()
    except WeftError as error:
        return _failure(str(error))
    except Exception as error:
        # Over stdio the log goes to stderr, which clients keep apart from the protocol.
        logging.getLogger(__name__).exception("The tool %s failed", name)
        return _failure(f"Unexpected {type(error).__name__}: {error}. The server's log has the details.")
    content: list[Any] = [types.TextContent(type="text", text=_sendable(text)) for text in (*answer.texts, *notes)]
    facts = dict(answer.facts)
    structured = facts if served.settings.structured else None
    return types.CallToolResult(content=content, structured_content=structured, _meta={META: facts})


def _failure(message: str) -> types.CallToolResult:
    text = types.TextContent(type="text", text=_sendable(message))
    return types.CallToolResult(content=[text], is_error=True)


def _sendable(text: str) -> str:
    """Return text that JSON can carry: half of a surrogate pair, which no valid text holds, is replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _resource_handlers(served: ServedStore, page_size: int | None) -> dict[str, Any]:
    async def list_resources(
        context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = None if params is None else params.cursor
        from weft.interfaces.mcp import answers

        entries, next_cursor = await _run_in_thread(lambda: answers.list_nodes(served, cursor, page_size))
        resources = [
            types.Resource(
                uri=entry.address, name=entry.name, description=entry.description, mime_type="text/plain"
            )
            for entry in entries
        ]
        return types.ListResourcesResult(resources=resources, next_cursor=next_cursor)

    async def list_templates(context: Any, params: Any) -> types.ListResourceTemplatesResult:
        from weft.interfaces.mcp.answers import NODE_ADDRESS

        template = types.ResourceTemplate(
            uri_template=f"{NODE_ADDRESS}{{key}}{{?as_of}}",
            name="node",
            title="A node whole",
            description="A node by its key, id or title, percent-encoded; as of a chapter, if one is given.",
            mime_type="text/plain",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        from weft.interfaces.mcp import answers

        texts = await _run_in_thread(lambda: answers.read_node(served, params.uri))
        contents: list[Any] = [
            types.TextResourceContents(uri=params.uri, mime_type="text/plain", text=_sendable(text))
            for text in texts
        ]
        return types.ReadResourceResult(contents=contents)

    return {
        "on_list_resources": list_resources,
        "on_list_resource_templates": list_templates,
        "on_read_resource": read_resource,
    }


def _prompt_handlers(served: ServedStore) -> dict[str, Any]:
    arguments = [
        types.PromptArgument(
            name="topic", description="A question, or the key or title of a node.", required=True
        ),
        types.PromptArgument(name="max_tokens", description="The budget of the page.", required=False),
    ]

    async def list_prompts(context: Any, params: Any) -> types.ListPromptsResult:
        from weft.interfaces.mcp import answers

        lenses = await _run_in_thread(lambda: answers.list_lenses(served))
        prompts = [
            types.Prompt(name=name, title=f"Context for {name}", description=description, arguments=arguments)
            for name, description in lenses.items()
        ]
        return types.ListPromptsResult(prompts=prompts)

    async def get_prompt(context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        from weft.interfaces.mcp import answers

        description, text = await _run_in_thread(
            lambda: answers.lens_prompt(served, params.name, params.arguments or {})
        )
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=_sendable(text)))
        return types.GetPromptResult(description=description, messages=[message])

    return {"on_list_prompts": list_prompts, "on_get_prompt": get_prompt}


async def _run_in_thread(work: Callable[[], Result]) -> Result:
    """Return the result of the work; our errors become the protocol's, with the same message."""
    try:
        return await anyio.to_thread.run_sync(work)
    except WeftError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from error


def serve_stdio(settings: Settings) -> None:
    """Serve one client over stdin and stdout until it goes away."""
    served = ServedStore(settings)

    async def serve() -> None:
        server = make_server(served)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    try:
        with _answer_hooks(served):
            anyio.run(serve)
    finally:
        served.close()


def serve_http(settings: Settings, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve any number of clients until interrupted; `announce` gets the address once it takes connections."""
    import uvicorn

    served = ServedStore(settings)
    # Stateless, so that a client may reconnect or be balanced over several servers.
    app = make_server(served).streamable_http_app(host=host, json_response=True, stateless_http=True)
    with _listen(host, port) as listener:
        shown_host = f"[{host}]" if ":" in host else host
        announce(f"http://{shown_host}:{listener.getsockname()[1]}/mcp")
        try:
            with _answer_hooks(served):
                uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
        finally:
            served.close()


def _answer_hooks(served: ServedStore) -> AbstractContextManager[None]:
    """Return the block in which hooks of the same store are answered by this process."""
    from weft.interfaces.hooks.service import answer_hooks

    return answer_hooks(served.weft, served.find_folder, _HOOKS_AFTER_SECONDS)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise InvalidInput(
            f"Port {port} of {host} cannot be used ({error.strerror}). Give another with --port, or 0 for any."
        ) from error
