"""Join people whose names share no word, after all forms are assigned.

Two kinds of evidence are strong enough: a wife who goes by her husband's name is named with him more than any
other woman, and a name by which somebody is only spoken to belongs to whoever is there each time.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from weft.story.cast import LADIES, Cast, Person
from weft.story.display_name import is_same_given_name
from weft.story.kinds import Tally, sum_tallies
from weft.story.vocabulary import FAMILIAR_TITLES, FEMALE, GIVEN_NAMES, NICKNAMES, NOBLE_TITLES, PLAIN_TITLES

HUSBANDS: Final = "mrs "
"""Before the given name of a wife who goes by her husband's: Mrs. John Vane has the given name `mrs john`."""
_MIN_WIFE_MENTIONS: Final = 5
"""How often a wife must be called by her husband's name before her own is looked for."""
_MIN_COUPLE_SENTENCES: Final = 3
_COUPLE_CHANCE_RATIO: Final = 3.0
_COUPLE_LEAD: Final = 2.0
"""A woman is taken for the wife who is named with the husband in so many sentences, so many times as often as by
chance, and so many times as often as any other woman. Lower, and a sister or a friend is taken for her."""
_COMMON_SHARE: Final = 0.06
"""A larger share of sentences that name both are those of two women."""
_MIN_ADDRESSES: Final = 3
_PRESENT_SHARE: Final = 0.41
_PRESENT_SHARE_NARRATED: Final = 0.6
_PRESENT_LEAD: Final = 1.8
"""The least share of the times a name is spoken in which the person meant by it is around, and how many times as
often as anybody else; the share is larger if the narrator uses the name more than people do."""
_NARRATED_SHARE: Final = 0.34
"""A name that the narrator also uses around a larger share of the addresses is somebody's own name."""
_MIN_NARRATOR_ADDRESSES: Final = 5
_ANSWER_SHARE: Final = 0.1
"""A narrator is spoken to so often by a name, and answers so large a share of these speeches with `said I`."""
_SAME_LETTERS: Final = 2
"""A pet name mostly keeps so many letters of the beginning: Evie is Evelyn, Lucia is Lucy."""


# --- wives -----------------------------------------------------------------------------------------------


def join_wives(cast: Cast) -> None:
    """Give each wife who goes by her husband's name her own: Mrs. John Vane, whom he calls Ruth."""
    for wife in [person for person in cast.people if person.given.startswith(HUSBANDS)]:
        same = _find_own_name(cast, wife) if cast.count_mentions(wife) >= _MIN_WIFE_MENTIONS else None
        if same is not None:
            wife.forms.extend(same.forms)
            cast.people.remove(same)


def _find_own_name(cast: Cast, wife: Person) -> Person | None:
    """Return the woman without a surname who is named with the husband far more often than any other."""
    given = wife.given.removeprefix(HUSBANDS)
    husband = next((person for person in cast.find_by_surname(wife.surname) if person.given == given), None)
    if husband is None:
        return None
    his = sum_tallies(husband.forms, cast.tallies)
    women = [
        person
        for person in cast.people
        if person.given and not person.surname and cast.gender_of_given_name(person.given) == FEMALE
    ]
    ranked = sorted(((_company(cast, woman, his), woman.forms[0], woman) for woman in women), reverse=True)
    if not ranked:
        return None
    first, second = ranked[0][0], ranked[1][0] if len(ranked) > 1 else 0.0
    if first < max(_COUPLE_CHANCE_RATIO, _COUPLE_LEAD * second):
        return None
    chosen = ranked[0][2]
    # Two names of one person hardly stand in one sentence.
    hers, wifes = sum_tallies(chosen.forms, cast.tallies), sum_tallies(wife.forms, cast.tallies)
    common = hers.count_common_sentences(wifes)
    return None if common > _COMMON_SHARE * min(len(hers.sentences), len(wifes.sentences)) else chosen


def _company(cast: Cast, woman: Person, husband: Tally) -> float:
    """Return how many times as often as by chance a woman is named with the husband; 0 if it is too seldom."""
    hers = sum_tallies(woman.forms, cast.tallies)
    by_chance = len(hers.sentences) * len(husband.sentences) / cast.sentence_count
    meetings = hers.count_common_sentences(husband)
    return meetings / by_chance if meetings >= _MIN_COUPLE_SENTENCES else 0.0


# --- names by which people are spoken to -----------------------------------------------------------------


class Called(Struct):
    """How often a person's name is spoken to, who is around then, and who answers; people are indexes."""

    count: int = 0
    narrated: int = 0
    answered_by_narrator: int = 0
    around: Counter[int] = field(default_factory=Counter)
    answers: Counter[int] = field(default_factory=Counter)


def join_addressed(cast: Cast) -> None:
    """Join each person who is only spoken to with the one who is there: Aunt Juley is Mrs. Munt."""
    called = count_addresses(cast)
    found = [(person, other) for person, other in _pair_addressed(cast, called)]
    gone: set[int] = set()
    # A person who is joined to another is not joined to a third: Meg with Margaret, and Margaret with nobody.
    for index, other in found:
        if index in gone or other in gone:
            continue
        person, owner = cast.people[index], cast.people[other]
        owner.forms.extend(person.forms)
        owner.given, owner.surname = owner.given or person.given, owner.surname or person.surname
        gone.add(index)
    cast.people[:] = [person for index, person in enumerate(cast.people) if index not in gone]


