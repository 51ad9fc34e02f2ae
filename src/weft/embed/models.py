"""What the embedders of foreign models share: rows of length one."""

import json
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weft.errors import EmbedderError, MissingExtra


def unit_rows(rows: ArrayLike) -> NDArray[np.float32]:
    """The rows scaled to length one, as float32; a row of zeros stays one."""
    values = np.asarray(rows, dtype=np.float64)
    lengths = np.sqrt((values * values).sum(axis=1, keepdims=True))
    scaled: NDArray[np.float32] = (values / np.where(lengths > 0.0, lengths, 1.0)).astype(np.float32)
    return scaled


TEXTS_A_REQUEST = 128
PROBE = "dimensions"


class _NoRedirects(HTTPRedirectHandler):
    """A redirect would carry the key to an address that nobody named."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class EndpointEmbedder:
    """Vectors from a server; texts that are blank are not sent and come back as zeros."""

    def __init__(self, model: str, url: str, api_key: str | None, timeout: float) -> None:
        self.name = f"openai:{model}@{url.rstrip('/')}"
        self._model, self._key, self._timeout = model, api_key, timeout
        self._address = _embeddings_address(url)
        self._opener = build_opener(_NoRedirects)
        self.dimensions = 0
        self.dimensions = int(self._rows([PROBE]).shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row a text."""
        result = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        spoken = [row for row, text in enumerate(texts) if text.strip()]
        for start in range(0, len(spoken), TEXTS_A_REQUEST):
            rows = spoken[start : start + TEXTS_A_REQUEST]
            result[rows] = self._rows([texts[row] for row in rows])
        return result

    def _rows(self, texts: list[str]) -> NDArray[np.float32]:
        answer = self._ask({"model": self._model, "input": texts, "encoding_format": "float"})
        try:
            ordered = sorted(answer["data"], key=lambda item: int(item["index"]))
            rows = np.asarray([item["embedding"] for item in ordered], dtype=np.float64)
        except (KeyError, TypeError, ValueError) as error:
            raise self._failure("answered with something that is not a list of embeddings") from error
        if rows.ndim != 2 or len(rows) != len(texts):
            raise self._failure(f"answered with {len(rows)} embeddings for {len(texts)} texts")
        if not np.isfinite(rows).all():
            raise self._failure("answered with a vector that has a value that is not a number")
        if self.dimensions and rows.shape[1] != self.dimensions:
            raise self._failure(f"answered with {rows.shape[1]} dimensions after {self.dimensions}")
        return unit_rows(rows)

    def _ask(self, body: dict[str, Any]) -> Any:
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self._address, json.dumps(body).encode(), headers, method="POST")
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                return json.loads(response.read())
        except HTTPError as error:
            raise self._failure(f"answered {error.code}: {_reason(error)}") from error
        except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
            raise self._failure(f"cannot be reached within {self._timeout:g} s ({error})") from error
        except ValueError as error:
            raise self._failure("answered with something that is not JSON") from error

    def _failure(self, what: str) -> EmbedderError:
        advice = "Check the address, the model's name and the key, or use the embedder 'static'."
        return EmbedderError(f"The embedding endpoint {self._address} (model {self._model!r}) {what}. {advice}")


def open_endpoint(model: str, url: str, api_key: str | None, timeout: float) -> EndpointEmbedder:
    """An embedder that asks the server at `url`, which is asked once for its dimensions."""
    return EndpointEmbedder(model, url, api_key, timeout)


def _embeddings_address(url: str) -> str:
    base = url.rstrip("/")
    if base.endswith("/embeddings"):
        return base
    return f"{base}/embeddings" if base.endswith("/v1") else f"{base}/v1/embeddings"


def _reason(error: HTTPError) -> str:
    text = error.read(2_000).decode("utf-8", errors="replace")
    try:
        told = json.loads(text)["error"]
    except (ValueError, KeyError, TypeError):
        told = text
    message = told.get("message", "") if isinstance(told, dict) else told
    return " ".join(str(message or error.reason).split())[:300]


class FastEmbedder:
    """Vectors of a fastembed model."""

    def __init__(self, model: Any, name: str) -> None:
        self.name = f"fastembed:{name}"
        self._model = model
        self.dimensions = len(next(iter(model.embed(["dimensions"]))))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row a text; a blank text is a row of zeros."""
        result = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        spoken = [row for row, text in enumerate(texts) if text.strip()]
        if spoken:
            result[spoken] = unit_rows(list(self._model.embed([texts[row] for row in spoken])))
        return result


def open_fastembed(name: str) -> FastEmbedder:
    """The model of that name, from fastembed's cache or its hub."""
    try:
        from fastembed import TextEmbedding
    except ImportError as error:
        raise MissingExtra("The embedder 'fastembed'", "fastembed") from error
    try:
        return FastEmbedder(TextEmbedding(model_name=name), name)
    except (OSError, ValueError, RuntimeError) as error:
        raise EmbedderError(
            f"The fastembed model {name!r} cannot be loaded: {error}. Give a name that fastembed lists."
        ) from error


class SentenceEmbedder:
    """Vectors of a sentence-transformers model."""

    def __init__(self, model: Any, name: str) -> None:
        self.name = f"sentence-transformers:{name}"
        self._model = model
        self.dimensions = int(model.encode(["dimensions"]).shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row a text; a blank text is a row of zeros."""
        result = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        spoken = [row for row, text in enumerate(texts) if text.strip()]
        if spoken:
            result[spoken] = unit_rows(
                self._model.encode([texts[row] for row in spoken], show_progress_bar=False, convert_to_numpy=True)
            )
        return result


def open_sentence_transformer(name: str) -> SentenceEmbedder:
    """The model of that name, loaded from its folder or from the hub's cache."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtra("The embedder 'sentence-transformers'", "sentence-transformers") from error
    try:
        return SentenceEmbedder(SentenceTransformer(name, device="cpu"), name)
    except (OSError, ValueError, RuntimeError) as error:
        raise EmbedderError(
            f"The sentence-transformers model {name!r} cannot be loaded: {error}. Give its name or folder."
        ) from error
