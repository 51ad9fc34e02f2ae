"""Write docs/weft.1, the manual page, from the commands themselves: `python scripts/man_page.py`.

The wheel installs it under share/man, where pipx and most systems look.
"""

from pathlib import Path

from weft import __version__
from weft.interfaces.cli.completion import CommandHelp, OptionHelp, describe_commands
from weft.interfaces.cli.usage import EXAMPLES

PAGE = Path(__file__).parents[1] / "docs" / "weft.1"
EXIT_CODES = (
    ("0", "done"),
    ("1", "an unexpected error; run again with --debug"),
    ("2", "bad usage or input"),
    ("3", "partly done: some records were skipped, the rest was indexed"),
    ("4", "the store cannot be found, opened, read or written, or weft doctor found a problem"),
    ("130", "interrupted; the same command continues where it stopped"),
)
ENVIRONMENT = (
    ("WEFT_STORE", "the folder of the store, or its postgresql:// URL"),
    ("WEFT_INDEX", "how a store on a server is searched, as --index"),
    ("WEFT_EMBEDDER", "the embedder, as --embedder"),
    ("WEFT_API_KEY", "the key of the endpoint of an openai: embedder"),
    ("WEFT_ASK_URL, WEFT_ASK_MODEL, WEFT_ASK_KEY", "the language model that weft ask asks"),
    ("WEFT_TANA_TOKEN", "the token of a tana: source"),
    ("NO_COLOR", "print without colours"),
)


def make_page() -> str:
    """Return the manual page."""
    program = describe_commands()
    lines = [
        f'.TH WEFT 1 "" "weft {__version__}" "User Commands"',
        ".SH NAME",
        r"weft \- weave what is known into one page that fits a token budget",
        ".SH SYNOPSIS",
        r".B weft",
        r"\fICOMMAND\fR [\fIOPTIONS\fR]",
        ".SH DESCRIPTION",
        _escape(program.help),
        ".SH OPTIONS",
        *_options(program.options),
        ".SH COMMANDS",
    ]
    for command in program.commands:
        lines += _command(command)
    lines += [".SH EXIT STATUS"]
    for code, meaning in EXIT_CODES:
        lines += [".TP", f".B {code}", _escape(meaning)]
    lines += [".SH ENVIRONMENT"]
    for name, meaning in ENVIRONMENT:
        lines += [".TP", f".B {name}", _escape(meaning)]
    return "\n".join(lines) + "\n"


def _command(command: CommandHelp) -> list[str]:
    arguments = " ".join(rf"\fI{_escape(name)}\fR" for name in command.arguments)
    lines = [f'.SS "weft {" ".join(command.path)}"']
    if arguments:
        lines += [rf"\fBweft {' '.join(command.path)}\fR {arguments}", ".PP"]
    lines += [_escape(" ".join(command.help.split())), *_options(command.options)]
    if examples := EXAMPLES.get(" ".join(command.path)):
        lines += [".PP", "Examples:", ".EX", *map(_escape, examples), ".EE"]
    for inner in command.commands:
        lines += _command(inner)
    return lines


def _options(options: tuple[OptionHelp, ...]) -> list[str]:
    lines = []
    for option in options:
        names = ", ".join(rf"\fB{_escape(name)}\fR" for name in option.names)
        value = rf" \fI{_escape(option.value)}\fR" if option.value else ""
        lines += [".TP", f"{names}{value}", _escape(" ".join(option.help.split()))]
    return lines


def _escape(text: str) -> str:
    """Return text in which nothing is read as a command of the manual's own language."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    PAGE.write_text(make_page(), "utf-8")
