"""Records in JSON, JSONL and CSV files."""

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.model import Edge, Node, Origin
from weft.ports import Unit
from weft.sources import open_source
from weft.sources.records import BLOCK_LINES


def read_all(place: Path, **options: str) -> Unit:
    source = open_source(str(place), name="s", **options)
    units = [source.read(name) for name, _ in list(source.units())]
    return Unit(
        "all",
        "",
        tuple(node for unit in units for node in unit.nodes),
        tuple(edge for unit in units for edge in unit.edges),
        tuple(problem for unit in units for problem in unit.problems),
    )


def read_lines(folder: Path, *records: object) -> Unit:
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return read_all(path)


def only(unit: Unit) -> Node:
    assert len(unit.nodes) == 1
    return unit.nodes[0]


def test_every_documented_field_of_a_node_is_read(tmp_path: Path) -> None:
    record = {
        "key": "atlas",
        "kind": "Project",
        "title": "Atlas",
        "summary": "Maps.",
        "text": "Atlas draws maps.",
        "fields": {"owner": "Ines"},
        "tags": ["maps", "maps", "paper"],
        "aliases": ["The Atlas"],
        "language": "en",
        "file": "src/atlas.py",
        "line": 12,
        "url": "https://example.org/atlas",
        "sequence": 4,
        "known_from": 5,
        "created": "2024-05-01",
        "modified": 1_714_521_600,
        "importance": 0.5,
        "tenant": "finance",
        "metadata": {"room": 3},
        "colour": "red",
    }
    node = only(read_lines(tmp_path, record))
    assert (node.key, node.kind, node.title, node.summary) == ("s:atlas", "project", "Atlas", "Maps.")
    assert node.fields == {"colour": "red", "importance": 0.5, "owner": "Ines", "room": 3}
    assert node.tags == ("maps", "paper")
    assert [(alias.text, alias.maker) for alias in node.aliases] == [("The Atlas", "source:s@1")]
    assert (node.origin.source, node.origin.file, node.origin.first_line) == ("s", "src/atlas.py", 12)
    assert (node.sequence, node.known_from, node.importance, node.tenant) == (4, 5, 0.5, "finance")
    assert node.created == node.modified == datetime(2024, 5, 1, tzinfo=UTC)


def test_a_record_without_a_place_of_its_own_is_cited_by_its_key(tmp_path: Path) -> None:
    unit = read_lines(tmp_path, {"id": 1, "text": "one"}, {"id": 2, "text": "two"})
    assert [(node.key, node.origin) for node in unit.nodes] == [("s:1", Origin("s")), ("s:2", Origin("s"))]


def test_a_record_added_above_changes_none_below_it(tmp_path: Path) -> None:
    before = read_lines(tmp_path, {"id": 2, "text": "two"})
    after = read_lines(tmp_path, {"id": 1, "text": "one"}, {"id": 2, "text": "two"})
    assert after.nodes[1] == before.nodes[0]


@pytest.mark.parametrize(
    "record",
    [
        {"_id": "7", "title": "T", "text": "body"},
        {"id": "7", "title": "T", "text": "body", "meta": {"year": 1999}},
        {"id": "7", "name": "T", "content": "body"},
        {"key": "s:7", "title": "T", "body": "body"},
    ],
)
def test_public_corpora_load_as_they_are(tmp_path: Path, record: dict[str, object]) -> None:
    node = only(read_lines(tmp_path, record))
    assert (node.key, node.title, node.text, node.kind) == ("s:7", "T", "body", "note")


def test_an_export_of_memories_is_no_source_of_records(tmp_path: Path) -> None:
    unit = read_lines(
        tmp_path,
        {"key": "memory:1", "memory": {"key": "memory:1", "text": "Use tabs"}, "updated": "2026-03-01T00:00:00Z"},
        {"forgotten": True, "key": "memory:2", "updated": "2026-03-01T00:00:00Z"},
    )
    assert not unit.nodes
    assert not unit.problems
    source = open_source(str(tmp_path), name="s")
    assert not list(source.units())
    assert "weft import" in source.list_skipped()["data.jsonl"]
    assert only(read_lines(tmp_path, {"key": "memory:3", "text": "Written by another tool"})).key == "s:memory:3"


