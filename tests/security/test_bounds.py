"""Everything that a caller can make large, slow or many is bounded, and bounded for each caller alone."""

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from rest_service import Service, make_certificate, make_key, make_service, running
from weft import Weft
from weft.history import History
from weft.history.sessions import Claims
from weft.interfaces.keys import Limits, Scope
from weft.interfaces.rest.connections import BoundedLoop, BoundedProtocol
from weft.interfaces.rest.gate import body_limit
from weft.interfaces.rest.lanes import Lane, LaneName, LaneSize, choose_lane
from weft.interfaces.rest.problems import Problem
from weft.interfaces.rest.quotas import Quotas
from weft.interfaces.rest.served_store import AnswerCache, KnownState, Remembered
from weft.interfaces.rest.threads import GivingWay
from weft.runtime import deadline
from weft.runtime.deadline import Deadline, OutOfTime, limit

MIB = 1 << 20
QUESTION = {"query": "refund", "tenant_ids": ["support"]}


class QuickProtocol(BoundedProtocol):
    """A connection with little patience."""

    head_seconds = 0.2
    linger_seconds = 0.2
    send_seconds = 0.5


@pytest.fixture
def address(service: Service) -> Iterator[str]:
    with running(service, http=QuickProtocol) as found:
        yield found


def connect(address: str) -> socket.socket:
    host, _, port = address.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def answer_to(connection: socket.socket) -> bytes:
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionError:
        # The rest of what was sent was not wanted.
        pass
    return b"".join(parts)


def first_answer(connection: socket.socket) -> bytes:
    """The first answer on a connection that stays open: head and body may come in two parts."""
    received = b""
    while not received.endswith(b"}"):
        received += connection.recv(4096)
    return received


# --- heads ---


def send_endless_header(address: str) -> bytes:
    with connect(address) as connection:
        try:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Large: ")
            for _ in range(80):
                connection.sendall(b"x" * MIB)
        except ConnectionError:
            pass
        return answer_to(connection)


def test_endless_headers_are_cut_off_and_others_are_answered_meanwhile(address: str) -> None:
    with ThreadPoolExecutor(4) as senders:
        sending = [senders.submit(send_endless_header, address) for _ in range(4)]
        for _ in range(20):
            assert httpx.get(f"{address}/healthz", timeout=5).status_code == 200
        assert all(b" 200 " not in each.result() for each in sending)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /healthz?" + b"q" * 63_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"414"),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 40_000 + b"\r\n\r\n", b"431"),
        (
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
            + b"".join(b"X-%d: y\r\n" % n for n in range(120))
            + b"\r\n",
            b"431",
        ),
        (b"NONSENSE\r\n\r\n", b"400"),
        (b"POST /api/context HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n", b"400"),
    ],
)
def test_a_head_beyond_its_bounds_is_refused(address: str, head: bytes, status: bytes) -> None:
    with connect(address) as connection:
        connection.sendall(head)
        connection.shutdown(socket.SHUT_WR)
        assert answer_to(connection).startswith(b"HTTP/1.1 " + status)


def test_a_head_that_never_ends_is_told_to_be_too_slow(address: str) -> None:
    with connect(address) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
        assert answer_to(connection).startswith(b"HTTP/1.1 408")


def test_a_second_head_on_a_connection_has_no_more_time(address: str) -> None:
    with connect(address) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert first_answer(connection).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHos")
        assert answer_to(connection).startswith(b"HTTP/1.1 408")


def test_a_connection_that_says_nothing_is_closed(address: str) -> None:
    with connect(address) as connection:
        assert answer_to(connection) == b""


class FewConnections(BoundedProtocol):
    """A service that takes few connections."""

    most_connections = 3


