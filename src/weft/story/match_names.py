"""Whom a given name or a nickname means, alone or behind a title."""

from collections.abc import Sequence
from typing import Final

from weft.story.cast import DOMINANT, Cast, Figure, rank_of
from weft.story.display_name import is_beginning, parted
from weft.story.model import Form
from weft.story.vocabulary import FAMILIAR_TITLES, MALE, NICKNAMES, NOBLE_TITLES, PLAIN_TITLES, SAINTS, TITLES

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


_TOLD_APART: Final = 0.2
"""Whoever is so often called by title and given name is not meant by the title and surname alone."""
_STYLED: Final = 0.15
_OFTEN: Final = 3
"""So too whoever is called so this often, beside how often the title and surname stand alone."""
_COUPLED: Final = 0.25
"""Husband and wife are named together in so large a share of his sentences."""
_LADIES: Final = frozenset({"miss", "mrs", "lady"})
"""A woman goes by one of these at a time."""
_SHARED: Final = frozenset({"mr", "miss", "ms", "master"})
"""Titles that several members of a family bear at once."""
_LEARNED: Final = frozenset({"doctor", "professor"})
_RANKS: Final = frozenset(TITLES) - NOBLE_TITLES - FAMILIAR_TITLES - PLAIN_TITLES.keys()


def take_titled_surname(cast: Cast, form: Form) -> bool:
    """A title and a surname: the one of that family whom it fits best, or somebody new."""
    title, names = form
    given, surname = parted(names)
    if not title or title in SAINTS or given:
        return False
    fitting = [
        figure for figure in cast.family(surname) if _fits(cast, figure, form) and cast.is_near(figure, form)
    ]
    if _is_elder(cast, form):
        fitting = [figure for figure in fitting if not figure.given]
    if rank_of(title) not in _SHARED:
        fitting = _of_rank(cast, fitting, form)
    mine = max(fitting, key=lambda figure: (_claim(cast, figure, title), figure.forms[0]), default=None)
    if mine is None:
        mine = Figure("", surname)
        cast.figures.append(mine)
    mine.forms.append(form)
    return True


def _is_elder(cast: Cast, form: Form) -> bool:
    """Whether a Mr. is the husband of the plain Mrs., in a family where a younger wife goes by her husband's name.

    Mr. and Mrs. Musgrove have a son, whose wife is Mrs. Charles Musgrove.
    """
    wife = cast.counted.get(("mrs", form[1]))
    if form[0] != "mr" or wife is None:
        return False
    younger = any(figure.given.startswith("mrs ") for figure in cast.family(parted(form[1])[1]))
    husband = cast.counted[form]
    return younger and husband.meets(wife) > _COUPLED * len(husband.sentences)


def _fits(cast: Cast, figure: Figure, form: Form) -> bool:
    held = cast.titles(figure)
    title = rank_of(form[0])
    if title in held and not figure.given:
        return True
    ladylike = _LADIES & {title, *(rank_of(each) for each, _ in figure.forms)}
    clash = len(ladylike) > 1 or (bool(ladylike) and bool(_RANKS & {title, *held}))
    clash |= title == "mrs" and bool(figure.given) and _is_a_miss(cast, figure, form)
    everyday = title in PLAIN_TITLES or title in FAMILIAR_TITLES
    clash |= not everyday and bool(held - PLAIN_TITLES.keys() - _borne_with(title))
    # Madame may be a countess; Mrs. is none.
    clash |= form[0] in PLAIN_TITLES and bool(held & NOBLE_TITLES)
    return not clash and not _is_told_apart(cast, figure, form) and cast.agree(figure, form)


def _borne_with(title: str) -> frozenset[str]:
    """The ranks that one person has at once with a title: a doctor may be a professor."""
    return _LEARNED if title in _LEARNED else frozenset({title})


def _is_a_miss(cast: Cast, figure: Figure, form: Form) -> bool:
    """Whether the book knows a Miss of this surname too, who is rather meant by a given name than the mother."""
    return ("miss", form[1]) in cast.counted and not cast.styled(figure, "mrs")


def _is_told_apart(cast: Cast, figure: Figure, form: Form) -> bool:
    """Whether the book calls somebody by title and given name because the title alone means another."""
    title, mine, alone = form[0], cast.count(figure), cast.counted[form].count
    if title not in PLAIN_TITLES:
        return False
    styled = cast.styled(figure, title)
    if styled <= _TOLD_APART * mine and not (styled >= _OFTEN and styled > _STYLED * alone):
        return False
    others = any(_is_meant(cast, each, figure, title) for each in cast.family(figure.surname))
    return (
        others
        or cast.has_several(title, figure.surname)
        or figure.given.startswith("mrs ")
        or alone > DOMINANT * mine
    )


def _is_meant(cast: Cast, figure: Figure, kin: Figure, title: str) -> bool:
    """Whether a title alone may mean this person rather than the kin: not one who is mostly told apart himself."""
    if figure is kin or cast.gender(figure) not in ("", PLAIN_TITLES[title]):
        return False
    return cast.styled(figure, title) <= _TOLD_APART * cast.count(figure)


def _of_rank(cast: Cast, figures: Sequence[Figure], form: Form) -> list[Figure]:
    """Those who hold a rank, else the only one who may: Lord Stark is he whom others call Lord Eddard."""
    title, names = form
    holders = [figure for figure in figures if cast.styled(figure, title)]
    if holders:
        return holders
    told = TITLES[title] or MALE
    family = cast.family(parted(names)[1])
    fitting = [each for each in family if cast.gender(each) == told] or [
        each for each in family if not cast.gender(each)
    ]
    return [each for each in figures if each in fitting] if len(fitting) == 1 else []


def _claim(cast: Cast, figure: Figure, title: str) -> float:
    """How good a claim to the bare title a member of the family has: Miss Bennet is not Miss Lydia."""
    styled = cast.styled(figure, title) if title in PLAIN_TITLES else 0
    return cast.count(figure) / (1 + styled)


def take_bare_surname(cast: Cast, form: Form) -> bool:
    """A surname alone: whoever of the family is most often called by it with a title.

    A title that stands at the end of a name, Post Captain, is no surname unless it has a title itself, Mr. Bishop.
    """
    title, names = form
    given, surname = parted(names)
    if title or given or (surname in TITLES and not cast.formal[surname]):
        return False
    return cast.joins(form, most_formal(cast, surname, form))


def most_formal(cast: Cast, surname: str, form: Form) -> Figure | None:
    """Whom of a family its name alone means, if it may mean any of them."""
    fitting = [
        figure for figure in cast.family(surname) if cast.agree(figure, form) and cast.is_near(figure, form)
    ]
    return max(fitting, key=lambda each: (_formal(cast, each), each.forms[0]), default=None)


def _formal(cast: Cast, figure: Figure) -> tuple[bool, int, int]:
    """Men come first: a surname without a title was theirs for long."""
    titled = sum(cast.counted[form].count for form in figure.forms if form[0] and not parted(form[1])[0])
    return bool(titled) and cast.gender(figure) == MALE, titled, cast.count(figure)
