"""A BERT-like model in ONNX form: our own WordPiece, mean pooling, no torch."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.embed.models import unit_rows
from weft.embed.wordpiece import cut, parts_of
from weft.errors import EmbedderError, InvalidInput, MissingExtra

LONGEST_TEXT = 256
TEXTS_AT_ONCE = 32


class OnnxEmbedder:
    """Mean-pooled vectors of a transformer, run on the processor."""

    def __init__(self, session: Any, vocabulary: dict[str, int], name: str) -> None:
        self.name = name
        self._session, self._vocabulary = session, vocabulary
        self._inputs = {given.name for given in session.get_inputs()}
        self.dimensions = 0
        self.dimensions = int(self._pooled(["dimensions"]).shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row a text; a text without a word is a row of zeros."""
        result = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        rows = sorted((row for row, text in enumerate(texts) if parts_of(text)), key=lambda row: len(texts[row]))
        for start in range(0, len(rows), TEXTS_AT_ONCE):
            some = rows[start : start + TEXTS_AT_ONCE]
            result[some] = unit_rows(self._pooled([texts[row] for row in some]))
        return result

    def _pooled(self, texts: list[str]) -> NDArray[np.float32]:
        tokens = [self._tokens(text) for text in texts]
        ids = np.full((len(tokens), max(map(len, tokens))), self._vocabulary["[PAD]"], dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, found in enumerate(tokens):
            ids[row, : len(found)] = found
            mask[row, : len(found)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        output = self._session.run(None, {key: value for key, value in feed.items() if key in self._inputs})[0]
        if output.ndim == 2:
            return np.asarray(output, dtype=np.float32)
        weights = mask[:, :, None].astype(np.float32)
        return np.asarray((output * weights).sum(axis=1) / weights.sum(axis=1), dtype=np.float32)

    def _tokens(self, text: str) -> list[int]:
        unknown = (self._vocabulary["[UNK]"],)
        inner = [piece for part in parts_of(text) for piece in cut(part, self._vocabulary) or unknown]
        return [self._vocabulary["[CLS]"], *inner[: LONGEST_TEXT - 2], self._vocabulary["[SEP]"]]


def open_onnx(path: str) -> OnnxEmbedder:
    """The model in a folder (`model.onnx` with `vocab.txt`), or in a file beside its `vocab.txt`."""
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra("The embedder 'onnx'", "onnx") from error
    model, vocabulary = _files(Path(path).expanduser())
    pieces = vocabulary.read_text(encoding="utf-8").split("\n")
    digest = hashlib.sha256(model.read_bytes()).hexdigest()[:12]
    try:
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        return OnnxEmbedder(session, {piece: row for row, piece in enumerate(pieces) if piece}, f"onnx:{digest}")
    except Exception as error:
        raise EmbedderError(f"The model {model} cannot be used: {error}. Give a BERT-like ONNX model.") from error


def _files(path: Path) -> tuple[Path, Path]:
    places = [path, path / "model.onnx", path / "onnx" / "model.onnx"]
    model = next((place for place in places if place.is_file()), None)
    if model is None:
        raise InvalidInput(f"No ONNX model at {path}. Give a .onnx file, or a folder with model.onnx in it.")
    vocabulary = next(
        (folder / "vocab.txt" for folder in model.parents[:2] if (folder / "vocab.txt").is_file()), None
    )
    if vocabulary is None:
        raise InvalidInput(f"No vocab.txt beside {model}. Put the model's WordPiece vocabulary there.")
    return model, vocabulary
