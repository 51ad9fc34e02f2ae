"""How entities are tied: who shares scenes, who talks to whom, and what sentences state outright."""

from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Final

from weft.frozen import dataclass
from weft.story.model import Entity, Form, Passage, Prose, Sighting, Tie
from weft.story.statements import SYMMETRIC, stated
from weft.story.tally import Tally, gender_of
from weft.story.vocabulary import SPEECH

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
