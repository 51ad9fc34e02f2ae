"""Relate the entities of a story: those named near each other, those who talk, and those the prose or a note ties.

Stated relations come from the words between two neighbouring names (his wife, King of, lived at) and from the
fields of notes; all others from how near to each other names stand.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from weft.model import Json
from weft.story.definitions import SpansByProse
from weft.story.families import Evidence, settle
from weft.story.kin_lists import read_lists
from weft.story.kinds import Tally, infer_gender
from weft.story.kinship import Vote, is_stated, read_scene, read_votes
from weft.story.model import Entity, Form, Mention, Passage, Prose, Story, Tie
from weft.story.unnamed_kin import read_unnamed_votes
from weft.story.vocabulary import FEMALE, MALE, SPEECH

_SYMMETRIC: Final = frozenset({"friend", "enemy"})

_MAX_SENTENCES_APART: Final = 3
"""Two names at most so many sentences apart count as together. Further apart, most pairs are chance."""
_MIN_TOGETHER_STRENGTH: Final = 1.0
"""A pair must have stood once in one sentence, or several times near each other."""
_MAX_PARTNERS: Final = 12
"""Each entity keeps ties to so many it stands with most; the number of pairs would grow with the square of the
cast."""
_HALF_WEIGHT_TOGETHER: Final = 4.0
_HALF_WEIGHT_STATED: Final = 1.0
"""The strength at which a tie weighs one half: one statement says as much as four meetings in one sentence."""
_MAX_TURN_CHARACTERS: Final = 700
"""Two speeches further apart than this, about a page, belong to two conversations."""
_MAX_QUOTE_CHARACTERS: Final = 240
"""About one long sentence, as much of a tie's evidence as is kept."""
_BEYOND_TEXT: Final = 1 << 60
"""Larger than any offset, so that a bisection finds the last span that begins at or before a place."""
_SPEECH_REACH: Final = 40
"""Within so many characters of a speaker's name a quotation mark must stand."""
_TALK_STRENGTH: Final = 0.5
_TALK_CONFIDENCE: Final = 0.8
"""Two who speak one after the other mostly, but not always, speak with each other."""
_MAX_CHARACTERS_BETWEEN: Final = 60
"""The words between two names state a relation only if they are so short."""
_QUOTES: Final = frozenset('"“”«»„')


class _Pattern(Struct, frozen=True):
    """The words that may stand between two names of certain kinds, and the relation they state."""

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

_KIN_WORDS: Final[Mapping[str, tuple[str, str, str]]] = {
    "spouse": ("husband of", "wife of", "married to"),
    "betrothed": ("engaged to", "engaged to", "engaged to"),
    "parent": ("father of", "mother of", "parent of"),
    "child": ("son of", "daughter of", "child of"),
    "sibling": ("brother of", "sister of", "sibling of"),
    "relative": ("relative of", "relative of", "relative of"),
    "serves": ("in the service of", "in the service of", "in the service of"),
}
"""The words for a man, a woman, and somebody of unknown sex in a tie."""
_MIN_SAID_CONFIDENCE: Final = 0.45
"""A tie of less confidence is drawn, but no sentence about a person is made of it."""
_MAX_SAID: Final = 4
"""People named for one kind of tie: the children of a large family."""

_NOTE_FIELDS: Final[Mapping[str, tuple[str, bool]]] = {
    **dict.fromkeys(("spouse", "wife", "husband", "married_to", "partner"), ("spouse", False)),
    **dict.fromkeys(("children", "child", "son", "daughter", "sons", "daughters", "parent_of"), ("parent", False)),
    **dict.fromkeys(("parents", "parent", "father", "mother", "child_of"), ("parent", True)),
    **dict.fromkeys(("siblings", "sibling", "brother", "sister", "brothers", "sisters"), ("sibling", False)),
    **dict.fromkeys(("betrothed", "engaged_to", "fiance", "fiancee"), ("betrothed", False)),
    **dict.fromkeys(("relatives", "relative", "cousins", "cousin", "uncle", "aunt"), ("relative", False)),
    **dict.fromkeys(("friends", "friend", "allies", "ally"), ("friend", False)),
    **dict.fromkeys(("serves", "servant_of", "employer", "master"), ("serves", False)),
    **dict.fromkeys(("served_by", "servants", "servant"), ("serves", True)),
    **dict.fromkeys(("enemies", "enemy", "rivals", "rival"), ("enemy", False)),
    **dict.fromkeys(("member", "member_of", "faction", "factions", "house", "affiliation"), ("member", False)),
    "members": ("member", True),
    **dict.fromkeys(("rules", "ruler_of"), ("ruler", False)),
    **dict.fromkeys(("ruler", "ruled_by"), ("ruler", True)),
    **dict.fromkeys(("located_in", "location", "home", "lives_in", "residence"), ("located_in", False)),
}
"""Fields of notes with the relation they state, and whether it leads from the entity they name to the note."""


