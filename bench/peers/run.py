"""Ask Weft, LanceDB and bare tantivy the same questions in turn, so that a busy machine slows all of them alike.

python -m bench.peers.run [--size 100000] [--questions 100]

LanceDB runs in an environment of its own (`make bench` makes it; by hand: `python -m venv .venv-peers` and
`.venv-peers/bin/pip install -r bench/peers/requirements.txt`). It gets the vectors that Weft's embedder makes.
"""

import argparse
import json
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.asking import NOW, bare_index
from bench.measures import spread
from bench.world import world
from weft import Weft
from weft.embed import open_embedder
from weft.ports import Embedder

ROOT = Path(__file__).parents[2]
WARM = 20
TEXTS_PER_BATCH = 2_000


def measure(size: int, count: int, python: Path) -> dict[str, dict[str, Any]]:
    """Return the spread of wall and processor time by what was asked."""
    made = world(size, None)
    folder = made.folder.parent
    questions = json.loads(made.questions.read_text("utf-8"))[: count + WARM]
    # LanceDB answers an empty question with an error.
    questions = [question for question in questions if any(map(str.isalnum, question))]
    taken: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    with Weft.open(folder / "store-static", embedder="static", create=False) as weft:
        embedder = open_embedder("static")
        _keep_vectors(made.folder, folder / "lance.npy", embedder)
        command = [
            str(python),
            str(ROOT / "bench" / "peers" / "lance.py"),
            str(made.folder),
            str(folder / "lance"),
        ]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as lance:
            assert lance.stdin is not None
            assert lance.stdout is not None
            lance.stdout.readline()
            for number, question in enumerate(questions):
                for name, milliseconds in _ask_all(question, weft, embedder, made.folder, lance):
                    if number >= WARM:
                        taken[name].append(milliseconds)
            lance.stdin.close()
    return {
        name: {"wall": spread([wall for wall, _ in each]), "processor": spread([own for _, own in each])}
        for name, each in taken.items()
    }


def _keep_vectors(records: Path, file: Path, embedder: Embedder) -> None:
    """Write the vectors of all records, unless an earlier run has."""
    if file.exists():
        return
    lines = [line for path in sorted(records.glob("*.jsonl")) for line in path.open(encoding="utf-8")]
    texts = [f"{row['title']}\n{row['text']}" for row in map(json.loads, lines)]
    batches = range(0, len(texts), TEXTS_PER_BATCH)
    np.save(file, np.concatenate([embedder.embed(texts[start : start + TEXTS_PER_BATCH]) for start in batches]))


def _ask_all(
    question: str, weft: Weft, embedder: Embedder, records: Path, lance: "subprocess.Popen[str]"
) -> Sequence[tuple[str, tuple[float, float]]]:
    """Ask everybody one question, one after the other."""
    index = bare_index(records, records.parent / "tantivy")
    searcher, words = index.searcher(), "".join(each if each.isalnum() else " " for each in question)
    vector = embedder.embed([question])[0].tolist()

    def lancedb(limit: int) -> tuple[float, float]:
        assert lance.stdin is not None
        assert lance.stdout is not None
        lance.stdin.write(json.dumps({"question": question, "vector": vector, "limit": limit}) + "\n")
        lance.stdin.flush()
        answer = json.loads(lance.stdout.readline())
        return answer["wall"], answer["processor"]

    def tantivy() -> None:
        hits = searcher.search(index.parse_query(words, ["title", "text"]), 100, count=False).hits
        _ = [searcher.doc(address)["key"] for _, address in hits]

    return [
        ("Weft, page of 4,000 tokens", _timed(lambda: weft.context(question, max_tokens=4000, now=NOW))),
        ("LanceDB, hybrid, 100 rows", lancedb(100)),
        ("Weft, page of 1,000 tokens", _timed(lambda: weft.context(question, max_tokens=1000, now=NOW))),
        ("LanceDB, hybrid, 10 rows", lancedb(10)),
        ("Weft, search for 100", _timed(lambda: weft.search(question, limit=100))),
        ("tantivy alone, words, 100 rows", _timed(tantivy)),
    ]


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    worked, started = time.process_time(), time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started), 1000 * (time.process_time() - worked)


def table(found: dict[str, dict[str, Any]]) -> str:
    """Return the figures as a markdown table, with each beside LanceDB's hundred rows."""
    reference = found["LanceDB, hybrid, 100 rows"]["wall"]["p50"]
    lines = ["| ms | p50 | p95 | processor time p50 | of LanceDB's 100 rows |", "|---|---:|---:|---:|---:|"]
    for name, each in found.items():
        wall, own = each["wall"], each["processor"]["p50"]
        lines.append(
            f"| {name} | {wall['p50']:.1f} | {wall['p95']:.1f} | {own:.1f} | {wall['p50'] / reference:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers.run", description=__doc__)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--python", type=Path, default=ROOT / ".venv-peers" / "bin" / "python")
    given = parser.parse_args()
    print(table(measure(given.size, given.questions, given.python)))


if __name__ == "__main__":
    main()
