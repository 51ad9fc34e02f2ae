"""Let processes with several threads each work on one store, each beside a model that knows what it must get.

Half of the processes use the library, the others a real service over HTTP. Every thread runs a state machine of
hypothesis over nodes of its own, in tenants that it shares with others: its own nodes must be exactly as it left
them, in listings, searches and pages, at once; those of others must be whole and never older than before.
"""

import http.client
import json
import multiprocessing
import re
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from torture.served import make_keys, serving
from torture.workload import is_whole, text_of
from weft import Node, Weft
from weft.errors import WeftError
from weft.interfaces.keys import Grant, Limits, Scope

PROCESSES = 8
THREADS = 4
"""Threads of each process: 32 in all."""
_TENANTS = ("one", "two", "three")
_NUMBERS = st.integers(0, 4)
_STEPS = 25
_ATTEMPTS = 30
"""Attempts at a reading that is refused because there is too much to do, a second apart as the service says."""
_VERSION = re.compile(r"w\d+v(\d+)x0 ")


class Door(Protocol):
    """A way to a store; a write that is refused raises Refused."""

    def put(self, tenant: str, key: str, text: str) -> None:
        """Store a node."""
        ...

    def delete(self, tenant: str, key: str) -> None:
        """Remove a node that is there."""
        ...

    def texts(self, tenant: str) -> dict[str, str]:
        """Return the texts of a tenant by key."""
        ...

    def search(self, tenant: str, words: str) -> dict[str, str]:
        """Return the texts that a search finds, by key."""
        ...

    def page(self, tenant: str, words: str) -> str:
        """Return a page."""
        ...


class Refused(Exception):
    """A write that was not done, as the store says."""


class Library:
    """The store, opened in this process."""

    def __init__(self, weft: Weft) -> None:
        self._weft = weft

    def put(self, tenant: str, key: str, text: str) -> None:
        self._write(lambda: self._weft.put([Node(key, "note", tenant, title="A case", text=text)]))

    def delete(self, tenant: str, key: str) -> None:
        self._write(lambda: self._weft.delete(key, tenant=tenant))

    def _write(self, change: Callable[[], object]) -> None:
        try:
            change()
        except WeftError as error:
            raise Refused(str(error)) from error

    def texts(self, tenant: str) -> dict[str, str]:
        return {row.node.key: row.node.text for row in self._weft.store.iterate(tenant)}

    def search(self, tenant: str, words: str) -> dict[str, str]:
        found = self._weft.search(words, tenants=tenant, match="bm25", floor=0, limit=20).candidates
        return {candidate.node.key: candidate.node.text for candidate in found}

    def page(self, tenant: str, words: str) -> str:
        return self._weft.context(words, tenants=tenant, max_tokens=3000, floor=0).text


