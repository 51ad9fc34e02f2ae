"""Marks that a person made on pages, lines needed and lines that are noise: a set of questions to be judged by.

A needed line becomes a fact of its question (fact_sets.py), so that `weft eval` measures other settings with it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Struct

from weft.errors import InvalidInput
from weft.evaluation.fact_sets import WORD, FactQuestion, Grade, grade_share, missing_facts, words_expression
from weft.model import Context

MOST_QUESTIONS: Final = 60
"""Questions that are judged at once: each makes a page, and a person waits for all of them."""
_MOST_WORDS: Final = 24
"""Words of a line that a fact holds: a page that breaks or cuts a long line later still has its beginning."""


class Mark(Struct, frozen=True):
    """One line of a page about a question, needed or noise."""

    question: str
    line: str
    needed: bool


class MarkedQuestion(Struct, frozen=True):
    """A question with its marked lines, each with whether the page of some settings shows it."""

    question: str
    grade: Grade | None
    """Whether the page answers it; None where only noise was marked."""
    needed: tuple[tuple[str, bool], ...]
    noise: tuple[tuple[str, bool], ...]
    tokens: int
    max_tokens: int | None


class MarkScore(Struct, frozen=True):
    """All marked questions under some settings: needed lines that are there, and noise that is shown."""

    questions: tuple[MarkedQuestion, ...]
    needed: int
    found: int
    noise: int
    shown: int


def line_fact(line: str) -> str:
    """Return the regular expression for a line, whatever marks and line breaks stand between its words."""
    words = WORD.findall(line)[:_MOST_WORDS]
    if not words:
        raise InvalidInput(f"The line {line!r} has no words. Mark a line that says something.")
    return words_expression(words)


def judge_marks(marks: Sequence[Mark], make_page: Callable[[str], Context]) -> MarkScore:
    """Return how the pages that a function makes for the marked questions do on the marks."""
    by_question = _group(marks)
    if len(by_question) > MOST_QUESTIONS:
        raise InvalidInput(
            f"{len(by_question)} questions are marked; at most {MOST_QUESTIONS} are judged at once. "
            "`weft eval` takes all of them."
        )
    judged = tuple(_judge(question, own, make_page(question)) for question, own in by_question.items())
    return MarkScore(
        questions=judged,
        needed=sum(len(each.needed) for each in judged),
        found=sum(is_there for each in judged for _, is_there in each.needed),
        noise=sum(len(each.noise) for each in judged),
        shown=sum(is_there for each in judged for _, is_there in each.noise),
    )


def _group(marks: Sequence[Mark]) -> dict[str, list[Mark]]:
    """Return the marks by question; of two marks on one line the later holds."""
    by_question: dict[str, dict[str, Mark]] = {}
    for mark in marks:
        if mark.question.strip():
            by_question.setdefault(mark.question.strip(), {})[mark.line.strip()] = mark
    return {question: [*lines.values()] for question, lines in by_question.items()}


def _judge(question: str, marks: Sequence[Mark], context: Context) -> MarkedQuestion:
    facts = {mark.line: line_fact(mark.line) for mark in marks}
    asked = FactQuestion("marked", question, tuple(facts.values()))
    missing = set(missing_facts(context.text, asked, context.page.title))
    needed = tuple((mark.line, facts[mark.line] not in missing) for mark in marks if mark.needed)
    noise = tuple((mark.line, facts[mark.line] not in missing) for mark in marks if not mark.needed)
    grade = grade_share(sum(there for _, there in needed) / len(needed)) if needed else None
    return MarkedQuestion(question, grade, needed, noise, context.tokens, context.max_tokens)


def to_fact_set(name: str, marks: Sequence[Mark]) -> dict[str, Any]:
    """Return the set that `weft eval` reads: needed lines as facts, noise kept under `meta`."""
    questions = []
    for number, (question, own) in enumerate(_group(marks).items(), start=1):
        needed = [mark.line for mark in own if mark.needed]
        # A question that only has noise has nothing that a page could be measured by.
        if needed:
            noise = [mark.line for mark in own if not mark.needed]
            facts = list(dict.fromkeys(line_fact(line) for line in needed))
            questions.append(
                {"id": f"M{number}", "text": question, "facts": facts, "meta": {"needed": needed, "noise": noise}}
            )
    if not questions:
        raise InvalidInput(
            "No line is marked as needed yet. Mark at least one, so that there is something to find."
        )
    return {"name": name, "description": "Lines that were marked in the explorer.", "questions": questions}
