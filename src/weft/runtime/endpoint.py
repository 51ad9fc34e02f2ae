"""Post JSON to a server that speaks the API of OpenAI; a key goes to that server only and into no message."""

import json
from collections.abc import Mapping
from http.client import HTTPException, HTTPResponse
from time import monotonic
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from weft.errors import InvalidInput, WeftError

CHAT_PATH: Final = "chat/completions"
_MAX_ANSWER_BYTES: Final = 1 << 26
"""The longest answer that is read: 128 vectors of 4,096 numbers in JSON take some 12 MB."""
_ERROR_BYTES_READ: Final = 2_000
"""Bytes read of an error page, of which only the beginning is quoted."""
_MAX_REASON_CHARACTERS: Final = 300
"""Enough of an error page for a message of one line."""
_HIDDEN: Final = "[key]"


class EndpointFailure(WeftError):
    """A server that did not answer as its API says; the message continues a sentence about the server."""


class NoRedirects(HTTPRedirectHandler):
    """A handler that follows no redirect, which would carry the key to an address that nobody named."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Refuse every redirect."""
        return


class JsonEndpoint:
    """One address of a server, with the key and the time limit, in seconds, of every request and its answer."""

    def __init__(self, url: str, path: str, api_key: str | None, timeout: float) -> None:
        if urlsplit(url).scheme not in ("http", "https") or "@" in urlsplit(url).netloc:
            raise InvalidInput(
                f"{_without_password(url)!r} is no address of a server. Write http:// or https://, a host and no "
                "password; a key is given by itself."
            )
        self.address = complete_address(url, path)
        self._key, self._timeout = api_key, timeout
        self._opener = build_opener(NoRedirects)

    def post(self, body: Mapping[str, Any]) -> Any:
        """Send a request and return its JSON answer; every failure is an EndpointFailure."""
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self.address, json.dumps(body).encode(), headers, method="POST")
        deadline = monotonic() + self._timeout
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                return json.loads(_read_body(response, deadline))
        # Before URLError, of which it is a subclass: the server did answer.
        except HTTPError as error:
            raise EndpointFailure(f"answered {error.code}: {self._hide_key(_read_reason(error))}") from error
        except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
            cause = error.reason if isinstance(error, URLError) else error
            if isinstance(cause, TimeoutError):
                raise EndpointFailure(f"does not answer within {self._timeout:g} s") from error
            raise EndpointFailure(f"cannot be reached ({self._hide_key(str(cause))})") from error
        except ValueError as error:
            raise EndpointFailure("answered with something that is not JSON") from error

    def _hide_key(self, text: str) -> str:
        """Return a message without the key, which some servers repeat when they refuse it."""
        return text.replace(self._key, _HIDDEN) if self._key else text


def ask_chat_model(
    server: JsonEndpoint, model: str, task: str, material: str, max_tokens: int | None = None
) -> str:
    """Return what a chat model writes about the material; raise EndpointFailure where that is nothing."""
    messages = [{"role": "system", "content": task}, {"role": "user", "content": material}]
    # The least random answer, so that what is asked twice is answered alike.
    body = {"model": model, "messages": messages, "temperature": 0}
    answer = server.post(body if max_tokens is None else {**body, "max_tokens": max_tokens})
    try:
        text = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError) as error:
        raise EndpointFailure("answered with something that is no chat completion") from error
    if not isinstance(text, str) or not text.strip():
        raise EndpointFailure("answered with an empty message")
    return text.strip()


def complete_address(url: str, path: str) -> str:
    """Return the address to ask: the URL of a server, of its API or of the endpoint itself may be given."""
    # People paste what their server prints, which is any of the three.
    base = url.rstrip("/")
    if base.endswith(f"/{path}"):
        return base
    return f"{base}/{path}" if base.endswith("/v1") else f"{base}/v1/{path}"


def _read_body(response: HTTPResponse, deadline: float) -> bytes:
    """Return the whole answer; refuse one that is too long, or has not ended at the deadline.

    The timeout of a socket only limits each wait: a server that sends a byte now and then would never run into it.
    """
    parts, size = [], 0
    # `read1` returns after each packet; `read` would wait for the whole body before the deadline is looked at.
    while part := response.read1(_MAX_ANSWER_BYTES):
        parts.append(part)
        size += len(part)
        if size > _MAX_ANSWER_BYTES:
            raise EndpointFailure(f"answered with more than {_MAX_ANSWER_BYTES:,} bytes")
        if monotonic() > deadline:
            raise TimeoutError("the answer did not end in time")
    return b"".join(parts)


def _without_password(url: str) -> str:
    before, at, host = url.rpartition("@")
    return f"{before.partition('://')[0]}://...@{host}" if at else url


def _read_reason(error: HTTPError) -> str:
    """Return the reason that a server gives for an error, in one line; servers write it in several ways."""
    text = error.read(_ERROR_BYTES_READ).decode("utf-8", errors="replace")
    try:
        reason = json.loads(text)["error"]
    except (ValueError, KeyError, TypeError):
        reason = text
    message = reason.get("message", "") if isinstance(reason, dict) else reason
    return " ".join(str(message or error.reason).split())[:_MAX_REASON_CHARACTERS]
