"""Read the words of kinship, marriage, service and friendship in prose, as votes for ties between two people.

Some words state a tie by themselves (`Ann, the sister of Bram`). Most only speak for one: `her sister Rosa` leaves
open who she is, `mamma` in a speech who listens, and `her father` beside two names whether it is either of them.
All of these are counted as votes, and `families` decides which of them are enough.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from weft.story.dialogue import split_paragraphs
from weft.story.model import Mention, Passage
from weft.story.speakers import Turn, read_turns
from weft.story.vocabulary import FEMALE, FOREIGN_KIN, KIN, KIN_GENDER, MALE

TIE_OF: Final = {word: relation for relation, words in KIN.items() for word in words}


def any_of(words: Iterable[str]) -> str:
    """Return words as alternatives of a pattern, the longest first."""
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


_WORDS: Final = any_of(TIE_OF)
_GAP: Final = r"(?:(?!['’])[\w-]+\s+){0,2}?"
"""Up to two adjectives: her dear little sister."""
_OWN: Final = re.compile(rf"['’]s?\s+{_GAP}({_WORDS}),?\s+")
_QUOTED_END: Final = re.compile(r"\s*[,.!?]?[\"”’']")
_CLOSED: Final = re.compile(r"\s*[,.;:!?)—]|--")
"""Behind a name that a comma parts from its kin, another mark: Nanny's cousin, Sir Thomas, came."""
_AND_KIN: Final = re.compile(rf",?\s+(?:and|with)\s+(his|her)\s+{_GAP}({_WORDS}),?\s+")
_KIN_TO: Final = re.compile(
    rf",?\s+(?:(?:was|is|the|a|an|his|her|only|\w+est|\w+er)\s+){{0,3}}({_WORDS})\s+(?:of|to)\s+(?:the\s+)?"
)
OF_OWN: Final = re.compile(
    rf"['’]s?\s+(?:[\w-]+\s+)?({_WORDS})(?=\s*[,.;:!?—)]|--|\s+(?:and|who|was|is|had|in|at|to|from)\b)"
)
"""Kin behind a name that another name precedes: Ann, Bram's sister."""
_BEFORE_OWN: Final = re.compile(r",\s+|\s+(?:was|is)\s+")
_BEFORE_NAME: Final = re.compile(rf"\b(his|her|my|your|our|whose)\s+{_GAP}({_WORDS}),?\s+$", re.IGNORECASE)
_BEHIND_NAME: Final = re.compile(rf",\s+(his|her|my|your)\s+{_GAP}({_WORDS})(?=\s*[,.;:!?—)]|--)", re.IGNORECASE)
_WAS_KIN: Final = re.compile(
    rf"\s+(?:was|is)\s+(his|her|my|our|your)\s+{_GAP}({_WORDS})(?=\s*[,.;!?—)]|--|\s+and\b)", re.IGNORECASE
)
_MARRIED: Final = re.compile(
    r",?\s+(?:had\s+|was\s+|is\s+|has\s+|got\s+)?(?:\w+ly\s+)?(?:married|wedded|wed|marries)\s+(?:to\s+)?"
    r"|\s+(?:had\s+)?(?:became|become)\s+the\s+(?:wife|husband)\s+of\s+|['’]s?\s+(?:marriage|wedding)\s+(?:to|with)\s+"
)
_WEDDING: Final = re.compile(r"\b(?:marriage|wedding)\s+of\s+(?:the\s+)?$", re.IGNORECASE)
_TOGETHER: Final = re.compile(r"\s+(?:and|to|with)\s+")
_WERE_MARRIED: Final = re.compile(
    r"\s+(?:(?:were|got|had\s+been)\s+(?:\w+ly\s+)?(?:married|wed|made\s+man\s+and\s+wife|united\s+in\s+marriage)"
    r"|were\s+(?:now\s+)?(?:man|husband)\s+and\s+wife|became\s+(?:man|husband)\s+and\s+wife)\b"
)
ENGAGED: Final = re.compile(
    r",?\s+(?:had\s+been\s+|was\s+|is\s+|being\s+)?(?:now\s+)?(?:engaged|betrothed)\s+(?:to\s+be\s+married\s+)?to\s+"
    r"|['’]s?\s+engagement\s+(?:to|with)\s+"
)
_SHE_MARRIED: Final = re.compile(
    r"\b(he|she|i)\s+(?:had\s+|have\s+|has\s+|was\s+|is\s+|am\s+)?(?:now\s+|been\s+)?(?:\w+ly\s+)?"
    r"(?:(married|wedded)(?:\s+to)?|(engaged|betrothed)(?:\s+to\s+be\s+married)?\s+to|(accepted))\s+$",
    re.IGNORECASE,
)
"""A marriage or an engagement of whoever the pronoun means: she had married Mr. Vale."""
_POSSESSIVE: Final = {"he": "his", "she": "her", "i": "my"}
_FOREIGN: Final = any_of(FOREIGN_KIN)
_FOREIGN_TO: Final = re.compile(
    rf",?\s+(?:(?:était|est|fut|war|ist|era|es|fue|è|fu|был|была)\s+)?(?:(?:le|la|der|die|das|el|il|lo|un|une|ein|eine)\s+"
    rf"|l['’])?({_FOREIGN})(?:\s+(?:de|del|von|vom|di|du|della|dello|des)\s+|\s+d['’]|(?<=[а-яё])\s+)"
    r"(?:(?:la|le|el|don|doña|signor|signora|herrn|frau|monsieur|madame)\s+)?"
)
_FOREIGN_OWN: Final = re.compile(
    rf"\b(sa|son|seine[rnm]?|sein|ihre[rnm]?|ihr|su|sua|suo|своей|своего|своим|своему|его|её)\s+({_FOREIGN}),?\s+$",
    re.IGNORECASE,
)
_HIS_WIFE: Final = re.compile(r"\bsein(?:e|er)\s+$", re.IGNORECASE)
_FOREIGN_GENDER: Final = {"sein": MALE, "ihr": FEMALE, "его": MALE, "её": FEMALE}
_PRONOUN_GENDER: Final = {"his": MALE, "her": FEMALE}
_UNMARRIED: Final = frozenset({"miss", "mlle", "mademoiselle", "fräulein", "fraulein", "señorita", "signorina"})
_FAMILY_TITLES: Final = frozenset({"aunt", "uncle", "cousin"})
_OWNED: Final = re.compile(r"(?:\b(?:your|his|her|their)|['’]s)\s+$", re.IGNORECASE)
"""Words before Aunt Rosa that make her somebody else's than the speaker's aunt."""

