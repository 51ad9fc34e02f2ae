"""A hook asks a server of the same store that runs, and answers by itself as soon as that does not."""

import json
import os
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hook_process import COMMAND, PATIENT, around

from weft import Node, Weft
from weft.interfaces.hooks.local_socket import socket_prefix
from weft.interfaces.hooks.service import HookService, answer_hooks

FACT = "Refunds above 500 euros are approved by Odile, who looks at the order's history first."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder with a store, and a folder for sockets of its own whose path is short enough."""
    runtime = Path(tempfile.mkdtemp(prefix="weft"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    work = tmp_path / "work"
    with Weft.open(work / ".weft") as weft:
        weft.put([Node("docs:refunds", "note", title="Refunds", text=FACT)])
    yield work
    shutil.rmtree(runtime)


def sockets(folder: Path) -> list[Path]:
    runtime = Path(os.environ["XDG_RUNTIME_DIR"]) / "weft"
    return sorted(runtime.glob(f"{socket_prefix(folder / '.weft')}*")) if runtime.is_dir() else []


def ask(folder: Path, session: str = "s") -> tuple[str, set[str]]:
    """Return what a hook answers to a prompt, and the modules that it loaded for that."""
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": "Who approves refunds?"}
    done = subprocess.run(
        [COMMAND[0], "-X", "importtime", *COMMAND[1:], *PATIENT],
        input=json.dumps({**payload, "cwd": str(folder)}).encode(),
        capture_output=True,
        env={**around(folder), "XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"]},
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    return done.stdout.decode(), loaded


@pytest.fixture
def served(folder: Path) -> Iterator[Weft]:
    with Weft.open(folder / ".weft") as weft, answer_hooks(lambda: weft, lambda: folder / ".weft"):
        wait_for(lambda: bool(sockets(folder)))
        yield weft


def wait_for(is_so: Callable[[], bool]) -> None:
    event = threading.Event()
    for _ in range(1000):
        if is_so():
            return
        event.wait(0.01)
    raise AssertionError("It never came.")


def test_a_hook_asks_the_server_and_loads_none_of_the_engine(folder: Path, served: Weft) -> None:
    answer, loaded = ask(folder)
    assert FACT in answer
    assert not {"numpy", "weft.api"} & loaded
    # The session is the store's, whoever answers.
    assert ask(folder)[0] == ""
    assert FACT in ask(folder, "another")[0]


def test_the_answer_is_the_same_byte_for_byte(folder: Path, served: Weft) -> None:
    by_server = ask(folder, "one")[0]
    for path in sockets(folder):
        path.unlink()
    by_itself, loaded = ask(folder, "two")
    assert (by_server, "numpy" in loaded) == (by_itself, True)


def test_only_the_owner_may_use_the_socket_and_it_goes_with_the_server(folder: Path) -> None:
    with Weft.open(folder / ".weft") as weft, answer_hooks(lambda: weft, lambda: folder / ".weft"):
        wait_for(lambda: bool(sockets(folder)))
        (path,) = sockets(folder)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not sockets(folder)


def test_a_folder_that_others_may_enter_is_not_trusted(folder: Path, served: Weft) -> None:
    sockets(folder)[0].parent.chmod(0o755)
    answer, loaded = ask(folder)
    assert FACT in answer
    assert "numpy" in loaded


def test_a_socket_that_a_killed_server_left_is_removed_and_the_hook_answers(folder: Path) -> None:
    left = Path(os.environ["XDG_RUNTIME_DIR"]) / "weft" / f"{socket_prefix(folder / '.weft')}1.sock"
    left.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(left))
    assert FACT in ask(folder)[0]
    assert not left.exists()


def test_a_server_that_hangs_is_passed_over(folder: Path) -> None:
    left = Path(os.environ["XDG_RUNTIME_DIR"]) / "weft" / f"{socket_prefix(folder / '.weft')}1.sock"
    left.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as hanging:
        hanging.bind(str(left))
        hanging.listen()
        assert FACT in ask(folder)[0]


@pytest.mark.parametrize("sent", [b"", b"{", b'{"arguments": ["--x"], "payload": "{}"}', b'{"arguments": []}'])
def test_a_request_that_makes_no_sense_ends_without_an_answer(folder: Path, served: Weft, sent: bytes) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(sockets(folder)[0]))
        assert connection.recv(1) == b"+"
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(10) == b""
    assert FACT in ask(folder)[0]


def test_a_server_whose_store_fails_says_so_and_leaves_the_answer_to_the_hook(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> Any:
        raise OSError("gone")

    service = HookService(fail, lambda: folder / ".weft")
    thread = threading.Thread(target=service.run, daemon=True)
    thread.start()
    wait_for(lambda: bool(sockets(folder)))
    answer, loaded = ask(folder)
    service.close()
    thread.join(5)
    assert FACT in answer
    assert "numpy" in loaded
    assert not thread.is_alive()
    assert "A hook could not be answered from the server" in caplog.text and "OSError: gone" in caplog.text


def test_the_server_for_agents_answers_hooks(folder: Path) -> None:
    with subprocess.Popen(
        [COMMAND[0], "-m", "weft", "mcp"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**around(folder), "XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"]},
    ) as server:
        wait_for(lambda: bool(sockets(folder)))
        answer, loaded = ask(folder)
        assert server.stdin is not None
        server.stdin.close()
        server.wait(30)
    assert FACT in answer
    assert "numpy" not in loaded
    assert not sockets(folder)


def test_the_server_over_http_answers_hooks(folder: Path) -> None:
    with subprocess.Popen(
        [COMMAND[0], "-m", "weft", "serve", "--port", "0", "--workers", "1"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**around(folder), "XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"]},
    ) as server:
        wait_for(lambda: bool(sockets(folder)))
        answer, loaded = ask(folder)
        server.terminate()
        server.wait(30)
    assert FACT in answer
    assert "numpy" not in loaded
    assert not sockets(folder)
