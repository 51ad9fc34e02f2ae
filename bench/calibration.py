"""How well the calibrated relevance tells questions of a store from others, and the constants that fit best.

    python -m bench.calibration SET.json=STORE ... [--silence PROMPTS.json] [--fit] [--floor 0.25]
        [--plot FILE.svg]

A set has `questions`, each with a `text` and the patterns of its `facts`; its store holds what they ask about.
Every set is asked of its own store, where it is relevant, and of all others, where it is not. `--silence` adds
prompts that no store should answer (`nothing`, `foreign`). `--fit` fits the constants, with each store left out in
turn, and prints them for pipeline/relevance.py. `--plot` draws the share relevant against the score, a line for
each store asked and one for all together, with the constants in use.
"""

import argparse
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from weft.api import Weft
from weft.model import Filter, Node, View
from weft.pipeline.calibration import CALIBRATIONS, Calibration, Evidence
from weft.pipeline.query import understand
from weft.pipeline.relevance import Gauge, Measures
from weft.pipeline.retrieve import search
from weft.profiles.types import Probe
from weft.text.sentences import is_about_whole

SAMPLE_SIZES = (1, 4, 20, 100)
"""Nodes of a store that a small store is made of, beside those that hold the facts of its question."""
BINS = 10
QUARTERS = 4
"""Steps of the score in the lines by store, which have too few questions for tenths."""
BAR = 40
ROUNDS = 5
"""Times that the best candidate of each question is chosen anew by the constants fitted last."""
KIND_WEIGHTS = {"own": 5.0, "foreign": 2.0, "near code": 0.5}
"""How much a kind of cases counts beside the others: real questions most, those that another store half answers
least."""
RIDGE = 1e-3
"""The penalty on large constants: the measures are few and nearly independent."""


class Case(Struct, frozen=True):
    """One question asked of one store: the measures of its candidates, and whether the store speaks to it."""

    store: str
    set: str
    kind: str
    question: str
    relevant: bool
    measures: tuple[Measures, ...]

    def log_odds(self, calibration: Calibration) -> float:
        """Return the log odds of the best candidate."""
        return max([each.log_odds(calibration) for each in self.measures], default=-20.0)


