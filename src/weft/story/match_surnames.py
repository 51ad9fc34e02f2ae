"""Decide whom a surname means, alone or behind a title: which of a family is Mr. Vane, and which Miss Vane.

Each `take_` function either assigns the form (perhaps to a new person) and returns True, or leaves it to a later
step of `merge`.
"""

from collections.abc import Sequence, Set
from typing import Final

from weft.story.cast import DOMINANCE, LADIES, Cast, Person, canonical_title
from weft.story.display_name import split_name
from weft.story.model import Form
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

_BARE_SHARE: Final = 0.25
_MIN_BARE_SPEECHES: Final = 3
"""A bare surname with a smaller share of a person's mentions, and with fewer speeches, may be anybody's of the
family."""
_MIN_KNOWN_OWNER: Final = 20
"""One bare use of the surname says nothing of a person who is mentioned so often otherwise."""
_RIVAL_SHARE: Final = 0.1
"""A person with a smaller share of another's mentions is not meant by the surname that both bear."""
_TOLD_APART_SHARE: Final = 0.2
"""A person who in a larger share of mentions is called by title and given name is not meant by title and
surname."""
_STYLED_SHARE: Final = 0.15
_MIN_STYLED: Final = 3
"""Nor is a person who is called so at least so often, and in so large a share beside the bare title and
surname."""
_ABSENT_SHARE: Final = 0.2
"""A person who is named in a smaller share of the scenes with a title and surname is not meant by it."""
_PRESENT_SHARE: Final = 0.5
"""The rule above holds only if a relative is named in a larger share of them than this."""
_COUPLE_SHARE: Final = 0.25
"""Husband and wife are named together in a larger share of his sentences than this."""
_SHARED: Final = frozenset({"mr", "miss", "ms", "master"})
"""Titles that several members of a family bear at once."""
_LEARNED: Final = frozenset({"doctor", "professor"})
"""Ranks that one person may hold together."""
_MILITARY: Final = frozenset(
    {"captain", "colonel", "major", "general", "lieutenant", "sergeant", "admiral", "commodore", "brigadier"}
)
_OVERLAP_SHARE: Final = 0.1
"""Two ranks are one person's if no larger share of the scenes with either has the earlier one after the later."""
_MIN_CIVILIAN: Final = 5
"""So many uses of Mr. show a civilian; one or two are slips."""
_RANKS: Final = frozenset(TITLES) - NOBLE_TITLES - FAMILIAR_TITLES - PLAIN_TITLES.keys()


def take_titled_surname(cast: Cast, form: Form) -> bool:
    """Take a title and a surname for the member of that family whom it fits best, or for a new person."""
    title, names = form
    given, surname = split_name(names)
    if not title or title in SAINTS or given or is_compound_rank(form):
        return False
    fitting = [
        person
        for person in cast.find_by_surname(surname)
        if _fits(cast, person, form) and cast.is_near(person, form)
    ]
    son = _find_son(cast, form)
    if son is not None or _is_elder(cast, form):
        # The elder Mr. is never called by his given name in such a book.
        fitting = [person for person in fitting if not person.given]
    if canonical_title(title) not in _SHARED:
        fitting = _keep_holders(cast, fitting, form)
    present = [person for person in fitting if not any(_is_absent(cast, person, other, form) for other in fitting)]
    fitting = present or fitting
    least = _RIVAL_SHARE * max((cast.count_mentions(person) for person in fitting), default=0)
    fitting = [person for person in fitting if cast.count_mentions(person) >= least]
    # A man whom the book shows to be one comes before a Loo of whom nothing is known.
    fitting = [person for person in fitting if TITLES[title] and cast.gender(person) == TITLES[title]] or fitting
    owner = max(fitting, key=lambda person: (_claim(cast, person, title), person.forms[0]), default=None)
    if owner is None:
        owner = Person("", surname)
        cast.people.append(owner)
        if son is not None:
            owner.forms.extend(_take_long_names(cast, son))
    owner.forms.append(form)
    return True


def is_compound_rank(form: Form) -> bool:
    """Return whether a title and a name are together one rank: Chief Inspector, Lord Mayor, but not Mr. Bishop."""
    title, names = form
    return title in _RANKS | NOBLE_TITLES and len(names) == 1 and names[0].lower() in TITLES


def _find_son(cast: Cast, form: Form) -> Person | None:
    """Return the son of a Mr. whom the narrator calls by his given name: Tom, of Mr. Gradgrind."""
    if form[0] != "mr":
        return None
    sons = (
        person
        for person in cast.find_by_surname(split_name(form[1])[1])
        if any(cast.narrates_both(form, own) for own in person.forms if not own[0] and len(own[1]) == 1)
    )
    return next(sons, None)


