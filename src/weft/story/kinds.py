"""Count how a book uses each form of a name, and decide from the counts whether it is a person, a place or a
thing.

The words of a name come first (Netherfield Park), then what the book shows: persons speak, own and are called he
or she, while one is in a place, comes to it or leaves it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from weft.story.model import Form, Mention
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
    NOBLE_TITLES,
    OBJECT_NOUNS,
    PLACE_HEADS,
    PLACE_NOUNS,
    PLACE_SIGNS,
    PLACE_SURNAMES,
    SAINTS,
    SPEECH,
    TITLES,
)

_GENDER_RATIO: Final = 1.6
_MIN_GENDER_PRONOUNS: Final = 4
"""So many pronouns must follow a name, and one gender so many times as often as the other, to tell its gender.
With fewer, the `he` of a neighbouring sentence decides."""
_UNTITLED: Final = SAINTS | EPITHETS
"""Titles that show no person: a saint is mostly a church, a street or a square, and much is old."""

_POSSESSIVE_ENDING: Final = re.compile(r"['’]s?$")
"""A name with a possessive in it means no person: Lovers' Vows."""
_PLACE_ENDINGS: Final = ("shire", "town", "borough", "burgh", "minster")
_PLACE_SHARE: Final = 0.3
_SILENT_PLACE_SHARE: Final = 0.12
"""The share of a name's mentions that must be of being there: less where nothing shows a person of that name.
Lower, and characters whom others go to become places."""
_CONTINUED_SHARE: Final = 0.6
"""A name that a capitalised word which is no name follows in so large a share of its mentions is only a part of
another name; and an everyday word that has the article so often is only that word."""
_ACTING_SHARE: Final = 0.4
"""A title is a person's name where `he` or `she` follows so large a share of its mentions."""
_DOING_SHARE: Final = 0.15
"""A name with the article that `he` or `she` follows less often, and that never speaks, is a river or a ship."""
_AWAY_WEIGHT: Final = 0.6
"""Coming and going count for less than being inside: one also goes to persons."""
_PERSON_DOUBT: Final = 2.0
"""How many signs of a place outweigh one sign of a person."""
_MIN_SIGNS: Final = 3
"""How many signs are beyond chance: of speaking in a known place, of being inside, of being mentioned at all."""
_FULL_NAME_WORDS: Final = 2
_VISITED_SHARE: Final = 0.1
"""A given name and a word for a place, Rose Lake, name a place if more of the mentions are of being there."""
_GUESS_CONFIDENCE: Final = 0.35
"""The confidence that a name is a person's when nothing but its capitals says so."""
_MAX_CONFIDENCE: Final = 0.98
_HALF_CONFIDENT_SIGNS: Final = 4.0
"""After so many signs the confidence is halfway between its least and its highest value."""


class Tally(Struct):
    """Counts over all mentions of a form, or of several."""

    count: int = 0
    he: int = 0
    she: int = 0
    it: int = 0
    speaks: int = 0
    inside: int = 0
    away: int = 0
    aboard: int = 0
    continued: int = 0
    article: int = 0
    possessive: int = 0
    kin: int = 0
    """Directly after a word of kinship: his sister Rosa."""
    titled: int = 0
    fathers: int = 0
    """In a sentence that speaks of a father or a son."""
    everyday: bool = False
    """Whether the book also writes it in lower case."""
    sentences: set[tuple[int, int]] = field(default_factory=set)

    def add(self, mention: Mention) -> None:
        """Count one mention."""
        self.count += 1
        self.he += mention.pronoun == "he"
        self.she += mention.pronoun == "she"
        self.it += mention.pronoun == "it"
        self.speaks += mention.before in SPEECH or mention.after in SPEECH
        self.inside += mention.before in PLACE_SIGNS
        self.away += mention.before in AWAY_SIGNS
        self.aboard += mention.before in ABOARD_SIGNS
        self.continued += mention.is_continued
        self.article += mention.has_article
        self.possessive += mention.is_possessive
        self.kin += mention.before in KINSFOLK
        self.titled += bool(mention.title) and mention.title not in _UNTITLED
        self.fathers += mention.is_with_father
        self.sentences.add((mention.prose, mention.sentence))

    def count_common_sentences(self, other: "Tally") -> int:
        """Return in how many sentences both stand."""
        return len(self.sentences & other.sentences)

    @property
    def gender(self) -> str:
        """The gender that the pronouns behind the name clearly tell, or ""."""
        if self.he + self.she >= _MIN_GENDER_PRONOUNS:
            if self.he > _GENDER_RATIO * self.she:
                return MALE
            if self.she > _GENDER_RATIO * self.he:
                return FEMALE
        return ""


# The fields that `sum_tallies` adds up, so that a new count is summed without being named there.
_COUNTS: Final = tuple(name for name, kind in Tally.__annotations__.items() if kind is int)