def test_a_question_and_its_answer_become_fields_and_readable_text(tmp_path: Path) -> None:
    content = {"question": "How long?", "answer": "Five days."}
    node = only(read_lines(tmp_path, {"id": "q", "type": "faq", "content": content}))
    assert node.title == "How long?"
    assert node.text == "Question: How long?\nAnswer: Five days."
    assert node.fields == {"answer": "Five days.", "question": "How long?"}


def test_steps_are_numbered_in_the_text(tmp_path: Path) -> None:
    content = {"steps": ["Open it", {"do": "Close it", "who": "clerk"}], "roles": ["a", "b"]}
    node = only(read_lines(tmp_path, {"id": "p", "content": content}))
    assert node.text == "Steps:\n1. Open it\n2. do: Close it; who: clerk\nRoles:\n- a\n- b"
    assert node.fields["steps"] == ["Open it", {"do": "Close it", "who": "clerk"}]


def test_a_record_with_only_columns_of_its_own_is_still_searchable(tmp_path: Path) -> None:
    node = only(read_lines(tmp_path, {"id": "e", "goal": "Ship it", "outcome_status": "confirmed"}))
    assert node.text == "Goal: Ship it\nOutcome status: confirmed"


def test_a_record_that_holds_code_has_its_language_and_summary_unless_it_gives_them(tmp_path: Path) -> None:
    code = 'def halve(n):\n    """Return half of a number."""\n    return n / 2'
    found = read_lines(
        tmp_path, {"id": "a", "text": code}, {"id": "b", "text": code, "language": "text", "summary": "S"}
    )
    assert [(node.language, node.summary) for node in found.nodes] == [
        ("python", "Return half of a number."),
        ("text", "S"),
    ]


def test_a_parent_and_links_make_edges(tmp_path: Path) -> None:
    links = ["b", "@other:c", {"target": "d", "type": "Uses", "weight": 0.5}]
    unit = read_lines(tmp_path, {"id": "a", "parent": "root", "links": links, "text": "x"})
    assert [(edge.source, edge.target, edge.type, edge.weight) for edge in unit.edges] == [
        ("s:root", "s:a", "parent", 1.0),
        ("s:a", "s:b", "related", 1.0),
        ("s:a", "other:c", "related", 1.0),
        ("s:a", "s:d", "uses", 0.5),
    ]


def test_edges_are_told_from_nodes_by_their_two_ends(tmp_path: Path) -> None:
    unit = read_lines(
        tmp_path,
        {"source": "a", "target": "b", "type": "PARENT", "weight": 0.8, "evidence": "said so", "confidence": 0.9},
        {"from": "a", "to": "b"},
        {"id": "mail", "from": "ann", "to": "bob", "text": "A letter is a node."},
    )
    assert unit.edges[0] == Edge("s:a", "s:b", "parent", 0.8, 0.9, "said so")
    assert unit.edges[1] == Edge("s:a", "s:b", "related")
    assert only(unit).fields == {"from": "ann", "to": "bob"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{broken", "Not JSON"),
        ("[1]", "A record is an object, not list"),
        ("{}", "There is no key"),
        ('{"id": true, "text": "x"}', "'True' is not a key"),
        ('{"source": "a", "target": "b", "weight": "heavy"}', "'heavy' is not a number from 0"),
        ('{"source": "a", "target": "b", "weight": -1}', "-1 is not a number from 0"),
        ('{"source": "a", "target": "b", "weight": NaN}', "nan is not a number from 0"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_malformed_record_is_skipped_with_its_line_and_reason(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(f'{{"id": "first", "text": "x"}}\n{line}\n{{"id": "last", "text": "y"}}\n')
    unit = read_all(path)
    assert [node.key for node in unit.nodes] == ["s:first", "s:last"]
    assert [problem.where for problem in unit.problems] == ["data.jsonl:2"]
    assert said in unit.problems[0].reason
    assert "skipped" in unit.problems[0].reason


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("created", "yesterday", "'yesterday' is not a time; ISO 8601"),
        ("importance", 7, "7 is not a number from 0 to 1"),
        ("sequence", "third", "'third' is not a whole number"),
        ("sequence", 2**70, "is not a whole number"),
        ("title", ["a"], "is not text"),
    ],
)
def test_an_unusable_value_is_left_out_and_the_record_kept(
    tmp_path: Path, name: str, value: object, said: str
) -> None:
    unit = read_lines(tmp_path, {"id": "a", "text": "x", name: value})
    assert only(unit).text == "x"
    assert said in unit.problems[0].reason
    assert unit.problems[0].where == "data.jsonl:1"


def test_the_last_of_two_records_with_one_key_counts_with_its_links(tmp_path: Path) -> None:
    unit = read_lines(
        tmp_path, {"id": "a", "text": "old", "links": ["x"]}, {"id": "a", "text": "new", "links": ["y"]}
    )
    assert only(unit).text == "new"
    assert [edge.target for edge in unit.edges] == ["s:y"]
    assert [problem.where for problem in unit.problems] == ["data.jsonl:1"]
    assert "'s:a' is used more than once" in unit.problems[0].reason


def test_a_key_repeated_in_another_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "k", "text": "old"}\n')
    (tmp_path / "b.jsonl").write_text('{"id": "k", "text": "new"}\n')
    unit = read_all(tmp_path)
    assert [node.text for node in unit.nodes] == ["old", "new"]
    assert [problem.where for problem in unit.problems] == ["b.jsonl:1"]


def test_reading_a_unit_twice_gives_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "k", "text": "x"}\n')
    source = open_source(str(path))
    assert source.read("a.jsonl#1") == source.read("a.jsonl#1")


