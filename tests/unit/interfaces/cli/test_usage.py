"""Help lists every command whole in its section, and its examples are commands that are understood."""

import shlex
from typing import Any

import pytest
import typer

from weft.interfaces.cli import BAD_INPUT, COMMANDS, DONE, SECTIONS, make_app, run
from weft.interfaces.cli.usage import EXAMPLES

LINES = [(name, line) for name, lines in EXAMPLES.items() for line in lines if "COMMAND" not in line]


def test_every_command_stands_in_one_section_with_its_first_sentence_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["--help"]) == DONE
    printed = capsys.readouterr().out
    assert "..." not in printed.replace("milvus://...", "").replace("[ARGS]...", "")
    titles = [f"{title}:\n" for title in SECTIONS]
    assert sorted(titles, key=printed.index) == titles
    listed = {line.split()[0] for line in printed.partition(titles[0])[2].splitlines() if line[:3].strip()}
    assert {*COMMANDS, "version"} <= listed
    assert len(COMMANDS) + 1 == sum(len(commands) for commands in SECTIONS.values())


def test_a_group_lists_its_commands_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tenants", "--help"]) == DONE
    printed = " ".join(capsys.readouterr().out.split())
    assert "print the proof: how many nodes, a digest of their keys, what is left." in printed


@pytest.mark.parametrize(("name", "line"), LINES, ids=[line for _, line in LINES])
def test_an_example_of_the_help_is_understood(name: str, line: str) -> None:
    program, command, *words = shlex.split(line.partition(" > ")[0], comments=True)
    assert (program, command) == ("weft", name or command)
    root: Any = typer.main.get_command(make_app(False, command))
    found = root.commands[command]
    while hasattr(found, "commands"):
        found = found.commands[words.pop(0)]
    # Reading the words refuses options that do not exist and values that an option does not take.
    found.make_context(line, words)


def test_the_help_of_every_command_ends_with_examples() -> None:
    assert {*COMMANDS, ""} - {*EXAMPLES} == set()


def test_every_command_that_prints_an_answer_prints_it_as_json_too() -> None:
    without = set()

    def look(command: Any, words: tuple[str, ...]) -> None:
        for name, below in getattr(command, "commands", {}).items():
            look(below, (*words, name))
        if not hasattr(command, "commands") and not any("--json" in each.opts for each in command.params):
            without.add(" ".join(words))

    look(typer.main.get_command(make_app(False)), ())
    # Servers, a script for shells, and lines of JSON as they are.
    assert without == {"explore", "mcp", "serve", "completion", "tenants export"}


def test_examples_stand_line_by_line_at_the_end_of_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["index", "--help"]) == DONE
    assert capsys.readouterr().out.endswith(
        "\n  Examples:\n" + "".join(f"    {line}\n" for line in EXAMPLES["index"])
    )


@pytest.mark.parametrize("words", [["Where is the key?"], ["where", "is", "the", "key"]])
def test_a_question_without_a_command_is_answered_with_the_command(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == BAD_INPUT
    assert capsys.readouterr().err.strip().endswith(f"To ask a question: weft context {' '.join(words)!r}")
