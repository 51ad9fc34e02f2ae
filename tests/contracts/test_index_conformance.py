"""What every derived search promises, whatever state its files are in."""

import shutil
from datetime import UTC, datetime

import numpy as np
import pytest
from index_world import (
    ALL,
    DIMENSIONS,
    expected_lexical,
    expected_semantic,
    lexical_keys,
    prepared,
    semantic_keys,
    terms,
    vector,
    write,
)

from weft.errors import StoreReadOnly
from weft.model import Filter, View
from weft.store.index import EmbeddedIndex
from weft.store.sqlite import SqliteStore

WORLD = View(("default",))
BOTH = View(("default", "other"))


@pytest.fixture
def store(tmp_path):
    opened = SqliteStore.open(tmp_path / "weft")
    opened.remember_embedder("test", DIMENSIONS)
    yield opened
    opened.close()


@pytest.fixture(params=["embedded"])
def open_index(request, tmp_path):
    """Opens the index of the store as a new process would; another engine adds itself as a parameter."""
    opened = []

    def open_one(**options):
        opened.append(EmbeddedIndex(tmp_path / "weft" / "derived", **options))
        return opened[-1]

    yield open_one
    for index in opened:
        index.close()


@pytest.fixture
def derived(tmp_path):
    return tmp_path / "weft" / "derived"


def found(index, store, question, *, view=WORLD, filter=ALL, limit=100):
    """Keys by both searches, which in these small worlds must agree on what holds the words."""
    with store.snapshot(view) as snapshot:
        words = lexical_keys(index, snapshot, question, filter, limit)
        near = semantic_keys(index, snapshot, question, filter, limit)
    return words, near


def agrees_with_truth(index, store, question="red fox", *, view=WORLD, filter=ALL, limit=3):
    with store.snapshot(view) as snapshot:
        words = index.lexical(snapshot, terms(question), filter, 1000)
        assert set(words.passage_ids.tolist()) == expected_lexical(snapshot, question, filter)
        near = index.semantic(snapshot, vector(question), filter, limit)
        pairs = list(zip(near.passage_ids.tolist(), near.scores.tolist(), strict=True))
        assert pairs == expected_semantic(snapshot, question, filter, limit)
    return True


def animals(count=12):
    return [
        prepared(f"n{n}", f"{('red', 'grey')[n % 2]} {('fox', 'owl', 'elk')[n % 3]} w{n}") for n in range(count)
    ]


# --- finding ---------------------------------------------------------------------------------------------


def test_finds_by_words_and_by_meaning_after_catching_up(store, open_index):
    sequence = write(store, prepared("a", "red fox"), prepared("b", "grey owl"), prepared("c", "red elk"))
    index = open_index()
    assert index.catch_up(store) == sequence
    assert found(index, store, "red")[0] == ["a", "c"]
    assert found(index, store, "grey owl", limit=1) == (["b"], ["b"])


def test_nothing_is_found_for_no_words_unknown_words_no_room_or_no_tenant(store, open_index):
    write(store, prepared("a", "red fox"))
    index = open_index()
    index.catch_up(store)
    assert found(index, store, "")[0] == found(index, store, "unheard")[0] == []
    assert found(index, store, "red", limit=0) == ([], [])
    assert found(index, store, "red", view=View(())) == ([], [])


def test_words_of_any_script_are_found(store, open_index):
    write(store, prepared("jp", "東京 京都"), prepared("gr", "αλεπού"))
    index = open_index()
    index.catch_up(store)
    assert found(index, store, "京都")[0] == ["jp"]
    assert found(index, store, "αλεπού")[0] == ["gr"]


def test_title_words_weigh_more_than_body_words(store, open_index):
    write(store, prepared("body", "red fox den"), prepared("title", "owl elk den", title="fox"))
    index = open_index()
    index.catch_up(store)
    with store.snapshot(WORLD) as snapshot:
        best = index.lexical(snapshot, terms("fox"), Filter(), 10).passage_ids[0]
        assert snapshot.nodes([snapshot.passages([int(best)])[0].node_id]).popitem()[1].node.key == "s:title"


