"""Every derived search withstands many processes and threads, a killed writer and any order of events."""

import multiprocessing
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.model import Filter
from weft.store.embedded.index import EmbeddedIndex
from weft.store.sqlite.store import SqliteStore
from weft.testing.index_world import (
    DIMENSIONS,
    WORLD,
    agrees_with_truth,
    animals,
    expected_lexical,
    expected_semantic,
    lexical_keys,
    prepared,
    semantic_keys,
    terms,
    vector,
    write,
)

HERE = Path(__file__).parent
ROUNDS = 15


def _read(folder: Path, stop) -> int:
    store, turns = SqliteStore.open(folder), 0
    index = EmbeddedIndex(folder / "derived", store=store, exact_below=0)
    while not stop.is_set() or turns < 5:
        if turns % 7 == 0:
            index = EmbeddedIndex(folder / "derived", exact_below=0)
        with store.snapshot(WORLD) as snapshot:
            assert "always" in lexical_keys(index, snapshot, "red fox")
            assert "always" in semantic_keys(index, snapshot, "red fox always")
            words = index.lexical(snapshot, terms("red"), Filter(), 1000).passage_ids.tolist()
            assert set(words) == expected_lexical(snapshot, "red")
        turns += 1
    store.close()
    return turns


def test_eight_processes_read_right_answers_while_one_writes(tmp_path):
    folder = tmp_path / ".weft"
    store = SqliteStore.open(folder)
    store.remember_embedder("test", DIMENSIONS)
    write(store, prepared("always", "red fox always"))
    index = EmbeddedIndex(folder / "derived", exact_below=0)
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(8) as pool:
        stop = manager.Event()
        readers = [pool.apply_async(_read, (folder, stop)) for _ in range(8)]
        for turn in range(ROUNDS):
            write(
                store,
                prepared("always", f"red fox always t{turn}"),
                prepared(f"n{turn % 4}", f"red owl t{turn}"),
                removes=[("default", f"s:n{(turn + 2) % 4}")],
            )
            if turn % 3:
                index.catch_up(store)
        stop.set()
        assert all(reader.get(timeout=60) >= 5 for reader in readers)
    store.close()


def test_threads_share_one_index_while_it_is_caught_up(world, open_index):
    index = open_index(store=world)
    write(world, *animals())

    def read(_):
        return agrees_with_truth(index, world)

    with ThreadPoolExecutor(6) as pool:
        for turn in range(10):
            answers = [pool.submit(read, n) for n in range(6)]
            write(world, prepared(f"t{turn}", "red fox"))
            index.catch_up(world)
            assert all(answer.result() for answer in answers)


KILLED = """
    import os, signal, sys
    sys.path.insert(0, {here!r})
    from pathlib import Path
    from weft.store.embedded import {module}
    from weft.store.embedded.index import EmbeddedIndex
    from weft.store.sqlite.store import SqliteStore

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    {module}.{name} = die
    EmbeddedIndex(Path({derived!r})).catch_up(SqliteStore.open(Path({derived!r}).parent))
"""


def test_a_writer_killed_at_any_point_leaves_files_that_the_next_repairs(world, open_index, derived):
    write(world, *animals())
    points = [
        ("lexical", "pack_progress"),
        ("lexical", "hashed_words"),
        ("lexical", "LexicalWriter.close"),
        ("vector_writer", "save_state"),
        ("vector_writer", "VectorWriter.commit"),
        ("vector_writer", "sign_bits"),
    ]
    for turn, (module, name) in enumerate(points):
        script = textwrap.dedent(KILLED).format(here=str(HERE), module=module, name=name, derived=str(derived))
        write(world, prepared("a", f"red fox t{turn}"), prepared(f"n{turn}", f"grey fox t{turn}"))
        killed = subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONPATH": ":".join(sys.path)}, check=False
        )
        assert killed.returncode == -signal.SIGKILL
        assert agrees_with_truth(open_index(), world), name
        if turn % 2:
            open_index().catch_up(world)
            assert agrees_with_truth(open_index(), world), name


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 5), st.integers(0, 3), st.sampled_from(["default", "other"])),
        st.tuples(st.just("remove"), st.integers(0, 5)),
        st.sampled_from([("catch up",), ("open",), ("pin",), ("search",)]),
    ),
    min_size=3,
    max_size=14,
)
TEXTS = ("red fox", "red owl", "grey fox", "grey owl elk")


@settings(max_examples=40, deadline=None)
@given(EVENTS)
def test_any_order_of_events_gives_the_answers_of_the_pinned_state(tmp_path_factory, events):
    folder = tmp_path_factory.mktemp("world")
    store = SqliteStore.open(folder)
    store.remember_embedder("test", DIMENSIONS)
    indexes = [EmbeddedIndex(folder / "derived", exact_below=0)]
    pinned = []

    def check(snapshot):
        for index in indexes[-2:]:
            words = index.lexical(snapshot, terms("red fox"), Filter(), 100)
            assert set(words.passage_ids.tolist()) == expected_lexical(snapshot, "red fox")
            near = index.semantic(snapshot, vector("red fox"), Filter(), 2)
            pairs = list(zip(near.passage_ids.tolist(), near.scores.tolist(), strict=True))
            assert pairs == expected_semantic(snapshot, "red fox", Filter(), 2)

    for number, (event, *values) in enumerate(events):
        if event == "write":
            write(store, prepared(f"n{values[0]}", f"{TEXTS[values[1]]} e{number}", tenant=values[2]))
        elif event == "remove":
            write(store, removes=[("default", f"s:n{values[0]}")])
        elif event == "catch up":
            indexes[-1].catch_up(store)
        elif event == "open":
            indexes.append(EmbeddedIndex(folder / "derived", exact_below=0))
        elif event == "pin":
            opened = store.snapshot(WORLD)
            pinned.append((opened, opened.__enter__()))
        with store.snapshot(WORLD) as snapshot:
            for state in (snapshot, *(state for _, state in pinned)):
                check(state)
    for opened, _ in pinned:
        opened.__exit__(None, None, None)
    store.close()