def test_broken_utf8_is_replaced_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'{"id": "a", "text": "caf\xe9"}\n{"id": "b", "text": "fine"}\n')
    unit = read_all(path)
    assert [node.text for node in unit.nodes] == ["caf\ufffd", "fine"]
    assert unit.problems[0].where == "data.jsonl:1"
    assert "UTF-8" in unit.problems[0].reason


def test_byte_order_marks_control_characters_and_lone_surrogates_disappear(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": "a", "text": "a\\u0000b\\u001bc\\td\\r\\ne\\ud800f"}\n')
    unit = read_all(path)
    assert only(unit).text == "abc\td\nef"
    assert not unit.problems


def test_a_text_over_the_limit_is_skipped_and_the_rest_read(tmp_path: Path) -> None:
    unit = read_lines(tmp_path, {"id": "big", "text": "x" * 5_000_001}, {"id": "small", "text": "y"})
    assert only(unit).key == "s:small"
    assert "5,000,001 characters; at most 5,000,000" in unit.problems[0].reason


def test_a_line_of_fifty_megabytes_is_skipped_and_the_rest_read(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    with path.open("wb") as stream:
        stream.write(b'{"id": "big", "text": "' + b"x" * 50_000_000 + b'"}\n{"id": "small", "text": "y"}\n')
    unit = read_all(path)
    assert only(unit).key == "s:small"
    assert only(unit).key == "s:small"
    assert unit.problems[0].where == "data.jsonl:1"


@pytest.mark.parametrize("name", ["data.jsonl", "data.json", "data.csv"])
def test_a_binary_file_is_skipped_with_a_problem(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x89PNG\x00\x00\x01\n" * 10)
    unit = read_all(tmp_path / name)
    assert not unit.nodes
    assert "binary" in unit.problems[0].reason


def test_a_long_file_is_cut_into_blocks_and_only_the_changed_one_has_a_new_stamp(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    lines = [json.dumps({"id": number, "text": "x"}) for number in range(BLOCK_LINES + 5)]
    path.write_text("\n".join(lines) + "\n")
    source = open_source(str(path), name="s")
    before = dict(source.units())
    assert list(before) == ["data.jsonl#1", f"data.jsonl#{BLOCK_LINES + 1}"]
    second = source.read(f"data.jsonl#{BLOCK_LINES + 1}")
    assert len(second.nodes) == 5
    assert second.stamp == before[second.name]
    path.write_text("\n".join([*lines, '{"id": "new", "text": "x"}']) + "\n")
    after = dict(source.units())
    assert after["data.jsonl#1"] == before["data.jsonl#1"]
    assert after[second.name] != before[second.name]


def test_json_holds_a_list_or_nodes_and_edges(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text('[{"id": "a", "text": "x"}, 3]')
    world = {"nodes": [{"id": "b", "text": "y"}], "edges": [{"source": "a", "target": "b"}]}
    (tmp_path / "world.json").write_text(json.dumps(world))
    unit = read_all(tmp_path)
    assert [node.key for node in unit.nodes] == ["s:a", "s:b"]
    assert [(edge.source, edge.target) for edge in unit.edges] == [("s:a", "s:b")]
    assert [problem.where for problem in unit.problems] == ["list.json: record 2"]


def test_other_json_and_csv_in_a_folder_is_passed_over_but_reported_when_named(tmp_path: Path) -> None:
    (tmp_path / "fixture.json").write_text('[{"model": "app.thing", "pk": 1}]')
    (tmp_path / "table.csv").write_text("colour,size\nred,3\n")
    assert read_all(tmp_path) == Unit("all", "")
    source = open_source(str(tmp_path), name="s")
    reasons = {name: source.read(name).skipped for name, _ in source.units()}
    assert reasons == {"fixture.json": "data: a list of 1 values", "table.csv": "no records"}
    assert "name no records" in read_all(tmp_path / "table.csv").problems[0].reason


def test_csv_rows_are_nodes_or_edges_by_their_columns(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(
        'id,title,text,tags,aliases,fields\na,Alpha,"two\nlines",x;y,First; One,"{""size"": 3}"\n\nb,Beta,,,,\n'
    )
    (tmp_path / "edges.csv").write_text("source;target;type;weight\na;b;Uses;0.5\n")
    unit = read_all(tmp_path)
    alpha = unit.nodes[0]
    assert (alpha.text, alpha.tags, alpha.fields) == ("two\nlines", ("x", "y"), {"size": 3})
    assert [alias.text for alias in alpha.aliases] == ["First", "One"]
    assert unit.edges == (Edge("s:a", "s:b", "uses", 0.5),)


def test_a_table_of_questions_and_answers_needs_no_keys(tmp_path: Path) -> None:
    (tmp_path / "faq.csv").write_text(
        "Question,Answer,Topic\nDo you ship to Oslo?,Yes.,delivery\nWho pays customs?,You do.,delivery\n", "utf-8"
    )
    unit = read_all(tmp_path)
    assert not unit.problems
    first = unit.nodes[0]
    assert (first.key, first.kind, first.title) == ("s:Do you ship to Oslo?", "faq", "Do you ship to Oslo?")
    assert first.text.splitlines() == ["Question: Do you ship to Oslo?", "Answer: Yes.", "Topic: delivery"]
    # What is given counts more than what the columns suggest, and a question alone is no record.
    given = only(read_lines(tmp_path, {"id": 7, "kind": "policy", "question": "Who?", "answer": "Me."}))
    assert (given.key, given.kind) == ("s:7", "policy")
    assert "There is no key" in read_lines(tmp_path, {"question": "Who?", "answer": ""}).problems[0].reason


def test_a_row_with_too_many_cells_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text("id,text\na,x,y,z\nb,fine\n")
    unit = read_all(path)
    assert only(unit).key == "s:b"
    assert unit.problems[0].where == "nodes.csv:2"
    assert "4 cells for 2 columns" in unit.problems[0].reason


def test_deep_and_huge_fields_are_bounded(tmp_path: Path) -> None:
    deep: object = "end"
    for _ in range(200):
        deep = [deep]
    node = only(read_lines(tmp_path, {"id": "a", "text": "x", "fields": {"deep": deep, "many": [0] * 50_000}}))
    assert 1000 < len(json.dumps(node.fields)) < 100_000


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
NAMES = ("key", "id", "kind", "title", "text", "content", "fields", "tags", "aliases", "file", "line", "url")
NAMES += ("sequence", "known_from", "created", "importance", "tenant", "parent", "links", "metadata", "summary")
NAMES += ("source", "target", "type", "weight", "evidence", "confidence", "language", "other")


@settings(max_examples=120, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(NAMES), anything, max_size=6), max_size=4))
def test_any_records_are_read_or_reported_but_never_raise(records: list[dict[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        unit = read_lines(Path(folder), *records)
    for node in unit.nodes:
        assert node.key.partition(":")[0] and node.key.partition(":")[2]
        assert node.kind
        json.dumps(node.fields, allow_nan=False)
    assert len(unit.nodes) + len(unit.edges) + len(unit.problems) >= len(records)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["data.jsonl", "data.json", "data.csv", "data.md"]), st.binary(max_size=200))
def test_any_bytes_are_read_or_reported_but_never_raise(name: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(content)
        unit = read_all(Path(folder))
    for node in unit.nodes:
        node.text.encode("utf-8")
