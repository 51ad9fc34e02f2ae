"""`weft serve`, `weft share`, `weft link` and `weft keys`: run the HTTP service, and set what callers may reach.

Keys bind callers to tenants; `share` lets links lead from one tenant into another; `link` draws links.
"""

from datetime import UTC, datetime
from typing import Annotated, Final

import typer

from weft import config
from weft.errors import MissingExtra
from weft.interfaces.cli import AsJson, EmbedderSpec, OwnTenant, StoreFolder, output
from weft.interfaces.cli.output import show_progress
from weft.interfaces.keys import KeyRing
from weft.interfaces.request import clean
from weft.model import DEFAULT_TENANT

_MAX_DEFAULT_WORKERS: Final = 4
"""Processes that `weft serve` starts by default at most: each holds its own caches and embedder in memory."""


# --- weft serve --------------------------------------------------------------------------------------------


def serve(
    host: Annotated[str, typer.Option(metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="The port to listen on.")] = 8000,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="How many processes answer. Default: one for each processor, at most 4."
        ),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse all writes.")] = False,
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
    folder = config.find_store(store, around)
    server = config.server_url(store, around)
    settings = config.ServeSettings(folder, config.choose_embedder(embedder, around), read_only, server=server)
    # Said every time: without keys the protection is only that other machines cannot reach the service.
    if not KeyRing(folder).keys():
        output.write_note(
            "No API key is configured: only this machine is served, and it may read and write everything."
        )

    def announce(address: str) -> None:
        output.write_note(f"Serving {_describe_store(settings)} on {address} (routes: /docs). Stop with Ctrl-C.")

    run(settings, host, port, workers or min(config.processors(), _MAX_DEFAULT_WORKERS), announce)


def _describe_store(settings: config.ServeSettings) -> str:
    """Return the folder of the store, or its address without the password."""
    if not settings.server:
        return output.short_path(settings.store)
    from weft.store.open import read_address

    return read_address(settings.server).display


# --- links between nodes and tenants -----------------------------------------------------------------------


def share(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="The tenant whose links are meant.")],
    others: Annotated[
        list[str] | None,
        typer.Argument(metavar="OTHER", help="Tenants its links may lead into; none forbids all."),
    ] = None,
    store: StoreFolder = None,
) -> None:
    """Set which other tenants a tenant's links may lead into. Replaces the earlier setting."""
    with config.open_weft(store, embedder="none") as weft:
        weft.share(clean(tenant), *(clean(other) for other in others or ()))
        # Read back, so that the names printed are the ones in the store.
        shared = weft.store.shared(clean(tenant))
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
            tenant=clean(tenant),
            progress=lambda done: progress("linking", done, None),
        )
    if as_json:
        output.write_json({"tenant": tenant, "edges": edge_count})
    else:
        output.write(
            f"{output.count_noun(edge_count, 'link')} of {tenant} drawn; they are kept as its nodes change."
        )


# --- weft keys ---------------------------------------------------------------------------------------------


def make_keys_group(decorated: bool) -> typer.Typer:
    """Build the commands under `weft keys`."""
    return output.make_group(
        "Create, list and revoke API keys.", decorated, create=create_key, list=list_keys, revoke=revoke_key
    )


def create_key(
    tenants: Annotated[
        list[str], typer.Option("--tenant", metavar="NAME", help="A tenant the key reads; may be repeated.")
    ],
    write: Annotated[bool, typer.Option("--write", help="Whether the key may also write.")] = False,
    name: Annotated[str, typer.Option("--name", metavar="TEXT", help="What the key is for.")] = "",
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Create a key and print it once. Only its hash is kept."""
    names = [clean(tenant) for tenant in tenants]
    # The clock is read here, because the library takes the moment as an argument.
    key, secret = _open_keys(store).create(clean(name), names, write=write, now=datetime.now(UTC))
    if as_json:
        output.write_json({**output.as_dict(key, "hash"), "key": secret})
    else:
        output.write_note(f"Key {key.id} {_rights(key.write)} {', '.join(key.tenants)}. It is printed only now:")
        output.write(secret)


def list_keys(store: StoreFolder = None, as_json: AsJson = False) -> None:
    """List the keys, without their secrets."""
    keys = _open_keys(store).keys()
    if as_json:
        output.write_json({"keys": [output.as_dict(key, "hash") for key in keys]})
    elif keys:
        rows = [(key.id, _rights(key.write), ", ".join(key.tenants), key.created, key.name) for key in keys]
        output.write_table(("id", "rights", "tenants", "created", "name"), rows)
    else:
        output.write_note("There are no keys: only this machine is served.")


def revoke_key(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `weft keys list` prints it.")],
    store: StoreFolder = None,
) -> None:
    """Revoke a key. Running services notice at their next request."""
    key = _open_keys(store).revoke(clean(key_id))
    output.write(f"Key {key.id} is revoked.")


def _open_keys(store: str | None) -> KeyRing:
    return KeyRing(config.find_store(store, config.read_environment()))


def _rights(can_write: bool) -> str:
    return "reads and writes" if can_write else "reads"
