"""Check embedders and token counters of plugins by what the rest of Weft relies on."""

import numpy as np

from weft.ports import Embedder, TokenCounter

_TEXTS = ("The oven is preheated.", "", "  ", "東京のカフェ", "oven " * 3000)
_COUNTED = (
    "",
    "oven",
    "The oven is preheated.\n\n",
    "naïve café 🧵 東京",
    "def preheat(degrees):\n    return degrees\n",
)


def check_embedder(embedder: Embedder) -> None:
    """Check that an embedder gives one finite row a text, the same alone as among others, and zeros for blanks."""
    rows = embedder.embed(_TEXTS)
    assert embedder.name
    assert rows.shape == (len(_TEXTS), embedder.dimensions)
    assert np.isfinite(rows).all()
    lengths = np.linalg.norm(rows, axis=1)
    assert not lengths[1:3].any(), "a blank text is a row of zeros"
    assert np.allclose(lengths[lengths > 0], 1.0, atol=1e-3), "rows have length one"
    # Stored vectors were made in other batches than the question's.
    alone = np.concatenate([embedder.embed([text]) for text in _TEXTS])
    assert np.allclose(alone, rows, atol=1e-4)
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def check_token_counter(counter: TokenCounter) -> None:
    """Check that a counter agrees with itself: nothing costs nothing, and what it cuts off fits."""
    assert counter.name
    assert counter.count("") == 0
    assert counter.count_many(_COUNTED) == [counter.count(text) for text in _COUNTED]
    assert hash(counter) == hash(counter)
    for text in _COUNTED:
        whole = counter.count(text)
        assert whole == counter.count(text) >= 0
        for limit in range(whole + 2):
            kept = counter.cut(text, limit)
            assert text.startswith(kept)
            assert counter.count(kept) <= limit
