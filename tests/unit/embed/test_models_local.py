"""The adapters for sentence-transformers and fastembed, over stand-ins for models that must be downloaded."""

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from weft.embed import open_embedder
from weft.errors import EmbedderError


class Model:
    """Gives (length, 1) for a text, in the way of either library; the name `absent` cannot be loaded."""

    def __init__(self, model_name: str, device: str = "cpu") -> None:
        if model_name == "absent":
            raise OSError("no such model")

    def encode(self, texts: list[str], **_: Any) -> Any:
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    def embed(self, texts: list[str]) -> Iterator[Any]:
        return iter(self.encode(texts))


@pytest.fixture(params=["sentence-transformers", "fastembed"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    stand_in = SimpleNamespace(SentenceTransformer=Model, TextEmbedding=Model)
    for module in ("sentence_transformers", "fastembed"):
        monkeypatch.setitem(sys.modules, module, stand_in)  # type: ignore[arg-type]
    return str(request.param)


def test_rows_have_length_one_and_blank_texts_are_zeros(kind: str) -> None:
    embedder = open_embedder(f"{kind}:small")
    assert embedder is not None
    assert (embedder.name, embedder.dimensions) == (f"{kind}:small", 2)
    rows = embedder.embed(["abc", " "])
    assert np.allclose(rows, [[3 / 10**0.5, 1 / 10**0.5], [0, 0]])
    assert embedder.embed([]).shape == (0, 2)


def test_a_model_that_cannot_be_loaded_is_named(kind: str) -> None:
    with pytest.raises(EmbedderError, match="'absent' cannot be loaded: no such model"):
        open_embedder(f"{kind}:absent")
