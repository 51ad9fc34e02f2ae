"""The `weft` program: its commands, the options that they share, and the code it exits with.

Errors become one line on stderr; a traceback is printed only with `--debug`. The module of a command is
loaded only when that command runs, or for `weft --help`.
"""

import gc
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from importlib import import_module
from typing import Annotated, Any, Final, NoReturn

import typer

from weft import __version__

DONE: Final = 0
UNEXPECTED: Final = 1
BAD_INPUT: Final = 2
PARTLY_DONE: Final = 3
STORE_PROBLEM: Final = 4
INTERRUPTED: Final = 130
"""128 plus the number of SIGINT, as shells report an interrupted program."""

_INTERRUPTED_MESSAGE: Final = (
    "interrupted. Nothing is half-written: finished work is kept, and the same command continues from there."
)
_AS_OF_HELP: Final = "Only what is known up to this chapter or other point of the sequence."

_COLLECT_AFTER: Final = 50_000
"""Values that are made and not yet freed before Python looks for cycles. With its own 700 a tenth of the processor
time of a cold question went to looking through what was being loaded."""
_MIN_QUESTION_WORDS: Final = 3
"""Words without a command from which on they are taken for a question; fewer are a command that was misspelled."""

_quiet: Final = ContextVar("quiet", default=False)

SECTIONS: Final = {
    "Begin": {
        "init": "init",
        "demo": "demo",
        "index": "index",
        "status": "show",
        "doctor": "doctor",
    },
    "Ask": {
        "context": "context",
        "search": "context",
        "ask": "answer",
        "explore": "serve",
        "show": "show",
        "related": "show",
        "log": "show",
        "history": "context",
        "diff": "context",
    },
    "Agents and what they learn": {
        "install": "install",
        "mcp": "mcp",
        "remember": "memories",
        "memories": "memories",
        "forget": "memories",
        "export": "exchange",
        "import": "exchange",
        "experience": "experiences",
        "premortem": "experiences",
        "values": "memories",
    },
    "Stories": {"story": "story", "entities": "entities"},
    "Kinds of pages": {"profile": "profiles", "lens": "profiles", "eval": "evaluate"},
    "Keep a store": {
        "remove": "index",
        "link": "serve",
        "reembed": "index",
        "copy": "index",
        "backup": "backup",
        "restore": "backup",
        "migrate": "backup",
    },
    "Serve others": {
        "serve": "serve",
        "keys": "keys",
        "tenants": "backup",
        "share": "serve",
        "jobs": "jobs",
        "cluster": "cluster",
    },
    "This program": {"completion": "completion", "version": ""},
}
"""The module of each command by section, in the order of `weft --help`; `version` is in this module."""
COMMANDS: Final = {name: module for commands in SECTIONS.values() for name, module in commands.items() if module}
_GROUPS: Final = ("jobs", "profile", "lens", "keys", "tenants", "cluster", "experience", "entities", "story")
"""Commands that hold others: their modules have `make_jobs_group` and so on instead of a function of the
command's name."""
_FUNCTION_NAMES: Final = {"eval": "evaluate", "export": "export_memories", "import": "import_memories"}
"""Functions that cannot be named like their command, because Python has a built-in or a keyword of that name."""


# --- options that several commands share -------------------------------------------------------------------

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
StoreFolder = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="DIR",
        help="The store's folder, or its postgresql:// URL (several make a cluster). Default: $WEFT_STORE, or the "
        "nearest .weft/.",
    ),
]
EmbedderSpec = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="SPEC",
        help="The embedding model: static, quality, none, openai:MODEL@URL, … Default: $WEFT_EMBEDDER, or static.",
    ),
]
Tenants = Annotated[
    list[str] | None,
    typer.Option("--tenant", metavar="NAME", help="The tenant to read; may be repeated. Default: default."),
]


def clean_argument(written: str) -> str:
    """Return an argument as valid text."""
    # Loaded here, because the handshake of `weft mcp` need not wait for it.
    from weft.interfaces.request import clean

    return clean(written)


OwnTenant = Annotated[
    str, typer.Option("--tenant", metavar="NAME", parser=clean_argument, help="The tenant that this belongs to.")
]


def whole_number_parser(meaning: str) -> Callable[[str], int]:
    """Make the parser of an option that takes a whole number; its error says what the number means."""

    def parse(written: str) -> int:
        try:
            return int(written)
        except ValueError:
            raise typer.BadParameter(f"{written!r} is not a whole number. {meaning}") from None

    return parse


AsOf = Annotated[
    int | None,
    typer.Option(
        "--as-of",
        metavar="N",
        parser=whole_number_parser(_AS_OF_HELP),
        help=_AS_OF_HELP,
    ),
]


# --- running a command line --------------------------------------------------------------------------------


def main() -> NoReturn:
    """Run the command in sys.argv and exit with its code."""
    gc.set_threshold(_COLLECT_AFTER)
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. A traceback is printed only if `--debug` is given."""
    # Before anything can fail, so that the message about a failure can be printed.
    for stream in (sys.stdout, sys.stderr):
        _configure_stream(stream)
    debug, rest = _extract_flag("--debug", arguments)
    quiet, rest = _extract_flag("--quiet", rest)
    _quiet.set(quiet)
    try:
        code = _invoke(_apply_index_option(rest))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:  # noqa: BLE001  (the last resort: any error becomes a line and an exit code)
        return _report_failure(error, debug)
    # Typer turns an interrupt inside a command into this exit code by itself.
    if code == INTERRUPTED:
        _print_error(_INTERRUPTED_MESSAGE)
    return code


def _invoke(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name, and return its exit code."""
    # Loading only the module of the command that runs keeps start-up short.
    name = arguments[0] if arguments and arguments[0] in (*COMMANDS, "version") else None
    if name is None:
        _refuse_question(arguments)
    # A group alone prints its help too.
    helps = name is None or not {"-h", "--help"}.isdisjoint(arguments) or (name in _GROUPS and len(arguments) == 1)
    command = typer.main.get_command(make_app(sys.stdout.isatty(), name, helps=helps))
    code = command.main(args=list(arguments), prog_name="weft", standalone_mode=False)
    # Without standalone mode the code comes back as a value; a command that ends normally returns None.
    return code if isinstance(code, int) else DONE


