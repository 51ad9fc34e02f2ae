"""A running Tana is read whole once and then by what was edited; when it is closed, the stored copy serves."""

import dataclasses
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tana_stub import TOKEN, Stub, running, small_world
from tana_world import shared
from weft import Weft
from weft.errors import SourceError
from weft.indexing.ingest import Report
from weft.model import Node
from weft.sources import open_sources
from weft.sources.tana.live import TanaLive
from worlds import own_fields

LATER = 1_775_001_600_000
"""A moment after the stub's first clock, in milliseconds."""


@pytest.fixture
def stub() -> Iterator[Stub]:
    with running(small_world()) as served:
        yield served


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / "store", embedder=None) as opened:
        yield opened


def index(weft: Weft, stub: Stub, query: str = "") -> Report:
    return weft.index(f"tana://{stub.place}{query}", tana_token=TOKEN)


def node(weft: Weft, name: str) -> Node:
    (found,) = weft.show(f"tana:{name}")
    return found


def links(weft: Weft, name: str) -> set[tuple[str, str, str]]:
    return {(edge.source, edge.type, edge.target) for _, edge in weft.related(f"tana:{name}")}


def test_the_notes_are_read_with_tags_fields_and_links(weft: Weft, stub: Stub) -> None:
    report = index(weft, stub)
    assert report.problems == ()
    plan = node(weft, "plan")
    assert (plan.title, plan.text) == ("The greenhouse plan", "What to build before winter.")
    assert own_fields(plan) == {"owner": "Ada Quill", "due": "2026-05-01"}
    assert (node(weft, "order").kind, node(weft, "order").tags) == ("small-task", ("small-task",))
    assert node(weft, "task").text == "Fields of task"
    assert {
        ("tana:plan", "parent", "tana:glass"),
        ("tana:plan", "field", "tana:ada"),
        ("tana:home", "parent", "tana:plan"),
    } <= links(weft, "plan")
    assert ("tana:glass", "references", "tana:orangery") in links(weft, "glass")
    assert ("tana:ada", "tagged", "tana:person") in links(weft, "ada")


def test_fields_with_several_values_and_values_with_notes_below_them_are_read(weft: Weft, stub: Stub) -> None:
    stub.add("said", "What was said", children=["price"])
    stub.add("price", "The glass costs forty")
    stub.nodes["order"]["markdown"] = (
        "- [x] Order putty #small_task <!-- node-id: order -->\n"
        "  - **Needs**:\n    - [Ada Quill #person](tana:ada)\n    - A ladder <!-- node-id: ladder -->\n"
        "  - **Report**:\n    - What was said <!-- node-id: said -->\n"
        "      - The glass costs forty <!-- node-id: price -->\n"
    )
    assert index(weft, stub).problems == ()
    assert own_fields(node(weft, "order")) == {
        "done": True,
        "needs": ["Ada Quill", "A ladder"],
        "report": "What was said",
    }
    assert {("tana:order", "field", "tana:ada"), ("tana:order", "field", "tana:said")} <= links(weft, "order")
    assert ("tana:said", "parent", "tana:price") in links(weft, "said")


def test_trash_and_machinery_are_left_out(weft: Weft, stub: Stub) -> None:
    index(weft, stub)
    assert weft.show("tana:thrown") == ()
    assert weft.show("tana:machine") == ()


def test_only_what_was_edited_is_read_the_second_time(weft: Weft, stub: Stub) -> None:
    index(weft, stub)
    stub.asked.clear()
    stub.clock = "2026-04-02T00:00:00.000Z"
    stub.nodes["glass"] |= {"name": "Glass from the dealer", "edited": LATER}
    stub.add("nails", "Buy nails", "plan", edited=LATER)
    stub.nodes["plan"]["edited"] = LATER
    report = index(weft, stub)
    assert (report.written, report.removed) == (3, 0)
    assert node(weft, "glass").title == "Glass from the dealer"
    assert ("tana:plan", "parent", "tana:nails") in links(weft, "nails")
    assert "/nodes/ada" not in stub.asked
    assert "/nodes/home/children" not in stub.asked


def test_nothing_is_written_when_nothing_was_edited(weft: Weft, stub: Stub) -> None:
    index(weft, stub)
    stub.asked.clear()
    assert index(weft, stub).written == 0
    assert not [path for path in stub.asked if path.startswith("/nodes/") and path != "/nodes/search"]


def test_what_went_to_the_trash_is_removed_with_what_is_below_it(weft: Weft, stub: Stub) -> None:
    index(weft, stub)
    stub.nodes["plan"] |= {"inTrash": True, "edited": LATER}
    assert index(weft, stub).removed == 3
    assert weft.show("tana:glass") == ()
    assert node(weft, "ada").title == "Ada Quill"


