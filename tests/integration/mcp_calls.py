"""Helpers that the tests of the MCP server share: calling it as clients do."""

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from mcp import Client, StdioServerParameters
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from weft.interfaces.mcp import ServedStore, Settings
from weft.interfaces.mcp.stdio import Connection

Found = TypeVar("Found")
SOURCES = Path(__file__).parents[2] / "src"


def within(target: Any, work: Callable[[Client], Awaitable[Found]], mode: str = "auto") -> Found:
    """Return what the work gives with a client of the target: a server, its address, or how to start one.

    The mode is that of the official client: `legacy` begins with a handshake, `auto` asks for the newest version.
    """

    async def run() -> Found:
        with anyio.fail_after(60):
            async with Client(target() if callable(target) else target, mode=mode) as client:
                return await work(client)

    return anyio.run(run)


def server(**settings: Any) -> Callable[[], Any]:
    """A server in this process; each client has a connection of its own to it."""
    served = ServedStore(Settings(**settings))
    return lambda: _connection(served)


@asynccontextmanager
async def _connection(served: ServedStore) -> AsyncIterator[Any]:
    """The streams of a client whose lines go through two pipes, as they would to another process."""
    (server_end, client_out), (client_in, server_out) = os.pipe(), os.pipe()
    received_in, received = anyio.create_memory_object_stream[Any](100)
    sent, sent_out = anyio.create_memory_object_stream[Any](100)

    def serve() -> None:
        with os.fdopen(server_end, "rb") as incoming, os.fdopen(server_out, "wb") as outgoing:
            Connection(served, outgoing).serve(incoming)

    async def pass_requests_on() -> None:
        with os.fdopen(client_out, "wb") as outgoing:
            async for message in sent_out:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                outgoing.write(line.encode() + b"\n")
                outgoing.flush()

    async def pass_answers_on() -> None:
        async with await anyio.open_file(client_in, "rb") as incoming:
            async for line in incoming:
                await received_in.send(SessionMessage(jsonrpc_message_adapter.validate_json(line)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, serve)
        tasks.start_soon(pass_requests_on)
        tasks.start_soon(pass_answers_on)
        yield received, sent
        # The end of what the client sends ends the server, and that the answers.
        await sent.aclose()


def call(target: Any, tool: str, **arguments: Any) -> Any:
    """The result of one tool call."""
    return within(target, lambda client: client.call_tool(tool, arguments))


def text(result: Any) -> str:
    """The first block of a result that is no error."""
    assert not result.is_error, result.content[0].text
    return str(result.content[0].text)


def started(*options: object, folder: Path) -> StdioServerParameters:
    """How a client starts `weft mcp` in a folder."""
    around = {"PYTHONPATH": str(SOURCES), "HOME": str(folder.parent / "home"), "PATH": os.environ["PATH"]}
    words = ["-m", "weft", "mcp", *(str(option) for option in options)]
    return StdioServerParameters(command=sys.executable, args=words, cwd=folder, env=around)