def main() -> None:
    """Collect the cases, fit if asked to, and print how relevance and truth agree."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("pairs", nargs="+", metavar="SET.json=STORE")
    asked.add_argument("--silence", type=Path)
    asked.add_argument("--fit", action="store_true")
    asked.add_argument("--floor", type=float, default=0.25)
    asked.add_argument("--plot", type=Path)
    given = asked.parse_args()
    sets = {Path(pair.split("=")[0]).stem: pair.split("=") for pair in given.pairs}
    questions = {name: json.loads(Path(path).read_text())["questions"] for name, (path, _) in sets.items()}
    prompts = json.loads(given.silence.read_text()) if given.silence else {}
    cases = []
    for name, (_, store) in sets.items():
        with Weft.open(store, create=False, read_only=True) as weft:
            cases += collect(weft, name, questions, prompts)
            if given.fit:
                cases += collect_small(weft, name, questions)
        print(f"asked {name}", flush=True)
    if given.plot:
        in_use = CALIBRATIONS[Evidence.WORDS_AND_MEANING]
        given.plot.write_text(plot(cases, [case.log_odds(in_use) for case in cases], given.floor))
    for evidence in Evidence:
        calibration = CALIBRATIONS[evidence]
        if given.fit:
            calibration = fit(cases, evidence)
            print(f"\nEvidence.{evidence.name}: {calibration}")
            report(cases, held_out(cases, evidence), given.floor, f"{evidence.name}, held out store by store")
        report(cases, [case.log_odds(calibration) for case in cases], given.floor, evidence.name)


# --- asking ------------------------------------------------------------------------------------------------


def collect(
    weft: Weft, store: str, questions: dict[str, list[dict[str, Any]]], prompts: dict[str, Any]
) -> Iterator[Case]:
    """Ask a store its own questions, those of the other sets, and prompts that it should not answer."""
    for name, texts in questions.items():
        family, own_family = name.split("_")[0], store.split("_", maxsplit=1)[0]
        # Sets are named <family>_<what>: questions about one web framework are almost those about another.
        kind = "own" if name == store else f"{'near' if family == own_family else 'far'} {family}"
        for each in texts:
            # Questions about the whole are never silenced, so they must not bend the constants.
            if not is_about_whole(each["text"]):
                yield ask(weft, store, name, kind, each["text"], name == store)
    for kind in ("nothing", "foreign"):
        for text in prompts.get(kind, ()):
            yield ask(weft, store, kind, kind, text, False)
    chosen = random.Random(7)
    for node in chosen.sample(all_nodes(weft), 60):
        words = re.findall(r"[A-Za-z_]{4,}", node.text)
        if len(words) > 12:
            start = chosen.randrange(len(words) - 3)
            words = words[start : start + chosen.choice((1, 2, 2, 3))]
            yield ask(weft, store, store, "own words", " ".join(words).lower(), True)


def collect_small(weft: Weft, store: str, questions: dict[str, list[dict[str, Any]]]) -> Iterator[Case]:
    """Ask small samples of a store: with the nodes that hold the facts, its question; and one of another set."""
    nodes, chosen = all_nodes(weft), random.Random(5)
    others = [each["text"] for name, texts in questions.items() if name != store for each in texts]
    for number, each in enumerate(questions[store]):
        holders = [[node for node in nodes if re.search(fact, node.text)] for fact in each["facts"]]
        if is_about_whole(each["text"]) or not all(holders):
            continue
        size = SAMPLE_SIZES[number % len(SAMPLE_SIZES)]
        kept = {node.key: node for node in chosen.sample(nodes, min(size, len(nodes)))}
        kept |= {node.key: node for node in (chosen.choice(found) for found in holders)}
        with tempfile.TemporaryDirectory() as folder, Weft.open(Path(folder) / ".weft") as small:
            small.put([replace(node, id=0) for node in kept.values()])
            yield ask(small, store, store, f"own, {size} nodes", each["text"], True)
            for text in chosen.sample(others, 2):
                yield ask(small, store, "others", f"other, {size} nodes", text, False)


def all_nodes(weft: Weft) -> list[Node]:
    """Return all nodes of a store in the order of their keys."""
    nodes: list[Node] = []
    while page := weft.nodes(after=nodes[-1].id if nodes else 0, limit=200, filter=Filter()):
        nodes += page
    return sorted(nodes, key=lambda node: node.key)


def ask(weft: Weft, store: str, name: str, kind: str, question: str, relevant: bool) -> Case:
    """Search for a question, and return the measures of what is found."""
    with weft.reading(View()) as reading:
        query = understand(question, reading.snapshot, reading.embedder)
        fusion = weft.profile("general").fusion
        found = search(query, Probe("question", limit=40), Filter(), fusion, reading.snapshot, reading.index)
    gauge = Gauge.of(query, Evidence.WORDS_AND_MEANING)
    measures = tuple(gauge.measures(candidate) for candidate in found.candidates)
    return Case(store, name, kind, question, relevant, measures)


# --- fitting -----------------------------------------------------------------------------------------------

USED = {
    Evidence.WORDS_AND_MEANING: ("coverage", "cosine", "known", "terms", "passages", "unknown_names"),
    Evidence.WORDS: ("coverage", "known", "terms", "passages", "unknown_names"),
    # Without the share of known words, which would let a small store list everything.
    Evidence.MEANING: ("cosine", "terms", "passages", "unknown_names"),
}


def fit(cases: Sequence[Case], evidence: Evidence) -> Calibration:
    """Return the constants by which the best candidates of the cases tell relevant from not, all kinds alike."""
    names = USED[evidence]
    answered = [case for case in cases if case.measures]
    sizes = Counter((case.relevant, case.kind) for case in answered)
    sides = {side: sum(KIND_WEIGHTS.get(kind, 1.0) for of, kind in sizes if of is side) for side in (True, False)}
    # A kind counts by its weight, however many cases it has, and both sides count alike.
    weight = np.array(
        [
            KIND_WEIGHTS.get(case.kind, 1.0) / sizes[case.relevant, case.kind] / sides[case.relevant]
            for case in answered
        ]
    )
    truth = np.array([case.relevant for case in answered], dtype=float)
    calibration = CALIBRATIONS[evidence]
    for _ in range(ROUNDS):
        best = [max(case.measures, key=lambda each: each.log_odds(calibration)) for case in answered]
        table = np.array([[getattr(each, name) for name in names] for each in best])
        constants, constant = logistic(table, truth, weight * len(answered))
        values = dict.fromkeys(asdict(calibration), 0.0) | dict(zip(names, constants, strict=True))
        calibration = Calibration(**{**{name: round(float(value), 2) for name, value in values.items()}})
        calibration = replace(calibration, constant=round(float(constant), 2))
    return calibration


def logistic(table: Any, truth: Any, weight: Any) -> tuple[Any, float]:
    """Fit a logistic regression by Newton's method; return the constants and the intercept."""
    mean, spread = table.mean(0), table.std(0) + 1e-9
    scaled = np.c_[(table - mean) / spread, np.ones(len(table))]
    penalty = RIDGE * weight.sum() * np.r_[np.ones(table.shape[1]), 0.0]
    beta = np.zeros(scaled.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-scaled @ beta))
        slope = scaled.T @ (weight * (chance - truth)) + penalty * beta
        curve = (scaled * (weight * chance * (1 - chance))[:, None]).T @ scaled + np.diag(penalty + 1e-9)
        beta -= np.linalg.solve(curve, slope)
    constants = beta[:-1] / spread
    return constants, float(beta[-1] - constants @ mean)


