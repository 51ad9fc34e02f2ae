"""The protocol over stdio as Weft itself speaks it: versions, errors, cancelled requests, and the streams."""

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_calls import SOURCES, call, server, started, text, within
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from weft.interfaces.mcp import ServedStore, Settings
from weft.interfaces.mcp.protocol import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from weft.interfaces.mcp.stdio import HANDSHAKE_VERSIONS, STATELESS_VERSION, Connection

STATELESS = {"_meta": {"io.modelcontextprotocol/protocolVersion": STATELESS_VERSION}}


def request(number: Any, method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def notice(method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n"


def answers(lines: Iterable[bytes], served: ServedStore | None = None) -> dict[Any, Any]:
    """Return what a connection sends for these lines, by the number of the request."""
    sent = io.BytesIO()
    Connection(served or ServedStore(Settings()), sent).serve(lines)
    return {each["id"]: each for each in map(json.loads, sent.getvalue().splitlines())}


def test_the_versions_are_those_of_the_official_sdk() -> None:
    assert HANDSHAKE_VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS
    assert (STATELESS_VERSION,) == MODERN_PROTOCOL_VERSIONS


@pytest.mark.parametrize("mode", ["legacy", "auto", STATELESS_VERSION])
def test_the_official_client_is_answered_in_every_version(world: Path, mode: str) -> None:
    async def work(client: Any) -> tuple[Any, ...]:
        prompt = await client.get_prompt("meeting-prep", {"topic": "Atlas"})
        return (
            [tool.name for tool in (await client.list_tools()).tools],
            (await client.call_tool("context", {"topic": "dry boots", "now": "2026-03-01"})).content[0].text,
            (await client.list_resources()).resources[0].uri,
            (await client.list_resource_templates()).resource_templates[0].uri_template,
            prompt.messages[0].content.text,
        )

    found = within(server(), work, mode)
    assert found == within(started(folder=world.parent), work, mode)
    assert found[0][0] == "context"
    assert "boots" in found[1]


@pytest.mark.parametrize("wanted", [*HANDSHAKE_VERSIONS, "1999-01-01", None])
def test_a_handshake_agrees_on_the_clients_version_or_offers_the_newest(wanted: str | None) -> None:
    told = answers([request(1, "initialize", protocolVersion=wanted, capabilities={})])[1]["result"]
    assert told["protocolVersion"] == (wanted if wanted in HANDSHAKE_VERSIONS else "2025-11-25")
    assert told["serverInfo"]["name"] == "weft"
    assert set(told["capabilities"]) == {"tools", "resources", "prompts"}
    assert "Call `context` first" in told["instructions"]


def test_a_request_in_an_unknown_version_is_told_the_known_ones() -> None:
    unknown = {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    error = answers([request(1, "tools/list", _meta=unknown)])[1]["error"]
    assert error["code"] == -32022
    assert STATELESS_VERSION in error["data"]["supported"]
    assert error["data"]["requested"] == "2031-01-01"


def test_results_of_the_stateless_version_may_not_be_kept() -> None:
    told = answers([request(1, "server/discover", **STATELESS), request(2, "tools/list", **STATELESS)])
    for number in (1, 2):
        result = told[number]["result"]
        assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 0, "private")
        assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "weft"


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        (b"Hello!\n", None, PARSE_ERROR),
        (b"[]\n", None, INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 7}\n', None, INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}\n', None, INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": [1]}\n', 7, INVALID_PARAMS),
        (request(7, "tools/call", name=["context"]), 7, INVALID_PARAMS),
        (request(7, "tools/call", name="context", arguments="topic"), 7, INVALID_PARAMS),
        (request(7, "resources/read"), 7, INVALID_PARAMS),
        (request(7, "resources/list", cursor="far"), 7, INVALID_PARAMS),
        (request(7, "sampling/createMessage"), 7, METHOD_NOT_FOUND),
    ],
)
def test_a_line_that_cannot_be_answered_gets_an_error_and_the_next_is_answered(
    line: bytes, number: int | None, code: int
) -> None:
    told = answers([line, b"\n", request("after", "ping")])
    assert told[number]["error"]["code"] == code
    assert told[number]["error"]["message"]
    assert told["after"]["result"] == {}


