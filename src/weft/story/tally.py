"""What the whole book says about each form of a name: how often it speaks, owns, is gone to, is a he or a she."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields
from typing import Final

from weft.frozen import dataclass
from weft.story.known_names import GIVEN_NAMES
from weft.story.model import Form, Sighting
from weft.story.vocabulary import (
    ABOARD_SIGNS,
    AWAY_SIGNS,
    EPITHETS,
    FEMALE,
    KINSFOLK,
    MALE,
    PLACE_SIGNS,
    SAINTS,
    SPEECH,
    TITLES,
)

_CLEARLY: Final = 1.6
_ENOUGH: Final = 4


@dataclass(slots=True)
class Tally:
    """Counts over all sightings of a form, or of several."""

    count: int = 0
    he: int = 0
    she: int = 0
    it: int = 0
    speaks: int = 0
    inside: int = 0
    away: int = 0
    aboard: int = 0
    goes_on: int = 0
    article: int = 0
    owns: int = 0
    kin: int = 0
    """Directly after a word of kinship: his sister Rosa."""
    titled: int = 0
    everyday: bool = False
    """Whether the book also writes it in lower case."""
    sentences: set[tuple[int, int]] = field(default_factory=set)

    def add(self, sighting: Sighting) -> None:
        """Count one sighting."""
        self.count += 1
        self.he += sighting.pronoun == "he"
        self.she += sighting.pronoun == "she"
        self.it += sighting.pronoun == "it"
        self.speaks += sighting.before in SPEECH or sighting.after in SPEECH
        self.inside += sighting.before in PLACE_SIGNS
        self.away += sighting.before in AWAY_SIGNS
        self.aboard += sighting.before in ABOARD_SIGNS
        self.goes_on += sighting.goes_on
        self.article += sighting.article
        self.owns += sighting.owns
        self.kin += sighting.before in KINSFOLK
        # A saint is mostly a church, a street or a square; and much is old.
        self.titled += bool(sighting.title) and sighting.title not in (SAINTS | EPITHETS)
        self.sentences.add((sighting.prose, sighting.sentence))

    def meets(self, other: "Tally") -> int:
        """In how many sentences both stand."""
        return len(self.sentences & other.sentences)

    @property
    def gender(self) -> str:
        """Whether it is a he or a she, where the pronouns that follow say so clearly."""
        if self.he + self.she >= _ENOUGH:
            if self.he > _CLEARLY * self.she:
                return MALE
            if self.she > _CLEARLY * self.he:
                return FEMALE
        return ""


_COUNTS: Final = tuple(each.name for each in fields(Tally) if each.type is int)


def tallies(sightings: Iterable[Sighting], lower: Mapping[str, int]) -> dict[Form, Tally]:
    """The counts of every form; `lower` says how often each word is written in lower case."""
    found: dict[Form, Tally] = {}
    for sighting in sightings:
        found.setdefault(sighting.form, Tally()).add(sighting)
    for (_, names), tally in found.items():
        tally.everyday = all(lower.get(name.lower()) for name in names)
    return found


def summed(forms: Iterable[Form], counted: dict[Form, Tally]) -> Tally:
    """The counts of several forms together."""
    total = Tally()
    for form in forms:
        for name in _COUNTS:
            setattr(total, name, getattr(total, name) + getattr(counted[form], name))
        total.everyday |= counted[form].everyday
        total.sentences |= counted[form].sentences
    return total


def gender_of(forms: Sequence[Form], counted: dict[Form, Tally]) -> str:
    """What the titles of some forms say, else their given names, else the pronouns that follow them."""
    titles = {TITLES[title] for title, _ in forms if title and TITLES[title]}
    given = {GIVEN_NAMES.get(names[0].lower(), "") for title, names in forms if len(names) > 1 or not title} - {""}
    for told in (titles, given):
        if len(told) == 1:
            return told.pop()
    return summed(forms, counted).gender
