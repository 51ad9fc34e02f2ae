"""What the words between two names state about them: his wife, King of, lived at."""

import re
from collections.abc import Iterator
from typing import Final

from weft.frozen import dataclass
from weft.story.model import Sighting
from weft.story.vocabulary import FEMALE, KIN, MALE

SYMMETRIC: Final = frozenset({"spouse", "sibling", "friend", "enemy"})

_KIN_OF: Final = {word: relation for relation, words in KIN.items() for word in words}
_KIN_WORD: Final = "|".join(sorted(_KIN_OF, key=lambda word: (-len(word), word)))
_OWN_KIN: Final = re.compile(rf"(?:['’]s?|,? and (?:his|her)) (?:[\w-]+ ){{0,2}}?({_KIN_WORD}),? ?")
_KIN_TO: Final = re.compile(
    rf",? (?:(?:was|is|the|a|an|his|her|only|\w+est|\w+er) ){{0,3}}({_KIN_WORD}) (?:of|to) (?:the )?"
)
_THEIR_KIN: Final = re.compile(rf"(?:[\w', ]* )(his|her|whose) (?:[\w-]+ ){{0,2}}?({_KIN_WORD}) ")
"""What ends with a pronoun's kin: Bruno loved his sister Rosa."""
_THEIRS: Final = {"his": MALE, "her": FEMALE}
_SURELY: Final = 0.9
_LIKELY: Final = 0.6
_UNMARRIED: Final = frozenset({"miss", "mlle", "mademoiselle", "fräulein", "fraulein", "señorita", "signorina"})


@dataclass(frozen=True, slots=True)
class Statement:
    """A relation, whether it leads from the first name to the second, and how sure it is."""

    type: str
    forward: bool
    confidence: float


@dataclass(frozen=True, slots=True)
class _Pattern:
    """What may stand between two names of certain kinds, and the relation it states."""

    type: str
    confidence: float
    source_kinds: tuple[str, ...]
    target_kinds: tuple[str, ...]
    between: re.Pattern[str]


_PERSON: Final = ("character",)
_REALM: Final = ("location", "faction")
_THING: Final = ("location", "faction", "object", "event")
_PATTERNS: Final = tuple(
    _Pattern(kind, confidence, sources, targets, re.compile(between))
    for kind, confidence, sources, targets, between in (
        ("spouse", 0.8, _PERSON, _PERSON, r",? (?:had |was |is |has )?(?:married|wedded|wed|marries) (?:to )?"),
        (
            "enemy", 0.6, _PERSON, _PERSON,
            r" (?:had )?(?:hated|hates|despised|betrayed|fought|defeated|murdered|killed) ",
        ),
        ("friend", 0.7, _PERSON, _PERSON, r" (?:had )?(?:befriended|befriends) "),
        (
            "member", 0.8, _PERSON, ("faction",),
            r",? (?:a |the )?(?:member|leader|soldier|captain|knight|clerk)? ?of (?:the )?",
        ),
        (
            "member", 0.8, _PERSON, ("faction",),
            r" (?:had )?(?:joined|led|leads|served(?: in)?|belonged to) (?:the )?",
        ),
        (
            "ruler", 0.85, _PERSON, _REALM,
            r",? (?:(?:was|is|the|as) ){0,2}(?:king|queen|lord|lady|ruler|duke|duchess|prince|princess|emperor"
            r"|empress|governor|mayor|warden|master|mistress|chief) of (?:the )?",
        ),
        ("ruler", 0.85, _PERSON, _REALM, r" (?:ruled|rules|governed|governs|reigned over) (?:over )?(?:the )?"),
        (
            "located_in", 0.8, _PERSON, ("location",),
            r" (?:lived|lives|dwelt|dwells|resided|resides|settled|was born) (?:in|at|near) (?:the )?",
        ),
        ("located_in", 0.5, _PERSON, ("location",), r" of (?:the )?"),
        (
            "located_in", 0.7, _THING, ("location",),
            r",? (?:(?:stood|stands|lies|lay|is|was) )?(?:in|at|near|on) (?:the )?",
        ),
    )
)  # fmt: skip


def stated(
    left: Sighting, between: str, right: Sighting, kinds: tuple[str, str], gender: str = ""
) -> Iterator[Statement]:
    """The relations that the words between two names of these kinds state; `gender` is the first one's."""
    if kinds == ("character", "character"):
        yield from _kin(left, between, right, gender)
    for pattern in _PATTERNS:
        fits = kinds[0] in pattern.source_kinds and kinds[1] in pattern.target_kinds
        if fits and pattern.between.fullmatch(between):
            yield Statement(pattern.type, True, pattern.confidence)
            return


def _kin(left: Sighting, between: str, right: Sighting, gender: str) -> Iterator[Statement]:
    if left.end - left.start == len(left.title) and right.title not in _UNMARRIED:
        # The first of `Mr. and Mrs. Bennet`, whose name stands with the second.
        yield Statement("spouse", True, _SURELY)
    sure = _SURELY
    if match := _OWN_KIN.fullmatch(between):
        relation, from_first = _KIN_OF[match.group(1)], False
    elif match := _KIN_TO.fullmatch(between):
        relation, from_first = _KIN_OF[match.group(1)], True
    elif (match := _THEIR_KIN.fullmatch(between)) and _THEIRS.get(match.group(1), gender) == gender:
        relation, from_first, sure = _KIN_OF[match.group(2)], False, _LIKELY
    else:
        return
    if relation == "child":
        relation, from_first = "parent", not from_first
    yield Statement(relation, from_first, sure)
