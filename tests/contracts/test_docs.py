"""What the documents say is so: every option is described, and the README's commands print what it shows."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from weft.interfaces.cli import make_app

ROOT = Path(__file__).parents[2]
CLI = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
README = ROOT / "README.md"


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
    """What docs/cli.md says under the heading of a command."""
    found = re.search(rf"^#+ {re.escape(name)}\n(.*?)(?=^#|\Z)", CLI, re.M | re.S)
    return found[1] if found else ""


@pytest.mark.parametrize("name", sorted(name for name, _ in commands() if name != "weft"))
def test_every_command_has_its_section(name: str) -> None:
    assert section(name).strip(), f"docs/cli.md has no section '{name}'"


@pytest.mark.parametrize(
    ("name", "option"), sorted((name, option) for name, command in commands() for option in options(command))
)
def test_every_option_is_described_in_its_section(name: str, option: str) -> None:
    text = section("For every command") if name == "weft" else section(name)
    assert re.search(rf"`{option}\b", text), f"docs/cli.md does not describe {option} under '{name}'"


def test_no_section_describes_an_option_that_is_gone() -> None:
    for name, command in commands():
        described = set(re.findall(r"^\| `(--[a-z-]+)", section(name), re.M))
        assert described <= set(options(command)), name


def test_the_readme_names_every_command() -> None:
    text = README.read_text(encoding="utf-8")
    for name, _ in commands():
        assert name.rsplit(" ", 1)[-1] in text


def test_the_exit_codes_are_the_same_everywhere() -> None:
    tables = [re.findall(r"^\| (\d+) \|", text, re.M) for text in (CLI, README.read_text(encoding="utf-8"))]
    assert tables[0] == tables[1] == ["0", "1", "2", "3", "4", "130"]


def test_links_between_documents_lead_somewhere() -> None:
    documents = [README, ROOT / "CONTRIBUTING.md", ROOT / "docs" / "cli.md"]
    broken = [
        f"{document.name}: {target}"
        for document in documents
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8"))
        if not (document.parent / target).exists()
    ]
    assert broken == []


# --- the README's commands ---


def steps(text: str) -> list[tuple[str, str]]:
    """The commands of all console blocks, each with the output shown below it."""
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.M | re.S)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def shell(folder: Path) -> dict[str, str]:
    """An environment in which `weft` is this checkout and nothing of the user's is found."""
    programs = folder.parent / "bin"
    programs.mkdir(exist_ok=True)
    weft = programs / "weft"
    weft.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m weft "$@"\n', encoding="utf-8")
    weft.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEFT_", "XDG_"))}
    return {
        **kept,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "HOME": str(folder.parent),
    }


def test_the_readmes_commands_print_what_it_shows(tmp_path: Path) -> None:
    """With README_UPDATE=1 the README is rewritten with what was printed."""
    folder = tmp_path / "empty"
    folder.mkdir()
    text, around = README.read_text(encoding="utf-8"), shell(folder)
    assert steps(text)
    for command, expected in steps(text):
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=around, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        if os.environ.get("README_UPDATE"):
            text = text.replace(f"$ {command}\n{expected}", f"$ {command}\n{done.stdout}")
            continue
        assert done.stdout == expected, f"{command} prints something else; README_UPDATE=1 rewrites the README"
    if os.environ.get("README_UPDATE"):
        README.write_text(text, encoding="utf-8")


def test_the_readmes_python_example_runs(tmp_path: Path) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mara.md").write_text("# Mara\n\nMara keeps the key to the archive.\n", encoding="utf-8")
    around = shell(tmp_path / "notes")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=around, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "key to the archive" in done.stdout
    assert "notes:mara.md" in done.stdout