_CLAUSE_BEFORE: Final = 45
_CLAUSE_AFTER: Final = 25
"""Characters before and behind two names that are read for a doubt: about a clause."""
DOUBT: Final = re.compile(
    r"\b(?:if|unless|whether|suppos\w+|imagin\w+|fanc(?:y|ied)|would|might|could|should|(?-i:may)|perhaps|not|never|nor"
    r"|wish\w*|hop(?:e|ed|es|ing)|want\w*|going to|about to|offered|propos\w+|pretend\w*|rumou?r\w*|like)\b"
    r"|as though\b|as if\b|n['’]t\b|\?",
    re.IGNORECASE,
)
"""Words of a supposition, a negation or a question, by which nothing is stated."""
_CLAUSE_END: Final = re.compile(r"[.!;:\"“”]|\n\s*\n")
_CLAUSE_BREAK: Final = re.compile(r"[.!?;:—\"“”]|--|,\s+(?:but|and|for|while|when|as|so)\b")
_ANOTHERS_KIN: Final = re.compile(rf"\b(?:his|her|their|my|your)\s+{_GAP}(?:{_WORDS}|[\w-]+-in-law),?\s*$")
"""Words before a name that make it somebody's kin, so that `and her` behind it means that somebody."""
_MAX_BETWEEN: Final = 60
"""Characters between two names of one statement."""
NEAR: Final = 250
"""Characters within which a name may be the one that an unnamed relative bears: about three lines."""
_PHRASE_BEFORE: Final = 60

