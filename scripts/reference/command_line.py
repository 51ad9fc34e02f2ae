"""Make the reference of the commands from what Typer knows of them."""

from collections.abc import Iterator
from typing import Any

import typer
from scripts.reference.markdown import code, head, page, table

from weft.interfaces.cli import make_app
from weft.interfaces.cli.usage import EXAMPLES, first_sentence


def command_line_page() -> str:
    """Return every command with its usage, arguments and options."""
    lines = head(
        "Commands and options",
        "Every command of `weft` with everything it takes. [The command line](../cli.md) says what they have "
        "in common, and which page explains each at length, with the shape of its JSON.",
    )
    found = list(_commands())
    lines += table(
        ("command", "what it does"),
        (
            (f"[`{name}`](#{name.replace(' ', '-')})", first_sentence(command.help or ""))
            for name, command in found
        ),
    )
    for name, command in found:
        lines += _section(name, command)
    return page(lines)


def _commands() -> Iterator[tuple[str, Any]]:
    """Iterate over the commands in the order of `weft --help`; groups stand before what they hold."""
    root: Any = typer.main.get_command(make_app(False))
    yield from _below("weft", root)


def _below(name: str, group: Any) -> Iterator[tuple[str, Any]]:
    for each, command in group.commands.items():
        if command.hidden:
            continue
        yield f"{name} {each}", command
        if hasattr(command, "commands"):
            yield from _below(f"{name} {each}", command)


def _section(name: str, command: Any) -> list[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    words = [name, *(_argument_name(each) for each in arguments)]
    if hasattr(command, "commands"):
        words.append("COMMAND")
    lines = [f"## {name}", "", f"    {' '.join(words)}{' [OPTIONS]' if options else ''}", ""]
    lines += [str(command.help or "").replace("\n", " ").strip(), ""]
    if examples := EXAMPLES.get(name.removeprefix("weft ")):
        lines += ["For example:", "", *(f"    {example}" for example in examples), ""]
    lines += table(("argument", "meaning"), ((code(_argument_name(each)), each.help or "") for each in arguments))
    rows = (
        (", ".join(code(form) for form in _forms(each)), _default(each), each.help or "")
        for each in options
        if not getattr(each, "hidden", False)
    )
    return [*lines, *table(("option", "default", "meaning"), rows)]


def _argument_name(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return f"{name}{'...' if argument.nargs == -1 and not name.endswith('...') else ''}"


def _forms(option: Any) -> list[str]:
    """Return the option's names, the longest with the value it takes."""
    names = [*option.opts, *option.secondary_opts]
    if option.is_flag:
        return names
    value = option.metavar or option.type.name.upper()
    return [*names[:-1], f"{names[-1]} {value}"]


def _default(option: Any) -> str:
    default = option.default
    if default is None or default is False or default == () or callable(default):
        return ""
    return code("on" if default is True else str(default))
