"""Decide whom a given name or a nickname means, alone or behind a title.

Each `take_` function either assigns the form (perhaps to a new person) and returns True, or leaves it to a later
step of `merge`.
"""

from collections.abc import Sequence
from typing import Final

from weft.story.cast import DOMINANCE, Cast, Person
from weft.story.display_name import is_beginning
from weft.story.model import Form
from weft.story.vocabulary import (
    FAMILIAR_TITLES,
    NICKNAMES,
    NOBLE_TITLES,
    PLAIN_TITLES,
    SAINTS,
    TITLES,
)

_RARE_SHARE: Final = 0.05
"""A titled person with a smaller share of a given name's mentions is not meant by the bare name."""
_MIN_WELL_KNOWN: Final = 5
"""A person who is mentioned so often by the full name has a household of their own in the book."""
_MIN_RELATIVES: Final = 3
"""A given name that stands with more relatives of a person than this, and with twice as many as of any other, is
that person's."""
_ALWAYS_SHARE: Final = 0.7
"""A noble person has a nickname only where so large a share of its texts names that person too."""
_MANY_TEXTS: Final = 10
_TOGETHER_SHARE: Final = 0.1
"""A nickname that stands in so many texts is somebody else's if the long name stands in a smaller share of them,
and any nickname is if the long name stands in a larger share of its sentences."""
_MIN_OWN_USES: Final = 4
"""A variant of a given name that is used less often proves nothing by where it stands."""


def take_bare_given(cast: Cast, form: Form) -> bool:
    """Take a given name alone; without a bearer yet it makes a new person, unless it is a surname."""
    title, names = form
    if title or len(names) > 1:
        return False
    plain = names[0].lower()
    if plain in TITLES:
        return False
    # Left to `take_nickname`, which looks for the long name first.
    if plain in NICKNAMES and not any(person.given == plain for person in cast.people):
        return False
    owner = _choose_by_family(cast, _find_intimates(cast, form), form) if cast.is_given_name(form) else None
    if owner is not None:
        return cast.assign(form, owner)
    # Left to the steps for surnames, which know the titles of the family.
    if cast.find_by_surname(plain) or cast.formal_surnames[plain]:
        return False
    cast.people.append(Person(plain, "", [form]))
    return True


def _find_intimates(cast: Cast, form: Form) -> list[Person]:
    """Return the people who may be called by a given name alone: the untitled, else frequent titled ones."""
    called = [
        person
        for person in cast.find_by_given_name(form[1][0].lower())
        if cast.may_be_called(person, form)
        and cast.is_near(person, form)
        and not cast.is_passing_namesake(person, form)
        and _is_same_or_together(cast, person, form)
    ]
    # One is on first-name terms with people without a rank rather than with a lord.
    # A full name that stands once, of no family the book knows, is often none: then Margaret Oniton saw.
    called = [person for person in called if cast.has_family(person)] or called
    untitled = [person for person in called if not cast.titles(person) - PLAIN_TITLES.keys()]
    least = _RARE_SHARE * cast.tallies[form].count
    return untitled or [person for person in called if _count_with_titles(cast, person) >= least]


def _is_same_or_together(cast: Cast, person: Person, form: Form) -> bool:
    """Return whether a given name is a person's own, or a variant of it that stands in one scene with the person.

    The Sarah of one place is not Sally Oates of another.
    """
    is_own = any(form[1][0] in names for _, names in person.forms)
    return is_own or cast.tallies[form].count < _MIN_OWN_USES or cast.count_texts_with(person, form) > 0


def _count_with_titles(cast: Cast, person: Person) -> int:
    """Return how often a person is mentioned, by title and given name too."""
    forms = {*person.forms, *cast.forms_by_title(person)}
    return sum(cast.tallies[form].count for form in forms)


def _choose_by_family(cast: Cast, people: Sequence[Person], form: Form) -> Person | None:
    """Choose whom a given name alone means: of two well known by their full names, the one whose family is around.

    A book that calls Charles Hayter by both names whenever he appears has another Charles at home. Where no family
    decides, it is one of those nearest to where the name stands, and nobody if they are mostly far away.
    """
    well_known = [person for person in people if cast.count_mentions(person) >= _MIN_WELL_KNOWN]
    ranked = sorted(
        ((cast.count_with_relatives(person, form), person.forms[0], person) for person in well_known), reverse=True
    )
    if len(ranked) > 1 and ranked[0][0] > max(_MIN_RELATIVES, 2 * ranked[1][0]):
        return ranked[0][2]
    nearness = [(cast.count_texts_near(person, form), person) for person in people]
    nearest = max((near for near, _ in nearness), default=0)
    if len(people) > 1 and (4 if _stands_out(cast, people) else 2) * nearest < len(cast.texts_by_form[form]):
        introduced = [person for person in people if cast.is_introduced(person, form)]
        return introduced[0] if len(introduced) == 1 and _stands_out(cast, people) else None
    return cast.most_mentioned(person for near, person in nearness if 2 * near >= nearest)