def test_silent_connections_push_out_each_other_and_nobody_who_asks(service: Service) -> None:
    with running(service, http=FewConnections) as address:
        silent = []
        for number in range(12):
            silent.append(connect(address))
            if number % 2:
                silent[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
            assert httpx.get(f"{address}/healthz", timeout=10).status_code == 200
        # Those that came first are closed without an answer.
        for connection in silent[:8]:
            assert answer_to(connection) == b""
        for connection in silent:
            connection.close()


def test_a_caller_that_never_agrees_on_keys_is_let_go(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedLoop, "handshake_seconds", 0.2)
    files = {"ssl_certfile": str(tmp_path / "cert.pem"), "ssl_keyfile": str(tmp_path / "key.pem")}
    make_certificate(*map(Path, files.values()))
    loop = "weft.interfaces.rest.connections:BoundedLoop"
    with running(service, loop=loop, **files) as address, connect(address) as connection:
        assert answer_to(connection) == b""


def test_a_process_opens_what_files_it_may_and_leaves_some_for_the_store() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (200, 1000));"
        "from weft.interfaces.rest.connections import BoundedProtocol, prepare_connections; prepare_connections();"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], BoundedProtocol.most_connections)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1000", "744"]


# --- bodies ---


def test_a_caller_without_a_key_is_refused_before_its_body_is_read(service: Service) -> None:
    make_key(service.store, "support")
    with running(service, http=QuickProtocol) as address, connect(address) as connection:
        connection.sendall(
            b"POST /api/nodes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8000000\r\n"
            b"Content-Type: application/json\r\n\r\n"
        )
        assert answer_to(connection).startswith(b"HTTP/1.1 401")


@pytest.mark.parametrize("line", ["POST /healthz", "HEAD /healthz", "GET /readyz", "POST /openapi.json"])
def test_a_public_path_does_not_wait_for_a_body(address: str, line: str) -> None:
    # Else anybody without a key could hold every connection with bodies that never come.
    with connect(address) as connection:
        connection.sendall(f"{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n".encode())
        assert answer_to(connection).startswith((b"HTTP/1.1 200", b"HTTP/1.1 405"))


