"""Merge the forms of people's names: all forms that mean one person come together.

The steps run from the surest evidence to the weakest (a full name before a bare surname); each takes a form or
leaves it to the next. Those that need most judgement are in `match_given_names` and
`match_surnames`.
"""

from collections.abc import Callable, Sequence
from typing import Final

from weft.story.cast import DOMINANCE, Cast, Person
from weft.story.dialogue import Dialogue
from weft.story.display_name import (
    SAINT,
    find_patronymic,
    is_beginning,
    is_same_given_name,
    split_name,
    words_before_joining,
)
from weft.story.join_people import HUSBANDS, join_addressed, join_narrator, join_wives
from weft.story.kinds import Tally
from weft.story.match_given_names import take_bare_given, take_nickname, take_titled_given
from weft.story.match_surnames import is_compound_rank, most_formal, take_bare_surname, take_titled_surname
from weft.story.model import Form
from weft.story.same_company import join_company, join_introduced
from weft.story.vocabulary import CALENDAR, FAMILIAR_TITLES, FEMALE, NICKNAMES, NOBLE_TITLES, SAINTS, TITLES


def merge(tallies: dict[Form, Tally], dialogue: Dialogue) -> list[tuple[Form, ...]]:
    """Return the forms of people's names, those that mean the same person together."""
    cast = Cast(tallies, dialogue)
    # The most frequent first, because the first form of a person decides which rarer ones go with it.
    remaining = sorted(tallies, key=lambda form: (-tallies[form].count, form))
    for step in _STEPS:
        remaining = [form for form in remaining if not step(cast, form)]
    join_introduced(cast)
    join_wives(cast)
    join_addressed(cast)
    join_narrator(cast)
    join_company(cast)
    return [tuple(person.forms) for person in cast.people]


# --- full names ------------------------------------------------------------------------------------------


def _drop_false(cast: Cast, form: Form) -> bool:
    """Drop words that only stand side by side: the Archer Madeira, on Monday Anne, the Fielding High School."""
    names = form[1]
    if len(names) < 2:
        return False
    rest = (form[0], names[1:])
    is_dated = names[0].lower() in CALENDAR and cast.tallies[form].count == 1 and rest in cast.tallies
    is_repeated = names[0] in names[1:]
    # The Sam Clarks are Sam Clark and his wife.
    is_couple = any((form[0], (*names[:-1], single)) in cast.tallies for single in _singulars(names[-1]))
    return is_dated or is_repeated or is_couple or cast.is_surname_first(form)


def _singulars(plural: str) -> list[str]:
    return [plural.removesuffix(ending) for ending in ("s", "es") if plural.endswith(ending)]


def _take_full(cast: Cast, form: Form) -> bool:
    """Take given name and surname: Elizabeth Bennet, Sir William Lucas."""
    title, names = form
    given, surname = _given_name(form), split_name(names)[1]
    # Behind a name such a word is an honorific: Hamidullah Begum is a lady of that house.
    is_styled = names[-1].lower() in TITLES and not cast.formal_surnames[surname]
    if len(given) < 2 or not surname or is_styled:
        return False
    head = next((person for person in cast.people if _shares_head(person, names)), None)
    if head is not None and cast.may_be_called(head, form):
        return cast.assign(form, head)
    if title == "mrs" and cast.gender_of_given_name(given) != FEMALE:
        given = f"{HUSBANDS}{given}"
    same = [
        person
        for person in cast.find_by_surname(surname)
        if person.given == given or (not given.startswith(HUSBANDS) and _may_be_variant(cast, person, form))
    ]
    owner = cast.most_mentioned(person for person in same if cast.may_be_called(person, form))
    owner = owner or _find_by_patronymic(cast, form)
    if owner is None:
        owner = Person(given, surname)
        cast.people.append(owner)
    # A full name without a title shows the given name as it is; a nickname or a short form does not.
    elif title == "" and given not in NICKNAMES and not is_beginning(given, owner.given):
        owner.given = given
    # Of Alexey Fyodorovitch the patronymic stood for a surname until the real one came.
    if find_patronymic(("", owner.surname)) and not find_patronymic(("", surname)):
        owner.surname = surname
    owner.forms.append(form)
    return True


