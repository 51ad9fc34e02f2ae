"""Plant values that change, ask for each, and count pages that show an older value as if it held.

python -m bench.memory.updates [--updates 1000] [--seed 1] [--max-tokens 1000]

Each thing gets a value and one to three newer ones, in different words. A page is stale if a line gives an older
value without saying that it is one; pages without the newest value are counted, too.
"""

import argparse
import re
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Final

from msgspec import Struct

from weft import Weft
from weft.memory.memory_store import remember

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_VALUES: Final = {
    "deadline": tuple(
        f"{month} {day}" for month in ("March", "May", "July", "October") for day in (3, 9, 14, 21, 28)
    ),
    "owner": ("Odile", "Marek", "Ingrid", "Tomas", "Yusuf", "Helene", "Bruno", "Agnes"),
    "port": tuple(str(number) for number in range(7001, 7100, 7)),
    "timeout": tuple(f"{number} seconds" for number in (5, 12, 20, 31, 45, 60, 90)),
    "region": ("Frankfurt", "Dublin", "Oregon", "Tokyo", "Mumbai", "Paris"),
    "retry limit": tuple(str(number) for number in range(2, 20)),
}
_FIRST: Final = ("The {attribute} of {subject} is {value}", "{subject}'s {attribute} is {value}.")
_LATER: Final = (
    "The {attribute} of {subject} is now {value}",
    "{subject}'s {attribute} is {value}",
    "The {attribute} of {subject} has changed to {value}",
    "Note: the {attribute} of {subject} is {value}.",
    "We moved the {attribute} of {subject} to {value}",
)
_SYLLABLES: Final = (
    "bar",
    "del",
    "fon",
    "gri",
    "hal",
    "jun",
    "kor",
    "lem",
    "mir",
    "nov",
    "pel",
    "quo",
    "ras",
    "tov",
)
_OLDER: Final = re.compile(r"\bwas\b|no longer|until|may contradict", re.IGNORECASE)
"""Words by which a page says that a value is an older one, or that it is disputed."""


class Planted(Struct, frozen=True):
    """A thing with the values it had, the newest last."""

    subject: str
    attribute: str
    values: tuple[str, ...]

    @property
    def question(self) -> str:
        return f"What is the {self.attribute} of {self.subject}?"


def plant(random: Random, number: int) -> Planted:
    """Return a thing that nobody else is called, with two to four different values."""
    digits = [_SYLLABLES[number // len(_SYLLABLES) ** place % len(_SYLLABLES)] for place in range(3)]
    attribute = random.choice(sorted(_VALUES))
    values = random.sample(_VALUES[attribute], random.randint(2, 4))
    return Planted("".join(digits).capitalize(), attribute, tuple(values))


def tell(weft: Weft, planted: Planted, random: Random, day: int) -> None:
    """Remember the values of a thing in turn, each some days after the one before."""
    for at, value in enumerate(planted.values):
        form = random.choice(_FIRST if at == 0 else _LATER)
        text = form.format(attribute=planted.attribute, subject=planted.subject, value=value)
        remember(weft.indexing_context(), text, now=START + timedelta(days=day + 7 * at))


def is_stale(page: str, planted: Planted) -> bool:
    """Return whether a page gives an older value as if it held."""
    newest = planted.values[-1]
    for line in page.splitlines():
        if planted.subject not in line or newest in line or _OLDER.search(line):
            continue
        if any(re.search(rf"\b{re.escape(value)}\b", line) for value in planted.values[:-1]):
            return True
    return False


def measure(folder: Path, updates: int, seed: int, max_tokens: int) -> tuple[int, int]:
    """Return how many pages show an older value as current, and how many lack the newest."""
    random = Random(seed)
    things = [plant(random, number) for number in range(updates)]
    with Weft.open(folder) as weft:
        for day, thing in enumerate(things):
            tell(weft, thing, random, day)
        now = START + timedelta(days=updates + 30)
        pages = [weft.context(thing.question, max_tokens=max_tokens, now=now).text for thing in things]
    stale = sum(is_stale(page, thing) for page, thing in zip(pages, things, strict=True))
    missing = sum(thing.values[-1] not in page for page, thing in zip(pages, things, strict=True))
    return stale, missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-tokens", type=int, default=1_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stale, missing = measure(Path(folder), asked.updates, asked.seed, asked.max_tokens)
    print(f"{asked.updates:,} updates: {stale} pages show an older value as current, {missing} lack the newest")


if __name__ == "__main__":
    main()
