"""Every question of a judged set put to the real pipeline, once for each budget."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from weft.errors import InvalidInput
from weft.evaluation.asking import Put, Shape
from weft.evaluation.corpus import CorpusSource
from weft.evaluation.evidence import ranking, shown
from weft.evaluation.judged import Judged, Question
from weft.frozen import dataclass
from weft.model import Context, Detail, Filter
from weft.tokens import DEFAULT_ENCODING, counter_for

Ask = Callable[[Put, int, Filter], Context]
"""A question, a budget and a filter, to a page."""
Told = Callable[[str, int, int | None], None]
"""Told (stage, done, total) as work goes on."""


_AS_WRITTEN: Final = Shape()


@dataclass(frozen=True, slots=True)
class Sheet:
    """One page as measured: its budget, its real tokens, its time; by key, the gold documents whose evidence it
    shows, and the detail in which it prints them, evidence or not."""

    budget: int
    tokens: int
    milliseconds: float
    evidence: Mapping[str, Detail]
    printed: Mapping[str, Detail]


@dataclass(frozen=True, slots=True)
class Answered:
    """One question with its gold (grades, and keys by document), the ranking of documents before any budget,
    and a sheet for each budget."""

    question: Question
    asked: str
    gold: Mapping[str, int]
    keys: Mapping[str, str]
    ranking: tuple[str, ...]
    sheets: tuple[Sheet, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Exam:
    """What is asked and how: a set with its source, the budgets, the shape of questions, and how many."""

    judged: Judged
    source: CorpusSource
    budgets: tuple[int, ...] = (2000, 8000)
    shape: Shape = _AS_WRITTEN
    scoped: bool = False
    limit: int | None = None

    def check(self) -> None:
        """Refuse what cannot be asked of this set."""
        if self.limit is not None and self.limit < 1:
            raise InvalidInput(f"A limit of {self.limit} questions asks nothing. Give 1 or more.")
        if self.scoped and not self.judged.scopes:
            raise InvalidInput(
                f"The set {self.judged.name!r} has no scopes. Give it a scope.jsonl, or `meta.scope` on "
                "documents and questions, or leave out --scoped."
            )
        if not self.questions():
            raise InvalidInput(f"Every scope of the set {self.judged.name!r} excludes all gold. Check its scopes.")
        self.shape.check(self.questions())

    def questions(self) -> tuple[Question, ...]:
        """The questions that are put."""
        return self.judged.askable(self.scoped)[: self.limit]


def evaluate(exam: Exam, ask: Ask, clock: Callable[[], float], tell: Told) -> tuple[Answered, ...]:
    """What became of every question that can be measured; `clock` gives seconds."""
    questions = exam.questions()
    answered = []
    for done, question in enumerate(questions, start=1):
        answered.append(_answer(exam, question, ask, clock))
        tell(f"asking {exam.judged.name}", done, len(questions))
    return tuple(answered)


def _answer(exam: Exam, question: Question, ask: Ask, clock: Callable[[], float]) -> Answered:
    asked = exam.shape.put(question)
    gold = exam.judged.gold[question.id]
    texts = exam.source.texts(gold)
    ranked: tuple[str, ...] = ()
    notes: dict[str, None] = {}
    sheets = []
    for budget in exam.budgets:
        started = clock()
        context = ask(asked, budget, exam.source.filter(question.id))
        spent = (clock() - started) * 1000
        ranked = ranked or tuple(map(exam.source.document, ranking(context.ledger)))
        notes |= dict.fromkeys(context.notes)
        sheets.append(_sheet(context, budget, spent, question.answers, texts))
    keys = dict(zip(gold, texts, strict=True))
    return Answered(question, asked.joined, gold, keys, ranked, tuple(sheets), tuple(notes))


def _sheet(
    context: Context, budget: int, milliseconds: float, answers: Sequence[str], texts: Mapping[str, str]
) -> Sheet:
    # The page is counted once more, so that a page which miscounts itself is found out.
    tokens = counter_for(DEFAULT_ENCODING)[0].count(context.text)
    printed = {entry.key: entry.detail for entry in context.ledger if entry.key in texts}
    return Sheet(budget, tokens, milliseconds, shown(context, answers, texts), printed)