def held_out(cases: Sequence[Case], evidence: Evidence) -> list[float]:
    """Return the log odds of each case by constants to which neither its store nor that store's set gave any."""
    by_store = {}
    for store in sorted({case.store for case in cases}):
        by_store[store] = fit([case for case in cases if store not in (case.store, case.set)], evidence)
    return [case.log_odds(by_store[case.store]) for case in cases]


# --- printing ----------------------------------------------------------------------------------------------


def report(cases: Sequence[Case], scores: Sequence[float], floor: float, title: str) -> None:
    """Print the share of each kind below the floor, and the share relevant against the score."""
    chances = [1 / (1 + np.exp(-score)) for score in scores]
    print(f"\n## {title}\nbelow the floor of {floor}, by what was asked:")
    for kind in sorted({case.kind for case in cases}):
        below = [chance < floor for case, chance in zip(cases, chances, strict=True) if case.kind == kind]
        print(f"  {kind:20} {sum(below):5d} of {len(below):5d}  {bar(sum(below) / len(below))}")
    print(f"share relevant against score (AUC of own questions against all others: {auc(cases, chances):.3f}):")
    for low in range(BINS):
        inside = [
            case.relevant
            for case, chance in zip(cases, chances, strict=True)
            if low <= min(chance * BINS, BINS - 1e-9) < low + 1
        ]
        share = sum(inside) / len(inside) if inside else 0.0
        print(f"  {low / BINS:.1f} to {(low + 1) / BINS:.1f} {len(inside):5d}  {bar(share)}")
    print(f"share relevant by store asked, in {QUARTERS} steps of the score (questions asked at it):")
    for name in sorted({case.store for case in cases}):
        inside = [(case.relevant, c) for case, c in zip(cases, chances, strict=True) if case.store == name]
        steps = [
            [own for own, c in inside if min(int(c * QUARTERS), QUARTERS - 1) == at] for at in range(QUARTERS)
        ]
        shares = [f"{sum(step) / len(step):.2f} ({len(step)})" if step else "-" for step in steps]
        print(f"  {name:34} {' '.join(f'{share:>12}' for share in shares)}")
    print("own questions by set, from the least relevant:")
    for name in sorted({case.set for case in cases if case.kind == "own"}):
        own = sorted(c for case, c in zip(cases, chances, strict=True) if case.kind == "own" and case.set == name)
        print(f"  {name:34} {' '.join(f'{each:.2f}' for each in own[:8])}")


