"""Read sets of questions with facts, ask them, and grade each page by the facts that stand on it.

A fact is a regular expression. A page from which the question can be answered has a match for each of its facts.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from weft.errors import InvalidInput, UnknownName
from weft.evaluation.report import Row, describe_times, mean, shared_notes
from weft.ports import ReportProgress, TokenCounter

_LAYOUT: Final = 'A set of questions is {"name": "…", "questions": [{"id": "…", "text": "…", "facts": ["…"]}]}.'
"""The advice of every error about the content of a set."""
_SET_KEYS: Final = frozenset({"name", "source", "description", "meta", "questions"})
_QUESTION_KEYS: Final = frozenset({"id", "text", "facts", "description", "meta"})
_MIN_BLANKED_WORDS: Final = 4
"""Words from which a question is blanked wherever a page repeats it; the one word of a shorter question, such as
`config`, stands all over a page that answers it."""
WORD: Final = re.compile(r"[^\W_]+")

OWN_PAGES: Final = "weft"
"""The name of our own pages beside those of the baselines."""


class Grade(StrEnum):
    """Whether a question can be answered from a page: all of its facts are there, at least half, or fewer."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"


class FactQuestion(Struct, frozen=True):
    """One question with the regular expressions that all match a page from which it can be answered."""

    id: str
    text: str
    facts: tuple[str, ...]


class FactSet(Struct, frozen=True):
    """A named list of questions, in the order of their file."""

    name: str
    questions: tuple[FactQuestion, ...]


# --- reading -------------------------------------------------------------------------------------------------


def read_fact_set(path: Path) -> FactSet:
    """Read a set from its JSON file; anything unexpected in it is an error, because a set is written by hand."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInput(f"{str(path)!r} cannot be read: {reason}. {_LAYOUT}") from error
    except ValueError as error:
        raise InvalidInput(f"{str(path)!r} is not JSON in UTF-8: {error}. {_LAYOUT}") from error
    if not isinstance(stored, Mapping):
        raise InvalidInput(f"{str(path)!r} holds a {type(stored).__name__}, not one JSON object. {_LAYOUT}")
    # Before the keys: a file without questions is most likely another kind of file.
    listed = stored.get("questions")
    if not isinstance(listed, list) or not listed:
        raise InvalidInput(f"{str(path)!r} has no questions. {_LAYOUT}")
    _check_keys(stored, _SET_KEYS, f"key of {path.name}")
    questions = tuple(_read_question(record, number) for number, record in enumerate(listed, start=1))
    _check_ids([question.id for question in questions])
    return FactSet(str(stored.get("name") or path.stem), questions)


def _check_keys(record: Mapping[str, Any], allowed: frozenset[str], what: str) -> None:
    for key in record:
        if key not in allowed:
            raise UnknownName(what, key, allowed, "Put what is yours under `meta`.")


def _read_question(record: object, number: int) -> FactQuestion:
    if not isinstance(record, Mapping):
        raise InvalidInput(f"Question {number} is a {type(record).__name__}, not an object. {_LAYOUT}")
    given = record.get("id")
    # Numbers are common as ids; True is a mistake.
    if isinstance(given, bool) or not isinstance(given, str | int) or not str(given).strip():
        raise InvalidInput(f"The id {given!r} of question {number} is not one. Give a string or a whole number.")
    id = str(given).strip()
    _check_keys(record, _QUESTION_KEYS, f"key of question {id!r}")
    text, facts = record.get("text"), record.get("facts")
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"The question {id!r} has no text. {_LAYOUT}")
    if not isinstance(facts, list) or not facts:
        raise InvalidInput(f"The question {id!r} has no facts. {_LAYOUT}")
    return FactQuestion(id, text.strip(), tuple(_read_fact(fact, id) for fact in facts))


def _read_fact(fact: object, id: str) -> str:
    if not isinstance(fact, str) or not fact:
        raise InvalidInput(f"The fact {fact!r} of question {id!r} is not a regular expression. Give a text.")
    try:
        pattern = re.compile(fact)
    except re.error as error:
        raise InvalidInput(
            f"The fact {fact!r} of question {id!r} is not a regular expression: {error}. Escape signs such as "
            "( [ . * + ? with a backslash, which JSON writes as two."
        ) from error
    # An expression that matches nothing at all, such as `a*`, would be fulfilled by an empty page.
    if pattern.search(""):
        raise InvalidInput(f"The fact {fact!r} of question {id!r} matches every page. Name what must stand there.")
    return fact


def _check_ids(ids: Sequence[str]) -> None:
    # Rows and files are named after ids, so that one of two would be lost.
    for number, id in enumerate(ids):
        if id in ids[:number]:
            raise InvalidInput(f"The id {id!r} is that of two questions. Give each its own.")


# --- grading -------------------------------------------------------------------------------------------------


def missing_facts(page: str, question: FactQuestion, title: str = "") -> tuple[str, ...]:
    """Return the facts of a question that a page lacks; the question itself, as in a title, is no fact."""
    body = blank_question(page, question.text, title)
    return tuple(fact for fact in question.facts if re.search(fact, body) is None)


def grade_share(share: float) -> Grade:
    """Return the grade of a page that holds this share of a question's facts."""
    if share >= 1:
        return Grade.YES
    return Grade.PARTLY if share >= 0.5 else Grade.NO


