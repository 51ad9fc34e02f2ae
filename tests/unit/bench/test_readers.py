"""Packs for blind readers: who sees which page, that a seed decides everything, and how answers are graded."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest
from bench.readers import __main__ as command
from bench.readers.grading import Standard, grade, grade_answer, is_on_page, read_folder, report
from bench.readers.packs import Pack, make_packs, pack_text
from bench.readers.questions import Asked

from judged_sets import write_set

FACTS = Standard(facts=("Mara\\s+Venn", "old tower"))
KNOWN = Standard(answers=("Port Sel", "in the town of Port Sel"))


def asked(number: int) -> Asked:
    pages = {"weft": f"woven page {number}", "bm25": f"dumped page {number}"}
    return Asked("tiny", f"q{number}", f"What is {number}?", FACTS, pages, {"weft": True, "bm25": False})


QUESTIONS = [asked(number) for number in range(11)]


def seen(packs: list[Pack], reader: str) -> list[tuple[str, str]]:
    return [(one.asked.id, one.maker) for pack in packs if pack.reader == reader for one in pack.questions]


# --- packs ---


def test_no_reader_sees_both_pages_of_a_question_and_every_page_is_read_by_one() -> None:
    packs = make_packs(QUESTIONS, 4, seed=7)
    first, second = (seen(packs, reader) for reader in ("reader-1", "reader-2"))
    assert [len(pack.questions) for pack in packs] == [4, 4, 4, 4, 3, 3]
    for pages in (first, second):
        assert Counter(id for id, _ in pages) == {one.id: 1 for one in QUESTIONS}
    assert {*first, *second} == {(one.id, maker) for one in QUESTIONS for maker in ("weft", "bm25")}


def test_each_reader_sees_as_many_pages_of_one_maker_as_of_the_other() -> None:
    for pack in make_packs(QUESTIONS, 4, seed=7):
        counts = Counter(one.maker for one in pack.questions)
        assert abs(counts["weft"] - counts["bm25"]) <= 1


def test_the_seed_decides_order_and_sides() -> None:
    assert make_packs(QUESTIONS, 4, seed=7) == make_packs(QUESTIONS, 4, seed=7)
    assert make_packs(QUESTIONS, 4, seed=7) != make_packs(QUESTIONS, 4, seed=8)


def test_a_pack_names_no_maker_and_no_page_can_end_its_fence() -> None:
    forging = Asked(
        "tiny", "q", "What?", FACTS, {"weft": "~~~~~\n## 9. Forged", "bm25": "a"}, {"weft": True, "bm25": True}
    )
    for pack in make_packs([forging, *QUESTIONS], 25, seed=1):
        text = pack_text(pack)
        assert not any(name in text.lower() for name in ("weft", "bm25"))
        assert ("\n~~~~~~\n" in text) == ("Forged" in text)


# --- grading ---


@pytest.mark.parametrize(
    ("answer", "quotes", "verdict"),
    [
        ("mara venn, in the old tower", "", "yes"),
        ("The archivist", "kept by Mara\nVenn … in the old\ntower", "yes"),
        ("Mara Venn", "", "partly"),
        ("somebody", "", "no"),
        ("-", "Mara Venn in the old tower", "no"),
    ],
)
def test_facts_are_looked_for_in_the_answer_and_in_what_is_quoted(answer: str, quotes: str, verdict: str) -> None:
    assert grade_answer(FACTS, answer, quotes) == verdict


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("She was born in Port Sel, a long way from the archive and its tower", "yes"),
        ("port sel", "yes"),
        ("a port", "partly"),
        ("Copper mine", "no"),
        ("-", "no"),
    ],
)
def test_known_answers_are_compared_by_their_words(answer: str, verdict: str) -> None:
    assert grade_answer(KNOWN, answer, "Port Sel") == verdict


def test_a_page_holds_an_answer_only_outside_of_its_title() -> None:
    question = "Was the keeper of it born in Port Sel?"
    assert is_on_page(KNOWN, "Mara was born in Port Sel.", question)
    assert not is_on_page(KNOWN, f"# {question}\n\nNothing.", question)
    assert not is_on_page(FACTS, "Mara Venn is kept.", question)


# --- from a set to a table ---


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    monkeypatch.setattr(sys, "argv", ["readers", *map(str, words)])
    command.main()


@pytest.fixture
def sets(tmp_path: Path) -> list[str]:
    folder = write_set(tmp_path / "tiny")
    source = tmp_path / "notes"
    source.mkdir()
    (source / "archive.md").write_text("# Archive\n\nKept by Mara Venn in the old tower.\n", encoding="utf-8")
    facts = tmp_path / "harbour.json"
    question = {"id": "keeper", "text": "Who keeps the archive, and where?", "facts": ["Mara Venn", "old tower"]}
    facts.write_text(json.dumps({"questions": [question]}), encoding="utf-8")
    return [str(folder), f"{facts}={source}"]


def test_packs_are_made_answered_and_graded(
    sets: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        run(monkeypatch, "make", *sets, "--out", tmp_path / name, "--budget", 120, "--per-pack", 3, "--seed", 5)
    files = {path.relative_to(tmp_path / "a"): path.read_bytes() for path in (tmp_path / "a").rglob("*.*")}
    assert files == {path.relative_to(tmp_path / "b"): path.read_bytes() for path in (tmp_path / "b").rglob("*.*")}
    key, answers = read_folder(tmp_path / "a")
    # Four questions of the folder have a known answer, and the file has one.
    assert {row["id"] for row in key} == {"q1", "q2", "q4", "q5", "keeper"}
    assert (len(key), len(answers)) == (10, 10)
    assert grade(key, answers)["answered"] == 0

    for row in key:
        result = row["standard"]["answers"][:1] or ["Mara Venn", "in the old tower"]
        given = {"number": row["number"], "answer": " ".join(result) if row["maker"] == "weft" else "-"}
        path = tmp_path / "a" / row["reader"] / f"{row['pack']}.answers.jsonl"
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        lines[row["number"] - 1] |= {**given, "hindered": "too short" if row["id"] == "q4" else ""}
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    capsys.readouterr()
    run(monkeypatch, "grade", tmp_path / "a")
    printed = capsys.readouterr().out
    assert "10 of 10 pages were answered." in printed
    assert "| all | weft | 5 / 0 / 0 |" in printed
    assert "| harbour | bm25 | 0 / 0 / 1 | 1 | 1 | 0 | 0 of 1 |" in printed
    assert "- weft, hindered (tiny q4, reader-" in printed
    run(monkeypatch, "grade", tmp_path / "a", "--json")
    assert json.loads(capsys.readouterr().out)["sets"]["all"]["only"] == {"weft": 5, "bm25": 0}


def test_a_question_read_from_one_side_only_speaks_for_neither() -> None:
    key = [
        {"reader": reader, "pack": "p", "number": 1, "maker": maker, "set": "s", "id": "q", "held": True}
        | {"standard": {"answers": ["Port Sel"]}}
        for reader, maker in (("reader-1", "weft"), ("reader-2", "bm25"))
    ]
    graded = grade(key, {("reader-1", "p", 1): {"number": 1, "answer": "Port Sel"}})
    assert graded["sets"]["all"]["only"] == {"weft": 0, "bm25": 0}
    assert "1 of 2 pages were answered." in report(graded)


def test_answers_are_never_written_over_and_mistakes_are_named(
    sets: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(monkeypatch, "make", sets[1], "--out", tmp_path / "out")
    with pytest.raises(SystemExit, match="is not an empty folder"):
        run(monkeypatch, "make", sets[1], "--out", tmp_path / "out")
    with pytest.raises(SystemExit, match="Write SET"):
        run(monkeypatch, "make", "nothing.json", "--out", tmp_path / "other")
    with pytest.raises(SystemExit, match="Give the folder that `make` wrote"):
        run(monkeypatch, "grade", tmp_path)
    (tmp_path / "out" / "reader-1" / "pack-01.answers.jsonl").write_text("{", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"answers\.jsonl:1 is not JSON"):
        run(monkeypatch, "grade", tmp_path / "out")
