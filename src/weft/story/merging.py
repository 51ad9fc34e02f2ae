"""Which forms of a name mean the same person: Elizabeth, Lizzy, Miss Eliza Bennet."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from weft.story.forms import head_of, is_beginning, parted, same_given
from weft.story.model import Form
from weft.story.tally import Tally, gender_of
from weft.story.vocabulary import (
    FAMILIAR_TITLES,
    FEMALE,
    GIVEN_NAMES,
    MALE,
    NICKNAMES,
    NOBLE_TITLES,
    PLAIN_TITLES,
    STYLED_BY_GIVEN_NAME,
    TITLES,
)

_MEETINGS: Final = 0.2
"""Two names that meet in a larger share of the rarer one's sentences are two people."""
_BY_CHANCE: Final = 1.5
_MET: Final = 5
"""One person is seldom called by two names in one sentence; two who belong together meet more than by chance."""
_TOLD_APART: Final = 0.2
"""Whoever is so often called by title and given name is not meant by the title and surname alone."""
_DOMINANT: Final = 3
_RARELY: Final = 0.05
_OFTEN: Final = 5
"""A title used less often, and in a smaller share, says nothing: even Emma is an aunt now and then."""
_LADIES: Final = frozenset({"miss", "mrs", "lady"})
"""A woman goes by one of these at a time."""
_SHARED: Final = frozenset({"mr", "miss", "ms", "master"})
"""Titles that several members of a family bear at once."""
_RANKS: Final = frozenset(TITLES) - NOBLE_TITLES - FAMILIAR_TITLES - PLAIN_TITLES.keys()
_SAME_RANK: Final = {"capt": "captain", "col": "colonel", "gen": "general", "dr": "doctor", "lt": "lieutenant"}


@dataclass(slots=True)
class Figure:
    """One person in the making: the forms found so far; given name and surname in lower case."""

    given: str = ""
    surname: str = ""
    forms: list[Form] = field(default_factory=list)


def merge(counted: dict[Form, Tally]) -> list[tuple[Form, ...]]:
    """The forms of names of people, those that mean the same person together."""
    cast = _Cast(counted)
    steps: tuple[Callable[[Form], bool], ...] = (
        cast.take_full,
        cast.take_bare_given,
        cast.take_nickname,
        cast.take_titled_given,
        cast.take_titled_surname,
        cast.take_bare_surname,
        cast.take_title,
        cast.take_alone,
    )
    left = sorted(counted, key=lambda form: (-counted[form].count, form))
    for step in steps:
        left = [form for form in left if not step(form)]
    return [tuple(figure.forms) for figure in cast.figures]


