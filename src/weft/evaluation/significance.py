"""Whether one run is really better than another: a paired bootstrap over the questions both answered."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from weft.errors import InvalidInput
from weft.evaluation.judged_sets import objects
from weft.frozen import dataclass
from weft.ports import Problem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


Rows = Mapping[str, Mapping[str, float]]
"""Measures by question."""

RESAMPLES: Final = 10_000
SEED: Final = 20_000
_AT_ONCE: Final = 500
_CONFIDENCE: Final = 0.95
_FEWEST: Final = 6
"""Fewer questions that differ could all fall to one side by chance: five do once in sixteen."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure in two runs: both means, the second less the first with its 95 % interval, and the share of
    resamples (two-sided) in which it is not there. It is real when the interval leaves out zero
    and at least six questions differ."""

    measure: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    real: bool


def read_rows(path: Path) -> dict[str, dict[str, float]]:
    """The measures by question that `--per-query` wrote."""
    problems: list[Problem] = []
    rows: dict[str, dict[str, float]] = {}
    for number, record in objects(path, problems):
        measures = record.get("measures")
        if "id" not in record or not _numbers(measures):
            problems.append(Problem(f"{path.name}:{number}", "The line has no `id` or no `measures` in numbers."))
        else:
            rows[str(record["id"])] = dict(measures)
    if problems or not rows:
        first = f"{problems[0].where}: {problems[0].reason}" if problems else f"{path} is empty."
        raise InvalidInput(f"{first} Give files that `weft eval --per-query` wrote.")
    return rows


def _numbers(value: object) -> TypeGuard[Mapping[str, float]]:
    return isinstance(value, Mapping) and all(type(each) in (int, float) for each in value.values())


def compare(first: Rows, second: Rows, *, seed: int = SEED, resamples: int = RESAMPLES) -> tuple[Difference, ...]:
    """The difference in every measure that both runs have, over the questions that both have."""
    import numpy as np

    shared, names = _in_common(first, second)
    left = np.array([[first[id][name] for name in names] for id in shared])
    right = np.array([[second[id][name] for name in names] for id in shared])
    drawn = _resampled(right - left, seed, resamples)
    low, high = np.quantile(drawn, [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2], axis=0)
    p = np.minimum(1.0, 2 * np.minimum((drawn <= 0).mean(axis=0), (drawn >= 0).mean(axis=0)))
    real = ((low > 0) | (high < 0)) & (np.count_nonzero(right - left, axis=0) >= _FEWEST)
    return tuple(
        Difference(
            measure=name,
            first=_rounded(left[:, at].mean()),
            second=_rounded(right[:, at].mean()),
            difference=_rounded((right - left)[:, at].mean()),
            low=_rounded(low[at]),
            high=_rounded(high[at]),
            p=_rounded(p[at]),
            real=bool(real[at]),
        )
        for at, name in enumerate(names)
    )


def _in_common(first: Rows, second: Rows) -> tuple[list[str], list[str]]:
    """The questions and the measures that both runs have."""
    shared = sorted(first.keys() & second.keys())
    if not shared:
        raise InvalidInput("The two files have no question in common. Compare runs over the same set.")
    names = [name for name in first[shared[0]] if all(name in first[id] and name in second[id] for id in shared)]
    if not names:
        raise InvalidInput("The two files have no measure in common. Compare runs with the same budgets.")
    return shared, names


def _rounded(value: "np.floating[Any]") -> float:
    return round(float(value), 6)


def _resampled(differences: "Floats", seed: int, resamples: int) -> "Floats":
    """The mean differences of samples drawn with replacement; the same questions for every measure."""
    import numpy as np

    number = len(differences)
    random = np.random.default_rng(seed)
    parts: list[Floats] = []
    for start in range(0, resamples, _AT_ONCE):
        size = min(_AT_ONCE, resamples - start)
        drawn = random.multinomial(number, np.full(number, 1 / number), size=size)
        parts.append(drawn @ differences / number)
    # Rounded, so that questions which do not differ leave an exact zero.
    means: Floats = np.concatenate(parts).round(12)
    return means


def unpaired(first: Rows, second: Rows) -> tuple[int, int]:
    """How many questions only the first and only the second has."""
    return len(first.keys() - second.keys()), len(second.keys() - first.keys())
