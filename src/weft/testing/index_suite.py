"""Check what every index promises: what is found, in which order, and by whom it may be seen.

Import all of it into a test module, beside the fixtures of `weft.testing` and an `open_index` of your own.
"""

from datetime import UTC, datetime

import numpy as np
import pytest

from weft.model import Filter, View
from weft.ports import PreparedNode, Store
from weft.testing.index_world import (
    BOTH,
    DIMENSIONS,
    WORLD,
    OpenIndex,
    animals,
    found,
    prepared,
    terms,
    vector,
    write,
)
from weft.testing.store_worlds import OpenStore

# --- finding ---------------------------------------------------------------------------------------------


def test_finds_by_words_and_by_meaning_after_catching_up(world: Store, open_index: OpenIndex) -> None:
    sequence = write(world, prepared("a", "red fox"), prepared("b", "grey owl"), prepared("c", "red elk"))
    index = open_index()
    assert index.catch_up(world) == sequence
    assert found(index, world, "red")[0] == ["a", "c"]
    assert found(index, world, "grey owl", limit=1) == (["b"], ["b"])


def test_nothing_is_found_for_no_words_unknown_words_no_room_or_no_tenant(
    world: Store, open_index: OpenIndex
) -> None:
    write(world, prepared("a", "red fox"))
    index = open_index()
    index.catch_up(world)
    assert found(index, world, "")[0] == found(index, world, "unheard")[0] == []
    assert found(index, world, "red", limit=0) == ([], [])
    assert found(index, world, "red", view=View(())) == ([], [])


def test_words_of_any_script_are_found(world: Store, open_index: OpenIndex) -> None:
    write(world, prepared("jp", "東京 京都"), prepared("gr", "αλεπού"))
    index = open_index()
    index.catch_up(world)
    assert found(index, world, "京都")[0] == ["jp"]
    assert found(index, world, "αλεπού")[0] == ["gr"]


def test_title_words_weigh_more_than_body_words(world: Store, open_index: OpenIndex) -> None:
    write(world, prepared("body", "red fox den"), prepared("title", "owl elk den", title="fox"))
    index = open_index()
    index.catch_up(world)
    with world.snapshot(WORLD) as snapshot:
        best = index.lexical(snapshot, terms("fox"), Filter(), 10).passage_ids[0]
        assert snapshot.nodes([snapshot.passages([int(best)])[0].node_id]).popitem()[1].node.key == "s:title"


def test_each_passage_of_a_long_node_is_found_for_itself(world: Store, open_index: OpenIndex) -> None:
    write(world, prepared("a", "red fox", "grey owl", "red elk"))
    index = open_index()
    index.catch_up(world)
    with world.snapshot(WORLD) as snapshot:
        assert len(index.lexical(snapshot, terms("red"), Filter(), 10).passage_ids) == 2


def test_passages_without_a_vector_are_found_by_words_only(world: Store, open_index: OpenIndex) -> None:
    write(world, prepared("a", "red fox", embedded=False), prepared("b", "red owl"))
    index = open_index()
    index.catch_up(world)
    assert found(index, world, "red") == (["a", "b"], ["b"])


def test_a_vector_of_another_width_is_left_out_with_a_note(world: Store, open_index: OpenIndex) -> None:
    write(world, prepared("a", "red fox"))
    index = open_index()
    index.catch_up(world)
    with world.snapshot(WORLD) as snapshot:
        proposals = index.semantic(snapshot, np.ones(7, np.float32), Filter(), 5)
    assert len(proposals.passage_ids) == 0
    assert "7 dimensions" in proposals.notes[0]


def test_a_store_without_an_embedder_is_searched_by_words(store: Store, open_index: OpenIndex) -> None:
    write(store, prepared("a", "red fox", embedded=False))
    index = open_index()
    index.catch_up(store)
    assert found(index, store, "red") == (["a"], [])
    store.remember_embedder("late", DIMENSIONS)
    write(store, prepared("a", "red fox"), prepared("b", "red owl"))
    for _ in range(2):
        assert found(index, store, "red") == (["a", "b"], ["a", "b"])
        index.catch_up(store)


# --- ties and order --------------------------------------------------------------------------------------


def test_ties_at_the_cut_are_all_included(world: Store, open_index: OpenIndex) -> None:
    write(world, *(prepared(f"n{n:03}", "red fox") for n in range(150)), prepared("other", "red red fox fox"))
    index = open_index()
    index.catch_up(world)
    with world.snapshot(WORLD) as snapshot:
        assert len(index.lexical(snapshot, terms("red"), Filter(), 5).passage_ids) == 151
        assert len(index.semantic(snapshot, vector("red fox"), Filter(), 5).passage_ids) == 151


def test_results_come_by_falling_score_then_rising_id(world: Store, open_index: OpenIndex) -> None:
    write(world, *animals())
    index = open_index()
    index.catch_up(world)
    write(world, *(prepared(f"late{n}", "red fox") for n in range(4)))
    with world.snapshot(WORLD) as snapshot:
        for found_by in (
            index.lexical(snapshot, terms("red fox"), Filter(), 50),
            index.semantic(snapshot, vector("red fox"), Filter(), 50),
        ):
            pairs = list(zip((-found_by.scores).tolist(), found_by.passage_ids.tolist(), strict=True))
            assert pairs == sorted(pairs)


