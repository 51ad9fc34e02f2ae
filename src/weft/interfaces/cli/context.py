"""`weft context` and `weft search`: print one page about a question, or list the nodes that match it.

The options of both commands are made from the rows of `interfaces/request.py`.
"""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from weft import config
from weft.errors import InvalidInput, UnknownName
from weft.interfaces.ask import ask, check_filter
from weft.interfaces.cli import output
from weft.interfaces.cli.options import AsJson, EmbedderSpec, StoreFolder, whole_number_parser
from weft.interfaces.cli.output import show_progress
from weft.interfaces.describe import LEDGER_COLUMNS, SEARCH_COLUMNS, ledger_rows, relevance, search_rows
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
    read_time,
)
from weft.model import Candidate, Context, LedgerEntry

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
        values = _read_options(fields, written)
        with config.open_weft(store, embedder=embedder) as weft, show_progress("weaving"):
            page = ask(weft, values)
        _print_page(page, as_json, explain)

    own = {"explain": Explain, "store": StoreFolder, "embedder": EmbedderSpec, "as_json": AsJson}
    return _with_options(context, fields, own)


def make_search_command(fields: Sequence[RequestField] = SEARCH_FIELDS) -> Callable[..., None]:
    """Make the function behind `weft search`, with an option for every field."""
    fields = fields_for("cli", fields)

    def search(
        store: str | None = None, embedder: str | None = None, as_json: bool = False, **written: Any
    ) -> None:
        """List the nodes that match best, without following links."""
        values = _read_options(fields, written)
        question, view, wanted = " ".join(values["query"]), make_view(values), make_filter(values)
        if not question:
            raise InvalidInput("The question is empty. Say what to look for, as in `weft search refunds`.")
        options = {name: values[name] for name in ("limit", "match", "floor") if values[name] is not None}
        with config.open_weft(store, embedder=embedder) as weft, show_progress("searching"):
            notes = check_filter(weft, wanted, view.tenants)
            found = weft.search(
                question,
                filter=wanted,
                tenants=view.tenants,
                as_of=view.as_of,
                consistency=view.consistency,
                **options,
            )
        if as_json:
            results = [_result(candidate) for candidate in found.candidates]
            output.write_json({"results": results, "notes": (*notes, *found.notes)})
            return
        rows = search_rows(found.candidates)
        if rows:
            output.write_table(SEARCH_COLUMNS, rows)
        for note in (*notes, *(found.notes or (() if rows else ("Nothing matches.",)))):
            output.write_note(note)

    return _with_options(search, fields, {"store": StoreFolder, "embedder": EmbedderSpec, "as_json": AsJson})


# --- options from fields ----------------------------------------------------------------------------------


def _with_options(
    command: Callable[..., None], fields: Sequence[RequestField], own: Mapping[str, Any]
) -> Callable[..., None]:
    """Give a command the signature from which typer makes its arguments, options and help."""
    options = [_parameter(field) for field in fields]
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


def _read_options(fields: Sequence[RequestField], written: Mapping[str, Any]) -> dict[str, Any]:
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
    return values


def _read_words(words: Sequence[str] | None) -> tuple[str, ...]:
    """Return the arguments as clean text, with `-` replaced by standard input; empty ones are left out."""
    cleaned = [
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


context = make_context_command()
search = make_search_command()
