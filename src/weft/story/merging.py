"""Which forms of a name mean the same person: Elizabeth, Lizzy, Miss Eliza Bennet."""

from collections.abc import Callable, Sequence
from typing import Final

from weft.story.cast import SAME_RANK, Cast, Figure
from weft.story.forms import head_of, is_beginning, parted, same_given
from weft.story.model import Form
from weft.story.tally import Tally
from weft.story.vocabulary import (
    FAMILIAR_TITLES,
    FEMALE,
    MALE,
    NICKNAMES,
    NOBLE_TITLES,
    PLAIN_TITLES,
    SAINTS,
    TITLES,
)

_TOLD_APART: Final = 0.2
"""Whoever is so often called by title and given name is not meant by the title and surname alone."""
_DOMINANT: Final = 3
_RARELY: Final = 0.05
"""Who has so small a share of a given name's mentions is not meant by it."""
_WELL_KNOWN: Final = 5
_KIN: Final = 3
"""Who is called by the full name so often is somebody, and who meets so many of a family is one of it."""
_COUPLED: Final = 0.25
"""Husband and wife are named together in so large a share of his sentences."""
_LADIES: Final = frozenset({"miss", "mrs", "lady"})
"""A woman goes by one of these at a time."""
_SHARED: Final = frozenset({"mr", "miss", "ms", "master"})
"""Titles that several members of a family bear at once."""
_RANKS: Final = frozenset(TITLES) - NOBLE_TITLES - FAMILIAR_TITLES - PLAIN_TITLES.keys()


def merge(counted: dict[Form, Tally]) -> list[tuple[Form, ...]]:
    """The forms of names of people, those that mean the same person together."""
    cast = Cast(counted)
    left = sorted(counted, key=lambda form: (-counted[form].count, form))
    for step in _STEPS:
        left = [form for form in left if not step(cast, form)]
    return [tuple(figure.forms) for figure in cast.figures]


# --- steps, each taking a form or leaving it to the next -------------------------------------------------


def _take_full(cast: Cast, form: Form) -> bool:
    """Given name and surname: Elizabeth Bennet, Sir William Lucas."""
    title, names = form
    given, surname = _given_of(form), parted(names)[1]
    if len(given) < 2 or not surname:
        return False
    head = next((figure for figure in cast.figures if ("", head_of(names)) in figure.forms), None)
    if head is not None and cast.agree(head, form):
        return cast.joins(form, head)
    if title == "mrs" and cast.given_gender(given) != FEMALE:
        # A wife by her husband's name.
        given = f"mrs {given}"
    same = [figure for figure in cast.family(surname) if figure.given == given or _may_be(cast, figure, form)]
    mine = cast.best(figure for figure in same if cast.agree(figure, form))
    if mine is None:
        mine = Figure(given, surname)
        cast.figures.append(mine)
    elif title == "" and given not in NICKNAMES:
        mine.given = given
    mine.forms.append(form)
    return True


def _may_be(cast: Cast, figure: Figure, form: Form) -> bool:
    """Whether a full name may be another way to write this person's; young Tom is not Sir Thomas."""
    noble = form[0] in NOBLE_TITLES or bool(cast.titles(figure) & NOBLE_TITLES)
    return not noble and same_given(figure.given, _given_of(form))


def _given_of(form: Form) -> str:
    """The given name of a full name in lower case; a saint's has its title."""
    given = parted(form[1])[0]
    return f"st {given}" if given and form[0] in SAINTS else given


def _take_saint(cast: Cast, form: Form) -> bool:
    """A saint, or somebody named like one, by the given name alone: St. John."""
    title, names = form
    if title not in SAINTS or len(names) > 1:
        return False
    given = f"st {names[0].lower()}"
    if not cast.joins(form, cast.best(figure for figure in cast.figures if figure.given == given)):
        cast.figures.append(Figure(given, "", [form]))
    return True


