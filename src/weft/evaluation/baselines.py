"""Make naive pages, to show beside ours what the engine is worth: passages in the order of one simple score.

`bm25` orders passages of files by BM25; `mix` by three parts of that and seven of the cosine of an embedder;
`grep` prints windows of lines that hold the rarest words of the question. All are cut at a budget by the counter
that measures our own pages.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from weft.errors import InvalidInput, SourceError, UnknownName
from weft.ports import Embedder, PassageRow, TokenCounter
from weft.sources.files import decode, looks_binary
from weft.sources.walk_files import walk
from weft.text.terms import STOP_WORDS, analyze

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Rank = Callable[[str], Sequence[str]]
"""Returns the best pieces for a question, best first."""
Dump = Callable[[str, int], str]
"""Returns a page for a question and a budget in tokens."""

BASELINES: Final = ("bm25", "grep", "mix")

_MAX_FILE_BYTES: Final = 3_000_000
"""Larger files are data, which would drown the texts."""
_PASSAGE_WORDS: Final = 150
"""Words after which a passage ends at the next blank line: the usual size of chunks, about 200 tokens."""
_MIN_PASSAGE_WORDS: Final = 60
"""Words after which a passage ends at a heading or definition; fewer would make crumbs of short sections."""
_EDGE: Final = re.compile(r"#|[=-]{4,}|\s{0,4}(?:async def|def|class|func|fn) ")
"""The beginning of a line before which a passage may end: headings, rules and definitions."""
_MEANING_SHARE: Final = 0.7
"""The part of the cosine in `mix`; BM25 has the rest."""
_MAX_LEXICAL: Final = 400
"""The best passages that keep their BM25 score in `mix`, as a search engine returns a page of hits and no more."""
_MAX_PIECES: Final = 150
"""Pieces that are tried for a page: more than fill any budget of a reader."""
_TEXTS_PER_BATCH: Final = 500
"""Texts embedded at a time, which bounds the memory they take."""
_FULL_MARGIN: Final = 25
"""Tokens below the budget at which a page counts as full: hardly any piece is shorter."""
_TINY: Final = 1e-9
"""Stands in for a divisor of zero: no passage has a word of the question, or all are equally near."""
_SCORE_DECIMALS: Final = 9
"""Decimals of scores that order passages: the last digits may differ between machines."""

_GREP_WORD: Final = re.compile(r"[a-z_][a-z_0-9]{2,}")
_GREP_WORDS: Final = 6
"""Words of a question that weigh a window, the rarest first."""
_GREP_SEARCHED: Final = 3
"""Words of these for which lines are searched: a person tries two or three."""
_LINES_BEFORE: Final = 2
_LINES_AFTER: Final = 6
"""Lines of a window after the hit; more than before it, because what a line begins is told below it."""
_MIN_LINES_APART: Final = 5
"""Hits of one file that are nearer to each other than this would print nearly the same lines."""


class TextFile(Struct, frozen=True):
    """One text file of a source by its name below the root, as lines."""

    name: str
    lines: tuple[str, ...]


def make_baselines(
    names: Sequence[str], source: Path, embedder: Embedder | None, counter: TokenCounter
) -> dict[str, Dump]:
    """Return the named baselines over the text files at a path, each as a function that makes its pages."""
    check_baselines(names, embedder)
    if not names:
        return {}
    files = tuple(read_text_files(source))
    passages = [passage for file in files for passage in split_passages(file)]
    if not passages:
        raise SourceError(f"{str(source)!r} holds no text that a baseline could print. Leave out --baseline.")
    rankings: dict[str, Callable[[], Rank]] = {
        "bm25": lambda: rank_by_words(passages),
        "mix": lambda: rank_by_words_and_meaning(passages, embedder),
        "grep": lambda: rank_windows(files),
    }
    return {name: cut_at_budget(rankings[name](), counter) for name in names}


def check_baselines(names: Sequence[str], embedder: Embedder | None) -> None:
    """Refuse names that are no baselines, and `mix` where there is no embedder."""
    for name in names:
        if name not in BASELINES:
            raise UnknownName("baseline", name, BASELINES, "Separate several by commas.")
    if "mix" in names and embedder is None:
        raise InvalidInput("The baseline 'mix' compares meanings, and --embedder is none. Leave out one of them.")


def cut_at_budget(rank: Rank, counter: TokenCounter) -> Dump:
    """Return a function that prints the best pieces that fit a budget, separated by blank lines."""
    # A question is asked with several budgets in turn, and its ranking is the same for all.
    remembered = lru_cache(maxsize=1)(rank)
    return lambda question, budget: _fill(remembered(question), budget, counter)


def _fill(pieces: Iterable[str], budget: int, counter: TokenCounter) -> str:
    """Return the pieces that fit into a budget, in their order; a piece that does not fit is left out."""
    taken: list[str] = []
    used = 0
    for piece in pieces:
        # One token for the blank line between two pieces.
        cost = counter.count(piece) + 1
        if used + cost <= budget:
            taken.append(piece)
            used += cost
        if used > budget - _FULL_MARGIN:
            break
    # Tokens do not add up exactly, and a baseline keeps the budget as strictly as we do.
    while taken and counter.count("\n\n".join(taken)) > budget:
        taken.pop()
    return "\n\n".join(taken)


# --- files and passages --------------------------------------------------------------------------------------


def read_text_files(source: Path) -> Iterator[TextFile]:
    """Yield the text files at a path, without what .gitignore and .weftignore exclude, in the order of names."""
    # The same walk as indexing, so that neither side reads what the other may not.
    for file in walk(source).files:
        if file.path.stat().st_size <= _MAX_FILE_BYTES:
            content = file.path.read_bytes()
            if not looks_binary(content):
                yield TextFile(file.name, tuple(decode(content, file.name)[0].splitlines()))


def split_passages(file: TextFile) -> Iterator[str]:
    """Yield the passages of a file, each under a line with its file and first line."""
    start = words = 0
    for number, line in enumerate(file.lines):
        ended = words > _MIN_PASSAGE_WORDS and _EDGE.match(line) is not None
        ended = ended or (words > _PASSAGE_WORDS and not line.strip())
        # Texts without blank lines, such as logs, are cut as well.
        if ended or words > 2 * _PASSAGE_WORDS:
            yield _with_place(file, start, number)
            start, words = number, 0
        words += len(line.split())
    if words:
        yield _with_place(file, start, len(file.lines))


def _with_place(file: TextFile, start: int, end: int) -> str:
    """Return some lines of a file under their place, as search programs print it."""
    return "\n".join([f"{file.name}:{start + 1}", *file.lines[start:end]])


# --- words and meaning ---------------------------------------------------------------------------------------


def rank_by_words(passages: Sequence[str]) -> Rank:
    """Return the ranking of passages by BM25 with our own terms and weights."""
    score = _lexical_scores(passages)
    return lambda question: _best(passages, score(question))


def rank_by_words_and_meaning(passages: Sequence[str], embedder: Embedder | None) -> Rank:
    """Return the ranking of passages by three parts BM25 and seven parts cosine, each scaled to 0..1."""
    assert embedder is not None, "check_baselines refuses it"
    import numpy as np

    score, vectors = _lexical_scores(passages), _embed(passages, embedder)

    def rank(question: str) -> list[str]:
        words = score(question)
        # Stable, so that of equal passages the same ones are kept everywhere.
        kept = np.argsort(-words, kind="stable")[:_MAX_LEXICAL]
        lexical = np.zeros(len(passages))
        lexical[kept] = words[kept] / max(words.max(), _TINY)
        cosines = vectors @ _embed([question], embedder)[0]
        meaning = (cosines - cosines.min()) / max(float(np.ptp(cosines)), _TINY)
        return _best(passages, (1 - _MEANING_SHARE) * lexical + _MEANING_SHARE * meaning)

    return rank


def _best(passages: Sequence[str], scores: "Floats") -> list[str]:
    import numpy as np

    # Passages come in the order of files, which settles ties.
    order = np.argsort(-scores.round(_SCORE_DECIMALS), kind="stable")[:_MAX_PIECES]
    return [passages[index] for index in order.tolist() if scores[index] > 0]


def _lexical_scores(passages: Sequence[str]) -> "Callable[[str], Floats]":
    """Return a function that scores every passage for a question by BM25."""
    from weft.model import Passage
    from weft.scoring.bm25 import TermColumns, pack, passage_statistics, score_terms, term_hashes

    rows = []
    for number, text in enumerate(passages):
        hashes, counts, length = pack((), term_hashes(analyze(text)))
        rows.append(PassageRow(number, number, Passage(0, 0, len(text), 1, 1), length, hashes, counts))
    terms = TermColumns.of(rows)

    def score(question: str) -> "Floats":
        asked: Mapping[int, float] = Counter(term_hashes(analyze(question)))
        statistics = passage_statistics(rows, list(asked)) if asked else None
        return score_terms(terms, asked, statistics, 1.0).sum(axis=1) if statistics else _zeros(len(rows))

    return score


def _zeros(size: int) -> "Floats":
    import numpy as np

    return np.zeros(size)


def _embed(texts: Sequence[str], embedder: Embedder) -> "Floats":
    """Return a unit vector for each text; zeros for a text without meaning."""
    import numpy as np

    parts = [
        np.asarray(embedder.embed(list(texts[start : start + _TEXTS_PER_BATCH])), dtype=np.float64)
        for start in range(0, len(texts), _TEXTS_PER_BATCH)
    ]
    found = np.concatenate(parts)
    unit: Floats = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), _TINY)
    return unit


# --- windows of lines ----------------------------------------------------------------------------------------


def rank_windows(files: Sequence[TextFile]) -> Rank:
    """Return the ranking of windows of lines around the rarest words of a question."""
    lowered = [(file, [line.lower() for line in file.lines]) for file in files]
    frequency = Counter(word for _, lines in lowered for line in lines for word in set(_GREP_WORD.findall(line)))

    def rank(question: str) -> list[str]:
        asked = set(_GREP_WORD.findall(question.lower())) - STOP_WORDS
        rarest = sorted((word for word in asked if frequency[word]), key=lambda word: (frequency[word], word))
        # Rare words say more, and the logarithm keeps one very rare word from deciding alone.
        worth = {word: 1 / math.log(2 + frequency[word]) for word in rarest[:_GREP_WORDS]}
        return _distinct_windows(_hits(lowered, rarest[:_GREP_SEARCHED], worth))

    return rank


def _hits(
    files: Sequence[tuple[TextFile, list[str]]], searched: Sequence[str], worth: Mapping[str, float]
) -> list[tuple[float, str, int, TextFile]]:
    """Return the lines that hold a searched word, the best window first."""
    hits = []
    for file, lines in files:
        for number, line in enumerate(lines):
            if any(word in line for word in searched):
                window = "\n".join(lines[max(0, number - _LINES_BEFORE) : number + _LINES_AFTER + 1])
                score = sum(value for word, value in worth.items() if word in window)
                hits.append((-round(score, _SCORE_DECIMALS), file.name, number, file))
    return sorted(hits, key=lambda hit: hit[:3])


def _distinct_windows(hits: Iterable[tuple[float, str, int, TextFile]]) -> list[str]:
    """Return the windows around hits, without those that lie on a better one."""
    windows: list[str] = []
    shown: set[tuple[str, int]] = set()
    for _, name, number, file in hits:
        near = range(number - _MIN_LINES_APART + 1, number + _MIN_LINES_APART)
        if any((name, line) in shown for line in near):
            continue
        shown.add((name, number))
        windows.append(_with_place(file, max(0, number - _LINES_BEFORE), number + _LINES_AFTER + 1))
        if len(windows) >= _MAX_PIECES:
            break
    return windows
