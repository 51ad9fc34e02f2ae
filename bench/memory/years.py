"""Live ten years with a memory, and count the durable facts that it no longer gives.

python -m bench.memory.years [--years 10] [--facts 50] [--each-week 2] [--seed 1] [--max-tokens 1000]

Facts, preferences, decisions and workflows are told in the first week. Every week afterwards brings passing
memories about the same things, some of which are shown often. At the end each durable fact is asked for: one that
the store or the page about it lacks is lost.
"""

import argparse
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Final

from weft import Weft
from weft.history.usage import UsageLog
from weft.memory.memories import memory_node, new_memory
from weft.memory.memory_store import list_memories, remember
from weft.model import DEFAULT_TENANT

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_WEEKS_A_YEAR: Final = 52
_THINGS: Final = (
    *("broker", "ledger", "proxy", "parser", "scheduler"),
    *("mailer", "importer", "gateway", "cache", "archive"),
)
_DURABLE: Final = {
    "fact": "The {thing} of {place} was written by {name}",
    "preference": "For the {thing} of {place} we prefer the reviews of {name}",
    "decision": "We decided that the {thing} of {place} stays with {name}",
    "workflow": "Releases of the {thing} in {place} are signed by {name}",
}
_PASSING: Final = {
    "context": "This week {name} looks after the {thing} of {place}, ticket {number}",
    "error": "The {thing} of {place} failed with code {number} while {name} was away",
}
_PLACES: Final = ("Bergen", "Lyon", "Porto", "Turin", "Ghent")
_NAMES: Final = ("Odile", "Marek", "Ingrid", "Tomas", "Yusuf", "Helene", "Bruno", "Agnes")


def durable_facts(random: Random, count: int) -> Iterator[tuple[str, str]]:
    """Yield durable memories with their categories, each about another thing of another place."""
    places = [(thing, place) for place in _PLACES for thing in _THINGS]
    for number, (thing, place) in enumerate(random.sample(places, min(count, len(places)))):
        category = sorted(_DURABLE)[number % len(_DURABLE)]
        yield category, _DURABLE[category].format(thing=thing, place=place, name=random.choice(_NAMES))


def passing_memories(random: Random, weeks: int, each: int) -> Iterator[tuple[str, str, datetime]]:
    """Yield memories that pass, with their categories and days."""
    for number in range(weeks * each):
        category = random.choice(sorted(_PASSING))
        thing, place, name = random.choice(_THINGS), random.choice(_PLACES), random.choice(_NAMES)
        text = _PASSING[category].format(thing=thing, place=place, name=name, number=number)
        yield category, text, START + timedelta(weeks=1 + number // each)


def question_about(fact: str) -> str:
    """Return a question whose answer is the name at the end of a fact."""
    return f"Who? {fact.rpartition(' ')[0]}"


def measure(folder: Path, asked: argparse.Namespace) -> tuple[int, int, int]:
    """Return how many durable facts there were, and how many the store and the pages have lost."""
    random = Random(asked.seed)
    facts = list(durable_facts(random, asked.facts))
    with Weft.open(folder) as weft:
        for category, text in facts:
            remember(weft.indexing_context(), text, now=START, category=category)
        weeks = asked.years * _WEEKS_A_YEAR
        # Stored as they are: what is measured is not how like memories are merged.
        passing = [
            new_memory(text, category, None, (), DEFAULT_TENANT, day)
            for category, text, day in passing_memories(random, weeks, asked.each_week)
        ]
        weft.put([memory_node(memory) for memory in passing])
        for memory in random.sample(passing, min(200, len(passing))):
            UsageLog(folder).record_uses([(DEFAULT_TENANT, memory.key)] * 5, memory.updated)
        now = START + timedelta(weeks=weeks)
        stored = {memory.text for memory in list_memories(weft.indexing_context(), limit=1_000_000)}
        missing = sum(text not in stored for _, text in facts)
        pages = [
            weft.context(question_about(text), profile=profile, max_tokens=asked.max_tokens, now=now).text
            for profile in ("general", "learning")
            for _, text in facts
        ]
    lost = sum(text not in page for page, (_, text) in zip(pages, facts * 2, strict=True))
    return len(facts), missing, lost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--years", type=int, default=10)
    parser.add_argument("--facts", type=int, default=50)
    parser.add_argument("--each-week", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-tokens", type=int, default=1_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        facts, missing, lost = measure(Path(folder), asked)
    print(f"{asked.years} years, {facts} durable facts: {missing} gone, and lost on {lost} of {2 * facts} pages")


if __name__ == "__main__":
    main()
