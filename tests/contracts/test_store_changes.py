"""Every store keeps passages, statistics and the change sequence as its contract says."""

from collections import Counter
from datetime import UTC, datetime
from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft.errors import EmbedderMismatch
from weft.model import View
from weft.ports import Changes, Store
from weft.testing.store_worlds import OpenStore, id_of, passage, prepared, write_nodes

# --- passages, vectors, statistics ---------------------------------------------------------------------


def test_passages_come_in_the_order_asked_with_their_place(store: Store) -> None:
    write_nodes(store, prepared("notes:a", passage([4]), passage([2, 3], 1)), prepared("notes:b", passage([9])))
    with store.snapshot(View()) as snapshot:
        rows = snapshot.passages_of_nodes([id_of(store, "notes:b"), id_of(store, "notes:a")])
        asked = [rows[2].id, 12345, rows[0].id]
        assert [row.id for row in snapshot.passages(asked)] == [rows[2].id, rows[0].id]
    assert [row.passage.ordinal for row in rows] == [0, 0, 1]
    assert rows[2].passage.heading_path == ("Top", "Part")
    assert rows[2].length == 2


def test_vectors_are_unit_length_and_zero_where_there_is_none(store: Store) -> None:
    store.remember_embedder("static@1", 4)
    write_nodes(
        store,
        prepared("notes:a", passage([1], vector=np.array([3, 0, -4, 0], np.int8).tobytes()), passage([2], 1)),
    )
    with store.snapshot(View()) as snapshot:
        with_vector, without = (row.id for row in snapshot.passages_of_nodes([id_of(store, "notes:a")]))
        vectors = snapshot.vectors([without, with_vector, 999, with_vector])
        assert snapshot.embedder() == ("static@1", 4)
    expected = [0.6, 0.0, -0.8, 0.0]
    np.testing.assert_allclose(vectors, [[0] * 4, expected, [0] * 4, expected], atol=1e-6)


def test_another_embedder_is_refused_once_vectors_are_stored(store: Store) -> None:
    store.remember_embedder("one@1", 8)
    store.remember_embedder("two@1", 4)
    write_nodes(store, prepared("notes:a", passage([1], vector=bytes([1, 2, 3, 4]))))
    store.remember_embedder("two@1", 4)
    with pytest.raises(EmbedderMismatch, match=r"two@1.*one@1"):
        store.remember_embedder("one@1", 8)


def test_numbers_may_come_as_arrays(store: Store) -> None:
    write_nodes(store, prepared("notes:a", passage([7])))
    ids = np.array([id_of(store, "notes:a")])
    with store.snapshot(View()) as snapshot:
        passages = np.array([row.id for row in snapshot.passages_of_nodes(ids)])
        assert len(snapshot.nodes(ids)) == len(snapshot.passages(passages)) == len(snapshot.vectors(passages)) == 1
        assert dict(snapshot.statistics(np.array([7, 8], np.uint32)).frequency) == {7: 1}
        assert snapshot.adjacency(ids, 3).owner.tolist() == snapshot.edges(ids) == []


Step = tuple[str, str, list[list[int]] | None, int | None]

_WORLDS = count()
_TERMS = st.lists(st.lists(st.integers(0, 12), max_size=6), max_size=3)
_STEPS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("wxyz"), st.none() | _TERMS, st.none() | st.integers(0, 3)),
    max_size=14,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=_STEPS, batch=st.integers(1, 5))
def test_statistics_equal_those_counted_by_hand(open_store: OpenStore, steps: list[Step], batch: int) -> None:
    store = open_store(f"world{next(_WORLDS)}")
    truth: dict[tuple[str, str], tuple[list[list[int]], int | None]] = {}
    for start in range(0, len(steps), batch):
        part = {step[:2]: step for step in steps[start : start + batch]}.values()
        upserts = tuple(
            prepared(
                key, *(passage(terms, place) for place, terms in enumerate(texts)), tenant=tenant, sequence=at
            )
            for tenant, key, texts, at in part
            if texts
        )
        removes = tuple((tenant, key) for tenant, key, texts, _ in part if not texts)
        store.write(Changes(upserts=upserts, removes=removes))
        truth |= {(tenant, key): (texts, at) for tenant, key, texts, at in part if texts}
        truth = {place: held for place, held in truth.items() if place not in removes}
    for view in (View(("a",)), View(("a", "b")), View(("b",), as_of=1), View(())):
        _assert_statistics(store, view, truth)
    store.close()


