"""Choose the passage that defines an entity: the sentences where its name is introduced or described best."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from weft.story.model import Mention, Passage, Prose
from weft.story.vocabulary import SPEECH
from weft.text.sentences import split_sentences

_MAX_MENTIONS_READ: Final = 60
"""Only so many mentions are compared: people are introduced early, and a hero has thousands."""
_SHORT_SENTENCE_CHARACTERS: Final = 60
_LONG_SENTENCE_CHARACTERS: Final = 500
"""Shorter sentences say little and longer ones much about others, so both lose worth."""
_MAX_DEFINITION_CHARACTERS: Final = 420
"""A definition goes on with the sentences behind the chosen one up to this length, about a paragraph."""
_BEYOND_TEXT: Final = 1 << 60
"""Larger than any offset, so that a bisection finds the last span that begins at or before a place."""
_INTRODUCTION_REACH: Final = 40
"""How many characters before a name are read for an introduction: the longest is about half of that."""
_PERSON_NOUNS: Final = (
    r"man|woman|boy|girl|child|lady|gentleman|fellow|person|creature|widow|widower|maid|youth|lad|friend|son"
    r"|daughter|wife|husband|brother|sister|father|mother|uncle|aunt|cousin|nephew|niece|heir|captain|officer"
    r"|soldier|sailor|doctor|lawyer|clerk|teacher|servant|housekeeper|governess|merchant|farmer|priest|clergyman"
    r"|king|queen|prince|princess|lord|knight|count|countess|duke|duchess|baron|squire|judge|bishop|monk|nun|nurse"
    r"|major|colonel|lieutenant|sergeant|inspector|detective|mate|master|mistress|steward|cook|smith|miller"
    r"|painter|poet|professor|secretary|orphan|twin|giant|dwarf|witch|wizard|stranger|native|one of"
)
_DESCRIPTION: Final = re.compile(
    r"\s(?:was|is|were|had been|became)\s(?:\w+ly\s)?(?:a|an|the|one of|only)\b"
    r"|,\sthe\b(?!\s(?:fact|rest|others)\b|\s\w+\s(?:was|were|is|are|had|did)\b)"
    r"|,\s(?:a|an|who (?:(?:was|is|were)(?! \w+ing\b)|lived|lives|ruled|kept)|whose|his|her|their|our)\b"
    r"|,\s(?:son|daughter|wife|husband|brother|sister|lord|lady|king|queen)\b"
    r"|,\s[a-z-]+,\s[a-z-]+,?\sand\s|\s\((?:a|an|the|his|her)\s"
)
_AS_PERSON: Final = re.compile(rf"[^.;!?]{{0,60}}\b(?:{_PERSON_NOUNS})s?\b")
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
_IDENTITY: Final = re.compile(
    r"\s(?:was|is|had been)\s(?:\w+ly\s)?"
    r"(?:a|an|one of|the(?!\s(?:first|last|next|only|one|very|same|kind|sort)\b))\b"
)
_OPENING_QUOTES: Final = "\"“‘'«"
_CLOSING_QUOTES: Final = '"”’»'

SpansByProse = Callable[[int], Sequence[tuple[int, int]]]
"""The number of a prose to the spans of its sentences."""


def define(mentions: Sequence[Mention], kind: str, proses: Sequence[Prose], spans: SpansByProse) -> Passage:
    """Return the sentences that introduce or describe an entity best; early ones come first among equals."""
    first = mentions[0]
    # No sentence scores as low as this start value.
    best = (-10.0, first, (first.start, first.end))
    for index, mention in enumerate(mentions[:_MAX_MENTIONS_READ]):
        sentence = _sentence_around(mention, spans(mention.prose))
        # Falls to half by the fourth mention: a good description later on beats a bare first mention.
        earliness = 1.5 / (1 + index / 3)
        score = _score_sentence(proses[mention.prose].text, mention, sentence, kind) + earliness
        if score > best[0]:
            best = (score, mention, sentence)
    _, mention, (start, end) = best
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


def _score_sentence(text: str, mention: Mention, sentence: tuple[int, int], kind: str) -> float:
    """Score how much a sentence says about a name in it, to rank the sentences of one entity."""
    start, end = sentence
    length = end - start
    score = _score_description(text, mention, end, kind)
    if _INTRODUCTION.search(text, max(start, mention.start - _INTRODUCTION_REACH), mention.start):
        score += 1.5
    # Headings shout, and what is quoted says more about the speaker.
    score -= 2.0 * text[mention.start : mention.end].isupper() + 0.7 * (text[end - 1 : end] in _CLOSING_QUOTES)
    score += 0.5 * (len(mention.names) > 1) + 0.3 * (mention.start - start < _SHORT_SENTENCE_CHARACTERS)
    score -= 1.5 * (text[start : start + 1] in _OPENING_QUOTES) + 0.7 * (
        mention.after in SPEECH or mention.before in SPEECH
    )
    if _is_statement(text, mention, sentence):
        return score + 1.0
    return score - (length < _SHORT_SENTENCE_CHARACTERS) - (length > _LONG_SENTENCE_CHARACTERS)


def _is_statement(text: str, mention: Mention, sentence: tuple[int, int]) -> bool:
    """Return whether a sentence says outright what something is, however short: Stubb was the second mate."""
    start, end = sentence
    # Only a sentence that begins with the name is about it: in `He knew that Stubb was …` it is not.
    if text[start : mention.start] not in ("", "The ") or text[end - 1 : end] in _CLOSING_QUOTES:
        return False
    return _IDENTITY.match(text, mention.end, end) is not None


def _score_description(text: str, mention: Mention, end: int, kind: str) -> float:
    """Score the words behind a name: what it is, where it lies, how a person looks."""
    match = _DESCRIPTION.match(text, mention.end, end)
    if kind != "character":
        return 2.0 * bool(match or _SITUATION.match(text, mention.end, end))
    # Limited, or a long list of features would outweigh a sentence that says who somebody is.
    appearance = 0.4 * min(len(_APPEARANCE.findall(text, mention.end, end)), 3)
    if match is not None:
        return 1.5 + bool(_AS_PERSON.match(text, match.start(), end)) + appearance
    return 1.5 * bool(_LIFE.match(text, mention.end, end)) + appearance
