"""Sets of questions with facts: what can be read, what is refused, and how a page is graded."""

import json
from pathlib import Path
from typing import Any

import pytest

from weft.errors import InvalidInput, UnknownName
from weft.evaluation.fact_sets import FactQuestion, Grade, grade_share, missing_facts, read_fact_set

KEEPER = {"id": "q1", "text": "Who keeps the harbour archive?", "facts": ["Mara\\s+Venn"]}
QUESTION = FactQuestion("q1", "Who keeps the harbour_archive, and where?", ("archive", "old tower"))


def read(tmp_path: Path, content: Any) -> Any:
    path = tmp_path / "set.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_fact_set(path)


def test_a_set_keeps_its_name_and_the_order_of_its_questions(tmp_path: Path) -> None:
    second = {"id": 2, "text": " Where? ", "facts": ["a", "b|c"], "meta": {"kind": "place"}}
    found = read(tmp_path, {"name": "harbour", "source": "a folder", "questions": [KEEPER, second]})
    assert (found.name, [question.id for question in found.questions]) == ("harbour", ["q1", "2"])
    assert found.questions[1] == FactQuestion("2", "Where?", ("a", "b|c"))
    assert read(tmp_path, {"questions": [KEEPER]}).name == "set"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ([KEEPER], "holds a list"),
        ({"name": "x"}, "has no questions"),
        ({"questions": []}, "has no questions"),
        ({"questions": ["Who?"]}, "Question 1 is a str"),
        ({"questions": [{"text": "Who?", "facts": ["a"]}]}, "The id None of question 1"),
        ({"questions": [{**KEEPER, "text": " "}]}, "The question 'q1' has no text"),
        ({"questions": [{**KEEPER, "facts": []}]}, "The question 'q1' has no facts"),
        ({"questions": [{**KEEPER, "facts": [3]}]}, "The fact 3 of question 'q1'"),
        ({"questions": [{**KEEPER, "facts": ["Mara", "Venn("]}]}, r"The fact 'Venn\(' of question 'q1' is not"),
        ({"questions": [{**KEEPER, "facts": ["a*"]}]}, "matches every page"),
        ({"questions": [KEEPER, KEEPER]}, "The id 'q1' is that of two questions"),
    ],
)
def test_what_is_wrong_with_a_set_is_named(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read(tmp_path, content)


def test_unknown_keys_are_refused_with_the_nearest_known_one(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"Unknown key of set\.json 'nmae'\. Did you mean 'name'"):
        read(tmp_path, {"nmae": "x", "questions": [KEEPER]})
    with pytest.raises(UnknownName, match="Unknown key of question 'q1' 'fact'"):
        read(tmp_path, {"questions": [{**KEEPER, "fact": "x"}]})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"absent\.json' cannot be read"):
        read_fact_set(tmp_path / "absent.json")


def test_every_fact_must_stand_on_the_page() -> None:
    assert missing_facts("The archive is in the old tower.", QUESTION) == ()
    assert missing_facts("The archive is old.", QUESTION) == ("old tower",)


def test_the_question_on_the_page_counts_for_nothing_however_it_is_escaped_and_broken() -> None:
    repeated = f"# {QUESTION.text}\n\nNothing is known.\n\n> Who keeps the harbour\\_archive,\n> and where?"
    assert missing_facts(repeated, QUESTION) == QUESTION.facts


def test_a_title_that_holds_only_the_beginning_of_the_question_counts_for_nothing() -> None:
    page = "# Context: Who keeps the harbour\\_archive…\n\nThe old tower."
    assert missing_facts(page, QUESTION, "Context: Who keeps the harbour_archive…") == ("archive",)


def test_the_word_of_a_short_question_is_not_taken_from_the_text() -> None:
    question = FactQuestion("q", "harbour archive?", ("the harbour archive is",))
    assert (
        missing_facts("# harbour archive?\n\nHere the harbour archive is kept.", question, "harbour archive?")
        == ()
    )


@pytest.mark.parametrize(("share", "grade"), [(1.0, Grade.YES), (0.5, Grade.PARTLY), (0.49, Grade.NO)])
def test_half_of_the_facts_is_partly(share: float, grade: Grade) -> None:
    assert grade_share(share) is grade