class Service:
    """The same store behind `weft serve`; each thread has a connection of its own."""

    def __init__(self, port: int, secret: str) -> None:
        self._port, self._secret, self._own = port, secret, threading.local()

    def _read(self, method: str, path: str, body: Any = None) -> Any:
        """Return an answer that changes nothing; ask again while the service has too much to do."""
        for _ in range(_ATTEMPTS):
            try:
                return self._ask(method, path, body)
            except Refused:
                time.sleep(1)
        return self._ask(method, path, body)

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        headers = {"Authorization": f"Bearer {self._secret}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status in (429, 503):
            raise Refused(content.decode())
        assert answer.status < 300, f"{answer.status} for {method} {path}: {content[:300]!r}"
        return json.loads(content) if content else None

    def put(self, tenant: str, key: str, text: str) -> None:
        node = {"tenant_id": tenant, "key": key, "node_type": "note", "title": "A case", "content": {"text": text}}
        self._ask("PUT", "/api/nodes", {"nodes": [node]})

    def delete(self, tenant: str, key: str) -> None:
        (number,) = [node["id"] for node in self._nodes(tenant) if node["key"] == key]
        self._ask("DELETE", f"/api/nodes/{number}")

    def _nodes(self, tenant: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            more = f"&cursor={cursor}" if cursor else ""
            page = self._read("GET", f"/api/nodes?tenant_id={tenant}&limit=100{more}")
            found, cursor = [*found, *page["nodes"]], page["next_cursor"]
        return found

    def texts(self, tenant: str) -> dict[str, str]:
        return {node["key"]: node["content"]["text"] for node in self._nodes(tenant)}

    def search(self, tenant: str, words: str) -> dict[str, str]:
        asked = {"query": words, "tenant_ids": [tenant], "match": "bm25", "floor": 0, "limit": 20}
        return {
            node["key"]: node["content"]["text"] for node in self._read("POST", "/api/search", asked)["results"]
        }

    def page(self, tenant: str, words: str) -> str:
        asked = {"query": words, "tenant_ids": [tenant], "format": "markdown", "max_tokens": 3000, "floor": 0}
        return str(self._read("POST", "/api/context", {**asked, "profile": "general"})["text"])


class Counts:
    """The steps of one thread, and its nodes at the end."""

    def __init__(self) -> None:
        self.steps = self.refused = self.examples = 0
        self.kept: dict[tuple[str, str], str] = {}


def make_machine(door: Door, thread: int, counts: Counts) -> type[RuleBasedStateMachine]:
    """Return the state machine of one thread."""

    class Together(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            counts.examples += 1
            self.own: dict[tuple[str, str], str] = {}
            self.prefix = f"app:{thread}-{counts.examples}-"
            self.seen: dict[tuple[str, str], int] = {}

        @rule(tenant=st.sampled_from(_TENANTS), number=_NUMBERS)
        def put(self, tenant: str, number: int) -> None:
            counts.steps += 1
            text = text_of(thread * 100 + number, counts.steps)
            key = f"{self.prefix}{number}"
            try:
                door.put(tenant, key, text)
                self.own[tenant, key] = text
            except Refused:
                counts.refused += 1
            self.look(tenant)

        @rule(tenant=st.sampled_from(_TENANTS), number=_NUMBERS)
        def delete(self, tenant: str, number: int) -> None:
            counts.steps += 1
            key = f"{self.prefix}{number}"
            if (tenant, key) not in self.own:
                return
            try:
                door.delete(tenant, key)
                del self.own[tenant, key]
            except Refused:
                counts.refused += 1
            self.look(tenant)

        @rule(tenant=st.sampled_from(_TENANTS))
        def look(self, tenant: str) -> None:
            counts.steps += 1
            texts = door.texts(tenant)
            mine = {(tenant, key): text for key, text in texts.items() if key.startswith(self.prefix)}
            wanted = {ref: text for ref, text in self.own.items() if ref[0] == tenant}
            assert mine == wanted, f"{sorted(mine)} instead of {sorted(wanted)}"
            for key, text in texts.items():
                self.check_other(tenant, key, text)

        def check_other(self, tenant: str, key: str, text: str) -> None:
            assert is_whole(text), f"half-written: {key}"
            found = _VERSION.match(text)
            version = int(found[1]) if found else 0
            assert version >= self.seen.get((tenant, key), 0), f"{key} is older than it was"
            self.seen[tenant, key] = version

        @rule(tenant=st.sampled_from(_TENANTS), number=_NUMBERS)
        def search(self, tenant: str, number: int) -> None:
            counts.steps += 1
            key = f"{self.prefix}{number}"
            text = self.own.get((tenant, key))
            words = text.split()[0] if text else f"w{thread * 100 + number}v0x0"
            found = door.search(tenant, words)
            assert found.get(key) == text, f"a search for {words} brought {found.get(key)!r:.80} of {key}"

        @rule(tenant=st.sampled_from(_TENANTS), number=_NUMBERS)
        def page(self, tenant: str, number: int) -> None:
            counts.steps += 1
            text = self.own.get((tenant, f"{self.prefix}{number}"))
            if text:
                word = text.split()[0]
                assert word in door.page(tenant, word), f"{word} is not on the page about it"

        def teardown(self) -> None:
            # One stays, to be looked for when all have ended; else the store would grow without end.
            for tenant, key in sorted(self.own)[1:]:
                try:
                    door.delete(tenant, key)
                    del self.own[tenant, key]
                except Refused:
                    counts.refused += 1
            counts.kept |= self.own

    return Together


def run_thread(door: Door, thread: int, first_seed: int, until: float) -> tuple[Counts, str]:
    """Run the state machine again and again; return what was done, and the first failure as text."""
    counts = Counts()
    options = settings(
        max_examples=5,
        stateful_step_count=_STEPS,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    machine, number = make_machine(door, thread, counts), first_seed
    while time.monotonic() < until:
        try:
            with_seed(number)(machine)
            run_state_machine_as_test(machine, settings=options)
        except SystemError:
            # Python 3.11 itself fails when two threads parse source at once, as hypothesis does for its reports.
            pass
        except Exception:  # noqa: BLE001  (whatever is raised is a find)
            return counts, traceback.format_exc(limit=-3)
        number += 1
    return counts, ""


def _run_process(process: int, place: tuple[str, int, str], seed: int, until: float, results: Any) -> None:
    store, port, secret = place
    weft = Weft.open(store, embedder=None) if process % 2 == 0 else None
    door: Door = Service(port, secret) if weft is None else Library(weft)
    done: list[tuple[Counts, str]] = []
    threads = [
        threading.Thread(
            target=lambda thread=thread: done.append(run_thread(door, thread, seed * 100 + thread, until))
        )
        for thread in range(process * THREADS, (process + 1) * THREADS)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if weft is not None:
        weft.close()
    for counts, failure in done:
        kept = [(*ref, text) for ref, text in counts.kept.items()]
        results.put((counts.examples, counts.steps, counts.refused, kept, failure))


def run_together(folder: Path, seed: int, until: float, most: int) -> dict[str, int]:
    """Return how many steps how many threads made, and how often an answer was not what their models say."""
    store = folder / ".weft"
    Weft.open(store, embedder=None).close()
    grant = Grant("together", _TENANTS, (Scope.READ, Scope.WRITE), limits=Limits(concurrent=1000))
    ((_, secret),) = make_keys(store, [grant])
    processes = min(PROCESSES, max(most, 2))
    spawn = multiprocessing.get_context("spawn")
    results = spawn.Queue()
    with serving(store, "--workers", "2", "--embedder", "none") as server:
        # Starting them takes seconds on a busy machine; each is to work for a while all the same.
        until = max(until, time.monotonic() + 10)
        given = ((str(store), server.port, secret), seed, until, results)
        working = [spawn.Process(target=_run_process, args=(number, *given)) for number in range(processes)]
        for each in working:
            each.start()
        ended = [results.get() for _ in range(processes * THREADS)]
        for each in working:
            each.join()
    wrong = [failure for *_, failure in ended if failure]
    wrong += _check_end(
        store, {(tenant, key): text for each in ended for tenant, key, text in each[3]}, bool(wrong)
    )
    for failure in wrong[:5]:
        print("  ", failure[-900:])
    return {
        "processes": processes,
        "threads": processes * THREADS,
        "histories": sum(each[0] for each in ended),
        "steps": sum(each[1] for each in ended),
        "refused": sum(each[2] for each in ended),
        "losses": len(wrong),
    }


def _check_end(store: Path, wanted: dict[tuple[str, str], str], has_failed: bool) -> list[str]:
    """Return what the store does not hold, or holds beside what all models together say."""
    with Weft.open(store, embedder=None) as weft:
        wrong = [f"verify: {problem}" for problem in weft.verify()]
        held = {(tenant, row.node.key): row.node.text for tenant in _TENANTS for row in weft.store.iterate(tenant)}
    # A thread that found something stopped in the middle, and does not know what it left.
    if not has_failed:
        wrong += [f"{ref} is not as its thread left it" for ref in wanted if held.get(ref) != wanted[ref]]
        wrong += [f"{ref} should not be there" for ref in held.keys() - wanted.keys()]
    return wrong