def count_addresses(cast: Cast) -> dict[int, Called]:
    index_of = {form: index for index, person in enumerate(cast.people) for form in person.forms}
    called: dict[int, Called] = {}
    for address in cast.dialogue.addresses:
        if address.form not in index_of:
            continue
        entry = called.setdefault(index_of[address.form], Called())
        around = {index_of[form] for form in address.around if form in index_of}
        entry.count += 1
        entry.narrated += index_of[address.form] in around
        entry.answered_by_narrator += address.is_answered_by_narrator
        entry.around.update(around)
        if address.answer in index_of:
            entry.answers[index_of[address.answer]] += 1
    return called


def _pair_addressed(cast: Cast, called: dict[int, Called]) -> Iterator[tuple[int, int]]:
    """Yield the people who are only spoken to, each with the one who is meant."""
    for index in sorted(called, key=lambda index: (-called[index].count, index)):
        entry, person = called[index], cast.people[index]
        if entry.count < _MIN_ADDRESSES or entry.narrated > _NARRATED_SHARE * entry.count:
            continue
        narrated = sum(cast.dialogue.narrated[form] for form in person.forms)
        ranked = sorted(
            (
                (entry.around[other] + entry.answers[other], -other)
                for other in entry.around
                if other != index and may_complete(cast, cast.people[other], person)
            ),
            reverse=True,
        )
        if not ranked:
            continue
        first, second = ranked[0][0], ranked[1][0] if len(ranked) > 1 else 0
        chosen = -ranked[0][1]
        # Of few addresses a larger share is needed.
        share = entry.around[chosen] / (entry.count + 2)
        least = _PRESENT_SHARE if narrated <= entry.count else _PRESENT_SHARE_NARRATED
        if share >= least and first >= _PRESENT_LEAD * second:
            yield index, chosen


def may_complete(cast: Cast, owner: Person, person: Person) -> bool:
    """Return whether one person's names may complete another's: a given name to a surname, or a pet name.

    Nobody has two given names or two surnames, unless one is short for the other.
    """
    if not all(cast.may_be_called(owner, form) for form in person.forms):
        return False
    given, surname = _parts(person)
    own_given, own_surname = _parts(owner)
    if given and own_given and not _is_pet_name(given, own_given):
        return False
    if surname and own_surname and surname != own_surname:
        return False
    if not own_given and not own_surname:
        return False
    # Miss Reed is not Mrs. Reed, while Miss Louisa may become Mrs. Bounderby.
    titled = {own for own in owner.forms if own[0] in LADIES and cast.tallies[own].count > 1}
    ladies = [form for form in person.forms if form[0] in LADIES and cast.tallies[form].count > 1]
    if any((title, form[1]) in titled for form in ladies for title in LADIES - {form[0]}):
        return False
    # No Mr. is a lord.
    return not (cast.titles(person) & PLAIN_TITLES.keys() and cast.titles(owner) & NOBLE_TITLES)


def _parts(person: Person) -> tuple[str, str]:
    """Return given name and surname of a person; behind `Aunt` stands a given name."""
    if not person.given and all(title in FAMILIAR_TITLES for title, _ in person.forms):
        return person.surname, ""
    return person.given, person.surname


def _is_pet_name(pet: str, given: str) -> bool:
    # Maria is a name of her own and not short for Margaret.
    is_own = pet in GIVEN_NAMES and pet not in NICKNAMES and given in GIVEN_NAMES
    is_alike = pet[:_SAME_LETTERS] == given[:_SAME_LETTERS]
    return is_same_given_name(pet, given) or (is_alike and not is_own)


# --- the narrator ----------------------------------------------------------------------------------------


def join_narrator(cast: Cast) -> None:
    """Join the names by which others call a narrator who says I: Pip, whom Herbert calls Handel."""
    called = count_addresses(cast) if cast.dialogue.has_narrator else {}
    names = [index for index in called if _is_narrators(cast, cast.people[index], called[index])]
    if not names:
        return
    narrator, *others = sorted(names, key=lambda index: (-called[index].count, index))
    owner = cast.people[narrator]
    joined = [
        cast.people[index]
        for index in others
        if all(cast.may_be_called(owner, form) for form in cast.people[index].forms)
    ]
    for person in joined:
        owner.forms.extend(person.forms)
        owner.given, owner.surname = owner.given or person.given, owner.surname or person.surname
    cast.people[:] = [person for person in cast.people if person not in joined]


def _is_narrators(cast: Cast, person: Person, entry: Called) -> bool:
    """Return whether a person is often spoken to, answered by the narrator, and hardly named in the narration."""
    narrated = sum(cast.dialogue.narrated[form] for form in person.forms)
    return (
        entry.count >= _MIN_NARRATOR_ADDRESSES
        and entry.answered_by_narrator >= _ANSWER_SHARE * entry.count
        and narrated <= _NARRATED_SHARE * entry.count
    )
