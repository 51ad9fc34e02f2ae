"""Measure what the width of the graph costs and finds: building, bytes, searching and recall, for several graphs.

    python -m bench.graphs --size 100000 --graphs 16/64,24/100,32/128 --url URL   # schema w100000 holds the world
    python -m bench.graphs --size 1000000 --graphs 16/64 --url URL

A graph is given as m/ef_construction. The server must run on this machine and hold the world (`bench.backends`);
the last graph stays in the place of the store's own. Recall is that of the ten nearest against an exact scan.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from bench.backends import Server, running
from weft.embed import open_embedder
from weft.scoring.similarity import quantise
from weft.store.postgres.encode import from_halfvecs
from weft.store.postgres.search import RAISE_BUILD_MEMORY, graph_name

SPACE, JUDGED, NEAREST = 1, 200, 10
WIDTHS = (100, 200, 250, 300, 400)


def measure(link: psycopg.Connection[Any], server: Server, graph: str, questions: list[bytes]) -> dict[str, Any]:
    """Measure what one graph costs to build, and for each number of candidates what it finds in which time."""
    dimensions = len(questions[0])
    name = graph_name(SPACE, dimensions)
    wide, candidates = graph.split("/")
    link.execute(f"DROP INDEX IF EXISTS {name}")
    link.execute(RAISE_BUILD_MEMORY)
    begun = time.perf_counter(), server.seconds()
    link.execute(
        f"CREATE INDEX {name} ON vectors USING hnsw ((vector::halfvec({dimensions})) halfvec_cosine_ops)"
        f" WITH (m = {wide}, ef_construction = {candidates}) WHERE space = {SPACE} AND dimensions = {dimensions}"
    )
    built = {
        "graph": graph,
        "seconds": time.perf_counter() - begun[0],
        "processor_seconds": server.seconds() - begun[1],
        "bytes": _one(link, f"SELECT pg_relation_size('{name}')"),
    }
    print(json.dumps(built), flush=True)
    exact = _exact(link, questions)
    found = {str(width): _searched(link, server, width, questions, exact) for width in WIDTHS}
    return {**built, "vectors": _one(link, "SELECT count(*) FROM vectors"), "by_candidates": found}


def _exact(link: psycopg.Connection[Any], questions: list[bytes]) -> list[set[int]]:
    """Return the nearest passages of each question, from comparing it with all of them, a portion at a time."""
    asked = np.array([np.frombuffer(each, np.int8) for each in questions], np.float32)
    best: list[list[tuple[float, int]]] = [[] for _ in questions]
    with link.transaction(), psycopg.ServerCursor(link, "every_vector") as cursor:
        cursor.execute("SELECT passage_id, halfvec_send(vector) FROM vectors", binary=True)
        while rows := cursor.fetchmany(20_000):
            matrix = np.frombuffer(b"".join(from_halfvecs([row[1] for row in rows], asked.shape[1])), np.int8)
            vectors = matrix.reshape(len(rows), -1).astype(np.float32)
            scores = asked @ (vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)).T
            for place, each in enumerate(scores):
                near = np.argpartition(-each, min(NEAREST, len(rows) - 1))[:NEAREST]
                fresh = [(float(each[at]), rows[at][0]) for at in near]
                best[place] = sorted([*best[place], *fresh], reverse=True)[:NEAREST]
    return [{number for _, number in each} for each in best]


def _searched(
    link: psycopg.Connection[Any], server: Server, width: int, questions: list[bytes], exact: list[set[int]]
) -> dict[str, float]:
    link.execute(f"SET hnsw.ef_search = {width}")
    dimensions, hits, walls = len(questions[0]), 0, []
    query = (
        f"SELECT passage_id FROM vectors WHERE space = {SPACE} AND dimensions = {dimensions}"
        f" ORDER BY vector::halfvec({dimensions}) <=> %s::halfvec({dimensions}) LIMIT {NEAREST}"
    )
    before = server.seconds()
    for question, nearest in zip(questions, exact, strict=True):
        literal = f"[{','.join(map(str, np.frombuffer(question, np.int8).tolist()))}]"
        started = time.perf_counter()
        rows = link.execute(query, (literal,)).fetchall()
        walls.append(1000 * (time.perf_counter() - started))
        hits += len(nearest & {row[0] for row in rows})
    return {
        "recall_at_10": hits / (NEAREST * len(questions)),
        "processor_ms": 1000 * (server.seconds() - before) / len(questions),
        "fastest_ms": min(walls),
    }


def _one(link: psycopg.Connection[Any], query: str) -> Any:
    row = link.execute(query).fetchone()
    return row[0] if row else None


def main() -> None:
    """Build and search each graph in turn, and print what was measured."""
    parser = argparse.ArgumentParser(prog="python -m bench.graphs", description=__doc__)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--graphs", default="16/64,24/100,32/128")
    parser.add_argument("--url", required=True)
    parser.add_argument("--worlds", type=Path, default=Path(__file__).parent / "worlds")
    given = parser.parse_args()
    asked = json.loads((given.worlds / str(given.size) / "questions.json").read_text("utf-8"))[:JUDGED]
    questions = [each for each in quantise(open_embedder("static").embed(asked)) if each]
    with running(given.url) as server, psycopg.connect(given.url, autocommit=True) as link:
        link.execute(f"SET search_path = w{given.size}, public; SET weft.tenants = '*'; SET jit = off")
        for graph in given.graphs.split(","):
            print(json.dumps(measure(link, server, graph, questions)), flush=True)


if __name__ == "__main__":
    main()
