"""The ledger as a table: what became of every candidate, and why."""

from collections.abc import Mapping, Sequence

from weft.faces.cli import output
from weft.model import Context, LedgerEntry, Step

_COLUMNS = ("section", "title", "detail", "tokens", "score", "parts", "path", "reason", "key")


def write_ledger(context: Context) -> None:
    """Print the ledger: printed items in the page's order, then what was left out, best first."""
    output.write("")
    if not context.ledger:
        output.write("No candidates were considered.")
        return
    output.write_table(_COLUMNS, [_row(entry) for entry in context.ledger])
    limit = "no limit" if context.max_tokens is None else f"{context.max_tokens:,}"
    output.write(f"{context.tokens:,} tokens by {context.token_model}, budget {limit}, page {context.hash}")


def _row(entry: LedgerEntry) -> tuple[object, ...]:
    return (
        entry.section,
        output.one_line(entry.title or entry.key, 40),
        entry.detail.value,
        entry.tokens or "",
        f"{entry.score:.3f}",
        _parts(entry.parts),
        _path(entry.path),
        entry.reason,
        entry.key,
    )


def _parts(parts: Mapping[str, float]) -> str:
    return " ".join(f"{name}={value:.2f}" for name, value in sorted(parts.items()))


def _path(path: Sequence[Step]) -> str:
    """The edges from the start to the node, each with its direction."""
    return " ".join(f"{step.edge_type} {'→' if step.direction == 'out' else '←'} {step.key}" for step in path)