@dataclass(slots=True)
class _Cast:
    """The people of a book, as they come together form by form, the most frequent first."""

    counted: dict[Form, Tally]
    figures: list[Figure] = field(default_factory=list)
    formal: Counter[str] = field(default_factory=Counter)
    """How often a word stands after a title that goes with surnames."""

    length: int = 1
    """Sentences in which anybody is named, or between such."""

    def __post_init__(self) -> None:
        ends: dict[int, int] = {}
        for tally in self.counted.values():
            for prose, sentence in tally.sentences:
                ends[prose] = max(ends.get(prose, 0), sentence + 1)
        self.length = sum(ends.values()) or 1
        for (title, names), tally in self.counted.items():
            if title and title not in STYLED_BY_GIVEN_NAME and len(names) == 1:
                self.formal[names[0].lower()] += tally.count

    # --- what is known so far ----------------------------------------------------------------------------

    def _count(self, figure: Figure) -> int:
        return sum(self.counted[form].count for form in figure.forms)

    def _titles(self, figure: Figure) -> set[str]:
        """The titles somebody goes by."""
        used: Counter[str] = Counter()
        for form in figure.forms:
            used[_SAME_RANK.get(form[0], form[0])] += self.counted[form].count
        least = min(_RARELY * used.total(), _OFTEN)
        return {title for title, count in used.items() if title and count >= least} - FAMILIAR_TITLES

    def _gender(self, figure: Figure) -> str:
        return gender_of(figure.forms, self.counted)

    def _agree(self, figure: Figure, form: Form) -> bool:
        """Whether gender and company allow a form to mean this person."""
        mine, other = self._gender(figure), gender_of([form], self.counted)
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

    def _best(self, figures: Iterable[Figure]) -> Figure | None:
        """The most mentioned of some people."""
        return max(figures, key=lambda figure: (self._count(figure), figure.forms[0]), default=None)

    def _found(self, form: Form, figure: Figure | None) -> bool:
        if figure is not None:
            figure.forms.append(form)
        return figure is not None

    def _called(self, given: str) -> list[Figure]:
        return [figure for figure in self.figures if figure.given and same_given(figure.given, given)]

    def _family(self, surname: str) -> list[Figure]:
        return [figure for figure in self.figures if figure.surname == surname]

    def _is_given(self, form: Form) -> bool:
        """Whether the only word of a form is rather a given name than a surname."""
        title, (word, *_) = form
        plain = word.lower()
        as_given = sum(self._count(figure) for figure in self._called(plain))
        as_surname = sum(self._count(figure) for figure in self._family(plain))
        bare = self.counted[form].count if not title else 0
        formal = self.formal[plain]
        if not title:
            return as_given > 0 and as_given + bare > as_surname + formal
        return as_given > 0 and as_given > as_surname + (0 if title in STYLED_BY_GIVEN_NAME else formal)

    # --- steps, each taking a form or leaving it to the next ---------------------------------------------------

    def take_full(self, form: Form) -> bool:
        """Given name and surname: Elizabeth Bennet, Sir William Lucas."""
        title, names = form
        given, surname = parted(names)
        if len(given) < 2 or not surname:
            return False
        head = next((figure for figure in self.figures if ("", head_of(names)) in figure.forms), None)
        if head is not None and self._agree(head, form):
            return self._found(form, head)
        if title == "mrs" and self._given_gender(given) != FEMALE:
            # A wife by her husband's name.
            given = f"mrs {given}"
        same = [figure for figure in self._family(surname) if figure.given == given or self._may_be(figure, form)]
        mine = self._best(figure for figure in same if self._agree(figure, form))
        if mine is None:
            mine = Figure(given, surname)
            self.figures.append(mine)
        elif title == "" and given not in NICKNAMES:
            mine.given = given
        mine.forms.append(form)
        return True

    def _given_gender(self, given: str) -> str:
        return GIVEN_NAMES.get(given) or gender_of(
            [form for form in self.counted if form[1][0].lower() == given and not form[0]], self.counted
        )

    def _may_be(self, figure: Figure, form: Form) -> bool:
        """Whether a full name may be another way to write this person's; young Tom is not Sir Thomas."""
        noble = form[0] in NOBLE_TITLES or bool(self._titles(figure) & NOBLE_TITLES)
        return not noble and same_given(figure.given, parted(form[1])[0])

    def take_bare_given(self, form: Form) -> bool:
        """A given name alone; nobody of that name yet makes it somebody new, unless it is a surname."""
        title, names = form
        if title or len(names) > 1:
            return False
        plain = names[0].lower()
        if plain in NICKNAMES and not any(figure.given == plain for figure in self.figures):
            return False
        mine = self._best(self._intimates(form)) if self._is_given(form) else None
        if mine is not None:
            return self._found(form, mine)
        if self._family(plain) or self.formal[plain] or plain in TITLES:
            return False
        self.figures.append(Figure(plain, "", [form]))
        return True

    def _intimates(self, form: Form) -> list[Figure]:
        """Those who may be called by a given name alone, the untitled first; not a lady who is hardly there."""
        called = [figure for figure in self._called(form[1][0].lower()) if self._agree(figure, form)]
        untitled = [figure for figure in called if not self._titles(figure) - PLAIN_TITLES.keys()]
        least = _RARELY * self.counted[form].count
        return untitled or [figure for figure in called if self._count(figure) >= least]

    def take_nickname(self, form: Form) -> bool:
        """A short name whose long one is somebody's: Lizzy, Ned."""
        title, names = form
        if title or len(names) > 1:
            return False
        plain = names[0].lower()
        called = [figure for figure in self._called(plain) if self._may_be_short(figure, form)]
        called = called or [
            figure
            for figure in self.figures
            if figure.surname and is_beginning(plain, figure.given) and self._may_be_short(figure, form)
        ]
        if called or plain in TITLES or self._family(plain) or self.formal[plain]:
            return self._found(form, self._best(called))
        self.figures.append(Figure(plain, "", [form]))
        return True

    def _may_be_short(self, figure: Figure, form: Form) -> bool:
        """Whether a nickname may be this person's; without a surname the long name must be the usual one.

        Nobody calls Lady Catherine Kitty where her full name never stands without the title.
        """
        usual = bool(figure.surname) or self._count(figure) >= self.counted[form].count
        noble = bool(self._titles(figure) & NOBLE_TITLES)
        distant = noble and all(title or len(names) == 1 for title, names in figure.forms)
        return usual and not distant and self._agree(figure, form)

    def take_titled_given(self, form: Form) -> bool:
        """A title and a given name: Sir William, Miss Elizabeth, Aunt Jane."""
        title, names = form
        if not title or len(names) > 1 or not self._is_given(form):
            return False
        called = [figure for figure in self._called(names[0].lower()) if self._agree(figure, form)]
        alike = [figure for figure in called if title in self._titles(figure)]
        plain = [figure for figure in called if not self._titles(figure) - PLAIN_TITLES.keys()]
        return self._found(form, self._best(alike or plain))

    def take_titled_surname(self, form: Form) -> bool:
        """A title and a surname: the one of that family whom it fits best, or somebody new."""
        title, names = form
        given, surname = parted(names)
        if not title or given:
            return False
        fitting = [figure for figure in self._family(surname) if self._fits(figure, form)]
        if title not in _SHARED:
            fitting = self._of_rank(fitting, form)
        mine = max(fitting, key=lambda figure: (self._claim(figure, title), figure.forms[0]), default=None)
        if mine is None:
            mine = Figure("", surname)
            self.figures.append(mine)
        mine.forms.append(form)
        return True

    def _fits(self, figure: Figure, form: Form) -> bool:
        held = self._titles(figure)
        title = _SAME_RANK.get(form[0], form[0])
        if title in held and not figure.given:
            return True
        ladylike = _LADIES & {title, *(each for each, _ in figure.forms)}
        clash = len(ladylike) > 1 or (bool(ladylike) and bool(_RANKS & {title, *held}))
        clash |= title not in PLAIN_TITLES and bool(held - PLAIN_TITLES.keys() - {title})
        clash |= title in PLAIN_TITLES and bool(held & NOBLE_TITLES)
        told_apart = title in PLAIN_TITLES and self._styled(figure, title) > _TOLD_APART * self._count(figure)
        return not clash and not told_apart and self._agree(figure, form)

    def _of_rank(self, figures: Sequence[Figure], form: Form) -> list[Figure]:
        """Those who hold a rank, else the only one who may: Lord Stark is he whom others call Lord Eddard."""
        title, names = form
        holders = [figure for figure in figures if self._styled(figure, title)]
        if holders:
            return holders
        told = TITLES[title] or MALE
        family = [figure for figure in self._family(parted(names)[1]) if self._gender(figure) in ("", told)]
        return list(figures) if len(family) == 1 else []

    def _styled(self, figure: Figure, title: str) -> int:
        """How often someone is called by a title and the given name."""
        return sum(
            self.counted[form].count
            for form in figure.forms
            if form[0] == title and (parted(form[1])[0] or same_given(form[1][0].lower(), figure.given))
        )

    def _claim(self, figure: Figure, title: str) -> float:
        """How good a claim to the bare title a member of the family has: Miss Bennet is not Miss Lydia."""
        styled = self._styled(figure, title) if title in PLAIN_TITLES else 0
        return self._count(figure) / (1 + styled)

    def take_bare_surname(self, form: Form) -> bool:
        """A surname alone: whoever of the family is most often called by it with a title."""
        title, names = form
        given, surname = parted(names)
        if title or given or not self._family(surname):
            return False
        fitting = [figure for figure in self._family(surname) if self._agree(figure, form)]
        return self._found(form, max(fitting, key=lambda each: (self._formal(each), each.forms[0]), default=None))

    def _formal(self, figure: Figure) -> tuple[bool, int, int]:
        """Men come first: a surname without a title was theirs for long."""
        titled = sum(self.counted[form].count for form in figure.forms if form[0] and not parted(form[1])[0])
        return bool(titled) and self._gender(figure) == MALE, titled, self._count(figure)

    def take_title(self, form: Form) -> bool:
        """A title alone (the Queen) means the only one who has it."""
        title, names = form
        if title or len(names) > 1 or names[0].lower() not in TITLES:
            return False
        plain = names[0].lower()
        holders = [figure for figure in self.figures if plain in self._titles(figure) or figure.given == plain]
        ranked = sorted(holders, key=lambda figure: (-self._titled(figure, plain), figure.forms[0]))
        if not ranked or (len(ranked) > 1 and not self._dominates(ranked[0], ranked[1], plain)):
            return False
        return self._agree(ranked[0], form) and self._found(form, ranked[0])

    def _titled(self, figure: Figure, title: str) -> int:
        return sum(self.counted[form].count for form in figure.forms if title in (form[0], form[1][0].lower()))

    def _dominates(self, first: Figure, second: Figure, title: str) -> bool:
        return self._titled(first, title) >= _DOMINANT * self._titled(second, title)

    def take_alone(self, form: Form) -> bool:
        """Whoever is left is somebody by himself."""
        given, surname = parted(form[1])
        self.figures.append(Figure(given, surname, [form]))
        return True
