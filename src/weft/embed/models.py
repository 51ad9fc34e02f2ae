"""Embed with models that Weft does not ship: endpoints, fastembed, sentence-transformers, and ONNX files.

A BERT-like model in ONNX form needs no torch: words are cut by our own WordPiece, and token vectors are averaged.
"""

import hashlib
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weft.embed.static import cut, split_bert_words
from weft.errors import EmbedderError, InvalidInput, MissingExtra, MissingPackage
from weft.runtime.endpoint import EndpointFailure, JsonEndpoint

TEXTS_PER_REQUEST = 128
"""Texts sent in one request: servers limit its size, and fewer cost more round trips."""
PROBE = "dimensions"
"""The text whose embedding shows how many dimensions a model has."""
MAX_TEXT_TOKENS = 256
"""Tokens of a text that the model reads, its two marks included; most small models were trained on no more."""
_TEXTS_PER_RUN = 32
"""Texts that are run together, padded to the longest: more take memory and hardly less time."""
_DIGEST_CHARACTERS = 12
"""Length of the digest in the name of an ONNX model: 48 bits tell all models of one user apart."""


def unit_rows(rows: ArrayLike) -> NDArray[np.float32]:
    """Return the rows scaled to length one, as float32; a row of zeros stays one."""
    # In double precision, so that rounding does not depend on how a library sums float32.
    values = np.asarray(rows, dtype=np.float64)
    lengths = np.sqrt((values * values).sum(axis=1, keepdims=True))
    scaled: NDArray[np.float32] = (values / np.where(lengths > 0.0, lengths, 1.0)).astype(np.float32)
    return scaled


