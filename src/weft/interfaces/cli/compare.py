"""`weft diff` and `weft history`: what was handed out before, and what changed since."""

from typing import Annotated

import typer

from weft import config
from weft.errors import InvalidInput
from weft.history import Difference, Record
from weft.interfaces.cli import output
from weft.interfaces.cli.context import write_entries
from weft.interfaces.cli.options import AsJson, EmbedderSpec, StoreFolder
from weft.interfaces.cli.progress import watched
from weft.interfaces.describe import difference_lines
from weft.interfaces.values import clean, time_of


def diff(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="A B", help="The ids of two contexts, or their beginnings; see `weft history`."),
    ] = None,
    *,
    since: Annotated[
        str | None, typer.Option(metavar="A", help="Ask again what context A was asked, and compare with it.")
    ] = None,
    now: Annotated[str | None, typer.Option(metavar="TIME", help="The present, in ISO 8601.")] = None,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Print what appeared, vanished, changed or moved between two contexts, and why."""
    given = [clean(each) for each in ids or ()]
    if len(given) != (2 if since is None else 0):
        raise InvalidInput(
            f"{len(given)} ids {'and --since ' if since else ''}do not make a comparison. Give two ids, as in "
            "`weft diff A B`, or one as `--since A`; `weft history` lists them."
        )
    moment = time_of(now)
    with config.open_weft(store, embedder=embedder) as weft, watched("comparing"):
        found = weft.diff(*given) if since is None else weft.since(clean(since), moment)[0]
    _print(found, as_json)


def _print(found: Difference, as_json: bool) -> None:
    if as_json:
        output.write_json(output.shape(found))
    else:
        output.write("\n".join(difference_lines(found)))


def history(
    name: Annotated[
        str | None, typer.Argument(metavar="ID", help="A context's id: print what became of its candidates.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="How many to list.")] = 20,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """List the contexts handed out last, or print the books of one."""
    with config.open_weft(store, embedder="none") as weft:
        if name is not None:
            _print_record(weft.contexts.find(clean(name)), as_json)
            return
        records = weft.recent(limit)
    if as_json:
        output.write_json([_brief(each) for each in records])
    elif records:
        rows = [(each.id, each.made, each.tokens, output.one_line(each.asked, 50)) for each in records]
        output.write_table(("id", "made", "tokens", "asked"), rows)
    else:
        output.note("No context has been kept yet. `weft context` keeps each one it prints.")


def _print_record(record: Record, as_json: bool) -> None:
    if as_json:
        output.write_json({**output.shape(record, "fingerprints"), "asked": record.asked})
    else:
        write_entries(record.ledger)


def _brief(record: Record) -> dict[str, object]:
    return output.shape(record, "fingerprints", "ledger", "manifest")
