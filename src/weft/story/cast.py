"""Hold the people of a book while the forms of their names are assigned to them, and answer questions about them.

`merge`, `match_given_names` and `match_surnames` decide which form means whom; this module knows how often, where
and beside whom each stands.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field

from weft.story.dialogue import Dialogue
from weft.story.display_name import is_same_given_name, split_name, without_particles
from weft.story.kinds import Tally, infer_gender
from weft.story.model import Form
from weft.story.vocabulary import (
    FAMILIAR_TITLES,
    FEMALE,
    GIVEN_NAMES,
    MALE,
    SAME_TITLE,
    STYLED_BY_GIVEN_NAME,
    TITLES,
)

DOMINANCE: Final = 3
"""A person named so many times as often as another is meant where either may be. Lower, and a namesake of some
weight loses mentions to the hero; higher, and a bare name stays with nobody."""
LADIES: Final = frozenset({"miss", "mrs", "lady"})
"""Titles of which a woman bears one at a time."""

_MEETING_SHARE: Final = 0.2
"""Two forms that share a larger part of the rarer one's sentences are two people: nobody is called by two names in
every fifth sentence."""
_CHANCE_RATIO: Final = 1.5
_MIN_MEETINGS: Final = 5
_MIN_HINTED_MEETINGS: Final = 3
"""More shared sentences than this, and so many times as many as by chance, are those of two people who belong
together."""
_RARE_TITLE_SHARE: Final = 0.05
_RARE_TITLE_USES: Final = 5
"""A title used less often, and in a smaller share, says nothing: even Emma is an aunt now and then."""
_REACH_TEXTS: Final = 12
"""Within so many scenes two forms of one person's name meet somewhere; those of two namesakes may never meet."""
_INTRODUCED_TEXTS: Final = 3
"""Within so many scenes of the first short form a full name introduces somebody."""
_ELSEWHERE_SHARE_ONCE: Final = 0.9
_ELSEWHERE_SHARE: Final = 0.8
"""The share of a form that must stand far from a namesake who is called by the full name once, or more often."""
_MIN_NARRATED_SPEECHES: Final = 8
_MIN_FATHERS: Final = 5
"""A narrator who gives so many speeches each to Mr. Vane and to Tom, and speaks of a father or son beside them so
often, means two people."""
_MIN_MENTIONS_TO_PLACE: Final = 3
"""Fewer mentions do not show where in the book a person appears."""


class Person(Struct):
    """One person in the making: the forms found so far; given name and surname in lower case."""

    given: str = ""
    surname: str = ""
    forms: list[Form] = field(default_factory=list)