def test_each_passage_of_a_long_node_is_found_for_itself(store, open_index):
    write(store, prepared("a", "red fox", "grey owl", "red elk"))
    index = open_index()
    index.catch_up(store)
    with store.snapshot(WORLD) as snapshot:
        assert len(index.lexical(snapshot, terms("red"), Filter(), 10).passage_ids) == 2


def test_passages_without_a_vector_are_found_by_words_only(store, open_index):
    write(store, prepared("a", "red fox", embedded=False), prepared("b", "red owl"))
    index = open_index()
    index.catch_up(store)
    assert found(index, store, "red") == (["a", "b"], ["b"])


def test_a_vector_of_another_width_is_left_out_with_a_note(store, open_index):
    write(store, prepared("a", "red fox"))
    index = open_index()
    index.catch_up(store)
    with store.snapshot(WORLD) as snapshot:
        proposals = index.semantic(snapshot, np.ones(7, np.float32), Filter(), 5)
    assert len(proposals.passage_ids) == 0
    assert "7 dimensions" in proposals.notes[0]


def test_a_store_without_an_embedder_is_searched_by_words(tmp_path, open_index):
    store = SqliteStore.open(tmp_path / "weft")
    write(store, prepared("a", "red fox", embedded=False))
    index = open_index()
    index.catch_up(store)
    assert found(index, store, "red") == (["a"], [])
    store.remember_embedder("late", DIMENSIONS)
    write(store, prepared("a", "red fox"), prepared("b", "red owl"))
    index.catch_up(store)
    assert found(index, store, "red") == (["a", "b"], ["a", "b"])
    store.close()


# --- ties and order --------------------------------------------------------------------------------------


def test_ties_at_the_cut_are_all_included(store, open_index):
    write(store, *(prepared(f"n{n:03}", "red fox") for n in range(150)), prepared("other", "red red fox fox"))
    index = open_index()
    index.catch_up(store)
    with store.snapshot(WORLD) as snapshot:
        assert len(index.lexical(snapshot, terms("red"), Filter(), 5).passage_ids) == 151
        assert len(index.semantic(snapshot, vector("red fox"), Filter(), 5).passage_ids) == 151


def test_results_come_by_falling_score_then_rising_id(store, open_index):
    write(store, *animals())
    index = open_index()
    index.catch_up(store)
    write(store, *(prepared(f"late{n}", "red fox") for n in range(4)))
    with store.snapshot(WORLD) as snapshot:
        for found_by in (
            index.lexical(snapshot, terms("red fox"), Filter(), 50),
            index.semantic(snapshot, vector("red fox"), Filter(), 50),
        ):
            pairs = list(zip((-found_by.scores).tolist(), found_by.passage_ids.tolist(), strict=True))
            assert pairs == sorted(pairs)


def test_another_order_of_writing_gives_the_same_cosines(tmp_path):
    results = []
    for name, nodes in (("one", animals(40)), ("two", animals(40)[::-1])):
        store = SqliteStore.open(tmp_path / name)
        store.remember_embedder("test", DIMENSIONS)
        index = EmbeddedIndex(tmp_path / name / "derived")
        for node in nodes:
            write(store, node)
        index.catch_up(store)
        with store.snapshot(WORLD) as snapshot:
            near = index.semantic(snapshot, vector("red fox"), Filter(), 10)
            rows = snapshot.passages(near.passage_ids.tolist())
            nodes_found = snapshot.nodes([row.node_id for row in rows])
            results.append(
                sorted((nodes_found[r.node_id].node.key, s) for r, s in zip(rows, near.scores, strict=True))
            )
        store.close()
    assert results[0] == results[1]


# --- what a reader may see -------------------------------------------------------------------------------


def test_tenants_never_mix_caught_up_or_not(store, open_index):
    index = open_index()
    for step in range(2):
        write(store, prepared(f"mine{step}", "red fox"), prepared(f"theirs{step}", "red fox", tenant="other"))
        mine = [f"mine{n}" for n in range(step + 1)]
        theirs = [f"theirs{n}" for n in range(step + 1)]
        for _ in range(2):
            assert found(index, store, "red fox") == (mine, mine)
            assert found(index, store, "red fox", view=View(("other",))) == (theirs, theirs)
            assert found(index, store, "red fox", view=BOTH) == (mine + theirs, mine + theirs)
            assert found(index, store, "red fox", view=View(("nobody",))) == ([], [])
            index.catch_up(store)


