"""Wives who go by their husband's name and by their own: Mrs. John Vane, whom he calls Ruth."""

from collections.abc import Callable, Sequence
from typing import Final

from weft.story.cast import DOMINANT, Cast, Figure
from weft.story.display_name import SAINT, father_of, head_of, is_beginning, parted, same_given
from weft.story.kinds import Tally, summed
from weft.story.match_names import (
    most_formal,
    take_bare_given,
    take_bare_surname,
    take_nickname,
    take_titled_given,
    take_titled_surname,
)
from weft.story.model import Form
from weft.story.vocabulary import FEMALE, NICKNAMES, NOBLE_TITLES, SAINTS, TITLES

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


def merge(counted: dict[Form, Tally]) -> list[tuple[Form, ...]]:
    """The forms of names of people, those that mean the same person together."""
    cast = Cast(counted)
    left = sorted(counted, key=lambda form: (-counted[form].count, form))
    for step in _STEPS:
        left = [form for form in left if not step(cast, form)]
    join_wives(cast)
    return [tuple(figure.forms) for figure in cast.figures]


# --- steps, each taking a form or leaving it to the next -------------------------------------------------


def _take_full(cast: Cast, form: Form) -> bool:
    """Given name and surname: Elizabeth Bennet, Sir William Lucas."""
    title, names = form
    given, surname = _given_of(form), parted(names)[1]
    if len(given) < 2 or not surname:
        return False
    head = next((figure for figure in cast.figures if _is_head(figure, names)), None)
    if head is not None and cast.agree(head, form):
        return cast.joins(form, head)
    if title == "mrs" and cast.given_gender(given) != FEMALE:
        # A wife by her husband's name.
        given = f"mrs {given}"
    same = [figure for figure in cast.family(surname) if figure.given == given or _may_be(cast, figure, form)]
    mine = cast.best(figure for figure in same if cast.agree(figure, form)) or _by_father(cast, form)
    if mine is None:
        mine = Figure(given, surname)
        cast.figures.append(mine)
    elif title == "" and given not in NICKNAMES and not is_beginning(given, mine.given):
        mine.given = given
    if father_of(("", mine.surname)) and not father_of(("", surname)):
        mine.surname = surname
    mine.forms.append(form)
    return True


def _is_head(figure: Figure, names: Sequence[str]) -> bool:
    """Whether somebody goes by what stands before `of` or `the` in a name, or by what goes on behind that."""
    return ("", head_of(names)) in figure.forms or any(head_of(theirs) == names for _, theirs in figure.forms)


def _by_father(cast: Cast, form: Form) -> Figure | None:
    """Whom a father's name ties to a full name: Alexey Fyodorovitch is the only Alexey Karamazov."""
    given, father = _given_of(form), father_of(form[1])
    called = [each for each in cast.figures if each.surname and same_given(each.given, given)]
    fathers = [{father_of(names) for _, names in each.forms} - {""} for each in called]
    if father:
        known = [each for each, theirs in zip(called, fathers, strict=True) if father in theirs]
        open_to = known or [each for each, theirs in zip(called, fathers, strict=True) if not theirs]
    else:
        open_to = [each for each in called if father_of(("", each.surname))]
    mine = open_to[0] if len(open_to) == 1 else None
    return mine if mine is not None and cast.agree(mine, form) and cast.is_near(mine, form) else None


def _may_be(cast: Cast, figure: Figure, form: Form) -> bool:
    """Whether a full name may be another way to write this person's; young Tom is not Sir Thomas."""
    noble = form[0] in NOBLE_TITLES or bool(cast.titles(figure) & NOBLE_TITLES)
    given = _given_of(form)
    short = is_beginning(given, figure.given) or is_beginning(figure.given, given)
    return not noble and (short or same_given(figure.given, given))


def _given_of(form: Form) -> str:
    """The given name of a full name in lower case; a saint's has its title."""
    given = parted(form[1])[0]
    return f"st {given}" if given and form[0] in SAINTS else given


def _take_saint(cast: Cast, form: Form) -> bool:
    """A saint, or somebody named like one, by the given name alone: St. John; a family's name comes later."""
    title, names = form
    if title not in SAINTS or len(names) > 1 or cast.is_surname(_saints(form)):
        return False
    given = f"st {names[0].lower()}"
    if not cast.joins(form, cast.best(figure for figure in cast.figures if figure.given == given)):
        cast.figures.append(Figure(given, "", [form]))
    return True


def _saints(form: Form) -> str:
    """A saint's name as a family bears it."""
    return f"{SAINT} {form[1][0].lower()}"


def _take_saints_family(cast: Cast, form: Form) -> bool:
    """A saint's name that a family bears, alone: whoever of them is most often called by it with a title."""
    if form[0] not in SAINTS or len(form[1]) > 1:
        return False
    return cast.joins(form, most_formal(cast, _saints(form), form))


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
    around = 2 * cast.near(ranked[0], form) >= len(cast.texts[form])
    return around and cast.agree(ranked[0], form) and cast.joins(form, ranked[0])


def _dominates(cast: Cast, first: Figure, second: Figure, title: str) -> bool:
    return cast.titled(first, title) >= DOMINANT * cast.titled(second, title)


def _take_alone(cast: Cast, form: Form) -> bool:
    """Whoever is left is somebody by himself."""
    given, surname = parted(form[1])
    cast.figures.append(Figure(given, surname, [form]))
    return True


_STEPS: Final[tuple[Callable[[Cast, Form], bool], ...]] = (
    _take_full,
    _take_saint,
    take_bare_given,
    take_nickname,
    take_titled_given,
    take_titled_surname,
    take_bare_surname,
    _take_saints_family,
    _take_title,
    _take_alone,
)
