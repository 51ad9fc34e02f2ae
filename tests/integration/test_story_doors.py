"""One story through every door: commands, the service and the tools print the same pages and tell more alike."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Cli
from mcp_calls import call, server, text
from rest_service import make_service

from manuscripts import long_manuscript

QUESTION = "Who is Orsolya Feld?"
Ask = Callable[..., str]


@pytest.fixture
def store(cli: Cli, tmp_path: Path) -> Path:
    """A store of the generated book."""
    book = tmp_path / "glass.txt"
    book.write_text(long_manuscript(), encoding="utf-8")
    assert cli("index", book, "--store", tmp_path / "story").code == 0
    return tmp_path / "story"


def by_command(cli: Cli, store: Path, **given: Any) -> str:
    words: list[object] = []
    for name, value in given.items():
        if name == "parameters":
            words += [word for each in value.items() for word in ("--set", f"{each[0]}={each[1]}")]
        else:
            words += [f"--{name.replace('_', '-')}", value]
    done = cli("context", QUESTION, "--profile", "narrative", *words, "--store", store)
    assert done.code == 0, done.err
    return done.out.rstrip("\n")


def by_service(cli: Cli, store: Path, **given: Any) -> str:
    answer = make_service(store).ask(QUESTION, "default", profile="narrative", format="markdown", **given)
    return str(answer["text"]).rstrip("\n")


def by_tool(cli: Cli, store: Path, **given: Any) -> str:
    result = call(server(store=str(store)), "context", topic=QUESTION, profile="narrative", **given)
    return text(result).rstrip("\n")


@pytest.mark.parametrize(
    "given",
    [
        {"preset": "quick"},
        {"preset": "auto"},
        {"preset": "timeline", "as_of": 5},
        {"preset": "relationships", "max_tokens": 900},
        {"parameters": {"max_entities": 1}, "max_tokens": 700, "as_of": 2},
    ],
)
def test_every_door_prints_the_same_page(cli: Cli, store: Path, given: dict[str, Any]) -> None:
    printed = by_command(cli, store, **given)
    assert printed == by_service(cli, store, **given) == by_tool(cli, store, **given)
    assert "### Orsolya Feld (CHARACTER)" in printed


def test_what_a_page_points_to_tells_more_and_nothing_later(cli: Cli, store: Path) -> None:
    page = by_command(cli, store, max_tokens=400, as_of=3)
    key = page.partition("[more: ")[2].partition("]")[0]
    told = cli("show", key, "--as-of", "3", "--store", store)
    assert told.code == 0
    named = [line for line in told.out.splitlines() if line.startswith("  Ch. ")]
    assert list(dict.fromkeys(line.split()[1] for line in named)) == ["1,", "2,", "3,"]
    assert any(line.partition(": ")[2] not in page for line in named)
    assert "Most often with: " in told.out and "Stroud" not in told.out
    assert "Stroud" in cli("show", key, "--store", store).out
    fetched = text(call(server(store=str(store)), "fetch", key=key, as_of=3))
    assert fetched.rstrip() == told.out.rstrip()
    more = by_service(cli, store, preset="profile", as_of=3, start=[key])
    assert len(more) > len(page) and "Stroud" not in more


def test_tools_say_which_presets_and_parameters_there_are(cli: Cli, store: Path) -> None:
    listed = text(call(server(store=str(store)), "lenses", profile="narrative"))
    assert "presets: abstract, analysis, focused, profile, quick" in listed
    assert "auto (by the question)" in listed and "parameters: max_entities, trees" in listed


def test_an_entity_without_a_tie_or_a_text_is_shown_as_it_is(cli: Cli, tmp_path: Path) -> None:
    note = tmp_path / "people.jsonl"
    note.write_text(json.dumps({"id": "a", "kind": "character", "title": "Ada", "text": "Ada is alone."}))
    assert cli("index", note, "--store", tmp_path / "alone").code == 0
    assert cli("show", "Ada", "--store", tmp_path / "alone").out.rstrip().endswith("Ada is alone.")
