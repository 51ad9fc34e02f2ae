"""Embed with a BERT-like model in ONNX form: our own WordPiece, mean pooling, no torch."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.embed.models import PROBE, unit_rows
from weft.embed.static import cut, split_bert_words
from weft.errors import EmbedderError, InvalidInput, MissingExtra

MAX_TEXT_TOKENS = 256
"""Tokens of a text that the model reads, its two marks included; most small models were trained on no more."""
_TEXTS_PER_RUN = 32
"""Texts that are run together, padded to the longest: more take memory and hardly less time."""
_DIGEST_CHARACTERS = 12


class OnnxEmbedder:
    """An embedder that runs a transformer on the processor and takes the mean of its token vectors."""

    def __init__(self, session: Any, vocabulary: dict[str, int], name: str) -> None:
        self.name = name
        self._session, self._vocabulary = session, vocabulary
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
        output = self._session.run(None, {key: value for key, value in feed.items() if key in self._inputs})[0]
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
        raise MissingExtra("The embedder 'onnx'", "onnx") from error
    model, vocabulary = _find_files(Path(path).expanduser())
    pieces = vocabulary.read_text(encoding="utf-8").split("\n")
    digest = hashlib.sha256(model.read_bytes()).hexdigest()[:_DIGEST_CHARACTERS]
    try:
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        return OnnxEmbedder(session, {piece: row for row, piece in enumerate(pieces) if piece}, f"onnx:{digest}")
    except Exception as error:
        # The runtime raises errors of many kinds for a model it cannot use.
        raise EmbedderError(f"The model {model} cannot be used: {error}. Give a BERT-like ONNX model.") from error


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
