"""A network that is cut between a program and its PostgreSQL server: network namespaces, and the cable pulled."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import postgres_server
from postgres_server import running_server
from weft import Node, Weft

_SPACE, _CABLE, _FAR_END = f"weft{os.getpid()}", f"wv{os.getpid() % 100_000}a", f"wv{os.getpid() % 100_000}b"
_HERE, _THERE = "10.77.61.1", "10.77.61.2"
_PROGRAM = """
import sys
from weft import Node, Weft
from weft.errors import StoreError

with Weft.open(sys.argv[1], folder=sys.argv[2], embedder=None) as weft:
    print("open", flush=True)
    for line in sys.stdin:
        what, key = line.split()
        try:
            if what == "put":
                weft.put(Node(f"s:{key}", "note", title=key, text="a red fox"))
            elif what == "hold":
                with weft.store.writing():
                    print("held", flush=True)
                    sys.stdin.readline()
            else:
                assert f"s:{key}" in {hit.node.key for hit in weft.search("red fox", floor=0).candidates}
            print("done", flush=True)
        except StoreError as error:
            print(type(error).__name__, flush=True)
"""
"""The program on the far side: it does what it is told, and reports the result."""


def pull_cable() -> None:
    """Let nothing pass any more, in either direction; neither side is told."""
    subprocess.run(["ip", "link", "set", _CABLE, "down"], check=True)


def plug_in() -> None:
    """Let everything pass again."""
    subprocess.run(["ip", "link", "set", _CABLE, "up"], check=True)


class FarSide:
    """A program in a network namespace of its own."""

    def __init__(self, url: str, folder: Path) -> None:
        words = ["ip", "netns", "exec", _SPACE, sys.executable, "-c", _PROGRAM, url, str(folder)]
        self._running = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.hear() == "open"

    def hear(self) -> str:
        assert self._running.stdout is not None
        return self._running.stdout.readline().strip()

    def tell(self, line: str) -> None:
        assert self._running.stdin is not None
        self._running.stdin.write(f"{line}\n")
        self._running.stdin.flush()

    def ask(self, line: str) -> str:
        self.tell(line)
        return self.hear()

    def end(self) -> None:
        self._running.kill()
        self._running.communicate()


@pytest.fixture(scope="module")
def network(request: pytest.FixtureRequest) -> Iterator[None]:
    """A network namespace, with a cable between it and this one."""
    if not request.config.getoption("--backends"):
        pytest.skip("needs a PostgreSQL server: run with --backends")
    if not shutil.which("ip") or subprocess.run(["ip", "netns", "add", _SPACE], check=False).returncode:
        pytest.skip("needs ip and the right to make network namespaces")
    try:
        for words in (
            f"ip link add {_CABLE} type veth peer name {_FAR_END}",
            f"ip link set {_FAR_END} netns {_SPACE}",
            f"ip addr add {_HERE}/30 dev {_CABLE}",
            f"ip link set {_CABLE} up",
            f"ip netns exec {_SPACE} ip addr add {_THERE}/30 dev {_FAR_END}",
            f"ip netns exec {_SPACE} ip link set {_FAR_END} up",
        ):
            subprocess.run(words.split(), check=True)
        yield
    finally:
        # The cable goes with the namespace that holds one end of it.
        subprocess.run(["ip", "netns", "delete", _SPACE], check=True)


@pytest.fixture(scope="module")
def server(network: None) -> Iterator[tuple[str, str]]:
    """The URL of a server for this side, by its socket, and for the far side, by the network."""
    pytest.importorskip("pgserver")
    with tempfile.TemporaryDirectory(prefix="weft-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        with running_server(folder / "data") as url, socket.socket() as free:
            free.bind((_HERE, 0))
            port = free.getsockname()[1]
            free.close()
            with psycopg.connect(url, autocommit=True) as link:
                link.execute(f"ALTER SYSTEM SET port = {port}")
            with (folder / "data" / "pg_hba.conf").open("a", encoding="utf-8") as rights:
                rights.write(f"host all all {_HERE}/30 trust\n")
            postgres_server.stop(folder / "data")
            postgres_server.start(folder / "data", address=_HERE)
            yield f"{url}&port={port}", f"postgresql://postgres@{_HERE}:{port}/postgres"


@pytest.fixture
def far(server: tuple[str, str], tmp_path: Path) -> Iterator[FarSide]:
    side = FarSide(server[1], tmp_path / "far")
    yield side
    side.end()
    plug_in()


def stored(url: str, folder: Path) -> set[str]:
    with Weft.open(url, folder=folder, embedder=None) as weft:
        assert weft.verify() == ()
        return {node.key.removeprefix("s:") for node in weft.nodes(limit=1000)}


def test_a_question_and_a_write_that_are_cut_off_are_refused_and_go_through_when_the_network_is_back(
    far: FarSide, server: tuple[str, str], tmp_path: Path
) -> None:
    assert far.ask("put before") == "done"
    assert far.ask("find before") == "done"
    pull_cable()
    assert far.ask("find before") in ("StoreUnreachable", "StoreTimedOut")
    assert far.ask("put during") in ("StoreUnreachable", "StoreTimedOut", "StoreBusy")
    assert stored(server[0], tmp_path / "here") == {"before"}
    plug_in()
    assert far.ask("put after") == "done"
    assert far.ask("find before") == "done"
    assert stored(server[0], tmp_path / "here") >= {"before", "after"}


def test_a_writer_that_was_cut_off_does_not_keep_the_others_out(
    far: FarSide, server: tuple[str, str], tmp_path: Path
) -> None:
    assert far.ask("hold lock") == "held"
    pull_cable()
    with Weft.open(server[0], folder=tmp_path / "here", embedder=None) as weft:
        # Waits until the server has noticed that nobody is there any more.
        weft.put(Node("s:other", "note", title="other", text="a red fox"))
    assert "other" in stored(server[0], tmp_path / "here")
