"""`weft keys`: who may use the service."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from weft.faces import wiring
from weft.faces.cli import output
from weft.faces.cli.groups import group
from weft.faces.cli.options import AsJson, StoreFolder
from weft.faces.keys import KeyRing
from weft.faces.values import clean


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
    ring = KeyRing(wiring.find_store(store, wiring.surroundings()))
    key, secret = ring.create(clean(name), [clean(each) for each in tenants], write=write, now=datetime.now(UTC))
    if as_json:
        output.write_json({**output.shape(key, "hash"), "key": secret})
    else:
        output.note(f"Key {key.id} {_rights(key.write)} {', '.join(key.tenants)}. It is shown only now:")
        output.write(secret)


def list_keys(store: StoreFolder = None, as_json: AsJson = False) -> None:
    """List the keys, without what their bearers present."""
    keys = KeyRing(wiring.find_store(store, wiring.surroundings())).keys()
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
    key = KeyRing(wiring.find_store(store, wiring.surroundings())).revoke(clean(number))
    output.write(f"Key {key.id} is revoked.")


def _rights(write: bool) -> str:
    return "reads and writes" if write else "reads"
