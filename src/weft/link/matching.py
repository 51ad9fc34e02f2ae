"""One Aho-Corasick pass over a text: which names stand in it, whole words, the longest first."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from weft.frozen import dataclass
from weft.link.folding import fold_text
from weft.link.names import UNSPACED_CHARACTER, Owner, Setting, certainty, is_single
from weft.text.terms import STOP_WORDS

_REACH: Final = 40
_LAST_WORD: Final = re.compile(r"\w+\Z")
_NEXT_WORD: Final = re.compile(r"[ ]([^\W\d_]\w*)")
_SENTENCE_ENDS: Final = frozenset(".!?:\n*#>-")


@dataclass(frozen=True, slots=True)
class Match:
    """A name found in a text: the owners it may mean with their certainty, how many nodes share it, its span."""

    owners: tuple[tuple[Owner, float], ...]
    sharers: int
    surface: str
    start: int
    end: int


class Matcher:
    """Finds names in texts. Building it costs some microseconds a name."""

    def __init__(self, names: Mapping[str, Sequence[Owner]]) -> None:
        from ahocorasick_rs import AhoCorasick, Implementation

        self._names = list(names)
        self._owners = [tuple(names[name]) for name in self._names]
        self._open = [_open_ends(name) for name in self._names]
        self._single = [is_single(name) for name in self._names]
        self._judged: dict[tuple[int, str, int], tuple[tuple[Owner, float], ...]] = {}
        kind = Implementation.ContiguousNFA
        self._automaton = AhoCorasick(self._names, implementation=kind, store_patterns=False)

    def find(self, text: str, own: tuple[str, str] | None = None) -> list[Match]:
        """The names in the text from left to right, without overlaps, longer ones before those inside them.

        Names of the node that the text belongs to (`own`: its tenant and key) do not count and hide nothing.
        """
        folded, places = fold_text(text)
        spans = [
            (start, -end, index)
            for index, start, end in self._automaton.find_matches_as_indexes(folded, overlapping=True)
            if self._stands_alone(folded, index, start, end)
        ]
        return self._longest(text, places, sorted(spans), own) if spans else []

    def holds_any(self, text: str) -> bool:
        """Whether any of the names stands in the text, whatever its case."""
        folded, _ = fold_text(text)
        found = self._automaton.find_matches_as_indexes(folded, overlapping=True)
        return any(self._stands_alone(folded, index, start, end) for index, start, end in found)

    def _stands_alone(self, folded: str, index: int, start: int, end: int) -> bool:
        open_start, open_end = self._open[index]
        if start and not open_start and ((before := folded[start - 1]).isalnum() or before == "_"):
            return False
        return end == len(folded) or open_end or not ((after := folded[end]).isalnum() or after == "_")

    def _longest(
        self, text: str, places: list[int] | None, spans: list[tuple[int, int, int]], own: tuple[str, str] | None
    ) -> list[Match]:
        matches: list[Match] = []
        reached = 0
        for start, negative_end, index in spans:
            if start < reached:
                continue
            low, high = (start, -negative_end) if places is None else (places[start], places[-negative_end])
            surface = text[low:high]
            # Only single words are judged by what stands around them.
            setting = setting_of(text, low, high) if self._single[index] else Setting.PLAIN
            judged = self._judge(index, surface, setting)
            owners = tuple(one for one in judged if (one[0].tenant, one[0].key) != own)
            if owners:
                matches.append(Match(owners, len(self._owners[index]), " ".join(surface.split()), low, high))
                reached = -negative_end
        return matches

    def _judge(self, index: int, surface: str, setting: Setting) -> tuple[tuple[Owner, float], ...]:
        known = self._judged.get((index, surface, setting))
        if known is None:
            plain = " ".join(surface.split())
            judged = ((owner, certainty(owner, plain, setting)) for owner in self._owners[index])
            known = tuple((owner, sure) for owner, sure in judged if sure > 0)
            self._judged[index, surface, setting] = known
        return known


def _open_ends(name: str) -> tuple[bool, bool]:
    """Whether a name may touch other characters before and after it, as names in unspaced scripts do."""
    first, last = name[0], name[-1]
    return (
        not _is_word(first) or UNSPACED_CHARACTER.match(first) is not None,
        not _is_word(last) or UNSPACED_CHARACTER.match(last) is not None,
    )


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def setting_of(text: str, start: int, end: int) -> Setting:
    """What stands around text[start:end]: the opening of a sentence, or other words of a longer name."""
    before = _word_before(text, start)
    if not before:
        setting = Setting.OPENS_SENTENCE if _opens_sentence(text, start) else Setting.PLAIN
    else:
        opener = _opens_sentence(text, start - 1 - len(before))
        setting = Setting.INSIDE_NAME if _is_capital(before) and not opener else Setting.PLAIN
    after = _NEXT_WORD.match(text, end)
    if after and _is_capital(after.group(1)):
        setting |= Setting.INSIDE_NAME
    return setting


def _word_before(text: str, start: int) -> str:
    if start < 2 or text[start - 1] != " ":
        return ""
    before = _LAST_WORD.search(text, max(0, start - _REACH), start - 1)
    return before.group() if before else ""


def _is_capital(word: str) -> bool:
    return word[:1].isupper() and word.lower() not in STOP_WORDS


def _opens_sentence(text: str, start: int) -> bool:
    before = start - 1
    while before >= 0 and text[before] == " ":
        before -= 1
    return before < 0 or text[before] in _SENTENCE_ENDS