EntityMention = tuple[Mention, int]
"""A mention and the index of the entity it means."""
Pairs = dict[tuple[int, int], Evidence]
TypedPairs = dict[tuple[str, int, int], Evidence]


def relate(proses: Sequence[Prose], entities: Sequence[Entity], spans: SpansByProse) -> tuple[Tie, ...]:
    """Return every tie between the entities, by type and by the indexes of the two in the list.

    `spans` gives the sentences of each prose: what shows a tie is quoted by the sentence.
    """
    by_prose: dict[int, list[EntityMention]] = {}
    for index, entity in enumerate(entities):
        for mention in entity.mentions:
            by_prose.setdefault(mention.prose, []).append((mention, index))
    together: Pairs = {}
    directed: TypedPairs = {}
    votes: list[Vote] = []
    # Once for each entity and not for each pair: `his` and `her` are checked against it.
    genders = [gender_of(entity) for entity in entities]
    for number in sorted(by_prose):
        mentions = sorted(by_prose[number], key=lambda found: (found[0].start, -found[0].end, found[1]))
        text = proses[number].text
        _add_meetings(mentions, together)
        _add_talks(text, [found for found in mentions if entities[found[1]].kind == "character"], directed)
        _add_statements(text, mentions, entities, directed)
        people = [found for found in mentions if entities[found[1]].kind == "character"]
        scene = read_scene(number, text, people, genders)
        votes.extend((*read_votes(scene), *read_unnamed_votes(scene), *read_lists(scene)))
    meetings = {pair: evidence.strength for pair, evidence in together.items()}
    for key, evidence in settle(votes, entities, genders, meetings).items():
        evidence.passages = [(strength, widen(each, spans(each.prose))) for strength, each in evidence.passages]
        directed.setdefault(key, evidence)
    ties = [*_keep_closest(together), *(_make_tie(*key, evidence) for key, evidence in directed.items())]
    return tuple(sorted(ties, key=lambda tie: (tie.type, tie.source, tie.target)))


def _make_tie(kind: str, source: int, target: int, evidence: Evidence) -> Tie:
    weight = round(evidence.strength / (evidence.strength + _HALF_WEIGHT_STATED), 6)
    return Tie(source, target, kind, weight, round(evidence.confidence, 3), evidence.strongest())


