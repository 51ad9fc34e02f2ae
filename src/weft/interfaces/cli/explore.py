"""`weft explore`: show the explorer in the browser."""

import webbrowser
from typing import Annotated
from urllib.parse import urlencode

import typer

from weft import config
from weft.errors import MissingExtra
from weft.interfaces.cli import EmbedderSpec, StoreFolder, Tenants, output
from weft.interfaces.request import clean, read_budget
from weft.model import UNSET


def explore(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="QUESTION", help="What to ask first; may be left out.")
    ] = None,
    *,
    profile: Annotated[str | None, typer.Option(metavar="NAME", help="The kind of page to begin with.")] = None,
    max_tokens: Annotated[str | None, typer.Option(metavar="N", help="The budget to begin with.")] = None,
    tenants: Tenants = None,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="The port to listen on; by default a free one.")
    ] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open the browser.")] = True,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
) -> None:
    """Show in the browser what a page holds, what it cost and why, until interrupted."""
    try:
        # FastAPI, Jinja2 and Uvicorn come with an extra.
        from weft.interfaces.rest.app import serve as run
    except ModuleNotFoundError as error:
        raise MissingExtra("weft explore", "serve") from error
    budget = read_budget(max_tokens)
    around = config.read_environment()
    settings = config.ServeSettings(
        config.find_store(store, around),
        config.choose_embedder(embedder, around),
        # The explorer only looks: nothing in the store can be changed through this address.
        read_only=True,
        server=config.server_url(store, around),
    )
    question = [("topic", clean(" ".join(words or ()))), ("profile", profile or "")]
    question += [("max_tokens", "" if budget in (UNSET, None) else str(budget))]
    question += [("tenants", clean(tenant)) for tenant in tenants or ()]
    query = urlencode([(name, value) for name, value in question if value])

    def announce(address: str) -> None:
        page = f"{address}/explore{f'?{query}' if query else ''}"
        output.write_note(f"Exploring {output.short_path(settings.store)} at {page} (stop with Ctrl-C).")
        if browser:
            # The socket listens already, so the browser waits for the server that starts next.
            webbrowser.open(page)

    run(settings, "127.0.0.1", port, 1, announce)
