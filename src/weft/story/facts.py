"""Read what happens to the people of a story: who dies, is killed, marries, is born, goes where and learns what.

A fact is a plain statement with a name, outside suppositions, questions and negations. What somebody says in
dialogue is hearsay: it is listed, and nothing is concluded from it.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.story.definitions import sentence_spans
from weft.story.kinship import (
    DOUBT,
    ENGAGED,
    SUBJECT,
    Named,
    Scene,
    find_owners,
    is_marriage,
    is_stated,
    read_scene,
)
from weft.story.model import Mention, Passage, Prose, Story
from weft.story.relations import gender_of, widen

_REACH: Final = 80
"""Characters behind a name that are read for what happens to it."""
_BEFORE: Final = 60
_MAX_BETWEEN: Final = 60
_DEATH: Final = re.compile(
    r"(?:,?\s+who)?(?:\s+(?:had|has|have))?\s+(?:(?:just|already|suddenly|quietly|peacefully|since|long)\s+)?"
    r"(?:died\b(?!\s+(?:away|down|out|on\b|to\b|of\s+(?:laughter|laughing|shame|boredom)))|passed\s+away\b"
    r"|breathed\s+(?:his|her)\s+last\b|gave\s+up\s+the\s+ghost\b|departed\s+this\s+life\b|expired\b|perished\b"
    r"|(?:fell|dropped)\s+dead\b|lost\s+(?:his|her)\s+life\b|committed\s+suicide\b|took\s+(?:his|her)\s+own\s+life\b"
    r"|(?:killed|drowned|hanged|shot|poisoned)\s+(?:himself|herself)\b|(?:was|were|had\s+been|got)\s+drowned\b"
    r"|(?:was|is|lay)\s+(?:(?:now|quite|already|stone)\s+)?dead\b(?!\s+(?:tired|certain|set|asleep|drunk|white|against|in\b|to\b))"
    r"|(?:was|were|had\s+been|has\s+been|been)\s+found\s+(?:dead|murdered|drowned|hanged)\b"
    r"|(?:was|were|had\s+been|has\s+been|been)\s+(?:killed|murdered|slain|hanged|executed|buried|poisoned\s+to)\b)"
)
_END: Final = r"(?:death|murder|suicide|funeral|burial|corpse|dead\s+body|deathbed|death-bed)"
_DEATH_BEFORE: Final = re.compile(rf"\b{_END}\s+of\s+(?:(?:the|poor|old|late)\s+)*$", re.IGNORECASE)
_DEATH_OWN: Final = re.compile(
    rf"['’]s?\s+(?:sudden\s+|untimely\s+|early\s+)?{_END}\b(?!\s+(?:warrant|bed|blow))"
    r"|['’]s\s+dead\b(?=\s*[,.;!?\"”’]|\s+and\b)"
)
_BY_HAND: Final = r"(?:killed|murdered|shot|stabbed|poisoned|strangled|slew|slain)"
_KILLED: Final = re.compile(rf"\s+(?:had\s+|has\s+)?{_BY_HAND}\s+")
_KILLED_BY: Final = re.compile(rf"\s+(?:was|were|had\s+been|has\s+been)\s+{_BY_HAND}\s+by\s+")
_BIRTH: Final = re.compile(
    r"\s+(?:was|had\s+been)\s+born\b|\s+(?:came|had\s+come)\s+into\s+(?:the|this)\s+world\b"
)
_BIRTH_BEFORE: Final = re.compile(
    r"\b(?:birth\s+of|gave\s+birth\s+to|(?:was|been)\s+delivered\s+of)\s+(?:(?:the|little|a\s+son|her\s+son|his\s+son),?\s+)*$",
    re.IGNORECASE,
)
_FOUND_DEAD: Final = re.compile(r"\b(?:found|saw|discovered)\s+(?:(?:the|poor|old)\s+)*$", re.IGNORECASE)
_DEAD: Final = re.compile(r"\s+(?:(?:lying|stone|quite)\s+)*(?:dead|murdered|drowned|killed)\b")
_GOING: Final = re.compile(
    r"\s+(?:had\s+|has\s+)?(?:came|arrived|went|returned|moved|travelled|traveled|fled|sailed|set\s+out|set\s+off|left)"
    r"(?:\s+(?:back|home|again|down|up|over|out))?\s+(?:to|at|in|for|from|into)?\s*(?:the\s+)?"
)
_LEARNING: Final = re.compile(
    r"\s+(?:had\s+|has\s+)?(?:learned|learnt|knew|discovered|found\s+out|realised|realized|was\s+told|heard)\s+that\b"
)
_COLOUR: Final = r"(blue|grey|gray|green|brown|black|hazel|violet|amber)"
_OWN_EYES: Final = re.compile(rf"['’]s?\s+(?:[\w-]+,?\s+){{0,2}}?{_COLOUR}\s+eyes\b")
_HAD_EYES: Final = re.compile(rf"\s+(?:had|has|with)\s+(?:[\w-]+,?\s+){{0,3}}?{_COLOUR}\s+eyes\b")
_PRONOUNS_EYES: Final = re.compile(rf"\b(his|her)\s+(?:[\w-]+,?\s+){{0,2}}?{_COLOUR}\s+eyes\b")
_NEARLY: Final = re.compile(
    r"\b(?:nearly|almost|until|till|before|lest|fear\w*|when|had\s+better|ought|as\s+good\s+as|half|thought|believed|dreamed|dreamt)\b",
    re.IGNORECASE,
)
_CLAUSE_END: Final = re.compile(r"[.!;:\"“”]|\n\s*\n")


class Fact(Struct, frozen=True):
    """Something that a passage states of a person: `death`, `killing`, `marriage`, `engagement`, `birth`, `place`,
    `knowledge` or `eyes`; `other` is the second person or the place, by index."""

    kind: str
    entity: int
    passage: Passage
    other: int | None = None
    value: str = ""
    is_hearsay: bool = False


def read_facts(proses: Sequence[Prose], story: Story) -> list[Fact]:
    """Return the facts of a story in the order of the book, each with its sentence."""
    by_prose: dict[int, list[Named]] = {}
    for index, entity in enumerate(story.entities):
        for mention in entity.mentions:
            by_prose.setdefault(mention.prose, []).append((mention, index))
    genders = [gender_of(entity) for entity in story.entities]
    kinds = [entity.kind for entity in story.entities]
    spans = sentence_spans(proses)
    facts: list[Fact] = []
    for number in sorted(by_prose):
        named = sorted(by_prose[number], key=lambda each: (each[0].start, each[1]))
        people = [each for each in named if kinds[each[1]] == "character"]
        scene = read_scene(number, proses[number].text, people, genders)
        found = [*_read_single(scene), *_read_pairs(scene, named, kinds), *_read_eyes(scene)]
        found.sort(key=lambda fact: (fact.passage.start, fact.kind, fact.entity))
        facts.extend(replace(each, passage=widen(each.passage, spans(number))) for each in found)
    return facts


def _make(
    scene: Scene, kind: str, entity: int, span: tuple[int, int], other: int | None = None, value: str = ""
) -> Fact:
    is_hearsay = scene.turn_at(span[0]) is not None
    return Fact(kind, entity, Passage(scene.number, *span), other, value, is_hearsay)


# --- one name --------------------------------------------------------------------------------------------


def _read_single(scene: Scene) -> Iterator[Fact]:
    """Yield what the words beside one name state."""
    for mention, entity in scene.named:
        before = scene.text[max(0, mention.start - _BEFORE) : mention.start]
        behind = {
            "death": _DEATH_OWN if mention.is_possessive else _DEATH, "birth": _BIRTH, "knowledge": _LEARNING,
        }  # fmt: skip
        ahead = {"death": _DEATH_BEFORE, "birth": _BIRTH_BEFORE}
        for kind, pattern in behind.items():
            match = pattern.match(scene.text, mention.end, mention.end + _REACH)
            if match is None and kind == "death" and _FOUND_DEAD.search(before):
                match = _DEAD.match(scene.text, mention.end, mention.end + _REACH)
            # The death of Ann's father is not Ann's.
            if match is None and kind in ahead and not mention.is_possessive and ahead[kind].search(before):
                match = re.compile("").match(scene.text, mention.end)
            if match is not None and not _is_doubtful(scene.text, mention, match.end()):
                yield _make(scene, kind, entity, (mention.start, match.end()))


def _is_doubtful(text: str, mention: Mention, end: int) -> bool:
    """Return whether the clause around a statement doubts, denies, fears or postpones it."""
    before = _CLAUSE_END.split(text[max(0, mention.start - _BEFORE) : mention.start])[-1]
    rest = text[end : end + _BEFORE]
    sentence_end = re.search(r"[.!?;]", rest)
    asks = sentence_end is not None and sentence_end.group() == "?"
    clause = f"{before} {text[mention.end : end]}"
    return asks or DOUBT.search(clause) is not None or _NEARLY.search(clause) is not None


# --- two names -------------------------------------------------------------------------------------------


def _read_pairs(scene: Scene, named: Sequence[Named], kinds: Sequence[str]) -> Iterator[Fact]:
    """Yield what the words between two neighbouring names state."""
    for (left, first), (right, second) in pairwise(named):
        if first == second or not 0 <= right.start - left.end <= _MAX_BETWEEN or left.sentence != right.sentence:
            continue
        between = scene.text[left.end : right.start]
        span = (left.start, right.end)
        if kinds[first] != "character" or not is_stated(scene.text, left, right):
            continue
        if kinds[second] == "location" and _GOING.fullmatch(between):
            yield _make(scene, "place", first, span, second)
        if kinds[second] != "character" or right.is_possessive:
            continue
        if _KILLED.fullmatch(between):
            yield _make(scene, "killing", first, span, second)
        elif _KILLED_BY.fullmatch(between):
            yield _make(scene, "killing", second, span, first)
        elif ENGAGED.fullmatch(between):
            yield _make(scene, "engagement", first, span, second)
        elif is_marriage(scene.text, left, right):
            yield _make(scene, "marriage", first, span, second)


# --- looks -----------------------------------------------------------------------------------------------


def _read_eyes(scene: Scene) -> Iterator[Fact]:
    """Yield the colour of a person's eyes where it is stated."""
    for mention, entity in scene.named:
        pattern = _OWN_EYES if mention.is_possessive else _HAD_EYES
        if match := pattern.match(scene.text, mention.end, mention.end + _REACH):
            yield _make(scene, "eyes", entity, (mention.start, match.end()), value=_plain_colour(match.group(1)))
    for match in _PRONOUNS_EYES.finditer(scene.text):
        owners, weight = find_owners(scene, match.start(), match.group(1), -1)
        if len(owners) == 1 and weight >= SUBJECT and scene.turn_at(match.start()) is None:
            yield _make(scene, "eyes", owners[0], match.span(), value=_plain_colour(match.group(2)))


def _plain_colour(colour: str) -> str:
    return "grey" if colour == "gray" else colour
