"""Judge pages: ask the questions of a set, grade each page by its facts, and report how many can be answered."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from weft.evaluation.fact_sets import FactQuestion, Grade, grade_share, missing_facts
from weft.evaluation.report import Row, mean, percentile
from weft.evaluation.run import Progress
from weft.ports import TokenCounter

OWN_PAGES: Final = "weft"
"""The name of our own pages beside those of the baselines."""


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
    exam: PageExam, clock: Callable[[], float], progress: Progress, keep: KeepPage
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
    times = [verdict.milliseconds for verdict in verdicts]
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
        "latency_ms": {"p50": round(percentile(times, 0.5), 3), "p95": round(percentile(times, 0.95), 3)},
        "notes": _shared_notes(verdicts),
    }


def _count_grades(verdicts: Sequence[PageVerdict]) -> Row:
    counts = Counter(verdict.grade for verdict in verdicts)
    return {str(grade): counts[grade] for grade in Grade}


def _shared_notes(verdicts: Sequence[PageVerdict]) -> list[str]:
    """Return the notes that every page has: they are about the set-up, not about a question."""
    first = verdicts[0].notes if verdicts else ()
    return [note for note in first if all(note in verdict.notes for verdict in verdicts)]


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
