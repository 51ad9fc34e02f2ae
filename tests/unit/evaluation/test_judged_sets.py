"""Judged sets on disk: both layouts, scopes, and every way in which files are not in order."""

import json
from pathlib import Path

import pytest

from judged_sets import CORPUS, QRELS, QUERIES, lines, table, write_set
from weft.errors import InvalidInput
from weft.evaluation import read_folder


def test_a_set_in_order_has_nothing_to_report(tmp_path: Path) -> None:
    judged = read_folder(write_set(tmp_path / "My Set"))
    assert judged.name == "my-set"
    assert (len(judged.documents), len(judged.questions)) == (len(CORPUS), len(QUERIES))
    assert judged.gold["q2"] == {"d1": 1, "d2": 2}
    assert "d6" not in judged.gold["q3"]
    assert not (judged.problems or judged.unknown or judged.unjudged or judged.empty_documents)


def test_beirs_own_layout_is_read(tmp_path: Path) -> None:
    corpus = [{"_id": each["id"], "title": each["title"], "text": each["text"], "metadata": {}} for each in CORPUS]
    queries = [{"_id": each["id"], "text": each["text"], "metadata": {"kind": "x"}} for each in QUERIES]
    folder = write_set(tmp_path, corpus, queries)
    (folder / "qrels").mkdir()
    (folder / "qrels.tsv").rename(folder / "qrels" / "test.tsv")
    (folder / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\n", encoding="utf-8")
    judged = read_folder(folder)
    assert judged.gold["q1"] == {"d1": 1}
    assert judged.questions[0].meta == {"kind": "x"}
    assert not judged.problems


def test_answers_are_a_text_or_a_list_with_aliases(tmp_path: Path) -> None:
    queries = [
        {"id": "q1", "text": "Who?", "answer": "Mara", "meta": {"answer_aliases": ["M. Venn", "Mara", ""]}},
        {"id": "q2", "text": "When?", "answer": [1902, "nineteen-two"]},
    ]
    first, second = read_folder(write_set(tmp_path, queries=queries)).questions
    assert first.answers == ("Mara", "M. Venn")
    assert second.answers == ("1902", "nineteen-two")


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_named_with_what_a_set_looks_like(tmp_path: Path, name: str) -> None:
    (write_set(tmp_path) / name).unlink()
    with pytest.raises(InvalidInput, match=rf"no {name}.*A judged set is a folder with corpus\.jsonl"):
        read_folder(tmp_path)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="There is no folder"):
        read_folder(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl"])
def test_a_file_without_one_usable_line_is_refused_with_its_first_problem(tmp_path: Path, name: str) -> None:
    (write_set(tmp_path) / name).write_text("not json\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=rf"{name}:1: Not JSON"):
        read_folder(tmp_path)


def test_judgements_of_nothing_are_refused(tmp_path: Path) -> None:
    write_set(tmp_path, qrels=[("q1", "d99", 1)])
    with pytest.raises(InvalidInput, match=r"judges none.*'d99'"):
        read_folder(tmp_path)


def test_malformed_lines_are_skipped_with_line_and_reason(tmp_path: Path) -> None:
    write_set(tmp_path)
    with (tmp_path / "corpus.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"id": "d8", "text": \n[1]\n{"title": "no id"}\n\n{"id": "d9", "text": "fine"}\n')
    with (tmp_path / "queries.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"id": "q8"}\n')
    with (tmp_path / "qrels.tsv").open("a", encoding="utf-8") as stream:
        stream.write("q1 d1 1\nq1\td1\thigh\n")
    judged = read_folder(tmp_path)
    assert [problem.where for problem in judged.problems] == [
        *("corpus.jsonl:8", "corpus.jsonl:9", "corpus.jsonl:10"),
        *("queries.jsonl:6", "qrels.tsv:9", "qrels.tsv:10"),
    ]
    assert judged.documents[-1].id == "d9"
    assert "'high' is no whole number" in judged.problems[-1].reason


def test_of_documents_with_the_same_id_the_last_one_counts(tmp_path: Path) -> None:
    judged = read_folder(write_set(tmp_path, [*CORPUS, {"id": "d1", "title": "Again", "text": "Twice."}]))
    assert [problem.where for problem in judged.problems] == ["corpus.jsonl:8"]
    assert "line 1" in judged.problems[0].reason
    assert next(each for each in judged.documents if each.id == "d1").record["title"] == "Again"


def test_unknown_ids_are_listed_and_left_out(tmp_path: Path) -> None:
    judged = read_folder(write_set(tmp_path, qrels=[*QRELS, ("q1", "d99", 1), ("q99", "d1", 1)]))
    assert [(each.where, each.reason.split(".")[0]) for each in judged.unknown] == [
        ("qrels.tsv:9", "There is no document 'd99'"),
        ("qrels.tsv:10", "There is no question 'q99'"),
    ]
    assert judged.gold["q1"] == {"d1": 1}
    assert not judged.problems


def test_questions_without_gold_are_left_out_and_counted(tmp_path: Path) -> None:
    judged = read_folder(write_set(tmp_path, qrels=[*QRELS[:1], ("q3", "d5", 0)]))
    assert judged.unjudged == ("q2", "q3", "q4", "q5")
    assert [question.id for question in judged.measurable_questions(False)] == ["q1"]


def test_empty_documents_are_listed(tmp_path: Path) -> None:
    judged = read_folder(write_set(tmp_path, [*CORPUS, {"id": "d8", "title": " ", "text": ""}, {"id": "d9"}]))
    assert judged.empty_documents == ("d8", "d9")


def test_scopes_come_from_a_file(tmp_path: Path) -> None:
    scopes = [{"query": "q1", "docs": ["d1", "d2", "d77"]}, {"query": "q4", "docs": ["d1"]}, {"query": "q1"}]
    (write_set(tmp_path) / "scope.jsonl").write_text(lines(scopes), encoding="utf-8")
    judged = read_folder(tmp_path)
    assert judged.scopes == {"q1": frozenset({"d1", "d2"}), "q4": frozenset({"d1"})}
    assert [problem.where for problem in judged.problems] == ["scope.jsonl:3"]
    assert [problem.where for problem in judged.unknown] == ["scope.jsonl:1"]
    assert judged.excluded == ("q4",)
    assert "q4" not in {question.id for question in judged.measurable_questions(True)}
    assert "q4" in {question.id for question in judged.measurable_questions(False)}


def test_scopes_come_from_the_meta_of_both_sides(tmp_path: Path) -> None:
    corpus = [{**each, "meta": {"scope": "town" if each["id"] in ("d1", "d2", "d3") else 7}} for each in CORPUS]
    queries = [{**each, "meta": {"scope": "town"} if each["id"] == "q1" else {"scope": 7}} for each in QUERIES[:3]]
    judged = read_folder(write_set(tmp_path, corpus, queries))
    assert judged.scopes["q1"] == frozenset({"d1", "d2", "d3"})
    assert judged.scopes["q3"] == frozenset({"d4", "d5", "d6", "d7"})
    assert judged.excluded == ("q2",)


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    write_set(tmp_path)
    (tmp_path / "corpus.jsonl").write_bytes(b"\xef\xbb\xbf" + lines(CORPUS).replace("\n", "\r\n").encode())
    (tmp_path / "qrels.tsv").write_bytes(table(QRELS).replace("\n", "\r\n").encode())
    judged = read_folder(tmp_path)
    assert not judged.problems
    assert judged.gold["q1"] == {"d1": 1}


def test_line_separators_inside_a_text_do_not_end_the_line(tmp_path: Path) -> None:
    record = {"id": "d8", "title": "Odd", "text": "one\u2028two\x85three"}
    write_set(tmp_path)
    with (tmp_path / "corpus.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    assert read_folder(tmp_path).documents[-1].record["text"] == record["text"]
