"""`weft diff` and `weft history`: list the contexts that were kept, and compare them."""

from typing import Annotated, Final

import typer

from weft import config
from weft.errors import InvalidInput
from weft.interfaces.cli import AsJson, EmbedderSpec, StoreFolder, output
from weft.interfaces.cli.context import write_entries
from weft.interfaces.cli.output import show_progress
from weft.interfaces.describe import difference_lines
from weft.interfaces.request import clean, read_time

_QUESTION_WIDTH: Final = 50
"""Characters of a question in the table of `weft history`: a row then fits a terminal of 120 columns."""


def diff(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="A B", help="The ids of two contexts, or their beginnings; see `weft history`."),
    ] = None,
    *,
    since: Annotated[
        str | None,
        typer.Option(metavar="A", help="Ask again the question of context A, and compare the answer with A."),
    ] = None,
    now: Annotated[str | None, typer.Option(metavar="TIME", help="The present, in ISO 8601.")] = None,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Print what changed between two contexts, and why: what appeared, vanished, changed or moved."""
    names = [clean(name) for name in ids or ()]
    if len(names) != (2 if since is None else 0):
        raise InvalidInput(
            f"{len(names)} ids {'and --since ' if since else ''}do not make a comparison. Give two ids, as in "
            "`weft diff A B`, or one as `--since A`; `weft history` lists them."
        )
    # Parsed before the store is opened, so that a mistyped time is reported at once.
    moment = read_time(now)
    with config.open_weft(store, embedder=embedder) as weft, show_progress("comparing"):
        difference = weft.diff(*names) if since is None else weft.since(clean(since), moment)[0]
    if as_json:
        output.write_json(output.as_dict(difference))
    else:
        output.write("\n".join(difference_lines(difference)))


def history(
    name: Annotated[
        str | None, typer.Argument(metavar="ID", help="A context's id: print the ledger of that context.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="How many to list.")] = 20,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """List the latest contexts, or print the ledger of one."""
    with config.open_weft(store, embedder="none") as weft:
        if name is not None:
            record = weft.contexts.find(clean(name))
            if as_json:
                output.write_json({**output.as_dict(record, "fingerprints"), "asked": record.asked})
            else:
                write_entries(record.ledger)
            return
        records = weft.recent(limit)
    # Fingerprints serve comparisons only, and a list of whole ledgers would be too long to read.
    if as_json:
        output.write_json([output.as_dict(record, "fingerprints", "ledger", "manifest") for record in records])
    elif records:
        rows = [
            (record.id, record.made, record.tokens, output.one_line(record.asked, _QUESTION_WIDTH))
            for record in records
        ]
        output.write_table(("id", "made", "tokens", "asked"), rows)
    else:
        output.write_note("No context has been kept yet. `weft context` keeps each one it prints.")
