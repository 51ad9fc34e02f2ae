"""The knowledge service under load: latency by depth, rates, memory, and light questions while heavy ones run.

    python -m bench.service --nodes 256 --store small/.weft
    python -m bench.service --nodes 100000
    python -m bench.service --nodes 256 --store small/.weft --seconds 3600     growth of the memory in an hour
    python -m bench.service --beside --seconds 60      light questions beside heavy ones, on a busy machine

On a busy machine `--beside` takes the processor time of the only process of the service for the time: what the
same answers take by the clock where that process has a processor to itself.

Rates are answers a second by the clock with all that runs beside, and answers for each processor second of the
service, which is what they would be on processors of their own.
"""

import argparse
import http.client
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path

import psutil

from bench.load import post, put_load, repeat
from bench.world import world
from weft.api import Weft
from weft.interfaces.keys import Grant, KeyRing, Limits, Scope

KINDS = ("faq", "playbook", "permission_rule", "concept", "faq", "playbook", "concept", "example", "entity")
EDGES_A_NODE = 4
HEAVY_CANDIDATES = 200


def main() -> None:
    """Build the store if need be, serve it, measure and print."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--nodes", type=int, default=100_000)
    asked.add_argument("--tenants", type=int, default=20)
    asked.add_argument("--store", type=Path, default=Path(__file__).parent / "out" / "service" / ".weft")
    asked.add_argument("--seconds", type=int, default=60)
    asked.add_argument("--connections", type=int, default=64)
    asked.add_argument("--workers", type=int, default=2)
    asked.add_argument("--port", type=int, default=8731)
    asked.add_argument("--beside", action="store_true")
    given = asked.parse_args()
    bodies = build(given.nodes, given.tenants, given.store)
    workers = 1 if given.beside else given.workers
    print(f"{given.nodes:,} nodes in {given.tenants} tenants, {workers} workers")
    key = make_key(given.store)
    server = start(given.store, given.port, workers)
    try:
        if given.beside:
            beside_heavy(given.port, server.pid, bodies, given.seconds, key)
            return
        for depth in (1, 2, 3):
            one_connection(given.port, depth, bodies, key)
        under_load(given.port, server.pid, bodies, given.connections, given.seconds, key)
    finally:
        server.terminate()
        server.wait(30)


def build(nodes: int, tenants: int, store: Path) -> list[dict[str, object]]:
    """Index the world into tenants, and return questions about it."""
    made = world(nodes)
    questions = json.loads(made.questions.read_text(encoding="utf-8"))
    if not (store / "weft.sqlite").exists():
        records = store.parent / "records"
        shutil.rmtree(records, ignore_errors=True)
        records.mkdir(parents=True)
        (records / "world.jsonl").write_text("\n".join(spread(made.folder, tenants)) + "\n", encoding="utf-8")
        started = time.perf_counter()
        with Weft.open(store) as weft:
            report = weft.index(records, source="world")
        seconds = time.perf_counter() - started
        print(f"indexed {report.written:,} nodes, {report.links:,} mentions in {seconds:.0f} s")
    texts = [each if isinstance(each, str) else each["question"] for each in questions]
    chosen = random.Random(3)
    return [{"query": text, "tenant_ids": [f"t{chosen.randrange(tenants)}"], "max_tokens": 4000} for text in texts]


def spread(folder: Path, tenants: int) -> Iterator[str]:
    """Return the world's records, each given to a tenant, and edges within tenants."""
    chosen = random.Random(5)
    earlier: list[list[str]] = [[] for _ in range(tenants)]
    place = 0
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if "target" in record:
                continue
            record.pop("links", None)
            record.pop("parent", None)
            own = place % tenants
            record.update(tenant=f"t{own}", kind=KINDS[place % len(KINDS)])
            yield json.dumps(record)
            key = str(record.get("id", record.get("key")))
            for target in chosen.sample(earlier[own], min(EDGES_A_NODE, len(earlier[own]))):
                weight = chosen.choice((1.0, 0.8, 0.5))
                yield json.dumps(
                    {"source": key, "target": target, "type": "related", "tenant": f"t{own}", "weight": weight}
                )
            earlier[own].append(key)
            place += 1


def start(store: Path, port: int, workers: int) -> subprocess.Popen[bytes]:
    """Start a service, and return it when it is ready."""
    words = ["-m", "weft", "serve", "--store", str(store), "--port", str(port), "--workers", str(workers)]
    server = subprocess.Popen([sys.executable, *words], stderr=subprocess.DEVNULL)
    # A busy machine takes minutes to start it.
    ends = time.monotonic() + 300
    while time.monotonic() < ends:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return server
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the service did not become ready")


def make_key(store: Path) -> dict[str, str]:
    """Return the header of a key that may ask as much as it likes: it stands for many callers."""
    grant = Grant("bench", ("*",), (Scope.READ, Scope.WRITE), limits=Limits(concurrent=10_000))
    return {"Authorization": f"Bearer {KeyRing(store).create(grant, datetime.now(UTC))[1]}"}


