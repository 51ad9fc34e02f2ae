"""Report an evaluation: the measures of each question (recall, nDCG, reciprocal rank, evidence) and of the set."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from msgspec import Struct

from weft.evaluation.run import Evaluation, PageResult, QuestionResult
from weft.model import Json

Row = dict[str, Json]

_MIN_CATEGORIES: Final = 2
"""With fewer, the table by category would repeat the one of the whole set."""


class Costs(Struct, frozen=True):
    """The cost of a run besides asking; the peak of memory is None where the system does not report it."""

    index_seconds: float
    peak_mb: float | None


def measure_question(answered: QuestionResult) -> dict[str, float]:
    """Return the measures of one question, as fractions."""
    # Ranking and page are measured apart: the first shows the search, the second what a model reads.
    ranking, gold = answered.ranking, answered.gold
    found = {
        "recall@5": recall(ranking, gold, 5),
        "recall@10": recall(ranking, gold, 10),
        "ndcg@10": ndcg(ranking, gold, 10),
        "mrr": reciprocal_rank(ranking, gold),
    }
    for page in answered.pages:
        found[f"evidence_recall@{page.budget}"] = len(page.evidence) / len(gold)
        found[f"all_evidence@{page.budget}"] = float(len(page.evidence) == len(gold))
        found[f"gold_text@{page.budget}"] = page.gold_text
    return found


def summarise(answers: Sequence[QuestionResult], evaluation: Evaluation, costs: Costs) -> Row:
    """Return the measures of the set: means over questions, and what the pages cost."""
    by_question = [measure_question(answered) for answered in answers]
    # Every question has the same measures, because all are asked with the same budgets.
    names = list(by_question[0]) if by_question else []
    pages = [page for answered in answers for page in answered.pages]
    return {
        "set": evaluation.judged.name,
        "documents": len(evaluation.judged.documents),
        "queries": len(answers),
        "gold": sum(len(answered.gold) for answered in answers),
        **{name: round(mean([measured[name] for measured in by_question]), 6) for name in names},
        **_by_category(answers, by_question),
        # Always reported, and expected to be 0: the budget is a promise.
        "budget_violations": sum(page.tokens > page.budget for page in pages),
        "fill": round(_fill(pages), 6),
        **{
            f"fill@{budget}": round(_fill([page for page in pages if page.budget == budget]), 6)
            for budget in evaluation.budgets
        },
        "latency_ms": describe_times([page.milliseconds for page in pages]),
        "index_seconds": round(costs.index_seconds, 3),
        "peak_mb": None if costs.peak_mb is None else round(costs.peak_mb, 1),
        **_input_problems(evaluation),
        "notes": shared_notes([answered.notes for answered in answers]),
    }


def _by_category(answers: Sequence[QuestionResult], by_question: Sequence[Mapping[str, float]]) -> Row:
    """Return the measures by the category that the set gives its questions, where it tells several apart."""
    groups: dict[str, list[Mapping[str, float]]] = {}
    for answered, measured in zip(answers, by_question, strict=True):
        groups.setdefault(str(answered.question.meta.get("category") or ""), []).append(measured)
    if len(groups) < _MIN_CATEGORIES:
        return {}
    table: dict[str, Json] = {}
    for category, group in sorted(groups.items()):
        means: dict[str, Json] = {name: round(mean([each[name] for each in group]), 6) for name in group[0]}
        table[category] = {"queries": len(group), **means}
    return {"categories": table}


def describe_times(milliseconds: Sequence[float]) -> Row:
    """Return the median of some times, and the time that one in twenty exceeds."""
    return {"p50": round(percentile(milliseconds, 0.5), 3), "p95": round(percentile(milliseconds, 0.95), 3)}


def shared_notes(notes_of_pages: Sequence[Sequence[str]]) -> list[str]:
    """Return the notes that every page has: they are about the set-up, not about a question."""
    first, *others = notes_of_pages or ((),)
    return [note for note in first if all(note in notes for notes in others)]


def _fill(pages: Sequence[PageResult]) -> float:
    return mean([page.tokens / page.budget for page in pages])


def _input_problems(evaluation: Evaluation) -> Row:
    """Return what was wrong with the set's files, counted and listed."""
    judged = evaluation.judged
    return {
        "queries_without_gold": len(judged.unjudged),
        "queries_shut_out_by_scope": list(judged.excluded) if evaluation.scoped else [],
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
            "tokens": {str(page.budget): page.tokens for page in answered.pages},
            "latency_ms": {str(page.budget): round(page.milliseconds, 3) for page in answered.pages},
            "gold": [_gold_row(answered, document) for document in answered.gold],
            "notes": list(answered.notes),
            "top": list(answered.ranking[:10]),
        }
        for answered in answers
    ]


def _gold_row(answered: QuestionResult, document: str) -> Mapping[str, Json]:
    """Return where a gold document came in the ranking (None: not at all), and how each page prints it."""
    # Ranks count from 1, as people and the measures below do.
    rank = answered.ranking.index(document) + 1 if document in answered.ranking else None
    key = answered.keys[document]
    return {
        "id": document,
        "rank": rank,
        "printed": {str(page.budget): str(page.printed.get(key, "absent")) for page in answered.pages},
        "counts": {str(page.budget): key in page.evidence for page in answered.pages},
    }


# --- metrics -------------------------------------------------------------------------------------------------


def recall(ranking: Sequence[str], gold: Collection[str], depth: int) -> float:
    """Return the share of the gold among the first `depth`."""
    return len(set(ranking[:depth]) & set(gold)) / len(gold)


def ndcg(ranking: Sequence[str], gold: Mapping[str, int], depth: int) -> float:
    """Return the gain of the first `depth`, discounted by log2 of the rank, as a share of the best possible."""
    # The best ranking shows the highest grades first.
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
    # `fsum` rounds once, so that the order of questions changes no digit.
    return math.fsum(values) / len(values) if values else 0.0
