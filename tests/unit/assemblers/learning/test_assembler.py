"""The facade's parts: reading results of any shape, cutting them, and asking with a deadline."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as any_of

import learning_world as some
from weft import Weft
from weft.assemblers.learning.assembler import (
    SOURCES,
    ContextAssembler,
    InvalidContextTypeError,
    Search,
    assemble_context,
    get_premortem_context,
    search_all,
)
from weft.assemblers.learning.item_cutter import MIN_CAP_TOKENS, ItemCutter
from weft.assemblers.learning.results import Answer, ContextItem, read_candidates, read_metadata
from weft.assemblers.learning.store_searcher import StoreSearcher, make_assembler
from weft.errors import InvalidInput
from weft.memory import UsageLog
from weft.memory.memory_store import remember
from weft.model import Candidate, Detail, Item, Node, Origin
from weft.profiles import load_profile
from weft.tokens import counter_for

NOW = datetime(2026, 3, 1, tzinfo=UTC)
COUNT, _ = counter_for("cl100k_base")


# --- reading ---------------------------------------------------------------------------------------------


def read(source: str, *found: object) -> list[Candidate]:
    return list(read_candidates(source, found, "probe"))


def test_results_may_be_objects_or_mappings() -> None:
    result = some.memory(1, created_at=NOW)
    (one,), (other,) = read("memory", result), read("memory", SimpleNamespace(**result))
    assert one == other
    assert (one.node.text, one.node.importance, one.node.modified, one.score) == (result["content"], 0.5, NOW, 0.9)
    assert read_metadata("memory", one.node)["created_at"] == NOW.isoformat()


def test_results_that_say_nothing_or_cannot_be_ranked_are_left_out() -> None:
    assert len(read("memory", some.memory(1, score=float("inf")), some.memory(2))) == 1
    assert read("code", {}) == []


@pytest.mark.parametrize(("given_score", "score"), [(7, 1.0), (-1.0, 0.0), (None, 0.0), ("0.9", 0.0), (True, 0.0)])
def test_scores_are_brought_to_the_range(given_score: object, score: float) -> None:
    (found,) = read("value", some.value(1, score=given_score))
    assert found.score == score


def test_results_without_an_id_are_told_apart_by_what_they_say() -> None:
    first, again, other = read("memory", {"content": "a"}, {"content": "a"}, {"content": "b"})
    assert first.node.key == again.node.key != other.node.key


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2026-03-01T00:00:00+00:00", NOW),
        ("2026-03-01", NOW),
        (NOW.timestamp(), NOW),
        (datetime(2026, 3, 1), NOW),  # noqa: DTZ001
        ("last week", None),
        (-5, None),
    ],
)
def test_times_are_read_however_they_are_written(written: object, moment: datetime | None) -> None:
    (found,) = read("commit", some.commit(1, timestamp=written))
    assert found.node.modified == moment


def test_lessons_and_causes_may_be_words_or_parts() -> None:
    (plain,) = read("experience", some.experience(1, lesson="Wait", root_cause="Drift"))
    assert plain.node.fields["lesson"] == {"what_worked": "Wait"}
    assert plain.node.fields["root_cause"] == {"description": "Drift"}
    (whole,) = read("experience", some.experience(1, lesson=SimpleNamespace(what_worked="W", takeaway="T")))
    assert whole.node.fields["lesson"] == {"what_worked": "W", "takeaway": "T"}


def test_values_of_other_types_become_words() -> None:
    odd = {"files_changed": {"b.py", "a.py"}, "insertions": float("nan"), "author": Path("x"), "deletions": True}
    (found,) = read("commit", some.commit(1, **odd))
    assert found.node.fields["files_changed"] == ["a.py", "b.py"]
    assert "insertions" not in found.node.fields
    assert found.node.fields["author"] == "x"


def test_stored_code_carries_its_file_for_comparing() -> None:
    node = Node("repo:a#f", "function", title="f", origin=Origin("repo", "a.py", 3, 4))
    (found,) = read("code", Candidate(node, parts={"relevance": 0.4}))
    assert (found.score, found.probe, found.node.fields["file_path"]) == (0.4, "probe", "a.py")
    assert read_metadata("code", found.node)["start_line"] == 3


# --- cutting ---------------------------------------------------------------------------------------------


def cutter(source: str, section: str) -> ItemCutter:
    profile = load_profile("learning")
    return ItemCutter.for_section(source, next(each for each in profile.sections if each.name == section), COUNT)


LONG = " ".join(f"word{number}" for number in range(2000))


@pytest.mark.parametrize("cap", [60, 100, 400])
@pytest.mark.parametrize(
    ("source", "section", "found"),
    [
        ("memory", "memories", some.memory(1, LONG)),
        ("code", "code", some.code(1, docstring=LONG)),
        ("code", "code", some.code(1, signature=None, docstring=None, content=LONG)),
        ("experience", "experiences", some.experience(1, goal=LONG, outcome_result=LONG, lesson=LONG)),
        ("value", "values", some.value(1, text=LONG)),
        ("commit", "commits", some.commit(1, message=LONG, files_changed=[f"{n}.py" for n in range(900)])),
    ],
)
def test_every_part_that_is_printed_can_be_cut(source: str, section: str, found: dict[str, Any], cap: int) -> None:
    work = cutter(source, section)
    (candidate,) = read(source, found)
    fitting = work.cut(candidate, cap)
    assert fitting is not None
    shown = work.print_item(Item(fitting, Detail.WHOLE))
    assert COUNT.count(shown) <= cap
    assert "truncated" in shown.splitlines()[-1]


def test_what_fits_is_left_as_it_is() -> None:
    (candidate,) = read("memory", some.memory(1))
    assert cutter("memory", "memories").cut(candidate, 100) is candidate


def test_a_cap_that_shows_nothing_gives_way_a_little() -> None:
    work = cutter("memory", "memories")
    (candidate,) = read("memory", some.memory(1, LONG))
    fitting = work.cut(candidate, 5)
    assert fitting is not None
    assert COUNT.count(work.print_item(Item(fitting, Detail.WHOLE))) <= MIN_CAP_TOKENS


def test_what_is_cut_by_estimate_costs_about_its_cap() -> None:
    work = cutter("experience", "experiences")
    for candidate in read("experience", *(some.experience(n, goal=LONG, outcome_result=LONG) for n in range(3))):
        fitting = work.cut(candidate, 200, exact=False)
        assert fitting is not None
        assert 180 <= COUNT.count(work.print_item(Item(fitting, Detail.WHOLE))) <= 200


@pytest.mark.parametrize("exact", [False, True])
def test_a_small_cap_drops_values_with_their_labels(exact: bool) -> None:
    work = cutter("experience", "experiences")
    (candidate,) = read("experience", some.experience(1))
    fitting = work.cut(candidate, MIN_CAP_TOKENS, exact=exact)
    assert fitting is not None
    assert COUNT.count(work.print_item(Item(fitting, Detail.WHOLE))) <= MIN_CAP_TOKENS


def test_what_an_item_shows_is_what_the_page_prints_of_it() -> None:
    searcher = some.FakeSearcher(
        memories=[some.memory(1), some.memory(2, "Two lines\n\nand a gap")],
        code=[some.code(1), some.code(2, docstring=LONG), some.code(3, signature=None, docstring=None)],
        experiences=[some.experience(1), some.experience(2, goal=LONG)],
        values=[some.value(1)],
        commits=[some.commit(1), some.commit(2)],
    )
    page = asyncio.run(assemble_context("lock", list(SOURCES), max_tokens=3000, searcher=searcher))
    assert {item.source for item in page.items} == set(SOURCES.values())
    for item in page.items:
        assert f"\n{item.content}\n" in page.markdown
        assert item.content.count("```") in (0, 2)
        assert "\n## " not in item.content
        assert not item.content.startswith("\n")
    assert sum(len(item.content.split("**Commit**")) - 1 for item in page.items) == page.sources_used["commit"]


@given(any_of.text(min_size=1, max_size=3000), any_of.integers(MIN_CAP_TOKENS, 200))
def test_nothing_costs_more_than_its_cap(text: str, cap: int) -> None:
    work = cutter("memory", "memories")
    for candidate in read("memory", some.memory(1, text)):
        fitting = work.cut(candidate, cap)
        assert fitting is None or COUNT.count(work.print_item(Item(fitting, Detail.WHOLE))) <= cap


def test_a_memory_of_a_megabyte_is_cut_without_counting_all_of_it() -> None:
    searcher = some.FakeSearcher(memories=[some.memory(1, "lock " * 210_000)])
    answer = asyncio.run(assemble_context("lock", ["memories"], max_tokens=200, searcher=searcher))
    assert 20 < answer.token_count <= 200


# --- asking ----------------------------------------------------------------------------------------------


def answers(*searches: Search, seconds: float = 5.0) -> tuple[Answer, ...]:
    return asyncio.run(search_all(searches, seconds))


def test_plain_async_and_awaitable_calls_are_all_made() -> None:
    async def later() -> list[int]:
        return [2]

    assert answers(
        Search("a", lambda: [1]), Search("b", later), Search("c", lambda: asyncio.wait_for(later(), 5))
    ) == (
        Answer("a", (1,)),
        Answer("b", (2,)),
        Answer("c", (2,)),
    )


def test_searches_are_made_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=20)

    def meet() -> list[int]:
        return [together.wait()]

    found = answers(*(Search(str(number), meet) for number in range(3)), seconds=30)
    assert all(answer.results and not answer.failure for answer in found)


def test_a_search_that_hangs_is_left_behind_at_its_deadline() -> None:
    never = threading.Event()

    async def sleeping() -> None:
        await asyncio.Event().wait()

    found = answers(
        Search("plain", never.wait), Search("async", sleeping), Search("quick", lambda: [1]), seconds=0.2
    )
    never.set()
    assert [answer.failure for answer in found] == ["did not answer within 0.2 seconds"] * 2 + [""]


def test_a_search_that_stops_an_iteration_is_told_as_any_failure() -> None:
    (answer,) = answers(Search("one", lambda: next(iter(()))))
    assert "StopIteration" in answer.failure


def test_what_is_no_list_of_results_is_told() -> None:
    found = answers(Search("a", lambda: 7), Search("b", lambda: None), Search("c", lambda: "words"))
    assert "expected" in found[0].failure
    assert found[1] == Answer("b")
    assert "not str" in found[2].failure


def test_results_inside_an_answer_are_found() -> None:
    @dataclass
    class Page:
        results: list[int]

    assert answers(Search("a", lambda: Page([1, 2])))[0].results == (1, 2)


def test_a_source_that_hangs_is_noted_and_the_rest_returned() -> None:
    searcher = some.full_searcher(1)
    never = threading.Event()
    searcher.experiences = lambda **asked: never.wait()
    assembler = ContextAssembler(searcher, deadline_seconds=0.3)
    answer = asyncio.run(assembler.assemble_context("start", some.TYPES))
    never.set()
    assert answer.notes == ("experiences: did not answer within 0.3 seconds.",)
    assert set(answer.sources_used) == {"memory", "code", "value", "commit"}


@pytest.mark.parametrize("bad", [{"limit": 0}, {"max_tokens": 0}, {"limit": True}, {"max_tokens": "many"}])
def test_limits_that_leave_nothing_are_refused(bad: dict[str, Any]) -> None:
    searcher = some.full_searcher(1)
    with pytest.raises(InvalidInput, match="whole number of 1 or more"):
        asyncio.run(assemble_context("x", ["memories"], searcher=searcher, **bad))
    with pytest.raises(InvalidInput):
        asyncio.run(get_premortem_context("debugging", searcher=searcher, **bad))


def test_the_same_answers_give_the_same_bytes() -> None:
    pages = set()
    for _ in range(3):
        assembler = ContextAssembler(some.full_searcher(5), clock=lambda: NOW)
        pages.add(asyncio.run(assembler.assemble_context("start the broker", some.TYPES)).markdown)
    assert len(pages) == 1


# --- over a store ----------------------------------------------------------------------------------------


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft") as opened:
        yield opened


def test_memories_that_are_handed_out_are_counted_as_used(weft: Weft) -> None:
    key = remember(weft.workshop(), "Start the broker first", now=NOW).memory.key
    assembler = make_assembler(weft)
    for _ in range(2):
        asyncio.run(assembler.assemble_context("broker", ["memories"]))
    (used,) = UsageLog(weft.store.path).read_uses([("default", key)]).values()
    assert used.times == 2


def test_a_store_that_takes_no_writes_answers_all_the_same(weft: Weft, tmp_path: Path) -> None:
    remember(weft.workshop(), "Start the broker first", now=NOW)
    with Weft.open(tmp_path / ".weft", read_only=True) as reading:
        answer = asyncio.run(make_assembler(reading).assemble_context("broker", ["memories"]))
    assert answer.sources_used == {"memory": 1}
    assert not (tmp_path / ".weft" / "usage.sqlite").exists()
    (tmp_path / ".weft" / "usage.sqlite").write_bytes(b"not a database, but something else entirely")
    assert asyncio.run(make_assembler(weft).assemble_context("broker", ["memories"])) == answer


def test_tenants_are_searched_apart(weft: Weft) -> None:
    remember(weft.workshop(), "Start the broker first", now=NOW, tenant="other")
    assert StoreSearcher(weft).search_memories("broker", 5) == ()
    assert len(StoreSearcher(weft, ("other",)).search_memories("broker", 5)) == 1


def test_items_can_be_kept_in_a_set() -> None:
    one, same, other = (
        ContextItem("memory", text, 0.5, {"id": "1"}) for text in ("Use tabs", "Use tabs", "Use spaces")
    )
    assert len({one, same, other}) == 2


@pytest.mark.parametrize(
    ("types", "words"),
    [
        ([], "No context type is given. Name one or more of: code, commits, experiences, memories, values."),
        (
            ["memory", "cod"],
            "Unknown context types 'memory', 'cod'. Valid: code, commits, experiences, memories, values.",
        ),
    ],
)
def test_all_that_is_wrong_with_the_context_types_is_told_in_one_error(types: list[str], words: str) -> None:
    assembler = ContextAssembler(some.full_searcher())
    with pytest.raises(InvalidContextTypeError) as told:
        asyncio.run(assembler.assemble_context("x", types))
    assert str(told.value) == words
    assert isinstance(told.value, ValueError)


def test_other_names_of_the_documented_facts_are_understood() -> None:
    code = {
        "content": "def f(): ...",
        "name": "f",
        "file_path": "a.py",
        "line_start": 3,
        "line_end": 4,
        "score": 0.9,
    }
    value = {"text": "Compare the clocks", "axis": "full", "member_count": 7, "score": 0.8}
    (found,) = read_candidates("code", [code], "code")
    (cluster,) = read_candidates("value", [value], "values")
    facts, counts = read_metadata("code", found.node), read_metadata("value", cluster.node)
    assert (facts["start_line"], facts["end_line"], counts["cluster_size"]) == (3, 4, 7)
