"""Ask a server of the same store that runs on this machine, over a socket that only its owner may use.

A server has the store open and the libraries loaded, which is most of what a hook takes. Every server has a
socket of its own in a folder of the user's, named after the store and the process. One that does not answer at
once is passed over, and the hook answers by itself.

The hook sends its options and the event as JSON once the server has said that it listens (`+`); the answer comes
with its length in front, so that one that was cut is not taken for a whole.
"""

import json
import os
import socket
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from weft import config

ASKED_EVENTS: Final = frozenset({"SessionStart", "UserPromptSubmit", "PreCompact"})
"""The events that a server answers. Outcomes of tests change the store, which a server may only read."""
LISTENING: Final = b"+"
SUFFIX: Final = ".sock"
_GREETING_SECONDS: Final = 0.1
"""How long a server may take to say that it listens: a dead one must not cost the time that it was to save."""
_PIECE_BYTES: Final = 65_536
_MAX_ANSWER_BYTES: Final = 1_000_000
"""Far more than an answer has; a server that sends more is none of ours."""


def ask_server(store: str | None, arguments: Sequence[str], payload: bytes) -> bytes | None:
    """Return the answer of a running server of the store to an event; None if there is none that answers."""
    if not hasattr(socket, "AF_UNIX"):
        return None
    folder = config.find_store_near(store)
    if folder is None:
        return None
    request = json.dumps({"arguments": list(arguments), "payload": payload.decode("utf-8")}).encode()
    for path in _find_sockets(folder):
        # Whatever is wrong with a server, the hook can do without it.
        with suppress(OSError, ValueError):
            answer = _ask(path, request)
            if answer is not None:
                return answer
    return None


def socket_prefix(store: Path) -> str:
    """Return how the names of a store's sockets begin: short, because a path of a socket has some 100 bytes."""
    from hashlib import blake2b

    return blake2b(os.path.realpath(store).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest() + "-"


def is_private(folder: Path) -> bool:
    """Return whether a folder is there, is this user's, and nobody else may enter it."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _find_sockets(store: Path) -> list[Path]:
    """Return the sockets of a store's servers, the newest first."""
    folder = config.runtime_folder()
    if not is_private(folder):
        return []
    prefix = socket_prefix(store)
    found = [entry for entry in os.scandir(folder) if entry.name.startswith(prefix)]
    newest = sorted(found, key=lambda entry: (-entry.stat(follow_symlinks=False).st_mtime_ns, entry.name))
    return [Path(entry.path) for entry in newest]


def _ask(path: Path, request: bytes) -> bytes | None:
    """Return the answer of one server; None if it does not listen or has none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_GREETING_SECONDS)
        try:
            connection.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            # Its process was killed: nobody will ever listen there again.
            path.unlink(missing_ok=True)
            return None
        if connection.recv(1) != LISTENING:
            return None
        # From here on it works on the answer, and the deadline of the hook holds.
        connection.settimeout(None)
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while piece := connection.recv(_PIECE_BYTES):
            received += piece
            if len(received) > _MAX_ANSWER_BYTES:
                return None
    length, _, answer = received.partition(b"\n")
    return answer if length.isdigit() and int(length) == len(answer) else None