def count_forms(mentions: Iterable[Mention], lower: Mapping[str, int]) -> dict[Form, Tally]:
    """Return the counts of every form; `lower` holds how often each word is written in lower case."""
    tallies: dict[Form, Tally] = {}
    for mention in mentions:
        tallies.setdefault(mention.form, Tally()).add(mention)
    for (_, names), tally in tallies.items():
        tally.everyday = all(lower.get(name.lower()) for name in names)
    return tallies


def sum_tallies(forms: Iterable[Form], tallies: dict[Form, Tally]) -> Tally:
    """Return the counts of several forms together."""
    total = Tally()
    for form in forms:
        for name in _COUNTS:
            setattr(total, name, getattr(total, name) + getattr(tallies[form], name))
        total.everyday |= tallies[form].everyday
        total.sentences |= tallies[form].sentences
    return total


def infer_gender(forms: Sequence[Form], tallies: dict[Form, Tally]) -> str:
    """Return the gender told by the titles of some forms, else by given names, else by pronouns that follow."""
    # Titles come first, since nobody is called Mrs. by mistake; a given name may be borne by either.
    by_title = {TITLES[title] for title, _ in forms if title and TITLES[title]}
    by_name = {_gender_of_name(names[0].lower()) for title, names in forms if len(names) > 1 or not title}
    for genders in (by_title, by_name - {""}):
        # Contradicting signs prove nothing, and the next kind of sign is asked.
        if len(genders) == 1:
            return genders.pop()
    return sum_tallies(forms, tallies).gender


def _gender_of_name(given: str) -> str:
    """Return the gender of a given name, or the one of all names that a short one stands for, or ""."""
    genders = {GIVEN_NAMES.get(long, "") for long in NICKNAMES.get(given, ())}
    return GIVEN_NAMES.get(given) or (genders.pop() if len(genders) == 1 else "")


# --- by the words of the name ----------------------------------------------------------------------------


def kind_by_words(form: Form, tally: Tally) -> str:
    """Return the kind that the words of a name tell by themselves (Netherfield Park, House Stark), or ""."""
    title, names = form
    # In Old Mill Lane the first word is no title but a part of the name.
    if title in EPITHETS:
        title, names = "", (title, *names)
    if title in NOBLE_TITLES and len(names) > 1 and _is_only_place(names[-1]):
        # Prince Edward Island
        return "location"
    if title or _is_full_name(form, tally):
        return ""
    words = [part for name in names for part in name.lower().split("-")]
    if len(words) > 1:
        return _kind_by_nouns(words) or ("object" if any(map(_POSSESSIVE_ENDING.search, words[:-1])) else "")
    return "location" if words[0].endswith(_PLACE_ENDINGS) and not tally.speaks else ""


def _is_full_name(form: Form, tally: Tally) -> bool:
    """Return whether a name that ends like a place's is a person's: Alfred Temple, to whom hardly anybody goes."""
    _, names = form
    has_given = len(names) == _FULL_NAME_WORDS and names[0].lower() in GIVEN_NAMES
    # Pearl Street is nobody, whether one is in it or not.
    return (
        has_given
        and not _is_only_place(names[-1])
        and (tally.inside + tally.away + tally.article <= _VISITED_SHARE * tally.count)
    )


def _is_only_place(name: str) -> bool:
    """Return whether a word of a name is a place's and hardly a surname: Street, Island."""
    return name.lower() in PLACE_NOUNS - PLACE_SURNAMES


def _kind_by_nouns(words: list[str]) -> str:
    """Return the kind told by the noun before `of`, or else by the last one; event nouns before place nouns."""
    if words[0] in PLACE_HEADS:
        return "location"
    if words[0] in KINDREDS and words[1] == "of":
        return "faction"
    # The Battle of Red Hill is a battle and no hill.
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


def has_given_name(form: Form) -> bool:
    """Return whether a common given name stands in an untitled name, alone or with one word more."""
    title, names = form
    has_given = any(name.lower() in GIVEN_NAMES or name.lower() in NICKNAMES for name in names)
    return not title and len(names) <= _FULL_NAME_WORDS and has_given


# --- by the counts ---------------------------------------------------------------------------------------


def is_place(form: Form, tally: Tally) -> bool:
    """Return whether a name is mostly something one is in, comes to or leaves."""
    title, names = form
    is_known = not title and " ".join(names).lower() in KNOWN_PLACES
    # Somebody may be called Florence, who then speaks.
    if is_known and tally.speaks < _MIN_SIGNS and not tally.titled:
        return True
    if has_given_name(form) and tally.inside < max(_MIN_SIGNS, _PLACE_SHARE * tally.count):
        return False
    person_signs = tally.speaks + tally.possessive + _PERSON_DOUBT * (tally.titled + tally.kin)
    place_signs = tally.inside + _AWAY_WEIGHT * tally.away
    is_silent = not person_signs and tally.inside >= _MIN_SIGNS
    share = _SILENT_PLACE_SHARE if is_silent else _PLACE_SHARE
    return (
        place_signs >= share * tally.count
        and place_signs > _PERSON_DOUBT * person_signs
        and tally.inside + tally.away // 2 > 0
    )


