"""Relate the entities of a story: those named near each other, those who talk, and those the prose or a note ties.

Stated relations come from the words between two neighbouring names (his wife, King of, lived at) and from the
fields of notes; all others from how near to each other names stand.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct, field

from weft.model import Json
from weft.story.dialogue import read_speeches
from weft.story.kinds import Tally, infer_gender
from weft.story.model import Entity, Form, Mention, Passage, Prose, Tie
from weft.story.vocabulary import FEMALE, KIN, MALE, SPEECH

_SYMMETRIC: Final = frozenset({"spouse", "sibling", "friend", "enemy"})

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
_SPEECH_REACH: Final = 40
"""Within so many characters of a speaker's name a quotation mark must stand."""
_TALK_STRENGTH: Final = 0.5
_TALK_CONFIDENCE: Final = 0.8
"""Two who speak one after the other mostly, but not always, speak with each other."""
_MAX_CHARACTERS_BETWEEN: Final = 60
"""The words between two names state a relation only if they are so short."""
_MAX_EVIDENCE: Final = 3
"""The passages kept for a tie: a page shows one or two of them."""
_QUOTES: Final = frozenset('"“”«»„')

_KIN_OF: Final = {word: relation for relation, words in KIN.items() for word in words}
_KIN_WORD: Final = "|".join(sorted(_KIN_OF, key=lambda word: (-len(word), word)))
_OWN_KIN: Final = re.compile(rf"(?:['’]s?|,? and (?:his|her)) (?:[\w-]+ ){{0,2}}?({_KIN_WORD}),? ?")
_KIN_TO: Final = re.compile(
    rf",? (?:(?:was|is|the|a|an|his|her|only|\w+est|\w+er) ){{0,3}}({_KIN_WORD}) (?:of|to) (?:the )?"
)
_PRONOUNS_KIN: Final = re.compile(rf"(?:[\w', ]* )(his|her|whose) (?:[\w-]+ ){{0,2}}?({_KIN_WORD}) ")
"""Words that end with a pronoun's kin: Bruno loved his sister Rosa."""
_PRONOUN_GENDER: Final = {"his": MALE, "her": FEMALE}
_KIN_CONFIDENCE: Final = 0.9
_PRONOUNS_KIN_CONFIDENCE: Final = 0.6
"""A pronoun may mean somebody other than the name before it."""
_MY_KIN: Final = re.compile(rf"\bmy (?:[\w-]+ ){{0,2}}?({_KIN_WORD}),? $", re.IGNORECASE)
"""Words in a speech that end with the speaker's kin: my brother Tom."""
_MY_KIN_CONFIDENCE: Final = 0.8
_CLAUSE_BEFORE: Final = 45
_CLAUSE_AFTER: Final = 25
"""Characters before and behind two names that are read for a doubt: about a clause."""
_DOUBT: Final = re.compile(
    r"\b(?:if|unless|whether|suppos\w+|imagin\w+|fanc(?:y|ied)|would|might|could|should|may|perhaps|not|never|nor"
    r"|wish\w*|hop(?:e|ed|es|ing)|want\w*|going to|about to|offered|propos\w+|pretend\w*|rumou?r\w*)\b"
    r"|as though\b|as if\b|n['’]t\b|\?",
    re.IGNORECASE,
)
"""Words of a supposition, a negation or a question, by which nothing is stated."""
_CLAUSE_END: Final = re.compile(r"[.!;:\n\"“”]")
_ANOTHERS_KIN: Final = re.compile(
    rf"\b(?:his|her|their|my|your) (?:[\w-]+ ){{0,2}}?(?:{_KIN_WORD}|[\w-]+-in-law),? $"
)
"""Words before a name that make it somebody's kin, so that `and her` behind it means that somebody."""
_UNMARRIED: Final = frozenset({"miss", "mlle", "mademoiselle", "fräulein", "fraulein", "señorita", "signorina"})


class _Statement(Struct, frozen=True):
    """A relation, whether it leads from the first name to the second, and how sure it is."""

    type: str
    is_forward: bool
    confidence: float


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

