"""What commands that hold others share: how they are put together, and how checks and comparisons are printed."""

from collections.abc import Callable, Mapping, Sequence

import typer

from weft.faces.cli import BAD_INPUT, output


def group(help: str, decorated: bool, **commands: Callable[..., None]) -> typer.Typer:
    """A command that holds others and prints its help when none of them is named."""
    app = typer.Typer(help=help, rich_markup_mode="rich" if decorated else None)
    app.callback(invoke_without_command=True)(_help)
    for name, command in commands.items():
        app.command(name)(command)
    return app


def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        output.write(context.get_help())


def write_problems(problems: Mapping[str, Sequence[str]], as_json: bool) -> None:
    """Print what is wrong with each; ends the program with the code for bad input when anything is."""
    if as_json:
        output.write_json(problems)
    else:
        for name, found in problems.items():
            output.write("\n".join(found) or f"{name}: can be used")
    if any(problems.values()):
        raise typer.Exit(BAD_INPUT)


def write_differences(first: str, second: str, differences: Sequence[str], as_json: bool) -> None:
    """Print what differs between two things, value by value."""
    if as_json:
        output.write_json(list(differences))
    elif differences:
        output.write("\n".join(differences))
    else:
        output.note(f"{first} and {second} say the same.")