def _take_long_names(cast: Cast, son: Person) -> list[Form]:
    """Take the long names of a son who mostly goes by a short one; they are his father's: Thomas Gradgrind."""
    short = [form for form in son.forms if form[1][0].lower() in NICKNAMES]
    long = [form for form in son.forms if form not in short and len(form[1]) > 1]
    used = sum(cast.tallies[form].count for form in short if len(form[1]) > 1)
    if used <= sum(cast.tallies[form].count for form in long):
        return []
    words = {form[1][0] for form in long}
    taken = [form for form in son.forms if form in long or form[1][0] in words]
    son.forms[:] = [form for form in son.forms if form not in taken]
    return taken


def _is_elder(cast: Cast, form: Form) -> bool:
    """Return whether a Mr. is the husband of the plain Mrs. where a younger wife goes by her husband's name.

    Mr. and Mrs. Musgrove have a son, whose wife is Mrs. Charles Musgrove.
    """
    wife = cast.tallies.get(("mrs", form[1]))
    if form[0] != "mr" or wife is None:
        return False
    has_younger = any(person.given.startswith("mrs ") for person in cast.find_by_surname(split_name(form[1])[1]))
    husband = cast.tallies[form]
    return has_younger and husband.count_common_sentences(wife) > _COUPLE_SHARE * len(husband.sentences)


def _fits(cast: Cast, person: Person, form: Form) -> bool:
    """Return whether title, gender and company allow a title and surname to mean a member of the family."""
    held = cast.titles(person)
    title = canonical_title(form[0])
    if title in held and not person.given:
        return True
    ladies_titles = LADIES & {title, *held}
    clashes = len(ladies_titles) > 1 or (bool(ladies_titles) and bool(_RANKS & {title, *held}))
    clashes |= title == "mrs" and bool(person.given) and _is_daughter(cast, person, form)
    is_everyday = title in PLAIN_TITLES or title in FAMILIAR_TITLES
    held_together = _LEARNED if title in _LEARNED else frozenset({title})
    others = held - PLAIN_TITLES.keys() - held_together
    clashes |= not is_everyday and bool(others) and not _is_promoted(cast, person, form, others)
    # A Mademoiselle is no Comtesse.
    clashes |= "miss" in held and title in NOBLE_TITLES and TITLES[title] == FEMALE and title not in LADIES
    clashes |= cast.leans_to_other(person, TITLES[title])
    # Madame may be a countess; Mrs. is none.
    clashes |= form[0] in PLAIN_TITLES and bool(held & NOBLE_TITLES)
    return not clashes and not _is_told_apart(cast, person, form) and cast.may_be_called(person, form)


def _is_promoted(cast: Cast, person: Person, form: Form, held: Set[str]) -> bool:
    """Return whether a military rank follows another in the book: Captain Vane is Major Vane from then on."""
    if not {canonical_title(form[0]), *held} <= _MILITARY:
        return False
    other = sorted(
        text for own in person.forms if canonical_title(own[0]) in held for text in cast.texts_by_form[own]
    )
    earlier, later = sorted((other, cast.texts_by_form[form]))
    overlap = sum(text >= later[0] for text in earlier) + sum(text <= earlier[-1] for text in later)
    return overlap <= _OVERLAP_SHARE * (len(earlier) + len(later))


def _is_daughter(cast: Cast, person: Person, form: Form) -> bool:
    """Return whether the book knows a Miss of this surname too, to whom the given name belongs."""
    return ("miss", form[1]) in cast.tallies and not cast.count_title_and_given(person, "mrs")


def _is_told_apart(cast: Cast, person: Person, form: Form) -> bool:
    """Return whether the book calls a person by title and given name because the title alone means another."""
    title, own, alone = form[0], cast.count_mentions(person), cast.tallies[form].count
    if title not in PLAIN_TITLES:
        return False
    styled = cast.count_title_and_given(person, title)
    if styled <= _TOLD_APART_SHARE * own and not (styled >= _MIN_STYLED and styled > _STYLED_SHARE * alone):
        return False
    others = cast.find_by_surname(person.surname)
    return (
        any(_may_be_meant(cast, other, person, form) for other in others)
        or cast.has_several(title, person.surname)
        or (person.given.startswith("mrs ") and own >= alone)
        or (alone > DOMINANCE * own and _meet(cast, person, form))
    )


def _meet(cast: Cast, person: Person, form: Form) -> bool:
    """Return whether a sentence names a person beside a form that may mean somebody else of the family."""
    tally = cast.tallies[form]
    is_wife = person.given.startswith("mrs ")
    return is_wife or any(tally.count_common_sentences(cast.tallies[own]) for own in person.forms)