def _take_bare_given(cast: Cast, form: Form) -> bool:
    """A given name alone; nobody of that name yet makes it somebody new, unless it is a surname."""
    title, names = form
    if title or len(names) > 1:
        return False
    plain = names[0].lower()
    if plain in NICKNAMES and not any(figure.given == plain for figure in cast.figures):
        return False
    mine = _among_their_own(cast, _intimates(cast, form), form) if cast.is_given(form) else None
    if mine is not None:
        return cast.joins(form, mine)
    if cast.family(plain) or cast.formal[plain] or plain in TITLES:
        return False
    cast.figures.append(Figure(plain, "", [form]))
    return True


def _intimates(cast: Cast, form: Form) -> list[Figure]:
    """Those who may be called by a given name alone, the untitled first; not a lady who is hardly there."""
    called = [figure for figure in cast.called(form[1][0].lower()) if cast.agree(figure, form)]
    untitled = [figure for figure in called if not cast.titles(figure) - PLAIN_TITLES.keys()]
    least = _RARELY * cast.counted[form].count
    return untitled or [figure for figure in called if cast.count(figure) >= least]


def _among_their_own(cast: Cast, figures: Sequence[Figure], form: Form) -> Figure | None:
    """Whom a given name alone means: of two well known by their full names, the one whose family is around.

    A book that calls Charles Hayter by both names whenever he comes has another Charles at home.
    """
    known = [figure for figure in figures if cast.count(figure) >= _WELL_KNOWN]
    beside = sorted(((cast.kin_beside(figure, form), figure.forms[0], figure) for figure in known), reverse=True)
    if len(beside) > 1 and beside[0][0] > max(_KIN, 2 * beside[1][0]):
        return beside[0][2]
    return cast.best(figures)


def _take_nickname(cast: Cast, form: Form) -> bool:
    """A short name whose long one is somebody's: Lizzy, Ned."""
    title, names = form
    if title or len(names) > 1:
        return False
    plain = names[0].lower()
    called = [figure for figure in cast.called(plain) if _may_be_short(cast, figure, form)]
    called = called or [
        figure
        for figure in cast.figures
        if figure.surname and is_beginning(plain, figure.given) and _may_be_short(cast, figure, form)
    ]
    if called or plain in TITLES or cast.family(plain) or cast.formal[plain]:
        return cast.joins(form, cast.best(called))
    cast.figures.append(Figure(plain, "", [form]))
    return True


def _may_be_short(cast: Cast, figure: Figure, form: Form) -> bool:
    """Whether a nickname may be this person's; without a surname the long name must be the usual one.

    Nobody calls Lady Catherine Kitty where her full name never stands without the title.
    """
    usual = bool(figure.surname) or cast.count(figure) >= cast.counted[form].count
    noble = bool(cast.titles(figure) & NOBLE_TITLES)
    distant = noble and all(title or len(names) == 1 for title, names in figure.forms)
    return usual and not distant and cast.agree(figure, form)


def _take_titled_given(cast: Cast, form: Form) -> bool:
    """A title and a given name: Sir William, Miss Elizabeth, Aunt Jane."""
    title, names = form
    if not title or len(names) > 1 or not cast.is_given(form):
        return False
    if title == "mrs":
        wife = cast.best(figure for figure in cast.figures if figure.given == f"mrs {names[0].lower()}")
        if wife is not None:
            return cast.joins(form, wife)
    called = [figure for figure in cast.called(names[0].lower()) if cast.agree(figure, form)]
    if title in NOBLE_TITLES:
        # Young Pip is not King Philip.
        called = [figure for figure in called if any(names[0] in mine for _, mine in figure.forms)]
    alike = [figure for figure in called if title in cast.titles(figure)]
    plain = [figure for figure in called if not cast.titles(figure) - PLAIN_TITLES.keys()]
    return cast.joins(form, cast.best(alike or plain))


