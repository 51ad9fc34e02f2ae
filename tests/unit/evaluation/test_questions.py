"""How questions are put."""

import pytest

from weft.errors import InvalidInput, UnknownName
from weft.evaluation import Question, QuestionShape

TOLD = Question("q1", "Who ran?", meta={"story": "The Hare", "place": {"name": "Sel"}, "history": ["one", "two"]})


def test_a_template_takes_values_from_the_meta() -> None:
    assert QuestionShape("{meta.story}, {meta.place.name}: {text}").apply(TOLD).joined == "The Hare, Sel: Who ran?"


def test_a_value_that_one_question_lacks_is_left_blank() -> None:
    assert QuestionShape("{meta.story} {text}").apply(Question("q2", "Who?")).joined == "Who?"


def test_history_is_put_after_the_question_latest_first() -> None:
    assert QuestionShape(history=True).apply(TOLD).joined == "Who ran?\ntwo\none"
    recent = Question("q", "Yes.", meta={"history_recent_first": ["b", "a"], "history": ["x"]})
    assert QuestionShape(history=True).apply(recent).joined == "Yes.\nb\na"


def test_history_may_be_messages_or_one_text() -> None:
    messages = [{"role": "user", "content": "hello"}, {"role": "agent", "text": "hi"}]
    assert (
        QuestionShape(history=True).apply(Question("q", "Yes.", meta={"history": messages})).joined
        == "Yes.\nhi\nhello"
    )
    assert (
        QuestionShape(history=True).apply(Question("q", "Yes.", meta={"history": "hello"})).joined == "Yes.\nhello"
    )


def test_a_placeholder_that_no_question_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"Did you mean 'meta\.story'"):
        QuestionShape("{meta.stry} {text}").check([TOLD])


def test_a_template_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        QuestionShape("{text").check([TOLD])


def test_history_where_there_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="No question has a history"):
        QuestionShape(history=True).check([Question("q", "Who?")])
