"""`weft context`, `weft search`, `weft diff` and `weft history`: print pages, search results and changes of pages.

The options of the first two are made from the rows of `interfaces/request.py`.
"""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from weft import config
from weft.errors import InvalidInput, UnknownName
from weft.interfaces.ask import ask, check_filter, empty_tenants, finish_reading, refuse_exact_options
from weft.interfaces.cli import AsJson, EmbedderSpec, StoreFolder, output, whole_number_parser
from weft.interfaces.cli.output import show_progress
from weft.interfaces.describe import (
    LEDGER_COLUMNS,
    SEARCH_COLUMNS,
    difference_lines,
    exact_lines,
    ledger_rows,
    relevance,
    search_rows,
)
from weft.interfaces.request import (
    CONTEXT_FIELDS,
    SEARCH_FIELDS,
    RequestField,
    clean,
    fields_for,
    make_filter,
    make_view,
    read_budget,
    read_parameters,
    read_tenants,
    read_time,
)
from weft.model import Candidate, Context, Filter, LedgerEntry, View

_EXACT_LIMIT: Final = 50
"""Lines of an exact search that are printed by default; all of them are counted."""
_QUESTION_WIDTH: Final = 50
"""Characters of a question in the table of `weft history`: a row then fits a terminal of 120 columns."""

Explain = Annotated[bool, typer.Option("--explain", help="Print what became of every candidate, and why.")]


def make_context_command(fields: Sequence[RequestField] = CONTEXT_FIELDS) -> Callable[..., None]:
    """Make the function behind `weft context`, with an option for every field."""
    fields = fields_for("cli", fields)

    def context(
        explain: bool = False,
        store: str | None = None,
        embedder: str | None = None,
        as_json: bool = False,
        **written: Any,
    ) -> None:
        """Print one page about a question, or about the nodes you name, within a token budget."""
        # Options are read before the store is opened, so that a mistake in them is reported at once.
        values = read_options(fields, written)
        with config.open_weft(store, embedder=embedder) as weft, show_progress("weaving"):
            page = ask(weft, values)
            finish_reading(weft)
        _print_page(page, as_json, explain)

    own = {"explain": Explain, "store": StoreFolder, "embedder": EmbedderSpec, "as_json": AsJson}
    return with_options(context, fields, own)


def make_search_command(fields: Sequence[RequestField] = SEARCH_FIELDS) -> Callable[..., None]:
    """Make the function behind `weft search`, with an option for every field."""
    fields = fields_for("cli", fields)

    def search(
        store: str | None = None, embedder: str | None = None, as_json: bool = False, **written: Any
    ) -> None:
        """List the nodes that match best, without following links."""
        values = read_options(fields, written)
        question, view, wanted = " ".join(values["query"]), make_view(values), make_filter(values)
        if not question:
            raise InvalidInput("The question is empty. Say what to look for, as in `weft search refunds`.")
        options = {name: values[name] for name in ("limit", "match", "floor") if values[name] is not None}
        if values["exact"]:
            _search_exactly(question, view, wanted, values, store, as_json)
            return
        refuse_exact_options(values)
        with config.open_weft(store, embedder=embedder) as weft, show_progress("searching"):
            check_filter(weft, wanted, view.tenants)
            found = weft.search(
                question,
                filter=wanted,
                tenants=view.tenants,
                as_of=view.as_of,
                consistency=view.consistency,
                **options,
            )
            notes = empty_tenants(weft, view.tenants)
            finish_reading(weft)
        if as_json:
            results = [_result(candidate) for candidate in found.candidates]
            output.write_json({"results": results, "notes": (*notes, *found.notes)})
            return
        rows = search_rows(found.candidates)
        if rows:
            output.write_table(SEARCH_COLUMNS, rows)
        for note in (*notes, *(found.notes or (() if rows else ("Nothing matches.",)))):
            output.write_note(note)

    return with_options(search, fields, {"store": StoreFolder, "embedder": EmbedderSpec, "as_json": AsJson})


def _search_exactly(
    written: str, view: View, wanted: Filter, values: Mapping[str, Any], store: str | None, as_json: bool
) -> None:
    """Print every line that holds a text, and how many there are."""
    limit, path, around = values["limit"] or _EXACT_LIMIT, values["path"] or "", values["around"] or 0
    from weft.pipeline.exact import find_exact

    with config.open_weft(store, embedder="none") as weft, show_progress("searching"):
        check_filter(weft, wanted, view.tenants)
        with weft.reading(view) as reading:
            hits = find_exact(written, wanted, reading, path, around)
        notes = (*empty_tenants(weft, view.tenants), *reading.notes)
        finish_reading(weft)
    if as_json:
        listed = [
            {"key": hit.node.key, "file": hit.node.origin.file, "line": hit.line, "text": hit.text} for hit in hits
        ]
        output.write_json({"count": len(hits), "hits": listed[:limit], "notes": notes})
        return
    output.write("\n".join(exact_lines(written, hits, limit)))
    for note in notes:
        output.write_note(note)


