"""An error about a missing part names the command that brings it, for the way in which Weft was installed."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from weft.errors import MissingExtra, MissingPackage

ROOT = Path(__file__).parents[2]
EXTRAS = ["serve", "mcp", "agents", "documents", "postgres", "milvus", "quality", "all"]


@pytest.mark.parametrize(
    ("prefix", "extra_command", "package_command"),
    [
        ("/home/ann/project/.venv", "pip install 'weft-context[mcp]'", "pip install httpx attrs"),
        (
            "/home/ann/.local/share/pipx/venvs/weft-context",
            "pipx install --force 'weft-context[mcp]'",
            "pipx inject weft-context httpx attrs",
        ),
        (
            r"C:\Users\Ann\AppData\Roaming\uv\tools\weft-context",
            "uv tool install 'weft-context[mcp]'",
            "uv tool install --with httpx,attrs weft-context",
        ),
        (
            "/home/ann/.cache/uv/archive-v0/Xy3",
            "uvx --from 'weft-context[mcp]' weft ...",
            "uvx --with httpx,attrs --from weft-context weft ...",
        ),
    ],
)
def test_the_command_suits_the_installation(
    monkeypatch: pytest.MonkeyPatch, prefix: str, extra_command: str, package_command: str
) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    assert str(MissingExtra("The server", "mcp")).endswith(f"Install it with: {extra_command}")
    assert str(MissingPackage("The client", "httpx", "attrs")).endswith(f"Install it with: {package_command}")


def test_there_are_few_extras_and_every_one_that_is_named_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert list(project["optional-dependencies"]) == EXTRAS
    named: set[str] = set()
    for file in (*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"):
        text = file.read_text("utf-8")
        for found in re.findall(r"weft-context\[([a-z,-]+)\]|MissingExtra\([^)]*, \"([a-z-]+)\"\)", text):
            named |= set("".join(found).split(","))
    assert named <= set(EXTRAS)
    assert {"serve", "mcp", "documents", "postgres", "milvus", "quality"} <= named


def test_no_document_or_message_installs_the_other_package_of_that_name() -> None:
    for folder, pattern in (("src", "*.py"), ("docs", "*.md"), ("deploy", "*"), ("examples", "*")):
        for file in (ROOT / folder).rglob(pattern):
            if file.is_file():
                text = file.read_text("utf-8", errors="ignore")
                assert not re.search(r"(?:pip|pipx|uv tool) install '?weft(?:\[|'|\s|$)", text), file