def auc(cases: Sequence[Case], chances: Sequence[float]) -> float:
    """Return how often an own question scores above one that is not relevant."""
    own = np.array([chance for case, chance in zip(cases, chances, strict=True) if case.kind == "own"])
    other = np.array([chance for case, chance in zip(cases, chances, strict=True) if not case.relevant])
    return float((own[:, None] > other).mean())


def bar(share: float) -> str:
    """Return a share as a bar of text and a number."""
    return f"{'#' * round(BAR * share):{BAR}} {share:.2f}"


# --- drawing -----------------------------------------------------------------------------------------------

SIDE, MARGIN = 400, 60
"""The side of the drawn square, and the room around it for its labels."""
MIN_CASES = 5
"""Cases of a step from which on its share is drawn: fewer jump by chance."""


def plot(cases: Sequence[Case], scores: Sequence[float], floor: float) -> str:
    """Return a drawing of the share relevant against the score: by store in quarters, for all in tenths."""
    chances = [float(1 / (1 + np.exp(-score))) for score in scores]
    stores = sorted({case.store for case in cases})
    lines = [
        drawn_line([0.0, 1.0], [0.0, 1.0], "#999", "4 4"),
        drawn_line([floor, floor], [0.0, 1.0], "#999", "1 3"),
        drawn_text(MARGIN + SIDE / 2, SIDE + 2 * MARGIN - 12, "relevance", "middle"),
        drawn_text(8, MARGIN - 20, "share of the questions that the store speaks to"),
    ]
    for at in (0.0, 0.25, 0.5, 0.75, 1.0):
        lines.append(drawn_text(MARGIN + SIDE * at, SIDE + MARGIN + 20, f"{at:g}", "middle"))
        lines.append(drawn_text(MARGIN - 8, MARGIN + SIDE * (1 - at) + 4, f"{at:g}", "end"))
    for number, name in enumerate([*stores, "all"]):
        inside = [
            (c, case.relevant) for case, c in zip(cases, chances, strict=True) if name in (case.store, "all")
        ]
        steps = BINS if name == "all" else QUARTERS
        colour = "#000" if name == "all" else f"hsl({round(360 * number / len(stores))} 70% 45%)"
        lines.append(drawn_line(*shares_by_score(inside, steps), colour, "", 3 if name == "all" else 1))
        lines.append(drawn_text(2 * MARGIN + SIDE - 40, MARGIN + 18 * number, name, "start", colour))
    width, height = SIDE + 2 * MARGIN + 220, SIDE + 2 * MARGIN
    box = f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box}>'
    frame = f'<rect x="{MARGIN}" y="{MARGIN}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#ccc"/>'
    return "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', frame, *lines, "</svg>\n"])


def shares_by_score(cases: Sequence[tuple[float, bool]], steps: int) -> tuple[list[float], list[float]]:
    """Return the mean score of each step that has enough cases, and the share of these that are relevant."""
    binned = [[each for each in cases if min(int(each[0] * steps), steps - 1) == step] for step in range(steps)]
    full = [some for some in binned if len(some) >= MIN_CASES]
    means = [np.mean(np.array(some, dtype=float), axis=0).tolist() for some in full]
    return [score for score, _ in means], [share for _, share in means]


def drawn_line(across: Sequence[float], up: Sequence[float], colour: str, dashes: str = "", width: int = 1) -> str:
    """Return a line through points of the unit square."""
    points = " ".join(
        f"{MARGIN + SIDE * x:.1f},{MARGIN + SIDE * (1 - y):.1f}" for x, y in zip(across, up, strict=True)
    )
    style = f'fill="none" stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dashes}"'
    return f'<polyline points="{points}" {style}/>'


def drawn_text(x: float, y: float, text: str, anchor: str = "start", colour: str = "#333") -> str:
    """Return a label."""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}">{text}</text>'


if __name__ == "__main__":
    main()
