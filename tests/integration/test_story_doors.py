"""One story through every door: commands, the service and the tools print the same pages and tell more alike."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Cli
from mcp_calls import call, server, text

from manuscripts import PRESET_BUDGETS, long_manuscript
from rest_service import make_service
from weft import Node, Weft
from weft.assemblers import SmartContextFormatter
from weft.tokens import counter_for

QUESTION = "Who is Orsolya Feld?"
SURNAMES = ("Abel", "Bann", "Cade", "Dorn", "Eyre", "Fenn")
COUNT, _ = counter_for("cl100k_base")


@pytest.fixture
def store(cli: Cli, tmp_path: Path) -> Path:
    """A store of the generated book."""
    book = tmp_path / "glass.txt"
    book.write_text(long_manuscript(), encoding="utf-8")
    assert cli("index", book, "--store", tmp_path / "story").code == 0
    return tmp_path / "story"


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with more people than any preset tells of, and more text than any holds."""
    people = ["Orsolya Feld", *(f"{given} {name}" for given in ("Ivo", "Ada", "Una") for name in SURNAMES)]
    notes = [Node(f"c:{name}", "character", title=name, text=f"{name} {_told(name)}") for name in people]
    chapters = [
        Node(f"c:{at}", "chapter", title=f"Chapter {at}", sequence=at, text=_scene(at, people))
        for at in range(1, 41)
    ]
    with Weft.open(tmp_path_factory.mktemp("crowd") / "store", embedder=None) as weft:
        weft.put([*notes, *chapters])
        return weft.folder


def _told(seed: str) -> str:
    """Words that nobody else has."""
    things = ("tide", "lamp", "rope", "salt", "table", "clerk", "flute", "boat", "key", "ink")
    return " ".join(f"{things[at % 10]}{seed.lower().replace(' ', '')}{at}" for at in range(10)) + "."


def _scene(at: int, people: list[str]) -> str:
    met = (people[1 + (at + step) % (len(people) - 1)] for step in range(4))
    return "\n\n".join(f"Orsolya Feld met {each} with {_told(f'{each}{at}')}" for each in met)


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


def by_facade(cli: Cli, store: Path, **given: Any) -> str:
    names = {"max_tokens": "max_total_tokens", "as_of": "max_sequence"}
    asked = {names.get(name, name): value for name, value in given.items() if name != "parameters"}
    asked |= given.get("parameters", {})
    if asked.get("preset") == "auto":
        asked = {**asked, "preset": None, "adaptive": True}
    with Weft.open(store) as weft:
        return asyncio.run(SmartContextFormatter(weft).format_context(QUESTION, "default", **asked)).rstrip("\n")


DOORS = (by_command, by_service, by_tool, by_facade)


@pytest.mark.parametrize(
    "given",
    [
        *(
            {"preset": preset}
            for preset in ("quick", "standard", "analysis", "profile", "relationships", "timeline")
        ),
        {},
        {"preset": "auto"},
        {"preset": "auto", "max_tokens": 8000},
        {"preset": "auto", "parameters": {"max_entities": 5}},
        {"preset": "timeline", "as_of": 5},
        {"preset": "relationships", "max_tokens": 900},
        {"preset": "quick", "max_tokens": 8000, "parameters": {"max_entities": 5}},
        {"parameters": {"max_entities": 1}, "max_tokens": 700, "as_of": 2},
        {"max_tokens": 900, "as_of": 24},
    ],
)
def test_every_door_prints_the_same_page(cli: Cli, store: Path, given: dict[str, Any]) -> None:
    printed, *others = (door(cli, store, **given) for door in DOORS)
    assert [each == printed for each in others] == [True] * 3
    assert "### Orsolya Feld (CHARACTER)" in printed


@pytest.mark.parametrize(("preset", "tokens", "entities"), PRESET_BUDGETS)
def test_a_preset_has_its_numbers_and_explicit_ones_win(
    cli: Cli, crowd: Path, preset: str, tokens: int, entities: int
) -> None:
    printed = by_tool(cli, crowd, preset=preset)
    assert printed.count("\n### ") == entities
    assert 0.9 * tokens <= COUNT.count(printed) <= tokens
    fewer = by_tool(cli, crowd, preset=preset, max_tokens=2500, parameters={"max_entities": 3})
    assert fewer.count("\n### ") == 3
    assert 0.9 * 2500 <= COUNT.count(fewer) <= 2500


@pytest.mark.parametrize("point", [-1, 10**30, "Chapter 3", 2.5, True])
def test_a_point_that_no_story_has_is_refused_with_what_is_allowed(cli: Cli, store: Path, point: Any) -> None:
    asked = {"query": QUESTION, "tenant_ids": ["default"], "profile": "narrative", "as_of": point}
    refused = make_service(store).http.post("/api/context", json=asked)
    assert refused.status_code == 422 and "as_of" in refused.text
    result = call(server(store=str(store)), "context", topic=QUESTION, profile="narrative", as_of=point)
    assert result.is_error and "number" in result.content[0].text and "Unexpected" not in result.content[0].text


@pytest.mark.parametrize("point", [-1, 10**30])
def test_the_formatter_tells_nothing_as_of_a_point_that_no_story_has(cli: Cli, store: Path, point: Any) -> None:
    assert by_facade(cli, store, as_of=point) == ""


def test_the_formatter_says_that_a_point_is_no_number_and_tells_nothing_else(cli: Cli, store: Path) -> None:
    told = by_facade(cli, store, as_of="Chapter 3")
    assert told.startswith("*Note: max_sequence 'Chapter 3' is no whole number, so nothing of the story is shown.")
    assert told.count("\n") == 0


def test_as_of_a_prologue_that_there_is_not_nothing_is_told(cli: Cli, store: Path) -> None:
    assert {door(cli, store, as_of=0) for door in DOORS[:3]} == {
        f"# Context for Query: {QUESTION}\n\n*Note: No matching nodes found.*"
    }
    assert by_facade(cli, store, as_of=0) == ""


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
