"""The documents are true: every option is described, and links lead somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from weft.interfaces import cli
from weft.interfaces.cli import make_app

ROOT = Path(__file__).parents[2]
OVERVIEW = ROOT / "docs" / "cli.md"
COMMANDS = sorted((ROOT / "docs" / "commands").glob("*.md"))
CLI = "\n".join(page.read_text(encoding="utf-8") for page in (OVERVIEW, *COMMANDS))


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its full name, as Typer knows them."""
    todo = [("weft", typer.main.get_command(make_app(False)))]
    while todo:
        name, command = todo.pop()
        yield name, command
        todo += [(f"{name} {each}", sub) for each, sub in getattr(command, "commands", {}).items()]


def options(command: Any) -> list[str]:
    names = [name for each in command.params for name in (*each.opts, *each.secondary_opts)]
    return sorted(name for name in names if name.startswith("--"))


def section(name: str) -> str:
    """Return what docs/cli.md or a page of docs/commands says under the heading of a command."""
    found = re.search(rf"^#+ {re.escape(name)}\n(.*?)(?=^#|\Z)", CLI, re.M | re.S)
    return found[1] if found else ""


@pytest.mark.parametrize("name", sorted(name for name, _ in commands() if name != "weft"))
def test_every_command_has_its_section(name: str) -> None:
    assert section(name).strip(), f"no page of docs/commands has a section '{name}'"


@pytest.mark.parametrize(
    ("name", "option"), sorted((name, option) for name, command in commands() for option in options(command))
)
def test_every_option_is_described_in_its_section(name: str, option: str) -> None:
    text = section("For every command") if name == "weft" else section(name)
    assert re.search(rf"`{option}\b", text), f"docs/commands does not describe {option} under '{name}'"


def test_no_section_describes_an_option_that_is_gone() -> None:
    for name, command in commands():
        described = set(re.findall(r"^\| `(--[a-z-]+)", section(name), re.M))
        assert described <= set(options(command)), name


def test_the_exit_codes_are_those_of_the_program() -> None:
    codes = (cli.DONE, cli.UNEXPECTED, cli.BAD_INPUT, cli.PARTLY_DONE, cli.STORE_PROBLEM, cli.INTERRUPTED)
    assert re.findall(r"^\| (\d+) \|", CLI, re.M) == [str(code) for code in codes]


def test_links_between_documents_lead_somewhere() -> None:
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]
    broken = [
        f"{document.name}: {target}"
        for document in documents
        for target in re.findall(
            r"\]\(([^)#:]+)\)", re.sub(r"`+[^`]+`+", "", document.read_text(encoding="utf-8"))
        )
        if not (document.parent / target).exists()
    ]
    assert broken == []
