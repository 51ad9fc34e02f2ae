"""Callers and tests of what was found stand on the page as one-line pointers that say how they are linked."""

import json
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from weft import Edge, Filter, Node, Weft
from weft.model import Candidate, Detail, Origin, View
from weft.pipeline.sections import split_related

SYMBOLS = {
    "q.py#Queue.take": ("Queue.take", "Lease the next due job of the pigeonhole.", "q.py", 31),
    "w.py#Worker.run": ("Worker.run", "Loops until it is told to stop.", "w.py", 8),
    "t.py#test_two": ("test_two", "Two threads, one winner.", "t.py", 4),
    "c.py#connect": ("connect", "Opens the file with a timeout.", "c.py", 2),
}
EDGES = (
    Edge("r:w.py#Worker.run", "r:q.py#Queue.take", "calls"),
    Edge("r:t.py#test_two", "r:q.py#Queue.take", "tests"),
    Edge("r:q.py#Queue.take", "r:c.py#connect", "calls"),
)


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    nodes = [
        Node(
            f"r:{key}",
            "function",
            title=title,
            text=f"def {title}():\n    # {said}",
            language="python",
            fields={} if file == "t.py" else {"part": "core"},
            origin=Origin("r", file, line, line + 1),
        )
        for key, (title, said, file, line) in SYMBOLS.items()
    ]
    with Weft.open(tmp_path_factory.mktemp("asides") / ".weft", embedder=None) as opened:
        opened.put(nodes, EDGES)
        yield opened


def test_callers_and_tests_are_pointed_to_and_what_is_called_is_shown(weft: Weft) -> None:
    page = weft.context("Who leases the pigeonhole?", profile="workspace", max_tokens=600)
    details = {entry.key.partition("#")[2]: entry.detail for entry in page.ledger}
    assert details == {
        "Queue.take": Detail.WHOLE,
        "connect": Detail.WHOLE,
        "Worker.run": Detail.POINTER,
        "test_two": Detail.POINTER,
    }
    assert "\n- Worker.run (function, w.py:8; calls Queue.take)" in page.text
    assert "\n- test_two (function, t.py:4; tests Queue.take)" in page.text
    assert page.text.index("### connect") < page.text.index("- Worker.run")


def test_every_format_says_how_an_aside_is_linked(weft: Weft) -> None:
    pages = {
        format: weft.context("Who leases the pigeonhole?", profile="workspace", format=format, max_tokens=800).text
        for format in ("xml", "json", "plain")
    }
    linked = {each.get("name"): each.get("link") for each in ElementTree.fromstring(pages["xml"]).iter("entity")}
    assert linked == {
        "Queue.take": None,
        "connect": None,
        "Worker.run": "calls Queue.take",
        "test_two": "tests Queue.take",
    }
    (section,) = json.loads(pages["json"])["sections"]
    items = [*section["nodes"], *section.get("overflow", ())]
    assert {item["name"]: item.get("link") for item in items} == linked
    assert "- test_two (function, t.py:4; tests Queue.take)" in pages["plain"]


def test_a_caller_that_was_asked_for_is_shown(weft: Weft) -> None:
    page = weft.context("What loops until it is told to stop?", profile="workspace", max_tokens=600)
    assert "### Worker.run" in page.text


def test_a_filter_holds_for_asides_too(weft: Weft) -> None:
    page = weft.context(
        "Who leases the pigeonhole?", profile="workspace", filter=Filter(where=(("part", "core"),)), max_tokens=600
    )
    assert "Queue.take" in page.text
    assert "test_two" not in page.text


@pytest.mark.parametrize(("score", "beside"), [(0.3, True), (0.6, False)])
def test_a_caller_that_was_found_stands_for_itself_only_if_it_matters_nearly_as_much(
    weft: Weft, score: float, beside: bool
) -> None:
    (take,), (run,) = weft.show("Queue.take"), weft.show("Worker.run")
    found = (Candidate(take, score=1.0, root=take.key), Candidate(run, score=score, root=run.key))
    with weft.reading(View()) as reading:
        own, asides = split_related(found, ("calls",), reading.snapshot, lambda candidate: True)
    assert [each.node.title for each in own] == ["Queue.take"] if beside else ["Queue.take", "Worker.run"]
    assert [(each.node.title, each.score) for each in asides] == ([("Worker.run", 1.0)] if beside else [])
