"""Whether weights that are fitted to judged sets answer more questions than the ones in use.

    python -m bench.weights SET.json=STORE ... [--budgets 1000,2000,4000] [--pull 1.0]

For each set the weights of the score of the page `general` are fitted to the questions of all other sets: among
the candidates of each question, those whose text holds one of its facts are to stand first. The pages of the set
are then made with the weights in use and with the fitted ones, and graded by their facts. Weights never fall below
0, so that more of a part never counts against a candidate, and are pulled towards those in use by `--pull`.
"""

import argparse
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from bench.calibration import all_nodes
from weft.api import Weft
from weft.evaluation.fact_sets import FactSet, missing_facts, read_fact_set

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weft.profiles.types import Profile

NOW = datetime(2026, 11, 18, tzinfo=UTC)
"""One moment for all pages: recency must not differ between two runs."""
COLLECTING_BUDGET = 4000
"""Tokens of the pages whose ledgers are learned from: more candidates are looked at than any of them prints."""
TEMPERATURE = 0.1
"""The difference of scores at which one candidate is some three times as likely to stand first."""
STEPS, RATE = 300, 0.05
"""Steps of the descent, and how far each of them goes down the slope."""


class Example(Struct, frozen=True):
    """The candidates of one question: the parts of their scores, a row each, and which of them hold a fact."""

    parts: "NDArray[np.float64]"
    holds: "NDArray[np.bool_]"


class JudgedStore(Struct, frozen=True):
    """A set of questions and the folder of the store that they are asked of."""

    questions: FactSet
    store: str


def main() -> None:
    """Fit with each set left out in turn, and print what both kinds of weights answer."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("pairs", nargs="+", metavar="SET.json=STORE")
    asked.add_argument("--budgets", default="1000,2000,4000")
    asked.add_argument("--pull", type=float, default=1.0)
    given = asked.parse_args()
    budgets = [int(each) for each in given.budgets.split(",")]
    sets = [JudgedStore(read_fact_set(Path(path)), store) for path, store in (p.split("=") for p in given.pairs)]
    examples = [collect(each) for each in sets]
    print(f"| questions about | in use: yes at {given.budgets} | fitted to the other sets | fitted weights |")
    print("|---|---|---|---|")
    for index, judged in enumerate(sets):
        others = [some for at, some in enumerate(examples) if at != index]
        with Weft.open(judged.store, create=False, read_only=True) as weft:
            profile = weft.profile("general")
            weights = fit(others, profile.score.weights, given.pull)
            in_use = answered(weft, judged.questions, profile, budgets)
            fitted = answered(weft, judged.questions, with_weights(profile, weights), budgets)
        name = f"{judged.questions.name} ({len(judged.questions.questions)})"
        print(f"| {name} | {as_row(in_use)} | {as_row(fitted)} | {as_words(weights)} |", flush=True)
    print(f"\nIn use: {as_words(profile.score.weights)}")
    print(f"Fitted to all of them: {as_words(fit(examples, profile.score.weights, given.pull))}")


def collect(judged: JudgedStore) -> list[Example]:
    """Return the candidates of each question that has some with a fact and some without."""
    examples = []
    with Weft.open(judged.store, create=False, read_only=True) as weft:
        profile = weft.profile("general")
        texts = {node.key: node.text for node in all_nodes(weft)}
        for question in judged.questions.questions:
            context = weft.context(question.text, profile=profile, max_tokens=COLLECTING_BUDGET, now=NOW)
            entries = [entry for entry in context.ledger if entry.key in texts]
            holds = np.array(
                [any(re.search(fact, texts[each.key]) for fact in question.facts) for each in entries]
            )
            rows = [[entry.parts.get(name, 0.0) for name in profile.score.weights] for entry in entries]
            if holds.any() and not holds.all():
                examples.append(Example(np.array(rows), holds))
    return examples


def holds_fact(text: str, facts: Sequence[str]) -> bool:
    """Return whether a text holds one of the facts."""
    return any(re.search(fact, text) is not None for fact in facts)


def fit(sets: Sequence[Sequence[Example]], in_use: Mapping[str, float], pull: float) -> dict[str, float]:
    """Return the weights under which candidates with a fact most likely stand first; all sets count alike."""
    start = np.array(list(in_use.values()))
    weights = start.copy()
    for _ in range(STEPS):
        slope = pull * (weights - start)
        for examples in filter(None, sets):
            slope -= sum(steepen(each, weights) for each in examples) / len(examples) / len(sets)
        weights = np.maximum(weights - RATE * slope, 0.0)
    return dict(zip(in_use, weights.round(3).tolist(), strict=True))


def steepen(example: Example, weights: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return in which direction the weights make it likelier that a candidate with a fact stands first."""
    scores = example.parts @ weights / TEMPERATURE
    chances = np.exp(scores - scores.max())
    among_all, among_holders = chances / chances.sum(), chances * example.holds / (chances * example.holds).sum()
    direction: NDArray[np.float64] = (among_holders - among_all) @ example.parts
    return direction


def with_weights(profile: "Profile", weights: Mapping[str, float]) -> "Profile":
    """Return the profile with other weights; those of snippets keep their ratio to those of words and meaning."""
    known, fusion = profile.score.weights, profile.fusion
    fusion = replace(
        fusion,
        snippet_lexical=fusion.snippet_lexical * weights["lexical"] / known["lexical"],
        snippet_semantic=fusion.snippet_semantic * weights["semantic"] / known["semantic"],
    )
    return replace(profile, fusion=fusion, score=replace(profile.score, weights=weights))


def answered(weft: Weft, questions: FactSet, profile: "Profile", budgets: Sequence[int]) -> list[int]:
    """Return how many questions can be answered from a page, by budget."""
    counts = []
    for budget in budgets:
        pages = [
            (each, weft.context(each.text, profile=profile, max_tokens=budget, now=NOW))
            for each in questions.questions
        ]
        counts.append(sum(not missing_facts(page.text, each, page.page.title) for each, page in pages))
    return counts


def as_row(counts: Sequence[int]) -> str:
    """Return the counts as they are written in tables."""
    return " / ".join(map(str, counts))


def as_words(weights: Mapping[str, float]) -> str:
    """Return weights with their names."""
    return ", ".join(f"{name} {weight}" for name, weight in weights.items())


if __name__ == "__main__":
    main()
