"""The Typer application of `weft`: every command by name, its module loaded only when it is needed."""

from importlib import import_module
from typing import Annotated, Final

import typer

from weft import __version__
from weft.interfaces.cli.options import AsJson

COMMANDS: Final = {
    "index": "index",
    "context": "context",
    "search": "context",
    "show": "show",
    "related": "show",
    "diff": "compare",
    "history": "compare",
    "status": "show",
    "doctor": "doctor",
    "remove": "index",
    "copy": "index",
    "jobs": "jobs",
    "remember": "memories",
    "memories": "memories",
    "forget": "memories",
    "experience": "experiences",
    "values": "memories",
    "premortem": "experiences",
    "serve": "serve",
    "keys": "serve",
    "entities": "entities",
    "share": "serve",
    "link": "serve",
    "mcp": "mcp",
    "install": "install",
    "profile": "profiles",
    "lens": "lenses",
    "eval": "evaluate",
    "demo": "demo",
    "version": "app",
}
"""The module of each command, in the order of `weft --help`."""
_GROUPS: Final = ("jobs", "profile", "lens", "keys", "experience", "entities")
"""Commands that hold others: their modules have `make_app` instead of a function of the command's name."""
_FUNCTION_NAMES: Final = {"eval": "evaluate"}
"""Functions that cannot be named like their command, because Python has a built-in of that name."""


def make_app(decorated: bool, only: str | None = None) -> typer.Typer:
    """Build the command line.

    `decorated` help is for terminals. With `only`, just that command is loaded, which starts sooner.
    """
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich" if decorated else None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_weft)
    for name, module in COMMANDS.items():
        if only in (None, name):
            loaded = import_module(f"weft.interfaces.cli.{module}")
            if name in _GROUPS:
                app.add_typer(loaded.make_app(decorated), name=name)
            else:
                app.command(name)(getattr(loaded, _FUNCTION_NAMES.get(name, name)))
    return app


def _weft(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the traceback of an error. May stand anywhere.")
    ] = False,
    index: Annotated[
        str,
        typer.Option(
            "--index",
            metavar="HOW",
            help="How to search a store on a server: server, files or milvus://... May stand anywhere. "
            "Default: $WEFT_INDEX.",
        ),
    ] = "",
) -> None:
    """Weave what is known into one page that fits a token budget and says where every line came from."""
    # `debug` and `index` are declared only for the help: `run` has taken them out of the arguments already.
    from weft.interfaces.cli import output

    if show_version:
        output.write(f"weft {__version__}")
    elif context.invoked_subcommand is None:
        output.write(context.get_help())


def version(as_json: AsJson = False) -> None:
    """Print the version."""
    from weft.interfaces.cli import output

    if as_json:
        output.write_json({"version": __version__})
    else:
        output.write(f"weft {__version__}")
