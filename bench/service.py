"""The knowledge service under load: latency by depth on one connection, then throughput and memory on many."""

import argparse
import http.client
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from bench.world import world
from weft.api import Weft

KINDS = ("faq", "playbook", "permission_rule", "concept", "faq", "playbook", "concept", "example", "entity")
EDGES_A_NODE = 4
LOAD_SCRIPT = """
local bodies, threads = {}, 0
for line in io.lines("%s") do bodies[#bodies + 1] = line end
function setup(thread) threads = threads + 1; thread:set("at", threads) end
function request()
  at = (at + 1) %% #bodies + 1
  return wrk.format("POST", "/api/context", {["Content-Type"] = "application/json"}, bodies[at])
end
"""


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
    given = asked.parse_args()
    bodies = build(given.nodes, given.tenants, given.store)
    print(f"{given.nodes:,} nodes in {given.tenants} tenants, {given.workers} workers")
    server = start(given.store, given.port, given.workers)
    try:
        for depth in (1, 2, 3):
            one_connection(given.port, depth, bodies)
        under_load(given.port, server.pid, bodies, given.connections, given.seconds)
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
    for _ in range(600):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return server
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the service did not become ready")


def one_connection(port: int, depth: int, bodies: list[dict[str, object]]) -> None:
    """Measure the latency of questions that were not asked before, and of the same ones again."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    asked = [json.dumps({**body, "max_depth": depth}) for body in bodies[:300]]
    # The first answers load models and files.
    for body in bodies[-40:]:
        timed(connection, json.dumps({**body, "max_depth": depth}))
    fresh = sorted(timed(connection, body) for body in asked)
    again = sorted(timed(connection, body) for body in asked)
    print(
        f"max_depth {depth}: p50 {statistics.median(fresh):.1f} ms, p95 {fresh[int(len(fresh) * 0.95)]:.1f} ms; "
        f"asked again p50 {statistics.median(again):.1f} ms"
    )


def timed(connection: http.client.HTTPConnection, body: str) -> float:
    """Return milliseconds until a question is answered."""
    started = time.perf_counter()
    connection.request("POST", "/api/context", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        raise SystemExit(f"{answer.status} for {body[:200]}")
    return (time.perf_counter() - started) * 1000


def under_load(port: int, pid: int, bodies: list[dict[str, object]], connections: int, seconds: int) -> None:
    """Measure throughput, errors and memory with many connections, for new questions and as people ask them."""
    every = [json.dumps({**body, "tenant_ids": [f"t{tenant}"]}) for tenant in range(20) for body in bodies]
    random.Random(9).shuffle(every)
    # Remembered answers and connections reach their bounds first.
    load(port, every[::-1], connections, max(seconds // 2, 5))
    for told, asked in (("no question twice", every), ("some questions often", often(every))):
        before, busy = memory(pid), processor_seconds(pid)
        measured = load(port, asked, connections, seconds)
        after, busy = memory(pid), processor_seconds(pid) - busy
        print(f"{told}:\n{measured}")
        print(f"memory {before / 1e6:.0f} MB, then {after / 1e6:.0f} MB ({(after - before) / before:+.1%})")
        print(
            f"{busy * 1000 / answered(measured):.1f} ms of processor time a request, {busy / seconds:.2f} "
            f"processors busy; load average of the machine {os.getloadavg()[0]:.1f}"
        )


def answered(measured: str) -> int:
    """Return the number of requests in a measurement."""
    return max(int(measured.partition(" requests in ")[0].split()[-1]), 1)


def often(bodies: list[str]) -> list[str]:
    """Return as many questions, each asked in inverse proportion to its rank."""
    weights = [1 / (rank + 1) for rank in range(len(bodies))]
    return random.Random(11).choices(bodies, weights, k=len(bodies))


def load(port: int, bodies: list[str], connections: int, seconds: int) -> str:
    """Measure with wrk, or with a few threads where there is no wrk."""
    if shutil.which("wrk") is None:
        return threads(port, bodies, connections, seconds)
    with tempfile.TemporaryDirectory() as folder:
        listed, script = Path(folder) / "bodies", Path(folder) / "load.lua"
        listed.write_text("\n".join(bodies), encoding="utf-8")
        script.write_text(LOAD_SCRIPT % listed, encoding="utf-8")
        words = [
            "wrk",
            "-t2",
            f"-c{connections}",
            f"-d{seconds}s",
            "--timeout",
            "10s",
            "--latency",
            "-s",
            str(script),
        ]
        done = subprocess.run([*words, f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True)
    return done.stdout


def threads(port: int, bodies: list[str], connections: int, seconds: int) -> str:
    """Put the same load on the service from this process; its own cost is part of what it measures."""
    end, taken = time.perf_counter() + seconds, []

    def ask(first: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        at = first
        while time.perf_counter() < end:
            taken.append(timed(connection, bodies[at % len(bodies)]))
            at += connections

    running = [threading.Thread(target=ask, args=(index,)) for index in range(connections)]
    for each in running:
        each.start()
    for each in running:
        each.join()
    return f"{len(taken)} requests in {seconds} s, p50 {statistics.median(taken):.1f} ms"


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
