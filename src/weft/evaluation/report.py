"""Report an evaluation: the measures of each question (recall, nDCG, reciprocal rank, evidence) and of the set."""

import math
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from weft.evaluation.run import Evaluation, PageResult, QuestionResult
from weft.model import Json

Row = dict[str, Json]


class Costs(Struct, frozen=True):
    """The cost of a run besides asking; the peak of memory is None where the system does not report it."""

    index_seconds: float
    peak_mb: float | None


def measure_question(answered: QuestionResult) -> dict[str, float]:
    """Return the measures of one question, as fractions."""
    ranking, gold = answered.ranking, answered.gold
    found = {
        "recall@5": recall(ranking, gold, 5),
        "recall@10": recall(ranking, gold, 10),
        "ndcg@10": ndcg(ranking, gold, 10),
        "mrr": reciprocal_rank(ranking, gold),
    }
    for sheet in answered.sheets:
        found[f"evidence_recall@{sheet.budget}"] = len(sheet.evidence) / len(gold)
        found[f"all_evidence@{sheet.budget}"] = float(len(sheet.evidence) == len(gold))
    return found


def summarise(answers: Sequence[QuestionResult], exam: Evaluation, costs: Costs) -> Row:
    """Return the measures of the set: means over questions, and what the pages cost."""
    by_question = [measure_question(answered) for answered in answers]
    names = list(by_question[0]) if by_question else []
    pages = [sheet for answered in answers for sheet in answered.sheets]
    times = [sheet.milliseconds for sheet in pages]
    return {
        "set": exam.judged.name,
        "documents": len(exam.judged.documents),
        "queries": len(answers),
        "gold": sum(len(answered.gold) for answered in answers),
        **{name: round(mean([measured[name] for measured in by_question]), 6) for name in names},
        "budget_violations": sum(sheet.tokens > sheet.budget for sheet in pages),
        "fill": round(_fill(pages), 6),
        **{
            f"fill@{budget}": round(_fill([sheet for sheet in pages if sheet.budget == budget]), 6)
            for budget in exam.budgets
        },
        "latency_ms": {"p50": round(percentile(times, 0.5), 3), "p95": round(percentile(times, 0.95), 3)},
        "index_seconds": round(costs.index_seconds, 3),
        "peak_mb": None if costs.peak_mb is None else round(costs.peak_mb, 1),
        **_input_problems(exam),
        "notes": _shared_notes(answers),
    }


def _shared_notes(answers: Sequence[QuestionResult]) -> list[str]:
    """Return the notes that every page has: they are about the set-up, not about a question."""
    first = answers[0].notes if answers else ()
    return [note for note in first if all(note in answered.notes for answered in answers)]


def _fill(pages: Sequence[PageResult]) -> float:
    return mean([sheet.tokens / sheet.budget for sheet in pages])


def _input_problems(exam: Evaluation) -> Row:
    """Return what was wrong with the set's files, counted and listed."""
    judged = exam.judged
    return {
        "queries_without_gold": len(judged.unjudged),
        "queries_shut_out_by_scope": list(judged.excluded) if exam.scoped else [],
        "empty_documents": list(judged.empty_documents),
        "unknown_ids": [{"where": problem.where, "reason": problem.reason} for problem in judged.unknown],
        "problems": [{"where": problem.where, "reason": problem.reason} for problem in judged.problems],
    }


def question_rows(answers: Sequence[QuestionResult]) -> list[Row]:
    """Return a row for each question, for comparing one run with another and for looking into misses."""
    return [
        {
            "id": answered.question.id,
            "asked": answered.asked,
            "answers": list(answered.question.answers),
            "measures": {name: round(value, 6) for name, value in measure_question(answered).items()},
            "tokens": {str(sheet.budget): sheet.tokens for sheet in answered.sheets},
            "latency_ms": {str(sheet.budget): round(sheet.milliseconds, 3) for sheet in answered.sheets},
            "gold": [_gold_row(answered, document) for document in answered.gold],
            "notes": list(answered.notes),
            "top": list(answered.ranking[:10]),
        }
        for answered in answers
    ]


def _gold_row(answered: QuestionResult, document: str) -> Mapping[str, Json]:
    """Return where a gold document came in the ranking (None: not at all), and how each page prints it."""
    rank = answered.ranking.index(document) + 1 if document in answered.ranking else None
    key = answered.keys[document]
    return {
        "id": document,
        "rank": rank,
        "printed": {str(sheet.budget): str(sheet.printed.get(key, "absent")) for sheet in answered.sheets},
        "counts": {str(sheet.budget): key in sheet.evidence for sheet in answered.sheets},
    }


# --- metrics -------------------------------------------------------------------------------------------------


def recall(ranking: Sequence[str], gold: Collection[str], depth: int) -> float:
    """Return the share of the gold among the first `depth`."""
    return len(set(ranking[:depth]) & set(gold)) / len(gold)


def ndcg(ranking: Sequence[str], gold: Mapping[str, int], depth: int) -> float:
    """Return the gain of the first `depth`, discounted by log2 of the rank, as a share of the best possible."""
    best = _gain(sorted(gold.values(), reverse=True)[:depth])
    return _gain([gold.get(document, 0) for document in ranking[:depth]]) / best


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str]) -> float:
    """Return one over the rank of the first gold document, 0 when there is none."""
    return next((1 / rank for rank, document in enumerate(ranking, start=1) if document in gold), 0.0)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of the values lie, interpolated; 0 when there are none."""
    ordered = sorted(values)
    if not ordered:
        return 0.0
    index = (len(ordered) - 1) * share
    low, high = ordered[math.floor(index)], ordered[math.ceil(index)]
    return low + (high - low) * (index - math.floor(index))


def mean(values: Sequence[float]) -> float:
    """Return the mean, 0 when there are no values."""
    return math.fsum(values) / len(values) if values else 0.0
