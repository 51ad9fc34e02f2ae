"""Long documents by their summaries, where somebody makes them."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest
from structlog.testing import capture_logs

from weft import Weft
from weft.assemblers import SmartContextFormatter
from weft.assemblers.narrative.summarizer import EndpointSummarizer, Summarize, SummaryError

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


OVER = Event()
"""Set when the endpoint that never answers may go."""
GOOD = {"choices": [{"message": {"content": "Always late."}}]}
ANSWERS: dict[str, bytes] = {
    "good": json.dumps(GOOD).encode(),
    "long": json.dumps({"choices": [{"message": {"content": "late " * 5000}}]}).encode(),
    "no-choice": b'{"choices": []}',
    "odd-choice": b'{"choices": ["Always late."]}',
    "no-message": b'{"choices": [{"text": "Always late."}]}',
    "no-text": b'{"choices": [{"message": {"content": null}}]}',
    "empty": b'{"choices": [{"message": {"content": "  "}}]}',
    "a-list": b"[1, 2]",
    "a-page": b"<html>Sign in</html>",
    "bytes": b"\xff\xfe\x00",
    "nothing": b"",
}


class _Model(BaseHTTPRequestHandler):
    """Answers by the model's name."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model = asked["model"]
        if model == "silent":
            OVER.wait(60)
            return
        self.send_response(500 if model == "broken" else 200)
        self.end_headers()
        self.wfile.write(ANSWERS.get(model, ANSWERS["good"]))
        with suppress(OSError):
            while model == "endless":
                self.wfile.write(b" " * 65536)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The address of a stand-in for a language model."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Model)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    OVER.set()
    server.shutdown()
    server.server_close()


def test_an_endpoint_is_asked_only_where_one_is_given(weft: Weft, endpoint: str) -> None:
    assert "**[chunk] Log (summary)**\nAlways late." in formatted(
        weft, EndpointSummarizer(endpoint, "good", "key")
    )
    assert "(summary)" not in formatted(weft, None)


def test_a_summary_that_is_too_long_is_cut(weft: Weft, endpoint: str) -> None:
    page = formatted(weft, EndpointSummarizer(endpoint, "long"))
    assert 150 < page.count("late") < 250


@pytest.mark.parametrize("model", [*sorted(ANSWERS.keys() - {"good", "long"}), "broken", "silent", "endless"])
def test_an_endpoint_that_gives_no_summary_changes_no_byte(weft: Weft, endpoint: str, model: str) -> None:
    with capture_logs() as logs:
        page = formatted(weft, EndpointSummarizer(endpoint, model, timeout=0.2 if model == "silent" else 30))
    assert page == formatted(weft, None)
    assert "document_compression_failed" in [entry["event"] for entry in logs]


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/v1", "http://no.such.host.invalid/v1", "nowhere", "ftp://x/v1", ""]
)
def test_an_address_where_nobody_answers_changes_no_byte(weft: Weft, url: str) -> None:
    assert formatted(weft, EndpointSummarizer(url, "good", timeout=2)) == formatted(weft, None)


@pytest.mark.parametrize("model", ["no-choice", "odd-choice", "no-text", "a-list"])
def test_an_answer_without_a_message_is_an_error_that_says_what_to_do(endpoint: str, model: str) -> None:
    with pytest.raises(SummaryError, match=r"answered .*Check the address"):
        EndpointSummarizer(endpoint, model)("text", "question", 50)
