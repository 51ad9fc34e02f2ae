"""Long documents by their summaries, where somebody makes them."""

import asyncio
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from structlog.testing import capture_logs

from weft import Weft
from weft.facades import SmartContextFormatter
from weft.facades.narrative_compression import EndpointSummarizer, Summarize, SummaryError

LONG = " ".join(f"The tide of day {day} came late." for day in range(200))
DOCUMENTS = [{"title": "Log", "content": LONG}, {"title": "Note", "content": "Bring a lamp."}]


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft", embedder=None) as opened:
        yield opened


def formatted(weft: Weft, summarize: Summarize | None) -> str:
    formatter = SmartContextFormatter(weft, summarize=summarize)
    return asyncio.run(formatter.format_context("When did the tide come?", "default", documents=DOCUMENTS))


def test_a_long_document_is_told_by_its_summary_and_says_so(weft: Weft) -> None:
    asked: list[tuple[str, int]] = []

    def summarize(text: str, question: str, max_tokens: int) -> str:
        asked.append((question, max_tokens))
        return "Always late."

    page = formatted(weft, summarize)
    assert "**[chunk] Log (summary)**\nAlways late." in page
    assert "**[chunk] Note**\nBring a lamp." in page
    assert asked == [("When did the tide come?", 200)]


def test_without_a_model_or_when_it_fails_excerpts_stand_in(weft: Weft) -> None:
    def fails(text: str, question: str, max_tokens: int) -> str:
        raise SummaryError("nobody there")

    with capture_logs() as logs:
        page = formatted(weft, fails)
    assert "document_compression_failed" in [entry["event"] for entry in logs]
    assert page == formatted(weft, None)
    assert "**[chunk] Log**" in page


class _Model(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = f"{told['model']}: {len(told['messages'])} messages"
        answer = {"choices": [{"message": {"content": said}}]} if told["model"] == "small" else {"choices": []}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def test_an_endpoint_is_asked_and_an_answer_without_a_message_is_an_error() -> None:
    server = HTTPServer(("127.0.0.1", 0), _Model)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    assert EndpointSummarizer(url, "small", "key")("text", "question", 50) == "small: 2 messages"
    with pytest.raises(SummaryError, match="holds no message"):
        EndpointSummarizer(url, "odd")("text", "question", 50)
    server.shutdown()
    server.server_close()
    with pytest.raises(SummaryError, match="Check the address"):
        EndpointSummarizer(url, "small", timeout=2)("text", "question", 50)