def test_callers_without_a_key_take_no_thread_from_those_who_have_one(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, may_go = make_key(service.store, "support"), threading.Event()
    monkeypatch.setattr("weft.interfaces.rest.app.index_lag", lambda weft: 0 if may_go.wait(60) else 1)
    with running(service) as address, ThreadPoolExecutor(80) as callers:
        asked = [callers.submit(httpx.get, f"{address}/readyz", timeout=60) for _ in range(80)]
        # Four are answered, sixty-four wait, and no more than that.
        refused = [done.result() for done, _ in zip(as_completed(asked), range(12), strict=False)]
        assert {each.status_code for each in refused} == {503}
        assert httpx.get(f"{address}/healthz", timeout=10).status_code == 200
        asked_with_key = httpx.post(f"{address}/api/context", json=QUESTION, headers=key, timeout=30)
        assert asked_with_key.status_code == 200
        may_go.set()
        assert sum(each.result().status_code == 200 for each in asked) >= 4


def test_callers_that_take_no_answer_push_out_each_other_and_nobody_who_asks(store: Path) -> None:
    service = make_service(store)
    node = {"tenant_id": "support", "node_type": "faq", "title": "long", "content": {"text": "words " * 20_000}}
    nodes = [{**node, "key": f"long{number}"} for number in range(60)]
    assert service.http.put("/api/nodes", json={"nodes": nodes}).status_code == 200
    request = b"GET /api/nodes?tenant_id=support&limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with running(service, http=FewConnections) as address:
        host, _, port = address.removeprefix("http://").partition(":")
        readers = []
        for _ in range(8):
            readers.append(socket.socket())
            # Set before it connects, so that the system itself takes little.
            readers[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            readers[-1].connect((host, int(port)))
            readers[-1].sendall(request)
            # Whether it has begun to be answered.
            assert readers[-1].recv(1)
            assert httpx.get(f"{address}/healthz", timeout=10).status_code == 200
        for reader in readers:
            reader.close()
    service.served.close()


def test_wrong_values_by_the_thousand_get_a_short_answer(service: Service) -> None:
    wrong: list[dict[str, Any]] = [
        {"parameters": {f"name{number}": [1] for number in range(50_000)}},
        {"filter": {"where": {f"name{number}": 1 for number in range(50_000)}}},
        {"parameters": {"name" * 100_000: [1]}},
        {"candidates": [{"title": "", "tags": [1] * 100} for _ in range(1000)]},
    ]
    for each in wrong:
        done = service.http.post("/api/context", json={**QUESTION, **each})
        assert done.status_code == 422
        assert len(done.content) < 64 << 10
    nodes = [{"tenant_id": "", "node_type": "", "title": "", "tags": [1] * 100} for _ in range(1000)]
    done = service.http.put("/api/nodes", json={"nodes": nodes})
    assert (done.status_code, len(done.json()["errors"])) == (422, 100)
    # A tag is told once for each node, and three other fields of it are wrong.
    assert "(3999 more, the first 99 of them below)" in done.json()["detail"]


@pytest.mark.parametrize(
    ("path", "most"),
    [("/api/context", 4 * MIB), ("/api/search", MIB // 4), ("/api/premortem", MIB // 16), ("/api/nodes", 8 * MIB)],
)
def test_a_body_is_as_large_as_its_route_needs_and_no_larger(service: Service, path: str, most: int) -> None:
    assert body_limit(path) == most
    done = service.http.post(path, content=b"[" + b" " * most, headers={"content-type": "application/json"})
    assert done.status_code == 413
    parts = (b" " * 1024 for _ in range(most // 1024 + 2))
    assert service.http.post(path, content=parts).status_code == 413


def test_bodies_of_many_callers_together_are_bounded_and_keep_no_question_out(service: Service) -> None:
    keys = [make_key(service.store, "support", write=True)["Authorization"] for _ in range(2)]
    head = (
        "POST /api/nodes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: {{}}\r\nContent-Length: {8 * MIB}\r\n\r\n"
    )
    with running(service) as address:
        senders = [connect(address) for _ in range(12)]
        for number, sender in enumerate(senders):
            sender.settimeout(2)
            with suppress(ConnectionError):
                sender.sendall(head.format(keys[number % 2]).encode() + b" " * (7 * MIB))
        told = [sender.recv(4096) for sender in senders[8:]]
        assert all(each.startswith(b"HTTP/1.1 503") and b"retry-after: 1" in each.lower() for each in told)
        asked = httpx.post(f"{address}/api/context", json=QUESTION, headers={"Authorization": keys[0]})
        assert asked.status_code == 200
        for sender in senders:
            sender.close()


CHUNKED = b"Host: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"


@pytest.mark.parametrize("around", [b"2\r\n{}\r\n0\r\nX-Trailer: ", b"2;extension="], ids=["trailer", "extension"])
def test_what_stands_around_a_body_is_bounded_and_others_are_answered_meanwhile(
    address: str, around: bytes
) -> None:
    def send() -> bytes:
        with connect(address) as connection:
            with suppress(ConnectionError):
                connection.sendall(b"POST /docs HTTP/1.1\r\n" + CHUNKED + b"\r\n" + around)
                for _ in range(80):
                    connection.sendall(b"x" * MIB)
            return answer_to(connection)

    with ThreadPoolExecutor(4) as senders:
        sending = [senders.submit(send) for _ in range(4)]
        for _ in range(20):
            assert httpx.get(f"{address}/healthz", timeout=5).status_code == 200
        assert all(b" 200 " not in each.result() for each in sending)


def test_a_body_in_small_chunks_is_taken(service: Service) -> None:
    parts = (bytes([byte]) for byte in b'{"query": "refund", "tenant_ids": ["support"]' + b" " * 5000 + b"}")
    with running(service) as address:
        headers = {"content-type": "application/json"}
        assert httpx.post(f"{address}/api/search", content=parts, headers=headers, timeout=30).status_code == 200


def test_a_trailer_is_no_header(service: Service) -> None:
    key = make_key(service.store, "support")["Authorization"]
    asked = b'{"query": "refund", "tenant_ids": ["support"]}'
    body = b"%x\r\n%b\r\n0\r\n" % (len(asked), asked)
    head = b"POST /api/search HTTP/1.1\r\nConnection: close\r\n" + CHUNKED
    authorization = f"Authorization: {key}\r\n".encode()
    with running(service) as address:
        answers = []
        for request in (head + authorization + b"\r\n" + body, head + b"\r\n" + body + authorization):
            with connect(address) as connection:
                connection.sendall(request + b"\r\n")
                answers.append(answer_to(connection)[:12])
    assert answers == [b"HTTP/1.1 200", b"HTTP/1.1 401"]


def test_requests_that_wait_on_one_connection_are_bounded(address: str) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connect(address) as connection:
        connection.sendall(request * 10 + request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert answer_to(connection).count(b"HTTP/1.1 200") == 11
    with connect(address) as connection:
        with suppress(ConnectionError):
            connection.sendall(request * 4000)
        assert b"HTTP/1.1 400" in answer_to(connection)
    assert httpx.get(f"{address}/healthz").status_code == 200


# --- callers that do not read ---


def test_answers_that_nobody_reads_are_given_up(store: Path) -> None:
    lost, service = threading.Event(), make_service(store)
    node = {"tenant_id": "support", "node_type": "faq", "title": "long", "content": {"text": "words " * 20_000}}
    nodes = [{**node, "key": f"long{number}"} for number in range(60)]
    assert service.http.put("/api/nodes", json={"nodes": nodes}).status_code == 200

    class NoticedProtocol(QuickProtocol):
        """A connection whose end is noticed."""

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            lost.set()

    with running(service, http=NoticedProtocol) as address, socket.socket() as connection:
        # Set before it connects, so that the system itself takes little.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        host, _, port = address.removeprefix("http://").partition(":")
        connection.connect((host, int(port)))
        connection.sendall(b"GET /api/nodes?tenant_id=support&limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 4)
        assert lost.wait(30)
    service.served.close()


def test_a_large_answer_arrives_whole(service: Service) -> None:
    node = {"tenant_id": "support", "node_type": "faq", "title": "long", "content": {"text": "words " * 20_000}}
    nodes = [{**node, "key": f"long{number}"} for number in range(20)]
    assert service.http.put("/api/nodes", json={"nodes": nodes}).status_code == 200
    with running(service) as address:
        listed = httpx.get(f"{address}/api/nodes?tenant_id=support&limit=1000", timeout=30).json()["nodes"]
    assert len([each for each in listed if each["title"] == "long"]) == 20


# --- lanes and deadlines ---


def test_a_lane_takes_so_many_lets_so_many_wait_and_refuses_the_rest() -> None:
    async def fill() -> None:
        lane = Lane(LaneName.LIGHT, LaneSize(1, 1, 5.0))
        await lane.enter(Deadline(5))
        waiting = asyncio.create_task(lane.enter(Deadline(5)))
        await asyncio.sleep(0)
        with pytest.raises(Problem) as refused:
            await lane.enter(Deadline(5))
        assert refused.value.status == 503
        lane.leave()
        await waiting
        with pytest.raises(Problem):
            await lane.enter(Deadline(0))

    asyncio.run(fill())


def test_nobody_can_fill_a_lane_against_others() -> None:
    async def contend() -> tuple[list[str], int]:
        lane, done = Lane(LaneName.HEAVY, LaneSize(1, 4, 5.0)), list[str]()

        async def ask(caller: str) -> None:
            await lane.enter(Deadline(5), caller)
            done.append(caller)
            await asyncio.sleep(0)
            lane.leave()

        await lane.enter(Deadline(5), "many")
        many = [asyncio.create_task(ask("many")) for _ in range(4)]
        await asyncio.sleep(0)
        few = [asyncio.create_task(ask("few")), asyncio.create_task(ask("other"))]
        await asyncio.sleep(0)
        # A third one of the same caller would be refused before anybody with fewer is.
        with pytest.raises(Problem):
            await lane.enter(Deadline(5), "many")
        lane.leave()
        ended = await asyncio.gather(*many, *few, return_exceptions=True)
        await lane.enter(Deadline(0), "afterwards")
        return done, sum(isinstance(each, Problem) for each in ended)

    done, refused = asyncio.run(contend())
    assert refused == 2
    assert sorted(done) == ["few", "many", "many", "other"]
    # They take turns.
    assert done[:2] == ["many", "few"]


def test_a_turn_that_comes_when_its_request_is_given_up_goes_to_the_next() -> None:
    async def give_up() -> None:
        lane = Lane(LaneName.HEAVY, LaneSize(1, 4, 5.0))
        await lane.enter(Deadline(5), "a")
        first = asyncio.create_task(lane.enter(Deadline(5), "b"))
        second = asyncio.create_task(lane.enter(Deadline(5), "c"))
        await asyncio.sleep(0)
        lane.leave()
        first.cancel()
        await asyncio.wait([first])
        if not first.cancelled():
            lane.leave()
        await asyncio.wait_for(second, 5)
        lane.leave()
        await lane.enter(Deadline(0), "d")

    asyncio.run(give_up())


@pytest.mark.parametrize(
    ("body", "lane"),
    [
        (b'{"query": "x"}', LaneName.LIGHT),
        (b'{"history": ["' + b"x" * 20_000 + b'"]}', LaneName.HEAVY),
        (b'{"candidates": [' + b"{}," * 60 + b"{}]}", LaneName.HEAVY),
        (b'{"max_depth": 9}', LaneName.HEAVY),
        (b'{"max_tokens": 1000000}', LaneName.HEAVY),
        (b'{"query": "' + b"x" * 100_000 + b'"}', LaneName.HEAVY),
        (b"{", LaneName.LIGHT),
        (b'{"max_depth": true, "history": 3}', LaneName.LIGHT),
    ],
)
def test_a_question_goes_into_the_lane_of_its_cost(body: bytes, lane: LaneName) -> None:
    assert choose_lane("/api/context", None, body) == lane


def test_heavy_questions_do_not_keep_light_ones_waiting(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, assemble = threading.Event(), Weft.assemble

    def held(*given: Any, **more: Any) -> Any:
        go_on.wait(30)
        return assemble(*given, **more)

    monkeypatch.setattr(Weft, "assemble", held)
    heavy = {**QUESTION, "format": "plain", "max_tokens": 60_000}
    with running(service) as address, ThreadPoolExecutor(5) as asking:
        waiting = [asking.submit(httpx.post, f"{address}/api/context", json=heavy, timeout=60) for _ in range(5)]
        light = [httpx.post(f"{address}/api/context", json={**QUESTION, "query": f"refund {n}"}) for n in range(9)]
        assert {each.status_code for each in light} == {200}
        go_on.set()
        assert {each.result().status_code for each in waiting} == {200}


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_answer_whose_time_is_short_leaves_out_what_it_can_and_says_so(store: Path) -> None:
    clock = Clock()
    patience = Deadline(10, clock)
    clock.now = 6
    with Weft.open(store) as weft, limit(patience):
        page = weft.context("How do I process a refund?", tenants=["support", "shared"])
        assert "refund" in page.text.lower()
        assert page.tokens <= (page.max_tokens or 0)
        assert any("links were not followed" in note for note in page.notes)
    with Weft.open(store) as weft:
        assert not any("Time was short" in note for note in weft.context("refund", tenants=["support"]).notes)


def test_an_answer_whose_time_is_over_is_stopped(store: Path) -> None:
    clock = Clock()
    patience = Deadline(10, clock)
    with Weft.open(store) as weft, limit(patience):
        clock.now = 11
        with pytest.raises(OutOfTime, match="10 seconds"):
            weft.context("refund", tenants=["support"])


def test_a_question_beyond_the_deadline_is_answered_with_503_and_a_time(store: Path) -> None:
    hasty = make_service(store, answer_seconds=1e-6)
    done = hasty.http.post("/api/context", json=QUESTION)
    assert done.status_code == 503
    assert done.headers["Retry-After"] == "1"
    assert hasty.http.get("/healthz").status_code == 200


def test_an_answer_stops_when_its_caller_has_left(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, stopped = threading.Event(), threading.Event()

    def endless(*given: Any, **more: Any) -> Any:
        begun.set()
        try:
            while True:
                deadline.check()
        except OutOfTime:
            stopped.set()
            raise

    monkeypatch.setattr(Weft, "knowledge", endless)
    with running(service) as address:
        connection = connect(address)
        body = b'{"query": "refund", "tenant_ids": ["support"]}'
        head = b"POST /api/context HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert begun.wait(10)
        connection.close()
        assert stopped.wait(10)


# --- each caller for itself ---


def refusal(begin: Callable[[], None]) -> Problem:
    with pytest.raises(Problem) as refused:
        begin()
    return refused.value


def test_a_key_is_kept_to_its_limits_and_told_when_to_come_back() -> None:
    clock = Clock()
    quotas = Quotas(clock=clock)
    limits = Limits(requests=2, tokens=100, concurrent=5)
    for _ in range(2):
        quotas.begin("a", limits)
        quotas.end("a")
    over = refusal(lambda: quotas.begin("a", limits))
    assert (over.status, over.retry_after) == (429, 30)
    quotas.begin("b", limits)
    clock.now = 31
    quotas.begin("a", limits)
    quotas.spend("a", 500)
    clock.now = 62
    assert "tokens" in refusal(lambda: quotas.begin("a", limits)).detail


def test_an_answer_that_is_remembered_counts_among_the_tokens_of_a_key(store: Path) -> None:
    service = make_service(store)
    body = {"query": "process a refund", "tenant_ids": ["support"], "max_tokens": 500, "format": "plain"}
    tokens = service.ask("process a refund", "support", max_tokens=500, format="plain")["stats"]["total_tokens"]
    assert tokens > 10
    key = make_key(store, "support", limits=Limits(tokens=tokens + tokens // 2))
    answers = [service.http.post("/api/context", json=body, headers=key).status_code for _ in range(3)]
    assert answers == [200, 200, 429]
    service.served.close()


def test_an_answer_without_a_limit_counts_among_the_tokens_of_a_key(service: Service) -> None:
    key = make_key(service.store, "support", limits=Limits(tokens=10))
    body = {"query": "process a refund", "tenant_ids": ["support"]}
    answers = [service.http.post("/api/context", json=body, headers=key).status_code for _ in range(2)]
    assert answers == [200, 429]


def test_heavy_questions_give_way_until_the_last_of_them_is_answered() -> None:
    before, heavy = sys.getswitchinterval(), GivingWay()
    with heavy.block():
        with heavy.block():
            assert sys.getswitchinterval() < before
        assert sys.getswitchinterval() < before
    assert sys.getswitchinterval() == before
    with pytest.raises(OutOfTime), heavy.block():
        raise OutOfTime("over")
    assert sys.getswitchinterval() == before


@pytest.mark.parametrize("path", ["/explore/growth", "/explore/why", "/explore/judge"])
def test_views_that_make_many_pages_are_heavy(path: str) -> None:
    assert choose_lane(path, Scope.READ, b"") is LaneName.HEAVY
    assert choose_lane("/explore/page", Scope.READ, b"") is LaneName.LIGHT


def test_a_key_is_kept_to_its_requests_at_once_and_to_its_bytes() -> None:
    clock = Clock()
    quotas = Quotas(processes=2, clock=clock)
    limits = Limits(concurrent=4)
    quotas.begin("a", limits)
    quotas.begin("a", limits)
    assert refusal(lambda: quotas.begin("a", limits)).status == 429
    quotas.end("a")
    quotas.begin("a", limits)
    large = Limits(bytes=1000)
    quotas.begin("c", large)
    quotas.receive("c", 5000)
    assert "bytes" in refusal(lambda: quotas.begin("c", large)).detail


def test_over_http_a_used_up_key_is_429_and_another_is_answered(service: Service) -> None:
    small = make_key(service.store, "support", limits=Limits(requests=1))
    other = make_key(service.store, "support")
    assert service.http.get("/api/profiles", headers=small).status_code == 200
    over = service.http.get("/api/profiles", headers=small)
    assert over.status_code == 429
    assert int(over.headers["Retry-After"]) >= 1
    assert service.http.get("/api/profiles", headers=other).status_code == 200


def test_sessions_of_one_caller_do_not_push_out_those_of_another(tmp_path: Path) -> None:
    history = History(tmp_path, max_sessions=2)
    assert Claims(history).claim("mine/chat", "x")
    for number in range(10):
        Claims(history).claim(f"other/{number}", "x")
    assert not Claims(history).claim("mine/chat", "x")
    assert Claims(history).claimants("x") == ("mine/chat", "other/8", "other/9")


def test_answers_of_one_caller_do_not_push_out_those_of_another() -> None:
    answers, state = AnswerCache(), KnownState((), (), ())
    answers.keep("mine", Remembered(state, b"x"), "mine")
    for number in range(3000):
        answers.keep(number, Remembered(state, b"y" * 100), "other")
    assert answers.get("mine") == Remembered(state, b"x")
    assert answers.get(2999) is not None
    assert answers.get(0) is None