def blank_question(page: str, question: str, title: str) -> str:
    """Return the page without its title, which may hold only the beginning of the question, and the question."""
    # Once, because the title stands first and its words may come back in the text.
    if title_pattern := _pattern(title):
        page = title_pattern.sub("\n", page, count=1)
    pattern = _pattern(question, _MIN_BLANKED_WORDS)
    return pattern.sub("\n", page) if pattern else page


def _pattern(text: str, min_words: int = 1) -> re.Pattern[str] | None:
    """Return a pattern for the words of a text, or None where it has fewer than `min_words`."""
    words = WORD.findall(text)
    return re.compile(words_expression(words)) if len(words) >= min_words else None


def words_expression(words: Iterable[str]) -> str:
    """Return the regular expression for some words, whatever marks, escapes and line breaks stand between them."""
    return r"[\W_]+".join(map(re.escape, words))


# --- judging pages -----------------------------------------------------------------------------------------


class MadePage(Struct, frozen=True):
    """One page as it was made: its text, the title within it (which counts for nothing), and its notes."""

    text: str
    title: str = ""
    notes: tuple[str, ...] = ()


MakePage = Callable[[str, int], MadePage]
"""Makes the page for a question and a budget in tokens."""
KeepPage = Callable[["PageVerdict", str], None]
"""Called with every verdict and the text of its page."""


class PageVerdict(Struct, frozen=True):
    """The verdict on one page: the share of the question's facts that stand on it, and those that do not."""

    question: FactQuestion
    maker: str
    budget: int
    share: float
    missing: tuple[str, ...]
    tokens: int
    milliseconds: float
    notes: tuple[str, ...] = ()

    @property
    def grade(self) -> Grade:
        """Whether the question can be answered from the page."""
        return grade_share(self.share)


class PageExam(Struct, frozen=True):
    """An exam to run: the questions, the budgets in ascending order, and who makes the pages, by name."""

    questions: tuple[FactQuestion, ...]
    budgets: tuple[int, ...]
    makers: Mapping[str, MakePage]
    counter: TokenCounter


