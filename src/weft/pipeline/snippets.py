"""Rank the snippets of a section's candidates: by their own words and meaning, their passage's, and their node.

A snippet alone is too short to be found by, and a passage too long to be printed for one sentence of it. Both are
measured, and what was found out about the node (walk, bridge, name) is added.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from weft.model import Candidate
from weft.pipeline.query import Query, read_cosines, sum_gains
from weft.ports import PassageRow, Snapshot
from weft.profiles.types import Fusion
from weft.scoring.bm25 import score_terms
from weft.scoring.snippets import SnippetColumns, SnippetRow, snippet_cosines, unpack_snippets

if TYPE_CHECKING:
    from weft.pipeline.query import Floats

_OWN_SHARE: Final = 0.5
"""The share of a snippet itself in its words and its meaning; its passage has the rest. Alone, either answers
fewer questions."""
_SHORT_TEXT_TOKENS: Final = 160
"""A text of so few tokens is printed whole or not at all: a note, a turn of a chat, a small function."""
_SHORT_PART_CHARACTERS: Final = 800
"""The same for a part of a text that was asked for, whose tokens are not counted: a paragraph or two."""
_PART_STEP: Final = 0.02
"""The amount by which each further snippet of a long part counts less than the one before it."""
_SCORE_DECIMALS: Final = 6


class RankedSnippets(Struct, frozen=True):
    """Snippets as parallel lists, each candidate's together and in reading order; `order` lists them best first.

    `owner` is the index of a snippet's candidate. Neighbours in the lists with one owner and only blanks between
    their spans are neighbours in the text.
    """

    owner: list[int]
    start: list[int]
    end: list[int]
    tokens: list[int]
    score: list[float]
    order: list[int]


def rank_snippets(
    candidates: Sequence[Candidate], query: Query, fusion: Fusion, weights: Mapping[str, float], snapshot: Snapshot
) -> RankedSnippets:
    """Rank the snippets of the candidates' passages that speak to the question, or of all where none does."""
    passages, owners = _choose_passages(candidates, snapshot)
    embedder = snapshot.embedder()
    columns = unpack_snippets(
        passages, snapshot.snippets([row.id for row in passages]), embedder[0] if embedder else None
    )
    index_of = {row.id: index for index, row in enumerate(passages)}
    own_passage = np.array([index_of[row.passage_id] for row in columns.rows], dtype=np.int64)
    owner = np.array(owners, dtype=np.int64)[own_passage]
    words = _match_words(columns, passages, own_passage, query, fusion)
    meaning = _match_meaning(columns, passages, own_passage, query, snapshot)
    measured = fusion.snippet_lexical * words + fusion.snippet_semantic * meaning
    factors = np.array([_factor(candidate, weights) for candidate in candidates])
    others = np.array([_other_parts(candidate, weights) for candidate in candidates])
    score = factors[owner] * measured + others[owner]
    # What a shape wants of a text is wanted for its own sake, the rest of the text is not.
    shaped = [weights.get("shape", 0.0) * candidate.parts.get("shape", 0.0) for candidate in candidates]
    for index, row in enumerate(columns.rows):
        of = owners[own_passage[index]]
        if shaped[of] and not _is_wanted(candidates[of], row):
            score[index] -= shaped[of]
    return _rank(candidates, columns.rows, owner.tolist(), np.round(score, _SCORE_DECIMALS).tolist())


def _is_wanted(candidate: Candidate, row: SnippetRow) -> bool:
    """Whether a snippet stands in the part that was asked for, where only a part of the text was."""
    if not candidate.spans:
        return True
    start, end = candidate.spans[0]
    return row.start < end and start < row.end


def _rank(
    candidates: Sequence[Candidate], rows: Sequence[SnippetRow], owners: Sequence[int], scores: Sequence[float]
) -> RankedSnippets:
    """Return the snippets with their order; a short text is one snippet, as good as its best one."""
    found = RankedSnippets([], [], [], [], [], [])
    for row, owner, score in zip(rows, owners, scores, strict=True):
        whole, window = candidates[owner].text_tokens, candidates[owner].window
        start, end = row.start, row.end
        if window is not None:
            start, end = max(start, window[0]), min(end, window[1])
            if start >= end:
                continue
        if found.owner and found.owner[-1] == owner and _stays_together(whole, window):
            found.end[-1] = end
            found.score[-1] = max(found.score[-1], score)
            continue
        known = found.owner.count(owner) if window is not None else 0
        found.owner.append(owner)
        found.start.append(start)
        found.end.append(end)
        # The count of a part that was cut out for the question is not stored.
        found.tokens.append(0 if window else whole if whole and _stays_together(whole, None) else row.tokens)
        # A long part that was asked for is read from its beginning.
        found.score.append(round(score - _PART_STEP * known, _SCORE_DECIMALS))
    # The candidates come in their total order, and snippets in that of the text: ties keep both.
    found.order.extend(sorted(range(len(found.score)), key=lambda index: (-found.score[index], index)))
    return found