def widen(passage: Passage, spans: Sequence[tuple[int, int]]) -> Passage:
    """Return the sentences around a passage, or of long ones so much as can be quoted."""
    first = spans[max(0, bisect_right(spans, (passage.start, _BEYOND_TEXT)) - 1)][0] if spans else passage.start
    last = spans[max(0, bisect_right(spans, (passage.end - 1, _BEYOND_TEXT)) - 1)][1] if spans else passage.end
    room = max(0, _MAX_QUOTE_CHARACTERS - (passage.end - passage.start))
    start = max(min(first, passage.start), passage.start - room // 2)
    end = min(max(last, passage.end), start + max(_MAX_QUOTE_CHARACTERS, passage.end - start))
    return Passage(passage.prose, start, end)


# --- together --------------------------------------------------------------------------------------------


def _add_meetings(mentions: Sequence[EntityMention], together: Pairs) -> None:
    """Count entities that are named within a few sentences, nearer ones for more."""
    for index, (mention, entity) in enumerate(mentions):
        met: set[int] = set()
        for other, neighbour in mentions[index + 1 :]:
            apart = other.sentence - mention.sentence
            # Behind the next mention of the same entity, that mention counts the neighbours.
            if apart > _MAX_SENTENCES_APART or neighbour == entity:
                break
            if neighbour in met:
                continue
            met.add(neighbour)
            pair = (min(entity, neighbour), max(entity, neighbour))
            passage = Passage(mention.prose, mention.start, other.end)
            together.setdefault(pair, Evidence()).add(1.0 / (1 + apart), 1.0, passage)


def _keep_closest(together: Pairs) -> Iterator[Tie]:
    """Yield the ties between each entity and its strongest partners."""
    partners: dict[int, list[tuple[float, tuple[int, int]]]] = {}
    for pair, evidence in together.items():
        for entity in pair:
            partners.setdefault(entity, []).append((-evidence.strength, pair))
    # A pair stays if it is among the strongest of either: minor characters keep their tie to the hero.
    kept = {pair for ranked in partners.values() for _, pair in sorted(ranked)[:_MAX_PARTNERS]}
    for source, target in sorted(kept):
        evidence = together[source, target]
        if evidence.strength >= _MIN_TOGETHER_STRENGTH:
            weight = round(evidence.strength / (evidence.strength + _HALF_WEIGHT_TOGETHER), 6)
            yield Tie(source, target, "co_occurs", weight, 1.0, evidence.strongest())


# --- talking ---------------------------------------------------------------------------------------------


def _add_talks(text: str, mentions: Sequence[EntityMention], directed: TypedPairs) -> None:
    """Count two characters who speak one after the other as speaking with each other."""
    last: EntityMention | None = None
    for mention, entity in mentions:
        if not _is_speaking(text, mention):
            continue
        if last is not None and last[1] != entity and mention.start - last[0].end <= _MAX_TURN_CHARACTERS:
            first, second = sorted((last[1], entity))
            passage = Passage(mention.prose, last[0].start, mention.end)
            evidence = directed.setdefault(("speaks_with", first, second), Evidence())
            evidence.add(_TALK_STRENGTH, _TALK_CONFIDENCE, passage)
        last = (mention, entity)


def _is_speaking(text: str, mention: Mention) -> bool:
    """Return whether a name stands before a speech, or beside a verb of speech and a quotation."""
    if mention.is_speaker_label:
        return True
    if mention.before not in SPEECH and mention.after not in SPEECH:
        return False
    before = text[max(0, mention.start - _SPEECH_REACH) : mention.start]
    around = before + text[mention.end : mention.end + _SPEECH_REACH]
    return any(mark in _QUOTES for mark in around) or "'" in around or "’" in around


# --- stated by prose -------------------------------------------------------------------------------------


def gender_of(entity: Entity) -> str:
    """Return the gender of an entity, by titles and names or by the pronouns that follow."""
    tallies: dict[Form, Tally] = {}
    for mention in entity.mentions:
        tallies.setdefault(mention.form, Tally()).add(mention)
    return infer_gender(list(tallies), tallies)


def _add_statements(
    text: str, mentions: Sequence[EntityMention], entities: Sequence[Entity], directed: TypedPairs
) -> None:
    """Count the relations that the words between two neighbouring names state."""
    for (left, first), (right, second) in pairwise(mentions):
        is_near = 0 <= right.start - left.end <= _MAX_CHARACTERS_BETWEEN and left.sentence == right.sentence
        if first == second or not is_near or right.is_possessive or not is_stated(text, left, right):
            continue
        between = text[left.end : right.start].lower().replace("\n", " ")
        kinds = (entities[first].kind, entities[second].kind)
        for pattern in _PATTERNS:
            fits = kinds[0] in pattern.source_kinds and kinds[1] in pattern.target_kinds
            if fits and pattern.between.fullmatch(between):
                # One edge for both directions, whichever of the two the book names first.
                pair = sorted((first, second)) if pattern.type in _SYMMETRIC else (first, second)
                evidence = directed.setdefault((pattern.type, *pair), Evidence())
                evidence.add(1.0, pattern.confidence, Passage(left.prose, left.start, right.end))
                break


def describe_kin(story: Story) -> dict[int, str]:
    """Return a line for each person whose kin is known: `Ann Vane: wife of John Vane; mother of Tom.`"""
    told: dict[int, dict[str, list[int]]] = {}
    # The surest and the best known first, since only a few are named.
    for tie in sorted(story.ties, key=lambda tie: (-tie.confidence, tie.source, tie.target)):
        if tie.type not in _KIN_WORDS or tie.confidence < _MIN_SAID_CONFIDENCE:
            continue
        backward = {"parent": "child", "serves": ""}.get(tie.type, tie.type)
        for kind, one, other in ((tie.type, tie.source, tie.target), (backward, tie.target, tie.source)):
            if kind:
                told.setdefault(one, {}).setdefault(kind, []).append(other)
    said = {}
    for index, kinds in told.items():
        entity = story.entities[index]
        form = (MALE, FEMALE).index(gender) if (gender := gender_of(entity)) else 2
        parts = [
            f"{words[form]} {_join_names([story.entities[each].name for each in sorted(kinds[kind][:_MAX_SAID])])}"
            for kind, words in _KIN_WORDS.items()
            if kind in kinds and not (kind == "betrothed" and "spouse" in kinds)
        ]
        said[index] = f"{entity.name}: {'; '.join(parts)}."
    return said


def _join_names(names: Sequence[str]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1]) if len(names) > 1 else names)


# --- stated by notes -------------------------------------------------------------------------------------


def read_note_relations(fields: Mapping[str, Json]) -> tuple[tuple[str, str, bool, str], ...]:
    """Return the relations of a note: field, type, whether it leads to the note, and the name at its other end."""
    return tuple(
        (field, *_NOTE_FIELDS[field], name)
        for field in sorted(_NOTE_FIELDS.keys() & fields.keys())
        for value in _as_list(fields[field])
        if (name := _read_name(value))
    )


def _as_list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _read_name(value: Json) -> str:
    """Return the name in `[[Folder/Name|label]]`, or the text; YAML reads bare wikilinks as nested lists."""
    while isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        return ""
    target = value.strip().removeprefix("[[").removesuffix("]]").split("|")[0].split("#")[0]
    return target.rsplit("/", 1)[-1].strip()
