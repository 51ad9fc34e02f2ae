"""How alike to nonsense the nearest node of a store is: what a probe's `floor` has to lie above."""

import argparse
import random
from pathlib import Path

from weft.api import Weft

FLOORS = (0.40, 0.46, 0.50)
CONSONANTS, VOWELS, LETTERS = "bcdfghjklmnprstvwz", "aeiou", "abcdefghijklmnopqrstuvwxyz"


def main() -> None:
    """Ask for words that are none, and print the nearest cosines by how the words are made."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("store", type=Path)
    asked.add_argument("--questions", type=int, default=300)
    given = asked.parse_args()
    with Weft.open(given.store, create=False) as weft:
        for name, word in (("letters", letters), ("syllables", syllables)):
            chosen = random.Random(1)
            found = sorted(nearest(weft, f"{word(chosen)} {word(chosen)}") for _ in range(given.questions))
            middle, high = (found[int(len(found) * share)] for share in (0.5, 0.95))
            over = ", ".join(
                f"{sum(each >= floor for each in found) / len(found):.1%} reach {floor}" for floor in FLOORS
            )
            print(f"{name}: p50 {middle:.2f}, p95 {high:.2f}; {over}")


def nearest(weft: Weft, question: str) -> float:
    """Return the cosine of the nearest node that shares no word with the question."""
    found = weft.search(question, match="vector", limit=5, floor=0).candidates
    return max((each.parts["semantic"] for each in found if not each.parts.get("lexical")), default=0.0)


def letters(chosen: random.Random) -> str:
    """Return a word of random letters."""
    return "".join(chosen.choices(LETTERS, k=chosen.randint(4, 8)))


def syllables(chosen: random.Random) -> str:
    """Return a word that could be said."""
    return "".join(chosen.choice(CONSONANTS) + chosen.choice(VOWELS) for _ in range(chosen.randint(2, 4)))


if __name__ == "__main__":
    main()
