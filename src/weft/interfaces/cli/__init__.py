"""The `weft` program: run one command line and return its exit code.

Errors become one line on stderr; a traceback is printed only with `--debug`.
"""

import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

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


def main() -> NoReturn:
    """Run the command in sys.argv and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. A traceback is printed only if `--debug` is given."""
    for stream in (sys.stdout, sys.stderr):
        _configure_stream(stream)
    debug, rest = _extract_debug(arguments)
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
    import typer

    from weft.interfaces.cli.app import COMMANDS, make_app

    # Loading only the module of the command that runs keeps start-up short.
    name = arguments[0] if arguments and arguments[0] in COMMANDS else None
    command = typer.main.get_command(make_app(sys.stdout.isatty(), name))
    code = command.main(args=list(arguments), prog_name="weft", standalone_mode=False)
    return code if isinstance(code, int) else DONE


def _extract_debug(arguments: Sequence[str]) -> tuple[bool, list[str]]:
    """Return whether `--debug` is given, and the arguments without it.

    It may stand anywhere before `--`, because it is mostly appended to a command that just failed.
    """
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    before, after = arguments[:end], arguments[end:]
    return "--debug" in before, [*(word for word in before if word != "--debug"), *after]


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
    from typer import TyperException

    from weft.errors import StoreError, WeftError

    if debug:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, WeftError):
        _print_error(str(error))
        return STORE_PROBLEM if isinstance(error, StoreError) else BAD_INPUT
    if isinstance(error, TyperException):
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
    return f"{message}{'' if message.endswith(('.', '?')) else '.'} Try `{path} --help`."


def _print_error(message: str) -> None:
    sys.stderr.write(f"weft: {message}\n")


def _configure_stream(stream: Any) -> None:
    """Make piped output UTF-8 whatever the locale, and make sure that no character can fail to print."""
    # Streams that tests put in place of the real ones cannot be reconfigured.
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
