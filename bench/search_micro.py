"""Measures the two searches beside what they stand on.

Lexical: bare tantivy (the same index, plain term queries, no ids fetched) against EmbeddedIndex.lexical over a
store of synthetic passages of 100 words. Vectors: ways to scan rows of 256 dimensions for the best 200. With
`--vectors` and `--queries` (two .npy files of float32 rows from a real embedder) also recall against float32.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from weft.model import Filter, Node, Origin, Passage, View
from weft.ports import ChangedPassage, Changes, PreparedNode, PreparedPassage
from weft.scoring.similarity import cosines, norms, quantise, sign_bits, sign_distances, stack_rows
from weft.store.derived import Scope
from weft.store.embedded.index import EmbeddedIndex
from weft.store.embedded.lexical import engine
from weft.store.embedded.vector_writer import VectorWriter, start_columns
from weft.store.embedded.vectors import VectorGeneration, open_generation
from weft.store.sqlite.store import SqliteStore

WIDTH, WORDS, VOCABULARY = 256, 100, 50_000
NOBODY = np.zeros(0, dtype=np.int64)
VIEW = View(("default",))


def timed(name: str, action: Callable[[Any], object], arguments: Iterable[Any]) -> None:
    """Print p50 and p95 of an action in milliseconds."""
    taken = []
    for argument in arguments:
        started_at = time.perf_counter()
        action(argument)
        taken.append((time.perf_counter() - started_at) * 1000)
    low, middle, high = np.percentile(taken, [0, 50, 95])
    print(f"  {name:<44} best {low:7.2f}  p50 {middle:7.2f}  p95 {high:7.2f} ms")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--queries", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.passages:
            lexical(Path(folder), options.passages)
        for rows in options.rows:
            scans(Path(folder) / str(rows), random_rows(rows))
        if options.vectors and options.queries:
            recall(Path(folder) / "recall", np.load(options.vectors), np.load(options.queries))


# --- lexical ---------------------------------------------------------------------------------------------


def words(random: np.random.Generator, count: int) -> np.ndarray:
    """Return word hashes with the frequencies of natural text."""
    ranks = np.minimum(random.zipf(1.2, count * 3), VOCABULARY * 50)
    ranks = ranks[ranks < VOCABULARY][:count].astype(np.uint64)
    return (ranks * np.uint64(2_654_435_761) % np.uint64(2**32)).astype(np.uint32)


def prepared(random: np.random.Generator, number: int) -> PreparedNode:
    """Return one node with one passage of about a hundred words and a random vector."""
    hashes, counts = np.unique(words(random, WORDS), return_counts=True)
    body = np.minimum(counts, 15).astype(np.uint8)
    title = np.where(random.random(len(hashes)) < 0.05, 16, 0).astype(np.uint8)
    vector = random.integers(-127, 128, WIDTH, dtype=np.int8).tobytes()
    node = Node(f"s:{number}", f"kind{number % 25}", sequence=number, origin=Origin(source="s"))
    place = Passage(0, 0, 1, 1, 1)
    passage = PreparedPassage(place, hashes.astype("<u4").tobytes(), (body | title).tobytes(), WORDS, vector)
    return PreparedNode(node, str(number), (passage,), 1, b"")


def lexical(folder: Path, count: int) -> None:
    """Build a store with its index and search it."""
    random = np.random.default_rng(1)
    store = SqliteStore.open(folder / "store")
    store.remember_embedder("random", WIDTH)
    for start in range(0, count, 5000):
        store.write(Changes(upserts=tuple(prepared(random, n) for n in range(start, min(start + 5000, count)))))
    index = EmbeddedIndex(folder / "store" / "derived")
    started_at = time.perf_counter()
    index.catch_up(store)
    taken = time.perf_counter() - started_at
    print(f"{count} passages: index built in {taken:.1f} s, {index.status()['bytes'] / 1e6:.0f} MB")  # type: ignore[operator]
    questions = [sorted({int(h) for h in words(random, 40) if h > 2**22})[: 3 + n % 10] for n in range(200)]
    with store.snapshot(VIEW) as snapshot:
        generation = index._lexical.nearest(snapshot.identity, snapshot.sequence)
        assert generation
        for limit in (10, 200):
            timed(f"bare tantivy, top {limit}", lambda q, n=limit: bare(generation, q, n), questions)
            timed(f"ours, top {limit}", lambda q, n=limit: index.lexical(snapshot, q, Filter(), n), questions)
        kinds = Filter(kinds=("kind3",))
        timed("ours, top 200, one kind of 25", lambda q: index.lexical(snapshot, q, kinds, 200), questions)
        half = View(("default",), as_of=count // 2)
    with store.snapshot(half) as snapshot:
        snapshot.statistics([1])
        timed("ours, top 200, as of the middle", lambda q: index.lexical(snapshot, q, Filter(), 200), questions)
    changes(store, index, random, questions)
    store.close()


def changes(
    store: SqliteStore, index: EmbeddedIndex, random: np.random.Generator, questions: list[list[int]]
) -> None:
    """Measure what one small write costs the writer, and the next reader when nobody has caught up."""

    def write(number: int) -> None:
        store.write(Changes(upserts=(prepared(random, number),)))

    def caught_up(number: int) -> None:
        write(number)
        index.catch_up(store)

    def behind(number: int) -> None:
        write(number)
        with store.snapshot(VIEW) as snapshot:
            index.lexical(snapshot, questions[0], Filter(), 200)

    new = 10_000_000
    timed("write one node", write, range(new, new + 20))
    timed("write one node and catch up", caught_up, range(new + 20, new + 40))
    timed("write one node, search before catching up", behind, range(new + 40, new + 60))


def bare(generation: Any, hashes: list[int], limit: int) -> object:
    """Measure what the engine alone takes for the same words."""
    query, schema = engine().Query, generation.index.schema
    parts = [(engine().Occur.Should, query.term_query(schema, "terms", f"{h:08x}", "freq")) for h in hashes]
    return generation.searcher.search(query.boolean_query(parts), limit, count=False).hits


# --- vectors ---------------------------------------------------------------------------------------------


def random_rows(count: int) -> np.ndarray:
    """Return rows of random directions, already quantised."""
    return np.random.default_rng(2).integers(-127, 128, (count, WIDTH), dtype=np.int8)


def generation_of(folder: Path, rows: np.ndarray) -> VectorGeneration:
    """Return the rows written and opened as the index does it."""
    folder.mkdir(parents=True)
    writer = VectorWriter(folder, start_columns(folder, "bench", rows.shape[1]))
    for start in range(0, len(rows), 20_000):
        part = range(start, min(start + 20_000, len(rows)))
        facets = [(f"kind:kind{n % 25}", "source:s") for n in part]
        passages = [
            ChangedPassage(n, n, "default", facet, n, None, None, b"", b"", rows[n].tobytes())
            for n, facet in zip(part, facets, strict=True)
        ]
        writer.add(part, passages)
    writer.commit(1)
    return open_generation(folder)


def scans(folder: Path, rows: np.ndarray) -> None:
    """Compare ways to find the best 200 rows."""
    print(f"{len(rows)} rows of {rows.shape[1]}")
    started_at = time.perf_counter()
    generation = generation_of(folder, rows)
    print(f"  written and checked in {time.perf_counter() - started_at:.1f} s")
    queries = [rows[n] for n in range(0, 60_000, 2000)]
    lengths = norms(rows)
    if len(rows) <= 100_000:
        wide = rows.astype(np.float32)
        timed("float32, BLAS", lambda q: best(wide @ q.astype(np.float32)), queries)
        timed("int8 by numpy", lambda q: best(rows.astype(np.float32) @ q.astype(np.float32)), queries[:5])
    timed("int8 kernel, all rows", lambda q: best(cosines(rows, lengths, q)), queries)
    signs = generation.columns["signs"]
    timed("signs only", lambda q: sign_distances(signs, sign_bits(q[None, :])[0]), queries)
    all_rows = Scope(VIEW, Filter(), NOBODY)
    timed("ours, top 200", lambda q: generation.search(q, generation.rows(all_rows), 200), queries)
    one_kind = Scope(VIEW, Filter(kinds=("kind3",)), NOBODY)
    timed("ours, top 200, one kind of 25", lambda q: generation.search(q, generation.rows(one_kind), 200), queries)
    half = Scope(View(("default",), as_of=len(rows) // 2), Filter(), NOBODY)
    timed("ours, top 200, as of the middle", lambda q: generation.search(q, generation.rows(half), 200), queries)


def best(scores: np.ndarray) -> np.ndarray:
    """Return the best 200 rows."""
    return np.argpartition(scores, len(scores) - 200)[-200:]


def recall(folder: Path, corpus: np.ndarray, queries: np.ndarray) -> None:
    """Count how many of the float32 nearest are found, by the exact scan and by the two stages."""
    generation = generation_of(folder, stack_rows(quantise(corpus), corpus.shape[1]))
    rows = generation.rows(Scope(VIEW, Filter(), NOBODY))
    for name, exact_rows in (("int8, all rows", 10**9), ("two stages", 0)):
        for limit in (10, 200):
            kept = []
            for row in queries:
                true = set(np.argsort(-(corpus @ row), kind="stable")[:limit].tolist())
                query = np.frombuffer(quantise(row[None, :])[0], np.int8)
                ids, _ = generation.search(query, rows, limit, exact_rows=exact_rows)
                kept.append(len(true & set(ids[:limit].tolist())) / limit)
            print(f"  recall@{limit}, {name}: {np.mean(kept):.4f}")


if __name__ == "__main__":
    main()
