"""One process that asks a store and tells how long each stage took, beside bare tantivy on the same documents."""

import argparse
import json
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import tantivy

from bench.measures import own_megabytes, peak_megabytes, spread
from weft import Weft
from weft.model import Filter, View
from weft.pipeline.query import proposing_terms, understand
from weft.scoring.similarity import cosines, quantise
from weft.store.embedded.vectors import open_generation

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WARM = 30
TRACED = 5
TOP = 10


def ask(store_folder: Path, records: Path, questions: Sequence[str], budget: int, embedder: str) -> dict[str, Any]:
    """Measure the latency by stage, of search alone and of the peer; memory of the process and of one assembly."""
    with Weft.open(store_folder, embedder=embedder, create=False) as weft:

        def context(question: str, observe: Callable[[str], None] | None = None) -> Any:
            return weft.context(question, max_tokens=budget, now=NOW, observe=observe)

        for question in questions[:WARM]:
            context(question)
        asked = questions[WARM:]
        measured: dict[str, Any] = _stages(context, asked)
        measured["lexical"] = spread(_each(lambda text: weft.search(text, match="bm25"), asked))
        measured["engine"] = spread(_engine(weft, asked))
        measured["hybrid"] = spread(_each(weft.search, asked))
        measured["recall"] = _recall(weft, store_folder, asked)
        measured["peak_megabytes"] = peak_megabytes()
        measured["own_megabytes"] = own_megabytes()
        measured["assembly_megabytes"] = _traced(context, questions[:TRACED])
    measured["tantivy"] = spread(_bare(records, records.parent / "tantivy", questions))
    return measured


def _stages(context: Callable[..., Any], questions: Sequence[str]) -> dict[str, Any]:
    stages: defaultdict[str, list[float]] = defaultdict(list)
    whole, processor, filled = [], [], []
    for question in questions:
        marks: list[tuple[str, float]] = []
        worked, started = time.process_time(), time.perf_counter()
        made = context(question, lambda stage, marks=marks: marks.append((stage, time.perf_counter())))
        whole.append(1000 * (time.perf_counter() - started))
        processor.append(1000 * (time.process_time() - worked))
        filled.append(made.tokens / made.max_tokens)
        for stage, at in marks:
            stages[stage].append(1000 * (at - started))
            started = at
    return {
        "context": spread(whole),
        "context_cpu": spread(processor),
        "stages": {stage: spread(values) for stage, values in stages.items()},
        "fill": sum(filled) / len(filled),
    }


def _each(function: Callable[[str], Any], questions: Sequence[str]) -> list[float]:
    taken = []
    for question in questions:
        started = time.perf_counter()
        function(question)
        taken.append(1000 * (time.perf_counter() - started))
    return taken


def _engine(weft: Weft, questions: Sequence[str]) -> list[float]:
    """Measure what the lexical index alone takes for its ten best, statistics included."""
    taken = []
    with weft.reading(View()) as reading:
        for question in questions:
            started = time.perf_counter()
            query = understand(question, reading.snapshot, None)
            reading.index.lexical(reading.snapshot, proposing_terms(query), Filter(), 10)
            taken.append(1000 * (time.perf_counter() - started))
    return taken


def _recall(weft: Weft, store_folder: Path, questions: Sequence[str]) -> float:
    """Return the share of the ten nearest passages, by a scan of all, that the semantic search finds; else 0."""
    columns = open_generation(store_folder / "derived").columns
    found = []
    with weft.reading(View()) as reading:
        for vector in reading.embedder.embed(questions) if reading.embedder is not None else ():
            query = np.frombuffer(quantise(vector[None, :])[0], dtype=np.int8)
            if len(query):
                near = cosines(columns["values"], columns["norm"], query)
                nearest = columns["passage"][np.argpartition(-near, TOP)[:TOP]]
                result = reading.index.semantic(reading.snapshot, vector, Filter(), TOP).passage_ids
                found.append(np.isin(nearest, result).mean())
    return float(np.mean(found)) if found else 0.0


def _traced(context: Callable[[str], Any], questions: Sequence[str]) -> float:
    """Return the most memory that one assembly asked Python for."""
    worst = 0
    for question in questions:
        tracemalloc.start()
        context(question)
        worst = max(worst, tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return worst / 1e6


def _bare(records: Path, folder: Path, questions: Sequence[str]) -> list[float]:
    index = bare_index(records, folder)
    searcher = index.searcher()

    def search(question: str) -> None:
        words = "".join(each if each.isalnum() else " " for each in question)
        hits = searcher.search(index.parse_query(words, ["title", "text"]), 10, count=False).hits
        _ = [searcher.doc(address)["key"] for _, address in hits]

    _each(search, questions[:WARM])
    return _each(search, questions[WARM:])


def bare_index(records: Path, folder: Path) -> Any:
    """Return the records as an index of tantivy alone, made where there is none."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("key", stored=True, tokenizer_name="raw")
    for name in ("title", "text"):
        builder.add_text_field(name, tokenizer_name="en_stem")
    schema = builder.build()
    if folder.exists():
        return tantivy.Index(schema, path=str(folder))
    folder.mkdir(parents=True)
    index = tantivy.Index(schema, path=str(folder))
    writer = index.writer(128_000_000, 1)
    for path in sorted(records.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            record = json.loads(line)
            writer.add_document(tantivy.Document(**{name: record[name] for name in ("key", "title", "text")}))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def main() -> None:
    """Ask one store and print the measures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("records", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--budget", type=int, default=4000)
    parser.add_argument("--embedder", default="static")
    given = parser.parse_args()
    questions = json.loads(given.questions.read_text("utf-8"))[: given.count + WARM]
    print(json.dumps(ask(given.store, given.records, questions, given.budget, given.embedder)))


if __name__ == "__main__":
    main()