class EndpointEmbedder:
    """An embedder that asks a server; texts that are blank are not sent and come back as zeros."""

    def __init__(self, model: str, url: str, api_key: str | None, timeout: float) -> None:
        self.name = f"openai:{model}@{url.rstrip('/')}"
        self._model = model
        self._endpoint = JsonEndpoint(url, "embeddings", api_key, timeout)
        # Nothing is known yet, so that the first answer is not checked against it.
        self.dimensions = 0
        # Asked when it is opened: a wrong key or name is better found before anything is indexed.
        self.dimensions = int(self._request_rows([PROBE]).shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one L2-normalised row a text."""
        result = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        filled = [row for row, text in enumerate(texts) if text.strip()]
        # Rows are addressed by number, because blank texts in between are not sent.
        for start in range(0, len(filled), TEXTS_PER_REQUEST):
            rows = filled[start : start + TEXTS_PER_REQUEST]
            result[rows] = self._request_rows([texts[row] for row in rows])
        return result

    def _request_rows(self, texts: list[str]) -> NDArray[np.float32]:
        """Ask for the vectors of some texts, and check that the answer fits them."""
        try:
            answer = self._endpoint.post({"model": self._model, "input": texts, "encoding_format": "float"})
        except EndpointFailure as error:
            raise self._failure(str(error)) from error
        try:
            # The API does not promise the order of the request.
            ordered = sorted(answer["data"], key=lambda item: int(item["index"]))
            rows = np.asarray([item["embedding"] for item in ordered], dtype=np.float64)
        except (KeyError, TypeError, ValueError) as error:
            raise self._failure("answered with something that is not a list of embeddings") from error
        if rows.ndim != 2 or len(rows) != len(texts):
            raise self._failure(f"answered with {len(rows)} embeddings for {len(texts)} texts")
        # One NaN in the index would make every comparison with it false.
        if not np.isfinite(rows).all():
            raise self._failure("answered with a vector that has a value that is not a number")
        if self.dimensions and rows.shape[1] != self.dimensions:
            raise self._failure(f"answered with {rows.shape[1]} dimensions after {self.dimensions}")
        return unit_rows(rows)

    def _failure(self, problem: str) -> EmbedderError:
        advice = "Check the address, the model's name and the key, or use the embedder 'static'."
        return EmbedderError(
            f"The embedding endpoint {self._endpoint.address} (model {self._model!r}) {problem}. {advice}"
        )


class LibraryEmbedder:
    """An embedder that runs a model of another library, by its function that turns texts into vectors."""

    def __init__(self, name: str, encode: Callable[[list[str]], Iterable[ArrayLike]]) -> None:
        self.name = name
        self._encode = encode
        # Libraries name their attribute for this differently, also over time; one embedding shows it for sure.
        self.dimensions = self._rows([PROBE]).shape[1]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one L2-normalised row a text; a blank text is a row of zeros."""
        result = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        filled = [row for row, text in enumerate(texts) if text.strip()]
        if filled:
            result[filled] = self._rows([texts[row] for row in filled])
        return result

    def _rows(self, texts: list[str]) -> NDArray[np.float32]:
        return unit_rows([np.asarray(row) for row in self._encode(texts)])


def open_fastembed(name: str) -> LibraryEmbedder:
    """Open the model of that name, from fastembed's cache or its hub."""
    try:
        from fastembed import TextEmbedding
    except ImportError as error:
        raise MissingPackage("The embedder 'fastembed'", "fastembed") from error
    try:
        return LibraryEmbedder(f"fastembed:{name}", TextEmbedding(model_name=name).embed)
    except (OSError, ValueError, RuntimeError) as error:
        raise EmbedderError(
            f"The fastembed model {name!r} cannot be loaded: {error}. Give a name that fastembed lists."
        ) from error


def open_sentence_transformer(name: str) -> LibraryEmbedder:
    """Open the model of that name, from its folder or from the hub's cache."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingPackage("The embedder 'sentence-transformers'", "sentence-transformers") from error
    try:
        encode = SentenceTransformer(name, device="cpu").encode
        encode = partial(encode, show_progress_bar=False, convert_to_numpy=True)
        return LibraryEmbedder(f"sentence-transformers:{name}", encode)
    except (OSError, ValueError, RuntimeError) as error:
        raise EmbedderError(
            f"The sentence-transformers model {name!r} cannot be loaded: {error}. Give its name or folder."
        ) from error


class OnnxEmbedder:
    """An embedder that runs a transformer on the processor and takes the mean of its token vectors."""

    def __init__(self, session: Any, vocabulary: dict[str, int], name: str) -> None:
        self.name = name
        self._session, self._vocabulary = session, vocabulary
        # Models differ in whether they take token types; one that does not would refuse them.
        self._inputs = {each.name for each in session.get_inputs()}
        self.dimensions = 0
        self.dimensions = int(self._pool([PROBE]).shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one L2-normalised row a text; a text without a word is a row of zeros."""
        result = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        # Texts of one length are padded least.
        rows = sorted(
            (row for row, text in enumerate(texts) if split_bert_words(text)), key=lambda row: len(texts[row])
        )
        for start in range(0, len(rows), _TEXTS_PER_RUN):
            batch = rows[start : start + _TEXTS_PER_RUN]
            result[batch] = unit_rows(self._pool([texts[row] for row in batch]))
        return result

    def _pool(self, texts: list[str]) -> NDArray[np.float32]:
        """Run the model, and take the mean of its token vectors unless it returns one vector a text already."""
        tokens = [self._tokens(text) for text in texts]
        ids = np.full((len(tokens), max(map(len, tokens))), self._vocabulary["[PAD]"], dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, token_ids in enumerate(tokens):
            ids[row, : len(token_ids)] = token_ids
            mask[row, : len(token_ids)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        # As an array: a graph may also return a sequence, which has no dimensions to look at.
        output = np.asarray(
            self._session.run(None, {key: value for key, value in feed.items() if key in self._inputs})[0]
        )
        if output.ndim == 2:
            return np.asarray(output, dtype=np.float32)
        weights = mask[:, :, None].astype(np.float32)
        return np.asarray((output * weights).sum(axis=1) / weights.sum(axis=1), dtype=np.float32)

    def _tokens(self, text: str) -> list[int]:
        unknown = (self._vocabulary["[UNK]"],)
        inner = [piece for part in split_bert_words(text) for piece in cut(part, self._vocabulary) or unknown]
        return [self._vocabulary["[CLS]"], *inner[: MAX_TEXT_TOKENS - 2], self._vocabulary["[SEP]"]]


def open_onnx(path: str) -> OnnxEmbedder:
    """Open the model in a folder (`model.onnx` with `vocab.txt`), or in a file beside its `vocab.txt`."""
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra("The embedder 'onnx'", "quality") from error
    model, vocabulary = _find_files(Path(path).expanduser())
    # Named by content: the same path may hold another model tomorrow, whose vectors do not compare.
    digest = hashlib.sha256(model.read_bytes()).hexdigest()[:_DIGEST_CHARACTERS]
    try:
        pieces = vocabulary.read_text(encoding="utf-8").split("\n")
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        return OnnxEmbedder(session, {piece: row for row, piece in enumerate(pieces) if piece}, f"onnx:{digest}")
    except model_file_errors() as error:
        raise EmbedderError(f"The model {model} cannot be used: {error}. Give a BERT-like ONNX model.") from error


def model_file_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that files of a model raise: unreadable, cut off, of another form, or not for ONNX.

    Those of the ONNX runtime are collected here, because they have no common parent to be caught by.
    """
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = (kind for kind in vars(state).values() if isinstance(kind, type) and issubclass(kind, Exception))
    return OSError, ValueError, LookupError, TypeError, struct.error, *own


def _find_files(path: Path) -> tuple[Path, Path]:
    """Return the model and its vocabulary, which lies beside it or, as on the hub, one folder up."""
    candidates = [path, path / "model.onnx", path / "onnx" / "model.onnx"]
    model = next((candidate for candidate in candidates if candidate.is_file()), None)
    if model is None:
        raise InvalidInput(f"No ONNX model at {path}. Give a .onnx file, or a folder with model.onnx in it.")
    vocabulary = next(
        (folder / "vocab.txt" for folder in model.parents[:2] if (folder / "vocab.txt").is_file()), None
    )
    if vocabulary is None:
        raise InvalidInput(f"No vocab.txt beside {model}. Put the model's WordPiece vocabulary there.")
    return model, vocabulary
