"""Fit the measure by which hooks tell prompts that want something of a store, and say how well it holds.

    python -m bench.wanting --flask FOLDER --httpx FOLDER ... [--judged flask=SET.json ...] [--fit]

The folders are those of `bench.silence`: each holds what was indexed in place. Prompts that want nothing are asked
of every store, the others of the store that they are about. `--judged` adds the questions of a judged set, or the
`nothing` and `something` of a set of prompts. Each group of prompts is left out in turn, and judged by what was
fitted on the others. `--fit` writes the constants that were fitted on all.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import Struct

from bench.silence import GIN, HTTPX, NOTHING
from bench.silence_prompts import WANTS_NOTHING, WANTS_SOMETHING
from bench.wanting_prompts import ANYWHERE_SOMETHING, MORE_NOTHING, MORE_SOMETHING
from weft.api import Weft
from weft.interfaces.hooks import wanting
from weft.model import Filter, View
from weft.pipeline.calibration import CALIBRATIONS, Evidence
from weft.pipeline.query import understand
from weft.pipeline.relevance import Gauge
from weft.pipeline.retrieve import search
from weft.profiles.types import Probe

STORES: Final = (*sorted(WANTS_SOMETHING), "flask")
RIDGE: Final = 1.0
"""The penalty on large constants: there are ten times as many prompts as dimensions, not a hundred times."""
ROUNDS: Final = 60
LEAST_LOG_ODDS: Final = -6.0
"""Lower log odds of relevance say no more: the store does not speak to the prompt at all."""
COURTESIES: Final = ("ok, {}", "Thanks! {}", "{} please", "yes and {}", "now {}", "hm, {}")
"""Words around a prompt, of whatever kind, that must not change what it wants."""
COURTEOUS_WEIGHT: Final = 0.5
"""The weight of a prompt with such words beside the prompt itself."""
ANYWHERE: Final = "any"
"""The store of prompts that want something of any store that speaks to them."""


class Prompt(Struct, frozen=True):
    """A prompt, the group that it was written with, and the store that it wants something of, if any."""

    group: str
    text: str
    store: str | None = None


def main() -> None:
    """Measure the prompts, print how well the measure tells them apart, and write the constants if asked to."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in STORES:
        asked.add_argument(f"--{name}", type=Path)
    asked.add_argument("--judged", action="append", default=[], metavar="STORE=SET.json")
    asked.add_argument("--fit", action="store_true")
    given = vars(asked.parse_args())
    folders = {name: given[name] for name in STORES if given[name]}
    prompts = [*list_prompts(), *(prompt for pair in given["judged"] for prompt in read_judged(*pair.split("=")))]
    table, wanted, weight, groups = measure(prompts, folders)
    odds = np.zeros(len(wanted))
    for group in sorted(set(groups)):
        out = np.array([each == group for each in groups])
        constants = fit(table[~out], wanted[~out], weight[~out])
        odds[out] = table[out] @ constants
    spoke = weight[(odds > 0) & (wanted == 0)].sum()
    silent = weight[(odds <= 0) & (wanted == 1)].sum()
    print(
        f"left out by group: speaks at {spoke:.1f} of {weight[wanted == 0].sum():.0f} that want nothing,", end=" "
    )
    print(f"is silent at {silent:.0f} of {weight[wanted == 1].sum():.0f} that want something")
    if given["fit"]:
        constants = [round(float(each) * wanting.UNIT) for each in fit(table, wanted, weight)]
        rows = (constants[start : start + 16] for start in range(0, len(constants), 16))
        wanting.WEIGHTS.write_text("".join(" ".join(map(str, row)) + "\n" for row in rows), encoding="ascii")


def list_prompts() -> Iterator[Prompt]:
    """Yield the prompts that are in the tree."""
    yield from (Prompt("common", text) for text in NOTHING)
    yield from (Prompt("more", text) for text in MORE_NOTHING)
    yield from (Prompt(ANYWHERE, text, ANYWHERE) for text in ANYWHERE_SOMETHING)
    yield from (Prompt(name, text) for name, texts in WANTS_NOTHING.items() for text in texts)
    for name, texts in [("httpx", HTTPX), ("gin", GIN), *WANTS_SOMETHING.items(), *MORE_SOMETHING.items()]:
        yield from (Prompt(name, text, name) for text in texts)


