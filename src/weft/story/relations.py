"""How entities are tied: who shares scenes, who talks to whom, and what sentences state outright."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from weft.story.model import Entity, Passage, Prose, Sighting, Tie
from weft.story.vocabulary import KIN, SPEECH

_NEAR: Final = 3
"""Sentences between two names within which they count as together."""
_FEWEST: Final = 1.0
_MOST_PARTNERS: Final = 12
_TURN: Final = 700
"""Characters between two speeches of one conversation."""
_BETWEEN: Final = 60
_MOST_EVIDENCE: Final = 3
_QUOTES: Final = frozenset("\"“”«»„")

_KIN_OF: Final = {word: relation for relation, words in KIN.items() for word in words}
_KIN_WORD: Final = "|".join(sorted(_KIN_OF, key=lambda word: (-len(word), word)))
_OWN_KIN: Final = re.compile(rf"(?:['’]s?|,? and (?:his|her)) (?:[\w-]+ ){{0,2}}?({_KIN_WORD}),? ?")
_KIN_TO: Final = re.compile(rf",? (?:(?:was|is|the|a|an|his|her|only|\w+est|\w+er) ){{0,3}}({_KIN_WORD}) (?:of|to) (?:the )?")
_RULER: Final = (
    "king|queen|lord|lady|ruler|duke|duchess|prince|princess|emperor|empress|governor|mayor|warden|master|mistress|chief"
)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """What may stand between two names of certain kinds, and the relation it states."""

    between: re.Pattern[str]
    type: str
    target_kinds: tuple[str, ...]
    confidence: float
    source_kinds: tuple[str, ...] = ("character",)


_PEOPLE: Final = ("character",)
_THINGS: Final = ("location", "faction", "object", "event")
_PATTERNS: Final = (
    _Pattern(re.compile(r" (?:had |was |is |has )?(?:married|wedded|wed|marries) (?:to )?"), "spouse", _PEOPLE, 0.8),
    _Pattern(re.compile(r" (?:had )?(?:hated|hates|despised|betrayed|fought|defeated|murdered|killed) "), "enemy", _PEOPLE, 0.6),
    _Pattern(re.compile(r" (?:had )?(?:befriended|befriends) "), "friend", _PEOPLE, 0.7),
    _Pattern(
        re.compile(r"(?:,? (?:a |the )?(?:member|leader|soldier|captain|knight)? ?of| (?:had )?(?:joined|led|leads|served(?: in)?|belonged to)) (?:the )?"),
        "member", ("faction",), 0.8,
    ),
    _Pattern(re.compile(rf",? (?:(?:was|is|the|as) ){{0,2}}(?:{_RULER}) of (?:the )?"), "ruler", ("location", "faction"), 0.85),
    _Pattern(re.compile(r" (?:ruled|rules|governed|governs|reigned over) (?:over )?(?:the )?"), "ruler", ("location", "faction"), 0.85),
    _Pattern(re.compile(r" (?:lived|lives|dwelt|dwells|resided|resides|settled|was born) (?:in|at|near) (?:the )?"), "located_in", ("location",), 0.8),
    _Pattern(re.compile(r" of (?:the )?"), "located_in", ("location",), 0.5),
    _Pattern(re.compile(r",? (?:(?:stood|stands|lies|lay|is|was) )?(?:in|at|near|on) (?:the )?"), "located_in", ("location",), 0.7, _THINGS),
)  # fmt: skip


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
    stated: dict[tuple[str, int, int], _Found] = {}
    for place in sorted(by_prose):
        mentions = sorted(by_prose[place], key=lambda mention: (mention[0].start, -mention[0].end, mention[1]))
        _share(mentions, together)
        _talk(proses[place].text, mentions, stated)
        _state(proses[place].text, mentions, entities, stated)
    ties = [*_shared(together), *(_tie(*key, found) for key, found in stated.items())]
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


def _talk(text: str, mentions: Sequence[Mention], stated: dict[tuple[str, int, int], _Found]) -> None:
    """Two who speak one after the other speak with each other."""
    last: Mention | None = None
    for sighting, entity in mentions:
        if not _speaks(text, sighting):
            continue
        if last is not None and last[1] != entity and sighting.start - last[0].end <= _TURN:
            pair = sorted((last[1], entity))
            found = stated.setdefault(("speaks_with", pair[0], pair[1]), _Found())
            found.add(0.5, 0.8, Passage(sighting.prose, last[0].start, sighting.end))
        last = (sighting, entity)


def _speaks(text: str, sighting: Sighting) -> bool:
    """Whether a name stands beside a word of speech and a quotation."""
    if sighting.before not in SPEECH and sighting.after not in SPEECH:
        return False
    around = text[max(0, sighting.start - 40) : sighting.start] + text[sighting.end : sighting.end + 40]
    return any(mark in _QUOTES for mark in around) or "'" in around or "’" in around


# --- stated ----------------------------------------------------------------------------------------------


def _state(
    text: str, mentions: Sequence[Mention], entities: Sequence[Entity], stated: dict[tuple[str, int, int], _Found]
) -> None:
    """What the words between two neighbouring names say about them."""
    for (left, source), (right, target) in zip(mentions, mentions[1:], strict=False):
        if source == target or not 0 <= right.start - left.end <= _BETWEEN or left.sentence != right.sentence:
            continue
        between = " ".join(text[left.end : right.start].lower().split(" ")).replace("\n", " ")
        for kind, one, other, confidence in _said(left, between, (source, target), entities):
            found = stated.setdefault((kind, one, other), _Found())
            found.add(1.0, confidence, Passage(left.prose, left.start, right.end))


def _said(
    left: Sighting, between: str, pair: tuple[int, int], entities: Sequence[Entity]
) -> Iterator[tuple[str, int, int, float]]:
    source, target = pair
    kinds = entities[source].kind, entities[target].kind
    if kinds == ("character", "character"):
        yield from _kin(left, between, source, target)
    for pattern in _PATTERNS:
        if kinds[0] in pattern.source_kinds and kinds[1] in pattern.target_kinds and pattern.between.fullmatch(between):
            one, other = sorted(pair) if pattern.type in ("spouse", "friend", "enemy") else pair
            yield pattern.type, one, other, pattern.confidence
            return


def _kin(left: Sighting, between: str, source: int, target: int) -> Iterator[tuple[str, int, int, float]]:
    one, other = sorted((source, target))
    if left.end - left.start == len(left.title):
        # The first of `Mr. and Mrs. Bennet`, whose name stands with the second.
        yield "spouse", one, other, 0.9
    if match := _OWN_KIN.fullmatch(between):
        relation, elder, younger = _KIN_OF[match.group(1)], target, source
    elif match := _KIN_TO.fullmatch(between):
        relation, elder, younger = _KIN_OF[match.group(1)], source, target
    else:
        return
    if relation == "parent":
        yield "parent", elder, younger, 0.9
    elif relation == "child":
        yield "parent", younger, elder, 0.9
    else:
        yield relation, one, other, 0.9
