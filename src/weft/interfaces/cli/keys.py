"""`weft keys`: make, list, replace and revoke the API keys of `weft serve`, or do without keys again."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import typer

from weft import config
from weft.errors import InvalidInput, WeftError
from weft.interfaces.audit import AuditLog
from weft.interfaces.cli import AsJson, StoreFolder, output
from weft.interfaces.keys import EVERY_TENANT, Grant, Key, KeyRing, Limits, Scope
from weft.interfaces.request import clean

_PERIOD: Final = re.compile(r"([0-9]{1,5})([hdw])\Z")
_HOURS: Final = {"h": 1, "d": 24, "w": 24 * 7}
_PERIOD_HELP: Final = "Give a number of hours, days or weeks such as 12h, 30d or 8w"


def make_keys_group(decorated: bool) -> typer.Typer:
    """Build the commands under `weft keys`."""
    return output.make_group(
        "Create, list, rotate and revoke API keys.",
        decorated,
        create=create_key,
        list=list_keys,
        rotate=rotate_key,
        revoke=revoke_key,
        open=open_up,
    )


def create_key(
    *,
    tenants: Annotated[
        list[str],
        typer.Option(
            "--tenant", metavar="NAME", help="A tenant the key is for; may be repeated; '*' is every one."
        ),
    ],
    scopes: Annotated[
        list[Scope] | None,
        typer.Option("--scope", help="What the key may do; may be repeated. Default: read."),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Short for the scopes read, write and memory.")] = False,
    routes: Annotated[
        list[str] | None,
        typer.Option(
            "--route", metavar="PATH", help="A path the key is for, such as /api/context; may be repeated."
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="WHEN", help="When it expires: after a time such as 30d, or on a date."),
    ] = None,
    limits: Annotated[
        list[str] | None,
        typer.Option(
            "--limit",
            metavar="WHAT=N",
            help="At most N requests, bytes or tokens a minute, or concurrent requests; may be repeated.",
        ),
    ] = None,
    name: Annotated[str, typer.Option("--name", metavar="TEXT", help="What the key is for.")] = "",
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Create a key and print it once. Only its hash is kept."""
    # The clock is read here, because the library takes the moment as an argument.
    now = datetime.now(UTC)
    wanted = {*(scopes or ()), *((Scope.READ, Scope.WRITE, Scope.MEMORY) if write else ())} or {Scope.READ}
    grant = Grant(
        name=clean(name),
        tenants=tuple(clean(tenant).strip() for tenant in tenants),
        scopes=tuple(scope for scope in Scope if scope in wanted),
        routes=tuple(clean(route) for route in routes or ()),
        expires=None if expires is None else parse_expiry(expires, now),
        limits=_parse_limits(limits or ()),
    )
    key, secret = _open_keys(store).create(grant, now)
    _audit(store, "key_created", key)
    notes = _unknown_tenant_notes(key, store)
    if as_json:
        output.write_json({**_shape(key), "key": secret, "notes": notes})
        return
    for note in notes:
        output.write_note(note)
    output.write_note(f"Key {key.id} may {describe_rights(key)}. It is printed only now:")
    output.write(secret)


def list_keys(store: StoreFolder = None, as_json: AsJson = False) -> None:
    """List the keys, without their secrets."""
    ring = _open_keys(store)
    keys, uses, is_open = ring.all_keys(), ring.last_uses(), ring.is_open()
    if as_json:
        rows = [{**_shape(key), "last_used": uses.get(key.id)} for key in keys]
        output.write_json({"keys": rows, "open": is_open})
    elif keys:
        columns = ("id", "scopes", "tenants", "created", "expires", "last used", "name")
        output.write_table(columns, [_row(key, uses) for key in keys])
    elif is_open:
        output.write_note("There are no keys: only this machine is served.")
    else:
        output.write_note(
            "There are no keys, and nobody is served. Make one with `weft keys create`, or serve this machine "
            "without keys again with `weft keys open`."
        )