def _may_be_meant(cast: Cast, person: Person, relative: Person, form: Form) -> bool:
    """Return whether a title and surname may mean this person, not the relative, and not one who is told apart."""
    title = form[0]
    if person is relative or cast.gender(person) not in ("", PLAIN_TITLES[title]):
        return False
    if cast.leans_to_other(person, PLAIN_TITLES[title]) or _is_absent(cast, person, relative, form):
        return False
    if LADIES & cast.titles(person) - {title} or cast.count_mentions(person) < _BARE_SHARE * (
        cast.count_title_and_given(relative, title)
    ):
        return False
    return cast.count_title_and_given(person, title) <= _TOLD_APART_SHARE * cast.count_mentions(person)


def _is_absent(cast: Cast, person: Person, relative: Person, form: Form) -> bool:
    """Return whether a title and surname stand where the relative is named otherwise, and this person is not.

    Of a person who is seldom called anything else that says nothing.
    """
    if cast.count_mentions(person) < cast.tallies[form].count:
        return False
    texts = len(cast.texts_by_form[form])
    if not cast.is_around(person, form) and cast.is_around(relative, form):
        return True
    return (
        cast.count_texts_with(person, form) <= _ABSENT_SHARE * texts
        and cast.count_texts_with(relative, form) >= _PRESENT_SHARE * texts
    )


def _keep_holders(cast: Cast, people: Sequence[Person], form: Form) -> list[Person]:
    """Keep those who hold a rank, else the only one who may: Lord Stark is he whom others call Lord Eddard."""
    title, names = canonical_title(form[0]), form[1]
    holders = [person for person in people if cast.count_title_and_given(person, form[0])]
    if holders:
        return holders
    if title in _MILITARY:
        # Whoever is a Mr. throughout the book holds no command.
        people = [person for person in people if cast.count_title(person, "mr") < _MIN_CIVILIAN]
    # Ranks without a gender of their own (captain, doctor) are nearly always men's in older novels.
    gender = TITLES[title] or MALE
    family = cast.find_by_surname(split_name(names)[1])
    fitting = [person for person in family if cast.gender(person) == gender] or [
        person for person in family if not cast.gender(person)
    ]
    return [person for person in people if person in fitting] if len(fitting) == 1 else []


def _claim(cast: Cast, person: Person, title: str) -> float:
    """Return how good a claim to the bare title a member of the family has: Miss Bennet is not Miss Lydia."""
    styled = cast.count_title_and_given(person, title) if title in PLAIN_TITLES else 0
    return cast.count_mentions(person) / (1 + styled)


def take_bare_surname(cast: Cast, form: Form) -> bool:
    """Take a surname alone for the member of the family who is most often called by it with a title.

    A title that ends a name, Post Captain, is no surname unless it has a title itself, Mr. Bishop.
    """
    title, names = form
    given, surname = split_name(names)
    if title or given or (surname in TITLES and not cast.formal_surnames[surname]):
        return False
    owner = most_formal(cast, surname, form)
    if owner is not None and _is_family_name(cast, owner, form):
        # Nobody's: the Bennet of the Bennet family means none of them.
        return True
    return cast.assign(form, owner)


def _is_family_name(cast: Cast, owner: Person, form: Form) -> bool:
    """Return whether a bare surname means no member of a family: nobody speaks by it, and several may be meant."""
    count, own = cast.tallies[form].count, cast.count_mentions(owner)
    if count >= _BARE_SHARE * own or cast.dialogue.speakers[form] >= _MIN_BARE_SPEECHES:
        return False
    others = [person for person in cast.find_by_surname(owner.surname) if person is not owner]
    rivals = [
        person
        for person in others
        if cast.gender(person) != FEMALE and cast.count_mentions(person) >= _RIVAL_SHARE * own
    ]
    is_chance = count < 2 and own >= _MIN_KNOWN_OWNER
    return bool(rivals) or (bool(others) and (is_chance or cast.gender(owner) == FEMALE))


def most_formal(cast: Cast, surname: str, form: Form) -> Person | None:
    """Return the member of a family whom its name alone means, if it may mean any of them."""
    fitting = [
        person
        for person in cast.find_by_surname(surname)
        if cast.may_be_called(person, form) and cast.is_near(person, form)
    ]
    return max(fitting, key=lambda person: (_formality(cast, person), person.forms[0]), default=None)


def _formality(cast: Cast, person: Person) -> tuple[bool, int, int]:
    """Rank a person by use of title and surname; men first, because a bare surname long meant a man."""
    titled = sum(cast.tallies[form].count for form in person.forms if form[0] and not split_name(form[1])[0])
    return bool(titled) and cast.gender(person) == MALE, titled, cast.count_mentions(person)