def _shares_head(person: Person, names: Sequence[str]) -> bool:
    """Return whether a person goes by the words before `of` or `the` in a name, or by a name that continues it."""
    head = words_before_joining(names)
    return ("", head) in person.forms or any(words_before_joining(own) == names for _, own in person.forms)


def _find_by_patronymic(cast: Cast, form: Form) -> Person | None:
    """Return the person whom a father's name ties to a form: Alexey Fyodorovitch is the only Alexey Karamazov."""
    given, patronymic = _given_name(form), find_patronymic(form[1])
    called = [person for person in cast.people if person.surname and is_same_given_name(person.given, given)]
    known = [{find_patronymic(names) for _, names in person.forms} - {""} for person in called]
    if patronymic:
        same = [person for person, own in zip(called, known, strict=True) if patronymic in own]
        possible = same or [person for person, own in zip(called, known, strict=True) if not own]
    else:
        possible = [person for person in called if find_patronymic(("", person.surname))]
    if len(possible) != 1:
        return None
    only = possible[0]
    return only if cast.may_be_called(only, form) and cast.is_near(only, form) else None


def _may_be_variant(cast: Cast, person: Person, form: Form) -> bool:
    """Return whether a full name may be another way to write this person's; young Tom is not Sir Thomas."""
    is_noble = form[0] in NOBLE_TITLES or bool(cast.titles(person) & NOBLE_TITLES)
    given = _given_name(form)
    is_short = is_beginning(given, person.given) or is_beginning(person.given, given)
    return not is_noble and (is_short or is_same_given_name(person.given, given))


def _given_name(form: Form) -> str:
    """Return the given name of a full name in lower case; a saint's has its title."""
    given = split_name(form[1])[0]
    return f"st {given}" if given and form[0] in SAINTS else given


# --- saints, titles and what is left ---------------------------------------------------------------------


def _take_saint(cast: Cast, form: Form) -> bool:
    """Take a saint, or somebody named like one, by the given name alone: St. John; surnames come later."""
    title, names = form
    if title not in SAINTS or len(names) > 1 or cast.is_surname(_saint_surname(form)):
        return False
    given = f"st {names[0].lower()}"
    if not cast.assign(form, cast.most_mentioned(person for person in cast.people if person.given == given)):
        cast.people.append(Person(given, "", [form]))
    return True


def _take_saints_family(cast: Cast, form: Form) -> bool:
    """Take a saint's name that a family bears, alone: for the member who is most often called so with a title."""
    if form[0] not in SAINTS or len(form[1]) > 1:
        return False
    return cast.assign(form, most_formal(cast, _saint_surname(form), form))


def _saint_surname(form: Form) -> str:
    """Return a saint's name as a family bears it."""
    return f"{SAINT} {form[1][0].lower()}"


def _take_title(cast: Cast, form: Form) -> bool:
    """Take a title alone (the Queen) for the only one who has it, or the one who has it far more often."""
    title, names = form
    if (title and not is_compound_rank(form)) or len(names) > 1 or names[0].lower() not in TITLES:
        return False
    plain = names[0].lower()
    holders = [person for person in cast.people if _bears(cast, person, plain)]
    if not holders:
        return False
    first, *others = sorted(holders, key=lambda person: (-cast.count_title(person, plain), person.forms[0]))
    if others and cast.count_title(first, plain) < DOMINANCE * cast.count_title(others[0], plain):
        return False
    # `The Captain` of chapters in which the only captain does not appear is another one.
    is_around = cast.is_around(first, form) or (not others and cast.is_introduced(first, form))
    return is_around and cast.may_be_titled(first, form) and cast.assign(form, first)


def _bears(cast: Cast, person: Person, title: str) -> bool:
    """Return whether a title alone may mean a person; squires and widows are familiar and still called so."""
    is_familiar = title in FAMILIAR_TITLES and cast.count_title(person, title) > 0
    return is_familiar or title in cast.titles(person) or person.given == title


def _take_alone(cast: Cast, form: Form) -> bool:
    """Make a person of their own of any form that is left."""
    given, surname = split_name(form[1])
    cast.people.append(Person(given, surname, [form]))
    return True


_STEPS: Final[tuple[Callable[[Cast, Form], bool], ...]] = (
    _drop_false,
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