STATED: Final = 2.0
"""The weight of a statement; all other signs weigh less, by how often each was right in novels."""
SUBJECT: Final = 1.1
_ANTECEDENT: Final = 0.6
_EITHER: Final = 0.3
_OWN_WORDS: Final = 1.2
_OWN_WORDS_BY_TURN: Final = 0.5
_FRIENDLY: Final = 0.6
"""The factor for a friend whom somebody claims, often in jest."""
_TITLE_SHARE: Final = 0.6
_YOUR_WORDS: Final = 0.5


class Sign(Enum):
    """The ground on which a vote rests."""

    WORDS = "words"
    """Words beside a name, or said to somebody."""
    GUESS = "guess"
    """Standing near an unnamed relative, as others may too; counts by how much it exceeds chance."""
    COUPLE = "couple"
    """Mr. and Mrs. before one name, which leaves open which Mr. of that name is meant."""
    NAME = "name"
    """A surname or title alone."""


class Vote(Struct, frozen=True):
    """A sign for a tie between two people: `source` is the parent of `target`, or serves `target`."""

    type: str
    source: int
    target: int
    weight: float
    passage: Passage
    sign: Sign = Sign.WORDS


Named = tuple[Mention, int]
"""A character's name and the index of the entity it means."""


class Scene(Struct):
    """One text with the names of its characters in order, its turns and its paragraphs."""

    number: int
    text: str
    named: Sequence[Named]
    genders: Sequence[str]
    turns: Sequence[Turn]
    paragraphs: Sequence[tuple[int, int]]
    quotations: Sequence[tuple[int, int, int]]

    def turn_at(self, offset: int) -> Turn | None:
        """Return the turn in whose quotation a place lies."""
        index = bisect_right(self.quotations, (offset, len(self.text) + 1, 0)) - 1
        if index < 0 or offset >= self.quotations[index][1]:
            return None
        return self.turns[self.quotations[index][2]]


def read_scene(number: int, text: str, named: Sequence[Named], genders: Sequence[str]) -> Scene:
    """Return a text prepared for reading."""
    turns = read_turns(number, text, named, genders)
    quotations = sorted((*span, index) for index, turn in enumerate(turns) for span in turn.quotations)
    return Scene(number, text, named, genders, turns, list(split_paragraphs(text)), quotations)


def read_votes(scene: Scene) -> Iterator[Vote]:
    """Yield every sign of a tie beside a name in one text."""
    yield from _read_pairs(scene)
    for mention, entity in scene.named:
        yield from _read_appositions(scene, mention, entity)


def vote_for(
    scene: Scene, word: str, pair: tuple[int, int], weight: float, span: tuple[int, int], sign: Sign = Sign.WORDS
) -> Iterator[Vote]:
    """Yield the vote that the second of a pair is by this word the first one's kin, unless the sex is wrong."""
    owner, kin = pair
    wanted, gender = KIN_GENDER.get(word.lower(), ""), scene.genders[kin]
    if owner == kin or (wanted and gender and wanted != gender):
        return
    plain = word.lower().replace("auntie", "aunt")
    relation = TIE_OF.get(plain) or FOREIGN_KIN[plain]
    passage = _cover(scene, span, pair)
    if relation == "child":
        yield Vote("parent", owner, kin, weight, passage, sign)
    elif relation == "parent":
        yield Vote("parent", kin, owner, weight, passage, sign)
    elif relation == "servant":
        yield Vote("serves", kin, owner, weight, passage)
    else:
        yield Vote(relation, min(pair), max(pair), weight, passage, sign)


