"""`weft eval` on a tiny set with known answers: every measure against an independent computation."""

import json
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from command_line import Cli
from ir_measures import RR, R, nDCG

from judged_sets import CORPUS, QRELS, QUERIES, lines, write_set
from weft import Context, Filter, Weft
from weft.evaluation import (
    CorpusSource,
    Costs,
    Evaluation,
    QuestionResult,
    ShapedQuestion,
    evaluate,
    read_folder,
    summarise,
)
from weft.model import Detail
from weft.tokens import counter_for

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BUDGETS = (60, 200, 2000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_set(tmp_path / "tiny")


def examined(
    folder: Path, store: Path, **settings: Any
) -> tuple[Evaluation, tuple[QuestionResult, ...], list[Context]]:
    """The set examined with the library, and the pages in the order in which they were made."""
    judged = read_folder(folder)
    exam = Evaluation(judged, CorpusSource(judged, scoped=settings.get("scoped", False)), BUDGETS, **settings)
    exam.check()
    pages: list[Context] = []
    ticks = count()
    with Weft.open(store) as weft:
        weft.ingest([exam.source])

        def ask(put: ShapedQuestion, budget: int, wanted: Filter) -> Context:
            pages.append(weft.context(put.text, history=put.history, max_tokens=budget, filter=wanted, now=NOW))
            return pages[-1]

        answers = evaluate(exam, ask, lambda: next(ticks) / 1000, lambda *_: None)
    return exam, answers, pages


def test_every_measure_is_what_an_independent_computation_gives(folder: Path, tmp_path: Path) -> None:
    exam, answers, pages = examined(folder, tmp_path / "store")
    found = summarise(answers, exam, Costs(1.5, None))
    qrels = [ir_measures.Qrel(query, doc, grade) for query, doc, grade in QRELS]
    run = [
        ir_measures.ScoredDoc(one.question.id, document, -float(index))
        for one in answers
        for index, document in enumerate(one.ranking)
    ]
    expected = ir_measures.calc_aggregate([R @ 5, R @ 10, nDCG @ 10, RR], qrels, run)
    assert found["recall@5"] == pytest.approx(expected[R @ 5], abs=1e-6)
    assert found["recall@10"] == pytest.approx(expected[R @ 10], abs=1e-6)
    assert found["ndcg@10"] == pytest.approx(expected[nDCG @ 10], abs=1e-6)
    assert found["mrr"] == pytest.approx(expected[RR], abs=1e-6)

    texts = {each["id"]: each["text"] for each in CORPUS}
    gold = {query: [doc for asked, doc, grade in QRELS if asked == query and grade] for query, _, _ in QRELS}
    by_budget = {budget: pages[index :: len(BUDGETS)] for index, budget in enumerate(BUDGETS)}
    for budget, made in by_budget.items():
        # Short texts fit or do not, so printed whole or absent; the one long text is judged by its answer.
        shares = []
        for query, page in zip(QUERIES, made, strict=True):
            hits = [
                texts[doc] in page.text or (doc == "d7" and "Isolde Marr" in page.text)
                for doc in gold[query["id"]]
            ]
            shares.append(sum(hits) / len(hits))
        assert found[f"evidence_recall@{budget}"] == pytest.approx(sum(shares) / 5, abs=1e-6)
        assert found[f"all_evidence@{budget}"] == pytest.approx(sum(share == 1 for share in shares) / 5, abs=1e-6)
        # A part of a gold text counts here and not as evidence, so either may be the higher one.
        assert 0 < found[f"gold_text@{budget}"] <= 1
        spent = [counter_for("cl100k_base")[0].count(page.text) / budget for page in made]
        assert found[f"fill@{budget}"] == pytest.approx(sum(spent) / 5, abs=1e-6)
    assert found["budget_violations"] == 0
    assert found["latency_ms"] == {"p50": 1.0, "p95": 1.0}
    assert (found["index_seconds"], found["peak_mb"]) == (1.5, None)


def test_known_questions_have_known_answers(folder: Path, tmp_path: Path) -> None:
    _, answers, _ = examined(folder, tmp_path / "store")
    by_id = {one.question.id: one for one in answers}
    assert by_id["q1"].ranking[0] == "d1"
    assert by_id["q3"].ranking[0] == "d5"
    _, middle, large = by_id["q4"].pages
    assert middle.evidence == {"tiny:d7": Detail.EXCERPT}
    assert set(large.evidence) == {"tiny:d7"}


def test_a_page_over_its_budget_is_counted(folder: Path, tmp_path: Path) -> None:
    exam, answers, pages = examined(folder, tmp_path / "store")
    too_long = evaluate(exam, lambda *_: pages[2], lambda: 0.0, lambda *_: None)
    assert summarise(too_long, exam, Costs(0, 0))["budget_violations"] == 2 * len(answers)


HOSTILE = '# Heading & <b>bold</b> "quoted"\n\n```py\nx_y = 1 < 2\n```\n\n| a | b |\n|---|---|\n- *star* \\ back'


@pytest.mark.parametrize("format", ["markdown", "xml", "plain", "json"])
def test_escaping_does_not_hide_a_text_printed_whole(tmp_path: Path, format: str) -> None:
    corpus = [{"id": "h", "title": "Hostile heading", "text": HOSTILE}]
    judged = read_folder(write_set(tmp_path / "set", corpus, QUERIES[:1], [("q1", "h", 1)]))
    exam = Evaluation(judged, CorpusSource(judged), (1000,))
    with Weft.open(tmp_path / "store") as weft:
        weft.ingest([exam.source])
        (one,) = evaluate(
            exam,
            lambda _, budget, wanted: weft.context("hostile heading", max_tokens=budget, format=format, now=NOW),
            lambda: 0.0,
            lambda *_: None,
        )
    assert one.pages[0].evidence == {"set:h": Detail.WHOLE}


# --- scopes ---


def test_a_scope_keeps_everything_else_off_the_page(folder: Path, tmp_path: Path) -> None:
    scopes = [{"query": "q1", "docs": ["d1", "d4"]}, {"query": "q2", "docs": ["d2"]}]
    (folder / "scope.jsonl").write_text(lines(scopes), encoding="utf-8")
    _, answers, pages = examined(folder, tmp_path / "store", scoped=True)
    by_id = {one.question.id: one for one in answers}
    assert set(by_id["q1"].ranking) <= {"d1", "d4"}
    assert set(by_id["q2"].ranking) == {"d2"}
    assert len(by_id["q4"].ranking) > 2
    assert "Port Sel" not in pages[0].text
    assert not any("judged_scope" in page.text for page in pages)


def test_scopes_in_the_meta_do_the_same(tmp_path: Path) -> None:
    corpus = [{**each, "meta": {"scope": "town" if each["id"] in ("d1", "d3") else "else"}} for each in CORPUS]
    queries = [{**each, "meta": {"scope": "town"}} for each in QUERIES[:2]]
    _, answers, _ = examined(write_set(tmp_path / "set", corpus, queries), tmp_path / "store", scoped=True)
    assert all(set(one.ranking) <= {"d1", "d3"} for one in answers)


# --- the command ---


def test_the_command_prints_the_measures_as_a_table(cli: Cli, folder: Path) -> None:
    done = cli("eval", folder)
    assert done.code == 0
    assert done.out.startswith("tiny: 7 documents, 5 queries, 6 gold; profile general, embedder weft-static-1\n")
    for name in ("recall@5", "evidence_recall@2000", "all_evidence@8000", "budget_violations", "latency_ms"):
        assert f"\n{name} " in done.out


def test_json_has_every_documented_key_and_nothing_is_left_behind(cli: Cli, folder: Path) -> None:
    found = json.loads(cli("eval", folder, "--budget", "500, 120", "--json").out)
    measures = {"recall@5", "recall@10", "ndcg@10", "mrr"} | {
        f"{name}@{budget}" for name in ("evidence_recall", "all_evidence", "gold_text") for budget in (120, 500)
    }
    assert measures | {"budget_violations", "fill", "latency_ms", "index_seconds", "peak_mb"} <= found.keys()
    assert all(0 <= found[name] <= 1 for name in measures)
    assert set(found["latency_ms"]) == {"p50", "p95"}
    assert found["budget_violations"] == 0
    assert not Path(".weft").exists()


def test_categories_of_questions_have_a_table_of_their_own(cli: Cli, tmp_path: Path) -> None:
    corpus = [{"id": "d1", "text": "The ferry leaves at nine."}, {"id": "d2", "text": "Ropes are of hemp."}]
    queries = [
        {"id": "q1", "text": "When does the ferry leave?", "meta": {"category": "time"}},
        {"id": "q2", "text": "What are ropes made of?", "meta": {"category": "stuff"}},
        {"id": "q3", "text": "Are ropes of wool?"},
    ]
    qrels = [("q1", "d1", 1), ("q2", "d2", 1), ("q3", "d2", 1)]
    folder = write_set(tmp_path / "set", corpus, queries, qrels)
    found = json.loads(cli("eval", folder, "--json").out)["categories"]
    assert {name: each["queries"] for name, each in found.items()} == {"": 1, "stuff": 1, "time": 1}
    assert found["time"]["recall@5"] == 1
    assert "\ntime " in cli("eval", folder).out


def test_a_named_store_is_kept_and_used_again(cli: Cli, folder: Path) -> None:
    first = json.loads(cli("eval", folder, "--store", "kept", "--json").out)
    status = json.loads(cli("status", "--store", "kept", "--json").out)
    again = json.loads(cli("eval", folder, "--store", "kept", "--json").out)
    assert status["by_source"] == {"tiny": 7}
    assert {**first, "latency_ms": 0, "index_seconds": 0, "peak_mb": 0} == {
        **again,
        "latency_ms": 0,
        "index_seconds": 0,
        "peak_mb": 0,
    }


def test_two_runs_can_be_compared(cli: Cli, folder: Path) -> None:
    cli("eval", folder, "--per-query", "a.jsonl")
    cli("eval", folder, "--per-query", "b.jsonl", "--budget", "40,2000", "--embedder", "none")
    found = json.loads(cli("eval", "compare", "a.jsonl", "b.jsonl", "--json").out)
    assert found["queries"] == 5
    assert "evidence_recall@2000" in found
    assert "evidence_recall@8000" not in found
    assert set(found["mrr"]) == {"first", "second", "difference", "low", "high", "p", "real"}
    text = cli("eval", "compare", "a.jsonl", "a.jsonl").out
    assert "no difference shown" in text
    row = json.loads(Path("a.jsonl").read_text(encoding="utf-8").splitlines()[1])
    assert (row["id"], row["asked"]) == ("q2", QUERIES[1]["text"])
    assert [gold["id"] for gold in row["gold"]] == ["d1", "d2"]
    assert row["gold"][0]["rank"] == row["top"].index("d1") + 1


def test_ablations_say_what_each_power_is_worth(cli: Cli, folder: Path) -> None:
    found = json.loads(cli("eval", folder, "--budget", "150", "--ablate", "--json").out)["ablations"]
    assert set(found) == {"vector", "graph", "dedupe", "excerpting"}
    assert found["excerpting"]["evidence_recall@150"]["difference"] < 0
    assert "without excerpting" in cli("eval", folder, "--ablate").out


def test_the_question_is_shaped_as_told(cli: Cli, tmp_path: Path) -> None:
    queries = [{**QUERIES[0], "meta": {"story": "Copper mine", "history": ["Earlier words"]}}]
    folder = write_set(tmp_path / "set", queries=queries, qrels=QRELS[:1])
    done = cli("eval", folder, "--query-template", "{meta.story}: {text}", "--history", "--per-query", "a.jsonl")
    assert done.code == 0
    row = json.loads(Path("a.jsonl").read_text(encoding="utf-8"))
    assert row["asked"] == f"Copper mine: {QUERIES[0]['text']}\nEarlier words"


def test_other_profiles_and_fewer_questions_can_be_measured(cli: Cli, folder: Path) -> None:
    found = json.loads(cli("eval", folder, "--profile", "knowledge", "--limit", "2", "--json").out)
    assert (found["profile"], found["queries"]) == ("knowledge", 2)


# --- bad input ---


def test_a_set_with_bad_lines_is_measured_without_them_and_the_exit_code_says_so(cli: Cli, folder: Path) -> None:
    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('broken\n{"id": "d8", "title": "", "text": ""}\n')
    with (folder / "queries.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"id": "q9", "text": "Unjudged?"}\n')
    with (folder / "qrels.tsv").open("a", encoding="utf-8") as stream:
        stream.write("q1\td99\t1\n")
    done = cli("eval", folder)
    assert done.code == 3
    assert "corpus.jsonl:8: Not JSON" in done.err
    assert "There is no document 'd99'" in done.err
    assert "1 query has no gold" in done.err
    assert "(d8)" in done.err
    found = json.loads(cli("eval", folder, "--json").out)
    assert (found["queries"], found["queries_without_gold"], found["empty_documents"]) == (5, 1, ["d8"])
    assert (len(found["problems"]), len(found["unknown_ids"])) == (1, 1)


def test_a_scope_that_excludes_all_gold_leaves_the_question_out(cli: Cli, folder: Path) -> None:
    (folder / "scope.jsonl").write_text(lines([{"query": "q1", "docs": ["d6"]}]), encoding="utf-8")
    found = json.loads(cli("eval", folder, "--scoped", "--json").out)
    assert (found["queries"], found["queries_shut_out_by_scope"]) == (4, ["q1"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "There is no folder"),
        (["SET", "SET"], "is not one set"),
        (["compare", "SET"], "is not one set"),
        (["compare", "absent", "absent"], "cannot be read"),
        (["SET", "--budget", "2000,x"], "not a list of budgets"),
        (["SET", "--budget", "0"], "not a list of budgets"),
        (["SET", "--limit", "0"], "asks nothing"),
        (["SET", "--scoped"], "has no scopes"),
        (["SET", "--history"], "No question has a history"),
        (["SET", "--query-template", "{meta.x}"], "Unknown placeholder 'meta.x'"),
        (["SET", "--profile", "generl"], "Did you mean 'general'"),
        (["SET", "--per-query", "no/such/folder/a.jsonl"], "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_work(
    cli: Cli, folder: Path, words: list[str], message: str
) -> None:
    done = cli("eval", *(str(folder) if word == "SET" else word for word in words))
    assert done.code == 2
    assert message in done.err
    assert done.out == ""


def test_a_scope_on_every_question_without_gold_is_refused(cli: Cli, folder: Path) -> None:
    scopes = [{"query": each["id"], "docs": ["d4"]} for each in QUERIES]
    (folder / "scope.jsonl").write_text(lines(scopes), encoding="utf-8")
    done = cli("eval", folder, "--scoped")
    assert done.code == 2
    assert "excludes all gold" in done.err
