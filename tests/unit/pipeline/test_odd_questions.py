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


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Weft]]:
    path: Path = tmp_path_factory.mktemp("odd")
    nodes = {
        "empty": [],
        "one item": [Node("n:1", "note", title="Lamp", text=SENTENCE)],
        "many small items": [
            Node(f"n:chat:{n}", "note", title="Log", text=f"lamp oil barrels day {n}") for n in range(10_000)
        ],
        "a huge item": [
            Node("n:1", "note", title="Lamp", text=" ".join(SENTENCE.format(number=n) for n in range(66_000)))
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
