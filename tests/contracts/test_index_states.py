"""Every derived search keeps its promises in any state of its files: behind, ahead, missing, foreign, damaged."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from weft.errors import StoreReadOnly
from weft.model import Filter
from weft.store.embedded import index as index_module
from weft.testing.index_world import (
    DIMENSIONS,
    WORLD,
    agrees_with_truth,
    animals,
    found,
    lexical_keys,
    prepared,
    semantic_keys,
    terms,
    write,
)

# How the server's own engines propose is tried in test_index_conformance; states are those of what is derived.
pytestmark = pytest.mark.backends("sqlite", "postgres", "postgres-files", "postgres-milvus")

# --- behind, ahead, changed, deleted ---------------------------------------------------------------------


def test_an_acknowledged_write_is_found_before_anyone_caught_up(world, open_index):
    index = open_index()
    write(world, prepared("a", "red fox"))
    assert found(index, world, "red fox") == (["a"], ["a"])
    index.catch_up(world)
    write(world, prepared("b", "red fox"))
    assert found(index, world, "red fox") == (["a", "b"], ["a", "b"])
    assert found(open_index(), world, "red fox") == (["a", "b"], ["a", "b"])


def test_another_opening_sees_a_newer_commit(world, open_index):
    write(world, prepared("a", "red fox"))
    reader, writer = open_index(), open_index()
    writer.catch_up(world)
    assert found(reader, world, "red fox")[0] == ["a"]
    write(world, prepared("b", "red fox"))
    writer.catch_up(world)
    assert found(reader, world, "red fox") == (["a", "b"], ["a", "b"])
    assert reader.status()["lexical_sequence"] == reader.status()["vector_sequence"] == 2


def test_a_deleted_node_is_never_returned(world, open_index):
    write(world, prepared("a", "red fox"), prepared("b", "red fox"))
    index = open_index()
    index.catch_up(world)
    write(world, removes=[("default", "s:a")])
    assert found(index, world, "red fox") == (["b"], ["b"])
    index.catch_up(world)
    assert found(index, world, "red fox") == (["b"], ["b"])
    assert found(open_index(), world, "red fox") == (["b"], ["b"])


def test_a_changed_node_is_found_as_it_is_now_only(world, open_index):
    write(world, prepared("a", "red fox"), prepared("b", "red elk"))
    index = open_index()
    index.catch_up(world)
    write(world, prepared("a", "grey owl"))
    for _ in range(2):
        assert found(index, world, "fox")[0] == []
        assert found(index, world, "grey owl", limit=1) == (["a"], ["a"])
        index.catch_up(world)


def test_many_stale_passages_do_not_crowd_out_good_ones(world, open_index):
    write(
        world,
        *(prepared(f"stale{n}", "red red fox fox") for n in range(300)),
        prepared("good", "red fox w1 w2 w3"),
    )
    index = open_index()
    index.catch_up(world)
    write(world, *(prepared(f"stale{n}", "grey owl") for n in range(300)))
    assert found(index, world, "red fox", limit=1) == (["good"], ["good"])


def test_an_older_snapshot_is_answered_as_it_was_by_a_newer_index(world, open_index):
    write(world, prepared("kept", "red fox"), prepared("gone", "red fox"), prepared("moved", "red fox"))
    first = open_index()
    first.catch_up(world)
    with world.snapshot(WORLD) as snapshot:
        write(world, prepared("moved", "grey owl"), prepared("new", "red fox"), removes=[("default", "s:gone")])
        first.catch_up(world)
        for index in (first, open_index()):
            assert lexical_keys(index, snapshot, "red fox") == ["gone", "kept", "moved"]
            assert semantic_keys(index, snapshot, "red fox", limit=3) == ["gone", "kept", "moved"]
            assert lexical_keys(index, snapshot, "red", Filter(kinds=("note",))) == ["gone", "kept", "moved"]
    assert found(first, world, "fox")[0] == ["kept", "new"]


@pytest.mark.backends("sqlite", "postgres-files")
def test_a_newer_index_that_forgot_the_past_leaves_out_and_says_so(world, open_index):
    write(world, prepared("kept", "red fox"), prepared("moved", "red fox"))
    index = open_index()
    index.catch_up(world)
    with world.snapshot(WORLD) as snapshot:
        assert lexical_keys(index, snapshot, "red") == ["kept", "moved"]
        write(world, prepared("moved", "red owl"), *(prepared(f"n{n}", "red fox") for n in range(4200)))
        index.catch_up(world)
        assert found(index, world, "owl")[0] == ["moved"]
        assert lexical_keys(index, snapshot, "red") == ["kept", "moved"], "the older state is still open"
        late = open_index().lexical(snapshot, terms("red"), Filter(), 10)
        assert "Ask again" in late.notes[0]
        assert len(snapshot.passages(late.passage_ids.tolist())) == len(late.passage_ids)


# --- missing, foreign, old or damaged files --------------------------------------------------------------


def test_deleting_everything_derived_changes_no_answer(world, open_index, derived):
    write(world, *animals())
    index = open_index()
    index.catch_up(world)
    before = found(index, world, "red fox", limit=3)
    shutil.rmtree(derived)
    assert found(index, world, "red fox", limit=3) == before
    assert found(open_index(), world, "red fox", limit=3) == before
    fresh = open_index()
    fresh.catch_up(world)
    assert found(fresh, world, "red fox", limit=3) == before
    assert found(open_index(), world, "red fox", limit=3) == before


SPOILED = {
    "emptied": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "noise": lambda data: b"\x8f" * len(data),
    "flipped": lambda data: bytes(byte ^ (0x40 if place % 7 == 3 else 0) for place, byte in enumerate(data)),
}


def spoil(path, how):
    data = path.read_bytes()
    path.unlink()
    if how in SPOILED:
        path.write_bytes(SPOILED[how](data))


PARTS = ["lexical/*", "lexical/meta.json", "lexical/*.idx", "lexical/*.term", "lexical/*.fast", "lexical/*.store"]
PARTS += ["vectors*", "vectors.json", "vectors-*/values", "vectors-*/node"]


@pytest.mark.parametrize("how", [*SPOILED, "removed"])
def test_damaged_files_are_made_anew_and_never_fail_a_search(world, open_index, derived, how, tmp_path):
    write(world, *animals())
    open_index().catch_up(world)
    shutil.copytree(derived, tmp_path / "intact")
    for part in PARTS:
        shutil.rmtree(derived)
        shutil.copytree(tmp_path / "intact", derived)
        files = [file for path in derived.glob(part) for file in (path.rglob("*") if path.is_dir() else [path])]
        assert files
        for file in files:
            spoil(file, how)
        assert agrees_with_truth(open_index(), world), part
        open_index().catch_up(world)
        assert agrees_with_truth(open_index(), world), part
        assert open_index().status()["passages"] == open_index().status()["vectors"] == 12


@pytest.mark.parametrize("field", [b'\\"format\\":', b'"format":'], ids=["of the progress", "of the columns"])
def test_files_of_another_store_or_format_are_replaced(field, world, open_store, open_index, derived):
    write(world, *animals())
    other = open_store("elsewhere")
    other.remember_embedder("test", DIMENSIONS)
    write(other, prepared("foreign", "red fox"))
    open_index().catch_up(other)
    assert agrees_with_truth(open_index(), world)
    open_index().catch_up(world)
    assert agrees_with_truth(open_index(), world)
    state = derived / "vectors.json"
    state.write_bytes(state.read_bytes().replace(field, field + b"9"))
    assert open_index().status()["vectors"] == 0
    assert agrees_with_truth(open_index(), world)
    open_index().catch_up(world)
    assert open_index().status()["vectors"] == 12


def test_a_store_put_back_to_an_earlier_state_is_indexed_anew(open_store, open_index, derived, tmp_path):
    store = open_store()
    write(store, prepared("a", "red fox"))
    store.close()
    shutil.copy(derived.parent / "weft.sqlite", tmp_path / "copy")
    store = open_store()
    for n in range(3):
        write(store, prepared(f"b{n}", "red fox"))
    open_index().catch_up(store)
    store.close()
    for path in derived.parent.glob("weft.sqlite*"):
        path.unlink()
    shutil.copy(tmp_path / "copy", derived.parent / "weft.sqlite")
    store = open_store()
    assert found(open_index(), store, "red")[0] == ["a"]
    open_index().catch_up(store)
    assert open_index().status()["passages"] == 1


def test_a_folder_that_takes_no_writes_is_read_around_and_refused_by_name(world, open_index, derived):
    write(world, *animals())
    derived.write_text("in the way")
    assert agrees_with_truth(open_index(store=world), world)
    with pytest.raises(StoreReadOnly, match="derived"):
        open_index().catch_up(world)


@pytest.mark.backends("sqlite", "postgres-files")
def test_a_reader_far_behind_catches_up_for_others_when_it_may(world, open_index):
    write(world, *(prepared(f"n{n}", f"red fox w{n}") for n in range(2100)))
    write(world, *(prepared(f"m{n}", f"grey owl w{n}") for n in range(100)))
    reader = open_index()
    with world.snapshot(WORLD) as snapshot:
        proposals = reader.lexical(snapshot, terms("owl"), Filter(), 10)
    assert "2200 passages were scanned" in proposals.notes[0]
    assert reader.status()["lexical_sequence"] == 0
    helpful = open_index(store=world)
    with world.snapshot(WORLD) as snapshot:
        assert helpful.lexical(snapshot, terms("owl"), Filter(), 10).notes == ()
    assert open_index().status()["lexical_sequence"] == open_index().status()["vector_sequence"] == 2


@pytest.mark.backends("sqlite")
def test_of_many_who_ask_at_once_one_looks_through_what_is_missing(world, open_index, monkeypatch):
    write(world, *animals())
    reader, turns, waiting = open_index(), [], threading.Barrier(4)
    scan = index_module.changes_after

    def counted(*given):
        turns.append(given)
        return scan(*given)

    def ask(_):
        waiting.wait()
        return found(reader, world, "red fox")

    monkeypatch.setattr(index_module, "changes_after", counted)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(4)))
    assert answers == [answers[0]] * 4
    assert len(turns) == 1


# --- upkeep ----------------------------------------------------------------------------------------------


@pytest.mark.backends("sqlite", "postgres-files", "postgres-milvus")
def test_rewriting_and_deleting_keeps_rows_few_and_answers_right(world, open_index):
    index = open_index()
    for turn in range(6):
        write(world, *(prepared(f"n{n}", f"red fox t{turn} w{n}") for n in range(400)))
        index.catch_up(world)
        assert agrees_with_truth(index, world, question=f"red t{turn} w7")
    assert index.status()["vectors"] == index.status()["passages"] == 400
    assert agrees_with_truth(open_index(), world)


def test_catching_up_twice_writes_nothing(world, open_index, derived):
    write(world, *animals())
    open_index().catch_up(world)
    before = {path: path.stat().st_mtime_ns for path in derived.rglob("*") if path.suffix != ".lock"}
    assert open_index().catch_up(world) == 1
    after = {path: path.stat().st_mtime_ns for path in derived.rglob("*") if path.suffix != ".lock"}
    assert {p: t for p, t in after.items() if p.is_file()} == {p: t for p, t in before.items() if p.is_file()}


@pytest.mark.backends("sqlite", "postgres-files")
def test_status_counts_what_is_held(world, open_index):
    write(world, *animals(), prepared("plain", "red", embedded=False))
    index = open_index()
    assert index.status()["passages"] == 0
    index.catch_up(world)
    status = index.status()
    assert (status["passages"], status["vectors"], status["dimensions"]) == (13, 12, DIMENSIONS)
    assert status["bytes"] > 1000