def _cover(scene: Scene, span: tuple[int, int], pair: tuple[int, int]) -> Passage:
    """Return the passage from a sign to the nearest names of its two people, if they are near."""
    start, end = span
    near = names_within(scene, start - NEAR, end + NEAR)
    for entity in pair:
        own = [mention for mention, other in near if other == entity]
        nearest = min(own, key=lambda mention: max(span[0] - mention.end, mention.start - span[1]), default=None)
        if nearest is not None:
            start, end = min(start, nearest.start), max(end, nearest.end)
    return Passage(scene.number, start, end)


# --- stated between two names ----------------------------------------------------------------------------


def _read_pairs(scene: Scene) -> Iterator[Vote]:
    """Yield what the words between two neighbouring names state."""
    for (left, first), (right, second) in zip(scene.named, scene.named[1:], strict=False):
        if first == second or not 0 <= right.start - left.end <= _MAX_BETWEEN or left.sentence != right.sentence:
            continue
        between = " ".join(scene.text[left.end : right.start].lower().split("\n"))
        is_couple = left.end - left.start == len(left.title)
        if is_couple and right.title not in _UNMARRIED:
            # The first of `Mr. and Mrs. Bennet` is a bare title, whose name stands with the second.
            passage = Passage(scene.number, left.start, right.end)
            yield Vote("spouse", min(first, second), max(first, second), STATED, passage, Sign.COUPLE)
        if is_stated(scene.text, left, right):
            yield from _read_between(scene, left, first, between, right, second)


def _make(kind: str, first: int, second: int, passage: Passage) -> Vote:
    return Vote(kind, min(first, second), max(first, second), STATED, passage)


def _read_between(
    scene: Scene, left: Mention, first: int, between: str, right: Mention, second: int
) -> Iterator[Vote]:
    span = (left.start, right.end)
    behind = OF_OWN.match(scene.text, right.end)
    if behind and _BEFORE_OWN.fullmatch(between):
        yield from vote_for(scene, behind.group(1), (second, first), STATED, (left.start, behind.end()))
    elif right.is_possessive:
        # The husband of Ellen's cousin is not Ellen's.
        return
    elif (match := _OWN.fullmatch(between)) and ("," not in between or _CLOSED.match(scene.text, right.end)):
        yield from vote_for(scene, match.group(1), (first, second), STATED, span)
    elif match := _AND_KIN.fullmatch(between):
        is_anothers = _ANOTHERS_KIN.search(scene.text[max(0, left.start - _PHRASE_BEFORE) : left.start])
        if scene.genders[first] == _PRONOUN_GENDER[match.group(1)] and not is_anothers:
            yield from vote_for(scene, match.group(2), (first, second), STATED, span)
    elif (match := _KIN_TO.fullmatch(between)) or (match := _FOREIGN_TO.fullmatch(between)):
        yield from vote_for(scene, match.group(1), (second, first), STATED, span)
    elif is_marriage(scene.text, left, right):
        yield _make("spouse", first, second, Passage(scene.number, *span))
    elif ENGAGED.fullmatch(between):
        yield _make("betrothed", first, second, Passage(scene.number, *span))


def is_marriage(text: str, left: Mention, right: Mention) -> bool:
    """Return whether the words around two names tell of their marriage."""
    between = text[left.end : right.start]
    if _MARRIED.fullmatch(between):
        return True
    before = text[max(0, left.start - _PHRASE_BEFORE) : left.start]
    is_wedding = _WEDDING.search(before) is not None or _WERE_MARRIED.match(text, right.end) is not None
    return _TOGETHER.fullmatch(between) is not None and is_wedding


def is_stated(text: str, left: Mention, right: Mention) -> bool:
    """Return whether the words around two names state something: no supposition, question or negation."""
    before = _CLAUSE_END.split(text[max(0, left.start - _CLAUSE_BEFORE) : left.start])[-1]
    after = _CLAUSE_END.split(text[right.end : right.end + _CLAUSE_AFTER])[0]
    return DOUBT.search(f"{before}{text[left.end : right.start]}{after}") is None


