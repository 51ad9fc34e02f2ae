"""The people of a book as they come together: what is known of each so far."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import field
from typing import Final

from weft.frozen import dataclass
from weft.story.display_name import family_of, parted, same_given
from weft.story.kinds import Tally, gender_of
from weft.story.model import Form
from weft.story.vocabulary import FAMILIAR_TITLES, FEMALE, GIVEN_NAMES, SAME_TITLE, STYLED_BY_GIVEN_NAME, TITLES

_MEETINGS: Final = 0.2
"""Two names that meet in a larger share of the rarer one's sentences are two people."""
_BY_CHANCE: Final = 1.5
_MET: Final = 5
"""One person is seldom called by two names in one sentence; two who belong together meet more than by chance."""
_RARELY: Final = 0.05
_OFTEN: Final = 5
"""A title used less often, and in a smaller share, says nothing: even Emma is an aunt now and then."""
_REACH: Final = 12
"""Texts within which two forms of one person's name are found somewhere; those of two namesakes may never be."""
_ELSEWHERE: Final = 0.9
_AT_ONE_PLACE: Final = 0.8
"""How much of a form must stand far from somebody who is called by his full name there once, or more often."""
_FEW: Final = 3
DOMINANT: Final = 3
"""Whoever is named so many times as often as another is meant where either may be."""


@dataclass(slots=True)
class Figure:
    """One person in the making: the forms found so far; given name and surname in lower case."""

    given: str = ""
    surname: str = ""
    forms: list[Form] = field(default_factory=list)


