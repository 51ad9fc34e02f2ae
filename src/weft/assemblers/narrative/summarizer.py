"""Long documents made short by a language model, for callers who have one; without it excerpts do."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from http.client import HTTPException, HTTPResponse
from time import monotonic
from typing import Final
from urllib.error import URLError
from urllib.request import Request, urlopen

from weft.errors import WeftError
from weft.frozen import dataclass
from weft.model import Candidate
from weft.tokens import DEFAULT_ENCODING, counter_for

Summarize = Callable[[str, str, int], str]
"""A text, the question it is read for and the most tokens of the summary, to the summary."""

LONG: Final = 1000
SHORT: Final = 200
"""A document of more than `LONG` tokens becomes a summary of at most `SHORT`."""
_MOST_BYTES: Final = 1 << 20
"""No answer with a summary is longer."""


class SummaryError(WeftError):
    """The endpoint gave no summary."""


@dataclass(frozen=True, slots=True)
class EndpointSummarizer:
    """Asks an OpenAI-compatible chat endpoint; the key is sent there and nowhere else."""

    url: str
    model: str
    api_key: str | None = None
    timeout: float = 30.0

    def __call__(self, text: str, question: str, max_tokens: int) -> str:
        """What the model says of the text, or SummaryError."""
        task = f"Summarise the text in at most {max_tokens} tokens. Keep what helps to answer: {question}"
        messages = [{"role": "system", "content": task}, {"role": "user", "content": text}]
        body = {"model": self.model, "messages": messages, "max_tokens": max_tokens, "temperature": 0}
        headers = {"Content-Type": "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        address = f"{self.url.rstrip('/')}/chat/completions"
        try:
            with urlopen(Request(address, json.dumps(body).encode(), headers), timeout=self.timeout) as answer:
                return _content(json.loads(_read(answer, monotonic() + self.timeout)))
        except (URLError, TimeoutError, ConnectionError, HTTPException, ValueError) as error:
            raise SummaryError(
                f"The endpoint {address} (model {self.model!r}) gave no summary ({error}). Check the address, the "
                "model's name and the key, or leave the summarizer out: excerpts are made without it."
            ) from error


def compressed(document: Candidate, question: str, summarize: Summarize) -> Candidate:
    """The document, a long one by its summary, which its title says; what the model adds too much is cut."""
    count, _ = counter_for(DEFAULT_ENCODING)
    node = document.node
    if count.count(node.text) <= LONG:
        return document
    summary = count.cut(summarize(node.text, question, SHORT).strip(), SHORT)
    if not summary:
        raise SummaryError(f"The summary of {node.title!r} is empty. The document is shown by an excerpt instead.")
    return replace(document, node=replace(node, text=summary, title=f"{node.title} (summary)"))


def _read(answer: HTTPResponse, deadline: float) -> bytes:
    """The whole answer; one that is too long, or still comes when the time is over, is none."""
    parts, size = [], 0
    while part := answer.read1(_MOST_BYTES):
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            raise ValueError(f"the answer has more than {_MOST_BYTES:,} bytes")
        if monotonic() > deadline:
            raise TimeoutError("the answer did not end in time")
    return b"".join(parts)


def _content(answer: object) -> str:
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(content, str):
        raise ValueError("the answer holds no message")
    return content
