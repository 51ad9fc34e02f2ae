"""Find where a story tells how somebody dies, marries or is born, whatever its words.

"How did she meet her end" shares no word with "she died at sea". So the scenes that hold words for such an event
are looked through for the person whom the question names, and the nearest ones are wanted.
"""

import re
from collections.abc import Iterator
from typing import Final

from weft.model import Filter
from weft.pipeline.query import Reading
from weft.pipeline.shapes import Span
from weft.ports import NodeRow
from weft.scoring.bm25 import term_hashes
from weft.text import analyze

_ASKED: Final = (
    (
        re.compile(
            r"(?i)\b(?:die[sd]?|dying|dead|death|kill(?:s|ed|er)?|murder\w*|meets? (?:his|her|their) end|perish\w*"
            r"|met (?:his|her|their) end|drown\w*|burie[sd]|funeral|pass(?:es|ed)? away|suicide|poison\w*|stabbed"
            r"|strangled|hanged)\b"
        ),
        "died dead death killed murdered murderer drowned buried funeral grave corpse suicide poisoned strangled"
        " hanged",
    ),
    (
        re.compile(
            r"(?i)\b(?:marr(?:y|ies|ied|iage)|wed(?:s|ded|ding)?|bride(?:groom)?|elope[sd]?|elopement|divorc\w*"
            r"|engage(?:d|ment)|betrothed|jilt\w*)\b|\bwhom?\b.*\b(?:wife|husband)\b"
        ),
        "married marry marriage wedding wife husband bride engaged engagement eloped elopement divorce divorcing",
    ),
    (
        re.compile(r"(?i)\b(?:born|birth(?:s|day)?|newborn|gave birth)\b"),
        "born birth baby newborn christened delivered",
    ),
)
"""The events that a question may ask for, each with the words by which a story tells of it."""
_NAME: Final = re.compile(r"(?<!^)(?<![?!] )\b([^\W\d_a-z][\w-]*[a-z][\w-]*)\b")
_TITLES: Final = frozenset({"mr", "mrs", "miss", "ms", "dr", "sir", "lady", "lord", "captain", "madame"})
_SCENES: Final = Filter(kinds=("scene", "chapter"))
_MAX_PASSAGES: Final = 40
"""Passages that are looked through: the ones with the rarest words."""
_MAX_EVENTS: Final = 4
_MAX_SPREAD: Final = 12
"""In so many scenes an event may be spoken of alike and still be told in one of them."""
_NEAR: Final = 400
"""Characters from a name to a word for the event: within the next sentences a pronoun still means the person."""
_HALF: Final = 80.0
"""At this distance a find is worth half of one that stands beside the name."""
_AROUND: Final = 220
"""Characters shown on both sides of a find, in whole paragraphs where these are short."""


def find_events(question: str, reading: Reading) -> list[tuple[NodeRow, float, Span]]:
    """Return the scenes that tell of the event that is asked for, near the name, each with its worth and part."""
    told = [words for asked, words in _ASKED if asked.search(question)]
    names = _names_in(question)
    if not told or not names or not {*_SCENES.kinds} & {*reading.snapshot.kinds()}:
        return []
    events = re.compile(rf"\b(?:{'|'.join(' '.join(told).split())})\b")
    people = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")
    best: dict[int, tuple[float, NodeRow, Span]] = {}
    for row in _scenes_with(" ".join((*told, *names)), reading):
        text = row.node.text
        places = [match.span() for match in people.finditer(text)]
        missed, first = 1.0, (0.0, (0, 0))
        for match in events.finditer(text) if places else ():
            distance = min(max(low - match.end(), match.start() - high, 0) for low, high in places)
            worth = 1.0 / (1.0 + distance / _HALF) if distance <= _NEAR else 0.0
            missed *= 1.0 - worth / 2
            first = max(first, (worth, match.span()))
        if first[0]:
            best[row.node.id] = (1.0 - missed, row, _part_around(text, *first[1]))
    ranked = sorted(best.values(), key=lambda each: (-each[0], each[1].node.ref))
    # What the whole book speaks of, a murder that is solved in it, is not found by such words.
    spread = sum(2 * worth >= ranked[0][0] for worth, *_ in ranked)
    factor = min(1.0, _MAX_SPREAD / spread) if ranked else 0.0
    return [(row, round(worth * factor, 3), part) for worth, row, part in ranked[:_MAX_EVENTS]]


def _names_in(question: str) -> list[str]:
    return [name for name in dict.fromkeys(_NAME.findall(question)) if name.lower() not in _TITLES]


def _scenes_with(words: str, reading: Reading) -> Iterator[NodeRow]:
    """Yield the scenes whose passages hold most of some words."""
    terms = tuple(dict.fromkeys(term_hashes(analyze(words))))
    found = reading.index.lexical(reading.snapshot, terms, _SCENES, _MAX_PASSAGES)
    passages = reading.snapshot.passages(found.passage_ids.tolist())
    yield from reading.snapshot.nodes(list(dict.fromkeys(each.node_id for each in passages))).values()


def _part_around(text: str, start: int, end: int) -> Span:
    """Return the paragraphs around a find, or of long ones so much as can be quoted."""
    low = text.rfind("\n\n", 0, max(0, start - _AROUND // 2))
    high = text.find("\n\n", end + _AROUND // 2)
    low = max(low + 2 if low >= 0 else 0, start - 2 * _AROUND)
    high = min(high if high >= 0 else len(text), end + 2 * _AROUND)
    return low, high
