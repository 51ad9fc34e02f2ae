"""One set, one system: the same documents, questions, budgets and measures for all of them."""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from peers import PEERS, Embed, Search
from weft import Context, Filter, Weft
from weft.evaluation import (
    CorpusSource,
    Costs,
    Evaluation,
    JudgedSet,
    QuestionShape,
    ShapedQuestion,
    evaluate,
    read_folder,
    summarise,
)
from weft.evaluation.report import mean, ndcg, percentile, recall, reciprocal_rank
from weft.tokens import DEFAULT_ENCODING, counter_for

SHAPES = {
    "doc2dial": QuestionShape(history=True),
    "fairytaleqa": QuestionShape("{meta.story} {text}"),
}
"""How a set's own README says its questions are to be put; every other set is asked as written."""

DEPTH = 200
_BLANK_LINE = 1

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """A set read once for all systems, with the texts that every system gets and what each costs; `same` names
    one of the documents with an equal text, by which evidence is told, as `weft eval` does."""

    judged: JudgedSet
    shape: QuestionShape
    budgets: tuple[int, ...]
    limit: int | None
    texts: tuple[tuple[str, str], ...]
    costs: Mapping[str, int]
    same: Mapping[str, str]


def open_job(folder: Path, budgets: Sequence[int], limit: int | None) -> Job:
    """Open the set in a folder for measuring."""
    judged = read_folder(folder)
    texts = tuple(
        (each.id, f"{each.record.get('title') or ''}\n{each.record.get('text') or ''}".strip())
        for each in judged.documents
        if not each.empty
    )
    counts = counter_for(DEFAULT_ENCODING)[0].count_many([text for _, text in texts])
    costs = {id: count + _BLANK_LINE for (id, _), count in zip(texts, counts, strict=True)}
    first: dict[str, str] = {}
    same = {each.id: first.setdefault(str(each.record.get("text")), each.id) for each in judged.documents}
    return Job(judged, SHAPES.get(judged.name, QuestionShape()), tuple(budgets), limit, texts, costs, same)


def measure_weft(job: Job, tell: Callable[[str, int, int | None], None]) -> Row:
    """Measure Weft as installed: default profile, default embedder, the real pages."""
    exam = Evaluation(job.judged, CorpusSource(job.judged), job.budgets, job.shape, limit=job.limit)
    exam.check()
    now = datetime.now(UTC)
    with tempfile.TemporaryDirectory() as folder, Weft.open(folder) as weft:

        def ask(put: ShapedQuestion, budget: int, wanted: Filter) -> Context:
            return weft.context(put.text, history=put.history, max_tokens=budget, filter=wanted, now=now)

        started = time.perf_counter()
        weft.ingest([exam.source])
        spent = time.perf_counter() - started
        found = summarise(evaluate(exam, ask, time.perf_counter, tell), exam, Costs(spent, None))
    wanted_keys = ("recall@", "ndcg@", "mrr", "evidence_recall@", "all_evidence@", "latency", "index_", "budget_v")
    return {name: value for name, value in found.items() if name.startswith(wanted_keys)}


def measure_peer(name: str, job: Job, embed: Embed, tell: Callable[[str, int, int | None], None]) -> Row:
    """Measure a peer's ranking, and pages of whole documents in its order, without those that do not fit."""
    started = time.perf_counter()
    search = PEERS[name][0](job.texts, embed)
    spent = time.perf_counter() - started
    rows: list[dict[str, float]] = []
    times = []
    questions = job.judged.measurable_questions(False)[: job.limit]
    for done, question in enumerate(questions, start=1):
        asked = time.perf_counter()
        ranking = _once(search, job.shape.apply(question).joined)
        times.append((time.perf_counter() - asked) * 1000)
        rows.append(_measures(ranking, job.judged.gold[question.id], job))
        tell(f"{job.judged.name}: {name}", done, len(questions))
    return {
        **{measure: round(mean([row[measure] for row in rows]), 6) for measure in rows[0]},
        "latency_ms": {"p50": round(percentile(times, 0.5), 3), "p95": round(percentile(times, 0.95), 3)},
        "index_seconds": round(spent, 3),
        "budget_violations": 0,
    }


def _once(search: Search, question: str) -> list[str]:
    return list(dict.fromkeys(search(question, DEPTH)))


def _measures(ranking: Sequence[str], gold: Mapping[str, int], job: Job) -> dict[str, float]:
    found = {
        "recall@5": recall(ranking, gold, 5),
        "recall@10": recall(ranking, gold, 10),
        "ndcg@10": ndcg(ranking, gold, 10),
        "mrr": reciprocal_rank(ranking, gold),
    }
    for budget in job.budgets:
        page = {job.same[id] for id in _page(ranking, job.costs, budget)}
        shown = [id for id in gold if job.same[id] in page]
        found[f"evidence_recall@{budget}"] = len(shown) / len(gold)
        found[f"all_evidence@{budget}"] = float(len(shown) == len(gold))
    return found


def _page(ranking: Sequence[str], costs: Mapping[str, int], budget: int) -> set[str]:
    """Return the documents on a page without headings or marks, which is kinder to the peers than to us."""
    page = set()
    for id in ranking:
        if costs[id] <= budget:
            page.add(id)
            budget -= costs[id]
    return page