def _stays_together(text_tokens: int | None, window: tuple[int, int] | None) -> bool:
    """Whether a text, or the part of it that was asked for, is short enough to be one snippet."""
    if window is not None:
        return window[1] - window[0] <= _SHORT_PART_CHARACTERS
    return text_tokens is not None and text_tokens <= _SHORT_TEXT_TOKENS


def _choose_passages(candidates: Sequence[Candidate], snapshot: Snapshot) -> tuple[list[PassageRow], list[int]]:
    """Return the passages to print of, in the order of their candidates and texts, and the candidate of each."""
    index_of = {candidate.node.id: index for index, candidate in enumerate(candidates)}
    rows: list[PassageRow] = []
    owners: list[int] = []
    for row in snapshot.passages_of_nodes([candidate.node.id for candidate in candidates if candidate.node.id]):
        index = index_of[row.node_id]
        spans = candidates[index].spans
        start, end = row.passage.start, row.passage.end
        if end > start and (not spans or any(low < end and start < high for low, high in spans)):
            rows.append(row)
            owners.append(index)
    return rows, owners


def _match_words(
    columns: SnippetColumns,
    passages: Sequence[PassageRow],
    own_passage: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    query: Query,
    fusion: Fusion,
) -> "Floats":
    """Return how well each snippet and its passage match the words of the question, from 0 to 1."""
    own = _score(columns.rows, query, fusion)
    around = _score(passages, query, fusion)
    return _OWN_SHARE * _share(own) + (1 - _OWN_SHARE) * _share(around)[own_passage]


def _score(rows: "Sequence[SnippetRow] | Sequence[PassageRow]", query: Query, fusion: Fusion) -> "Floats":
    # Their own mean length: a snippet must not look short beside passages.
    mean = sum(row.length for row in rows) / max(len(rows), 1)
    return sum_gains(
        score_terms(rows, query.terms, replace(query.statistics, mean_length=mean), fusion.title_weight)
    )


def _match_meaning(
    columns: SnippetColumns,
    passages: Sequence[PassageRow],
    own_passage: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    query: Query,
    snapshot: Snapshot,
) -> "Floats":
    """Return how near each snippet and its passage are to the question, from 0 for the farthest to 1."""
    if query.vector is None:
        return np.zeros(len(columns.rows))
    around = read_cosines(passages, {}, query, snapshot)[own_passage]
    own = snippet_cosines(columns, query.vector)
    own = np.where(np.isnan(own), around, own)
    return _OWN_SHARE * _stretch(own) + (1 - _OWN_SHARE) * _stretch(around)


def _share(score: "Floats") -> "Floats":
    top = score.max(initial=0.0)
    return score / top if top > 0 else score


def _stretch(cosine: "Floats") -> "Floats":
    """Return cosines on a scale from the lowest to the highest: they all lie close together."""
    low, high = cosine.min(initial=1.0), cosine.max(initial=-1.0)
    return (cosine - low) / (high - low) if high > low else np.ones(len(cosine))


def _factor(candidate: Candidate, weights: Mapping[str, float]) -> float:
    """Return by what boosts and lenses multiplied the sum of a candidate's weighed parts."""
    base = sum([weight * candidate.parts.get(name, 0.0) for name, weight in weights.items()])
    # Repeating what better ones say was taken off afterwards.
    return (candidate.score - candidate.parts.get("repeated", 0.0)) / base if base > 0 else 1.0


def _other_parts(candidate: Candidate, weights: Mapping[str, float]) -> float:
    """Return what a node's score has besides words and meaning, which are measured by snippet."""
    names = ("lexical", "semantic", "relevance")
    measured = sum([weights.get(name, 0.0) * candidate.parts.get(name, 0.0) for name in names])
    return candidate.score - _factor(candidate, weights) * measured
