"""Load the closed lists of words, kept under `words/`, by which prose shows who and what a name means.

Each file opens with a line about itself. A list is a heading, `[list]` with a remark behind it, and its words
below. The lists are read once, when the first module of the story package is imported.
"""

from pathlib import Path
from typing import Final

MALE: Final = "m"
FEMALE: Final = "f"

_FOLDER: Final = Path(__file__).with_name("words")


def _read_lists(file_name: str) -> dict[str, str]:
    """Return the text below each heading of a file, by heading."""
    # Bytes are decoded by hand, and no line is looked at alone: every start of the command line waits for this.
    text = (_FOLDER / file_name).read_bytes().decode()
    sections = (section.partition("]") for section in text.split("\n[")[1:])
    return {heading: below.partition("\n")[2] for heading, _, below in sections}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _parse_table(text: str) -> dict[str, frozenset[str]]:
    """Return the words behind the first one of each line, by that first one: `captain: capt cap'n`."""
    rows = (line.partition(":") for line in text.splitlines() if line)
    return {key: frozenset(rest.split()) for key, _, rest in rows}


# --- titles ----------------------------------------------------------------------------------------------

_TITLES: Final = _read_lists("titles.txt")
_GENDERS: Final = (("male", MALE), ("female", FEMALE))

PLAIN_TITLES: Final = {title: gender for name, gender in _GENDERS for title in _TITLES[f"plain {name}"].split()}
"""How anyone is addressed; the same family has several of each."""
PITY: Final = "poor"
EPITHETS: Final = _words(_TITLES["epithets"])
"""Adjectives that make nobody else of the person they describe: Poor Ruth, Little Joe."""
NOBLE_TITLES: Final = _words(_TITLES["noble male"]) | _words(_TITLES["noble female"])
FAMILIAR_TITLES: Final = _words(_TITLES["familiar male"]) | _words(_TITLES["familiar female"]) | EPITHETS
STYLED_BY_GIVEN_NAME: Final = NOBLE_TITLES | FAMILIAR_TITLES | {"saint", "st", "master"}
"""Titles that stand before a given name as often as before a surname: Sir William, Aunt Jane."""
TITLES: Final = {
    **dict.fromkeys(_words(_TITLES["ranks"]) | EPITHETS, ""),
    **{
        title: gender
        for group in ("familiar", "foreign", "noble", "plain")
        for name, gender in _GENDERS
        for title in _TITLES[f"{group} {name}"].split()
    },
}
"""Every title with the gender it tells, or "" where men and women bear it alike."""
SAINTS: Final = _words(_TITLES["saints"])
"""Titles that are part of a given name: St. John Rivers is not called John, nor is St. George."""
SAME_TITLE: Final = {
    spelling: title for title, spellings in _parse_table(_TITLES["spellings"]).items() for spelling in spellings
}
"""Abbreviated and foreign titles, each with the one that it stands for."""
ABBREVIATED: Final = _words(_TITLES["abbreviations"])
"""Words after which a full stop does not end the sentence."""
FORMS_OF_ADDRESS: Final = _words(_TITLES["forms of address"])
"""Words by which many people are called and nobody is named."""

# --- kinship and verbs -----------------------------------------------------------------------------------

_GRAMMAR: Final = _read_lists("grammar.txt")
KIN: Final = {
    relation: _words(_GRAMMAR[relation])
    for relation in (
        "spouse", "betrothed", "parent", "child", "sibling", "relative", "friend", "enemy", "servant",
    )
}  # fmt: skip
KIN_GENDER: Final = {word: gender for name, gender in _GENDERS for word in _GRAMMAR[f"{name} kin"].split()}
"""The gender of whoever is called by a word of kinship."""
FOREIGN_KIN: Final = {
    word: relation
    for relation, words in _parse_table(_GRAMMAR["kin of other languages"]).items()
    for word in words
}
"""Words of kinship in five other languages, each with its relation."""
CALLED_KIN: Final = _words(_GRAMMAR["called kin"])
"""Words by which speakers call their relatives."""
KINSFOLK: Final = frozenset[str]().union(*(KIN[each] for each in KIN if each not in ("betrothed", "servant")))
"""Words before a name that only persons have: his sister Rosa."""

