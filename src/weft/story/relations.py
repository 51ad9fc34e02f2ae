"""What the words between two names state about them: his wife, King of, lived at."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Final

from weft.frozen import dataclass
from weft.model import Json
from weft.story.kinds import Tally, gender_of
from weft.story.model import Entity, Form, Passage, Prose, Sighting, Tie
from weft.story.vocabulary import FEMALE, KIN, MALE, SPEECH

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


_NEAR: Final = 3
"""Sentences between two names within which they count as together."""
_FEWEST: Final = 1.0
_MOST_PARTNERS: Final = 12
_TURN: Final = 700
"""Characters between two speeches of one conversation."""
_BETWEEN: Final = 60
_MOST_EVIDENCE: Final = 3
_QUOTES: Final = frozenset('"“”«»„')


@dataclass(slots=True)
class _Found:
    """What speaks for one relation so far."""

    strength: float = 0.0
    confidence: float = 0.0
    evidence: list[tuple[float, Passage]] = field(default_factory=list)

    def add(self, strength: float, confidence: float, passage: Passage) -> None:
        self.strength += strength
        self.confidence = max(self.confidence, confidence)
        self.evidence.append((strength, passage))

    def best(self) -> tuple[Passage, ...]:
        """The strongest passages, in the order of the book."""
        ranked = sorted(self.evidence, key=lambda each: (-each[0], each[1].prose, each[1].start))[:_MOST_EVIDENCE]
        return tuple(sorted((passage for _, passage in ranked), key=lambda each: (each.prose, each.start)))


Mention = tuple[Sighting, int]
"""A sighting and the number of the entity it means."""


def relate(proses: Sequence[Prose], entities: Sequence[Entity]) -> tuple[Tie, ...]:
    """Every tie between the entities, by type and by the places of the two in the list."""
    by_prose: dict[int, list[Mention]] = {}
    for number, entity in enumerate(entities):
        for sighting in entity.mentions:
            by_prose.setdefault(sighting.prose, []).append((sighting, number))
    together: dict[tuple[int, int], _Found] = {}
    told: dict[tuple[str, int, int], _Found] = {}
    genders = [_gender(entity) for entity in entities]
    for place in sorted(by_prose):
        mentions = sorted(by_prose[place], key=lambda mention: (mention[0].start, -mention[0].end, mention[1]))
        _share(mentions, together)
        people = [mention for mention in mentions if entities[mention[1]].kind == "character"]
        _talk(proses[place].text, people, told)
        _state(proses[place].text, mentions, entities, genders, told)
    ties = [*_shared(together), *(_tie(*key, found) for key, found in told.items())]
    return tuple(sorted(ties, key=lambda tie: (tie.type, tie.source, tie.target)))


def _tie(kind: str, source: int, target: int, found: _Found) -> Tie:
    weight = round(found.strength / (found.strength + 1.0), 6)
    return Tie(source, target, kind, weight, round(found.confidence, 3), found.best())


# --- together --------------------------------------------------------------------------------------------


def _share(mentions: Sequence[Mention], together: dict[tuple[int, int], _Found]) -> None:
    """Count those who are named within a few sentences, nearer ones for more."""
    for place, (sighting, entity) in enumerate(mentions):
        met: set[int] = set()
        for other, neighbour in mentions[place + 1 :]:
            apart = other.sentence - sighting.sentence
            if apart > _NEAR or neighbour == entity:
                break
            if neighbour in met:
                continue
            met.add(neighbour)
            pair = (min(entity, neighbour), max(entity, neighbour))
            passage = Passage(sighting.prose, sighting.start, other.end)
            together.setdefault(pair, _Found()).add(1.0 / (1 + apart), 1.0, passage)


def _shared(together: dict[tuple[int, int], _Found]) -> Iterator[Tie]:
    """The strongest partners of each entity."""
    partners: dict[int, list[tuple[float, tuple[int, int]]]] = {}
    for pair, found in together.items():
        for entity in pair:
            partners.setdefault(entity, []).append((-found.strength, pair))
    kept = {pair for ranked in partners.values() for _, pair in sorted(ranked)[:_MOST_PARTNERS]}
    for source, target in sorted(kept):
        found = together[source, target]
        if found.strength >= _FEWEST:
            weight = round(found.strength / (found.strength + 4.0), 6)
            yield Tie(source, target, "co_occurs", weight, 1.0, found.best())


# --- talking ---------------------------------------------------------------------------------------------


def _talk(text: str, mentions: Sequence[Mention], told: dict[tuple[str, int, int], _Found]) -> None:
    """Two who speak one after the other speak with each other."""
    last: Mention | None = None
    for sighting, entity in mentions:
        if not _speaks(text, sighting):
            continue
        if last is not None and last[1] != entity and sighting.start - last[0].end <= _TURN:
            pair = sorted((last[1], entity))
            found = told.setdefault(("speaks_with", pair[0], pair[1]), _Found())
            found.add(0.5, 0.8, Passage(sighting.prose, last[0].start, sighting.end))
        last = (sighting, entity)


def _speaks(text: str, sighting: Sighting) -> bool:
    """Whether a name stands before a speech, or beside a word of speech and a quotation."""
    if sighting.labels:
        return True
    if sighting.before not in SPEECH and sighting.after not in SPEECH:
        return False
    around = text[max(0, sighting.start - 40) : sighting.start] + text[sighting.end : sighting.end + 40]
    return any(mark in _QUOTES for mark in around) or "'" in around or "’" in around


# --- stated ----------------------------------------------------------------------------------------------


def _gender(entity: Entity) -> str:
    """Whether somebody is a man or a woman, by titles and names or by the pronouns that follow."""
    counted: dict[Form, Tally] = {}
    for sighting in entity.mentions:
        counted.setdefault(sighting.form, Tally()).add(sighting)
    return gender_of(list(counted), counted)


def _state(
    text: str,
    mentions: Sequence[Mention],
    entities: Sequence[Entity],
    genders: Sequence[str],
    found: dict[tuple[str, int, int], _Found],
) -> None:
    """What the words between two neighbouring names say about them."""
    for (left, first), (right, second) in pairwise(mentions):
        if first == second or not 0 <= right.start - left.end <= _BETWEEN or left.sentence != right.sentence:
            continue
        between = text[left.end : right.start].lower().replace("\n", " ")
        kinds = (entities[first].kind, entities[second].kind)
        for each in stated(left, between, right, kinds, genders[first]):
            source, target = (first, second) if each.forward else (second, first)
            if each.type in SYMMETRIC:
                source, target = sorted((first, second))
            passage = Passage(left.prose, left.start, right.end)
            found.setdefault((each.type, source, target), _Found()).add(1.0, each.confidence, passage)


_FIELDS: Final[Mapping[str, tuple[str, bool]]] = {
    **dict.fromkeys(("spouse", "wife", "husband", "married_to", "partner"), ("spouse", False)),
    **dict.fromkeys(("children", "child", "son", "daughter", "sons", "daughters", "parent_of"), ("parent", False)),
    **dict.fromkeys(("parents", "parent", "father", "mother", "child_of"), ("parent", True)),
    **dict.fromkeys(("siblings", "sibling", "brother", "sister", "brothers", "sisters"), ("sibling", False)),
    **dict.fromkeys(("friends", "friend", "allies", "ally"), ("friend", False)),
    **dict.fromkeys(("enemies", "enemy", "rivals", "rival"), ("enemy", False)),
    **dict.fromkeys(("member", "member_of", "faction", "factions", "house", "affiliation"), ("member", False)),
    "members": ("member", True),
    **dict.fromkeys(("rules", "ruler_of"), ("ruler", False)),
    **dict.fromkeys(("ruler", "ruled_by"), ("ruler", True)),
    **dict.fromkeys(("located_in", "location", "home", "lives_in", "residence"), ("located_in", False)),
}
"""Fields with the relation they state, and whether it leads from the one they name to the note."""


def noted_relations(fields: Mapping[str, Json]) -> tuple[tuple[str, str, bool, str], ...]:
    """The relations of a note: field, type, whether it leads to the note, and the name at its other end."""
    return tuple(
        (field, *_FIELDS[field], name)
        for field in sorted(_FIELDS.keys() & fields.keys())
        for value in _listed(fields[field])
        if (name := _name(value))
    )


def _listed(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _name(value: Json) -> str:
    """The name in `[[Folder/Name|label]]`, or the text itself; YAML reads bare wikilinks as nested lists."""
    while isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        return ""
    target = value.strip().removeprefix("[[").removesuffix("]]").split("|")[0].split("#")[0]
    return target.rsplit("/", 1)[-1].strip()
