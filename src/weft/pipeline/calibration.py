"""Keep the constants by which the measures of a candidate become a probability, for each kind of evidence."""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from msgspec import Struct


class Evidence(Enum):
    """The evidence that a question was searched by."""

    WORDS_AND_MEANING = auto()
    WORDS = auto()
    MEANING = auto()


class Calibration(Struct, frozen=True):
    """The constants of one logistic function: what each measure adds to the logarithm of the odds."""

    coverage: float
    cosine: float
    known: float
    terms: float
    passages: float
    unknown_names: float
    constant: float


# Fitted by `python -m bench.calibration SET.json=STORE ... --silence PROMPTS.json --fit` on ten judged sets, each
# asked of its own store and of the nine others, and on samples of 1 to 100 nodes of each store.
CALIBRATIONS: Final[Mapping[Evidence, Calibration]] = {
    Evidence.WORDS_AND_MEANING: Calibration(
        coverage=5.66, cosine=8.83, known=2.07, terms=1.79, passages=-0.73, unknown_names=-1.24, constant=-5.89
    ),
    Evidence.WORDS: Calibration(
        coverage=5.96, cosine=0.0, known=3.97, terms=2.18, passages=-0.72, unknown_names=-1.17, constant=-5.29
    ),
    Evidence.MEANING: Calibration(
        coverage=0.0, cosine=11.65, known=0.0, terms=0.01, passages=-0.49, unknown_names=-2.07, constant=-1.27
    ),
}
