"""`weft mcp`: serve the store to agents as an MCP server, over stdio or HTTP."""

import sys
from types import ModuleType
from typing import Annotated, Final

import typer

# A module of its own, because those of other commands load more than the handshake should wait for.
from weft.errors import InvalidInput, MissingExtra
from weft.interfaces.cli import EmbedderSpec, StoreFolder, Tenants

# Anything else could be reached from other machines.
_LOOPBACK_HOSTS: Final = ("127.0.0.1", "localhost", "::1")
_MCP_LIBRARIES: Final = ("mcp", "mcp_types", "anyio")
"""The top-level modules that the extra `mcp` installs."""


def mcp(
    *,
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead of stdin and stdout.")] = False,
    host: Annotated[str, typer.Option(metavar="NAME", help="The address to serve HTTP on; this machine only.")] = (
        "127.0.0.1"
    ),
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="The port to serve HTTP on; 0 for any that is free.")
    ] = 8765,
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="The kind of page when a call names none.")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Also offer the tools that change the store.")] = False,
    # Claude Code refuses results above 25,000 tokens.
    max_result_tokens: Annotated[
        int, typer.Option(metavar="N", min=500, help="The largest result, in tokens.")
    ] = 25_000,
    structured: Annotated[
        bool, typer.Option("--structured", help="Also send each result's facts as structured content.")
    ] = False,
    tenants: Tenants = None,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
) -> None:
    """Serve the store to agents over MCP, on stdin and stdout or with --http."""
    if http and host not in _LOOPBACK_HOSTS:
        raise InvalidInput(
            f"{host!r} can be reached from other machines, and this server does not authenticate callers. Serve "
            f"on {', '.join(_LOOPBACK_HOSTS)}, and put a proxy that does in front of it."
        )
    from weft.interfaces.mcp import Settings

    settings = Settings(
        store=store,
        embedder=embedder,
        profile=profile,
        tenants=tuple(tenants or ()),
        most_tokens=max_result_tokens,
        write=write,
        structured=structured,
    )
    if http:
        _load_http().serve_http(settings, host, port, _announce)
    else:
        from weft.interfaces.mcp.stdio import serve_stdio

        if sys.stdin.isatty():
            _write_note(
                "An MCP client starts this command and speaks to it; `weft install` sets one up. Stop with Ctrl-D."
            )
        serve_stdio(settings)


def _announce(address: str) -> None:
    _write_note(f"Serving {address}; stop with Ctrl-C.")


def _write_note(text: str) -> None:
    from weft.interfaces.cli import output

    output.write_note(text)


def _load_http() -> ModuleType:
    """Import the server over HTTP; raise MissingExtra if its libraries are not installed."""
    try:
        from weft.interfaces.mcp import http
    except ModuleNotFoundError as error:
        # Any other missing module is a mistake of ours and keeps its traceback.
        if (error.name or "").split(".")[0] in _MCP_LIBRARIES:
            raise MissingExtra("The MCP server over HTTP", "mcp") from error
        raise
    return http