def test_answers_and_notices_of_the_client_get_no_answer() -> None:
    lines = [
        notice("notifications/initialized"),
        notice("notifications/cancelled", requestId=5),
        b'{"jsonrpc": "2.0", "id": 3, "result": {}}\n',
    ]
    assert answers(lines) == {}


class Waiting(ServedStore):
    """A store that opens only when a test lets it."""

    def __init__(self) -> None:
        super().__init__(Settings())
        self.gate = threading.Event()

    def weft(self, *, create: bool = False) -> Any:
        assert self.gate.wait(30)
        return super().weft(create=create)


def test_a_cancelled_request_gets_no_answer_and_the_others_do(world: Path) -> None:
    served = Waiting()

    def lines() -> Iterator[bytes]:
        yield request(1, "tools/call", name="search", arguments={"query": "boots"})
        yield request(2, "tools/call", name="search", arguments={"query": "boots"})
        yield notice("notifications/cancelled", requestId=1)
        # A ping is answered although both threads still wait.
        yield request(3, "ping")
        served.gate.set()

    told = answers(lines(), served)
    assert set(told) == {2, 3}
    assert told[2]["result"]["isError"] is False


def test_a_failure_of_ours_is_an_error_with_its_kind_and_ends_nothing() -> None:
    class Broken(ServedStore):
        def holds_tana(self) -> bool:
            raise ZeroDivisionError("nought")

    told = answers([request(1, "tools/list"), request(2, "ping")], Broken(Settings()))
    assert told[1]["error"] == {"code": -32603, "message": "Unexpected ZeroDivisionError: nought."}
    assert told[2]["result"] == {}


PRINTS = """
import os, subprocess, sys
from weft.interfaces.mcp import protocol, Settings
from weft.interfaces.mcp.stdio import serve_stdio
def noisy(served, params):
    print("printed"); os.write(1, b"written\\n"); subprocess.run(["cat"], check=True)
    subprocess.run(["echo", "echoed"], check=True)
    return {"tools": []}
protocol.REQUESTS["tools/list"] = noisy
serve_stdio(Settings())
print("after")
"""


def test_what_a_tool_prints_or_a_program_it_starts_reads_and_prints_never_meets_the_protocol(
    tmp_path: Path,
) -> None:
    around = {**os.environ, "PYTHONPATH": str(SOURCES), "PYTHONUNBUFFERED": "1"}
    lines = request(1, "tools/list") + request(2, "ping")
    done = subprocess.run(
        [sys.executable, "-c", PRINTS], input=lines, capture_output=True, env=around, cwd=tmp_path, check=True
    )
    *sent, after = done.stdout.splitlines()
    assert {json.loads(line)["id"] for line in sent} == {1, 2}
    assert after == b"after"
    assert {b"printed", b"written", b"echoed"} <= set(done.stderr.split())


def test_a_client_that_goes_away_without_reading_ends_the_server(world: Path) -> None:
    around = {**os.environ, "PYTHONPATH": str(SOURCES)}
    words = [sys.executable, "-m", "weft", "mcp"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, cwd=world.parent, env=around, **pipes) as serving:
        assert serving.stdin is not None and serving.stdout is not None and serving.stderr is not None
        serving.stdout.close()
        serving.stdin.write(request(1, "tools/list") + request(2, "tools/call", name="context"))
        serving.stdin.close()
        assert serving.wait(60) == 0
        assert b"Traceback" not in serving.stderr.read()


def test_the_server_over_stdio_needs_no_package_of_an_extra(world: Path) -> None:
    # A module that is None cannot be imported: the extras look as if they were not installed.
    hidden = ("mcp", "mcp_types", "pydantic", "anyio", "httpx", "fastapi", "starlette", "uvicorn")
    program = f"import sys; sys.modules.update(dict.fromkeys({hidden!r})); from weft.__main__ import main; main()"
    around = {**os.environ, "PYTHONPATH": str(SOURCES)}
    done = subprocess.run(
        [sys.executable, "-c", program, "mcp"],
        input=request(1, "tools/call", name="context", arguments={"topic": "Why were the boots dry?"}),
        capture_output=True,
        env=around,
        cwd=world.parent,
        check=True,
    )
    assert json.loads(done.stdout)["result"]["content"][0]["text"] == text(
        call(server(), "context", topic="Why were the boots dry?")
    )