def read_judged(store: str, path: str) -> Iterator[Prompt]:
    """Yield the prompts of a judged set."""
    read: Any = json.loads(Path(path).read_text())
    group = Path(path).stem
    if isinstance(read, dict) and "nothing" in read:
        yield from (Prompt(group, text) for text in read["nothing"])
        yield from (Prompt(group, text, store) for text in read["something"])
        return
    questions = read["questions"] if isinstance(read, dict) else read
    yield from (Prompt(group, each.get("text") or each["query"], store) for each in questions)


def measure(prompts: Sequence[Prompt], folders: dict[str, Path]) -> tuple[Any, Any, Any, list[str]]:
    """Return the measures of each prompt in each store, whether it wants something, its weight, and its group.

    A prompt counts as one, of however many stores it is asked.
    """
    rows, wanted, weight, groups = [], [], [], []

    def add(number: int, prompt: Prompt, value: float, share: float) -> None:
        courteous = COURTESIES[number % len(COURTESIES)].format(prompt.text)
        for text, part in ((prompt.text, share), (courteous, share * COURTEOUS_WEIGHT)):
            rows.append(np.r_[value, measure_text(text)])
            wanted.append(float(prompt.store is not None))
            weight.append(part)
            groups.append(prompt.group)

    for name, folder in folders.items():
        asked = [each for each in prompts if each.store in (None, name) and not wanting.is_for_a_tool(each.text)]
        with Weft.open(str(folder / ".weft"), create=False, read_only=True) as weft:
            odds = find_log_odds(weft, [each.text for each in asked])
        for number, (prompt, value) in enumerate(zip(asked, odds, strict=True)):
            add(number, prompt, value, 1.0 if prompt.store else 1 / len(folders))
        print(f"asked {name}", flush=True)
    usual = float(np.median([row[0] for row, wants in zip(rows, wanted, strict=True) if wants]))
    for number, prompt in enumerate(each for each in prompts if each.store == ANYWHERE):
        add(number, prompt, usual, 1.0)
    return np.array(rows), np.array(wanted), np.array(weight), groups


@cache
def measure_text(text: str) -> Any:
    """Return the measures of a prompt's words and meaning, and the constant term."""
    return np.r_[wanting.measure_words(text), 1.0, wanting.measure_meaning(text)]


def find_log_odds(weft: Weft, prompts: Sequence[str]) -> list[float]:
    """Return the logarithm of the odds that a store speaks to each prompt."""
    calibration = CALIBRATIONS[Evidence.WORDS_AND_MEANING]
    fusion = weft.profile("general").fusion
    odds = []
    with weft.reading(View()) as reading:
        for prompt in prompts:
            query = understand(prompt, reading.snapshot, reading.embedder)
            probe = Probe("question", limit=40)
            found = search(query, probe, Filter(), fusion, reading.snapshot, reading.index).candidates
            gauge = Gauge.of(query, Evidence.WORDS_AND_MEANING)
            best = max((gauge.measures(each).log_odds(calibration) for each in found), default=-np.inf)
            odds.append(max(float(best), LEAST_LOG_ODDS))
    return odds


def fit(table: Any, wanted: Any, weight: Any) -> Any:
    """Fit a logistic regression with a ridge by Newton's method; the constant term is not held small."""
    constants = np.zeros(table.shape[1])
    ridge = np.full(table.shape[1], RIDGE)
    ridge[len(wanting.NAMED_MEASURES)] = 1e-6
    for _ in range(ROUNDS):
        guess = 1 / (1 + np.exp(-np.clip(table @ constants, -30, 30)))
        slope = table.T @ (weight * (guess - wanted)) + ridge * constants
        bend = (table.T * (weight * guess * (1 - guess))) @ table + np.diag(ridge)
        step = np.linalg.solve(bend, slope)
        constants -= step
        if np.abs(step).max() < 1e-6:
            break
    return constants


if __name__ == "__main__":
    main()
