"""Lines that a person marked: a score for settings, and a set that `weft eval` reads."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Node, Weft
from weft.errors import InvalidInput
from weft.evaluation import Grade, missing_facts, read_fact_set
from weft.evaluation.marks import MOST_QUESTIONS, Mark, judge_marks, line_fact, to_fact_set
from weft.model import Context

QUESTION = "When is lunch served?"
MARKS = [
    Mark(QUESTION, "- Lunch is **served** at noon in the yellow hall.", True),
    Mark(QUESTION, "Lunch is never served on the moon.", True),
    Mark(QUESTION, "Some say lunch is served when the bell rings.", False),
]


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft", embedder=None) as opened:
        opened.put(
            [
                Node("a:1", "note", title="Times", text="Lunch is served at noon in the yellow hall."),
                Node("a:2", "note", title="Rumours", text="Some say lunch is served when the bell rings."),
            ]
        )
        yield opened


@pytest.mark.parametrize("format", ["markdown", "xml", "plain", "json"])
def test_needed_lines_and_noise_are_found_in_every_format(weft: Weft, format: str) -> None:
    def make_page(question: str) -> Context:
        return weft.context(question, format=format, floor=0)

    score = judge_marks(MARKS, make_page)
    assert (score.found, score.needed, score.shown, score.noise) == (1, 2, 1, 1)
    (judged,) = score.questions
    assert judged.grade is Grade.PARTLY
    assert [there for _, there in judged.needed] == [True, False]


def test_the_set_can_be_read_by_eval_and_means_the_same(weft: Weft, tmp_path: Path) -> None:
    file = tmp_path / "marks.json"
    file.write_text(json.dumps(to_fact_set("mine", MARKS)))
    (question,) = read_fact_set(file).questions
    assert question.text == QUESTION
    page = weft.context(QUESTION, floor=0)
    assert missing_facts(page.text, question, page.page.title) == (line_fact(MARKS[1].line),)


def test_the_last_mark_on_a_line_holds() -> None:
    changed = [Mark(QUESTION, MARKS[0].line, False), MARKS[0]]
    assert to_fact_set("mine", changed)["questions"][0]["meta"] == {"needed": [MARKS[0].line], "noise": []}


def test_marks_that_say_nothing_are_refused_with_what_to_do() -> None:
    with pytest.raises(InvalidInput, match="no words"):
        line_fact("***")
    with pytest.raises(InvalidInput, match="needed"):
        to_fact_set("mine", [MARKS[2]])
    many = [Mark(f"Question {number}?", "A line.", True) for number in range(MOST_QUESTIONS + 1)]
    with pytest.raises(InvalidInput, match="weft eval"):
        judge_marks(many, pytest.fail)