def rotate_key(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `weft keys list` prints it.")],
    overlap: Annotated[
        str,
        typer.Option("--overlap", metavar="TIME", help="How long the old key goes on, such as 24h; 0h ends it."),
    ] = "24h",
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Replace a key by a new one with the same rights; the old one goes on for a while."""
    now = datetime.now(UTC)
    key, secret = _open_keys(store).rotate(clean(key_id), _parse_period(overlap), now)
    _audit(store, "key_rotated", key)
    if as_json:
        output.write_json({**_shape(key), "key": secret, "replaces": key_id})
        return
    output.write_note(f"Key {key.id} replaces {key_id}, which stops in {overlap}. It is printed only now:")
    output.write(secret)


def revoke_key(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `weft keys list` prints it.")],
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Revoke a key. Running services notice at their next request; without the last key nobody is served."""
    ring = _open_keys(store)
    key = ring.revoke(clean(key_id))
    _audit(store, "key_revoked", key)
    left = len(ring.all_keys())
    if as_json:
        output.write_json({"revoked": key.id, "left": left})
    else:
        output.write(f"Key {key.id} is revoked.")
    if not left:
        output.write_note(
            "That was the last key: nobody is served until there is another. `weft keys open` serves this machine "
            "without keys again."
        )


def open_up(store: StoreFolder = None, as_json: AsJson = False) -> None:
    """Serve this machine without keys again, after all keys were revoked."""
    _open_keys(store).open_up()
    AuditLog(config.find_store(store, config.read_environment())).write("opened_up")
    if as_json:
        output.write_json({"open": True})
    else:
        output.write(
            "This store is served without keys again: to this machine only, which may read and write everything."
        )


def parse_expiry(written: str, now: datetime) -> datetime:
    """Return the moment that a period from now or a date names."""
    if _PERIOD.match(written):
        return now + _parse_period(written)
    try:
        when = datetime.fromisoformat(written)
    except ValueError:
        raise InvalidInput(f"{written!r} is no time. {_PERIOD_HELP}, or a date such as 2027-01-31.") from None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _parse_period(written: str) -> timedelta:
    found = _PERIOD.match(written)
    if found is None:
        raise InvalidInput(f"{written!r} is no period. {_PERIOD_HELP}.")
    return timedelta(hours=int(found[1]) * _HOURS[found[2]])


def _parse_limits(written: Sequence[str]) -> Limits:
    """Return the limits that options such as `requests=600` name."""
    amounts: dict[str, int] = {}
    for limit in written:
        what, _, amount = limit.partition("=")
        if what not in Limits.__struct_fields__ or not amount.isdigit() or not int(amount):
            known = ", ".join(f"{name}=N" for name in Limits.__struct_fields__)
            raise InvalidInput(f"{limit!r} is no limit. Give one of: {known}, with N of 1 or more.")
        amounts[what] = int(amount)
    return Limits(**amounts)


def describe_rights(key: Key) -> str:
    """Return in words what a key may do."""
    of = "every tenant" if EVERY_TENANT in key.tenants else ", ".join(key.tenants)
    only = f", at {', '.join(key.routes)} only" if key.routes else ""
    until = f", until {key.expires}" if key.expires else ""
    return f"{', '.join(key.scopes)} of {of}{only}{until}"


def _shape(key: Key) -> dict[str, Any]:
    return {
        **output.as_dict(key, "hash"),
        "limits": output.as_dict(key.limits),
        "write": Scope.WRITE in key.scopes,
    }


def _row(key: Key, uses: dict[str, str]) -> tuple[str, ...]:
    scopes, tenants = ", ".join(key.scopes), ", ".join(key.tenants)
    return key.id, scopes, tenants, key.created, key.expires or "never", uses.get(key.id, "never"), key.name


def _unknown_tenant_notes(key: Key, store: str | None) -> list[str]:
    """Return a note for each tenant of a new key that the store does not hold."""
    try:
        with config.open_weft(store, embedder="none", read_only=True) as weft:
            held = set(weft.store.tenants())
    except WeftError:
        # A store that cannot be opened now may still get its keys.
        return []
    known = ", ".join(sorted(held)) or "(none)"
    return [
        f"Tenant {tenant!r} holds nothing yet. Known: {known}. If it is a typing error, revoke the key."
        for tenant in key.tenants
        if tenant not in held and tenant != EVERY_TENANT
    ]


def _audit(store: str | None, event: str, key: Key) -> None:
    log = AuditLog(config.find_store(store, config.read_environment()))
    log.write(event, key=key.id, key_name=key.name, tenants=", ".join(key.tenants), scopes=", ".join(key.scopes))


def _open_keys(store: str | None) -> KeyRing:
    return KeyRing(config.find_store(store, config.read_environment()))
