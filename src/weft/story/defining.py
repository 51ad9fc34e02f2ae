"""The passage that tells what somebody is: where a name is introduced or described."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from weft.story.model import Passage, Prose, Sighting
from weft.text.sentences import sentences

_LOOKED_AT: Final = 60
_SHORT: Final = 60
_LONG: Final = 400
_DESCRIBED: Final = re.compile(
    r"(?:\s(?:was|is|were|had been|became)\s(?:\w+ly\s)?(?:a|an|the|one of|only)\b"
    r"|,\s(?:a|an|the|who (?:was|is|were|lived|lives|ruled|kept)|whose|his|her|their|our)\b"
    r"|,\s(?:son|daughter|wife|husband|brother|sister|lord|lady|king|queen)\b"
    r"|\s(?:lived|lies|lay|stood|stands)\s)"
)
_INTRODUCED: Final = re.compile(
    r"(?:named|called|known as|name was|name is|one|old|young|his wife|her husband|brother|sister|daughter|son"
    r"|friend|father|mother|aunt|uncle|cousin|captain|clerk|servant)[,:]?\s(?:the\s)?$"
)

Spans = Callable[[int], Sequence[tuple[int, int]]]


def define(mentions: Sequence[Sighting], proses: Sequence[Prose], spans: Spans) -> Passage:
    """The sentence that introduces or describes best what is mentioned; early ones come first among equals."""
    best = (-1.0, Passage(mentions[0].prose, mentions[0].start, mentions[0].end))
    for place, sighting in enumerate(mentions[:_LOOKED_AT]):
        start, end = _around(sighting, spans(sighting.prose))
        worth = _worth(proses[sighting.prose].text, sighting, start, end) + 1.0 / (1 + place)
        if worth > best[0]:
            best = (worth, Passage(sighting.prose, start, end))
    return best[1]


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


def _worth(text: str, sighting: Sighting, start: int, end: int) -> float:
    """How much a sentence tells about a name in it."""
    worth = 0.0
    if _DESCRIBED.match(text, sighting.end):
        worth += 2.0
    if _INTRODUCED.search(text, max(start, sighting.start - 30), sighting.start):
        worth += 1.5
    worth += 0.5 * (len(sighting.names) > 1) + 0.3 * (sighting.start - start < _SHORT)
    worth -= 0.8 * (text[start : start + 1] in "\"“‘'«")
    return worth - (end - start < _SHORT) - (end - start > _LONG)
