"""The learning memory at size: contexts of five sources, premortems, repetitions, and what a write costs.

python -m bench.learning [--memories N --experiences N --commits N --code N] [--questions N] [--again]
"""

import argparse
import asyncio
import json
import random
import shutil
import time
import tracemalloc
from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from typing import Any

from bench.learning_world import NOW, SEED, LearningWorld, Sizes
from bench.measures import percentile
from bench.world import WORLDS, kept_sentences
from weft import Weft
from weft.assemblers import FormattedContext
from weft.assemblers.learning.store_searcher import make_assembler
from weft.indexing.prepare import prepare
from weft.memory import DOMAINS, STRATEGIES
from weft.memory.memory_store import remember
from weft.model import Candidate, Node
from weft.pipeline.dedupe import Entry, dedupe
from weft.profiles.types import Dedupe
from weft.text import analyze
from weft.tokens import DEFAULT_ENCODING, counter_for

TYPES = ("memories", "code", "experiences", "values", "commits")
WARM = 10
TRACED = 3
SAMPLES = 10


def main() -> None:
    """Make the world if it is not there, measure, and print a table."""
    given = _arguments()
    sizes = Sizes(given.memories, given.experiences, given.commits, given.code)
    words = kept_sentences(None)
    store = WORLDS / f"learning-{sizes}" / ".weft"
    if given.again:
        shutil.rmtree(store, ignore_errors=True)
    with Weft.open(store) as weft:
        _make(weft, LearningWorld(sizes, words))
        figures = {"nodes": weft.status().nodes, **measure(weft, words, given.questions)}
    print(json.dumps(figures, indent=2))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, number in (("memories", 50_000), ("experiences", 20_000), ("commits", 50_000), ("code", 50_000)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--again", action="store_true")
    return parser.parse_args()


def _make(weft: Weft, world: LearningWorld) -> None:
    if weft.store.units("default", world.name):
        return
    started = time.perf_counter()
    weft.ingest([world])
    print(f"made in {time.perf_counter() - started:,.0f} s")


def measure(weft: Weft, words: Sequence[str], questions: int) -> dict[str, Any]:
    """Measure every figure, by name."""
    pick = random.Random(SEED)
    made = make_assembler(weft)
    asked = [" ".join(pick.choice(words).split()[:10]) for _ in range(questions + WARM)]
    domains = [(pick.choice(DOMAINS), pick.choice([None, *STRATEGIES])) for _ in range(questions + WARM)]
    contexts = [lambda question=question: made.assemble_context(question, TYPES) for question in asked]
    premortems = [lambda given=given: made.get_premortem_context(*given) for given in domains]
    return {
        "assemble_context": _timed(contexts),
        "premortem": _timed(premortems),
        "dedupe": _dedupe(words),
        "remember": _remember(weft, words),
    }


def _timed(calls: Sequence[Callable[[], Coroutine[Any, Any, FormattedContext]]]) -> dict[str, float]:
    """Return milliseconds of wall and processor time in one loop, as in a server, and megabytes of one call."""

    async def run() -> tuple[list[float], list[float], list[FormattedContext]]:
        wall, worked, made = [], [], []
        for call in calls:
            before, started = time.process_time(), time.perf_counter()
            made.append(await call())
            wall.append(1000 * (time.perf_counter() - started))
            worked.append(1000 * (time.process_time() - before))
        return wall[WARM:], worked[WARM:], made[WARM:]

    wall, worked, made = asyncio.run(run())
    return {
        "wall_p50_ms": round(percentile(wall, 0.5), 1),
        "wall_p95_ms": round(percentile(wall, 0.95), 1),
        "wall_best_ms": round(min(wall), 1),
        "processor_p50_ms": round(percentile(worked, 0.5), 1),
        "memory_mb": round(_traced(calls[:TRACED]), 1),
        "tokens_p50": percentile([each.token_count for each in made], 0.5),
        "items_p50": percentile([len(each.items) for each in made], 0.5),
        "failed_sources": sum(len(each.notes) for each in made),
    }


def _traced(calls: Sequence[Callable[[], Coroutine[Any, Any, FormattedContext]]]) -> float:
    peaks = []
    for call in calls:
        tracemalloc.start()
        asyncio.run(call())
        peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
    return max(peaks)


def _dedupe(words: Sequence[str]) -> dict[str, float]:
    """Measure what 500 items take; in ten samples of 1000 sentences, how many of 200 planted repetitions are
    caught in the worst one, and how many sentences are merged falsely in all of them.
    """
    distinct = _distinct(words)
    caught, false, timed = [], 0, []
    for number in range(SAMPLES):
        pick = random.Random(SEED + number)
        texts = pick.sample(distinct, 1000)
        planted = [_again(pick, text) for text in texts[:200]]
        entries = _entries(texts + planted)
        repeated = dedupe(entries, Dedupe())
        caught.append(sum(place >= 1000 for place in repeated) / len(planted))
        false += sum(place < 1000 for place in repeated)
        started = time.process_time()
        dedupe(entries[:500], Dedupe())
        timed.append(1000 * (time.process_time() - started))
    return {
        "of_500_items_ms": round(percentile(timed, 0.5), 1),
        "caught_share": round(min(caught), 3),
        "false_merges": false,
    }


def _distinct(words: Sequence[str]) -> list[str]:
    """Return one sentence of those that say the same words, whatever their order, case and marks."""
    result: dict[frozenset[str], str] = {}
    for sentence in words:
        result.setdefault(frozenset(analyze(sentence)), sentence)
    return list(result.values())


def _again(pick: random.Random, text: str) -> str:
    """Return the text as someone would say it again: other case, another mark, a word more, a typing error."""
    place = pick.randrange(1, len(text) - 2)
    return pick.choice(
        [
            text.upper(),
            text.rstrip(".") + "!",
            f"{text} Indeed.",
            text.replace(",", "").replace("the ", "this ", 1),
            text[:place] + text[place + 1] + text[place] + text[place + 2 :],
        ]
    )


def _entries(texts: Sequence[str]) -> list[Entry]:
    """Return candidates as a search returns them, with their stored sketches."""
    nodes = [(Node(f"memory:{place}", "memory", text=text), "") for place, text in enumerate(texts)]
    made = prepare(nodes, None, counter_for(DEFAULT_ENCODING)[0])
    return [Entry("memories", Candidate(each.node, sketch=each.sketch)) for each in made]


def _remember(weft: Weft, words: Sequence[str]) -> dict[str, float]:
    """Measure what storing one memory takes, its nearest compared and the search index caught up."""
    pick, shop, worked, wall = random.Random(SEED + 1), weft.workshop(), [], []
    for number in range(5):
        text = f"{pick.choice(words)} {pick.choice(words)}"
        before, started = time.process_time(), time.perf_counter()
        remember(shop, text, now=NOW + timedelta(seconds=number))
        wall.append(1000 * (time.perf_counter() - started))
        worked.append(1000 * (time.process_time() - before))
    return {"wall_p50_ms": round(percentile(wall, 0.5), 1), "processor_p50_ms": round(percentile(worked, 0.5), 1)}


if __name__ == "__main__":
    main()
