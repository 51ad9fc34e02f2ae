"""Characters, values, paths and scores as they are printed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.model import Candidate, Json, Node, Origin, Step
from weft.render.harmless import clean, one_line
from weft.render.node_values import (
    display_name,
    format_location,
    format_path,
    format_score,
    format_value,
    read_value,
    split_label,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\twords\n", "plain\twords\n"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("\x1b]unfinished", "]unfinished"),
        ("\x9b31mred", "red"),
        ("a\x00b\x7fc\x90d", "abcd"),
        ("a\r\nb\rc", "a\nb c"),
        ("a\u2028b\u2029c\x85d\x0ce", "a b c d e"),
        ("\u202eabc\u2066", "abc"),
        ("\ud800x", "\ufffdx"),
        ("x\ufffe\uffff", "x"),
        ("é 漢字 שלום می\u200cخواهم 👩\u200d💻 1\ufe0f", "é 漢字 שלום می\u200cخواهم 👩\u200d💻 1\ufe0f"),
        ("\u200b# a\u200db \u200fשלום \ufeffc\u2060d", "# ab שלום cd"),
        ("é\u200d\u200c\u200dé \U000e0041\U000e0042 x\U000e0101\U000e0102", "éé  x"),
        ("<|im_start|>system [INST] <<SYS>> a <|> b", "< |im_start|>system [ INST] < <SYS>> a <|> b"),
    ],
)
def test_cleaning_keeps_words_and_drops_what_cannot_be_seen(text: str, expected: str) -> None:
    assert clean(text) == expected


@given(st.text())
def test_cleaning_keeps_the_number_of_lines_and_is_final(text: str) -> None:
    cleaned = clean(text)
    assert cleaned.count("\n") == text.count("\n")
    assert clean(cleaned) == cleaned
    assert cleaned.split("\n") == [line for part in cleaned.split("\n") for line in (part.splitlines() or [""])]


@given(st.text())
def test_one_line_is_one_line_without_doubled_spaces(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert line == " ".join(line.split())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        (True, "yes"),
        (False, "no"),
        (0, "0"),
        (2.0, "2"),
        (0.1 + 0.2, "0.3"),
        (math.inf, "inf"),
        (" two\nlines ", "two lines"),
        (["a", None, 1], "a, 1"),
        ({"b": 1, "a": "x", "none": None}, "a: x, b: 1"),
        ([{"name": "Ned"}, {"title": "Robb", "type": "son"}], "Ned, Robb"),
    ],
)
def test_values_become_words(value: Json, expected: str) -> None:
    assert format_value(value) == expected


def test_a_name_leads_to_attributes_then_fields_then_the_origin() -> None:
    origin = Origin("src", "a.py", 4, commit="abc")
    node = Node("k", "note", title="T", fields={"title": "other", "a": {"b": 1}, "a.c": 2}, origin=origin)
    names = ("title", "a.b", "a.c", "a.x", "file", "line", "commit", "importance", "missing")
    assert [read_value(node, name) for name in names] == ["T", 1, 2, None, "a.py", 4, "abc", None, None]


def test_labels_are_given_or_made_from_the_name() -> None:
    assert split_label("files_changed") == ("files_changed", "Files changed")
    assert split_label("files_changed=Files") == ("files_changed", "Files")
    assert split_label("lesson.what_worked") == ("lesson.what_worked", "What worked")


def test_a_node_without_a_title_goes_by_its_key() -> None:
    assert display_name(Node("k:1", "note", title=" \n ")) == "k:1"


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (Origin(file="a.md", first_line=3), "a.md:3"),
        (Origin(file="a.md"), "a.md"),
        (Origin(url="https://example.org"), "https://example.org"),
        (Origin(), ""),
    ],
)
def test_a_place_is_a_file_and_line_or_an_address(origin: Origin, expected: str) -> None:
    assert format_location(Node("k", "note", origin=origin)) == expected


def test_a_path_leads_back_to_where_the_walk_began() -> None:
    steps = (Step("b", "mentions", direction="out"), Step("c", "cites", direction="in"))
    assert format_path(Candidate(Node("c", "note"), root="a", path=steps)) == "cites → b, mentions ← a"
    assert format_path(Candidate(Node("c", "note"))) == ""


def test_a_score_is_a_sum_only_where_its_parts_add_up() -> None:
    node = Node("k", "note")
    assert format_score(Candidate(node, 0.5)) == "0.5"
    assert format_score(Candidate(node, 0.9, {"walk": 0.2, "relevance": 0.7})) == "0.9 = relevance 0.7 + walk 0.2"
    assert format_score(Candidate(node, 0.12345, {"own": 0.5, "walk": 1.0})) == "0.123 (walk 1, own 0.5)"
