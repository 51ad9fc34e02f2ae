"""`weft ask`: answer a question with a language model, from a page and with its sources."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from weft import config
from weft.errors import InvalidInput
from weft.interfaces.ask import ask as ask_for_page
from weft.interfaces.ask import finish_reading
from weft.interfaces.cli import AsJson, EmbedderSpec, StoreFolder, output
from weft.interfaces.cli.context import read_options, with_options
from weft.interfaces.cli.output import show_progress
from weft.interfaces.request import CONTEXT_FIELDS, RequestField, fields_for
from weft.model import Context

if TYPE_CHECKING:
    from weft.interfaces.answer import Answer, Source

_OWN_FORMAT: Final = "format"
"""The field that has no option here: the model reads the page, in the form that it is read best in."""
_QUESTION: Final = "topic"

Endpoint = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The server to ask, with an API like OpenAI's. Default: $WEFT_ASK_URL."),
]
Model = Annotated[str | None, typer.Option(metavar="NAME", help="The model to ask. Default: $WEFT_ASK_MODEL.")]


def make_ask_command(fields: Sequence[RequestField] = CONTEXT_FIELDS) -> Callable[..., None]:
    """Make the function behind `weft ask`, with the options of `weft context`."""
    fields = [field for field in fields_for("cli", fields) if field.name != _OWN_FORMAT]

    def ask(
        endpoint: str | None = None,
        model: str | None = None,
        store: str | None = None,
        embedder: str | None = None,
        as_json: bool = False,
        **written: Any,
    ) -> None:
        """Answer a question with a language model of your choice, from the page about it, with sources."""
        values = read_options(fields, written)
        question = " ".join(values[_QUESTION])
        if not question:
            raise InvalidInput("The question is empty. Say what to answer, as in `weft ask 'who may refund?'`.")
        # Loaded here, because what prints help loads this module.
        from weft.interfaces.answer import answer_from, says_nothing

        with config.open_weft(store, embedder=embedder) as weft, show_progress("weaving"):
            page = ask_for_page(weft, values)
            finish_reading(weft)
        if says_nothing(page):
            _print_nothing(page, as_json)
            return
        with show_progress("waiting for the model"):
            answer = answer_from(page, question, config.read_model_endpoint(endpoint, model))
        _print_answer(answer, page, as_json)

    own = {"endpoint": Endpoint, "model": Model, "store": StoreFolder, "embedder": EmbedderSpec, "as_json": AsJson}
    return with_options(ask, fields, own)


def _print_nothing(page: Context, as_json: bool) -> None:
    """Print that the store says nothing about the question; no model is asked, because it could only guess."""
    if as_json:
        output.write_json({"answer": None, "used": [], "ignored": [], "notes": page.notes, "context": page.id})
        return
    output.write("Nothing in the store speaks to this question, so no model was asked.")
    for note in page.notes:
        output.write_note(note)


def _print_answer(answer: "Answer", page: Context, as_json: bool) -> None:
    if as_json:
        facts = {"tokens": page.tokens, "notes": page.notes, "context": page.id}
        output.write_json({"answer": answer.text, **output.as_dict(answer, "text"), **facts})
        return
    # Models write control characters at times, which could change what a terminal shows.
    output.write("\n".join(map(output.printable, answer.text.splitlines())))
    _print_sources("Used", answer.used)
    _print_sources("Ignored", answer.ignored)
    if not answer.used:
        output.write_note("The answer cites none of the sources. Read it with doubt.")
    if answer.unknown:
        named = ", ".join(f"[{number}]" for number in answer.unknown)
        output.write_note(f"The answer cites {named}, which is none of the sources. Read it with doubt.")
    for note in page.notes:
        output.write_note(note)


def _print_sources(heading: str, sources: "Sequence[Source]") -> None:
    if sources:
        lines = [f"  [{each.number}] {each.place}  {output.one_line(each.title)}" for each in sources]
        output.write("\n".join(("", f"{heading}:", *lines)))


ask = make_ask_command()
