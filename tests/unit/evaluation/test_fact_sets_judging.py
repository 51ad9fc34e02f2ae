"""Verdicts on pages: every question, maker and budget, and what the report counts."""

from itertools import count

from weft.evaluation import FactQuestion, MadePage, PageExam, judge_pages, summarise_pages, verdict_rows
from weft.evaluation.run import page_counter

QUESTIONS = (
    FactQuestion("q1", "Who keeps the archive?", ("Mara", "Venn")),
    FactQuestion("q2", "Where is the archive?", ("tower",)),
)
TEXTS = {10: "# Who\n\nMara.", 50: "# Who\n\nMara Venn, in the old tower. " + "word " * 60}


def verdicts() -> tuple[list[str], tuple]:  # type: ignore[type-arg]
    kept: list[str] = []
    ticks = count()
    exam = PageExam(
        QUESTIONS,
        (10, 50),
        {
            "weft": lambda _, budget: MadePage(TEXTS[budget], "Who", ("no vectors", str(budget))),
            "bm25": lambda _, budget: MadePage(""),
        },
        page_counter(),
    )
    found = judge_pages(
        exam,
        lambda: next(ticks) / 1000,
        lambda *_: None,
        lambda verdict, text: kept.append(f"{verdict.question.id} {verdict.maker} {verdict.budget} {len(text)}"),
    )
    return kept, found


def test_every_question_is_put_to_every_maker_with_every_budget() -> None:
    kept, found = verdicts()
    assert [line.rsplit(" ", 1)[0] for line in kept] == [
        f"{id} {maker} {budget}" for id in ("q1", "q2") for maker in ("weft", "bm25") for budget in (10, 50)
    ]
    assert [str(verdict.grade) for verdict in found[:2]] == ["partly", "yes"]
    assert found[0].missing == ("Venn",)


def test_the_report_counts_grades_tokens_and_pages_over_their_budget() -> None:
    _, found = verdicts()
    report = summarise_pages([verdict for verdict in found if verdict.maker == "weft"], (10, 50))
    assert (report["answered@10"], report["facts@10"], report["answered@50"]) == (0.0, 0.25, 1.0)
    assert report["grades"] == {
        "10": {"yes": 0, "partly": 1, "no": 1},
        "50": {"yes": 2, "partly": 0, "no": 0},
    }
    assert report["tokens"]["10"] == page_counter().count(TEXTS[10])
    assert report["budget_violations"] == 2
    assert report["unanswered"] == {"10": {"q1": "partly", "q2": "no"}, "50": {}}
    assert report["notes"] == ["no vectors"]
    assert report["latency_ms"] == {"p50": 1.0, "p95": 1.0}


def test_rows_hold_our_verdicts_first_and_those_on_baselines_apart() -> None:
    _, found = verdicts()
    first, second = verdict_rows(found)
    assert (first["id"], second["asked"]) == ("q1", "Where is the archive?")
    assert first["measures"] == {"answered@10": 0.0, "facts@10": 0.5, "answered@50": 1.0, "facts@50": 1.0}
    assert first["grade"] == {"10": "partly", "50": "yes"}
    assert first["baselines"]["bm25"]["missing"]["10"] == ["Mara", "Venn"]
