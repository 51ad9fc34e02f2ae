"""`weft` on the command line: one command in, an exit code out, and never a traceback unless asked for."""

import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

DONE: Final = 0
UNEXPECTED: Final = 1
BAD_INPUT: Final = 2
PARTLY_DONE: Final = 3
STORE_PROBLEM: Final = 4
INTERRUPTED: Final = 130

_INTERRUPTED: Final = (
    "interrupted. Nothing is half-written: what was finished is kept, and the same command goes on from there."
)


def main() -> NoReturn:
    """Run the command in sys.argv and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; no traceback is printed unless `--debug` is among it."""
    for stream in (sys.stdout, sys.stderr):
        _steady(stream)
    debug, rest = _without_debug(arguments)
    try:
        code = _invoke(_with_index(rest))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:  # noqa: BLE001  (the last resort: whatever it is, it becomes a line and an exit code)
        return _failed(error, debug)
    if code == INTERRUPTED:
        _complain(_INTERRUPTED)
    return code


def _invoke(arguments: Sequence[str]) -> int:
    import typer

    from weft.interfaces.cli.app import COMMANDS, make_app

    wanted = arguments[0] if arguments and arguments[0] in COMMANDS else None
    command = typer.main.get_command(make_app(sys.stdout.isatty(), wanted))
    code = command.main(args=list(arguments), prog_name="weft", standalone_mode=False)
    return code if isinstance(code, int) else DONE


def _without_debug(arguments: Sequence[str]) -> tuple[bool, list[str]]:
    """`--debug` may stand anywhere before `--`, because it is mostly added to a command that just failed."""
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    before, after = arguments[:end], arguments[end:]
    return "--debug" in before, [*(each for each in before if each != "--debug"), *after]


def _with_index(arguments: Sequence[str]) -> list[str]:
    """`--index` may stand anywhere before `--` too: how a store is searched is no matter of one command."""
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    place = next((at for at, each in enumerate(arguments[:end]) if each.split("=")[0] == "--index"), None)
    if place is None:
        return list(arguments)
    from weft import config

    _, equals, spec = arguments[place].partition("=")
    stop = place + (1 if equals else 2)
    if not equals:
        spec = arguments[place + 1] if place + 1 < end else ""
    config.choose_index(spec)
    return [*arguments[:place], *arguments[stop:]]


def _failed(error: Exception, debug: bool) -> int:
    from typer import TyperException

    from weft.errors import StoreError, WeftError

    if debug:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, WeftError):
        _complain(str(error))
        return STORE_PROBLEM if isinstance(error, StoreError) else BAD_INPUT
    if isinstance(error, TyperException):
        _complain(_usage(error))
        return BAD_INPUT
    _complain(
        f"unexpected {type(error).__name__}: {error}" + ("" if debug else " (run again with --debug to see where)")
    )
    return UNEXPECTED


def _usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "weft"
    message = error.format_message()
    return f"{message}{'' if message.endswith(('.', '?')) else '.'} Try `{path} --help`."


def _complain(message: str) -> None:
    sys.stderr.write(f"weft: {message}\n")


def _steady(stream: Any) -> None:
    """Whatever the locale, pages are UTF-8 when piped, and no character can make printing fail."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
