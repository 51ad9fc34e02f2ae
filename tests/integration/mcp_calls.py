"""What the tests of the MCP server share: calling it as clients do."""

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp import Client, StdioServerParameters

from weft.interfaces.mcp import ServedStore, Settings
from weft.interfaces.mcp.server import make_server

Found = TypeVar("Found")
SOURCES = Path(__file__).parents[2] / "src"


def within(target: Any, work: Callable[[Client], Awaitable[Found]]) -> Found:
    """What the work gives with a client of the target: a server, the address of one, or how to start one."""

    async def run() -> Found:
        with anyio.fail_after(60):
            async with Client(target) as client:
                return await work(client)

    return anyio.run(run)


def server(*, resources_per_page: int | None = None, **settings: Any) -> Any:
    """A server in this process."""
    return make_server(ServedStore(Settings(**settings)), resources_per_page)


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
