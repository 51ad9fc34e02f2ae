"""The vector scan: exact for few rows, two-stage for many, and in both the same whatever the order of rows."""

import shutil

import numpy as np
import pytest

from weft.model import Filter, View
from weft.ports import ChangedPassage
from weft.scoring.similarity import cosines, norms, quantise
from weft.store.derived import Progress, Scope
from weft.store.embedded import vectors
from weft.store.embedded.vector_writer import VectorWriter, start_columns
from weft.store.embedded.vectors import open_generation

WIDTH, ROWS = 70, 3000
NOBODY = np.zeros(0, dtype=np.int64)
EVERYTHING = Scope(View(("t",)), Filter(), NOBODY)
TWO_STAGES = {"exact_rows": 100, "min_candidates": 300}


def clustered(seed: int, rows: int = ROWS, width: int = WIDTH, centres: int = 20) -> np.ndarray:
    """Rows around a few centres, as texts on a few topics are."""
    random = np.random.default_rng(seed)
    middles = random.normal(size=(centres, width))
    return (middles[random.integers(0, centres, rows)] + 0.7 * random.normal(size=(rows, width))).astype(
        np.float32
    )


def tail_passage(number: int, vector: bytes) -> ChangedPassage:
    kind = f"kind:{'ab'[number % 2]}"
    return ChangedPassage(number, number, "t", (kind, "source:s"), number, None, None, b"", b"", vector)


def opened(folder, matrix: np.ndarray, order: list[int], together: int = 700):
    writer = VectorWriter(folder, start_columns(folder, "store", matrix.shape[1]))
    stored = quantise(matrix)
    for start in range(0, len(order), together):
        part = order[start : start + together]
        writer.add(part, [tail_passage(number, stored[number]) for number in part])
        writer.commit(start + 1)
    return open_generation(folder)


def query_of(row: np.ndarray) -> np.ndarray:
    return np.frombuffer(quantise(row[None, :])[0], np.int8)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """More rows than are compared exactly, also of one kind alone."""
    rows = 2 * vectors.EXACT_ROWS + 1000
    # Few values say most, as those of some embedders do.
    matrix = clustered(2, rows, width=256, centres=500) / (1 + np.arange(256, dtype=np.float32) / 8)
    generation = opened(tmp_path_factory.mktemp("many"), matrix, list(range(rows)), together=20_000)
    whole = np.array(generation.columns["values"])
    return generation, whole, norms(whole)


def test_the_scan_gives_the_exact_nearest(tmp_path):
    matrix = clustered(1)
    generation = opened(tmp_path, matrix, list(range(ROWS)))
    query = query_of(matrix[5])
    ids, scores = generation.search(query, generation.rows(EVERYTHING), 10)
    whole = np.stack([np.frombuffer(row, np.int8) for row in quantise(matrix)])
    expected = cosines(whole, norms(whole), query)
    order = np.lexsort((np.arange(ROWS), -expected))[: len(ids)]
    assert ids.tolist() == order.tolist()
    assert scores.tolist() == expected[order].tolist()


@pytest.mark.parametrize("kinds", [(), ("a",)], ids=["all", "filtered"])
def test_two_stages_find_nearly_all_of_the_nearest_with_the_same_scores(many, kinds):
    generation, whole, lengths = many
    allowed = np.arange(len(whole)) % 2 == 0 if kinds else np.ones(len(whole), dtype=bool)
    assert allowed.sum() > vectors.EXACT_ROWS
    random = np.random.default_rng(7)
    found = []
    for row in random.integers(0, len(whole), 40):
        query = query_of(whole[row] + 1.0 * whole[random.integers(0, len(whole))])
        exact = cosines(whole, lengths, query)
        rows = generation.rows(Scope(View(("t",)), Filter(kinds=kinds), NOBODY))
        ids, scores = generation.search(query, rows, 10)
        assert scores.tolist() == exact[ids].tolist()
        nearest = np.argsort(np.where(allowed, -exact, 2.0), kind="stable")[:10]
        found.append(len(set(ids.tolist()) & set(nearest.tolist())) / 10)
    assert min(found) >= 0.9
    assert np.mean(found) >= 0.98


def test_two_stages_do_not_depend_on_the_order_of_rows(tmp_path):
    matrix = clustered(3)
    shuffled = np.random.default_rng(0).permutation(ROWS).tolist()
    forward = opened(tmp_path / "a", matrix, list(range(ROWS)))
    other = opened(tmp_path / "b", matrix, shuffled)
    for scope in (EVERYTHING, Scope(View(("t",)), Filter(kinds=("a",)), np.arange(0, 900, dtype=np.int64))):
        query = query_of(matrix[9])
        one, two = (state.search(query, state.rows(scope), 20, **TWO_STAGES) for state in (forward, other))
        assert one[0].tolist() == two[0].tolist()
        assert one[1].tolist() == two[1].tolist()


def test_two_stages_take_a_limit_beyond_all_rows(tmp_path):
    matrix = clustered(4)
    generation = opened(tmp_path, matrix, list(range(ROWS)))
    rows = generation.rows(EVERYTHING)
    ids, _ = generation.search(query_of(matrix[0]), rows, 10 * ROWS, **TWO_STAGES)
    assert len(ids) == ROWS


def test_rows_are_compacted_and_the_older_folder_goes(tmp_path):
    matrix = clustered(5)
    stored = quantise(matrix)
    writer = VectorWriter(tmp_path, start_columns(tmp_path, "store", WIDTH))
    writer.add(range(ROWS), [tail_passage(number, stored[number]) for number in range(ROWS)])
    writer.commit(1)
    before = open_generation(tmp_path)
    writer.add(range(1500), [tail_passage(number, stored[number]) for number in range(1000)])
    writer.commit(2)
    after = open_generation(tmp_path)
    assert (after.state.rows, after.state.dead) == (2500, 0)
    assert [path.name for path in tmp_path.glob("vectors-*")] == [f"vectors-{before.state.epoch + 1}"]
    query = query_of(matrix[1200])
    still = before.search(query, before.rows(EVERYTHING), 1)[0].tolist()
    assert still == [1200], "an open state stays readable"
    assert 1200 not in after.search(query, after.rows(EVERYTHING), 500)[0]


def test_an_empty_state_whose_folder_was_lost_is_written_to(tmp_path):
    stored = quantise(clustered(5, 10))
    state = start_columns(tmp_path, "store", WIDTH)
    for path in tmp_path.glob("vectors-*"):
        shutil.rmtree(path)
    writer = VectorWriter(tmp_path, state)
    writer.add(range(10), [tail_passage(number, stored[number]) for number in range(10)])
    writer.commit(1)
    assert open_generation(tmp_path).state.rows == 10


def test_progress_remembers_recent_changes_up_to_a_bound():
    progress = Progress("store").advanced(1, [1, 2]).advanced(4, [2, 3]).advanced(5, [9])
    assert progress.changed_since(5) == progress.changed_since(6) == ()
    assert progress.changed_since(2) == (2, 3, 9)
    assert progress.changed_since(0) == (1, 2, 3, 9)
    much = progress.advanced(6, range(100, 5000))
    assert much.changed_since(5) is None
    assert much.advanced(7, [1]).changed_since(6) == (1,)