_NOTE_FIELDS: Final[Mapping[str, tuple[str, bool]]] = {
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
"""Fields of notes with the relation they state, and whether it leads from the entity they name to the note."""


class _Evidence(Struct):
    """The strength, confidence and passages of one relation so far."""

    strength: float = 0.0
    confidence: float = 0.0
    passages: list[tuple[float, Passage]] = field(default_factory=list)

    def add(self, strength: float, confidence: float, passage: Passage) -> None:
        self.strength += strength
        self.confidence = max(self.confidence, confidence)
        self.passages.append((strength, passage))

    def strongest(self) -> tuple[Passage, ...]:
        """Return the strongest passages, in the order of the book."""
        ranked = sorted(self.passages, key=lambda each: (-each[0], each[1].prose, each[1].start))[:_MAX_EVIDENCE]
        return tuple(sorted((passage for _, passage in ranked), key=lambda each: (each.prose, each.start)))


EntityMention = tuple[Mention, int]
"""A mention and the index of the entity it means."""
Pairs = dict[tuple[int, int], _Evidence]
TypedPairs = dict[tuple[str, int, int], _Evidence]


def relate(proses: Sequence[Prose], entities: Sequence[Entity]) -> tuple[Tie, ...]:
    """Return every tie between the entities, by type and by the indexes of the two in the list."""
    by_prose: dict[int, list[EntityMention]] = {}
    for index, entity in enumerate(entities):
        for mention in entity.mentions:
            by_prose.setdefault(mention.prose, []).append((mention, index))
    together: Pairs = {}
    directed: TypedPairs = {}
    # Once for each entity and not for each pair: `his` and `her` are checked against it.
    genders = [_infer_gender(entity) for entity in entities]
    for number in sorted(by_prose):
        mentions = sorted(by_prose[number], key=lambda found: (found[0].start, -found[0].end, found[1]))
        text = proses[number].text
        _add_meetings(mentions, together)
        _add_talks(text, [found for found in mentions if entities[found[1]].kind == "character"], directed)
        _add_statements(text, mentions, entities, genders, directed)
        _add_own_words(number, text, mentions, entities, directed)
    ties = [*_keep_closest(together), *(_make_tie(*key, evidence) for key, evidence in directed.items())]
    return tuple(sorted(ties, key=lambda tie: (tie.type, tie.source, tie.target)))


def _make_tie(kind: str, source: int, target: int, evidence: _Evidence) -> Tie:
    weight = round(evidence.strength / (evidence.strength + _HALF_WEIGHT_STATED), 6)
    return Tie(source, target, kind, weight, round(evidence.confidence, 3), evidence.strongest())


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
            together.setdefault(pair, _Evidence()).add(1.0 / (1 + apart), 1.0, passage)


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
            evidence = directed.setdefault(("speaks_with", first, second), _Evidence())
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


def _infer_gender(entity: Entity) -> str:
    """Return the gender of an entity, by titles and names or by the pronouns that follow."""
    tallies: dict[Form, Tally] = {}
    for mention in entity.mentions:
        tallies.setdefault(mention.form, Tally()).add(mention)
    return infer_gender(list(tallies), tallies)


def _add_statements(
    text: str,
    mentions: Sequence[EntityMention],
    entities: Sequence[Entity],
    genders: Sequence[str],
    directed: TypedPairs,
) -> None:
    """Count the relations that the words between two neighbouring names state."""
    for (left, first), (right, second) in pairwise(mentions):
        is_near = 0 <= right.start - left.end <= _MAX_CHARACTERS_BETWEEN and left.sentence == right.sentence
        if first == second or not is_near or not _is_stated(text, left, right):
            continue
        between = text[left.end : right.start].lower().replace("\n", " ")
        kinds = (entities[first].kind, entities[second].kind)
        for statement in _read_statements(left, between, right, kinds, genders[first]):
            source, target = (first, second) if statement.is_forward else (second, first)
            # One edge for both directions, whichever of the two the book names first.
            if statement.type in _SYMMETRIC:
                source, target = sorted((first, second))
            passage = Passage(left.prose, left.start, right.end)
            evidence = directed.setdefault((statement.type, source, target), _Evidence())
            evidence.add(1.0, statement.confidence, passage)


def _is_stated(text: str, left: Mention, right: Mention) -> bool:
    """Return whether the words around two names state something: no supposition, question or negation.

    Nor does a possessive: the husband of Ellen's cousin is not Ellen's.
    """
    before = _CLAUSE_END.split(text[max(0, left.start - _CLAUSE_BEFORE) : left.start])[-1]
    after = _CLAUSE_END.split(text[right.end : right.end + _CLAUSE_AFTER])[0]
    clause = f"{before}{text[left.end : right.start]}{after}"
    is_couple = left.end - left.start == len(left.title)
    if right.is_possessive and not is_couple:
        return False
    is_anothers = _ANOTHERS_KIN.search(" ".join(before.split()) + " ") and " and h" in text[left.end : right.start]
    return not is_anothers and (is_couple or _DOUBT.search(clause) is None)


def _add_own_words(
    number: int, text: str, mentions: Sequence[EntityMention], entities: Sequence[Entity], directed: TypedPairs
) -> None:
    """Count the kin that speakers name as theirs: "My brother Tom," said Ann."""
    index_of = {mention.start: index for mention, index in mentions}
    for speech in read_speeches(number, text, [mention for mention, _ in mentions]):
        speaker = index_of[speech.speaker.start] if speech.speaker is not None else None
        if speaker is None or entities[speaker].kind != "character":
            continue
        for mention, other in mentions:
            if not speech.start <= mention.start < speech.end or other == speaker or mention.is_possessive:
                continue
            before = (
                " ".join(text[max(speech.start, mention.start - _CLAUSE_BEFORE) : mention.start].split()) + " "
            )
            match = _MY_KIN.search(before)
            if match is None or entities[other].kind != "character" or _DOUBT.search(before):
                continue
            relation = _KIN_OF[match.group(1).lower()]
            source, target = (speaker, other) if relation == "child" else (other, speaker)
            relation = "parent" if relation == "child" else relation
            if relation in _SYMMETRIC:
                source, target = sorted((source, target))
            evidence = directed.setdefault((relation, source, target), _Evidence())
            evidence.add(
                1.0, _MY_KIN_CONFIDENCE, Passage(number, text.lower().rfind("my", 0, mention.start), mention.end)
            )


def _read_statements(
    left: Mention, between: str, right: Mention, kinds: tuple[str, str], gender: str
) -> Iterator[_Statement]:
    """Yield the relations that the words between two names of these kinds state; `gender` is the first one's."""
    if kinds == ("character", "character"):
        yield from _read_kinship(left, between, right, gender)
    for pattern in _PATTERNS:
        fits = kinds[0] in pattern.source_kinds and kinds[1] in pattern.target_kinds
        if fits and pattern.between.fullmatch(between):
            yield _Statement(pattern.type, True, pattern.confidence)
            return


def _read_kinship(left: Mention, between: str, right: Mention, gender: str) -> Iterator[_Statement]:
    """Yield the kinship that the words between two characters state."""
    if left.end - left.start == len(left.title) and right.title not in _UNMARRIED:
        # The first of `Mr. and Mrs. Bennet` is a bare title, whose name stands with the second.
        yield _Statement("spouse", True, _KIN_CONFIDENCE)
    confidence = _KIN_CONFIDENCE
    if match := _OWN_KIN.fullmatch(between):
        relation, is_forward = _KIN_OF[match.group(1)], False
    elif match := _KIN_TO.fullmatch(between):
        relation, is_forward = _KIN_OF[match.group(1)], True
    elif (match := _PRONOUNS_KIN.fullmatch(between)) and _PRONOUN_GENDER.get(match.group(1), gender) == gender:
        relation, is_forward, confidence = _KIN_OF[match.group(2)], False, _PRONOUNS_KIN_CONFIDENCE
    else:
        return
    # There is no tie of this type: a child's is that of the parent, the other way round.
    if relation == "child":
        relation, is_forward = "parent", not is_forward
    yield _Statement(relation, is_forward, confidence)


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
