"""Nodes that questions call by name."""

from pathlib import Path

import pytest

from weft import Node, Weft
from weft.model import Alias, View
from weft.pipeline.plan import find_named_nodes
from weft.text import find_body_start, find_name_spans, name_spellings

ODO = Node("s:odo", "character", title="Odo Farrant", aliases=(Alias("Odo"), Alias("the drowned clerk")))
WILL = Node("s:will", "character", title="Will")
HOPE = Node("s:hope", "character", title="Hope")
ROKES = [Node(f"s:roke{n}", "character", title=f"Roke {n}", aliases=(Alias("Roke"),)) for n in (1, 2)]
YEAR = Node("s:year", "note", title="2024")
COMPANY = Node("s:company", "faction", title="Lantern Company")
CHAPTER = Node("s:ch3", "chapter", title="The Lantern Company")
LOG = Node("s:app/deep/down/in/the/tree/log.py", "file", aliases=(Alias("log.py"),))


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Weft:
    opened = Weft.open(Path(tmp_path_factory.mktemp("naming")) / ".weft", embedder=None)
    opened.put([ODO, WILL, HOPE, *ROKES, YEAR, LOG, COMPANY, CHAPTER])
    return opened


def called(weft: Weft, question: str) -> list[tuple[str, float]]:
    with weft.store.snapshot(View()) as snapshot:
        found = find_named_nodes(question, snapshot, "names")
    return [(each.node.key, each.parts["named"]) for each in found]


@pytest.mark.parametrize(
    "question",
    ["Who is Odo Farrant?", "who is odo farrant", "Odo Farrant's boots", "What did the drowned clerk keep?"],
)
def test_a_title_or_alias_in_any_case_names_its_node(weft: Weft, question: str) -> None:
    assert called(weft, question) == [("s:odo", 1.0)]


def test_a_name_that_is_a_common_word_counts_only_where_it_is_written_as_a_name(weft: Weft) -> None:
    assert called(weft, "Will Odo come back?") == [("s:odo", 1.0)]
    assert called(weft, "What does Will want of Odo?") == [("s:will", 1.0), ("s:odo", 1.0)]
    assert called(weft, "Did Odo hope for more?") == [("s:odo", 1.0)]
    assert called(weft, "Did Odo meet Hope?") == [("s:odo", 1.0), ("s:hope", 1.0)]


def test_who_is_not_looked_for_hides_nobody(weft: Weft) -> None:
    with weft.store.snapshot(View()) as snapshot:
        found = find_named_nodes(
            "Who runs the Lantern Company?", snapshot, "", lambda node: node.kind == "faction"
        )
    assert [(each.node.key, each.parts["named"]) for each in found] == [("s:company", 1.0)]
    assert called(weft, "Who runs the Lantern Company?") == [("s:ch3", 1.0)]


def test_a_name_that_two_share_names_each_by_half(weft: Weft) -> None:
    assert called(weft, "Who is Roke?") == [("s:roke1", 0.5), ("s:roke2", 0.5)]


@pytest.mark.parametrize(
    "question",
    [
        "What does Odo's log.py do?",
        "read app/deep/down/in/the/tree/log.py",
        "app/deep/down/in/the/tree/log.py:12",
    ],
)
def test_files_are_called_by_their_names_or_paths(weft: Weft, question: str) -> None:
    assert ("s:app/deep/down/in/the/tree/log.py", 1.0) in called(weft, question)


def test_numbers_and_empty_questions_name_nobody(weft: Weft) -> None:
    assert called(weft, "What happened in 2024, and in 1?") == []
    assert called(weft, "") == []


def test_texts_name_whole_words_only_and_the_longest_name_once() -> None:
    names = name_spellings(["Odo Farrant", "Odo", "the clerk"])
    text = "Odo Farrant saw Odorous Todo. The clerk left. ODO!"
    assert [text[a:b] for a, b in find_name_spans(text, names, (0, len(text)))] == [
        "Odo Farrant",
        "The clerk",
        "ODO",
    ]


def test_names_in_scripts_without_spaces_may_touch_other_characters() -> None:
    assert find_name_spans("昨天张三来了", name_spellings(["张三"]), (0, 6)) == [(2, 4)]


def test_a_window_bounds_where_names_are_looked_for() -> None:
    assert find_name_spans("Odo and Odo", name_spellings(["Odo"]), (4, 11)) == [(8, 11)]


def test_a_name_may_go_over_the_end_of_a_line_but_not_of_a_paragraph() -> None:
    text = "She heard Mr.\nCollins. He left, Mr.\n\nCollins being asleep."
    assert find_name_spans(text, name_spellings(["Mr. Collins"]), (0, len(text))) == [(10, 21)]


def test_a_repeated_title_is_skipped_and_another_first_line_is_not() -> None:
    assert find_body_start("# Springs\n\nAt dusk", "Springs") == 10
    assert find_body_start("At dusk\nit rained", "Springs") == 0
    assert find_body_start("Springs", "Springs") == 0
