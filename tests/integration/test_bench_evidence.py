"""The side-by-side bench runs on a tiny set: a peer, Weft, and the table of both."""

import json
from pathlib import Path
from typing import Any

import pytest

from judged_sets import CORPUS, QUERIES, write_set

BENCH = Path(__file__).parents[2] / "bench" / "evidence"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    monkeypatch.syspath_prepend(str(BENCH))
    import measuring
    import reporting

    return measuring, reporting


def untold(stage: str, done: int, total: int | None) -> None:
    """Ignore the progress."""


def test_weft_and_a_peer_are_measured_alike_and_stand_in_one_table(bench: tuple[Any, Any], tmp_path: Path) -> None:
    measuring, reporting = bench
    job = measuring.open_job(write_set(tmp_path / "tiny"), (100, 2000), None)
    peer = measuring.measure_peer("grep", job, None, untold)
    ours = measuring.measure_weft(job, untold)
    assert peer.keys() == ours.keys()
    assert peer["recall@10"] == 1.0
    # The long document costs more than 2,000 tokens, and a peer prints whole documents only.
    assert peer["evidence_recall@2000"] == pytest.approx(4 / 5)
    assert ours["evidence_recall@2000"] == 1.0
    result = {"documents": len(CORPUS), "queries": len(QUERIES), "gold": 6, "shape": ""}
    systems = {"Weft": ours, "grep": peer, "absent": {"missing": "not installed (absent)"}}
    heading = {"command": "run", "date": "2026-01-01", "machine": "1 core", "versions": {}, "embedder": "static"}
    table = reporting.table({**heading, "budgets": [100, 2000], "sets": {"tiny": {**result, "systems": systems}}})
    assert "| grep |" in table
    assert "**100.0**" in table
    assert "| absent | not measured: not installed (absent) |" in table


def test_a_document_that_does_not_fit_is_passed_over(bench: tuple[Any, Any]) -> None:
    measuring, _ = bench
    assert measuring._page(["a", "b", "c"], {"a": 5, "b": 90, "c": 5}, 12) == {"a", "c"}


def test_rows_of_other_systems_are_kept_while_their_versions_are_the_same(
    bench: tuple[Any, Any], tmp_path: Path
) -> None:
    import run

    rows = {"Weft": {"recall@5": 0.5}, "grep": {"recall@5": 0.25}}

    def write(versions: dict[str, str]) -> None:
        results = {"versions": versions, "sets": {"tiny": {"systems": rows}}}
        (tmp_path / "results.json").write_text(json.dumps(results), encoding="utf-8")

    write({**run.versions(), "weft": "0.0.1"})
    assert run.kept(tmp_path, "") == {}
    assert run.kept(tmp_path, "Weft") == {"tiny": {"grep": rows["grep"]}}
    with pytest.raises(SystemExit, match="No system is called Wefft"):
        run.kept(tmp_path, "Wefft")
    write({**run.versions(), "bm25s": "0.0.1"})
    with pytest.raises(SystemExit, match="Other versions than before: bm25s"):
        run.kept(tmp_path, "Weft")
