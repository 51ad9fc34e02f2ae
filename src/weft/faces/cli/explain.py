"""The ledger as a table: what became of every candidate, and why."""

from collections.abc import Sequence

from weft.faces.cli import output
from weft.faces.texts import LEDGER_COLUMNS, ledger_rows
from weft.model import Context, LedgerEntry


def write_ledger(context: Context) -> None:
    """Print the ledger: printed items in the page's order, then what was left out, best first."""
    output.write("")
    write_entries(context.ledger)
    if context.ledger:
        limit = "no limit" if context.max_tokens is None else f"{context.max_tokens:,}"
        output.write(
            f"{context.tokens:,} tokens by {context.token_model}, budget {limit}, page {context.hash}, "
            f"context {context.id}"
        )


def write_entries(entries: Sequence[LedgerEntry]) -> None:
    """Print the entries of a ledger."""
    if entries:
        output.write_table(LEDGER_COLUMNS, ledger_rows(entries))
    else:
        output.write("No candidates were considered.")
