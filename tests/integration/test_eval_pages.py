"""`weft eval SET.json`: a tiny folder, questions with facts, and what the command prints and writes."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Cli

QUESTIONS = (
    {"id": "keeper", "text": "Who keeps the harbour archive?", "facts": ["Mara\\s+Venn", "old tower"]},
    {"id": "far/away", "text": "Which bird nests on the southern cliffs?", "facts": ["storm petrel"]},
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "archive.md").write_text(
        "# Harbour archive\n\nThe harbour archive is kept by Mara Venn in the old tower.\n", encoding="utf-8"
    )
    (folder / "refunds.md").write_text("# Refunds\n\nA refund is approved within ten days.\n", encoding="utf-8")
    return folder


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return write(tmp_path, {"name": "harbour", "questions": QUESTIONS})


def write(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "set.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_the_table_shows_grades_and_tokens_by_budget_and_the_questions_that_fail(
    cli: Cli, questions: Path, source: Path
) -> None:
    done = cli("eval", questions, "--source", source, "--baseline", "bm25,grep,mix")
    assert done.code == 0
    rows = done.out.splitlines()
    assert rows[0] == "harbour: 2 questions; profile default, embedder weft-static-1"
    assert rows[1].split()[-8:] == ["at", "1,000", "at", "2,000", "at", "4,000", "at", "8,000"]
    for name in ("weft", "bm25", "grep", "mix"):
        assert next(row for row in rows if row.startswith(f"{name} ")).split()[1:6] == ["1", "/", "0", "/", "1"]
        assert any(row.startswith(f"{name}, mean tokens ") for row in rows)
    assert rows[-2:] == ["budget violations: 0", "not answered at 1,000 tokens: far/away"]


def test_json_rows_and_pages_hold_every_verdict_and_runs_can_be_compared(
    cli: Cli, questions: Path, source: Path
) -> None:
    words = ("eval", questions, "--source", source, "--budget", "300,60", "--json")
    found = json.loads(cli(*words, "--baseline", "bm25", "--per-query", "a.jsonl", "--pages", "out/pages").out)
    assert (found["answered@60"], found["answered@300"], found["facts@300"]) == (0.5, 0.5, 0.5)
    assert found["grades"]["300"] == {"yes": 1, "partly": 0, "no": 1}
    assert found["unanswered"]["300"] == {"far/away": "no"}
    assert found["baselines"]["bm25"]["budget_violations"] == found["budget_violations"] == 0
    row = json.loads(Path("a.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert (row["id"], row["grade"]["300"], row["measures"]["facts@300"]) == ("keeper", "yes", 1.0)
    assert row["tokens"]["60"] <= 60
    names = {path.name for path in Path("out/pages").iterdir()}
    assert {"keeper.weft.60.md", "keeper.bm25.300.md", "far%2Faway.weft.60.md"} <= names
    assert len(names) == 8
    cli(*words, "--profile", "knowledge", "--per-query", "b.jsonl")
    compared = json.loads(cli("eval", "compare", "a.jsonl", "b.jsonl", "--json").out)
    assert {"answered@60", "facts@300"} <= compared.keys()
    assert not Path(".weft").exists()


def test_a_named_store_is_kept_and_used_again(cli: Cli, questions: Path, source: Path) -> None:
    words = ("eval", questions, "--source", source, "--store", "kept", "--json", "--limit", "1")
    first, again = (json.loads(cli(*words).out) for _ in range(2))
    assert json.loads(cli("status", "--store", "kept", "--json").out)["by_source"] == {"notes": 2}
    timeless = {"latency_ms": 0, "index_seconds": 0}
    assert {**first, **timeless} == {**again, **timeless}
    assert first["questions"] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["absent.json", "--source", "SOURCE"], "'absent.json' cannot be read"),
        (["SET"], "--source PATH"),
        (["SET", "--source", "nowhere"], "There is no file or folder 'nowhere'"),
        (["SET", "--source", "SOURCE", "--baseline", "bm52"], "Did you mean 'bm25'"),
        (["SET", "--source", "SOURCE", "--baseline", "mix", "--embedder", "none"], "--embedder is none"),
        (["SET", "--source", "SOURCE", "--limit", "0"], "asks nothing"),
        (["SET", "--source", "SOURCE", "--scoped"], "are for a folder"),
        (["SET", "--source", "SOURCE", "--profile", "generl"], "Did you mean 'general'"),
        (["SET", "--source", "SOURCE", "--pages", "SET"], "cannot hold pages"),
        (["SOURCE", "--baseline", "bm25"], "are for a SET.json"),
    ],
)
def test_what_cannot_be_done_is_refused(
    cli: Cli, questions: Path, source: Path, words: list[str], message: str
) -> None:
    places = {"SET": str(questions), "SOURCE": str(source)}
    done = cli("eval", *(places.get(word, word) for word in words))
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_a_bad_expression_is_named_with_its_question(cli: Cli, tmp_path: Path, source: Path) -> None:
    broken = write(tmp_path, {"questions": [{**QUESTIONS[0], "facts": ["Mara ("]}]})
    done = cli("eval", broken, "--source", source)
    assert done.code == 2
    assert "The fact 'Mara (' of question 'keeper' is not a regular expression" in done.err
