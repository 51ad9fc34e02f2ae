"""`weft serve`, `weft share` and `weft link`: the store over HTTP, and what its links are."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from weft import config
from weft.errors import MissingExtra
from weft.interfaces.cli import output
from weft.interfaces.cli.options import AsJson, EmbedderSpec, OwnTenant, StoreFolder
from weft.interfaces.cli.output import group
from weft.interfaces.cli.progress import watched
from weft.interfaces.keys import KeyRing
from weft.interfaces.values import clean
from weft.model import DEFAULT_TENANT

_MOST_WORKERS: Final = 4


def serve(
    host: Annotated[str, typer.Option(metavar="HOST", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="The port to listen on.")] = 8000,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="How many processes answer. Default: one a processor, at most 4."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse all writes.")] = False,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
) -> None:
    """Serve the store over HTTP until interrupted; /docs describes the routes."""
    try:
        from weft.interfaces.rest.server import serve as run
    except ModuleNotFoundError as error:
        raise MissingExtra("weft serve", "serve") from error
    around = config.surroundings()
    folder = config.find_store(store, around)
    server = config.server_of(store, around)
    settings = config.ServeSettings(folder, config.embedder_spec(embedder, around), read_only, server=server)
    if not _ring(folder).keys():
        output.note("No API key is configured: only this machine is served, and it may read and write everything.")

    def announce(address: str) -> None:
        output.note(f"Serving {_told(settings)} on {address} (routes: /docs). Stop with Ctrl-C.")

    run(settings, host, port, workers or min(config.processors(), _MOST_WORKERS), announce)


def share(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="Whose links.")],
    others: Annotated[
        list[str] | None, typer.Argument(metavar="OTHER", help="Tenants they may lead into; none takes all away.")
    ] = None,
    store: StoreFolder = None,
) -> None:
    """Declare into which other tenants a tenant's links may lead; replaces what was declared before."""
    with config.open_weft(store, embedder="none") as weft:
        weft.share(clean(tenant), *(clean(each) for each in others or ()))
        listed = weft.store.shared(clean(tenant))
    output.write(f"Links of {tenant} lead into: {', '.join(listed) or '(no other tenant)'}.")


def link(
    tags: Annotated[
        bool, typer.Option("--tags/--no-tags", help="Whether nodes with a common tag are linked.")
    ] = True,
    similar: Annotated[
        bool, typer.Option("--similar/--no-similar", help="Whether nodes that say nearly the same are linked.")
    ] = True,
    threshold: Annotated[
        float, typer.Option(metavar="COSINE", help="How near they must be, more than 0 and at most 1.")
    ] = 0.75,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Link a tenant's nodes by tags and by meaning, now and whenever they change; without both, no longer."""
    least = threshold if similar else None
    with config.open_weft(store) as weft, watched("linking") as progress:
        drawn = weft.link(
            shared_tags=tags,
            similar=least,
            tenant=clean(tenant),
            progress=lambda done: progress("linking", done, None),
        )
    if as_json:
        output.write_json({"tenant": tenant, "edges": drawn})
    else:
        output.write(f"{output.counted(drawn, 'link')} of {tenant} drawn; they are kept as its nodes change.")


def _told(settings: config.ServeSettings) -> str:
    """The store as its users know it."""
    from weft.store.addresses import read_address

    return read_address(settings.server).shown if settings.server else output.shown(settings.store)


def _ring(store: Path) -> "KeyRing":
    # Loaded by those who need it, so that other commands start sooner.
    from weft.interfaces.keys import KeyRing

    return KeyRing(store)


def make_app(decorated: bool) -> typer.Typer:
    """The commands about API keys."""
    told = "Make, list and revoke API keys."
    return group(told, decorated, create=create_key, list=list_keys, revoke=revoke_key)


def create_key(
    tenants: Annotated[
        list[str], typer.Option("--tenant", metavar="NAME", help="A tenant the key reads; may be repeated.")
    ],
    write: Annotated[bool, typer.Option("--write", help="Whether the key may also write.")] = False,
    name: Annotated[str, typer.Option("--name", metavar="TEXT", help="What the key is for.")] = "",
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and print it this once; only its hash is kept."""
    ring = KeyRing(config.find_store(store, config.surroundings()))
    key, secret = ring.create(clean(name), [clean(each) for each in tenants], write=write, now=datetime.now(UTC))
    if as_json:
        output.write_json({**output.shape(key, "hash"), "key": secret})
    else:
        output.note(f"Key {key.id} {_rights(key.write)} {', '.join(key.tenants)}. It is shown only now:")
        output.write(secret)


def list_keys(store: StoreFolder = None, as_json: AsJson = False) -> None:
    """List the keys, without what their bearers present."""
    keys = KeyRing(config.find_store(store, config.surroundings())).keys()
    if as_json:
        output.write_json({"keys": [output.shape(key, "hash") for key in keys]})
    elif keys:
        rows = [(key.id, _rights(key.write), ", ".join(key.tenants), key.created, key.name) for key in keys]
        output.write_table(("id", "rights", "tenants", "created", "name"), rows)
    else:
        output.note("There are no keys: only this machine is served.")


def revoke_key(
    number: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `weft keys list` shows it.")],
    store: StoreFolder = None,
) -> None:
    """Take a key away; services notice at their next request."""
    key = KeyRing(config.find_store(store, config.surroundings())).revoke(clean(number))
    output.write(f"Key {key.id} is revoked.")


def _rights(write: bool) -> str:
    return "reads and writes" if write else "reads"
