"""What the whole book says about each form of a name: how often it speaks, owns, is gone to, is a he or a she."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields
from typing import Final

from weft.frozen import dataclass
from weft.story.model import Form, Sighting
from weft.story.vocabulary import (
    ABOARD_SIGNS,
    AWAY_SIGNS,
    DIGNITIES,
    EPITHETS,
    EVENT_NOUNS,
    FACTION_NOUNS,
    FEMALE,
    GIVEN_NAMES,
    INSTITUTIONS,
    KINDREDS,
    KINSFOLK,
    KNOWN_PLACES,
    MALE,
    NICKNAMES,
    OBJECT_NOUNS,
    PLACE_HEADS,
    PLACE_NOUNS,
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


_OWNED: Final = re.compile(r"['’]s?$")
"""What belongs to somebody by its name is not a person: Lovers' Vows."""
_PLACE_SHARE: Final = 0.3
_SILENT_SHARE: Final = 0.12
"""How many of a name's mentions must be of being there: fewer where nothing shows a person of that name."""
_PART_SHARE: Final = 0.6
"""A name that so often goes on with a word that is none is only a part of something's name."""
_SOMEBODY: Final = 0.4
_AWAY_WEIGHT: Final = 0.6
_DOUBT: Final = 2.0
_OFTEN: Final = 3
_FULL: Final = 2
_GUESSED: Final = 0.35
"""How sure a name is somebody's when nothing but its capitals says so."""


def named_kind(form: Form, tally: Tally) -> str:
    """The kind that the words of a name tell by themselves: Netherfield Park, House Stark; else nothing."""
    title, names = form
    if title in EPITHETS:
        title, names = "", (title, *names)
    if title or _is_full_name(form, tally):
        return ""
    words = [part for name in names for part in name.lower().split("-")]
    if len(words) > 1:
        return _by_nouns(words) or ("object" if _OWNED.search(words[0]) else "")
    return "location" if words[0].endswith("shire") else ""


def _is_full_name(form: Form, tally: Tally) -> bool:
    """Whether a name that ends like a place's is somebody's: Alfred Temple, where nobody is in or goes to."""
    _, names = form
    given = len(names) == 2 and names[0].lower() in GIVEN_NAMES
    return given and not tally.inside + tally.away + tally.article


def _by_nouns(words: list[str]) -> str:
    if words[0] in PLACE_HEADS:
        return "location"
    if words[0] in KINDREDS and words[1] == "of":
        return "faction"
    head = words[words.index("of") - 1] if "of" in words[1:] else words[-1]
    for kind, nouns in (
        ("event", EVENT_NOUNS),
        ("location", PLACE_NOUNS),
        ("faction", FACTION_NOUNS),
        ("object", OBJECT_NOUNS),
    ):
        if head in nouns:
            return kind
    return "faction" if words[0] in KINDREDS else ""


def _is_known_place(form: Form) -> bool:
    title, names = form
    return not title and " ".join(names).lower() in KNOWN_PLACES


def names_a_person(form: Form) -> bool:
    """Whether a given name that is one everywhere stands in it, alone or with one word more."""
    title, names = form
    given = any(name.lower() in GIVEN_NAMES or name.lower() in NICKNAMES for name in names)
    return not title and len(names) <= _FULL and given


def is_place(form: Form, tally: Tally) -> bool:
    """Whether a name is mostly something one is in, comes to or leaves."""
    persons = tally.speaks + tally.owns + _DOUBT * (tally.titled + tally.kin)
    if _is_known_place(form) and tally.speaks < _OFTEN and not tally.titled:
        return True
    if names_a_person(form) and tally.inside < max(_OFTEN, _PLACE_SHARE * tally.count):
        return False
    places = tally.inside + _AWAY_WEIGHT * tally.away
    silent = not persons and tally.inside >= _OFTEN
    share = _SILENT_SHARE if silent else _PLACE_SHARE
    return places >= share * tally.count and places > _DOUBT * persons and tally.inside + tally.away // 2 > 0


def kind_of(forms: tuple[Form, ...], tally: Tally) -> tuple[str, float]:
    """The kind of an entity and how sure that is; no kind when nothing speaks for its being anything."""
    told = next((kind for form in forms if (kind := named_kind(form, tally))), "")
    if told and not tally.titled:
        return told, _confidence(tally.count, 0.8)
    if tally.goes_on > _PART_SHARE * tally.count:
        return "", 0.0
    dignified = None if tally.speaks > 1 or tally.titled else _dignified(forms, tally)
    return dignified or _thing(forms, tally) or _person(forms, tally)


def _dignified(forms: tuple[Form, ...], tally: Tally) -> tuple[str, float] | None:
    """What a word is that has its capital for what it means: the Guild is a group, and Revolution as such nothing.

    So are everyday words that mostly stand with the article, and titles that are seldom followed by `he` or `she`.
    """
    words = {name.lower() for _, names in forms for name in names}
    if words <= INSTITUTIONS and 2 * tally.article > tally.count:
        return ("event" if words <= EVENT_NOUNS else "faction"), _confidence(tally.article, 0.4)
    usual = tally.everyday and tally.article > _PART_SHARE * tally.count
    acting = tally.speaks > 0 or tally.he + tally.she >= _SOMEBODY * tally.count
    rank = words <= TITLES.keys() and not acting
    thing = usual and not words & (PLACE_NOUNS | TITLES.keys())
    return ("", 0.0) if words <= INSTITUTIONS | DIGNITIES or rank or thing else None


def _thing(forms: tuple[Form, ...], tally: Tally) -> tuple[str, float] | None:
    """A ship or a place, if it is one."""
    if tally.aboard > 1 and 2 * tally.article > tally.count and not tally.titled:
        return "object", _confidence(tally.aboard, 0.6)
    if any(is_place(form, tally) for form in forms) or _is_site(forms, tally):
        return "location", _confidence(tally.inside + tally.away, 0.7)
    return None


def _person(forms: tuple[Form, ...], tally: Tally) -> tuple[str, float]:
    """A person by what persons do; else a place by the least sign of one; else a person by the name alone."""
    given = any(names_a_person(("", names)) for _, names in forms)
    shown = tally.speaks + tally.titled + tally.kin
    person = 2 * shown + tally.owns + (tally.he + tally.she) / 2 + 2 * given
    if shown or given or person >= max(1.0, 0.1 * tally.count):
        return "character", _confidence(person, 0.6 if tally.count > 1 else 0.4)
    if tally.inside:
        return "location", _confidence(tally.inside, 0.3)
    bare = tally.count >= _OFTEN and not tally.article and not tally.everyday
    full = any(len(names) > 1 for _, names in forms)
    return ("character", _GUESSED) if full or bare else ("", 0.0)


def _is_site(forms: tuple[Form, ...], tally: Tally) -> bool:
    """Whether a name is just a word for a place: the Castle."""
    nouns = all(not title and len(names) == 1 and _singular(names[0]) in PLACE_NOUNS for title, names in forms)
    return nouns and 2 * tally.article > tally.count and not tally.speaks


def _singular(name: str) -> str:
    plain = name.lower()
    return plain if plain in PLACE_NOUNS else plain.removesuffix("s").removesuffix("e")


def _confidence(evidence: float, least: float) -> float:
    """From `least` for the first sign towards 1 as signs add up."""
    return round(least + (0.98 - least) * evidence / (evidence + 4.0), 3)