def test_another_tenant_does_not_change_what_is_proposed_or_in_which_order(store, open_index):
    write(store, *animals(30))
    index = open_index()
    index.catch_up(store)

    def answer():
        with store.snapshot(WORLD) as snapshot:
            words = index.lexical(snapshot, terms("red fox w3"), Filter(), 8)
            near = index.semantic(snapshot, vector("red fox w3"), Filter(), 8)
        return words.passage_ids.tolist(), near.passage_ids.tolist(), near.scores.tolist()

    before = answer()
    write(store, *(prepared(f"x{n}", "red red fox", tenant="other") for n in range(60)))
    index.catch_up(store)
    assert answer() == before


def test_as_of_shows_only_what_is_known_by_then(store, open_index):
    write(
        store,
        prepared("early", "red fox", sequence=5),
        prepared("late", "red fox", sequence=50),
        prepared("revealed", "red fox", sequence=5, known_from=40),
        prepared("timeless", "red fox"),
    )
    index = open_index()
    for _ in range(2):
        assert found(index, store, "red fox", view=View(("default",), as_of=10)) == (["early"], ["early"])
        three = ["early", "late", "revealed"]
        assert found(index, store, "red fox", view=View(("default",), as_of=50)) == (three, three)
        index.catch_up(store)


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
]


def filtered_world():
    return [
        prepared("plain", "red fox", sequence=1, modified=datetime(2022, 5, 1, tzinfo=UTC)),
        prepared("tagged", "red fox", tags=("x", "y"), sequence=2, modified=datetime(2024, 5, 1, tzinfo=UTC)),
        prepared(
            "task", "red fox", kind="task", tags=("x",), fields={"state": "open", "done": False, "long": "v" * 90}
        ),
    ]


@pytest.mark.parametrize(("filter", "expected"), FILTERS, ids=lambda value: str(value)[:60])
def test_filters_hold_before_and_after_catching_up(store, open_index, filter, expected):
    write(store, *filtered_world(), *(prepared(f"o{n}", "red fox", tenant="other", tags=("x",)) for n in range(9)))
    index = open_index()
    assert found(index, store, "red fox", filter=filter, limit=3) == (expected, expected)
    index.catch_up(store)
    assert found(index, store, "red fox", filter=filter, limit=3) == (expected, expected)


# --- behind, ahead, changed, deleted ---------------------------------------------------------------------


def test_an_acknowledged_write_is_found_before_anyone_caught_up(store, open_index):
    index = open_index()
    write(store, prepared("a", "red fox"))
    assert found(index, store, "red fox") == (["a"], ["a"])
    index.catch_up(store)
    write(store, prepared("b", "red fox"))
    assert found(index, store, "red fox") == (["a", "b"], ["a", "b"])
    assert found(open_index(), store, "red fox") == (["a", "b"], ["a", "b"])


def test_another_opening_sees_a_newer_commit(store, open_index):
    write(store, prepared("a", "red fox"))
    reader, writer = open_index(), open_index()
    writer.catch_up(store)
    assert found(reader, store, "red fox")[0] == ["a"]
    write(store, prepared("b", "red fox"))
    writer.catch_up(store)
    assert found(reader, store, "red fox") == (["a", "b"], ["a", "b"])
    assert reader.status()["lexical_sequence"] == reader.status()["vector_sequence"] == 2


def test_a_deleted_node_is_never_returned(store, open_index):
    write(store, prepared("a", "red fox"), prepared("b", "red fox"))
    index = open_index()
    index.catch_up(store)
    write(store, removes=[("default", "s:a")])
    assert found(index, store, "red fox") == (["b"], ["b"])
    index.catch_up(store)
    assert found(index, store, "red fox") == (["b"], ["b"])
    assert found(open_index(), store, "red fox") == (["b"], ["b"])


