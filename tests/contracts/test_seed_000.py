"""What the design of the Smart Context Formatter says of its page, its log and its failures."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from weft import Node, Weft
from weft.assemblers import SmartContextFormatter
from weft.tokens import counter_for

VAULT = "story"
QUERY = "Who is Odo Farrant?"
COUNT, _ = counter_for("cl100k_base")


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    with Weft.open(tmp_path_factory.mktemp("story") / ".weft") as opened:
        people = {"Odo Farrant": "the tide clerk", "Mira Holt": "the lamp keeper"}
        opened.put(
            [
                *(
                    Node(
                        f"s:{name[:3]}", "character", VAULT, title=name, text=f"{name} was {what} of the harbour."
                    )
                    for name, what in people.items()
                ),
                *(
                    Node(
                        f"s:ch{number}",
                        "chapter",
                        VAULT,
                        title=f"Chapter {number}",
                        text=f"Odo Farrant met Mira Holt on day {number}. Odo Farrant counted the boats.",
                        sequence=number,
                    )
                    for number in range(1, 9)
                ),
            ]
        )
        yield opened


def formatted(weft: Weft, query: str = QUERY, **given: Any) -> tuple[str, list[Any]]:
    """Return the page and the lines of the log."""
    with capture_logs() as logs:
        page = asyncio.run(SmartContextFormatter().format_context(query, VAULT, session=weft, **given))
    return page, logs


def test_the_structure_is_title_key_entities_and_general_context(weft: Weft) -> None:
    page, _ = formatted(
        weft, entities=["Odo Farrant"], documents=[{"title": "Tides", "content": "All was quiet."}]
    )
    assert page.startswith("# Context for Query: ")
    entities, documents = page.index("## Key Entities"), page.index("## General Context")
    assert entities < page.index("### Odo Farrant (CHARACTER)") < page.index("**Definition:**") < documents


@pytest.mark.parametrize("tokens", [120, 600, 3000])
def test_budgets_are_strict(weft: Weft, tokens: int) -> None:
    page, _ = formatted(weft, max_total_tokens=tokens)
    assert 0 < COUNT.count(page) <= tokens


def test_entity_context_built_is_logged_for_entities_found_in_the_store(weft: Weft) -> None:
    page, logs = formatted(weft)
    built = [entry for entry in logs if entry["event"] == "entity_context_built"]
    assert "Odo Farrant" in {entry["entity"] for entry in built}
    assert all(f"### {entry['entity']} " in page for entry in built)
    assert {entry["log_level"] for entry in built} == {"debug"}
    assert all(entry["tokens"] > 0 for entry in built)


def test_complete_counts_the_entities_found_in_the_store(weft: Weft) -> None:
    page, logs = formatted(weft)
    assert logs[-1]["event"] == "smart_context_formatting_complete"
    assert logs[-1]["entities"] == page.count("\n### ") > 0


@pytest.mark.parametrize("entities", [None, ["Odo Farrant"]])
def test_max_entities_of_zero_prints_none(weft: Weft, entities: list[str] | None) -> None:
    documents = None if entities is None else [{"title": "Tides", "content": "All was quiet."}]
    page, _ = formatted(weft, entities=entities, documents=documents, max_entities=0)
    assert "## General Context" in page
    assert "## Key Entities" not in page


@pytest.mark.parametrize("wrong", ["the end", [], float("inf")])
def test_a_bad_max_sequence_is_an_error_in_the_log_and_a_note_on_the_page(weft: Weft, wrong: object) -> None:
    page, logs = formatted(weft, max_sequence=wrong)
    assert page.startswith(f"*Note: max_sequence {wrong!r} is no whole number")
    assert "boats" not in page
    assert [entry["event"] for entry in logs if entry["log_level"] == "error"] == [
        "smart_context_sequence_invalid"
    ]
    assert formatted(weft, max_sequence=wrong, max_total_tokens=5)[0] == ""


def test_only_content_up_to_max_sequence_is_shown(weft: Weft) -> None:
    page, _ = formatted(weft, max_sequence=3)
    assert "day 3" in page
    assert "day 4" not in page


def test_it_never_throws_exceptions_up(weft: Weft) -> None:
    page, logs = formatted(weft, entities=[object()], documents=[object()], preset="none such")
    assert page == ""
    assert logs[-1]["event"] == "smart_context_formatting_complete"


def test_an_entity_without_context_falls_back_to_its_description(weft: Weft) -> None:
    page, logs = formatted(weft, entities=[{"id": "x", "name": "Zeno", "description": "A stranger."}])
    assert "A stranger." in page
    assert ("entity_context_build_failed", "warning") in {(each["event"], each["log_level"]) for each in logs}