def judge_pages(
    exam: PageExam, clock: Callable[[], float], progress: ReportProgress, keep: KeepPage
) -> tuple[PageVerdict, ...]:
    """Ask every question of every maker with every budget, and return the verdicts in that order."""
    verdicts: list[PageVerdict] = []
    for done, question in enumerate(exam.questions, start=1):
        for maker in exam.makers:
            # Budgets innermost: a maker ranks once for a question, and cuts the ranking at each of them.
            for budget in exam.budgets:
                started = clock()
                page = exam.makers[maker](question.text, budget)
                milliseconds = (clock() - started) * 1000
                missing = missing_facts(page.text, question, page.title)
                verdicts.append(
                    PageVerdict(
                        question=question,
                        maker=maker,
                        budget=budget,
                        share=1 - len(missing) / len(question.facts),
                        missing=missing,
                        # Counted here and not taken from the page, so that a page which miscounts is found out.
                        tokens=exam.counter.count(page.text),
                        milliseconds=milliseconds,
                        notes=page.notes,
                    )
                )
                keep(verdicts[-1], page.text)
        progress("asking", done, len(exam.questions))
    return tuple(verdicts)


# --- reports -------------------------------------------------------------------------------------------------


def summarise_pages(verdicts: Sequence[PageVerdict], budgets: Sequence[int]) -> Row:
    """Return the measures of one maker's pages: shares of questions and facts, grades, and what the pages cost."""
    # By budget throughout: what is answered with 8,000 tokens says nothing about 1,000.
    by_budget = {budget: [verdict for verdict in verdicts if verdict.budget == budget] for budget in budgets}
    return {
        **{
            f"answered@{budget}": round(mean([float(one.grade is Grade.YES) for one in some]), 6)
            for budget, some in by_budget.items()
        },
        **{f"facts@{budget}": round(mean([one.share for one in some]), 6) for budget, some in by_budget.items()},
        "grades": {str(budget): _count_grades(some) for budget, some in by_budget.items()},
        "tokens": {
            str(budget): round(mean([one.tokens for one in some]), 1) for budget, some in by_budget.items()
        },
        "budget_violations": sum(verdict.tokens > verdict.budget for verdict in verdicts),
        "unanswered": {
            str(budget): {one.question.id: str(one.grade) for one in some if one.grade is not Grade.YES}
            for budget, some in by_budget.items()
        },
        "latency_ms": describe_times([verdict.milliseconds for verdict in verdicts]),
        "notes": shared_notes([verdict.notes for verdict in verdicts]),
    }


def _count_grades(verdicts: Sequence[PageVerdict]) -> Row:
    counts = Counter(verdict.grade for verdict in verdicts)
    return {str(grade): counts[grade] for grade in Grade}


def verdict_rows(verdicts: Sequence[PageVerdict]) -> list[Row]:
    """Return a row for each question with the verdicts on its pages; `measures` are those that runs compare."""
    questions = {verdict.question.id: verdict.question for verdict in verdicts}
    rows: list[Row] = []
    for id, question in questions.items():
        own = [verdict for verdict in verdicts if verdict.question.id == id]
        makers = dict.fromkeys(verdict.maker for verdict in own if verdict.maker != OWN_PAGES)
        # Our own verdicts stand at the top of a row, where `compare` reads its measures.
        row: Row = {"id": id, "asked": question.text, "facts": list(question.facts)}
        row |= _verdict_values([verdict for verdict in own if verdict.maker == OWN_PAGES])
        row["baselines"] = {
            maker: _verdict_values([verdict for verdict in own if verdict.maker == maker]) for maker in makers
        }
        rows.append(row)
    return rows


def _verdict_values(verdicts: Sequence[PageVerdict]) -> Row:
    """Return the verdicts on one maker's pages for one question, by budget."""
    measures: dict[str, float] = {}
    for verdict in verdicts:
        measures[f"answered@{verdict.budget}"] = float(verdict.grade is Grade.YES)
        measures[f"facts@{verdict.budget}"] = round(verdict.share, 6)
    return {
        "measures": measures,
        "grade": {str(verdict.budget): str(verdict.grade) for verdict in verdicts},
        "missing": {str(verdict.budget): list(verdict.missing) for verdict in verdicts},
        "tokens": {str(verdict.budget): verdict.tokens for verdict in verdicts},
        "latency_ms": {str(verdict.budget): round(verdict.milliseconds, 3) for verdict in verdicts},
    }
