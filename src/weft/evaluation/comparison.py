"""Compare runs: take one ability away from a profile, and decide whether one run is really better than another.

An ablation is the same pipeline with other values. Two runs are compared by a paired bootstrap over the questions
that both answered.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from weft.errors import InvalidInput
from weft.evaluation.judged_sets import objects
from weft.model import Detail
from weft.ports import Problem
from weft.profiles.types import Profile, Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


Rows = Mapping[str, Mapping[str, float]]
"""Measures by question."""

RESAMPLES: Final = 10_000
"""Samples drawn: the ends of the interval then vary by about a hundredth of its width."""
SEED: Final = 20_000
"""The seed of the random draws: any will do, and a fixed one gives the same interval every time."""
_RESAMPLES_PER_CHUNK: Final = 500
"""Samples drawn at a time, which bounds the memory they take."""
_CONFIDENCE: Final = 0.95
"""The share of resamples that the interval holds, as is usual."""
_MIN_DIFFERING_QUESTIONS: Final = 6
"""Fewer questions that differ could all fall to one side by chance: five do once in sixteen."""


# --- ablations -----------------------------------------------------------------------------------------------


def without_ability(profile: Profile, ability: str) -> Profile:
    """Return the profile without the named ability, one of ABLATIONS."""
    return ABLATIONS[ability](profile)


def _without_vector(profile: Profile) -> Profile:
    """Search by words only: every probe matches words, and meaning has no weight."""
    # A profile that searches by meaning alone would otherwise be left without any search.
    lexical = profile.fusion.lexical or 1.0
    return replace(
        profile,
        probes=tuple(replace(probe, match="bm25") for probe in profile.probes),
        fusion=replace(profile.fusion, semantic=0.0, lexical=lexical),
    )


def _without_graph(profile: Profile) -> Profile:
    """Follow no link, and let no rare word lead from one text to another."""
    sections = tuple(
        replace(section, score=section.score and _without_bridges(section.score)) for section in profile.sections
    )
    return replace(
        profile,
        # Bridges follow names from text to text, which is a graph too: both are taken away.
        lenses=tuple(replace(lens, walk="none") for lens in profile.lenses),
        score=_without_bridges(profile.score),
        sections=sections,
    )


def _without_bridges(score: Score) -> Score:
    def others(weights: Mapping[str, float]) -> dict[str, float]:
        return {signal: weight for signal, weight in weights.items() if signal != "bridge"}

    return replace(
        score,
        weights=others(score.weights),
        boosts=others(score.boosts),
        without={signal: others(weights) for signal, weights in score.without.items()},
    )


def _without_dedupe(profile: Profile) -> Profile:
    """Let the same thing be printed twice."""
    sections = tuple(
        replace(section, dedupe=section.dedupe and replace(section.dedupe, scope="none"))
        for section in profile.sections
    )
    return replace(profile, dedupe=replace(profile.dedupe, scope="none"), sections=sections)


def _without_excerpting(profile: Profile) -> Profile:
    """Print what does not fit whole by its summary or a pointer."""

    def ladder(detail: tuple[Detail, ...]) -> tuple[Detail, ...]:
        # A section that knew only excerpts must keep some level, or it would print nothing.
        return tuple(level for level in detail if level is not Detail.EXCERPT) or (Detail.POINTER,)

    sections = tuple(
        replace(
            section,
            # Snippets are excerpts too.
            unit="node" if section.unit == "snippet" else section.unit,
            detail=ladder(section.detail),
            parts=tuple(replace(part, detail=ladder(part.detail)) for part in section.parts),
        )
        for section in profile.sections
    )
    return replace(profile, sections=sections)


ABLATIONS: Final[Mapping[str, Callable[[Profile], Profile]]] = {
    "vector": _without_vector,
    "graph": _without_graph,
    "dedupe": _without_dedupe,
    "excerpting": _without_excerpting,
}
"""The abilities that can be taken away, each with the function that does it."""


# --- differences between two runs ----------------------------------------------------------------------------


class Difference(Struct, frozen=True):
    """One measure in two runs: both means, the second less the first with its 95 % interval, and the two-sided
    share of resamples in which the difference vanishes. It is real when the interval leaves out zero and at least
    six questions differ."""

    measure: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    real: bool


def read_rows(path: Path) -> dict[str, dict[str, float]]:
    """Read the measures by question that `--per-query` wrote."""
    problems: list[Problem] = []
    rows: dict[str, dict[str, float]] = {}
    for number, record in objects(path, problems):
        measures = record.get("measures")
        if "id" not in record or not _are_numbers(measures):
            problems.append(Problem(f"{path.name}:{number}", "The line has no `id` or no `measures` in numbers."))
        else:
            rows[str(record["id"])] = dict(measures)
    # Unlike a judged set, this file was written by us: one bad line means that it is the wrong file.
    if problems or not rows:
        first = f"{problems[0].where}: {problems[0].reason}" if problems else f"{path} is empty."
        raise InvalidInput(f"{first} Give files that `weft eval --per-query` wrote.")
    return rows


def _are_numbers(value: object) -> TypeGuard[Mapping[str, float]]:
    return isinstance(value, Mapping) and all(type(number) in (int, float) for number in value.values())


def compare(first: Rows, second: Rows, *, seed: int = SEED) -> tuple[Difference, ...]:
    """Return the difference in every measure that both runs have, over the questions that both have."""
    import numpy as np

    # Paired: questions differ far more from each other than runs do, and pairing takes that out.
    questions, names = _shared_rows(first, second)
    left = np.array([[first[id][name] for name in names] for id in questions])
    right = np.array([[second[id][name] for name in names] for id in questions])
    drawn = _resample(right - left, seed)
    low, high = np.quantile(drawn, [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2], axis=0)
    # Two-sided, so the smaller tail counts twice; ties at zero can lift that above one.
    p = np.minimum(1.0, 2 * np.minimum((drawn <= 0).mean(axis=0), (drawn >= 0).mean(axis=0)))
    real = ((low > 0) | (high < 0)) & (np.count_nonzero(right - left, axis=0) >= _MIN_DIFFERING_QUESTIONS)
    return tuple(
        Difference(
            measure=name,
            first=_rounded(left[:, column].mean()),
            second=_rounded(right[:, column].mean()),
            difference=_rounded((right - left)[:, column].mean()),
            low=_rounded(low[column]),
            high=_rounded(high[column]),
            p=_rounded(p[column]),
            real=bool(real[column]),
        )
        for column, name in enumerate(names)
    )


def _shared_rows(first: Rows, second: Rows) -> tuple[list[str], list[str]]:
    """Return the questions and the measures that both runs have."""
    shared = sorted(first.keys() & second.keys())
    if not shared:
        raise InvalidInput("The two files have no question in common. Compare runs over the same set.")
    names = [name for name in first[shared[0]] if all(name in first[id] and name in second[id] for id in shared)]
    if not names:
        raise InvalidInput("The two files have no measure in common. Compare runs with the same budgets.")
    return shared, names


def _rounded(value: "np.floating[Any]") -> float:
    return round(float(value), 6)


def _resample(differences: "Floats", seed: int) -> "Floats":
    """Return the mean differences of samples drawn with replacement; the same questions for every measure."""
    import numpy as np

    count = len(differences)
    random = np.random.default_rng(seed)
    parts: list[Floats] = []
    for start in range(0, RESAMPLES, _RESAMPLES_PER_CHUNK):
        size = min(_RESAMPLES_PER_CHUNK, RESAMPLES - start)
        # How often each question is drawn, instead of which ones: one product gives all means of a sample.
        drawn = random.multinomial(count, np.full(count, 1 / count), size=size)
        parts.append(drawn @ differences / count)
    # Rounded, so that questions which do not differ leave an exact zero.
    means: Floats = np.concatenate(parts).round(12)
    return means


def count_unpaired(first: Rows, second: Rows) -> tuple[int, int]:
    """Return how many questions only the first and only the second has."""
    return len(first.keys() - second.keys()), len(second.keys() - first.keys())
