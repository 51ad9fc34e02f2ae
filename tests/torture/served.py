"""A real `weft serve` with tenants and keys, and the figures of its processes."""

import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil
from msgspec import Struct

from weft import Edge, Node, Weft
from weft.interfaces.keys import Grant, KeyRing

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NODES_OF_A_TENANT = 13
_LAST_LINES = 40
TOPICS = ("refund", "invoice", "password", "delivery", "warranty", "account", "voucher")
KINDS = ("faq", "playbook", "concept", "entity")


class Server(Struct, frozen=True):
    """A service that runs: its address and its first process."""

    address: str
    process: int
    told: deque[str]
    """The last lines of its log."""

    @property
    def port(self) -> int:
        """Return the port it listens on."""
        return int(self.address.rpartition(":")[2])

    def processes(self) -> list[psutil.Process]:
        """Return the process that was started and those it started itself."""
        first = psutil.Process(self.process)
        return [first, *first.children(recursive=True)]

    def memory(self) -> int:
        """Return the bytes that its processes hold for themselves; pages of mapped files are the system's."""
        held = 0
        for each in self.processes():
            lines = Path(f"/proc/{each.pid}/status").read_text(encoding="utf-8").splitlines()
            held += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))
        return held

    def processor_seconds(self) -> float:
        """Return the seconds for which its processes kept processors busy."""
        return sum(sum(each.cpu_times()[:2]) for each in self.processes())


def title_word(tenant: str, number: int) -> str:
    """Return a word that stands in the title of one node of one tenant and nowhere else."""
    return f"zq{tenant}n{number}xj"


def text_word(tenant: str, number: int) -> str:
    """Return a word that stands in the text of one node of one tenant and nowhere else."""
    return f"zp{tenant}n{number}xj"


def make_store(store: Path, tenants: int, *named: str) -> list[str]:
    """Write a store of several tenants, whose nodes are about the same things; return their names."""
    names = [*(f"t{number}" for number in range(tenants)), *named]
    with Weft.open(store) as weft:
        for tenant in names:
            nodes = [_make_node(tenant, number) for number in range(NODES_OF_A_TENANT)]
            edges = [
                Edge(nodes[number].key, nodes[(number * 5 + 3) % len(nodes)].key, "related", tenant=tenant)
                for number in range(len(nodes))
            ]
            weft.put(nodes, edges)
    return names


def _make_node(tenant: str, number: int) -> Node:
    topic, other = TOPICS[number % len(TOPICS)], TOPICS[(number * 3 + 1) % len(TOPICS)]
    return Node(
        f"app:{number}",
        KINDS[number % len(KINDS)],
        tenant,
        title=f"How to handle a {topic} {title_word(tenant, number)}",
        text=f"A customer who asks for a {topic} is told about the {other} first. Then the {topic} is booked "
        f"under {text_word(tenant, number)}, and the desk closes the case within {number + 2} days.",
        tags=(topic,),
    )


def make_keys(store: Path, grants: list[Grant]) -> list[tuple[str, str]]:
    """Return id and secret of a key for each grant."""
    ring = KeyRing(store)
    made = [ring.create(grant, NOW) for grant in grants]
    return [(key.id, secret) for key, secret in made]


@contextmanager
def serving(store: Path, *options: str, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Run `weft serve` on a free port for the block, with some more settings of its environment."""
    words = [sys.executable, "-m", "weft", "serve", "--port", "0", "--store", str(store), *options]
    around = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(settings or {})}
    with subprocess.Popen(words, env=around, stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        address = ""
        for line in started.stderr:
            if found := re.search(r"on (http://\S+)", line):
                address = found[1]
                break
        if not address:
            raise RuntimeError(f"weft serve did not start: exit {started.wait()}")
        # What it says is read all the time: a process that logs into a full pipe stands still.
        told: deque[str] = deque(maxlen=_LAST_LINES)
        reading = threading.Thread(target=told.extend, args=(started.stderr,), daemon=True)
        reading.start()
        try:
            yield Server(address, started.pid, told)
        finally:
            started.terminate()
            started.wait(60)
            reading.join(60)
