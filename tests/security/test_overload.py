"""Requests beyond what a service can carry are refused at once with a time to come back; the rest are answered."""

import asyncio
import random
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rest_service import Service, make_key, make_service, running
from torture.leaks import Caller, Holder, Operation
from torture.overload import Connections, Tally, Traffic
from torture.served import Server, make_keys, make_store, serving
from weft import Weft
from weft.interfaces.keys import Grant, Scope
from weft.interfaces.rest.lanes import SIZES, LaneName

KEYS = 25
ASKED = 400


def question(secret: str, number: int) -> bytes:
    body = b'{"query": "refund %d", "tenant_ids": ["support"]}' % number
    head = f"POST /api/context HTTP/1.1\r\nHost: localhost\r\nAuthorization: {secret}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def test_a_burst_beyond_the_lane_is_shed_at_once_and_everything_else_is_answered(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, knowledge = threading.Event(), Weft.knowledge

    def held(*given: Any, **more: Any) -> Any:
        go_on.wait(60)
        return knowledge(*given, **more)

    monkeypatch.setattr(Weft, "knowledge", held)
    secrets = [make_key(service.store, "support")["Authorization"] for _ in range(KEYS)]
    light = SIZES[LaneName.LIGHT]
    taken_in = light.at_once + light.waiting

    async def burst(port: int) -> Counter[int]:
        connections, tally = Connections(port), Tally()

        async def ask(number: int) -> int:
            status, headers = await connections.ask(question(secrets[number % KEYS], number))
            tally.note("light", status, headers, 0.0)
            return status

        asking = [asyncio.create_task(ask(number)) for number in range(ASKED)]
        refused = 0
        # While nothing at all is answered, exactly those that found no place come back.
        for done in asyncio.as_completed(asking):
            refused += await done == 503
            if refused == ASKED - taken_in:
                break
        assert tally.accepted == 0
        go_on.set()
        await asyncio.gather(*asking)
        again = [await connections.ask(question(secrets[0], number)) for number in range(5)]
        assert [status for status, _ in again] == [200] * 5
        connections.close()
        assert not tally.wrong
        return tally.statuses

    with running(service) as address:
        statuses = asyncio.run(burst(int(address.rpartition(":")[2])))
    # Those that waited longer than their lane lets them are refused later, with the same words.
    assert statuses[503] >= ASKED - taken_in
    assert statuses[200] >= light.at_once
    assert statuses.keys() == {200, 503}
    assert 'weft_shed_total{lane="light"}' in service.served.metrics.exposition().decode()


def test_four_hundred_bodies_of_eight_megabytes_do_not_fill_the_memory(tmp_path: Path) -> None:
    store = tmp_path / ".weft"
    tenants = make_store(store, KEYS)
    made = make_keys(store, [Grant(tenant, (tenant,), (Scope.READ, Scope.WRITE)) for tenant in tenants])
    text = "word " * 1_600_000
    bodies = [
        b'{"tenant_id": "%s", "node_type": "faq", "title": "Large", "content": {"text": "%s"}}'
        % (tenant.encode(), text.encode())
        for tenant in tenants
    ]

    async def send(port: int, number: int) -> int:
        secret, body = made[number % KEYS][1], bodies[number % KEYS]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"POST /api/nodes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\n"
        head = f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        try:
            writer.write(head.encode() + body)
            answer = await reader.read(12)
        except ConnectionError:
            # Refused while it was still being sent.
            answer = b""
        finally:
            writer.close()
        return int(answer[9:12] or b"503")

    async def send_all(server: Server) -> tuple[Counter[int], int]:
        sending = asyncio.gather(*(send(server.port, number) for number in range(400)))
        most = 0
        while not sending.done():
            most = max(most, server.memory())
            await asyncio.wait([sending], timeout=0.1)
        return Counter(sending.result()), most

    with serving(store, "--workers", "1", "--write") as server:
        before = server.memory()
        statuses, most = asyncio.run(send_all(server))
        after = server.memory()
    assert statuses[503] + statuses[429] > 200
    assert statuses.keys() <= {201, 413, 422, 429, 503}
    # 64 MiB of bodies, one of them as values at a time; all bodies together have 3.2 GB.
    assert most - before < 400 << 20
    assert after - before < 200 << 20


def test_traffic_of_every_kind_is_well_formed(tmp_path: Path) -> None:
    store = tmp_path / ".weft"
    tenants = make_store(store, 2)
    made = make_keys(store, [Grant(tenant, (tenant,), (Scope.READ, Scope.WRITE)) for tenant in tenants])
    service, kinds = make_service(store), Counter[str]()
    traffic = Traffic([secret for _, secret in made], seed=1)

    async def ask(port: int) -> Tally:
        connections, tally = Connections(port), Tally()
        for _ in range(60):
            kind, request = traffic.next()
            kinds[kind] += 1
            tally.note(kind, *await connections.ask(request), 0.0)
        connections.close()
        return tally

    with running(service) as address:
        tally = asyncio.run(ask(int(address.rpartition(":")[2])))
    assert (tally.wrong, tally.accepted) == ([], 60)
    assert len(kinds) >= 5
    service.served.close()


def test_a_word_of_another_tenant_in_an_answer_is_noticed(tmp_path: Path) -> None:
    store = tmp_path / ".weft"
    make_store(store, 2)
    ((id, secret),) = make_keys(store, [Grant("one", ("t1",))])
    search = Operation("POST", "/api/search", (), ("query", "tenant_ids"), {"query": "refund"})
    service = make_service(store)
    with running(service) as address:
        port = int(address.rpartition(":")[2])
        entitled = Caller(port, [Holder(id, secret, frozenset({"t1"}))], [search], seed=2)
        # The same key, taken for one that may read another tenant only: all that it gets are leaks.
        wrong = Caller(port, [Holder(id, secret, frozenset({"t0"}))], [search], seed=2)
        wrong._tenant = lambda holder: random.choice(("t1", "t1"))  # type: ignore[method-assign]
        for _ in range(10):
            entitled.ask({id: set()})
            wrong.ask({id: set()})
    assert entitled.wrong == []
    assert any("zqt1n" in each for each in wrong.wrong)
    service.served.close()
