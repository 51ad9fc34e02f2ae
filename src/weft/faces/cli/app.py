"""The commands by name."""

from typing import Annotated

import typer

from weft import __version__
from weft.faces.cli import asking, demo, doctor, evaluating, indexing, looking, output, profiles, serving, version


def make_app(decorated: bool) -> typer.Typer:
    """The command line; `decorated` help is for terminals, plain help for pipes."""
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich" if decorated else None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_weft)
    app.command("index")(indexing.index)
    app.command("context")(asking.context)
    app.command("search")(asking.search)
    app.command("show")(looking.show)
    app.command("related")(looking.related)
    app.command("status")(looking.status)
    app.command("doctor")(doctor.doctor)
    app.command("remove")(indexing.remove)
    app.add_typer(profiles.make_app(decorated), name="profile")
    app.command("serve")(serving.serve)
    app.command("link")(serving.link)
    app.command("share")(serving.share)
    app.add_typer(serving.make_keys_app(decorated), name="keys")
    app.command("eval")(evaluating.evaluate)
    app.command("demo")(demo.demo)
    app.command("version")(version.version)
    return app


def _weft(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the traceback of an error. May stand anywhere.")
    ] = False,
) -> None:
    """Weave what is known into one page that fits a token budget and says where every line came from."""
    # `debug` is here to be seen in the help; it was taken out of the arguments before they came here.
    if show_version:
        output.write(f"weft {__version__}")
    elif context.invoked_subcommand is None:
        output.write(context.get_help())