def _assert_statistics(
    store: Store, view: View, truth: dict[tuple[str, str], tuple[list[list[int]], int | None]]
) -> None:
    seen = [
        set(terms)
        for (tenant, _), (texts, at) in truth.items()
        if tenant in view.tenants and (view.as_of is None or (at is not None and at <= view.as_of))
        for terms in texts
    ]
    with store.snapshot(view) as snapshot:
        statistics = snapshot.statistics(range(13))
    assert statistics.passages == len(seen)
    assert statistics.mean_length == pytest.approx(sum(map(len, seen)) / len(seen) if seen else 0.0)
    assert dict(statistics.frequency) == dict(Counter(term for terms in seen for term in terms))


# --- change sequence -----------------------------------------------------------------------------------


def test_the_tail_holds_changed_and_removed_nodes_with_what_an_index_needs(store: Store) -> None:
    first = write_nodes(store, prepared("s:a"), prepared("s:b"))
    gone = id_of(store, "s:b")
    store.write(Changes(removes=(("default", "s:b"),)))
    moment = datetime(2024, 5, 5, tzinfo=UTC)
    vector = bytes([1, 2])
    node = prepared(
        "s:c", passage([7], vector=vector), passage([8], 1), tags=("t",), fields={"y": False, "l": [1]},
        sequence=3, known_from=4, created=moment,
    )  # fmt: skip
    last = write_nodes(store, node)
    with store.snapshot_of_all_tenants() as snapshot:
        tail = snapshot.changes_since(first, 10)
    added = id_of(store, "s:c")
    assert (tail.sequence, tail.complete, tail.changed_nodes) == (last, True, (gone, added))
    assert [passage.term_hashes for passage in tail.passages] == [
        np.array([number], "<u4").tobytes() for number in (7, 8)
    ]
    entry = tail.passages[0]
    assert entry.facets == ("field:y=false", "kind:note", "source:notes", "tag:t", "tagged:t")
    assert (entry.node_id, entry.tenant, entry.sequence, entry.known_from) == (added, "default", 3, 4)
    assert (entry.time, entry.vector, tail.passages[1].vector) == (moment, vector, b"")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.lists(st.integers(1, 7), min_size=1, max_size=6), limit=st.integers(1, 12))
def test_reading_the_tail_in_pages_misses_nothing_and_repeats_nothing(
    open_store: OpenStore, sizes: list[int], limit: int
) -> None:
    store = open_store(f"world{next(_WORLDS)}")
    for batch, size in enumerate(sizes):
        write_nodes(store, *(prepared(f"s:{batch}.{place}") for place in range(size)))
    pages, since, complete = [], 0, False
    with store.snapshot_of_all_tenants() as snapshot:
        while not complete:
            tail = snapshot.changes_since(since, limit)
            pages.append(tail.changed_nodes)
            assert tail.sequence > since or tail.complete
            since, complete = tail.sequence, tail.complete
        assert [node for page in pages for node in page] == list(snapshot.changes_since(0, 1000).changed_nodes)
        assert snapshot.sequence == since
    assert all(len(page) <= max(limit, *sizes) for page in pages)
    store.close()


def test_a_rewritten_node_moves_to_the_end_of_the_tail(store: Store) -> None:
    write_nodes(store, prepared("s:a"))
    middle = write_nodes(store, prepared("s:b"))
    write_nodes(store, prepared("s:a", title="again"))
    with store.snapshot(View()) as snapshot:
        assert snapshot.changes_since(middle, 10).changed_nodes == (id_of(store, "s:a"),)
        assert snapshot.changes_since(0, 10).changed_nodes == (id_of(store, "s:b"), id_of(store, "s:a"))


def test_a_snapshot_does_not_move_while_others_write(open_store: OpenStore) -> None:
    reader, writer = open_store(), open_store()
    before = write_nodes(writer, prepared("s:a", title="old"))
    with reader.snapshot(View()) as snapshot:
        write_nodes(writer, prepared("s:a", title="new"), prepared("s:b"))
        (node_id,) = snapshot.find(["s:a"])["s:a"]
        assert snapshot.nodes([node_id])[node_id].node.title == "old"
        assert snapshot.find(["s:b"]) == {}
        assert snapshot.sequence == before
        with reader.snapshot(View()) as later:
            assert later.nodes([node_id])[node_id].node.title == "new"
            assert later.sequence == before + 1
