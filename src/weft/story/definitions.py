"""The passage that tells what somebody is: where a name is introduced or described."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from weft.story.model import Passage, Prose, Sighting
from weft.story.vocabulary import SPEECH
from weft.text.sentences import sentences

_LOOKED_AT: Final = 60
_SHORT: Final = 60
_LONG: Final = 500
_ENOUGH: Final = 420
"""Characters that a sentence should have, may have, and that a definition goes on for."""
_SOMEBODY: Final = (
    r"man|woman|boy|girl|child|lady|gentleman|fellow|person|creature|widow|widower|maid|youth|lad|friend|son"
    r"|daughter|wife|husband|brother|sister|father|mother|uncle|aunt|cousin|nephew|niece|heir|captain|officer"
    r"|soldier|sailor|doctor|lawyer|clerk|teacher|servant|housekeeper|governess|merchant|farmer|priest|clergyman"
    r"|king|queen|prince|princess|lord|knight|count|countess|duke|duchess|baron|squire|judge|bishop|monk|nun|nurse"
    r"|major|colonel|lieutenant|sergeant|inspector|detective|mate|master|mistress|steward|cook|smith|miller"
    r"|painter|poet|professor|secretary|orphan|twin|giant|dwarf|witch|wizard|stranger|native|one of"
)
_DESCRIBED: Final = re.compile(
    r"\s(?:was|is|were|had been|became)\s(?:\w+ly\s)?(?:a|an|the|one of|only)\b"
    r"|,\sthe\b(?!\s(?:fact|rest|others)\b|\s\w+\s(?:was|were|is|are|had|did)\b)"
    r"|,\s(?:a|an|who (?:(?:was|is|were)(?! \w+ing\b)|lived|lives|ruled|kept)|whose|his|her|their|our)\b"
    r"|,\s(?:son|daughter|wife|husband|brother|sister|lord|lady|king|queen)\b"
    r"|,\s[a-z-]+,\s[a-z-]+,?\sand\s|\s\((?:a|an|the|his|her)\s"
)
_AS_SOMEBODY: Final = re.compile(rf"[^.;!?]{{0,60}}\b(?:{_SOMEBODY})s?\b")
_SITUATED: Final = re.compile(r"\s(?:lies|lay|stood|stands|is situated|was situated)\s")
_LIVING: Final = re.compile(r"\s(?:lived|lives|dwelt|ruled|rules|had been born|was born)\s")
_LOOKS: Final = re.compile(
    r"\b(?:tall|short|stout|thin|handsome|beautiful|pretty|plain|pale|dark|fair|eyes|hair|face|features|complexion"
    r"|figure|forehead|beard|nose|shoulders|countenance|temper|disposition|manners|years old|aged)\b"
)
_INTRODUCED: Final = re.compile(
    r"(?:(?:named|known as|name was|name is|one|old|young|his wife|her husband|brother|sister|daughter|son|friend"
    r"|father|mother|aunt|uncle|cousin|captain|clerk|servant)[,:]?"
    rf"|(?:is|was|are|were|been|be|{_SOMEBODY}|place|house|town|village|ship|inn),? called)\s(?:the\s)?$"
)
_IS: Final = re.compile(
    r"\s(?:was|is|had been)\s(?:\w+ly\s)?"
    r"(?:a|an|one of|the(?!\s(?:first|last|next|only|one|very|same|kind|sort)\b))\b"
)
_QUOTES: Final = "\"“‘'«"
_QUOTES_END: Final = '"”’»'

Spans = Callable[[int], Sequence[tuple[int, int]]]


def define(mentions: Sequence[Sighting], kind: str, proses: Sequence[Prose], spans: Spans) -> Passage:
    """The sentences that introduce or describe best what is mentioned; early ones come first among equals."""
    best = (-10.0, mentions[0], (mentions[0].start, mentions[0].end))
    for place, sighting in enumerate(mentions[:_LOOKED_AT]):
        start, end = _around(sighting, spans(sighting.prose))
        worth = _worth(proses[sighting.prose].text, sighting, (start, end), kind) + 1.5 / (1 + place / 3)
        if worth > best[0]:
            best = (worth, sighting, (start, end))
    _, sighting, (start, end) = best
    return Passage(
        sighting.prose, start, _going_on(proses[sighting.prose].text, start, end, spans(sighting.prose))
    )


def sentence_spans(proses: Sequence[Prose]) -> Spans:
    """A look-up of the sentences of each prose, found when first wanted."""

    @cache
    def spans(number: int) -> Sequence[tuple[int, int]]:
        return sentences(proses[number].text)

    return spans


def _around(sighting: Sighting, spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
    place = bisect_right(spans, (sighting.start, 1 << 60)) - 1
    if place < 0 or spans[place][1] < sighting.end:
        return sighting.start, sighting.end
    return spans[place]


def _going_on(text: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> int:
    """Where the passage ends that a sentence begins: with its paragraph, before anyone speaks, or when long."""
    for low, high in spans[bisect_right(spans, (start, 1 << 60)) :]:
        if high - start > _ENOUGH or "\n\n" in text[end:low] or text[low : low + 1] in _QUOTES:
            break
        end = high
    return end


def _worth(text: str, sighting: Sighting, sentence: tuple[int, int], kind: str) -> float:
    """How much a sentence tells about a name in it."""
    start, end = sentence
    worth = _described(text, sighting, end, kind)
    if _INTRODUCED.search(text, max(start, sighting.start - 40), sighting.start):
        worth += 1.5
    worth -= 2.0 * text[sighting.start : sighting.end].isupper() + 0.7 * (text[end - 1 : end] in _QUOTES_END)
    worth += 0.5 * (len(sighting.names) > 1) + 0.3 * (sighting.start - start < _SHORT)
    worth -= 1.5 * (text[start : start + 1] in _QUOTES) + 0.7 * (
        sighting.after in SPEECH or sighting.before in SPEECH
    )
    if _tells(text, sighting, sentence):
        return worth + 1.0
    return worth - (end - start < _SHORT) - (end - start > _LONG)


def _tells(text: str, sighting: Sighting, sentence: tuple[int, int]) -> bool:
    """Whether a sentence is there to say what somebody is, however short: Stubb was the second mate."""
    start, end = sentence
    if text[start : sighting.start] not in ("", "The ") or text[end - 1 : end] in _QUOTES_END:
        return False
    return _IS.match(text, sighting.end, end) is not None


def _described(text: str, sighting: Sighting, end: int, kind: str) -> float:
    """What follows a name about it: what it is, where it lies, how somebody looks."""
    if kind != "character":
        return 2.0 * bool(_DESCRIBED.match(text, sighting.end, end) or _SITUATED.match(text, sighting.end, end))
    looks = 0.4 * min(len(_LOOKS.findall(text, sighting.end, end)), 3)
    match = _DESCRIBED.match(text, sighting.end, end)
    if match is not None:
        return 1.5 + bool(_AS_SOMEBODY.match(text, match.start(), end)) + looks
    return 1.5 * bool(_LIVING.match(text, sighting.end, end)) + looks
