"""Compress long documents with a language model, for callers who have one; without it, pages print excerpts."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from time import monotonic
from typing import Final
from urllib.error import URLError
from urllib.request import Request, urlopen

from msgspec.structs import replace

from weft.errors import WeftError
from weft.model import Candidate
from weft.tokens import DEFAULT_ENCODING, counter_for

Summarize = Callable[[str, str, int], str]
"""A function of a text, the question it is read for and the most tokens, which returns a summary."""

LONG_DOCUMENT_TOKENS: Final = 1000
"""Longer documents are summarised; shorter ones fit whole. The design fixes both numbers."""
SUMMARY_TOKENS: Final = 200
"""The length of a summary."""
_MAX_ANSWER_BYTES: Final = 1 << 20
"""A summary of 200 tokens needs a few kilobytes; a longer answer is not one, and must not fill the memory."""


class SummaryError(WeftError):
    """An endpoint that gave no summary."""


@dataclass(frozen=True, slots=True)
class EndpointSummarizer:
    """A summarizer that asks an OpenAI-compatible chat endpoint; the key is sent there and nowhere else.

    `timeout` is in seconds, for the whole answer.
    """

    url: str
    model: str
    api_key: str | None = None
    timeout: float = 30.0

    def __call__(self, text: str, question: str, max_tokens: int) -> str:
        """Return the model's summary of the text, or raise SummaryError."""
        task = f"Summarise the text in at most {max_tokens} tokens. Keep what helps to answer: {question}"
        messages = [{"role": "system", "content": task}, {"role": "user", "content": text}]
        # Temperature 0, so that the same document gets the same summary as far as the model allows.
        body = {"model": self.model, "messages": messages, "max_tokens": max_tokens, "temperature": 0}
        headers = {"Content-Type": "application/json"}
        if self.api_key:
            # Local servers need no key, and some refuse a header that is empty.
            headers["Authorization"] = f"Bearer {self.api_key}"
        address = f"{self.url.rstrip('/')}/chat/completions"
        try:
            with urlopen(Request(address, json.dumps(body).encode(), headers), timeout=self.timeout) as answer:
                return _read_message(json.loads(_read_body(answer, monotonic() + self.timeout)))
        except (URLError, TimeoutError, ConnectionError, HTTPException, ValueError) as error:
            raise SummaryError(
                f"The endpoint {address} (model {self.model!r}) gave no summary ({error}). Check the address, the "
                "model's name and the key, or leave the summarizer out: excerpts are made without it."
            ) from error


def compress_document(document: Candidate, question: str, summarize: Summarize) -> Candidate:
    """Return the document, with a long text replaced by its summary; the title says so.

    Models do not count reliably, so a summary that is too long is cut.
    """
    count, _ = counter_for(DEFAULT_ENCODING)
    node = document.node
    if count.count(node.text) <= LONG_DOCUMENT_TOKENS:
        return document
    summary = count.cut(summarize(node.text, question, SUMMARY_TOKENS).strip(), SUMMARY_TOKENS)
    if not summary:
        raise SummaryError(f"The summary of {node.title!r} is empty. The document is shown by an excerpt instead.")
    return replace(document, node=replace(node, text=summary, title=f"{node.title} (summary)"))


def _read_body(answer: HTTPResponse, deadline: float) -> bytes:
    """Return the whole answer; refuse one that is too long, or has not ended at the deadline.

    The timeout of a socket only limits each wait: a server that sends a byte now and then would never run into it.
    """
    parts, size = [], 0
    # `read1` returns after each packet; `read` would wait for the whole body before the deadline is looked at.
    while part := answer.read1(_MAX_ANSWER_BYTES):
        parts.append(part)
        size += len(part)
        if size > _MAX_ANSWER_BYTES:
            raise ValueError(f"the answer has more than {_MAX_ANSWER_BYTES:,} bytes")
        if monotonic() > deadline:
            raise TimeoutError("the answer did not end in time")
    return b"".join(parts)


def _read_message(answer: object) -> str:
    """Return the text of the first choice; a server may answer with anything, so each level is checked."""
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(content, str):
        raise ValueError("the answer holds no message")
    return content
