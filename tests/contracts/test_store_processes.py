"""Every store withstands many processes, many threads, and being killed in the middle."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from backends import Backend, child_process
from weft.errors import StoreBusy
from weft.model import Alias, Edge, EdgeSet, View
from weft.ports import Changes, Store
from weft.testing.store_worlds import OpenStore, prepared, write_edges, write_nodes

ROUNDS = 12


def _write_rounds(backend: Backend, name: str) -> int:
    store = backend.store()
    for number in range(ROUNDS):
        write_nodes(store, *(prepared(f"s:{name}.{number}.{place}", tenant=name) for place in range(5)))
        with store.snapshot(View((name,))) as snapshot:
            assert len(snapshot.find([f"s:{name}.{number}.4"])) == 1, "an acknowledged write must be seen at once"
        edge = Edge(f"s:{name}.{number}.0", f"s:{name}.0.1", "x", tenant=name)
        write_edges(store, "m@1", edge, scope=(edge.source,))
    store.close()
    return ROUNDS * 5


def _read_rounds(backend: Backend, name: str) -> int:
    store = backend.store()
    last = 0
    for _ in range(ROUNDS * 4):
        with store.snapshot_of_all_tenants() as snapshot:
            assert snapshot.sequence >= last
            last = snapshot.sequence
            tail = snapshot.changes_since(0, 10_000)
            assert len(tail.passages) == len(snapshot.nodes(tail.changed_nodes))
            assert len(tail.passages) % 5 == 0, "half of a write was seen"
            assert snapshot.statistics([1]).passages == len(tail.passages)
    store.close()
    return 0


def _run(job: tuple[Callable[[Backend, str], int], Backend, str]) -> int:
    function, backend, name = job
    return function(backend, name)


def test_four_writers_and_four_readers_in_processes_of_their_own_never_meet_a_lock(backend: Backend) -> None:
    jobs = [(_write_rounds, backend, f"w{number}") for number in range(4)]
    jobs += [(_read_rounds, backend, f"r{number}") for number in range(4)]
    with multiprocessing.get_context("spawn").Pool(8) as pool:
        written = sum(pool.map(_run, jobs, chunksize=1))
    store = backend.store()
    assert store.status().nodes == written == 4 * 5 * ROUNDS
    assert store.status().sequence == 4 * 2 * ROUNDS
    assert store.verify() == ()
    store.close()


def test_threads_share_one_open_store(store: Store) -> None:
    def work(name: str) -> int:
        for number in range(5):
            write_nodes(store, prepared(f"s:{name}.{number}"))
            with store.snapshot(View()) as outer, store.snapshot(View()) as inner:
                assert outer.find([f"s:{name}.{number}"]) == inner.find([f"s:{name}.{number}"]) != {}
        return 5

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(work, "abcdef")) == store.status().nodes


def test_a_second_writer_waits_and_then_says_who_is_busy(open_store: OpenStore) -> None:
    holder, other = open_store(), open_store(busy_seconds=0.05)
    with holder.writing(), pytest.raises(StoreBusy, match=r"0\.05 seconds"):
        write_nodes(other, prepared("s:a"))
    write_nodes(other, prepared("s:a"))


def test_a_second_writer_goes_on_when_the_first_one_lets_go(open_store: OpenStore) -> None:
    holder, other = open_store(), open_store()
    waiting = threading.Thread(target=write_nodes, args=(other, prepared("s:late")))
    with holder.writing():
        waiting.start()
        write_nodes(holder, prepared("s:early"))
        with holder.snapshot(View()) as snapshot:
            assert snapshot.find(["s:late"]) == {}
    waiting.join()
    with holder.snapshot(View()) as snapshot:
        assert set(snapshot.find(["s:early", "s:late"])) == {"s:early", "s:late"}


def test_another_thread_of_the_same_store_waits_too(open_store: OpenStore) -> None:
    store = open_store(busy_seconds=0.05)
    with store.writing(), ThreadPoolExecutor(1) as pool:
        failure = pool.submit(write_nodes, store, prepared("s:a")).exception()
    assert isinstance(failure, StoreBusy)


def _killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class _Edges:
    """An edge set that kills its own process as soon as its edges are read, with the nodes already written."""

    maker, tenant, scope = "m@1", "default", None

    @property
    def edges(self) -> tuple[Edge, ...]:
        _killed()
        return ()


class _Aliases(_Edges):
    """The same of aliases."""

    @property
    def aliases(self) -> dict[str, tuple[Alias, ...]]:
        _killed()
        return {}


class _Units(tuple[tuple[str, str, str, str], ...]):
    """The same of units, which come after edges and aliases."""

    __slots__ = ()

    def __iter__(self) -> Iterator[tuple[str, str, str, str]]:
        _killed()
        return super().__iter__()


class _Importance(dict[tuple[str, str], float]):
    """The same of importance."""

    def __iter__(self) -> Iterator[tuple[str, str]]:
        _killed()
        return super().__iter__()

    keys = values = items = __iter__  # type: ignore[assignment]


DEADLY = {
    "aliases": {"aliases": (_Aliases(),)},
    "edges": {"edges": (_Edges(),)},
    "units": {"units": _Units([("default", "s", "unit", "stamp")])},
    "importance": {"importance": _Importance({("default", "s:kept"): 0.5})},
}


def die_while_writing(backend: Backend, part: str) -> None:
    """Write some nodes and be killed before the end."""
    store = backend.store()
    nodes = tuple(prepared(f"s:lost.{number}") for number in range(500))
    edge = EdgeSet("m@2", "default", (Edge("s:kept", "s:lost.1", "x"),))
    deadly = {"edges": (edge,), **DEADLY[part]}
    store.write(Changes(upserts=(*nodes, prepared("s:kept", title="changed")), **deadly))  # type: ignore[arg-type]


def die_holding_the_right_to_write(backend: Backend) -> None:
    """Be killed between two writes that belong together."""
    store = backend.store()
    with store.writing():
        write_nodes(store, prepared("s:first"))
        _killed()


def write_until_killed(backend: Backend) -> None:
    """Write on and on, and say every write that was acknowledged."""
    store = backend.store()
    number = 0
    while True:
        write_nodes(store, *(prepared(f"s:{number}.{place}") for place in range(20)))
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        number += 1


@pytest.mark.parametrize("part", DEADLY)
def test_being_killed_in_the_middle_of_a_write_leaves_the_state_before_it(backend: Backend, part: str) -> None:
    store = backend.store()
    sequence = write_nodes(store, prepared("s:kept", title="old"))
    child = child_process(die_while_writing, backend, part)
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    with store.snapshot(View()) as snapshot:
        assert snapshot.sequence == sequence
        assert set(snapshot.find(["old", "changed", "s:lost.1"])) == {"old"}
        assert snapshot.edges(snapshot.find(["old"])["old"]) == []
    assert write_nodes(store, prepared("s:next")) == sequence + 1
    assert store.verify() == ()
    store.close()


def test_a_writer_killed_between_two_writes_lets_the_next_one_write(backend: Backend) -> None:
    store = backend.store()
    child = child_process(die_holding_the_right_to_write, backend)
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    write_nodes(store, prepared("s:second"))
    with store.snapshot(View()) as snapshot:
        assert set(snapshot.find(["s:first", "s:second"])) == {"s:first", "s:second"}
    store.close()


def test_every_write_acknowledged_before_a_kill_is_there_afterwards(backend: Backend) -> None:
    child = child_process(write_until_killed, backend)
    assert child.stdout is not None
    acknowledged = [int(child.stdout.readline()) for _ in range(5)]
    child.kill()
    rest, _ = child.communicate()
    acknowledged += [int(line) for line in rest.split("\n")[:-1]]
    store = backend.store()
    with store.snapshot(View()) as snapshot:
        names = [f"s:{number}.19" for number in acknowledged]
        assert list(snapshot.find(names)) == names
        assert store.status().nodes % 20 == 0
    assert store.verify() == ()
    store.close()
