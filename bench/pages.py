"""Ask two trees of Weft the same questions in turn: are the answers the same, and what does a page cost in each?

`python -m bench.pages OTHER STORE QUESTIONS.json` starts a process for this tree and one for OTHER (a checkout
of another commit). Both are asked each question with each budget, one after the other, so that a busy machine
slows both alike. Of an answer everything is compared: page, ledger, manifest, sources, notes and figures. What a
page costs is told as processor time and as the number of calls that Python makes, which no load changes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TREE = Path(__file__).parents[1]
WARM = 20
COUNTED = 25
"""Questions whose calls are counted, after all others: counting takes longer than answering."""


def answer(weft: Any, question: str, budget: int, *, counts: bool) -> dict[str, Any]:
    """Return the digest of an answer, its processor time, and where it `counts` the calls that made it."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    started = time.process_time()
    if counts:
        sys.setprofile(count)
    made = weft.context(question, max_tokens=budget, now=NOW)
    sys.setprofile(None)
    taken = time.process_time() - started
    told = (
        made.text,
        made.tokens,
        made.sources,
        made.ledger,
        made.manifest,
        made.notes,
        dict(made.stats),
        made.id,
    )
    return {
        "digest": blake2b(repr(told).encode(), digest_size=8).hexdigest(),
        "taken": 1000 * taken,
        "calls": calls,
    }


def serve(store: Path) -> None:
    """Answer each line of the input with a line."""
    from weft import Weft

    with Weft.open(store, create=False) as weft:
        for line in sys.stdin:
            question, budget, counts = json.loads(line)
            print(json.dumps(answer(weft, question, budget, counts=counts)), flush=True)


def start(tree: Path, store: Path) -> "subprocess.Popen[str]":
    """Start a process that answers with the sources of a tree."""
    return subprocess.Popen(
        [sys.executable, __file__, "--serve", str(store)],
        env={**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONHASHSEED": "0"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def ask(process: "subprocess.Popen[str]", question: str, budget: int, *, counts: bool) -> dict[str, Any]:
    """Ask a process and wait for its answer."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the process was started without pipes")
    process.stdin.write(json.dumps([question, budget, counts]) + "\n")
    process.stdin.flush()
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


def compare(
    processes: "list[subprocess.Popen[str]]", questions: list[str], budget: int, rounds: int
) -> Iterator[tuple[str, list[float], list[int]]]:
    """Yield each question whose answers differ, or an empty text, with the times and the calls of both.

    Of several rounds the shortest time counts: what else runs on the machine only adds to it.
    """
    for question in questions[:WARM]:
        for process in processes:
            ask(process, question, budget, counts=False)
    times: dict[str, list[list[float]]] = {question: [[], []] for question in questions}
    differing: set[str] = set()
    for number in range(rounds):
        for position, question in enumerate(questions):
            # Who is asked first changes, because the second finds the pages of the store in memory.
            sides = (0, 1) if (number + position) % 2 else (1, 0)
            found = {side: ask(processes[side], question, budget, counts=False) for side in sides}
            for side in sides:
                times[question][side].append(found[side]["taken"])
            if found[0]["digest"] != found[1]["digest"]:
                differing.add(question)
    for question, taken in times.items():
        yield question if question in differing else "", [min(each) for each in taken], []
    for question in questions[:COUNTED]:
        yield "", [], [ask(each, question, budget, counts=True)["calls"] for each in processes]


def main() -> None:
    """Print a row for each budget, and the questions that are answered otherwise."""
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the tree to compare with")
    parser.add_argument("store", type=Path)
    parser.add_argument("questions", type=Path, help="a list of questions as JSON")
    parser.add_argument("--budgets", default="4000,1000")
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    questions = list(dict.fromkeys(json.loads(given.questions.read_text("utf-8"))))[: given.limit]
    processes = [start(tree, given.store) for tree in (given.other, TREE)]
    print("| tokens | differ | other, ms | here, ms | share | other, calls | here, calls | share |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    differing: list[str] = []
    for budget in map(int, given.budgets.split(",")):
        rows = list(compare(processes, questions, budget, given.rounds))
        others = [question for question, _, _ in rows if question]
        before, after = (statistics.mean(taken[side] for _, taken, _ in rows if taken) for side in (0, 1))
        calls = [statistics.mean(made[side] for _, _, made in rows if made) for side in (0, 1)]
        print(
            f"| {budget} | {len(others)} of {len(questions)} | {before:.2f} | {after:.2f} | {after / before:.3f} "
            f"| {calls[0]:,.0f} | {calls[1]:,.0f} | {calls[1] / calls[0]:.2f} |",
            flush=True,
        )
        differing += [f"{budget}: {question}" for question in others]
    for process in processes:
        process.communicate()
    print(*differing[:20], sep="\n")


if __name__ == "__main__":
    main()
