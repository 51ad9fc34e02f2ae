"""The tokens that an agent reads to answer questions, counted over the example repository."""

import shutil
from pathlib import Path

import pytest
from bench.duel import Question, play, report

from weft import Weft
from weft.tokens import DEFAULT_ENCODING, counter_for

EXAMPLE = Path(__file__).parents[3] / "examples" / "repo"
TEXT = "Which method gives a task back to the queue after an error?"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The example repository, and a store of it."""
    folder = tmp_path_factory.mktemp("duel")
    repository, store = Path(shutil.copytree(EXAMPLE, folder / "repo")), folder / "store"
    with Weft.open(store) as weft:
        weft.index(repository)
    return repository, store


def test_calls_are_sent_until_all_facts_were_printed_and_every_token_counts(world: tuple[Path, Path]) -> None:
    calls = (("echo", "one"), ("echo", "def fail"), ("echo", "never"))
    turn = play(Question(TEXT, ("def fail",), {}), calls, *world)
    assert (turn.calls, turn.missing, turn.printed) == (2, (), "one\ndef fail\n")
    assert turn.tokens == counter_for(DEFAULT_ENCODING)[0].count("one\ndef fail\n")


def test_the_question_that_a_page_repeats_answers_nothing(world: tuple[Path, Path]) -> None:
    turn = play(Question(TEXT, ("after an error",), {}), (("echo", "{question}"),), *world)
    assert turn.missing == ("after an error",)


def test_a_table_has_a_row_for_each_question_and_the_sums_of_the_sides(world: tuple[Path, Path]) -> None:
    sides = {
        "weft": (("weft", "context", "{question}", "--max-tokens", "500"),),
        "nobody": (("echo", "who knows"),),
    }
    question = Question(TEXT, (r"def fail\(",), sides)
    *_, row, total = report([question], *world).split("\n")
    assert row.startswith(r"| 1 | 3 in 1, without def fail\( |")
    assert total.startswith("| all | 3 in 1, 0 of 1 answered |")
    assert total.endswith("1 of 1 answered |")
