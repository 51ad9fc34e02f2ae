"""`weft values`: what many experiences have in common."""

from typing import Annotated

import typer

from weft.faces import wiring
from weft.faces.cli import output
from weft.faces.cli.options import AsJson, OwnTenant, StoreFolder
from weft.faces.values import clean
from weft.model import DEFAULT_TENANT


def values(
    *,
    axis: Annotated[
        str | None, typer.Option("--axis", metavar="WORD", help="Only full, strategy, surprise or root_cause.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to show.")] = 20,
    refresh: Annotated[bool, typer.Option("--refresh", help="Find them anew before listing them.")] = False,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """List the values that emerge from experiences, the largest first."""
    from weft.valuing import list_values, refresh_values

    with wiring.open_weft(store) as weft:
        shop = weft.workshop()
        if refresh:
            refresh_values(shop, tenant=clean(tenant))
        found = list_values(shop, axis=axis, limit=limit, tenant=clean(tenant))
    if as_json:
        output.write_json({"values": [{"key": each.key, **output.shape(each, "members")} for each in found]})
    elif found:
        rows = [
            (each.axis, each.size, f"{each.similarity:.2f}", output.one_line(each.text, 60), each.key)
            for each in found
        ]
        output.write_table(("axis", "size", "similarity", "text", "key"), rows)
    else:
        output.note("No values have emerged yet: they need several resolved experiences that resemble each other.")
