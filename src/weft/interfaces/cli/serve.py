"""`weft serve`, `weft explore`, `weft share` and `weft link`: run the HTTP service, and set where links lead.

`explore` shows the explorer in the browser.

`share` lets links lead from one tenant into another; `link` draws links.
"""

import webbrowser
from typing import Annotated, Final
from urllib.parse import urlencode

import typer

from weft import config
from weft.errors import MissingExtra
from weft.interfaces.cli import AsJson, EmbedderSpec, OwnTenant, StoreFolder, Tenants, output
from weft.interfaces.cli.output import show_progress
from weft.interfaces.keys import KeyRing
from weft.interfaces.request import clean, read_budget
from weft.model import DEFAULT_TENANT, UNSET

_MAX_DEFAULT_WORKERS: Final = 4
"""Processes that `weft serve` starts by default at most: each holds its own caches and embedder in memory."""


# --- weft serve --------------------------------------------------------------------------------------------


Proxies = Annotated[
    list[str] | None,
    typer.Option(
        "--behind-proxy",
        metavar="ADDRESS",
        help="The address or range of a proxy that does TLS; only it is answered. May be repeated.",
    ),
]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host", metavar="NAME", help="A name to answer under; others are refused. May be repeated."
    ),
]

CertificateKey = Annotated[
    str, typer.Option("--tls-key", metavar="FILE", help="The key of the certificate, in PEM.")
]
ExplorerWrites = Annotated[
    bool, typer.Option("--write", help="Let the explorer correct and index, for those who may write.")
]


def serve(
    *,
    host: Annotated[str, typer.Option(metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="The port to listen on.")] = 8000,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="How many processes answer. Default: one for each processor, at most 4."
        ),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse all writes.")] = False,
    write: ExplorerWrites = False,
    tls_cert: Annotated[
        str, typer.Option("--tls-cert", metavar="FILE", help="The certificate, in PEM, to serve HTTPS with.")
    ] = "",
    tls_key: CertificateKey = "",
    proxies: Proxies = None,
    hosts: AllowedHosts = None,
    answer_seconds: Annotated[
        float, typer.Option("--deadline", metavar="SECONDS", min=0.1, help="How long an answer may take.")
    ] = 30.0,
    access_log: Annotated[
        str, typer.Option("--access-log", metavar="FILE", help="Write a line for every request; - is stderr.")
    ] = "",
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
) -> None:
    """Serve the store over HTTP until interrupted. /docs describes the routes."""
    try:
        # FastAPI and Uvicorn come with an extra, and the other commands of this module do without.
        from weft.interfaces.rest.app import serve as run
    except ModuleNotFoundError as error:
        raise MissingExtra("weft serve", "serve") from error
    around = config.read_environment()
    server = config.server_url(store, around)
    # A service may begin with nothing: nodes are written to it over HTTP.
    folder = config.find_store(store, around) if read_only else config.find_store_to_write(store, around)
    if not server and not folder.exists() and not read_only:
        output.write_note(f"There is no store in {output.short_path(folder)} yet: a new one is made.")
    settings = config.ServeSettings(
        folder,
        config.choose_embedder(embedder, around),
        read_only,
        server=server,
        tls_cert=tls_cert,
        tls_key=tls_key,
        proxies=tuple(proxies or ()),
        hosts=tuple(name.lower() for name in hosts or ()),
        answer_seconds=answer_seconds,
        access_log=access_log,
        explorer_writes=write and not read_only,
    )
    # Said every time: without keys the protection is only that other machines cannot reach the service.
    if KeyRing(folder).is_open():
        output.write_note("No API key is configured: only this machine is served, which may read and write.")

    def announce(address: str) -> None:
        output.write_note(f"Serving {_describe_store(settings)} on {address} (routes: /docs). Stop with Ctrl-C.")

    run(settings, host, port, workers or min(config.processors(), _MAX_DEFAULT_WORKERS), announce)


def _describe_store(settings: config.ServeSettings) -> str:
    """Return the folder of the store, or its address without the password."""
    if not settings.server:
        return output.short_path(settings.store)
    from weft.store.open import read_addresses

    return " ".join(address.display for address in read_addresses(settings.server))


# --- links between nodes and tenants -----------------------------------------------------------------------


def share(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="The tenant whose links are meant.")],
    others: Annotated[
        list[str] | None,
        typer.Argument(metavar="OTHER", help="Tenants its links may lead into; none forbids all."),
    ] = None,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Set which other tenants a tenant's links may lead into. Replaces the earlier setting."""
    with config.open_weft(store, embedder="none") as weft:
        weft.share(clean(tenant), *(clean(other) for other in others or ()))
        # Read back, so that the names printed are the ones in the store.
        shared = weft.store.shared(clean(tenant))
    if as_json:
        output.write_json({"tenant": clean(tenant), "others": list(shared)})
    else:
        output.write(f"Links of {tenant} lead into: {', '.join(shared) or '(no other tenant)'}.")


def link(
    tags: Annotated[
        bool, typer.Option("--tags/--no-tags", help="Whether to link nodes with a common tag.")
    ] = True,
    similar: Annotated[
        bool, typer.Option("--similar/--no-similar", help="Whether to link nodes that say nearly the same.")
    ] = True,
    # The same as `Weft.link` uses. A lower value draws more links, and more of them by chance.
    threshold: Annotated[
        float, typer.Option(metavar="COSINE", help="How similar they must be, above 0 and at most 1.")
    ] = 0.75,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Link a tenant's nodes by tags and by meaning, now and whenever they change."""
    with config.open_weft(store) as weft, show_progress("linking") as progress:
        edge_count = weft.link(
            shared_tags=tags,
            similar=threshold if similar else None,
            tenant=tenant,
            progress=lambda done: progress("linking", done, None),
        )
    if as_json:
        output.write_json({"tenant": tenant, "edges": edge_count})
    else:
        output.write(
            f"{output.count_noun(edge_count, 'link')} of {tenant} drawn; they are kept as its nodes change."
        )


# --- weft explore -------------------------------------------------------------------------------------------


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
    write: Annotated[
        bool, typer.Option("--write", help="Allow corrections and indexing from the browser.")
    ] = False,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
) -> None:
    """Show pages in the browser: what they hold, what it costs, and why."""
    try:
        # FastAPI, Jinja2 and Uvicorn come with an extra.
        from weft.interfaces.rest.app import serve as run
    except ModuleNotFoundError as error:
        raise MissingExtra("weft explore", "serve") from error
    budget = read_budget(max_tokens)
    around = config.read_environment()
    settings = config.ServeSettings(
        config.find_store_to_write(store, around) if write else config.find_store(store, around),
        config.choose_embedder(embedder, around),
        # The explorer only looks unless it is told otherwise: nothing can be changed through this address.
        read_only=not write,
        server=config.server_url(store, around),
        explorer_writes=write,
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
