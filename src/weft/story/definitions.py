"""Choose the passage that defines an entity: the sentences that say who or what it is, else describe it best.

A person is defined by a rank, an office, a profession or a kinship: in a statement (`Stubb was the second mate`),
an apposition (`Daggoo, a harpooner`) or before the name (`her cousin Edmund`).
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final

from msgspec import Struct

from weft.story.model import Mention, Passage, Prose
from weft.story.vocabulary import FEMALE, KIN, KIN_GENDER, MALE, ROLES, SPEECH
from weft.text.sentences import split_sentences

_MAX_MENTIONS_READ: Final = 600
"""Only so many mentions are compared: a hero has thousands, and is introduced before these are over."""
_SHORT_SENTENCE_CHARACTERS: Final = 60
_LONG_SENTENCE_CHARACTERS: Final = 500
"""Shorter sentences say little and longer ones much about others, so both lose worth."""
_MAX_DEFINITION_CHARACTERS: Final = 420
"""A definition goes on with the sentences behind the chosen one up to this length, about a paragraph."""
_BEYOND_TEXT: Final = 1 << 60
"""Larger than any offset, so that a bisection finds the last span that begins at or before a place."""
_INTRODUCTION_REACH: Final = 40
"""How many characters before a name are read for an introduction: the longest is about half of that."""
_ROLE_WEIGHT: Final = 3.5
_TIE_WEIGHT: Final = 2.0
_PERSON_WEIGHT: Final = 2.5
"""The worth of a rank, kinship or profession, of a friend or enemy, and of no more than `a young man`."""
_MINE: Final = frozenset({"my", "our"})
_SPEAKERS: Final = 1.0
"""My sister Ann says less: the sentence leaves open who speaks."""
_AGREED_WEIGHT: Final = 0.35
_MANY_USES: Final = 4
"""The worth of each further sentence that uses the same noun of a person, and how many of them count."""
_INTRODUCED: Final = 60
"""Behind so many mentions a noun that is used once is a figure of speech rather than an office."""
_ROLE_REACH: Final = 90
"""How many characters before a name are read for a role: as many as five words and a possessive have."""


# --- patterns --------------------------------------------------------------------------------------------


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


_PERSON_NOUNS: Final = (
    "man|woman|boy|girl|child|lady|gentleman|fellow|person|creatures?|youth|lad|lass|baby|native|stranger|giant"
)
_TIES: Final = KIN["friend"] | KIN["enemy"]
_ROLE: Final = (
    rf"(?:(?P<role>(?i:{_any_of((frozenset[str]().union(*KIN.values()) | ROLES) - _TIES)}|eldest|youngest))"
    rf"|(?P<tie>{_any_of(_TIES)})|(?P<person>{_PERSON_NOUNS}))\b"
    r"(?=\s*(?:[^\w\s'’-]|--|$)|\s+(?:of|to|who|whom|whose|that|which|in|at|from|with|without|by|on|about|for|and|but|or|was|is|had|"
    r"he|she|living|aged|as|when|then|now|here|there|under|over|before|after|between|among|upon|than|so|i|they|it|we|not|seven|all)\b)"
)
"""A noun that says who somebody is, not followed by another noun: the principal spokesman is no principal."""
_NOT_IN_PHRASE: Final = (
    "to|that|than|of|in|on|at|with|for|from|who|whose|which|when|where|and|or|but|by|as|so|it|he|she|they|not|no"
    "|two|three|four|five|several|all|both|these|those|was|were|is|had|did|if|like|only one|such|what|how"
)
_PHRASE: Final = rf"(?:(?!(?:{_NOT_IN_PHRASE})\b)[\w'’.-]+,?\s+){{0,5}}?{_ROLE}"
"""Up to five words and the noun that says who somebody is: queer, cautious girl; Mrs. Bates's youngest child."""
_DETERMINER: Final = (
    r"(?P<determiner>an?|the|one of (?:the|those|these|his|her)|his|her|my|our|their|your"
    r"|[A-Z][\w.]*(?:\s[A-Z]\w*)?['’]s?)\s+"
)
_CLOSED: Final = (
    r"(?=\s*[,.;:!?)—\"”]|--"
    r"|\s+(?:of|to|who|whom|whose|that|which|in|at|from|with|by|on|about|living|aged|he|she)\b)"
)
"""Behind an apposition comes a mark or what goes on with it; behind an item of a list comes `and`."""
_IS_ROLE: Final = re.compile(
    rf"(?:,\s+who)?,?\s+(?:was|is|had\s+been|has\s+been|became|being)\s+(?:\w+ly\s+)?{_DETERMINER}{_PHRASE}"
)
_BESIDE_ROLE: Final = re.compile(
    rf"(?:,|--|\s*—|\s+\()\s*(?:this\s+|(?=(?:son|daughter|wife|widow)\s+of\b)|{_DETERMINER}){_PHRASE}{_CLOSED}"
)
_BEFORE_ROLE: Final = re.compile(
    rf"\b{_DETERMINER}{_PHRASE}(?P<comma>,?)\s+(?:(?:young|old|poor|dear|named|called)\s+){{0,2}}$"
)
_NAME_CLOSED: Final = re.compile(r"\s*[,.;:!?)—]|--")
_PRONOUN_IS_ROLE: Final = re.compile(
    rf"\b(?P<pronoun>He|She)\s+(?:was|is|had\s+been|has\s+been)\s+(?:\w+ly\s+)?{_DETERMINER}{_PHRASE}"
)
"""In the sentences behind a name: Emma lived in Highbury. She was the youngest of two daughters."""
_DOUBT: Final = re.compile(
    r"\b(?:if|unless|whether|suppos\w+|imagin\w+|would|might|could|should|perhaps|not|never|nor|wish\w*|hop(?:e|ed|ing)"
    r"|like|as though|as if|than|thought|call\w*)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Words of a supposition, a comparison or a negation, by which nothing is said of anybody."""
_DESCRIPTION: Final = re.compile(
    r"\s(?:was|is|were|had been|became)\s(?:\w+ly\s)?(?:a|an|the|one of|only)\b"
    r"|,\sthe\b(?!\s(?:fact|rest|others)\b|\s\w+\s(?:was|were|is|are|had|did)\b)"
    r"|,\s(?:a|an|who (?:(?:was|is|were)(?! \w+ing\b)|lived|lives|ruled|kept)|whose|his|her|their|our)\b"
    r"|,\s(?:son|daughter|wife|husband|brother|sister|lord|lady|king|queen)\b"
    r"|,\s[a-z-]+,\s[a-z-]+,?\sand\s|\s\((?:a|an|the|his|her)\s"
)
_SITUATION: Final = re.compile(r"\s(?:lies|lay|stood|stands|is situated|was situated)\s")
_LIFE: Final = re.compile(r"\s(?:lived|lives|dwelt|ruled|rules|had been born|was born)\s")
_APPEARANCE: Final = re.compile(
    r"\b(?:tall|short|stout|thin|handsome|beautiful|pretty|plain|pale|dark|fair|eyes|hair|face|features|complexion"
    r"|figure|forehead|beard|nose|shoulders|countenance|temper|disposition|manners|years old|aged)\b"
)
_INTRODUCTION: Final = re.compile(
    r"(?:(?:named|known as|name was|name is|one|old|young|his wife|her husband|brother|sister|daughter|son|friend"
    r"|father|mother|aunt|uncle|cousin|captain|clerk|servant)[,:]?"
    rf"|(?:is|was|are|were|been|be|{_PERSON_NOUNS}|place|house|town|village|ship|inn),? called)\s(?:the\s)?$"
)
_PRONOUNS: Final = {"He": MALE, "She": FEMALE}
_NOUN_GENDER: Final = {
    **dict.fromkeys(("man", "boy", "gentleman", "fellow", "lad", "clergyman", "bachelor", "baronet"), MALE),
    **dict.fromkeys(("woman", "girl", "lady", "lass", "widow", "heroine", "heiress", "spinster"), FEMALE),
}
_OPENING_QUOTES: Final = "\"“‘'«"
_CLOSING_QUOTES: Final = '"”’»'

SpansByProse = Callable[[int], Sequence[tuple[int, int]]]
"""The number of a prose to the spans of its sentences."""


class _Said(Struct, frozen=True):
    """The statement of one sentence about a name: the noun for the person (or ""), and the worth of the rest."""

    score: float
    noun: str = ""
    is_role: bool = False


def define(
    mentions: Sequence[Mention], kind: str, proses: Sequence[Prose], spans: SpansByProse, gender: str = ""
) -> Passage:
    """Return the sentences that say who or what an entity is; early ones come first among equals."""
    read = mentions[:_MAX_MENTIONS_READ]
    said = []
    for mention in read:
        text, own = proses[mention.prose].text, spans(mention.prose)
        sentence = _sentence_around(mention, own)
        here = [_read_sentence(text, mention, sentence, kind, gender)]
        if kind == "character":
            here += _read_pronoun(text, mention, sentence, gender, own)
        said.append((max(here, key=lambda each: each.score), mention, sentence))
    uses = Counter(each.noun for each, _, _ in said if each.is_role)
    ranked = []
    for index, (each, mention, sentence) in enumerate(said):
        # Falls to half by the fourth mention: a good description later on beats a bare first mention.
        earliness = 1.0 / (1 + index / 3) + 1.5 / (1 + index / 40)
        # Once is a figure of speech, often is an office: everybody's vicar, for a day the king of the world.
        agreed = _AGREED_WEIGHT * min(uses[each.noun] - 1, _MANY_USES) if each.is_role else 0.0
        is_figure = each.is_role and uses[each.noun] == 1 and index >= _INTRODUCED
        ranked.append((each.score + earliness + agreed - is_figure, -index, mention, sentence))
    _, _, mention, (start, end) = max(ranked, key=lambda each: each[:2])
    end = _extend(proses[mention.prose].text, start, end, spans(mention.prose))
    return Passage(mention.prose, start, end)


def sentence_spans(proses: Sequence[Prose]) -> SpansByProse:
    """Return a look-up of the sentences of each prose, which are found at the first use."""

    @cache
    def spans(number: int) -> Sequence[tuple[int, int]]:
        return split_sentences(proses[number].text)

    return spans


def _sentence_around(mention: Mention, spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the span of the sentence that holds a mention, or the mention's own where no sentence does."""
    index = bisect_right(spans, (mention.start, _BEYOND_TEXT)) - 1
    if index < 0 or spans[index][1] < mention.end:
        return mention.start, mention.end
    return spans[index]


def _extend(text: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> int:
    """Return where a passage ends that a sentence begins: with its paragraph, before a speech, or when long."""
    for low, high in spans[bisect_right(spans, (start, _BEYOND_TEXT)) :]:
        is_long = high - start > _MAX_DEFINITION_CHARACTERS
        if is_long or "\n\n" in text[end:low] or text[low : low + 1] in _OPENING_QUOTES:
            break
        end = high
    return end


def _read_sentence(text: str, mention: Mention, sentence: tuple[int, int], kind: str, gender: str) -> _Said:
    """Return how much a sentence says about a name in it, to rank the sentences of one entity."""
    start, end = sentence
    length = end - start
    said = _read_role(text, mention, sentence, gender) if kind == "character" else _read_thing(text, mention, end)
    score = said.score
    if _INTRODUCTION.search(text, max(start, mention.start - _INTRODUCTION_REACH), mention.start):
        score += 1.0
    # Headings shout, and what is quoted says more about the speaker.
    score -= 2.0 * text[mention.start : mention.end].isupper() + 0.7 * (text[end - 1 : end] in _CLOSING_QUOTES)
    score += 0.5 * (len(mention.names) > 1) + 0.3 * (mention.start - start < _SHORT_SENTENCE_CHARACTERS)
    score -= 1.5 * (text[start : start + 1] in _OPENING_QUOTES) + 0.7 * (
        mention.after in SPEECH or mention.before in SPEECH
    )
    is_quoted = any(mark in _OPENING_QUOTES for mark in text[start + 1 : mention.start])
    score -= 1.5 * (text[end - 1 : end] == "?" or is_quoted or _is_spoken(text, start))
    if not said.noun:
        score -= (length < _SHORT_SENTENCE_CHARACTERS) + (length > _LONG_SENTENCE_CHARACTERS)
    return _Said(score, said.noun, said.is_role)


def _is_spoken(text: str, start: int) -> bool:
    """Return whether a sentence goes on with a speech that began earlier in its paragraph."""
    before = text[text.rfind("\n\n", 0, start) + 1 : start]
    return before.count('"') % 2 == 1 or before.count("“") > before.count("”")


def _read_thing(text: str, mention: Mention, end: int) -> _Said:
    """Read the words behind the name of a place or thing: what it is, where it lies."""
    is_told = _DESCRIPTION.match(text, mention.end, end) or _SITUATION.match(text, mention.end, end)
    return _Said(2.0 * bool(is_told))


def _read_role(text: str, mention: Mention, sentence: tuple[int, int], gender: str) -> _Said:
    """Read what a sentence says a person is: by rank, kin or profession most, then by friends, age or looks."""
    start, end = sentence
    if mention.is_possessive:
        return _Said(0.0)
    # Limited, or a long list of features would outweigh a sentence that says who somebody is.
    looks = 0.3 * min(len(_APPEARANCE.findall(text, mention.end, end)), 3)
    stated = _fit(_IS_ROLE.match(text, mention.end, end), gender)
    # Only a sentence that begins with the name is about it: in `He knew that Stubb was …` it is not.
    is_subject = text[start : mention.start] in ("", "The ", "But ", "Now ", "And ", "Now, ")
    behind = stated or _fit(_BESIDE_ROLE.match(text, mention.end, end), gender)
    before = _fit(_BEFORE_ROLE.search(text, max(start, mention.start - _ROLE_REACH), mention.start), gender)
    if before and before["comma"]:
        is_parted = _NAME_CLOSED.match(text, mention.end) is None or before["determiner"] in ("your", "a", "an")
        before = None if is_parted else before
    found = sorted(
        ((_weigh(match), _noun(match), bool(match["role"])) for match in (behind, before) if match), reverse=True
    )
    if not found:
        is_told = _DESCRIPTION.match(text, mention.end, end) or _LIFE.match(text, mention.end, end)
        return _Said(1.0 * bool(is_told) + looks)
    last = behind.end() if behind else mention.end
    doubted = _DOUBT.search(text, max(start, mention.start - _ROLE_REACH), last) is not None
    weight, noun, is_role = found[0]
    return _Said(weight + 0.8 * (stated is not None and is_subject) + looks - 2.0 * doubted, noun, is_role)


def _read_pronoun(
    text: str, mention: Mention, sentence: tuple[int, int], gender: str, spans: Sequence[tuple[int, int]]
) -> list[_Said]:
    """Read what the next sentences say of `he` or `she`, if the name opens its own and the sex is right."""
    start, end = sentence
    is_subject = mention.start - start < _SHORT_SENTENCE_CHARACTERS and not mention.is_possessive
    if not is_subject or text[start : start + 1] in _OPENING_QUOTES:
        return []
    last = _extend(text, start, end, spans)
    match = _fit(_PRONOUN_IS_ROLE.search(text, end, last) if last > end else None, gender)
    if match is None or gender not in ("", _PRONOUNS[match["pronoun"]]):
        return []
    return [_Said(_weigh(match) - 0.5, _noun(match), bool(match["role"]))]


def _noun(match: re.Match[str]) -> str:
    return (match["role"] or match["tie"] or match["person"]).lower()


def _fit(match: re.Match[str] | None, gender: str) -> re.Match[str] | None:
    """Return a match unless its noun is for the other sex."""
    if match is None:
        return None
    wanted = KIN_GENDER.get(_noun(match)) or _NOUN_GENDER.get(_noun(match), "")
    return None if wanted and gender and wanted != gender else match


def _weigh(match: re.Match[str]) -> float:
    """Return what a noun of a person is worth, less behind `the` where it may be any man of a scene."""
    if match["role"]:
        return _ROLE_WEIGHT - _SPEAKERS * (match["determiner"] in _MINE)
    if match["tie"]:
        return _TIE_WEIGHT
    is_vague = match["person"] in ("person", "creature", "stranger") or match["determiner"] not in ("a", "an")
    return _PERSON_WEIGHT / 2 if is_vague else _PERSON_WEIGHT
