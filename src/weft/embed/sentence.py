"""Any sentence-transformers model, by name or from a local folder."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.embed.unit import unit_rows
from weft.errors import EmbedderError, MissingExtra


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