def test_a_changed_node_is_found_as_it_is_now_only(store, open_index):
    write(store, prepared("a", "red fox"), prepared("b", "red elk"))
    index = open_index()
    index.catch_up(store)
    write(store, prepared("a", "grey owl"))
    for _ in range(2):
        assert found(index, store, "fox")[0] == []
        assert found(index, store, "grey owl", limit=1) == (["a"], ["a"])
        index.catch_up(store)


def test_many_stale_passages_do_not_crowd_out_good_ones(store, open_index):
    write(
        store,
        *(prepared(f"stale{n}", "red red fox fox") for n in range(300)),
        prepared("good", "red fox w1 w2 w3"),
    )
    index = open_index()
    index.catch_up(store)
    write(store, *(prepared(f"stale{n}", "grey owl") for n in range(300)))
    assert found(index, store, "red fox", limit=1) == (["good"], ["good"])


def test_an_older_snapshot_is_answered_as_it_was_by_a_newer_index(store, open_index):
    write(store, prepared("kept", "red fox"), prepared("gone", "red fox"), prepared("moved", "red fox"))
    first = open_index()
    first.catch_up(store)
    with store.snapshot(WORLD) as snapshot:
        write(store, prepared("moved", "grey owl"), prepared("new", "red fox"), removes=[("default", "s:gone")])
        first.catch_up(store)
        for index in (first, open_index()):
            assert lexical_keys(index, snapshot, "red fox") == ["gone", "kept", "moved"]
            assert semantic_keys(index, snapshot, "red fox", limit=3) == ["gone", "kept", "moved"]
            assert lexical_keys(index, snapshot, "red", Filter(kinds=("note",))) == ["gone", "kept", "moved"]
    assert found(first, store, "fox")[0] == ["kept", "new"]


def test_a_newer_index_that_forgot_the_past_leaves_out_and_says_so(store, open_index):
    write(store, prepared("kept", "red fox"), prepared("moved", "red fox"))
    index = open_index()
    index.catch_up(store)
    with store.snapshot(WORLD) as snapshot:
        write(store, prepared("moved", "red owl"), *(prepared(f"n{n}", "red fox") for n in range(4200)))
        index.catch_up(store)
        late = open_index()
        proposals = late.lexical(snapshot, terms("red"), Filter(), 10)
        assert len(proposals.passage_ids) <= 1
        assert "Ask again" in proposals.notes[0]
        assert lexical_keys(index, snapshot, "red") == ["kept", "moved"]


# --- missing, foreign, old or damaged files --------------------------------------------------------------


def test_deleting_everything_derived_changes_no_answer(store, open_index, derived):
    write(store, *animals())
    index = open_index()
    index.catch_up(store)
    before = found(index, store, "red fox", limit=3)
    shutil.rmtree(derived)
    assert found(index, store, "red fox", limit=3) == before
    assert found(open_index(), store, "red fox", limit=3) == before
    fresh = open_index()
    fresh.catch_up(store)
    assert found(fresh, store, "red fox", limit=3) == before
    assert found(open_index(), store, "red fox", limit=3) == before