def _take_titled_surname(cast: Cast, form: Form) -> bool:
    """A title and a surname: the one of that family whom it fits best, or somebody new."""
    title, names = form
    given, surname = parted(names)
    if not title or given:
        return False
    fitting = [figure for figure in cast.family(surname) if _fits(cast, figure, form)]
    if _is_elder(cast, form):
        fitting = [figure for figure in fitting if not figure.given]
    if title not in _SHARED:
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
    title = SAME_RANK.get(form[0], form[0])
    if title in held and not figure.given:
        return True
    ladylike = _LADIES & {title, *(each for each, _ in figure.forms)}
    clash = len(ladylike) > 1 or (bool(ladylike) and bool(_RANKS & {title, *held}))
    clash |= title not in PLAIN_TITLES and bool(held - PLAIN_TITLES.keys() - {title})
    clash |= title in PLAIN_TITLES and bool(held & NOBLE_TITLES)
    told_apart = title in PLAIN_TITLES and cast.styled(figure, title) > _TOLD_APART * cast.count(figure)
    return not clash and not told_apart and cast.agree(figure, form)


def _of_rank(cast: Cast, figures: Sequence[Figure], form: Form) -> list[Figure]:
    """Those who hold a rank, else the only one who may: Lord Stark is he whom others call Lord Eddard."""
    title, names = form
    holders = [figure for figure in figures if cast.styled(figure, title)]
    if holders:
        return holders
    told = TITLES[title] or MALE
    family = [figure for figure in cast.family(parted(names)[1]) if cast.gender(figure) in ("", told)]
    return list(figures) if len(family) == 1 else []


def _claim(cast: Cast, figure: Figure, title: str) -> float:
    """How good a claim to the bare title a member of the family has: Miss Bennet is not Miss Lydia."""
    styled = cast.styled(figure, title) if title in PLAIN_TITLES else 0
    return cast.count(figure) / (1 + styled)


def _take_bare_surname(cast: Cast, form: Form) -> bool:
    """A surname alone: whoever of the family is most often called by it with a title."""
    title, names = form
    given, surname = parted(names)
    if title or given or not cast.family(surname):
        return False
    fitting = [figure for figure in cast.family(surname) if cast.agree(figure, form)]
    return cast.joins(form, max(fitting, key=lambda each: (_formal(cast, each), each.forms[0]), default=None))


def _formal(cast: Cast, figure: Figure) -> tuple[bool, int, int]:
    """Men come first: a surname without a title was theirs for long."""
    titled = sum(cast.counted[form].count for form in figure.forms if form[0] and not parted(form[1])[0])
    return bool(titled) and cast.gender(figure) == MALE, titled, cast.count(figure)


def _take_title(cast: Cast, form: Form) -> bool:
    """A title alone (the Queen) means the only one who has it."""
    title, names = form
    if title or len(names) > 1 or names[0].lower() not in TITLES:
        return False
    plain = names[0].lower()
    holders = [figure for figure in cast.figures if plain in cast.titles(figure) or figure.given == plain]
    ranked = sorted(holders, key=lambda figure: (-cast.titled(figure, plain), figure.forms[0]))
    if not ranked or (len(ranked) > 1 and not _dominates(cast, ranked[0], ranked[1], plain)):
        return False
    return cast.agree(ranked[0], form) and cast.joins(form, ranked[0])


def _dominates(cast: Cast, first: Figure, second: Figure, title: str) -> bool:
    return cast.titled(first, title) >= _DOMINANT * cast.titled(second, title)


def _take_alone(cast: Cast, form: Form) -> bool:
    """Whoever is left is somebody by himself."""
    given, surname = parted(form[1])
    cast.figures.append(Figure(given, surname, [form]))
    return True


_STEPS: Final[tuple[Callable[[Cast, Form], bool], ...]] = (
    _take_full,
    _take_saint,
    _take_bare_given,
    _take_nickname,
    _take_titled_given,
    _take_titled_surname,
    _take_bare_surname,
    _take_title,
    _take_alone,
)