def test_more_edits_than_can_be_listed_make_it_read_everything(weft: Weft, stub: Stub) -> None:
    index(weft, stub)
    for place in range(120):
        stub.add(f"new{place}", f"New note {place}", "home", edited=LATER)
    assert index(weft, stub).written == 121
    assert node(weft, "new119").title == "New note 119"


def test_a_full_reading_finds_what_left_without_a_trace(weft: Weft, stub: Stub) -> None:
    index(weft, stub)
    stub.nodes["plan"]["children"].remove("order")
    del stub.nodes["order"]
    assert index(weft, stub).removed == 0
    assert index(weft, stub, "?full").removed == 1


def test_more_than_one_page_of_children_is_read(weft: Weft, stub: Stub) -> None:
    for place in range(450):
        stub.add(f"many{place}", f"Entry {place}", "orangery")
    index(weft, stub)
    assert node(weft, "many449").title == "Entry 449"


def test_a_closed_app_leaves_the_stored_copy_and_says_that_it_may_be_stale(weft: Weft) -> None:
    with running(small_world()) as stub:
        index(weft, stub)
        nodes = weft.status().nodes
    report = index(weft, stub)
    (problem,) = report.problems
    assert "may be stale" in problem.reason
    assert "2026-04-01" in problem.reason
    assert (report.written, report.removed, weft.status().nodes) == (0, 0, nodes)
    assert "greenhouse" in weft.context("greenhouse", profile="notes").text


def test_after_a_closed_app_the_next_reading_goes_on_from_the_last_one_that_worked(weft: Weft, stub: Stub) -> None:
    index(weft, stub)
    stub.status = 503
    index(weft, stub)
    stub.status = 200
    stub.nodes["ada"] |= {"name": "Ada Quill-Marsh", "edited": LATER}
    assert index(weft, stub).written == 1
    assert node(weft, "ada").title == "Ada Quill-Marsh"


def test_a_closed_app_without_a_stored_copy_says_what_to_do(weft: Weft) -> None:
    with running(Stub()) as stub:
        pass
    with pytest.raises(SourceError, match="Start Tana Desktop"):
        index(weft, stub)


def test_an_app_that_hangs_is_given_up_after_the_timeout(weft: Weft, stub: Stub) -> None:
    index(weft, stub)
    stub.hang = threading.Event()
    (source,) = open_sources(f"tana://{stub.place}", tana_token=TOKEN)
    assert isinstance(source, TanaLive)
    source.api = replace(source.api, timeout=0.05)
    source.resume(weft.store.units("default", "tana"))
    stamps = dict(source.units())
    assert stamps["plan"] == weft.store.units("default", "tana")["plan"]
    (problem,) = source.read("#sync").problems
    assert "did not answer in time" in problem.reason


@pytest.mark.parametrize(("status", "body"), [(500, None), (200, "<html>"), (200, "[]"), (302, None)])
def test_a_broken_answer_is_taken_as_no_answer(weft: Weft, stub: Stub, status: int, body: str | None) -> None:
    index(weft, stub)
    stub.status, stub.body = status, body
    assert "may be stale" in index(weft, stub).problems[0].reason


def test_a_wrong_token_is_refused_and_says_where_the_right_one_is(weft: Weft, stub: Stub) -> None:
    with pytest.raises(SourceError, match="WEFT_TANA_TOKEN"):
        weft.index(f"tana://{stub.place}", tana_token="wrong")


def test_without_a_token_nothing_is_asked(weft: Weft, stub: Stub) -> None:
    with pytest.raises(SourceError, match="needs its token"):
        weft.index(f"tana://{stub.place}")
    assert stub.asked == []


@pytest.mark.parametrize("place", ["tana://host/path", "tana://user:secret@host", "tana://?everything"])
def test_other_addresses_are_refused(place: str) -> None:
    with pytest.raises(SourceError, match="no address of Tana"):
        open_sources(place, tana_token=TOKEN)


def test_a_node_that_is_gone_meanwhile_is_told_and_the_rest_is_read(weft: Weft, stub: Stub) -> None:
    stub.nodes["home"]["children"].append("ghost")
    stub.nodes["ghost"] = {"name": "Ghost", "children": ["plan"], "markdown": "", "edited": 0}
    served = stub.answer
    stub.answer = lambda path, query: None if path == "/nodes/ghost" else served(path, query)  # type: ignore[method-assign]
    (problem,) = index(weft, stub).problems
    assert problem.where == "ghost"
    assert node(weft, "plan").title == "The greenhouse plan"


def test_questions_and_answers_keep_to_the_published_description(weft: Weft) -> None:
    described = json.loads(shared("local-api-openapi.json").read_text(encoding="utf-8"))
    with running(dataclasses.replace(small_world(), description=described)) as stub:
        index(weft, stub)
        stub.nodes["ada"]["edited"] = LATER
        index(weft, stub)
        assert stub.violations == []
        assert "/nodes/search" in stub.asked
