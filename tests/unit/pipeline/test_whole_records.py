"""Records, such as abstracts or entries of a help desk: each is printed whole, with the score of the whole."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from weft import Node, Weft
from weft.model import Candidate, Detail
from weft.pipeline.slots import are_records

FILLER = "The committee met again in the long room and postponed every other matter until the spring of the year."
ANSWER = "The harbour lamp burns nine barrels of whale oil in a winter month, says the keeper of the stores."
QUESTION = "How many barrels of whale oil does the harbour lamp burn?"


def record(number: int, sentence: str = FILLER) -> Node:
    others = [f"{FILLER} Item {number}.{part} was read twice." for part in range(8)]
    return Node(f"n:record {number}x", "note", title=f"Minutes {number}", text="\n\n".join([*others, sentence]))


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft") as opened:
        yield opened


def details(weft: Weft, budget: int) -> dict[str, Detail | None]:
    return {entry.key: entry.detail for entry in weft.context(QUESTION, max_tokens=budget).ledger}


def test_a_record_among_records_is_printed_whole(weft: Weft) -> None:
    weft.put([record(0, ANSWER), *(record(number) for number in range(1, 12))])
    assert details(weft, 3000)["n:record 0x"] is Detail.WHOLE


def test_on_a_page_that_holds_hardly_one_record_the_best_part_is_printed(weft: Weft) -> None:
    weft.put([record(0, ANSWER), *(record(number) for number in range(1, 12))])
    context = weft.context(QUESTION, max_tokens=250)
    assert "nine barrels" in context.text
    assert next(entry.detail for entry in context.ledger if entry.key == "n:record 0x") is Detail.EXCERPT


def candidate(text_tokens: int, **node: Any) -> Candidate:
    return Candidate(Node("n:1", node.pop("kind", "note"), text=FILLER, **node), text_tokens=text_tokens)


def test_candidates_are_records_where_nearly_all_are_short_and_several_fit_the_page() -> None:
    short, long = candidate(300), candidate(2_000)
    assert are_records([short] * 9 + [long], 3_000)
    assert not are_records([short] * 8 + [long] * 2, 3_000)
    assert not are_records([short] * 9, 2_900)
    assert not are_records([], 3_000)


@pytest.mark.parametrize(
    "node", [{"kind": "scene"}, {"kind": "message"}, {"kind": "commit"}, {"language": "python"}]
)
def test_pieces_of_something_longer_and_code_are_no_records(node: dict[str, str]) -> None:
    assert not are_records([candidate(300, **node)] * 9, 4_000)


def test_what_the_shape_of_a_question_asks_for_is_not_ranked_with_records() -> None:
    assert not are_records([candidate(300)] * 9 + [replace(candidate(300), parts={"shape": 0.5})], 4_000)


def test_what_whole_records_leave_is_filled_with_parts_of_the_next_ones(weft: Weft) -> None:
    lamps = [
        record(number, f"The harbour lamp of quay {number} burns whale oil, {number} barrels.")
        for number in range(20)
    ]
    weft.put([*lamps, *(record(number) for number in range(20, 60))])
    context = weft.context(QUESTION, max_tokens=2500)
    printed = [entry.detail for entry in context.ledger if entry.detail in (Detail.WHOLE, Detail.EXCERPT)]
    assert printed.count(Detail.WHOLE) >= 8
    assert context.tokens >= 0.95 * 2500


@pytest.mark.parametrize("budget", [60, 500, 1500, 3000, 4000])
def test_a_page_of_records_keeps_its_budget(weft: Weft, budget: int) -> None:
    weft.put([record(0, ANSWER), *(record(number) for number in range(1, 12))])
    assert weft.context(QUESTION, max_tokens=budget).tokens <= budget


def test_the_parts_of_a_longer_text_stand_beside_records_by_the_score_of_the_text(weft: Weft) -> None:
    long = "\n\n".join([*[f"{FILLER} Item {number}." for number in range(40)], ANSWER])
    weft.put([
        Node("n:long", "note", title="Years", text=long),
        *(record(number, "The lamp was lit.") for number in range(1, 19)),
    ])  # fmt: skip
    assert "nine barrels" in weft.context(QUESTION, max_tokens=3000).text