def one_connection(port: int, depth: int, bodies: list[dict[str, object]], key: dict[str, str]) -> None:
    """Measure the latency of questions that were not asked before, and of the same ones again."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    asked = [json.dumps({**body, "max_depth": depth}) for body in bodies[:300]]
    # The first answers load models and files.
    for body in bodies[-40:]:
        timed(connection, json.dumps({**body, "max_depth": depth}), key)
    fresh = sorted(timed(connection, body, key) for body in asked)
    again = sorted(timed(connection, body, key) for body in asked)
    print(
        f"max_depth {depth}: p50 {statistics.median(fresh):.1f} ms, p95 {fresh[int(len(fresh) * 0.95)]:.1f} ms; "
        f"asked again p50 {statistics.median(again):.1f} ms"
    )


def timed(connection: http.client.HTTPConnection, body: str, key: dict[str, str]) -> float:
    """Return milliseconds until a question is answered."""
    started = time.perf_counter()
    connection.request("POST", "/api/context", body, {"Content-Type": "application/json", **key})
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        raise SystemExit(f"{answer.status} for {body[:200]}")
    return (time.perf_counter() - started) * 1000


def under_load(
    port: int, pid: int, bodies: list[dict[str, object]], connections: int, seconds: int, key: dict[str, str]
) -> None:
    """Measure rates and memory with many connections: new questions, remembered ones, and as people ask them."""
    every = [json.dumps({**body, "tenant_ids": [f"t{tenant}"]}) for tenant in range(20) for body in bodies]
    random.Random(9).shuffle(every)
    # Remembered answers and connections reach their bounds first.
    put_load(port, {"": (connections, unique(every, "before", key))}, max(seconds // 2, 5))
    kept = [post("/api/context", body, key) for body in every[:200]]
    put_load(port, {"": (connections, repeat(kept))}, 5)
    often = random.Random(11).choices(every, [1 / (rank + 1) for rank in range(len(every))], k=len(every))
    for told, asked in (
        ("no question twice", unique(every, "again", key)),
        ("some questions often", repeat([post("/api/context", body, key) for body in often])),
        ("remembered questions", repeat(kept)),
    ):
        measure(told, port, pid, {"": (connections, asked)}, seconds)
    few = {"light": (4, unique(every, "beside", key)), "heavy": (4, heavy_requests(bodies, key))}
    for told, kinds in (("few light questions alone", {"light": few["light"]}), ("while heavy ones run", few)):
        measure(told, port, pid, kinds, seconds, "light")


def heavy_requests(bodies: list[dict[str, object]], key: dict[str, str]) -> Iterator[bytes]:
    """Return some heavy questions again and again."""
    return repeat([post("/api/context", make_heavy(body, number), key) for number, body in enumerate(bodies[:40])])


def beside_heavy(
    port: int, pid: int, bodies: list[dict[str, object]], seconds: int, key: dict[str, str], turns: int = 4
) -> None:
    """Measure light questions of two connections alone and beside two that ask heavy ones, in turns."""
    # As in the C library's clock_getcpuclockid.
    clock = partial(time.clock_gettime, (~pid << 3) | 2)
    light = unique([json.dumps(body) for body in bodies], "beside", key)
    put_load(port, {"light": (2, light)}, max(seconds // 4, 5))
    for _ in range(turns):
        for told, more in (("alone", {}), ("beside heavy ones", {"heavy": (2, heavy_requests(bodies, key))})):
            found = put_load(port, {"light": (2, light), **more}, seconds / turns / 2, clock)
            heavy = len(found.milliseconds.get("heavy", ()))
            print(f"light questions {told}: {found.describe('light')}, {heavy} heavy ones", flush=True)


def measure(
    told: str, port: int, pid: int, kinds: dict[str, tuple[int, Iterator[bytes]]], seconds: int, kind: str = ""
) -> None:
    """Put a load on the service and print what it carried, what that cost, and how its memory grew."""
    before, busy = memory(pid), processor_seconds(pid)
    measured = put_load(port, kinds, seconds)
    after, busy = memory(pid), processor_seconds(pid) - busy
    answered = max(measured.answered, 1)
    print(f"{told}: {measured.describe(kind)}")
    print(
        f"   {answered / max(busy, 1e-9):.0f} answers a processor second ({busy * 1000 / answered:.2f} ms each), "
        f"{busy / seconds:.2f} processors busy, load average {os.getloadavg()[0]:.1f}; "
        f"memory {before / 1e6:.0f} MB, then {after / 1e6:.0f} MB ({(after - before) / before:+.1%})",
        flush=True,
    )


def unique(bodies: list[str], word: str, key: dict[str, str]) -> Iterator[bytes]:
    """Return questions of which none comes twice: each time round they get another number."""
    for number in count():
        for text in bodies:
            asked = json.loads(text)
            body = json.dumps({**asked, "query": f"{asked['query']} {word} {number}"})
            yield post("/api/context", body, key)


def make_heavy(body: dict[str, object], number: int) -> str:
    """Return a question with a long conversation and many candidates."""
    words = [
        " ".join(f"ledger{(number + place * word) % 97}" for word in range(60))
        for place in range(HEAVY_CANDIDATES)
    ]
    candidates = [{"title": f"Found {place}", "content": {"text": text}} for place, text in enumerate(words)]
    more = {"format": "plain", "max_tokens": 60_000, "history": words[:20], "candidates": candidates}
    return json.dumps({**body, **more})


def memory(pid: int) -> int:
    """Return bytes of their own that a process and its children hold; pages of mapped files are the system's."""
    result = [Path(f"/proc/{each.pid}/status").read_text(encoding="utf-8") for each in family(pid)]
    return sum(int(line.split()[1]) * 1024 for text in result for line in text.splitlines() if "RssAnon" in line)


def processor_seconds(pid: int) -> float:
    """Return seconds that a process and its children kept processors busy."""
    return sum(sum(each.cpu_times()[:2]) for each in family(pid))


def family(pid: int) -> list[psutil.Process]:
    """Return a process and its children."""
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


if __name__ == "__main__":
    main()
