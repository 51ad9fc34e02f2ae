"""Wives who go by their husband's name and by their own: Mrs. John Vane, whom he calls Ruth."""

from typing import Final

from weft.story.cast import Cast, Figure
from weft.story.tally import Tally, summed
from weft.story.vocabulary import FEMALE

_HUSBANDS: Final = "mrs "
_SEEN: Final = 5
"""How often a wife must be called by her husband's name to be looked for under another."""
_TOGETHER: Final = 3
_BEYOND_CHANCE: Final = 3.0
_CLEARLY: Final = 2.0
"""In how many sentences she is named with him, and how many times as often as by chance and as any other woman."""


def join_wives(cast: Cast) -> None:
    """Give each wife the woman without a surname who is named with her husband far more often than any other."""
    for wife in [figure for figure in cast.figures if figure.given.startswith(_HUSBANDS)]:
        called = _called(cast, wife) if cast.count(wife) >= _SEEN else None
        if called is not None:
            wife.forms.extend(called.forms)
            cast.figures.remove(called)


def _called(cast: Cast, wife: Figure) -> Figure | None:
    """Who a wife is by her own name, if one woman stands out."""
    given = wife.given.removeprefix(_HUSBANDS)
    husband = next((each for each in cast.family(wife.surname) if each.given == given), None)
    if husband is None:
        return None
    his = summed(husband.forms, cast.counted)
    women = [each for each in cast.figures if _is_free(cast, each)]
    ranked = sorted(((_company(cast, each, his), each.forms[0], each) for each in women), reverse=True)
    if not ranked:
        return None
    first, second = ranked[0][0], ranked[1][0] if len(ranked) > 1 else 0.0
    stands_out = first >= max(_BEYOND_CHANCE, _CLEARLY * second)
    return ranked[0][2] if stands_out and not _meet(cast, ranked[0][2], wife) else None


def _is_free(cast: Cast, figure: Figure) -> bool:
    """Whether somebody is a woman of whom the book tells no surname."""
    return bool(figure.given) and not figure.surname and cast.given_gender(figure.given) == FEMALE


def _meet(cast: Cast, one: Figure, other: Figure) -> bool:
    """Whether two are ever named in one sentence."""
    return summed(one.forms, cast.counted).meets(summed(other.forms, cast.counted)) > 0


def _company(cast: Cast, figure: Figure, husband: Tally) -> float:
    """How many times as often as by chance a woman is named with the husband; nothing where it is too seldom."""
    hers = summed(figure.forms, cast.counted)
    by_chance = len(hers.sentences) * len(husband.sentences) / cast.length
    meetings = hers.meets(husband)
    return meetings / by_chance if meetings >= _TOGETHER else 0.0
