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
    others = np.array([_other_parts(candidate, weights) for candidate in candidates])
    score = np.round(measured + others[owner], _SCORE_DECIMALS)
    return _rank(candidates, columns.rows, owner.tolist(), score.tolist())


def _rank(
    candidates: Sequence[Candidate], rows: Sequence[SnippetRow], owners: Sequence[int], scores: Sequence[float]
) -> RankedSnippets:
    """Return the snippets with their order; a short text is one snippet, as good as its best one."""
    found = RankedSnippets([], [], [], [], [], [])
    for row, owner, score in zip(rows, owners, scores, strict=True):
        whole = candidates[owner].text_tokens
        is_short = whole is not None and whole <= _SHORT_TEXT_TOKENS
        if is_short and found.owner and found.owner[-1] == owner:
            found.end[-1] = row.end
            found.score[-1] = max(found.score[-1], score)
            continue
        found.owner.append(owner)
        found.start.append(row.start)
        found.end.append(row.end)
        found.tokens.append(whole if is_short and whole else row.tokens)
        found.score.append(score)
    # The candidates come in their total order, and snippets in that of the text: ties keep both.
    found.order.extend(sorted(range(len(found.score)), key=lambda index: (-found.score[index], index)))
    return found


def _choose_passages(candidates: Sequence[Candidate], snapshot: Snapshot) -> tuple[list[PassageRow], list[int]]:
    """Return the passages to print of, in the order of their candidates and texts, and the candidate of each."""
    index_of = {candidate.node.id: index for index, candidate in enumerate(candidates)}
    rows: list[PassageRow] = []
    owners: list[int] = []
    for row in snapshot.passages_of_nodes([candidate.node.id for candidate in candidates if candidate.node.id]):
        index = index_of[row.node_id]
        spans = candidates[index].spans
        # By its end, because a span may begin later than its passage, behind the title.
        if row.passage.end > row.passage.start and (not spans or any(row.passage.end == end for _, end in spans)):
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


def _other_parts(candidate: Candidate, weights: Mapping[str, float]) -> float:
    """Return what a node's score has besides words and meaning, which are measured by snippet."""
    measured = sum(
        [weights.get(name, 0.0) * candidate.parts.get(name, 0.0) for name in ("lexical", "semantic", "relevance")]
    )
    return candidate.score - measured