def _stands_out(cast: Cast, people: Sequence[Person]) -> bool:
    """Return whether one of some people is mentioned far more often than any other."""
    most, second, *_ = sorted((cast.count_mentions(person) for person in people), reverse=True)
    return most >= DOMINANCE * second


def take_nickname(cast: Cast, form: Form) -> bool:
    """Take a short name whose long one is somebody's: Lizzy, Ned."""
    title, names = form
    if title or len(names) > 1:
        return False
    plain = names[0].lower()
    if plain in TITLES or _is_own_name(cast, form):
        return False
    called = [person for person in cast.find_by_given_name(plain) if _may_be_short(cast, person, form)]
    called = called or [
        person
        for person in cast.people
        if person.surname and is_beginning(plain, person.given) and _may_be_short(cast, person, form)
    ]
    # Assigned to nobody where it is a surname, which leaves it to a later step.
    if called or cast.find_by_surname(plain) or cast.formal_surnames[plain]:
        return cast.assign(form, cast.most_mentioned(called))
    cast.people.append(Person(plain, "", [form]))
    return True


def _may_be_short(cast: Cast, person: Person, form: Form) -> bool:
    """Return whether a nickname may be this person's.

    Without a surname the long name must be the usual one, and around. Nobody calls Lady Catherine Kitty where her
    full name never stands without the title, unless Kitty appears only where Lady Catherine does.
    """
    texts = len(cast.texts_by_form[form])
    is_here = cast.is_near(person, form) and not cast.is_passing_namesake(person, form)
    if any(len(names) > 1 and names[0] == form[1][0] for _, names in person.forms):
        return is_here and cast.may_be_called(person, form)
    is_frequent = texts >= _MANY_TEXTS and cast.count_mentions(person) >= _MANY_TEXTS
    if is_frequent and cast.count_texts_with(person, form) < _TOGETHER_SHARE * texts:
        return False
    if cast.count_sentences_with(person, form) > _TOGETHER_SHARE * len(cast.tallies[form].sentences):
        return False
    has_family = bool(person.surname) and not person.surname.startswith("the ")
    is_usual = has_family or (
        cast.is_around(person, form) and cast.count_mentions(person) >= cast.tallies[form].count
    )
    is_noble = bool(cast.titles(person) & NOBLE_TITLES)
    is_distant = is_noble and all(title or len(names) == 1 for title, names in person.forms)
    is_distant = is_distant and cast.count_texts_with(person, form) < _ALWAYS_SHARE * texts
    return is_usual and not is_distant and is_here and cast.may_be_called(person, form)


def _is_own_name(cast: Cast, form: Form) -> bool:
    """Return whether a short name mostly stands behind a title: Aunt Polly was never called Mary."""
    titled = sum(tally.count for (title, names), tally in cast.tallies.items() if title and names == form[1])
    return titled > cast.tallies[form].count


def take_titled_given(cast: Cast, form: Form) -> bool:
    """Take a title and a given name: Sir William, Miss Elizabeth, Aunt Jane."""
    title, names = form
    if not title or title in SAINTS or len(names) > 1 or not cast.is_given_name(form):
        return False
    if title == "mrs":
        husbands = f"mrs {names[0].lower()}"
        # Mrs. Charles is the wife of Charles, and no Charles herself.
        wife = cast.most_mentioned(person for person in cast.people if person.given == husbands)
        if wife is not None:
            return cast.assign(form, wife)
    called = [person for person in cast.find_by_given_name(names[0].lower()) if cast.may_be_called(person, form)]
    if title in NOBLE_TITLES or title in FAMILIAR_TITLES:
        # Young Pip is not King Philip, and Aunt Polly is no Mary.
        called = [person for person in called if any(names[0] in own for _, own in person.forms)]
    same_title = [
        person
        for person in called
        if title in cast.titles(person) or (title in FAMILIAR_TITLES and cast.is_styled(person, title, names[0]))
    ]
    untitled = [person for person in called if not cast.titles(person) - PLAIN_TITLES.keys()]
    return cast.assign(form, cast.most_mentioned(same_title or untitled))
