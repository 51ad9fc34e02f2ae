"""Any model that fastembed carries, by name."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.embed.unit import unit_rows
from weft.errors import EmbedderError, MissingExtra


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
