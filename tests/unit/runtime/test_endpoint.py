"""A server that speaks the API of OpenAI: where the key goes."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

import pytest

from weft.assemblers.narrative.summarizer import EndpointSummarizer, SummaryError
from weft.runtime.endpoint import EndpointFailure, JsonEndpoint


class _Moved(BaseHTTPRequestHandler):
    """Sends every question on to another address, and notes what arrives there."""

    arrived: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(302)
        self.send_header("Location", f"http://127.0.0.1:{self.server.server_address[1]}/elsewhere")
        self.end_headers()

    def do_GET(self) -> None:
        self.arrived.append(str(self.headers["Authorization"]))

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def test_a_server_that_sends_a_question_elsewhere_does_not_get_the_key_there() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Moved) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        with pytest.raises(EndpointFailure, match="answered 302"):
            JsonEndpoint(url, "embeddings", "secret", 30).post({})
        with pytest.raises(SummaryError, match="answered 302"):
            EndpointSummarizer(url, "model", "secret")("text", "question", 50)
        server.shutdown()
    assert _Moved.arrived == []