# --- options from fields ----------------------------------------------------------------------------------


def with_options(
    command: Callable[..., None], fields: Sequence[RequestField], own: Mapping[str, Any]
) -> Callable[..., None]:
    """Give a command the signature from which typer makes its arguments, options and help."""
    options = [_parameter(field) for field in fields]
    # The signature is replaced below, so the defaults are taken from it first.
    defaults = {name: parameter.default for name, parameter in inspect.signature(command).parameters.items()}
    options += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=annotation)
        for name, annotation in own.items()
    ]
    # Typer reads both: the order and defaults from the signature, the types from the annotations.
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in options}
    return command


def _parameter(field: RequestField) -> inspect.Parameter:
    if field.destination == "words" and field.kind == "words":
        argument = typer.Argument(metavar=field.metavar, help=f"{field.help.rstrip('.')}; - reads stdin.")
        # A page may go without words where the profile asks on its own; a search may not.
        kind: Any = list[str] if field.name == "query" else list[str] | None
        default = inspect.Parameter.empty if field.name == "query" else None
        return inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, argument]
        )
    name = field.option or f"--{field.name.replace('_', '-')}"
    kind, declared = str | None, name
    more: dict[str, Any] = {}
    if field.kind in ("texts", "mapping"):
        kind = list[str] | None
    elif field.kind == "number":
        kind, more = int | None, {"parser": whole_number_parser(field.help)}
    elif field.kind == "fraction":
        kind = float | None
    elif field.kind == "flag":
        kind, declared = bool | None, f"{name}/--no-{name.removeprefix('--')}"
    if field.metavar and field.kind != "flag":
        more["metavar"] = field.metavar
    option = typer.Option(declared, help=field.help, **more)
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, option]
    )


def read_options(fields: Sequence[RequestField], written: Mapping[str, Any]) -> dict[str, Any]:
    """Turn what typer parsed into the values of a request, by field name."""
    readers: dict[str, Callable[[Any], Any]] = {
        "words": _read_words,
        "texts": lambda texts: tuple(clean(text) for text in texts or ()),
        "budget": read_budget,
        "mapping": read_parameters,
        "time": read_time,
    }
    values = {}
    for field in fields:
        value = written[field.name]
        if field.choices and value is not None and value not in field.choices:
            raise UnknownName(field.name, value, field.choices)
        values[field.name] = readers[field.kind](value) if field.kind in readers else value
    if "tenants" in values:
        values["tenants"] = read_tenants(values["tenants"])
    return values


def _read_words(words: Sequence[str] | None) -> tuple[str, ...]:
    """Return the arguments as clean text, with `-` replaced by standard input; empty ones are left out."""
    cleaned = [
        # Read as bytes: the locale of a pipe must not decide how a question is decoded.
        clean(sys.stdin.buffer.read().decode("utf-8", "replace")) if word == "-" else clean(word)
        for word in words or ()
    ]
    return tuple(word for word in cleaned if word)


# --- printing ---------------------------------------------------------------------------------------------


def _print_page(page: Context, as_json: bool, explain: bool) -> None:
    if as_json:
        output.write_json(output.as_dict(page, "page"))
        return
    if page.text:
        output.write(page.text)
    if explain:
        write_ledger(page)
    for note in page.notes:
        output.write_note(note)
    # Programs read the figures from `--json`; a person wants them below the page.
    if sys.stderr.isatty():
        limit = "no limit" if page.max_tokens is None else f"of {page.max_tokens:,}"
        left_out = sum(entry.detail == "dropped" for entry in page.ledger)
        output.write_note(
            f"{page.tokens:,} tokens ({limit}), {output.count_noun(len(page.sources), 'source')}, "
            f"{left_out:,} left out (--explain says why). Context {page.id}."
        )


def write_ledger(page: Context) -> None:
    """Print the ledger: printed items in the page's order, then what was left out, best first."""
    output.write("")
    write_entries(page.ledger)
    if page.ledger:
        limit = "no limit" if page.max_tokens is None else f"{page.max_tokens:,}"
        output.write(
            f"{page.tokens:,} tokens by {page.token_model}, budget {limit}, page {page.hash}, context {page.id}"
        )


def write_entries(entries: Sequence[LedgerEntry]) -> None:
    """Print the entries of a ledger."""
    if entries:
        output.write_table(LEDGER_COLUMNS, ledger_rows(entries))
    else:
        output.write("No candidates were considered.")


def _result(candidate: Candidate) -> dict[str, object]:
    return {
        "score": relevance(candidate),
        "parts": candidate.parts,
        "match_source": candidate.match_source,
        "spans": candidate.spans,
        "node": output.as_dict(candidate.node),
    }


# --- weft diff, weft history -------------------------------------------------------------------------------


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
            f"`weft diff` takes two ids or --since, and was given {output.count_noun(len(names), 'id')}"
            f"{' and --since' if since else ''}. Type `weft diff A B` or `weft diff --since A`; `weft history` "
            "lists the ids."
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


context = make_context_command()
search = make_search_command()
