"""The ledger as a table: what became of every candidate, and why."""

import sys
from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from weft import config
from weft.errors import InvalidInput
from weft.interfaces.cli import output
from weft.interfaces.cli.options import (
    AsJson,
    AsOf,
    EmbedderSpec,
    Freshness,
    Kinds,
    Sources,
    StoreFolder,
    Tags,
    Tenants,
)
from weft.interfaces.cli.progress import watched
from weft.interfaces.describe import LEDGER_COLUMNS, SEARCH_COLUMNS, ledger_rows, relevance, search_rows
from weft.interfaces.request import Asked, ask, check_filter
from weft.interfaces.values import budget_of, clean, filter_of, parameters_of, tenants_of, time_of
from weft.model import Candidate, Context, LedgerEntry


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


def context(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUESTION_OR_ID",
            help="A question, or the key, id or title of nodes to start from; - reads stdin.",
        ),
    ] = None,
    *,
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="Kind of page; see `weft profile list`. Default: general.")
    ] = None,
    blend: Annotated[
        str | None,
        typer.Option(metavar="SHARES", help="Make every argument a topic, with these shares: 60/40, or equal."),
    ] = None,
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="One of the profile's presets.")] = None,
    lens: Annotated[str | None, typer.Option(metavar="NAME", help="One of the profile's ways to walk.")] = None,
    depth: Annotated[int | None, typer.Option(metavar="N", help="How many links to follow.")] = None,
    max_tokens: Annotated[
        str | None, typer.Option(metavar="N", help="The budget of the whole text: a number, or none.")
    ] = None,
    format: Annotated[str | None, typer.Option(metavar="NAME", help="markdown, xml, plain or json.")] = None,
    include_fields: Annotated[
        bool | None,
        typer.Option("--include-fields/--no-include-fields", help="Whether to print structured fields."),
    ] = None,
    kinds: Kinds = None,
    tags: Tags = None,
    sources: Sources = None,
    tenants: Tenants = None,
    as_of: AsOf = None,
    consistency: Freshness = "",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the profile; may be repeated."),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Leave out what this session was already given, and remember the rest."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print what became of every candidate, and why.")
    ] = False,
    token_model: Annotated[str, typer.Option(metavar="NAME", help="The tokenizer that counts.")] = "cl100k_base",
    now: Annotated[str | None, typer.Option(metavar="TIME", help="The present, in ISO 8601.")] = None,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Print one page about a question, or about the nodes you name, within a token budget."""
    asked = Asked(
        words=tuple(_arguments(words)),
        profile=profile,
        preset=preset,
        lens=lens,
        depth=depth,
        max_tokens=budget_of(max_tokens),
        format=format,
        include_fields=include_fields,
        filter=filter_of(kinds, tags, sources),
        tenants=tenants_of(tenants),
        as_of=as_of,
        consistency=consistency,
        parameters=parameters_of(settings),
        token_model=token_model,
        now=time_of(now),
        session=session,
        blend=blend,
    )
    with config.open_weft(store, embedder=embedder) as weft, watched("weaving"):
        found = ask(weft, asked)
    _print(found, as_json, explain)


def _arguments(words: Sequence[str] | None) -> list[str]:
    """The arguments as clean text, with `-` replaced by what stdin holds; empty ones are left out."""
    given = [_standard_input() if word == "-" else clean(word) for word in words or ()]
    return [word for word in given if word]


def _standard_input() -> str:
    return clean(sys.stdin.buffer.read().decode("utf-8", "replace"))


def _print(found: Context, as_json: bool, explain: bool) -> None:
    if as_json:
        output.write_json(output.shape(found, "page"))
        return
    if found.text:
        output.write(found.text)
    if explain:
        write_ledger(found)
    for each in found.notes:
        output.note(each)
    if sys.stderr.isatty():
        output.note(_summary(found))


def _summary(found: Context) -> str:
    limit = "no limit" if found.max_tokens is None else f"of {found.max_tokens:,}"
    left = sum(entry.detail == "dropped" for entry in found.ledger)
    return (
        f"{found.tokens:,} tokens ({limit}), {output.counted(len(found.sources), 'source')}, "
        f"{left:,} left out (--explain says why). Context {found.id}."
    )


def search(
    words: Annotated[list[str], typer.Argument(metavar="QUESTION", help="What to look for; - reads stdin.")],
    *,
    limit: Annotated[int, typer.Option(metavar="N", help="How many to show.")] = 10,
    match: Annotated[
        Literal["hybrid", "bm25", "vector"], typer.Option(help="By words, by meaning, or both.")
    ] = "hybrid",
    kinds: Kinds = None,
    tags: Tags = None,
    sources: Sources = None,
    tenants: Tenants = None,
    as_of: AsOf = None,
    consistency: Freshness = "",
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """List the nodes that match best, without following links."""
    question, seen, wanted = " ".join(_arguments(words)), tenants_of(tenants), filter_of(kinds, tags, sources)
    if not question:
        raise InvalidInput("The question is empty. Say what to look for, as in `weft search refunds`.")
    with config.open_weft(store, embedder=embedder) as weft, watched("searching"):
        notes = check_filter(weft, wanted, seen)
        found = weft.search(
            question, limit=limit, match=match, filter=wanted, tenants=seen, as_of=as_of, consistency=consistency
        )
    if as_json:
        results = [_result(each) for each in found.candidates]
        output.write_json({"results": results, "notes": (*notes, *found.notes)})
        return
    rows = search_rows(found.candidates)
    if rows:
        output.write_table(SEARCH_COLUMNS, rows)
    for told in (*notes, *(found.notes or (() if rows else ("Nothing matches.",)))):
        output.note(told)


def _result(candidate: Candidate) -> dict[str, object]:
    return {
        "score": relevance(candidate),
        "parts": candidate.parts,
        "match_source": candidate.match_source,
        "spans": candidate.spans,
        "node": output.shape(candidate.node),
    }
