"""`weft mcp` as its own process, over stdio and HTTP, alone and eight at a time."""

import json
import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from command_line import Cli
from mcp_calls import SOURCES, call, started, text, within

NOW = "2026-03-01T12:00:00Z"
INSPECTOR = "@modelcontextprotocol/inspector@0.15.0"
"""Runs on Node 20; later ones ask for Node 22."""


def test_over_stdio_context_is_what_the_command_line_prints(world: Path, cli: Cli) -> None:
    result = call(started(folder=world.parent), "context", topic="Why were the boots dry?", now=NOW)
    assert text(result) + "\n" == cli("context", "Why were the boots dry?", "--now", NOW).out


def test_nothing_is_opened_or_made_before_the_first_call(tmp_path: Path) -> None:
    folder = tmp_path / "bare"
    folder.mkdir()

    async def work(client: Any) -> int:
        return len((await client.list_tools()).tools)

    assert within(started("--write", folder=folder), work) == 12
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "statement",
    ["import weft.interfaces.mcp.stdio", "from weft.interfaces.cli import make_app; make_app(False, 'mcp')"],
)
def test_the_handshake_waits_for_nothing_of_ours(statement: str) -> None:
    heavy = (
        "numpy",
        "tantivy",
        "tiktoken",
        "mcp",
        "pydantic",
        "asyncio",
        "weft.api",
        "weft.model",
        "weft.profiles.types",
    )
    code = f"import sys; {statement}; print(*sorted(set({heavy!r}) & set(sys.modules)))"
    around = {**os.environ, "PYTHONPATH": str(SOURCES)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=around)
    assert done.stdout.strip() == ""


@pytest.fixture
def address(world: Path) -> Iterator[str]:
    """Where `weft mcp --http` serves the example worlds."""
    words = [sys.executable, "-m", "weft", "mcp", "--http", "--port", "0"]
    around = {**os.environ, "PYTHONPATH": str(SOURCES)}
    with subprocess.Popen(words, cwd=world.parent, env=around, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stderr is not None
        told = re.search(r"http://\S+/mcp", serving.stderr.readline())
        assert told
        yield told[0]
        serving.terminate()


def test_over_http_context_is_what_the_command_line_prints(address: str, cli: Cli) -> None:
    result = call(address, "context", topic="Why were the boots dry?", now=NOW)
    assert text(result) + "\n" == cli("context", "Why were the boots dry?", "--now", NOW).out
    assert call(address, "context", topic="x", depth="deep").is_error


def test_http_is_served_to_this_machine_only(cli: Cli) -> None:
    done = cli("mcp", "--http", "--host", "0.0.0.0")
    assert done.code == 2
    assert "other machines" in done.err


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via"])
def test_http_is_not_served_through_a_proxy(address: str, header: str) -> None:
    # Whoever asks a proxy on this machine may be anybody, and a proxy may ask by this machine's own name.
    headers = {"Accept": "application/json, text/event-stream", header: "203.0.113.9"}
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    assert httpx.post(address, json=listing, headers=headers).status_code == 403


class Raw:
    """A server driven by bare JSON-RPC lines, so that eight of them need no eight clients."""

    def __init__(self, folder: Path) -> None:
        words = [sys.executable, "-m", "weft", "mcp"]
        around = {**os.environ, "PYTHONPATH": str(SOURCES)}
        self.process = subprocess.Popen(
            words, cwd=folder, env=around, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def send(self, method: str, number: int | None, **params: Any) -> None:
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        line = message if number is None else {**message, "id": number}
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(30)


def test_eight_servers_answer_while_an_index_runs(world: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(400):
        (notes / f"note {number}.md").write_text(f"# Note {number}\n\nThe boots of sailor {number} were dry.\n")
    servers = [Raw(world.parent) for _ in range(8)]
    for each in servers:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        each.send("initialize", 0, **hello)
    assert {each.receive()["result"]["serverInfo"]["name"] for each in servers} == {"weft"}
    around = {**os.environ, "PYTHONPATH": str(SOURCES)}
    words = [sys.executable, "-m", "weft", "index", str(notes), "--embedder", "static"]
    indexing = subprocess.Popen(words, cwd=world.parent, env=around, stdout=subprocess.DEVNULL)
    for each in servers:
        each.send("notifications/initialized", None)
    for turn in range(1, 4):
        for each in servers:
            arguments = {"topic": "dry boots", "session": f"turn {turn}", "max_tokens": 500 + turn}
            each.send("tools/call", turn, name="context", arguments=arguments)
        for each in servers:
            result = each.receive()["result"]
            assert not result.get("isError"), result
            notes = result["_meta"]["weft"]["notes"]
            assert not any("not kept" in note or "unknown" in note for note in notes), notes
    assert indexing.wait(120) == 0
    for each in servers:
        each.send("tools/call", 9, name="search", arguments={"query": "sailor 399", "limit": 1})
        assert "note 399.md" in each.receive()["result"]["content"][0]["text"]
        each.close()


def test_the_inspectors_command_line_lists_and_calls_the_tools(world: Path, cli: Cli, tmp_path: Path) -> None:
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("npx is not installed: the MCP Inspector comes from npm")
    # The fixture hides the user's home, where npm keeps what it has downloaded before.
    around = {**os.environ, "HOME": pwd.getpwuid(os.getuid()).pw_dir}
    server = [sys.executable, "-m", "weft", "mcp", "--store", str(world)]

    def inspect(*words: str) -> dict[str, Any]:
        # The inspector hands its server only the variables that it is told to.
        command = [npx, "-y", INSPECTOR, "-e", f"PYTHONPATH={SOURCES}", "--cli", *server, *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=around, capture_output=True, text=True, check=False, timeout=240
        )
        if done.returncode and "npm error" in done.stderr.lower():
            pytest.skip(f"npm could not provide {INSPECTOR}: {done.stderr.strip().splitlines()[-1]}")
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    tools = inspect("--method", "tools/list")["tools"]
    assert [tool["name"] for tool in tools] == ["context", "search", "fetch", "explain", "lenses", "premortem"]
    given = ["--tool-arg", "topic=Why were the boots dry?", "--tool-arg", f"now={NOW}"]
    result = inspect("--method", "tools/call", "--tool-name", "context", *given)
    assert result["content"][0]["text"] + "\n" == cli("context", "Why were the boots dry?", "--now", NOW).out