# --- beside one name -------------------------------------------------------------------------------------


def _read_appositions(scene: Scene, mention: Mention, kin: int) -> Iterator[Vote]:
    """Yield whose kin a name is by the words beside it: her sister Rosa; Rosa, my cousin; Aunt Rosa."""
    text = scene.text
    opening = max(0, mention.start - _PHRASE_BEFORE)
    turn = scene.turn_at(mention.start)
    is_own = mention.title in _FAMILY_TITLES and not _OWNED.search(text, opening, mention.start)
    if turn is not None and is_own and turn.speaker is not None:
        # A mother also says `Aunt Emma` of her sister, for her children.
        weight = _weigh_speaker(turn) * _TITLE_SHARE
        yield from vote_for(scene, mention.title, (turn.speaker, kin), weight, (mention.start, mention.end))
    yield from _read_foreign(scene, mention, kin)
    yield from _read_marriage(scene, mention, kin)
    match = _BEFORE_NAME.search(text, opening, mention.start)
    if match is not None and match.group(1).lower() == "our" and TIE_OF[match.group(2).lower()] == "friend":
        return
    start, end = (match.start(), mention.end) if match else (mention.start, mention.end)
    if match is None and not mention.is_possessive:
        match = _BEHIND_NAME.match(text, mention.end)
        if match is None and is_stated(text, mention, mention):
            match = _WAS_KIN.match(text, mention.end)
        end = match.end() if match else end
    if match is None:
        return
    if match.end() == mention.start and "," in match.group() and not _is_apposition(text, mention):
        return
    owners, weight = find_owners(scene, start, match.group(1).lower(), kin)
    if turn is not None and TIE_OF[match.group(2).lower()] == "friend":
        weight *= _FRIENDLY
    for owner in owners:
        yield from vote_for(scene, match.group(2), (owner, kin), weight, (start, end))


def _read_marriage(scene: Scene, mention: Mention, kin: int) -> Iterator[Vote]:
    """Yield whom somebody called by a pronoun is said to have married, or to be engaged to."""
    match = _SHE_MARRIED.search(scene.text, max(0, mention.start - _PHRASE_BEFORE), mention.start)
    if match is None or mention.is_possessive or not is_stated(scene.text, mention, mention):
        return
    kind = "spouse" if match.group(2) else "betrothed"
    owners, weight = find_owners(scene, match.start(), _POSSESSIVE[match.group(1).lower()], kin)
    for owner in owners:
        if not scene.genders[owner] == scene.genders[kin] != "":
            passage = _cover(scene, (match.start(), mention.end), (owner, kin))
            yield Vote(kind, min(owner, kin), max(owner, kin), weight, passage)


def _read_foreign(scene: Scene, mention: Mention, kin: int) -> Iterator[Vote]:
    """Yield whose kin a name is by a possessive of another language: sa femme Claire, seine Frau Greta."""
    opening = max(0, mention.start - _PHRASE_BEFORE)
    match = _FOREIGN_OWN.search(scene.text, opening, mention.start)
    # `Frau` is a title as well as a wife.
    is_wife = mention.title == "frau" and _HIS_WIFE.search(scene.text, opening, mention.start) is not None
    if match is None and not is_wife:
        return
    pronoun, word = (match.group(1).lower(), match.group(2)) if match else ("sein", "frau")
    gender = next((each for start, each in _FOREIGN_GENDER.items() if pronoun.startswith(start)), "")
    start = match.start() if match else mention.start
    index = bisect_right(scene.paragraphs, (start, len(scene.text) + 1)) - 1
    relation = FOREIGN_KIN[word.lower()]
    named = [
        (each, entity)
        for each, entity in names_within(scene, scene.paragraphs[index][0], start)
        if entity != kin
        and (not gender or scene.genders[entity] in (gender, ""))
        and not (relation == "spouse" and scene.genders[entity] == scene.genders[kin] != "")
    ]
    if named:
        # The first of the last sentence with a name is mostly its subject.
        last = named[-1][0].sentence
        owner = next(entity for each, entity in named if each.sentence == last)
        yield from vote_for(scene, word, (owner, kin), SUBJECT, (start, mention.end))