class Cast(Struct):
    """The people of a book; forms are assigned to them one by one, the most frequent first."""

    tallies: dict[Form, Tally]
    dialogue: Dialogue = field(default_factory=Dialogue)
    people: list[Person] = field(default_factory=list)
    formal_surnames: Counter[str] = field(default_factory=Counter)
    """How often a word stands after a title that goes with surnames."""
    sentence_count: int = 1
    """Sentences in which anybody is named, or between such."""
    texts_by_form: dict[Form, list[int]] = field(default_factory=dict)
    """The numbers of the texts in which a form stands, in order."""
    first_words: Counter[str] = field(default_factory=Counter)
    last_words: Counter[str] = field(default_factory=Counter)
    """How often a word begins a name of two or more words, and how often it ends one."""
    forms_by_titled_word: dict[str, list[Form]] = field(default_factory=dict)
    """The forms of a title and one word, by that word in lower case."""

    def __post_init__(self) -> None:
        # Sentences are numbered anew in each text, so the highest number there is how many it has.
        ends: dict[int, int] = {}
        for tally in self.tallies.values():
            for prose, sentence in tally.sentences:
                ends[prose] = max(ends.get(prose, 0), sentence + 1)
        self.sentence_count = sum(ends.values()) or 1
        self.texts_by_form = {
            form: sorted({text for text, _ in tally.sentences}) for form, tally in self.tallies.items()
        }
        for (title, names), tally in self.tallies.items():
            given, surname = split_name(names)
            if given:
                self.first_words[given] += tally.count
                self.last_words[surname] += tally.count
            if title and len(names) == 1:
                self.forms_by_titled_word.setdefault(names[0].lower(), []).append((title, names))
            if (
                title
                and not given
                and not _is_titled_woman((title, names))
                and (title not in STYLED_BY_GIVEN_NAME or without_particles(surname) != surname)
            ):
                self.formal_surnames[without_particles(surname)] += tally.count

    # --- one person ------------------------------------------------------------------------------------------

    def count_mentions(self, person: Person) -> int:
        """Return how often a person is mentioned."""
        return sum(self.tallies[form].count for form in person.forms)

    def titles(self, person: Person) -> set[str]:
        """Return the titles a person goes by, without familiar ones."""
        used: Counter[str] = Counter()
        for form in person.forms:
            used[canonical_title(form[0])] += self.tallies[form].count
        # The lower of both: a hero of a thousand mentions needs only a handful of uses, a minor one a share.
        least = min(_RARE_TITLE_SHARE * used.total(), _RARE_TITLE_USES)
        return {title for title, count in used.items() if title and count >= least} - FAMILIAR_TITLES

    def gender(self, person: Person) -> str:
        """Return the gender of a person, or "" where the book does not tell it."""
        return infer_gender(person.forms, self.tallies)

    def leans_to_other(self, person: Person, gender: str) -> bool:
        """Return whether the pronouns behind a person's names speak against a gender, though too few tell it."""
        if not gender or self.gender(person):
            return False
        he, she = (sum(getattr(self.tallies[form], word) for form in person.forms) for word in ("he", "she"))
        same, other = (he, she) if gender == MALE else (she, he)
        return bool(other > same + 1)

    def count_title_and_given(self, person: Person, title: str) -> int:
        """Return how often a person is called by a title and the given name, or by that of her husband."""
        given = person.given.removeprefix("mrs ")
        return sum(
            self.tallies[form].count
            for form in person.forms
            if form[0] == title and (split_name(form[1])[0] or is_same_given_name(form[1][0].lower(), given))
        )

    def is_styled(self, person: Person, title: str, given: str) -> bool:
        """Return whether a person has a form of this title, this given name and a surname: Uncle George Vane."""
        return any(own == title and names[0] == given and len(names) > 1 for own, names in person.forms)

    def count_title(self, person: Person, title: str) -> int:
        """Return how often a person is called by a title, alone or before a name."""
        return sum(
            self.tallies[form].count
            for form in person.forms
            if title in (canonical_title(form[0]), form[1][0].lower())
        )

    def forms_by_title(self, person: Person) -> list[Form]:
        """Return the forms of a person's title and given name, whether they are assigned already or not."""
        titles = self.titles(person)
        return [form for form in self.forms_by_titled_word.get(person.given, ()) if form[0] in titles]

    # --- a form beside a person ------------------------------------------------------------------------------

    def assign(self, form: Form, person: Person | None) -> bool:
        """Give a form to a person; return whether there is anybody to take it."""
        if person is not None:
            person.forms.append(form)
        return person is not None

    def may_be_called(self, person: Person, form: Form) -> bool:
        """Return whether gender and company allow a form to mean this person."""
        mine, other = self.gender(person), infer_gender([form], self.tallies)
        return not (mine and other and mine != other) and not self._appears_beside(person, form)

    def may_be_titled(self, person: Person, form: Form) -> bool:
        """Return whether gender and company allow a bare title to mean this person.

        A narrator calls a doctor by name and by title in one long sentence, so it takes more of these to show two.
        """
        tally = self.tallies[form]
        mine, other = self.gender(person), infer_gender([form], self.tallies)
        return not (mine and other and mine != other) and not any(
            tally.count_common_sentences(self.tallies[own])
            > max(2.0, _MEETING_SHARE * min(len(tally.sentences), len(self.tallies[own].sentences)))
            or self.dialogue.are_apart(form, own, min(tally.count, self.tallies[own].count))
            for own in person.forms
        )

    def _appears_beside(self, person: Person, form: Form) -> bool:
        """Return whether a form stands too often beside this person to mean the same one.

        Forms of which one is a part of the other prove nothing.
        """
        words = {word.lower() for word in form[1]}
        for own_form in person.forms:
            own_words = {word.lower() for word in own_form[1]}
            # Ruth stands beside Ruth Vane because the full name holds the short one, not because there are two.
            is_part = words <= own_words or own_words <= words
            if not is_part and self.are_apart(form, own_form):
                return True
        return False

    def are_apart(self, left: Form, right: Form) -> bool:
        """Return whether sentences or dialogue show two forms to be two people's."""
        mine, other = self.tallies[left], self.tallies[right]
        if self._are_two_people(mine, other, self.dialogue.count_apart(left, right) > 0):
            return True
        return self.dialogue.are_apart(left, right, min(mine.count, other.count))

    def narrates_both(self, left: Form, right: Form) -> bool:
        """Return whether the narrator lets both speak beside a father or a son: Mr. Vane is the father of Tom."""
        speeches = min(self.dialogue.speakers[left], self.dialogue.speakers[right])
        fathers = self.tallies[left].fathers + self.tallies[right].fathers
        return speeches >= _MIN_NARRATED_SPEECHES and fathers >= _MIN_FATHERS

    def _are_two_people(self, left: Tally, right: Tally, is_hinted: bool) -> bool:
        """Return whether two forms meet as two people do: often for the rarer one, or more than by chance.

        Where the dialogue hints at it, fewer meetings are enough.
        """
        meetings = left.count_common_sentences(right)
        fewer = min(len(left.sentences), len(right.sentences))
        by_chance = len(left.sentences) * len(right.sentences) / self.sentence_count
        return meetings > max(2.0, _MEETING_SHARE * fewer) or (
            meetings > (_MIN_HINTED_MEETINGS if is_hinted else _MIN_MEETINGS)
            and meetings > _CHANCE_RATIO * by_chance
        )

    def count_texts_near(self, person: Person, form: Form) -> int:
        """Return in how many of its texts a form stands with this person not far away."""
        own = sorted({text for own_form in person.forms for text in self.texts_by_form[own_form]})
        return sum(
            bisect_right(own, text + _REACH_TEXTS) > bisect_left(own, text - _REACH_TEXTS)
            for text in self.texts_by_form[form]
        )

    def count_texts_with(self, person: Person, form: Form) -> int:
        """Return in how many of its texts a form stands together with this person, or with that given name."""
        own_forms = [
            other for other in self.tallies if other in person.forms or other[1][0].lower() == person.given
        ]
        own = {text for own_form in own_forms for text in self.texts_by_form[own_form]}
        return sum(text in own for text in self.texts_by_form[form])

    def count_sentences_with(self, person: Person, form: Form) -> int:
        """Return in how many of its sentences a form stands together with this person."""
        own = set[tuple[int, int]]().union(*(self.tallies[own_form].sentences for own_form in person.forms))
        return len(own & self.tallies[form].sentences)

    def is_near(self, person: Person, form: Form) -> bool:
        """Return whether a form stands somewhere near this person, or the person is too rare to tell."""
        return self.count_mentions(person) < _MIN_MENTIONS_TO_PLACE or self.count_texts_near(person, form) > 0

    def is_around(self, person: Person, form: Form) -> bool:
        """Return whether this person is named near at least half of the texts in which a form stands."""
        return 2 * self.count_texts_near(person, form) >= len(self.texts_by_form[form])

    def is_passing_namesake(self, person: Person, form: Form) -> bool:
        """Return whether a person without family appears late and briefly in a book that is full of the form.

        Jim Turner of one chapter is not the Jim of all the others.
        """
        relatives = sum(self.tallies[other].count for other in self._forms_of_relatives(person))
        # Whose family is often in the book is no passer-by, however rarely the full name is written.
        if relatives > self.count_mentions(person) and self.count_with_relatives(person, form):
            return False
        full = [own_form for own_form in person.forms if split_name(own_form[1])[0]]
        own = [text for own_form in (*full, *self.forms_by_title(person)) for text in self.texts_by_form[own_form]]
        texts = self.texts_by_form[form]
        # A full name that comes at first introduces somebody, whom the short form means from then on.
        if not own or min(own) <= texts[0] + _INTRODUCED_TEXTS:
            return False
        low, high = min(own) - _REACH_TEXTS, max(own) + _REACH_TEXTS
        elsewhere = sum(not low <= text <= high for text in texts)
        share = _ELSEWHERE_SHARE if self.count_mentions(person) > 1 else _ELSEWHERE_SHARE_ONCE
        return elsewhere >= share * len(texts)

    def _forms_of_relatives(self, person: Person) -> list[Form]:
        """Return the forms with a person's surname that are not assigned to that person."""
        return [
            form for form in self.tallies if split_name(form[1])[1] == person.surname and form not in person.forms
        ]

    def count_with_relatives(self, person: Person, form: Form) -> int:
        """Return in how many sentences a form stands beside others of a person's surname."""
        relatives = (self.tallies[other].sentences for other in self._forms_of_relatives(person))
        return len(set[tuple[int, int]]().union(*relatives) & self.tallies[form].sentences)

    def is_introduced(self, person: Person, form: Form) -> bool:
        """Return whether a person is named where a form first stands, as whoever is called so from then on."""
        first = self.texts_by_form[form][0]
        return any(
            abs(text - first) <= _INTRODUCED_TEXTS for own in person.forms for text in self.texts_by_form[own]
        )

    # --- all people ------------------------------------------------------------------------------------------

    def most_mentioned(self, people: Iterable[Person]) -> Person | None:
        """Return the most mentioned of some people."""
        # The form decides between equals, so that the result does not depend on the order of the people.
        return max(people, key=lambda person: (self.count_mentions(person), person.forms[0]), default=None)

    def find_by_given_name(self, given: str) -> list[Person]:
        """Return the people whose given name is this one, or long or short for it."""
        return [person for person in self.people if person.given and _goes_by(person, given)]

    def find_by_surname(self, surname: str) -> list[Person]:
        """Return the people of a surname, whatever its particles."""
        name = without_particles(surname)
        return [person for person in self.people if without_particles(person.surname) == name]

    def is_surname(self, surname: str) -> bool:
        """Return whether anybody in the book has a surname."""
        return any(split_name(names)[1] == surname for _, names in self.tallies)

    def has_several(self, title: str, surname: str) -> bool:
        """Return whether the book speaks of several of one title and family at once: the Miss Steeles."""
        plurals = {f"{surname}s", f"{surname}es"}
        return any(other == title and names[-1].lower() in plurals for other, names in self.tallies)

    def is_surname_first(self, form: Form) -> bool:
        """Return whether the first word of a longer name is a surname here, so that both are no full name.

        In the Archer Madeira, the wine of the Archers, the book has many an Archer and none with that given name.
        """
        first = form[1][0].lower()
        # Miss may stand before a given name, Mr. hardly.
        is_borne = self.last_words[first] > 0 or ("mr", form[1][:1]) in self.tallies
        if first in GIVEN_NAMES or len(form[1]) < 2 or not is_borne:
            return False
        as_surname = self.formal_surnames[first] + self.last_words[first]
        return as_surname > 2 * self.first_words[first]

    def has_family(self, person: Person) -> bool:
        """Return whether the book has a title or another given name before a person's surname."""
        own = sum(self.tallies[form].count for form in person.forms if split_name(form[1])[0])
        family = without_particles(person.surname)
        return self.formal_surnames[family] + self.last_words[person.surname] > own

    def is_given_name(self, form: Form) -> bool:
        """Return whether the only word of a form is a given name rather than a surname."""
        title, (word, *_) = form
        plain = word.lower()
        as_given = sum(self.count_mentions(person) for person in self.find_by_given_name(plain))
        as_surname = sum(self.count_mentions(person) for person in self.find_by_surname(plain))
        # A bare name speaks for a given name: surnames alone are rarer than surnames with a title.
        bare = self.tallies[form].count if not title else 0
        formal = self.formal_surnames[plain]
        if not title:
            return as_given > 0 and as_given + bare > as_surname + formal
        return as_given > 0 and as_given > as_surname + (0 if title in STYLED_BY_GIVEN_NAME else formal)

    def gender_of_given_name(self, given: str) -> str:
        """Return whether men or women have a given name, in general or in this book."""
        return GIVEN_NAMES.get(given) or infer_gender(
            [form for form in self.tallies if form[1][0].lower() == given and not form[0]], self.tallies
        )


def canonical_title(title: str) -> str:
    """Return a title as it is usually written."""
    return SAME_TITLE.get(title, title)


def _is_titled_woman(form: Form) -> bool:
    """Return whether a woman's given name stands where a surname may also stand, behind her title: Mrs. Rachel."""
    title, names = form
    return TITLES.get(title) == FEMALE == GIVEN_NAMES.get(names[0].lower())


def _goes_by(person: Person, given: str) -> bool:
    """Return whether a given name is a person's, or stands in one of the ways to write the full name."""
    return is_same_given_name(person.given, given) or any(
        len(names) > 1 and is_same_given_name(names[0].lower(), given) for _, names in person.forms
    )