def decide_kind(forms: tuple[Form, ...], tally: Tally) -> tuple[str, float]:
    """Return the kind of an entity and its confidence; no kind when nothing shows that it is an entity at all."""
    kinds = [kind_by_words(form, tally) for form in forms]
    by_words = next(filter(None, kinds), "")
    # Ann Hill, who is mostly called Ann, and speaks.
    is_person = tally.speaks > tally.inside + tally.away and any(len(names) == 1 for _, names in forms)
    if by_words and (all(kinds) or not tally.titled) and not is_person:
        return by_words, _confidence(tally.count, 0.8)
    # Sperm, of Sperm Whale, is part of a name that was not recognised as a whole.
    if tally.continued > _CONTINUED_SHARE * tally.count:
        return "", 0.0
    dignified = None if tally.speaks > 1 or tally.titled else _judge_dignity(forms, tally)
    return dignified or _judge_thing(forms, tally) or _judge_person(forms, tally)


def _judge_dignity(forms: tuple[Form, ...], tally: Tally) -> tuple[str, float] | None:
    """Judge a word with a capital for its meaning: the Guild is a group, and Revolution as such is no entity.

    No entities either are everyday words that mostly stand with the article, and titles that `he` or `she` seldom
    follows. Return None for all others.
    """
    words = {name.lower() for _, names in forms for name in names}
    if words <= INSTITUTIONS and 2 * tally.article > tally.count:
        return ("event" if words <= EVENT_NOUNS else "faction"), _confidence(tally.article, 0.4)
    mostly_with_article = tally.everyday and tally.article > _CONTINUED_SHARE * tally.count
    acts = tally.speaks > 0 or tally.he + tally.she >= _ACTING_SHARE * tally.count
    is_mere_rank = words <= TITLES.keys() and not acts
    is_mere_word = mostly_with_article and not words & (PLACE_NOUNS | TITLES.keys())
    return ("", 0.0) if words <= INSTITUTIONS | DIGNITIES or is_mere_rank or is_mere_word else None


def _judge_thing(forms: tuple[Form, ...], tally: Tally) -> tuple[str, float] | None:
    """Judge whether a name is a ship or a place."""
    if tally.aboard > 1 and 2 * tally.article > tally.count and not tally.titled:
        return "object", _confidence(tally.aboard, 0.6)
    if any(is_place(form, tally) for form in forms) or _is_site(forms, tally):
        return "location", _confidence(tally.inside + tally.away, 0.7)
    return None


def _judge_person(forms: tuple[Form, ...], tally: Tally) -> tuple[str, float]:
    """Judge a person by what persons do, else a place by any sign of one, else a person by the name alone."""
    has_given = any(has_given_name(("", names)) for _, names in forms)
    shown = tally.speaks + tally.titled + tally.kin
    # Pronouns count half: each may belong to somebody else who was mentioned before.
    signs = 2 * shown + tally.possessive + (tally.he + tally.she) / 2 + 2 * has_given
    if shown or has_given or signs >= max(1.0, 0.1 * tally.count):
        return "character", _confidence(signs, 0.6 if tally.count > 1 else 0.4)
    if (
        not shown
        and tally.article > _CONTINUED_SHARE * tally.count
        and tally.he + tally.she < _DOING_SHARE * tally.count
    ):
        # The Trent, the Lusitania: whoever has the article does or says something.
        return ("location" if tally.inside + tally.away else "object"), _GUESS_CONFIDENCE
    # The last resort before a guess: a single sign of a place, and none of a person.
    if tally.inside:
        return "location", _confidence(tally.inside, 0.3)
    is_bare_name = tally.count >= _MIN_SIGNS and not tally.article and not tally.everyday
    is_full_name = any(len(names) > 1 for _, names in forms)
    return ("character", _GUESS_CONFIDENCE) if is_full_name or is_bare_name else ("", 0.0)


def _is_site(forms: tuple[Form, ...], tally: Tally) -> bool:
    """Return whether a name is just a word for a place: the Castle."""
    nouns = all(not title and len(names) == 1 and _singular(names[0]) in PLACE_NOUNS for title, names in forms)
    is_only_place = all(_is_only_place(names[0]) for _, names in forms)
    return nouns and (is_only_place or 2 * tally.article > tally.count) and not tally.speaks


def _singular(name: str) -> str:
    plain = name.lower()
    return plain if plain in PLACE_NOUNS else plain.removesuffix("s").removesuffix("e")


def _confidence(signs: float, least: float) -> float:
    """Return a confidence that rises from `least` towards its highest value as signs add up."""
    return round(least + (_MAX_CONFIDENCE - least) * signs / (signs + _HALF_CONFIDENT_SIGNS), 3)
