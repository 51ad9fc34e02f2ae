"""How well an embedder finds: python bench/embedding_quality.py DATA_FOLDER [EMBEDDER]

DATA_FOLDER holds one folder a set (corpus.jsonl, queries.jsonl, qrels.tsv). Needs bm25s beside Weft.
Prints recall at five of BM25, of the embedder alone, and of 0.7 BM25 + 0.3 cosine, each normalised to 0..1.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import Stemmer
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from weft.embed import open_embedder

SETS = ("musique", "hotpotqa", "scifact", "doc2dial", "cosqa", "fairytaleqa")
DEPTH = 200
VECTOR_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Questions:
    """One set: its documents, its questions, and the rows of the documents each question wants."""

    documents: list[str]
    questions: list[str]
    wanted: list[set[int]]


def load(folder: Path) -> Questions:
    """Read a set as its README says it is asked."""
    corpus, queries = (_lines(folder / name) for name in ("corpus.jsonl", "queries.jsonl"))
    rows = {document["id"]: row for row, document in enumerate(corpus)}
    wanted: dict[str, set[int]] = {query["id"]: set() for query in queries}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if float(grade) > 0 and query in wanted:
            wanted[query].add(rows[document])
    documents = [f"{document.get('title', '')} {document['text']}".strip() for document in corpus]
    return Questions(documents, [_asked(query) for query in queries], list(wanted.values()))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _asked(query: dict[str, Any]) -> str:
    meta = query.get("meta") or {}
    parts = [meta.get("story", ""), query["text"], *meta.get("history_recent_first", [])]
    return " ".join(part for part in parts if part)


def lexical(data: Questions) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best rows of BM25 and their scores, a line a question."""
    stemmer = Stemmer.Stemmer("english")

    def terms(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(terms(data.documents), show_progress=False)
    found, scores = index.retrieve(terms(data.questions), k=DEPTH, show_progress=False)
    return found, scores


def fused(rows: NDArray[np.int64], scores: NDArray[np.float64], cosines: NDArray[np.float32]) -> list[int]:
    """Return the five best of both lists' rows, each with its true cosine; a row BM25 did not list has 0 there."""
    near = np.argsort(-cosines, kind="stable")[:DEPTH]
    candidates = np.union1d(rows, near)
    words = np.zeros(len(candidates))
    words[np.searchsorted(candidates, rows)] = _stretched(scores)
    total = (1 - VECTOR_SHARE) * words + VECTOR_SHARE * _stretched(cosines[candidates])
    return [int(row) for row in candidates[np.argsort(-total.round(6), kind="stable")[:5]]]


def _stretched(values: NDArray[Any]) -> NDArray[Any]:
    return (values - values.min()) / max(values.max() - values.min(), 1e-9)


def recall(found: Sequence[Sequence[int]], wanted: Sequence[set[int]]) -> float:
    """Return the mean share of wanted documents among those found, in percent."""
    shares = [
        len(set(map(int, rows)) & gold) / len(gold) for rows, gold in zip(found, wanted, strict=True) if gold
    ]
    return 100 * sum(shares) / len(shares)


def main(folder: Path, spec: str) -> None:
    """Print one line a set."""
    embedder = open_embedder(spec)
    if embedder is None:
        raise SystemExit("Name an embedder, for example static.")
    print(f"{'set':12} {'BM25':>6} {embedder.name:>14} {'fused':>6}")
    for name in SETS:
        data = load(folder / name)
        rows, scores = lexical(data)
        cosines = embedder.embed(data.questions) @ embedder.embed(data.documents).T
        vector = np.argsort(-cosines, axis=1, kind="stable")[:, :5]
        together = [fused(*line) for line in zip(rows, scores, cosines, strict=True)]
        figures = [recall(found, data.wanted) for found in (rows[:, :5], vector, together)]
        print(f"{name:12} {figures[0]:6.1f} {figures[1]:14.1f} {figures[2]:6.1f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "static")