def _refuse_question(arguments: Sequence[str]) -> None:
    """Raise `InvalidInput` if the arguments look like a question that was asked without a command."""
    from difflib import get_close_matches

    from weft.errors import InvalidInput

    words = " ".join(arguments)
    if len(words.split()) < _MIN_QUESTION_WORDS or any(word.startswith("-") for word in arguments):
        return
    # Typer says which command is meant by a misspelt one. "How" is not a misspelt "show".
    meant = get_close_matches(arguments[0], [name for name in COMMANDS if name[0] == arguments[0][0]], 1, 0.75)
    if not meant:
        raise InvalidInput(f"{arguments[0]!r} is not a command. To ask a question: weft context {words!r}")


def is_quiet() -> bool:
    """Return whether the command line asked for the answer alone, without notes, reports and progress."""
    return _quiet.get()


def _extract_flag(flag: str, arguments: Sequence[str]) -> tuple[bool, list[str]]:
    """Return whether a flag of every command is given, and the arguments without it.

    It may stand anywhere before `--`, because `--debug` is mostly appended to a command that just failed.
    """
    # What follows `--` belongs to the question, even if it looks like an option.
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    before, after = arguments[:end], arguments[end:]
    return flag in before, [*(word for word in before if word != flag), *after]


def _apply_index_option(arguments: Sequence[str]) -> list[str]:
    """Hand `--index` to the configuration, and return the arguments without it.

    It may stand anywhere before `--`, because it applies to every command alike.
    """
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    start = next((i for i, word in enumerate(arguments[:end]) if word.split("=")[0] == "--index"), None)
    if start is None:
        return list(arguments)
    from weft import config

    _, equals, spec = arguments[start].partition("=")
    stop = start + (1 if equals else 2)
    if not equals:
        spec = arguments[start + 1] if start + 1 < end else ""
    config.set_index(spec)
    return [*arguments[:start], *arguments[stop:]]


def _report_failure(error: Exception, debug: bool) -> int:
    """Print an error as one line (after its traceback, with `debug`), and return its exit code."""
    from weft.errors import StoreError, WeftError

    if debug:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, WeftError):
        _print_error(str(error))
        return STORE_PROBLEM if isinstance(error, StoreError) else BAD_INPUT
    if isinstance(error, typer.TyperException):
        _print_error(_usage_message(error))
        return BAD_INPUT
    hint = "" if debug else " (run again with --debug to see where)"
    _print_error(f"unexpected {type(error).__name__}: {error}{hint}")
    return UNEXPECTED


def _usage_message(error: Any) -> str:
    """Return Typer's message about wrong usage, with the help command to try next."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "weft"
    message = error.format_message()
    end = "" if message.endswith((".", "?")) else "."
    # A command typed alone is answered with one that works. Typer does not export the class of this error.
    if type(error).__name__ == "MissingParameter":
        from weft.interfaces.cli.usage import find_example

        if example := find_example(path):
            return f"{message}{end} Type for example: {example}"
    return f"{message}{end} Try `{path} --help`."


def _print_error(message: str) -> None:
    sys.stderr.write(f"weft: {message}\n")


def _configure_stream(stream: Any) -> None:
    """Make piped output UTF-8 whatever the locale, and make sure that no character can fail to print."""
    # Streams that tests put in place of the real ones cannot be reconfigured.
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")


# --- the commands ------------------------------------------------------------------------------------------


def make_app(decorated: bool, only: str | None = None, *, helps: bool = True) -> typer.Typer:
    """Build the command line.

    `decorated` help is for terminals. With `only`, just that command is loaded, and without `helps` nothing that
    only help prints; both start sooner.
    """
    app = typer.Typer(
        cls=_help_class() if helps else None,
        epilog=_examples("", decorated) if helps else None,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich" if decorated else None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_weft)
    for title, commands in SECTIONS.items():
        for name, module in commands.items():
            if only in (None, name):
                _add_command(app, name, module, decorated, title if helps else None)
    return app


def _add_command(app: typer.Typer, name: str, module: str, decorated: bool, title: str | None) -> None:
    """Load the module of a command and add it; with a title, under that section of the help and with examples."""
    loaded = import_module(f"weft.interfaces.cli.{module}" if module else __name__)
    epilog = None if title is None else _examples(name, decorated)
    if name in _GROUPS:
        group = getattr(loaded, f"make_{name}_group")(decorated)
        app.add_typer(group, name=name, epilog=epilog, rich_help_panel=title)
        return
    function = getattr(loaded, _FUNCTION_NAMES.get(name, name))
    app.command(name, epilog=epilog, rich_help_panel=title)(function)


def _examples(name: str, decorated: bool) -> str | None:
    """Return what ends the help of a command, or that of the program for an empty name."""
    from weft.interfaces.cli.usage import write_examples

    return write_examples(name, decorated)


def _help_class() -> Any:
    from weft.interfaces.cli.usage import Program

    return Program


def _weft(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the traceback of an error. May stand anywhere.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print no notes, reports or progress. May stand anywhere.")
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
    # `debug`, `quiet` and `index` are declared for the help only: `run` has taken them out of the arguments.
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
