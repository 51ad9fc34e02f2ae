"""Compress long documents with a language model, for callers who have one; without it, pages print excerpts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from weft.errors import InvalidInput, WeftError
from weft.model import Candidate
from weft.runtime.endpoint import CHAT_PATH, EndpointFailure, JsonEndpoint, ask_chat_model
from weft.tokens import DEFAULT_ENCODING, counter_for

Summarize = Callable[[str, str, int], str]
"""A function of a text, the question it is read for and the most tokens, which returns a summary."""

LONG_DOCUMENT_TOKENS: Final = 1000
"""Longer documents are summarised; shorter ones fit whole. The design fixes both numbers."""
SUMMARY_TOKENS: Final = 200
"""The length of a summary."""


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
        address = f"{self.url.rstrip('/')}/{CHAT_PATH}"
        try:
            server = JsonEndpoint(address, CHAT_PATH, self.api_key, self.timeout)
            return ask_chat_model(server, self.model, task, text, max_tokens)
        except (EndpointFailure, InvalidInput) as error:
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
