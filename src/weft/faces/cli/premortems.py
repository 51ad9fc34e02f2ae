"""`weft premortem`: what went wrong before, to be read before the next attempt."""

import asyncio
from typing import Annotated

import typer

from weft.faces import wiring
from weft.faces.cli import output
from weft.faces.cli.options import AsJson, EmbedderSpec, StoreFolder, Tenants
from weft.faces.values import clean, tenants_of
from weft.learning import DOMAINS, STRATEGIES


def premortem(
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help=f"One of: {', '.join(DOMAINS)}.")],
    *,
    strategy: Annotated[
        str | None, typer.Option("--strategy", metavar="WORD", help=f"One of: {', '.join(STRATEGIES)}.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many items of each kind.")] = 10,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", metavar="N", help="What the page may cost at most.")
    ] = 1500,
    tenants: Tenants = None,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Print past failures, surprises, root causes and principles of a domain."""
    from weft.facades.store_searcher import assembler_over

    with wiring.open_weft(store, embedder=embedder) as weft:
        made = assembler_over(weft, tenants_of(tenants))
        warning = asyncio.run(
            made.get_premortem_context(
                clean(domain), None if strategy is None else clean(strategy), limit, max_tokens
            )
        )
    for each in warning.notes:
        output.note(each)
    if as_json:
        output.write_json(output.shape(warning))
    elif warning.markdown:
        output.write(warning.markdown)
    elif not warning.notes:
        output.note(f"Nothing went wrong in {clean(domain)} yet, as far as this store knows.")