def test_another_order_of_writing_gives_the_same_cosines(open_store: OpenStore, open_index: OpenIndex) -> None:
    results = []
    for name, nodes in (("one", animals(40)), ("two", animals(40)[::-1])):
        store = open_store(name)
        store.remember_embedder("test", DIMENSIONS)
        index = open_index(name)
        for node in nodes:
            write(store, node)
        index.catch_up(store)
        with store.snapshot(WORLD) as snapshot:
            near = index.semantic(snapshot, vector("red fox"), Filter(), 10)
            rows = snapshot.passages(near.passage_ids.tolist())
            known = snapshot.nodes([row.node_id for row in rows])
            results.append(sorted((known[r.node_id].node.key, s) for r, s in zip(rows, near.scores, strict=True)))
    assert results[0] == results[1]


# --- what a reader may see -------------------------------------------------------------------------------


def test_tenants_never_mix_caught_up_or_not(world: Store, open_index: OpenIndex) -> None:
    index = open_index()
    for step in range(2):
        write(world, prepared(f"mine{step}", "red fox"), prepared(f"theirs{step}", "red fox", tenant="other"))
        mine = [f"mine{n}" for n in range(step + 1)]
        theirs = [f"theirs{n}" for n in range(step + 1)]
        for _ in range(2):
            assert found(index, world, "red fox") == (mine, mine)
            assert found(index, world, "red fox", view=View(("other",))) == (theirs, theirs)
            assert found(index, world, "red fox", view=BOTH) == (mine + theirs, mine + theirs)
            assert found(index, world, "red fox", view=View(("nobody",))) == ([], [])
            index.catch_up(world)


def test_another_tenant_does_not_change_what_is_proposed_or_in_which_order(
    world: Store, open_index: OpenIndex
) -> None:
    write(world, *animals(30))
    index = open_index()
    index.catch_up(world)

    def answer() -> tuple[list[int], list[int], list[float]]:
        with world.snapshot(WORLD) as snapshot:
            words = index.lexical(snapshot, terms("red fox w3"), Filter(), 8)
            near = index.semantic(snapshot, vector("red fox w3"), Filter(), 8)
        return words.passage_ids.tolist(), near.passage_ids.tolist(), near.scores.tolist()

    before = answer()
    write(world, *(prepared(f"x{n}", "red red fox", tenant="other") for n in range(60)))
    index.catch_up(world)
    assert answer() == before


def test_as_of_shows_only_what_is_known_by_then(world: Store, open_index: OpenIndex) -> None:
    write(
        world,
        prepared("early", "red fox", sequence=5),
        prepared("late", "red fox", sequence=50),
        prepared("revealed", "red fox", sequence=5, known_from=40),
        prepared("timeless", "red fox"),
    )
    index = open_index()
    for _ in range(2):
        assert found(index, world, "red fox", view=View(("default",), as_of=10)) == (["early"], ["early"])
        three = ["early", "late", "revealed"]
        assert found(index, world, "red fox", view=View(("default",), as_of=50)) == (three, three)
        index.catch_up(world)


FILTERS = [
    (Filter(kinds=("note",)), ["plain", "tagged"]),
    (Filter(kinds=("note", "task")), ["plain", "tagged", "task"]),
    (Filter(tags=("x",)), ["tagged", "task"]),
    (Filter(tags=("x", "y")), ["tagged"]),
    (Filter(sources=("nowhere",)), []),
    (Filter(where=(("state", "open"),)), ["task"]),
    (Filter(where=(("long", "v" * 90),)), ["task"]),
    (Filter(where=(("state", "open"), ("done", "false"))), ["task"]),
    (Filter(since=datetime(2024, 1, 1, tzinfo=UTC)), ["tagged"]),
    (Filter(until=datetime(2023, 1, 1, tzinfo=UTC)), ["plain"]),
    (Filter(sequence_from=2, sequence_to=9), ["tagged"]),
    (Filter(sequence_to=1), ["plain"]),
    (Filter(kinds=("task",), tags=("y",)), []),
    (Filter(kinds=("unheard",)), []),
    (Filter(kinds=(*(f"unheard{number}" for number in range(40)), "task")), ["task"]),
]


def filtered_world() -> list[PreparedNode]:
    """Return nodes that differ in what filters ask for."""
    return [
        prepared("plain", "red fox", sequence=1, modified=datetime(2022, 5, 1, tzinfo=UTC)),
        prepared("tagged", "red fox", tags=("x", "y"), sequence=2, modified=datetime(2024, 5, 1, tzinfo=UTC)),
        prepared(
            "task", "red fox", kind="task", tags=("x",), fields={"state": "open", "done": False, "long": "v" * 90}
        ),
    ]


@pytest.mark.parametrize(("filter", "expected"), FILTERS, ids=lambda value: str(value)[:60])
def test_filters_hold_before_and_after_catching_up(
    world: Store, open_index: OpenIndex, filter: Filter, expected: list[str]
) -> None:
    write(world, *filtered_world(), *(prepared(f"o{n}", "red fox", tenant="other", tags=("x",)) for n in range(9)))
    index = open_index()
    assert found(index, world, "red fox", filter=filter, limit=3) == (expected, expected)
    index.catch_up(world)
    assert found(index, world, "red fox", filter=filter, limit=3) == (expected, expected)