def spoil(path, how):
    data = path.read_bytes()
    path.write_bytes({"emptied": b"", "cut": data[: len(data) // 2], "noise": b"\x8f" * len(data)}[how])


@pytest.mark.parametrize("how", ["emptied", "cut", "noise", "removed"])
def test_any_damaged_file_is_made_anew_and_never_fails_a_search(store, open_index, derived, how):
    write(store, *animals())
    open_index().catch_up(store)
    names = sorted(path.relative_to(derived) for path in derived.rglob("*") if path.is_file())
    assert len(names) > 12
    for name in (name for name in names if name.suffix != ".lock"):
        shutil.rmtree(derived)
        open_index().catch_up(store)
        for path in [derived / name, *derived.glob(f"lexical/*{name.suffix}" if "lexical" in str(name) else "-")]:
            if path.exists():
                path.unlink() if how == "removed" else spoil(path, how)
        assert agrees_with_truth(open_index(), store), name
        write(store, prepared("a", f"red fox {name}"))
        writer = open_index()
        writer.catch_up(store)
        assert agrees_with_truth(writer, store), name
        assert agrees_with_truth(open_index(), store), name


def test_files_of_another_store_or_format_are_replaced(store, open_index, derived, tmp_path):
    write(store, *animals())
    other = SqliteStore.open(tmp_path / "elsewhere")
    other.remember_embedder("test", DIMENSIONS)
    write(other, prepared("foreign", "red fox"))
    EmbeddedIndex(derived).catch_up(other)
    assert agrees_with_truth(open_index(), store)
    open_index().catch_up(store)
    assert agrees_with_truth(open_index(), store)
    state = derived / "vectors.json"
    state.write_bytes(state.read_bytes().replace(b'\\"format\\":', b'\\"format\\":9'))
    assert agrees_with_truth(open_index(), store)
    open_index().catch_up(store)
    assert open_index().status()["vectors"] == 12
    other.close()


def test_a_store_put_back_to_an_earlier_state_is_indexed_anew(tmp_path, open_index):
    store = SqliteStore.open(tmp_path / "weft")
    write(store, prepared("a", "red fox"))
    store.close()
    shutil.copy(tmp_path / "weft" / "weft.sqlite", tmp_path / "copy")
    store = SqliteStore.open(tmp_path / "weft")
    for n in range(3):
        write(store, prepared(f"b{n}", "red fox"))
    open_index().catch_up(store)
    store.close()
    for path in (tmp_path / "weft").glob("weft.sqlite*"):
        path.unlink()
    shutil.copy(tmp_path / "copy", tmp_path / "weft" / "weft.sqlite")
    store = SqliteStore.open(tmp_path / "weft")
    assert found(open_index(), store, "red")[0] == ["a"]
    open_index().catch_up(store)
    assert open_index().status()["passages"] == 1
    store.close()


def test_a_folder_that_takes_no_writes_is_read_around_and_refused_by_name(store, open_index, derived):
    write(store, *animals())
    derived.write_text("in the way")
    assert agrees_with_truth(open_index(store=store), store)
    with pytest.raises(StoreReadOnly, match="derived"):
        open_index().catch_up(store)


def test_a_reader_far_behind_catches_up_for_others_when_it_may(store, open_index):
    write(store, *(prepared(f"n{n}", f"red fox w{n}") for n in range(2100)))
    write(store, *(prepared(f"m{n}", f"grey owl w{n}") for n in range(100)))
    reader = open_index()
    with store.snapshot(WORLD) as snapshot:
        proposals = reader.lexical(snapshot, terms("owl"), Filter(), 10)
    assert "2200 passages were scanned" in proposals.notes[0]
    assert reader.status()["lexical_sequence"] == 0
    helpful = open_index(store=store)
    with store.snapshot(WORLD) as snapshot:
        assert helpful.lexical(snapshot, terms("owl"), Filter(), 10).notes == ()
    assert open_index().status()["lexical_sequence"] == open_index().status()["vector_sequence"] == 2


# --- upkeep ----------------------------------------------------------------------------------------------


def test_rewriting_and_deleting_keeps_rows_few_and_answers_right(store, open_index):
    index = open_index()
    for turn in range(6):
        write(store, *(prepared(f"n{n}", f"red fox t{turn} w{n}") for n in range(400)))
        index.catch_up(store)
        assert agrees_with_truth(index, store, question=f"red t{turn} w7")
    assert index.status()["vectors"] == index.status()["passages"] == 400
    assert agrees_with_truth(open_index(), store)


def test_catching_up_twice_writes_nothing(store, open_index, derived):
    write(store, *animals())
    open_index().catch_up(store)
    before = {path: path.stat().st_mtime_ns for path in derived.rglob("*") if path.suffix != ".lock"}
    assert open_index().catch_up(store) == 1
    after = {path: path.stat().st_mtime_ns for path in derived.rglob("*") if path.suffix != ".lock"}
    assert {p: t for p, t in after.items() if p.is_file()} == {p: t for p, t in before.items() if p.is_file()}


def test_status_counts_what_is_held(store, open_index):
    write(store, *animals(), prepared("plain", "red", embedded=False))
    index = open_index()
    assert index.status()["passages"] == 0
    index.catch_up(store)
    status = index.status()
    assert (status["passages"], status["vectors"], status["dimensions"]) == (13, 12, DIMENSIONS)
    assert status["bytes"] > 1000