def _is_apposition(text: str, mention: Mention) -> bool:
    """Return whether a name behind a comma is the one that the words before it mean.

    In `his son, Emma and the dog` it is the next of a list; in `do not heed my friend, Ann!"` she is spoken to.
    """
    return _CLOSED.match(text, mention.end) is not None and not _QUOTED_END.match(text, mention.end)


def find_owners(scene: Scene, offset: int, pronoun: str, kin: int) -> tuple[list[int], float]:
    """Return who `his`, `her`, `my` or `your` may mean at a place, and how much a vote for each weighs."""
    turn = scene.turn_at(offset)
    if pronoun in ("my", "our", "your"):
        owner = None if turn is None else (turn.listener if pronoun == "your" else turn.speaker)
        if turn is None or owner is None or owner == kin:
            return [], 0.0
        return [owner], _YOUR_WORDS if pronoun == "your" else _weigh_speaker(turn)
    if pronoun == "whose":
        before = names_within(scene, offset - _PHRASE_BEFORE, offset)
        is_next = bool(before) and not _CLAUSE_BREAK.search(scene.text, before[-1][0].end, offset)
        return ([before[-1][1]], SUBJECT) if is_next else ([], 0.0)
    gender = _PRONOUN_GENDER[pronoun]
    if turn is not None:
        quoted = next(start for start, end in turn.quotations if start <= offset < end)
        return _choose_owners(scene, names_within(scene, quoted, offset), offset, gender, kin, is_narrated=False)
    index = bisect_right(scene.paragraphs, (offset, len(scene.text) + 1)) - 1
    start = scene.paragraphs[index][0]
    owners, weight = _choose_owners(scene, names_within(scene, start, offset), offset, gender, kin)
    if owners or index == 0:
        return owners, weight
    earlier = names_within(scene, scene.paragraphs[index - 1][0], start)
    owners, weight = _choose_owners(scene, earlier, offset, gender, kin)
    return owners, min(weight, _EITHER)


def _weigh_speaker(turn: Turn) -> float:
    """Return what the words of a speaker weigh: much if the narrator names the speaker."""
    return _OWN_WORDS if turn.confidence == 1.0 else _OWN_WORDS_BY_TURN


def _choose_owners(
    scene: Scene, names: Sequence[Named], offset: int, gender: str, kin: int, *, is_narrated: bool = True
) -> tuple[list[int], float]:
    """Return those of some names that a pronoun may mean: the last of its gender, or two of one sentence."""
    named = [
        (mention, entity)
        for mention, entity in names
        if scene.genders[entity] == gender
        and entity != kin
        and not (is_narrated and scene.turn_at(mention.start) is not None)
    ]
    if not named:
        return [], 0.0
    last = named[-1][0]
    together = list(dict.fromkeys(entity for mention, entity in named if mention.sentence == last.sentence))
    if len(together) > 1:
        return [together[0], together[-1]], _EITHER
    is_alone = len({entity for _, entity in named}) == 1
    # `Hart bowed; but his friend Lane` may speak of another man's friend, `Hart loved his sister Rosa` hardly.
    is_subject = not last.is_possessive and _CLAUSE_BREAK.search(scene.text, last.end, offset) is None
    return together, SUBJECT if is_alone and is_subject else _ANTECEDENT


def names_within(scene: Scene, start: int, end: int) -> Sequence[Named]:
    first = bisect_left(scene.named, start, key=lambda each: each[0].start)
    return scene.named[first : bisect_left(scene.named, end, key=lambda each: each[0].start)]
