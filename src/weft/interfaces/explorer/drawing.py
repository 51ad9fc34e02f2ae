"""Turn a context into what the browser draws: lines with their sources, the budget, and the ledger as rows."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from weft.model import Context, LedgerEntry, ManifestEntry, NodeRef, Origin, Step
from weft.profiles.types import Profile

_DECIMALS: Final = 3
"""Decimals of scores and their parts: a bar of 300 pixels shows no more."""
_FOUND_BY: Final = {
    "bm25": "found by its words",
    "vector": "found by its meaning",
    "hybrid": "found by its words and meaning",
}
"""How the search found a candidate, in words."""


def draw(context: Context, profile: Profile, *, is_question: bool) -> dict[str, Any]:
    """Return everything that the views Read, Budget and Why show of a page."""
    rows = [_row(entry) for entry in context.ledger]
    index = _first_rows(context.ledger)
    return {
        "text": context.text,
        "format": context.format,
        "profile": context.profile,
        "tokens": context.tokens,
        "max_tokens": context.max_tokens,
        "token_model": context.token_model,
        # Of a page that only starts from nodes nothing was asked, so there is nothing to be relevant to.
        "relevance": context.stats.get("relevance") if is_question else None,
        "floor": profile.floor,
        "notes": context.notes,
        "hash": context.hash,
        "spans": [_span(entry, index) for entry in context.manifest],
        "rows": rows,
        "sections": _sections(context, profile),
        # Negative where items that were counted one by one cost less together than the frame adds.
        "frame": context.tokens - sum(entry.tokens for entry in context.ledger),
    }


def _first_rows(ledger: Sequence[LedgerEntry]) -> dict[NodeRef, int]:
    """Return the number of the row of each node; printed rows come first in a ledger, and win."""
    index: dict[NodeRef, int] = {}
    for number, entry in enumerate(ledger):
        index.setdefault((entry.tenant, entry.key), number)
    return index


def _span(entry: ManifestEntry, index: Mapping[NodeRef, int]) -> dict[str, Any]:
    """Return the lines of one manifest entry, with the number of their row; -1 for lines of Weft itself."""
    row = -1 if entry.key is None else index.get((entry.tenant or "", entry.key), -1)
    span: dict[str, Any] = {"first": entry.first_line, "last": entry.last_line, "row": row}
    if entry.key is not None and entry.origin is not None:
        span |= {"key": entry.key, "tenant": entry.tenant, "place": describe_place(entry.origin)}
        span |= {"from": entry.source_first_line, "to": entry.source_last_line, "verbatim": entry.verbatim}
    return span


def describe_place(origin: Origin) -> str:
    """Return where a node came from: its file, URL or commit, else the name of its source."""
    return origin.file or origin.url or origin.commit or origin.source


def describe_entry(entry: LedgerEntry) -> dict[str, Any]:
    """Return what every list of candidates shows of one."""
    return {
        "key": entry.key,
        "tenant": entry.tenant,
        "kind": entry.kind,
        "title": entry.title or entry.key,
        "section": entry.section,
        "score": round(entry.score, _DECIMALS),
        "detail": entry.detail.value,
        "tokens": entry.tokens,
    }


def _row(entry: LedgerEntry) -> dict[str, Any]:
    return {
        **describe_entry(entry),
        "parts": {name: round(value, _DECIMALS) for name, value in entry.parts.items() if round(value, _DECIMALS)},
        "path": describe_path(entry.match_source, entry.path),
        "reason": str(entry.reason),
    }


def describe_path(match_source: str | None, path: Sequence[Step]) -> str:
    """Return in words how a candidate was reached: by the search, or over which links."""
    if path:
        steps = [f"{step.edge_type} {'→' if step.direction == 'out' else '←'} {step.key}" for step in path]
        return f"{len(path)} step{'s' if len(path) > 1 else ''}: {', '.join(steps)}"
    return _FOUND_BY.get(match_source or "", "found by name or rule")


def _sections(context: Context, profile: Profile) -> list[dict[str, Any]]:
    """Return the sections that had candidates: their share, what they spent, and the weights of their score."""
    known = {section.name: section for section in profile.sections}
    spent: dict[str, int] = {}
    for entry in context.ledger:
        name = entry.section.partition("/")[0]
        spent[name] = spent.get(name, 0) + entry.tokens
    shares = {name: known[name].share for name in spent if name in known}
    headings = {section.name: section.heading for section in context.page.sections}
    total = sum(shares.values())
    drawn = []
    for name, tokens in spent.items():
        rule = (known[name].score if name in known else None) or profile.score
        planned = None
        # With a single section there is nothing to divide, and without a budget nothing to plan.
        if name in shares and len(shares) > 1 and context.max_tokens is not None:
            planned = round(context.max_tokens * shares[name] / total)
        drawn.append(
            {
                "name": name,
                "heading": headings.get(name) or (known[name].heading if name in known else "") or name,
                "tokens": tokens,
                "planned": planned,
                "weights": rule.weights,
                "product": rule.combine == "product",
            }
        )
    return drawn
