"""Asked about a whole project, a workspace page begins with its readme and a map of its main symbols."""

from collections.abc import Iterator
from random import Random

import pytest

from weft import Edge, Filter, Node, Weft
from weft.model import Origin

NAMES = ("base", "store", "find", "show", "main", "alone")
CALLS = (
    ("main", "show"),
    ("main", "find"),
    ("show", "find"),
    ("find", "store"),
    ("show", "store"),
    ("store", "base"),
)


def symbols() -> list[Node]:
    """Six functions, each in a file of its own."""
    return [
        Node(
            f"r:{name}.py#{name}",
            "function",
            title=name,
            summary=f"Does what {name} does.",
            text=f"def {name}(): ...",
            language="python",
            fields={"signature": f"def {name}()"},
            origin=Origin("r", f"{name}.py", 1, 1),
        )
        for name in NAMES
    ]


def edges() -> list[Edge]:
    return [Edge(f"r:{one}.py#{one}", f"r:{other}.py#{other}", "calls") for one, other in CALLS]


def filled(weft: Weft, seed: int = 0) -> Weft:
    nodes, links = [*symbols(), Node("r:README.md", "note", title="Lock", text="Keeps a lock.")], edges()
    Random(seed).shuffle(nodes)
    for node in nodes:
        weft.put([node])
    weft.put([], links)
    return weft


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    with Weft.open(tmp_path_factory.mktemp("map") / ".weft", embedder=None) as opened:
        yield filled(opened)


def mapped(text: str) -> list[str]:
    """The names on the map, in order."""
    return [
        line.partition("`def ")[2].partition("(")[0]
        for line in text.splitlines()
        if line.startswith("- ") and "`" in line
    ]


def test_the_map_shows_what_others_refer_to_most_first_and_nothing_that_nobody_refers_to(weft: Weft) -> None:
    page = weft.context("What is this project?", profile="workspace", max_tokens=800)
    assert mapped(page.text) == ["base", "store", "find", "show"]
    assert "## Repository Map\n- base.py:1 `def base()`: Does what base does.\n" in page.text
    assert page.text.startswith("## About This Project\n\n### Lock\n")


def test_the_map_keeps_to_the_budget(weft: Weft) -> None:
    for budget in (40, 80, 120, 200):
        for format in ("markdown", "xml", "plain", "json"):
            page = weft.context("What is this project?", profile="workspace", format=format, max_tokens=budget)
            assert page.tokens <= budget


@pytest.mark.parametrize(
    ("question", "drawn"),
    [
        ("what does THIS repository do??", True),
        ("Please give me an overview of the codebase.", True),
        ("What does find do?", False),
        ("Which project structures exist?", False),
    ],
)
def test_only_questions_about_the_whole_draw_a_map(weft: Weft, question: str, drawn: bool) -> None:
    page = weft.context(question, profile="workspace", max_tokens=800)
    assert ("## Repository Map" in page.text) == drawn


def test_a_caller_may_ask_for_the_map_or_against_it(weft: Weft) -> None:
    asked = weft.context("find", profile="workspace", parameters={"map": True}, max_tokens=800)
    assert "## Repository Map" in asked.text
    against = weft.context("What is this project?", profile="workspace", parameters={"map": False}, max_tokens=800)
    assert "## Repository Map" not in against.text


def test_a_filter_holds_for_the_map(weft: Weft) -> None:
    page = weft.context(
        "What is this project?", profile="workspace", filter=Filter(kinds=("note",)), max_tokens=800
    )
    assert mapped(page.text) == []


def test_the_order_of_writing_changes_nothing(weft: Weft, tmp_path_factory: pytest.TempPathFactory) -> None:
    page = weft.context("What is this project?", profile="workspace", max_tokens=800)
    with Weft.open(tmp_path_factory.mktemp("other") / ".weft", embedder=None) as other:
        assert (
            filled(other, seed=7).context("What is this project?", profile="workspace", max_tokens=800).text
            == page.text
        )


def test_what_a_much_used_symbol_uses_itself_is_on_the_map(tmp_path_factory: pytest.TempPathFactory) -> None:
    callers = [Node(f"r:c{n}", "function", title=f"c{n}", text=f"def c{n}(): ...") for n in range(1100)]
    calls = [Edge(node.key, "r:store.py#store", "calls") for node in callers]
    with Weft.open(tmp_path_factory.mktemp("hub") / ".weft", embedder=None) as opened:
        opened.put(
            [*symbols(), *callers], [*calls, Edge("r:store.py#store", "r:base.py#base", "calls", weight=0.5)]
        )
        page = opened.context("What is this project?", profile="workspace", max_tokens=800)
    assert mapped(page.text) == ["store", "base"]


def test_a_map_follows_what_is_written_after_it_was_drawn(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Weft.open(tmp_path_factory.mktemp("later") / ".weft", embedder=None) as opened:
        filled(opened)
        before = opened.context("What is this project?", profile="workspace", max_tokens=800)
        opened.put([], [*edges(), Edge("r:main.py#main", "r:alone.py#alone", "calls")])
        after = opened.context("What is this project?", profile="workspace", max_tokens=800)
    assert "alone" not in mapped(before.text)
    assert "alone" in mapped(after.text)
