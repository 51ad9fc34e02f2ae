"""Whom a given name or a nickname means, alone or behind a title."""

from collections.abc import Sequence
from typing import Final

from weft.story.cast import DOMINANT, Cast, Figure
from weft.story.forms import is_beginning
from weft.story.known_names import NICKNAMES
from weft.story.model import Form
from weft.story.vocabulary import FAMILIAR_TITLES, NOBLE_TITLES, PLAIN_TITLES, SAINTS, TITLES

_RARELY: Final = 0.05
"""Who has so small a share of a given name's mentions is not meant by it."""
_WELL_KNOWN: Final = 5
_ALWAYS: Final = 0.7
_KIN: Final = 3
"""Who is called by the full name so often is somebody, and who meets so many of a family is one of it."""


def take_bare_given(cast: Cast, form: Form) -> bool:
    """A given name alone; nobody of that name yet makes it somebody new, unless it is a surname."""
    title, names = form
    if title or len(names) > 1:
        return False
    plain = names[0].lower()
    if plain in TITLES:
        return False
    if plain in NICKNAMES and not any(figure.given == plain for figure in cast.figures):
        return False
    mine = _among_their_own(cast, _intimates(cast, form), form) if cast.is_given(form) else None
    if mine is not None:
        return cast.joins(form, mine)
    if cast.family(plain) or cast.formal[plain]:
        return False
    cast.figures.append(Figure(plain, "", [form]))
    return True


def _intimates(cast: Cast, form: Form) -> list[Figure]:
    """Those who may be called by a given name alone, the untitled first; not a lady who is hardly there."""
    called = [
        figure
        for figure in cast.called(form[1][0].lower())
        if cast.agree(figure, form) and cast.is_near(figure, form) and not cast.passes_by(figure, form)
    ]
    untitled = [figure for figure in called if not cast.titles(figure) - PLAIN_TITLES.keys()]
    least = _RARELY * cast.counted[form].count
    return untitled or [figure for figure in called if _mentions(cast, figure) >= least]


def _mentions(cast: Cast, figure: Figure) -> int:
    """How often somebody is mentioned, by title and given name too."""
    forms = {*figure.forms, *cast.by_title(figure)}
    return sum(cast.counted[form].count for form in forms)


def _among_their_own(cast: Cast, figures: Sequence[Figure], form: Form) -> Figure | None:
    """Whom a given name alone means: of two well known by their full names, the one whose family is around.

    A book that calls Charles Hayter by both names whenever he comes has another Charles at home. Where no family
    tells, it is one of those nearest to where the name stands, and nobody if they are mostly far away.
    """
    known = [figure for figure in figures if cast.count(figure) >= _WELL_KNOWN]
    beside = sorted(((cast.kin_beside(figure, form), figure.forms[0], figure) for figure in known), reverse=True)
    if len(beside) > 1 and beside[0][0] > max(_KIN, 2 * beside[1][0]):
        return beside[0][2]
    around = [(cast.near(figure, form), figure) for figure in figures]
    nearest = max((near for near, _ in around), default=0)
    if len(figures) > 1 and (3 if _stands_out(cast, figures) else 2) * nearest < len(cast.texts[form]):
        return None
    return cast.best(figure for near, figure in around if 2 * near >= nearest)


def _stands_out(cast: Cast, figures: Sequence[Figure]) -> bool:
    """Whether one of some people is mentioned far more often than any other."""
    most, second, *_ = sorted((cast.count(figure) for figure in figures), reverse=True)
    return most >= DOMINANT * second


def take_nickname(cast: Cast, form: Form) -> bool:
    """A short name whose long one is somebody's: Lizzy, Ned."""
    title, names = form
    if title or len(names) > 1:
        return False
    plain = names[0].lower()
    if plain in TITLES or _is_own_name(cast, form):
        return False
    called = [figure for figure in cast.called(plain) if _may_be_short(cast, figure, form)]
    called = called or [
        figure
        for figure in cast.figures
        if figure.surname and is_beginning(plain, figure.given) and _may_be_short(cast, figure, form)
    ]
    if called or cast.family(plain) or cast.formal[plain]:
        return cast.joins(form, cast.best(called))
    cast.figures.append(Figure(plain, "", [form]))
    return True


def _may_be_short(cast: Cast, figure: Figure, form: Form) -> bool:
    """Whether a nickname may be this person's; without a surname the long name must be the usual one, and around.

    Nobody calls Lady Catherine Kitty where her full name never stands without the title, unless Kitty is only ever
    where Lady Catherine is.
    """
    around = 2 * cast.near(figure, form) >= len(cast.texts[form])
    family = bool(figure.surname) and not figure.surname.startswith("the ")
    usual = family or (around and cast.count(figure) >= cast.counted[form].count)
    noble = bool(cast.titles(figure) & NOBLE_TITLES)
    distant = noble and all(title or len(names) == 1 for title, names in figure.forms)
    distant = distant and cast.beside(figure, form) < _ALWAYS * len(cast.texts[form])
    here = cast.is_near(figure, form) and not cast.passes_by(figure, form)
    return usual and not distant and here and cast.agree(figure, form)


def _is_own_name(cast: Cast, form: Form) -> bool:
    """Whether a short name mostly stands behind a title: Aunt Polly was never called Mary."""
    titled = sum(tally.count for (title, names), tally in cast.counted.items() if title and names == form[1])
    return titled > cast.counted[form].count


def take_titled_given(cast: Cast, form: Form) -> bool:
    """A title and a given name: Sir William, Miss Elizabeth, Aunt Jane."""
    title, names = form
    if not title or title in SAINTS or len(names) > 1 or not cast.is_given(form):
        return False
    if title == "mrs":
        wife = cast.best(figure for figure in cast.figures if figure.given == f"mrs {names[0].lower()}")
        if wife is not None:
            return cast.joins(form, wife)
    called = [figure for figure in cast.called(names[0].lower()) if cast.agree(figure, form)]
    if title in NOBLE_TITLES or title in FAMILIAR_TITLES:
        # Young Pip is not King Philip, and Aunt Polly is no Mary.
        called = [figure for figure in called if any(names[0] in mine for _, mine in figure.forms)]
    alike = [figure for figure in called if title in cast.titles(figure)]
    plain = [figure for figure in called if not cast.titles(figure) - PLAIN_TITLES.keys()]
    return cast.joins(form, cast.best(alike or plain))