SPEECH: Final = _words(_GRAMMAR["speech"])
VERBS: Final = _words(_GRAMMAR["openings"])
"""Verbs that follow a name at the head of a sentence, besides words in -ed."""

# --- nouns that tell a kind ------------------------------------------------------------------------------

_NOUNS: Final = _read_lists("nouns.txt")
PLACE_NOUNS: Final = _words(_NOUNS["place"])
PLACE_SURNAMES: Final = _words(_NOUNS["surname"])
ESTATE_NOUNS: Final = _words(_NOUNS["estate"])
"""Nouns that a place is also called without: Netherfield, Kellynch."""
FACTION_NOUNS: Final = _words(_NOUNS["faction"])
KINDREDS: Final = _words(_NOUNS["kindred"])
"""Nouns that make a faction of the name behind them: House Stark."""
OBJECT_NOUNS: Final = _words(_NOUNS["object"])
EVENT_NOUNS: Final = _words(_NOUNS["event"])
INSTITUTIONS: Final = ((FACTION_NOUNS | EVENT_NOUNS) - PLACE_NOUNS) | _words(_NOUNS["realm"])
ROLES: Final = _words(_NOUNS["role"])
"""Ranks, offices and professions, by which a person is defined."""
DIGNITIES: Final = _words(_NOUNS["dignity"])
"""Nouns that may have a capital for their dignity alone: the State."""
PLACE_HEADS: Final = _words(_NOUNS["place head"])
"""Nouns that make a place of the name behind them: Cape Horn."""

# --- small words -----------------------------------------------------------------------------------------

PARTICLES: Final = _words(_GRAMMAR["particles"])
CAPITAL_PARTICLES: Final = _words(_GRAMMAR["capital particles"])
"""Particles that are no given names, so that a capital changes nothing: Van Helsing."""
JOINING: Final = _words(_GRAMMAR["joining"])
"""Lower-case words that may stand inside a name when another capital follows: Battle of the Bells."""
COUNTING: Final = _words(_GRAMMAR["counting"])
"""Words after which a capital means a kind and not a person: two Andalusian horses."""
AFTER_WILL: Final = _words(_GRAMMAR["after will"])
"""Words that show a question where a name like Will would open the sentence: Will you?"""
PLACE_SIGNS: Final = _words(_GRAMMAR["inside"])
AWAY_SIGNS: Final = _words(_GRAMMAR["away"])
ABOARD_SIGNS: Final = _words(_GRAMMAR["aboard"])

# --- known names -----------------------------------------------------------------------------------------

_NAMES: Final = _read_lists("names.txt")
GIVEN_NAMES: Final = {given: gender for name, gender in _GENDERS for given in _NAMES[f"given {name}"].split()}
"""Given names, in lower case, with the gender of those who bear them."""
NICKNAMES: Final = _parse_table(_NAMES["nicknames"])
"""Short names with the given names they may stand for."""
_PLACES: Final = _read_lists("places.txt")
KNOWN_PLACES: Final = _words(_PLACES["one word"]).union(_PLACES["several words"].strip().splitlines())
"""Places that every book means when it names them, unless somebody in it speaks by that name."""

PEOPLES: Final = _words(_NAMES["peoples"])
"""Peoples and confessions, to which many belong at once."""
ORDINALS: Final = _words(_NAMES["ordinals"])
CALENDAR: Final = _words(_NAMES["calendar"])
"""Days, months and directions, which name somebody who speaks, or stand in a longer name: the March Hare."""
NEVER_NAMES: Final = _words(_NAMES["never names"]) | FORMS_OF_ADDRESS | PEOPLES
"""Capitalised words that name nobody in a story."""
