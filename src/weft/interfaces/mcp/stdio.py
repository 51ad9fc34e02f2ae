"""Serve one client of the Model Context Protocol over stdin and stdout: a JSON message on each line."""

import logging
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson

from weft.interfaces.mcp import ServedStore, Settings, answer_hooks_of
from weft.interfaces.mcp.protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    SERVER_INFO,
    ProtocolError,
    answer_request,
    describe_server,
)

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions of the protocol that begin with `initialize`, oldest first."""
STATELESS_VERSION: Final = "2026-07-28"
"""The version without a handshake: every request says which version it is in."""
_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_SERVER_KEY: Final = "io.modelcontextprotocol/serverInfo"
"""The keys of `_meta` with which requests and results of the stateless version say who is speaking."""
_UNSUPPORTED_VERSION: Final = -32022
"""The code of the error that names the versions a server speaks."""
_QUICK: Final = frozenset({"initialize", "ping", "server/discover"})
"""Requests that are answered at once and in order: a handshake must not wait behind a page."""
_CACHEABLE: Final = frozenset(
    [
        "server/discover",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
    ]
)
"""Requests whose results say, in the stateless version, for how long a client may keep them."""
_THREADS: Final = 8
"""Requests of one client that are answered at once; the others wait, because a page already uses the processor."""


def serve_stdio(settings: Settings) -> None:
    """Serve one client over stdin and stdout until it goes away."""
    served = ServedStore(settings)
    try:
        with _own_streams() as (incoming, outgoing), answer_hooks_of(served):
            Connection(served, outgoing).serve(incoming)
    finally:
        served.close()


class Connection:
    """A client's connection: it takes messages, and sends each answer as soon as it is ready."""

    def __init__(self, served: ServedStore, outgoing: BinaryIO) -> None:
        self._served = served
        self._outgoing = outgoing
        self._sending = threading.Lock()
        self._unanswered: set[str | int] = set()
        self._cancelled: set[str | int] = set()

    def serve(self, lines: Iterable[bytes]) -> None:
        """Answer every line until the client closes its end; requests that are under way are still answered."""
        with ThreadPoolExecutor(_THREADS, "mcp") as threads:
            for line in lines:
                if line.strip():
                    self._take(line, threads)

    def _take(self, line: bytes, threads: ThreadPoolExecutor) -> None:
        try:
            message = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            self._fail(None, ProtocolError(PARSE_ERROR, f"This line is not JSON: {error}"))
            return
        if isinstance(message, dict) and message.keys() & {"result", "error"}:
            # An answer; this server never asks, so that it can only be a mistake of the client.
            return
        number, problem = _check(message)
        if problem:
            self._fail(number, problem)
            return
        method, params = message["method"], message.get("params") or {}
        if number is None:
            self._notice(method, params)
        elif method in _QUICK:
            self._answer(number, method, params)
        else:
            self._unanswered.add(number)
            threads.submit(self._answer, number, method, params)

    def _notice(self, method: str, params: dict[str, Any]) -> None:
        """Take a message that wants no answer; only one that cancels a request changes anything."""
        request = params.get("requestId")
        if method == "notifications/cancelled" and isinstance(request, str | int) and request in self._unanswered:
            self._cancelled.add(request)

    def _answer(self, number: str | int, method: str, params: dict[str, Any]) -> None:
        try:
            # One that was cancelled while it waited for a thread need not be worked on.
            if number not in self._cancelled:
                result = _result(self._served, method, params)
                if number not in self._cancelled:
                    self._send({"jsonrpc": "2.0", "id": number, "result": result})
        except ProtocolError as error:
            self._fail(number, error)
        except Exception as error:
            logging.getLogger(__name__).exception("The request %s failed", method)
            self._fail(number, ProtocolError(INTERNAL_ERROR, f"Unexpected {type(error).__name__}: {error}."))
        finally:
            self._unanswered.discard(number)
            self._cancelled.discard(number)

    def _fail(self, number: str | int | None, error: ProtocolError) -> None:
        problem = {"code": error.code, "message": str(error)}
        self._send(
            {"jsonrpc": "2.0", "id": number, "error": {**problem, **({"data": error.data} if error.data else {})}}
        )

    def _send(self, message: dict[str, Any]) -> None:
        line = orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE)
        # A client that is gone needs no answer; its end of stdin then ends the loop.
        with self._sending, suppress(BrokenPipeError):
            self._outgoing.write(line)
            self._outgoing.flush()


def _check(message: Any) -> tuple[str | int | None, ProtocolError | None]:
    """Return the number of a request, None for a message that wants no answer, and what is wrong with it."""
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        return None, ProtocolError(INVALID_REQUEST, "A message is one JSON object with a method.")
    number = message.get("id")
    if "id" in message and (isinstance(number, bool) or not isinstance(number, str | int)):
        return None, ProtocolError(INVALID_REQUEST, "The id of a request is text or a whole number.")
    if not isinstance(message.get("params") or {}, dict):
        return number, ProtocolError(INVALID_PARAMS, f"The parameters of {message['method']!r:.80} are an object.")
    return number, None


def _result(served: ServedStore, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a request in the version of the protocol that the client speaks."""
    if method == "initialize":
        wanted = params.get("protocolVersion")
        # The newest one, where the client's is unknown: the client then decides whether it can speak it.
        version = wanted if wanted in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        return {"protocolVersion": version, "serverInfo": SERVER_INFO, **describe_server()}
    if method == "ping":
        return {}
    facts = params.get("_meta")
    version = facts.get(_VERSION_KEY) if isinstance(facts, dict) else None
    if version not in (None, STATELESS_VERSION):
        spoken = {"supported": [STATELESS_VERSION, *HANDSHAKE_VERSIONS], "requested": version}
        raise ProtocolError(_UNSUPPORTED_VERSION, f"Version {version!r:.80} is not spoken here.", spoken)
    if method == "server/discover":
        return _stateless(method, {"supportedVersions": [STATELESS_VERSION], **describe_server()})
    result = answer_request(served, method, params)
    return result if version is None else _stateless(method, result)


def _stateless(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return a result with what the stateless version adds; nothing may be kept, because a store changes."""
    kept = {"ttlMs": 0, "cacheScope": "private"} if method in _CACHEABLE else {}
    return {
        **result,
        **kept,
        "resultType": "complete",
        "_meta": {**result.get("_meta", {}), _SERVER_KEY: SERVER_INFO},
    }


@contextmanager
def _own_streams() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Lend stdin and stdout to the protocol alone.

    Whatever else prints, a library or a program that it starts, would break a message: its stdout is stderr
    meanwhile, and its stdin is empty.
    """
    kept = [(stream.fileno(), os.dup(stream.fileno())) for stream in (sys.stdin, sys.stdout)]
    (stdin, own_in), (stdout, own_out) = kept
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), stdin)
    os.dup2(sys.stderr.fileno(), stdout)
    incoming, outgoing = os.fdopen(own_in, "rb", closefd=False), os.fdopen(own_out, "wb", closefd=False)
    try:
        yield incoming, outgoing
    finally:
        # What a client that is gone did not take is still in the buffer.
        with suppress(BrokenPipeError):
            outgoing.close()
        for number, duplicate in kept:
            os.dup2(duplicate, number)
            os.close(duplicate)
