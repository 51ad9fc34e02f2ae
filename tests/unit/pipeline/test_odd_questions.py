"""Odd stores and odd questions: every page keeps its budget, and nothing raises."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Node, Weft

QUESTIONS = {
    "a stop word": "the",
    "nothing": "",
    "five thousand words": "harbour lamp oil barrels " * 1250,
    "Chinese": "港口的灯每月烧多少桶油？",
    "digits": "1234567890",
    "an emoji": "🦊",
}
SENTENCE = "The harbour lamp burns nine barrels of whale oil in winter month {number}."
PEOPLE = ("Mara", "Tom", "the captain", "Jonas", "my sister", "the new boy", "the harbour master")
DEEDS = ("filled", "cleaned", "checked", "mended", "carried")
TIMES = (
    "at dusk",
    "at dawn",
    "today",
    "again",
    "alone",
    "late",
    "early",
    "on Monday",
    "twice",
    "for Lise",
    "slowly",
)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Weft]]:
    path: Path = tmp_path_factory.mktemp("odd")
    nodes = {
        "empty": [],
        "one item": [Node("n:1", "note", title="Lamp", text=SENTENCE)],
        "many small items": [
            Node(f"n:chat:{n}", "note", title="Log", text=f"lamp oil barrels day {n}") for n in range(10_000)
        ],
        # A million words in just under the five million characters that a node may have.
        "a huge item": [
            Node(
                "n:1",
                "note",
                title="Lamp",
                text=" ".join(f"The lamp burns oil by day {n}." for n in range(143_000)),
            )
        ],
        "a chat of short turns": [
            Node(
                f"m:chat:harbour:{n}",
                "message",
                title="Harbour chat",
                text=f"{PEOPLE[n % 7]} {DEEDS[n % 5]} the lamp {TIMES[n % 11]}, that was trip {n}.",
                sequence=n,
            )
            for n in range(2_000)
        ],
    }
    opened = {name: Weft.open(path / name.replace(" ", "-")) for name in nodes}
    for name, weft in opened.items():
        weft.put(nodes[name])
    yield opened
    for weft in opened.values():
        weft.close()


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())
@pytest.mark.parametrize("store", ["empty", "one item", "many small items", "a huge item"])
@pytest.mark.parametrize("floor", [None, 0.0, 1.0])
def test_a_page_keeps_its_budget(stores: dict[str, Weft], store: str, question: str, floor: float | None) -> None:
    context = stores[store].context(question, max_tokens=500, floor=floor)
    assert context.tokens <= 500


@pytest.mark.parametrize("store", ["one item", "many small items", "a huge item"])
def test_a_floor_of_0_speaks_and_a_floor_of_1_does_not(stores: dict[str, Weft], store: str) -> None:
    question = "How much oil does the lamp burn in one month?"
    assert stores[store].context(question, max_tokens=500, floor=0.0).sources
    assert not stores[store].context(question, max_tokens=500, floor=1.0).sources


@pytest.mark.parametrize(
    ("store", "question"),
    [("many small items", "lamp oil barrels"), ("a chat of short turns", "Who filled the lamp?")],
)
@pytest.mark.parametrize("budget", [1_000, 8_000, 32_000])
def test_short_items_fill_a_page_of_any_size(
    stores: dict[str, Weft], store: str, question: str, budget: int
) -> None:
    context = stores[store].context(question, max_tokens=budget)
    assert 0.9 * budget <= context.tokens <= budget
    assert stores[store].context(question, max_tokens=budget).text == context.text


def test_a_silent_page_seeks_no_further_candidates(stores: dict[str, Weft]) -> None:
    question = "How much oil does the lamp burn in one month?"
    context = stores["many small items"].context(question, max_tokens=8_000, floor=1.0)
    assert not context.sources
    assert context.stats["candidates"] < 200


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())
@pytest.mark.parametrize("store", ["empty", "one item", "many small items", "a huge item"])
def test_a_search_answers_within_its_limit_with_relevances_that_never_rise(
    stores: dict[str, Weft], store: str, question: str
) -> None:
    found = stores[store].search(question, limit=5, floor=0.0).candidates
    relevances = [candidate.score for candidate in found]
    assert len(found) <= 5
    assert relevances == sorted(relevances, reverse=True)
    assert all(0.0 <= relevance <= 1.0 for relevance in relevances)
