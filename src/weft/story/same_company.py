"""Join a given name and a title with a surname that no sentence joins: Henry, who is Mr. Wilcox to strangers.

Nobody is called by both in one sentence. So two such names are one person's if they keep the same company, scene
for scene, while no sentence and no speech names both; a given name that is only spoken to belongs to whoever is
there each time.
"""

import math
from collections import Counter
from typing import Final

from msgspec import Struct, field

from weft.story.cast import Cast, Person
from weft.story.join_people import HUSBANDS, Called, count_addresses, may_complete
from weft.story.kinds import Tally, sum_tallies
from weft.story.vocabulary import GIVEN_NAMES, PLAIN_TITLES, TITLES

_MIN_MENTIONS: Final = 3
"""A person with fewer mentions keeps no company that could be compared."""
_ALIKE: Final = 0.95
_MIN_COMPARED: Final = 15
"""Two names that are both mentioned so often are one person's if their company is so much alike, by the cosine."""
_ALIKE_SPOKEN: Final = 0.7
_MIN_SPOKEN: Final = 2
"""The likeness that is enough where the given name is spoken to at least so often, the other present each time."""
_MIN_SHARE: Final = 0.3
_MIN_LIFT: Final = 2.0
"""The share of the rarer name's scenes in which both stand, and how many times as many as by chance; one of them
is enough."""
_COMMON_SHARE: Final = 0.02
"""A larger share of sentences that name both are those of two people."""
_MAX_COMMON_SPOKEN: Final = 2
_LEAD: Final = 2
"""How many times as often as anybody else a person is present when a given name is spoken to, to be its bearer."""


class _Company(Struct):
    """The people of a book with their mentions by scene, and who is in how many scenes with whom."""

    cast: Cast
    tallies: list[Tally]
    scenes: list[Counter[int]]
    called: dict[int, Called]
    scene_count: int
    present: dict[int, list[int]] = field(default_factory=dict)

    def meet(self, index: int, without: int) -> Counter[int]:
        """Return how much each other person shares the scenes of one, leaving out a second."""
        met: Counter[int] = Counter()
        for scene, count in self.scenes[index].items():
            for other in self.present[scene]:
                if other not in (index, without):
                    met[other] += min(count, self.scenes[other][scene])
        return met

    def likeness(self, left: int, right: int) -> float:
        """Return how much alike the company of two people is, from 0 to 1."""
        mine, other = self.meet(left, right), self.meet(right, left)
        length = math.sqrt(sum(n * n for n in mine.values()) * sum(n * n for n in other.values()))
        return sum(count * other[each] for each, count in mine.items()) / length if length else 0.0

    def are_around(self, left: int, right: int) -> bool:
        """Return whether two names stand in the same scenes, more than by chance."""
        shared = len(self.scenes[left].keys() & self.scenes[right].keys())
        fewer, more = sorted((len(self.scenes[left]), len(self.scenes[right])))
        return shared >= _MIN_SHARE * fewer or shared * self.scene_count >= _MIN_LIFT * fewer * more

    def is_present(self, intimate: int, formal: int) -> bool:
        """Return whether one person is there each time that the other's name is spoken to, and nobody else is."""
        entry = self.called.get(intimate)
        if entry is None or entry.count < _MIN_SPOKEN or entry.around[formal] < entry.count:
            return False
        seen = entry.around[formal] + entry.answers[formal]
        others = (
            entry.around[each] + entry.answers[each]
            for each in entry.around
            if each not in (formal, intimate)
            and may_complete(self.cast, self.cast.people[each], self.cast.people[intimate])
        )
        return seen >= _LEAD * max(others, default=0)


def join_company(cast: Cast) -> None:
    """Join each given name with the title and surname that keeps the same company."""
    company = _read_company(cast)
    known = [index for index, tally in enumerate(company.tallies) if tally.count >= _MIN_MENTIONS]
    intimates = [index for index in known if _is_intimate(cast, cast.people[index])]
    formals = [index for index in known if _is_formal(cast.people[index])]
    pairs = sorted(
        (
            (likeness, intimate, formal)
            for intimate in intimates
            for formal in formals
            if (likeness := _judge(company, intimate, formal)) > 0
        ),
        reverse=True,
    )
    gone: set[int] = set()
    for _, intimate, formal in pairs:
        if not gone & {intimate, formal}:
            person, owner = cast.people[intimate], cast.people[formal]
            owner.forms.extend(person.forms)
            owner.given = person.given
            gone |= {intimate, formal}
    joined = {intimate for _, intimate, _ in pairs} & gone
    cast.people[:] = [person for index, person in enumerate(cast.people) if index not in joined]


