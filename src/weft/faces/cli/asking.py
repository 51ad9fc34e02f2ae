"""`weft context` and `weft search`: a page about a question, or just what matches it."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from weft.errors import InvalidInput, UnknownName
from weft.faces import wiring
from weft.faces.aiming import aim
from weft.faces.cli import output
from weft.faces.cli.explain import write_ledger
from weft.faces.cli.options import (
    AsJson,
    AsOf,
    EmbedderSpec,
    Kinds,
    Sources,
    StoreFolder,
    Tags,
    Tenants,
    budget_of,
    clean,
    filter_of,
    parameters_of,
    tenants_of,
    time_of,
)
from weft.faces.cli.progress import watched
from weft.model import Candidate, Context, Filter

if TYPE_CHECKING:
    from weft.faces.library import Weft


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
        str, typer.Option(metavar="NAME", help="Kind of page; see `weft profile list`.")
    ] = "general",
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
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the profile; may be repeated."),
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
    budget, moment, parameters = budget_of(max_tokens), time_of(now), parameters_of(settings)
    asked, seen, wanted = _arguments(words), tenants_of(tenants), filter_of(kinds, tags, sources)
    with wiring.open_weft(store, embedder=embedder) as weft, watched("weaving"):
        aimed = aim(weft, asked, seen, profile, blend)
        _check_filter(weft, wanted, seen)
        found = weft.context(
            aimed.question,
            start=aimed.start,
            topics=aimed.topics,
            profile=profile,
            preset=preset,
            lens=lens,
            depth=depth,
            max_tokens=budget,
            format=format,
            include_fields=include_fields,
            filter=wanted,
            tenants=seen,
            as_of=as_of,
            parameters=parameters,
            token_model=token_model,
            now=moment,
        )
    _print(replace(found, notes=(*aimed.notes, *found.notes)), as_json, explain)


def _arguments(words: Sequence[str] | None) -> list[str]:
    """The arguments as clean text, with `-` replaced by what stdin holds; empty ones are left out."""
    given = [_standard_input() if word == "-" else clean(word) for word in words or ()]
    return [word for word in given if word]


def _standard_input() -> str:
    return clean(sys.stdin.buffer.read().decode("utf-8", "replace"))


def _check_filter(weft: "Weft", wanted: Filter, tenants: Sequence[str]) -> None:
    """Refuse kinds and sources that the tenants do not have, and note tenants that hold nothing."""
    for tenant in tenants:
        if not weft.holds(tenant):
            known = ", ".join(sorted(weft.status().by_tenant)) or "(none)"
            output.note(f"The tenant {tenant!r} holds nothing. Known: {known}.")
    if wanted.kinds or wanted.sources:
        status = weft.status(tenants)
        for what, given, allowed in (
            ("kind", wanted.kinds, status.by_kind),
            ("source", wanted.sources, status.by_source),
        ):
            for each in given:
                if each not in allowed:
                    raise UnknownName(what, each, allowed, f"These are the {what}s in the store.")


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
        f"{left:,} left out (--explain says why)."
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
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """List the nodes that match best, without following links."""
    question, seen, wanted = " ".join(_arguments(words)), tenants_of(tenants), filter_of(kinds, tags, sources)
    if not question:
        raise InvalidInput("The question is empty. Say what to look for, as in `weft search refunds`.")
    with wiring.open_weft(store, embedder=embedder) as weft, watched("searching"):
        _check_filter(weft, wanted, seen)
        found = weft.search(question, limit=limit, match=match, filter=wanted, tenants=seen, as_of=as_of)
    if as_json:
        output.write_json({"results": [_result(each) for each in found.candidates], "notes": found.notes})
        return
    rows = [
        (
            f"{_relevance(each):.3f}",
            each.node.kind,
            output.one_line(each.node.title, 50),
            each.node.key,
        )
        for each in found.candidates
    ]
    if rows:
        output.write_table(("score", "kind", "title", "key"), rows)
    for told in found.notes or (() if rows else ("Nothing matches.",)):
        output.note(told)


def _relevance(candidate: Candidate) -> float:
    """What a search knows of a candidate; the score proper comes from a profile."""
    return candidate.parts.get("relevance", 0.0)


def _result(candidate: Candidate) -> dict[str, object]:
    return {
        "score": _relevance(candidate),
        "parts": candidate.parts,
        "match_source": candidate.match_source,
        "spans": candidate.spans,
        "node": output.shape(candidate.node),
    }
