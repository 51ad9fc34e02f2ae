"""The teacher, all-MiniLM-L6-v2, as a plain forward pass over its published weights."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.nn import functional

HEADS = 12
TOKENS_A_BATCH = 8192
START, END = 101, 102


class Teacher:
    """Sentence embeddings of the full transformer: 384 dimensions, mean-pooled, L2-normalised."""

    def __init__(self, folder: Path, longest: int = 128) -> None:
        self.weights = load_file(folder / "model.safetensors")
        self.layers = json.loads((folder / "config.json").read_text())["num_hidden_layers"]
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(longest)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row a text, in the order given."""
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(ids)), key=lambda row: (len(ids[row]), row))
        result = np.zeros((len(ids), 384), dtype=np.float32)
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and len(ids[order[end]]) * (end - start + 1) <= TOKENS_A_BATCH:
                end += 1
            rows = order[start:end]
            result[rows] = self._forward([ids[row] for row in rows])
            start = end
        return result

    def embed_pieces(self, pieces: Sequence[int]) -> NDArray[np.float32]:
        """Return one row a vocabulary id, each read alone between the start and the end mark."""
        parts = [
            self._forward([[START, piece, END] for piece in pieces[at : at + 2000]])
            for at in range(0, len(pieces), 2000)
        ]
        return np.concatenate(parts)

    @torch.inference_mode()
    def _forward(self, batch: list[list[int]]) -> NDArray[np.float32]:
        width = max(map(len, batch))
        ids = torch.tensor([row + [0] * (width - len(row)) for row in batch])
        mask = torch.tensor([[1.0] * len(row) + [0.0] * (width - len(row)) for row in batch])
        hidden = self._embeddings(ids, width)
        bias = ((1.0 - mask) * -1e9)[:, None, None, :]
        for layer in range(self.layers):
            hidden = self._layer(hidden, bias, f"encoder.layer.{layer}.")
        pooled = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        return functional.normalize(pooled, dim=1).numpy()

    def _embeddings(self, ids: torch.Tensor, width: int) -> torch.Tensor:
        weights = self.weights
        total = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.position_embeddings.weight"][:width]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        return self._norm(total, "embeddings.LayerNorm")

    def _layer(self, hidden: torch.Tensor, bias: torch.Tensor, name: str) -> torch.Tensor:
        rows, width, size = hidden.shape
        query, key, value = (
            self._linear(hidden, f"{name}attention.self.{part}").view(rows, width, HEADS, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        mixed = mixed.transpose(1, 2).reshape(rows, width, size)
        hidden = self._norm(
            hidden + self._linear(mixed, f"{name}attention.output.dense"), f"{name}attention.output.LayerNorm"
        )
        inner = functional.gelu(self._linear(hidden, f"{name}intermediate.dense"))
        return self._norm(hidden + self._linear(inner, f"{name}output.dense"), f"{name}output.LayerNorm")

    def _linear(self, value: torch.Tensor, name: str) -> torch.Tensor:
        return functional.linear(value, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _norm(self, value: torch.Tensor, name: str) -> torch.Tensor:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return functional.layer_norm(value, (value.shape[-1],), weight, bias, eps=1e-12)
