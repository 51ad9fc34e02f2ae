"""Measure meaning by the vectors of the better embedder, where passages have them already.

The index proposes by the static vectors, which all passages have. What it proposes is measured by both: the cosine
of the better embedder is brought to the scale of the static one, so that passages with and without its vector
compare, and calibrated relevance holds for either.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec.structs import replace

from weft.model import Filter
from weft.ports import Index, Proposals, Snapshot
from weft.profiles.types import Fusion
from weft.scoring.similarity import unit_rows
from weft.scoring.snippets import SnippetColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weft.pipeline.query import Floats

# Over the questions and passages of ten judged sets the static cosine has mean .106 and deviation .099, that of
# the better embedder .534 and .049; the fortieth best passage has .331 and .638, the best .548 and .750.
_SCALE: Final = 2.0
"""By how much more the static cosine spreads than that of the better embedder."""
_OFFSET: Final = -0.962
"""The static cosine that corresponds to a cosine of 0 of the better embedder."""
_QUALITY_SHARE: Final = 0.7
"""The share of the better embedder in the blend; from .5 to .85 pages answer as many questions, with 1 fewer."""
_PROPOSALS_PER_KEPT: Final = 5
"""Passages that the static vectors propose for each that is kept; with 10 the same pages come."""
_MEANING_FACTOR: Final = 1.4
"""By how much more meaning weighs beside words when it is measured by the better embedder. Static vectors alone
answer fewer questions with it."""


def weigh_meaning(fusion: Fusion) -> Fusion:
    """Return the weights of words and meaning where all passages have vectors of the better embedder."""
    return replace(
        fusion,
        semantic=_MEANING_FACTOR * fusion.semantic,
        snippet_semantic=_MEANING_FACTOR * fusion.snippet_semantic,
    )


def search_twice(
    vector: "NDArray[np.float32]",
    quality: "NDArray[np.float32]",
    filter: Filter,
    limit: int,
    snapshot: Snapshot,
    index: Index,
) -> Proposals:
    """Return the passages that are best by the blend among many that the static vectors propose."""
    found = index.semantic(snapshot, vector, filter, _PROPOSALS_PER_KEPT * limit)
    ids = found.passage_ids.tolist()
    scores = blend_cosines(np.asarray(found.scores, dtype=np.float64), ids, quality, snapshot)
    # All that tie with the last are kept, so that the cut never falls by id, which differs from store to store.
    lowest = np.partition(scores, len(ids) - limit)[len(ids) - limit] if len(ids) > limit else -np.inf
    kept = sorted(np.flatnonzero(scores >= lowest).tolist(), key=lambda row: (-scores[row], ids[row]))
    return replace(found, passage_ids=found.passage_ids[kept], scores=scores[kept])


def blend_cosines(
    cosine: "Floats", passage_ids: Sequence[int], quality: "NDArray[np.float32]", snapshot: Snapshot
) -> "Floats":
    """Return the static cosines of passages, blended with those of the better embedder where it made a vector."""
    width = len(quality)
    stored = snapshot.quality_vectors(passage_ids)
    vectors = [stored.get(passage_id, b"")[:width] for passage_id in passage_ids]
    return _blend(cosine, vectors, quality)


def blend_snippets(
    cosine: "Floats",
    columns: SnippetColumns,
    passage_ids: Sequence[int],
    quality: "NDArray[np.float32]",
    snapshot: Snapshot,
) -> "Floats":
    """Return the same for snippets; NaN stays where a snippet has no vector of its own."""
    width = len(quality)
    stored = snapshot.quality_vectors(passage_ids)
    ordinals: Counter[int] = Counter()
    vectors = []
    for index in columns.passage.tolist():
        # The passage's own vector comes first.
        ordinals[index] += 1
        start = width * ordinals[index]
        vectors.append(stored.get(passage_ids[index], b"")[start : start + width])
    return _blend(cosine, vectors, quality)


def _blend(cosine: "Floats", vectors: Sequence[bytes], quality: "NDArray[np.float32]") -> "Floats":
    blended = cosine.copy()
    # A vector of zeros stands for a text without a word.
    known = [row for row, vector in enumerate(vectors) if len(vector) == len(quality) and vector.strip(b"\0")]
    if known:
        rows = unit_rows([vectors[row] for row in known], len(quality))
        near = rows.astype(np.float64) @ quality.astype(np.float64)
        better = _SCALE * near + _OFFSET
        # Rounded, so that the position of a row in the matrix does not show.
        blended[known] = np.round((1 - _QUALITY_SHARE) * cosine[known] + _QUALITY_SHARE * better, 6)
    return blended
