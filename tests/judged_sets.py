"""A tiny judged set with known answers, and how sets are written to disk."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

CORPUS = (
    {"id": "d1", "title": "Harbour archive", "text": "The harbour archive is kept by Mara Venn in the old tower."},
    {"id": "d2", "title": "Mara Venn", "text": "Mara Venn was born in Port Sel and owns a brass compass."},
    {"id": "d3", "title": "Port Sel", "text": "Port Sel is a fishing town with nine bridges and one clock."},
    {"id": "d4", "title": "Tomas Rell", "text": "Tomas Rell repairs clocks and once copied a key."},
    {"id": "d5", "title": "Refunds", "text": "A refund is approved by the reading within ten days."},
    {"id": "d6", "title": "Copper mine", "text": "The copper mine closed after the flood of the ninth winter."},
    {
        "id": "d7",
        "title": "The long chronicle",
        "text": " ".join(
            f"In year {year} the chronicle tells of orchards and letters." for year in range(100, 200)
        )
        + " The lighthouse keeper was named Isolde Marr. "
        + " ".join(f"In year {year} the chronicle tells of garden walls." for year in range(200, 300)),
    },
)
QUERIES = (
    {"id": "q1", "text": "Who keeps the harbour archive?", "answer": "Mara Venn"},
    {"id": "q2", "text": "Where was the keeper of the harbour archive born?", "answer": "Port Sel"},
    {"id": "q3", "text": "Who approves a refund?"},
    {"id": "q4", "text": "Who was the lighthouse keeper?", "answer": "Isolde Marr"},
    {"id": "q5", "text": "Which mine closed after the flood?", "answer": "the copper mine"},
)
QRELS = (
    ("q1", "d1", 1),
    ("q2", "d1", 1),
    ("q2", "d2", 2),
    ("q3", "d5", 1),
    ("q3", "d6", 0),
    ("q4", "d7", 1),
    ("q5", "d6", 1),
)


def lines(records: Iterable[Mapping[str, object]]) -> str:
    """Records as JSONL."""
    return "".join(json.dumps(record) + "\n" for record in records)


def table(judgements: Iterable[tuple[str, str, int]]) -> str:
    """Judgements under a header."""
    return "query-id\tdoc-id\tgrade\n" + "".join(f"{query}\t{doc}\t{grade}\n" for query, doc, grade in judgements)


def write_set(
    folder: Path,
    corpus: Iterable[Mapping[str, object]] = CORPUS,
    queries: Iterable[Mapping[str, object]] = QUERIES,
    qrels: Iterable[tuple[str, str, int]] = QRELS,
) -> Path:
    """The set in a folder that is made for it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "corpus.jsonl").write_text(lines(corpus), encoding="utf-8")
    (folder / "queries.jsonl").write_text(lines(queries), encoding="utf-8")
    (folder / "qrels.tsv").write_text(table(qrels), encoding="utf-8")
    return folder