@dataclass(slots=True)
class Cast:
    """The people of a book, as they come together form by form, the most frequent first."""

    counted: dict[Form, Tally]
    figures: list[Figure] = field(default_factory=list)
    formal: Counter[str] = field(default_factory=Counter)
    """How often a word stands after a title that goes with surnames."""

    length: int = 1
    """Sentences in which anybody is named, or between such."""
    texts: dict[Form, list[int]] = field(default_factory=dict)
    """In which texts a form stands, in order."""
    styled_by: dict[str, list[Form]] = field(default_factory=dict)
    """The forms of a title and one word, by that word in lower case."""

    def __post_init__(self) -> None:
        ends: dict[int, int] = {}
        for tally in self.counted.values():
            for prose, sentence in tally.sentences:
                ends[prose] = max(ends.get(prose, 0), sentence + 1)
        self.length = sum(ends.values()) or 1
        self.texts = {form: sorted({text for text, _ in tally.sentences}) for form, tally in self.counted.items()}
        for (title, names), tally in self.counted.items():
            given, surname = parted(names)
            if title and len(names) == 1:
                self.styled_by.setdefault(names[0].lower(), []).append((title, names))
            if title and not given and (title not in STYLED_BY_GIVEN_NAME or family_of(surname) != surname):
                self.formal[family_of(surname)] += tally.count

    def count(self, figure: Figure) -> int:
        """How often somebody is mentioned."""
        return sum(self.counted[form].count for form in figure.forms)

    def titles(self, figure: Figure) -> set[str]:
        """The titles somebody goes by."""
        used: Counter[str] = Counter()
        for form in figure.forms:
            used[rank_of(form[0])] += self.counted[form].count
        least = min(_RARELY * used.total(), _OFTEN)
        return {title for title, count in used.items() if title and count >= least} - FAMILIAR_TITLES

    def gender(self, figure: Figure) -> str:
        """Whether somebody is a man or a woman, or nothing where that is not told."""
        return gender_of(figure.forms, self.counted)

    def agree(self, figure: Figure, form: Form) -> bool:
        """Whether gender and company allow a form to mean this person."""
        mine, other = self.gender(figure), gender_of([form], self.counted)
        return not (mine and other and mine != other) and not self._meet(figure, form)

    def _meet(self, figure: Figure, form: Form) -> bool:
        """Whether a form stands too often beside this person to mean the same; parts of a name prove nothing."""
        words = {word.lower() for word in form[1]}
        for each in figure.forms:
            theirs = {word.lower() for word in each[1]}
            if not (words <= theirs or theirs <= words) and self._apart(self.counted[form], self.counted[each]):
                return True
        return False

    def _apart(self, one: Tally, other: Tally) -> bool:
        """Whether two forms meet as two people do: often for the rarer one, or more often than by chance."""
        meetings, fewer = one.meets(other), min(len(one.sentences), len(other.sentences))
        by_chance = len(one.sentences) * len(other.sentences) / self.length
        return meetings > max(2.0, _MEETINGS * fewer) or (meetings > _MET and meetings > _BY_CHANCE * by_chance)

    def near(self, figure: Figure, form: Form) -> int:
        """In how many of its texts a form stands with this person not far away."""
        theirs = sorted({text for each in figure.forms for text in self.texts[each]})
        return sum(
            bisect_right(theirs, text + _REACH) > bisect_left(theirs, text - _REACH) for text in self.texts[form]
        )

    def beside(self, figure: Figure, form: Form) -> int:
        """In how many of its texts a form stands together with this person, or with the given name of his."""
        mine = [each for each in self.counted if each in figure.forms or each[1][0].lower() == figure.given]
        theirs = {text for each in mine for text in self.texts[each]}
        return sum(text in theirs for text in self.texts[form])

    def is_near(self, figure: Figure, form: Form) -> bool:
        """Whether a form stands somewhere near this person, or there is too little of him to tell."""
        return self.count(figure) < _FEW or self.near(figure, form) > 0

    def passes_by(self, figure: Figure, form: Form) -> bool:
        """Whether somebody without family around turns up late and for a while, in a book full of the form.

        Jim Turner of one chapter is not the Jim of all the others.
        """
        kin = sum(self.counted[each].count for each in self._kin(figure))
        if kin > self.count(figure) and self.kin_beside(figure, form):
            return False
        full = [each for each in figure.forms if parted(each[1])[0]]
        mine = [text for each in (*full, *self.by_title(figure)) for text in self.texts[each]]
        if not mine or min(mine) <= self.texts[form][0]:
            return False
        low, high = min(mine) - _REACH, max(mine) + _REACH
        elsewhere = sum(not low <= text <= high for text in self.texts[form])
        share = _AT_ONE_PLACE if self.count(figure) > 1 else _ELSEWHERE
        return elsewhere >= share * len(self.texts[form])

    def by_title(self, figure: Figure) -> list[Form]:
        """The forms that call somebody by a title of his and the given name, his already or still to come."""
        titles = self.titles(figure)
        return [each for each in self.styled_by.get(figure.given, ()) if each[0] in titles]

    def best(self, figures: Iterable[Figure]) -> Figure | None:
        """The most mentioned of some people."""
        return max(figures, key=lambda figure: (self.count(figure), figure.forms[0]), default=None)

    def joins(self, form: Form, figure: Figure | None) -> bool:
        """Give a form to somebody; whether there is anybody to take it."""
        if figure is not None:
            figure.forms.append(form)
        return figure is not None

    def called(self, given: str) -> list[Figure]:
        """Those whose given name is this one, or long or short for it."""
        return [figure for figure in self.figures if figure.given and _goes_by(figure, given)]

    def family(self, surname: str) -> list[Figure]:
        """Those of a surname."""
        name = family_of(surname)
        return [figure for figure in self.figures if family_of(figure.surname) == name]

    def is_surname(self, surname: str) -> bool:
        """Whether anybody in the book has a surname."""
        return any(parted(names)[1] == surname for _, names in self.counted)

    def has_several(self, title: str, surname: str) -> bool:
        """Whether the book speaks of several of one title and family at once: the Miss Steeles."""
        plurals = {f"{surname}s", f"{surname}es"}
        return any(each == title and names[-1].lower() in plurals for each, names in self.counted)

    def _kin(self, figure: Figure) -> list[Form]:
        """The forms with somebody's surname that are not his."""
        return [each for each in self.counted if parted(each[1])[1] == figure.surname and each not in figure.forms]

    def kin_beside(self, figure: Figure, form: Form) -> int:
        """In how many sentences a form stands beside others of somebody's surname."""
        around = set[tuple[int, int]]().union(*(self.counted[each].sentences for each in self._kin(figure)))
        return len(around & self.counted[form].sentences)

    def is_given(self, form: Form) -> bool:
        """Whether the only word of a form is rather a given name than a surname."""
        title, (word, *_) = form
        plain = word.lower()
        as_given = sum(self.count(figure) for figure in self.called(plain))
        as_surname = sum(self.count(figure) for figure in self.family(plain))
        bare = self.counted[form].count if not title else 0
        formal = 0 if _is_womans(form) else self.formal[plain]
        if not title:
            return as_given > 0 and as_given + bare > as_surname + formal
        return as_given > 0 and as_given > as_surname + (0 if title in STYLED_BY_GIVEN_NAME else formal)

    def given_gender(self, given: str) -> str:
        """Whether men or women have a given name, here or elsewhere."""
        return GIVEN_NAMES.get(given) or gender_of(
            [form for form in self.counted if form[1][0].lower() == given and not form[0]], self.counted
        )

    def styled(self, figure: Figure, title: str) -> int:
        """How often someone is called by a title and the given name, or by that of her husband."""
        given = figure.given.removeprefix("mrs ")
        return sum(
            self.counted[form].count
            for form in figure.forms
            if form[0] == title and (parted(form[1])[0] or same_given(form[1][0].lower(), given))
        )

    def titled(self, figure: Figure, title: str) -> int:
        """How often somebody is called by a title, alone or before a name."""
        return sum(
            self.counted[form].count for form in figure.forms if title in (rank_of(form[0]), form[1][0].lower())
        )


def rank_of(title: str) -> str:
    """A title as it is usually written."""
    return SAME_TITLE.get(title, title)


def _is_womans(form: Form) -> bool:
    """Whether a woman's given name stands behind a woman's title, where a surname may also stand: Mrs. Rachel."""
    title, names = form
    return TITLES.get(title) == FEMALE == GIVEN_NAMES.get(names[0].lower())


def _goes_by(figure: Figure, given: str) -> bool:
    """Whether a given name is somebody's, or stands in one of the ways to write the full name."""
    return same_given(figure.given, given) or any(
        len(names) > 1 and same_given(names[0].lower(), given) for _, names in figure.forms
    )
