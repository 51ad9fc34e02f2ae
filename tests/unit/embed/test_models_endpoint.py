"""The OpenAI-compatible endpoint, asked over real HTTP."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from weft.embed import open_embedder
from weft.errors import EmbedderError

Answer = tuple[int, bytes]


def vector(text: str) -> list[float]:
    return [float(len(text)), 3.0, 4.0]


def good(body: dict[str, Any]) -> Answer:
    rows = [{"index": row, "embedding": vector(text)} for row, text in enumerate(body["input"])]
    return 200, json.dumps({"data": rows[::-1]}).encode()


class Stub:
    """A server that records what it was asked and answers as it is set to."""

    def __init__(self) -> None:
        self.answer: Callable[[dict[str, Any]], Answer] = good
        self.asked: list[tuple[str, str | None, dict[str, Any]]] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stub.asked.append((self.path, self.headers["Authorization"], body))
                status, payload = stub.answer(body)
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *_: object) -> None:
                return

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                """A client that gave up is part of the test."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def stub() -> Iterator[Stub]:
    running = Stub()
    thread = threading.Thread(target=running.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.server.shutdown()
    thread.join()
    running.server.server_close()


def test_vectors_come_back_in_order_and_with_length_one(stub: Stub) -> None:
    embedder = open_embedder(f"openai:tiny@{stub.url}", api_key="secret")
    assert embedder is not None
    assert (embedder.name, embedder.dimensions) == (f"openai:tiny@{stub.url}", 3)
    rows = embedder.embed(["a", "", "long text"])
    assert np.allclose(rows[0], np.array([1, 3, 4]) / 26**0.5)
    assert not rows[1].any()
    assert np.allclose(rows[2], np.array([9, 3, 4]) / 106**0.5)
    path, key, body = stub.asked[-1]
    assert (path, key) == ("/v1/embeddings", "Bearer secret")
    assert (body["model"], body["input"]) == ("tiny", ["a", "long text"])


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/v1/embeddings"])
def test_the_address_may_be_written_short_or_whole(stub: Stub, ending: str) -> None:
    open_embedder(f"openai:tiny@{stub.url}{ending}")
    assert stub.asked[0][:2] == ("/v1/embeddings", None)


def test_many_texts_go_out_in_batches(stub: Stub) -> None:
    embedder = open_embedder(f"openai:tiny@{stub.url}")
    assert embedder is not None
    texts = ["x" * (number % 7 + 1) for number in range(300)]
    rows = embedder.embed(texts)
    assert [len(body["input"]) for _, _, body in stub.asked[1:]] == [128, 128, 44]
    assert np.allclose(rows[299], rows[5])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((401, b'{"error": {"message": "wrong key"}}'), "answered 401: wrong key"),
        ((404, b'{"error": "no such model"}'), "answered 404: no such model"),
        ((500, b"oh\nno"), "answered 500: oh no"),
        ((302, b""), "answered 302"),
        ((200, b"<html>"), "not JSON"),
        ((200, b'{"data": 1}'), "not a list of embeddings"),
        ((200, b'{"data": [{"index": 0, "embedding": ["a"]}]}'), "not a list of embeddings"),
        ((200, b'{"data": []}'), "0 embeddings for 1 texts"),
        ((200, b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}'), "not a number"),
    ],
)
def test_a_bad_answer_is_an_error_that_names_the_endpoint(stub: Stub, answer: Answer, message: str) -> None:
    stub.answer = lambda _: answer
    with pytest.raises(EmbedderError, match=message) as raised:
        open_embedder(f"openai:tiny@{stub.url}")
    assert stub.url in str(raised.value)
    assert "'tiny'" in str(raised.value)


def test_a_change_of_dimensions_is_refused(stub: Stub) -> None:
    embedder = open_embedder(f"openai:tiny@{stub.url}")
    assert embedder is not None
    stub.answer = lambda _: (200, b'{"data": [{"index": 0, "embedding": [1, 2]}]}')
    with pytest.raises(EmbedderError, match="2 dimensions after 3"):
        embedder.embed(["text"])


def test_the_key_is_in_no_message(stub: Stub) -> None:
    stub.answer = lambda _: (403, b"{}")
    with pytest.raises(EmbedderError) as raised:
        open_embedder(f"openai:tiny@{stub.url}", api_key="secret")
    assert "secret" not in str(raised.value)


def test_a_server_that_is_not_there_is_an_error_that_names_it(stub: Stub) -> None:
    address = "http://127.0.0.1:9"
    with pytest.raises(EmbedderError, match=rf"{address}.*cannot be reached"):
        open_embedder(f"openai:tiny@{address}", timeout=2)


def test_a_server_that_does_not_answer_in_time_is_an_error(stub: Stub) -> None:
    release = threading.Event()
    stub.answer = lambda body: (release.wait(5), good(body))[1]
    with pytest.raises(EmbedderError, match=r"does not answer within 0\.05 s"):
        open_embedder(f"openai:tiny@{stub.url}", timeout=0.05)
    release.set()