def join_introduced(cast: Cast) -> None:
    """Join each wife who is introduced by her husband's name with the plain Mrs. who follows in that scene.

    Mrs. Charles Musgrove, who comes into a book long before or after Mrs. Musgrove, is another.
    """
    for wife in [person for person in cast.people if person.given.startswith(HUSBANDS)]:
        same = [person for person in cast.find_by_surname(wife.surname) if _is_introduced(cast, wife, person)]
        if len(same) == 1:
            wife.forms.extend(same[0].forms)
            cast.people.remove(same[0])


def _is_introduced(cast: Cast, wife: Person, person: Person) -> bool:
    """Return whether a person is only called Mrs., from a scene on that gives her husband's name first."""
    if person is wife or person.given or any(title != "mrs" for title, _ in person.forms):
        return False
    full, plain = (sum_tallies(each.forms, cast.tallies) for each in (wife, person))
    scene, sentence = min(full.sentences)
    first, later = min(plain.sentences)
    return scene == first and sentence < later and not full.count_common_sentences(plain)


def _read_company(cast: Cast) -> _Company:
    tallies = [sum_tallies(person.forms, cast.tallies) for person in cast.people]
    scenes = [Counter(scene for scene, _ in tally.sentences) for tally in tallies]
    company = _Company(cast, tallies, scenes, count_addresses(cast), len(set().union(*scenes)) or 1)
    for index, own in enumerate(scenes):
        for scene in own if tallies[index].count >= _MIN_MENTIONS else ():
            company.present.setdefault(scene, []).append(index)
    return company


def _is_intimate(cast: Cast, person: Person) -> bool:
    """Return whether a person is only called by a given name, with or without the surname."""
    is_bare = all(not title for title, _ in person.forms)
    return is_bare and person.given in GIVEN_NAMES and bool(cast.gender(person))


def _is_formal(person: Person) -> bool:
    """Return whether a person is only called by surname, with or without a title."""
    is_titled = any(title in PLAIN_TITLES or (title and not TITLES[title]) for title, _ in person.forms)
    return is_titled and not person.given and all(len(names) == 1 for _, names in person.forms)


def _judge(company: _Company, intimate: int, formal: int) -> float:
    """Return how alike the company of a given name and a formal one is, or 0 where they may be two people's."""
    cast = company.cast
    person, owner = cast.people[intimate], cast.people[formal]
    if cast.gender(person) != cast.gender(owner) or not may_complete(cast, owner, person):
        return 0.0
    if any(cast.dialogue.count_apart(own, other) for own in person.forms for other in owner.forms):
        return 0.0
    if _has_rival(cast, owner, person):
        return 0.0
    left, right = company.tallies[intimate], company.tallies[formal]
    common, fewer = left.count_common_sentences(right), min(left.count, right.count)
    is_compared = fewer >= _MIN_COMPARED and common <= max(1, _COMMON_SHARE * fewer)
    is_spoken = common <= _MAX_COMMON_SPOKEN and company.is_present(intimate, formal)
    if not (is_compared or is_spoken) or not company.are_around(intimate, formal):
        return 0.0
    likeness = company.likeness(intimate, formal)
    return likeness if (is_compared and likeness >= _ALIKE) or (is_spoken and likeness >= _ALIKE_SPOKEN) else 0.0


def _has_rival(cast: Cast, owner: Person, person: Person) -> bool:
    """Return whether another of the family may as well be meant by the title: Miss Linton, of two daughters."""
    gender = cast.gender(owner)
    return any(
        each not in (owner, person)
        and cast.gender(each) == gender
        and not any(cast.are_apart(own, other) for own in each.forms for other in owner.forms)
        for each in cast.find_by_surname(owner.surname)
    )
