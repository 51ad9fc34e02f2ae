"""Collect the names by which nodes can be found in texts, match them, and judge how sure each match is.

`Lexicon` holds the names with their owners, `Matcher` finds all of them in a text at once, and `certainty` weighs
a match by the case and the neighbours of what the text writes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntFlag
from typing import Final
from unicodedata import normalize

from msgspec import Struct, field

from weft.model import FOUND_ENTITY, Node
from weft.ports import LOOKUP_ONLY, NameRow
from weft.text import is_code, looks_like_code
from weft.text.terms import STOP_WORDS, UNSPACED, fold_name, fold_text

_MAX_OWNERS: Final = 8
"""A name that more nodes share (Introduction, README) tells nothing about which one is meant."""
_ALIAS_CONFIDENCE: Final = 0.8
"""An alias is less often unique than a title."""
_BARE_CONFIDENCE: Final = 0.8
_BARE_WORD_CONFIDENCE: Final = 0.4
"""A title without its disambiguator, Mercury of Mercury (planet): surer if more than one word is left."""
_OTHER_CASE_FACTOR: Final = 0.6
"""Applied where the case differs, or where a capital proves nothing because it opens a sentence."""
_INSIDE_NAME_FACTOR: Final = 0.3
"""Applied where another capital beside it makes a match probably part of a longer name."""

_MAX_NAME_CHARACTERS: Final = 100
_MAX_NAME_WORDS: Final = 12
"""Longer titles are sentences, which no other text repeats."""
_REACH_CHARACTERS: Final = 40
"""How far before a match the word in front of it is read; a longer one is no word of a name."""
_DISAMBIGUATOR: Final = re.compile(r"\s*\([^()]*\)\s*$|\s*（[^（）]*）\s*$")
_OUTER_MARKS: Final = re.compile(r"^[^\w]+|[^\w]+$")
_ARTICLES: Final = frozenset({"the", "a", "an"})
_WORD: Final = re.compile(r"\w+")
_SPACED_RUN: Final = re.compile(f"[^{UNSPACED}]+")
_UNSPACED_CHARACTER: Final = re.compile(f"[{UNSPACED}]")
_LAST_WORD: Final = re.compile(r"\w+\Z")
_NEXT_WORD: Final = re.compile(r"[ ]([^\W\d_]\w*)")
_SENTENCE_ENDS: Final = frozenset(".!?:\n*#>-")
"""Also the marks of lists, headings and quotations, behind which a capital is as usual."""


class Owner(Struct, frozen=True):
    """A node that goes by a name: how its source writes the name, and how sure the name alone is."""

    tenant: str
    key: str
    written: str
    confidence: float


class Setting(IntFlag):
    """The surroundings of a match that make it doubtful."""

    PLAIN = 0
    OPENS_SENTENCE = 1
    INSIDE_NAME = 2


class Lexicon(Struct):
    """Names in their folded form with the nodes that own them; with `words`, only names that begin with one."""

    words: frozenset[str] | None = None
    owners: dict[str, list[Owner]] = field(default_factory=dict)

    def add(self, row: NameRow) -> None:
        """Add the names of a node."""
        for folded, owner in owned_names(row, self.words):
            self.owners.setdefault(folded, []).append(owner)

    def usable(self) -> dict[str, tuple[Owner, ...]]:
        """Return the names that few enough nodes share, in order, owners by tenant and key."""
        return {
            name: tuple(sorted(owners, key=lambda owner: (owner.tenant, owner.key)))
            for name, owners in sorted(self.owners.items())
            if len(owners) <= _MAX_OWNERS
        }


def owned_names(row: NameRow, words: frozenset[str] | None = None) -> Iterator[tuple[str, Owner]]:
    """Yield the folded names of a node (that begin with one of the words), each once with its best confidence."""
    if FOUND_ENTITY in row.key:
        # Its mentions were found by reading the prose, which is surer than a match of its name.
        return
    seen: set[str] = set()
    from_code = is_code(row.language)
    for written, confidence in _spellings(row):
        if from_code and not looks_like_code(written):
            continue
        folded = fold_name(written)
        if words is not None and opening(folded) not in words:
            continue
        name = " ".join(written.split())
        # The title comes before the aliases, which are less sure.
        if folded not in seen and is_name(name):
            seen.add(folded)
            yield folded, Owner(row.tenant, row.key, name, confidence)


def opening(folded: str) -> str:
    """Return what a folded name begins with: its first word, or its first character where words are not spaced."""
    first = _WORD.search(folded)
    if first is None:
        return ""
    spaced = _SPACED_RUN.match(first.group())
    return spaced.group() if spaced else first.group()[0]


def openings(folded: str) -> Iterator[str]:
    """Yield everything that a name in a folded text can begin with."""
    for word in _WORD.findall(folded):
        if _UNSPACED_CHARACTER.search(word):
            yield from word
            yield from _SPACED_RUN.findall(word)
        else:
            yield word


def _spellings(row: NameRow) -> Iterator[tuple[str, float]]:
    """Yield the title and aliases of a node, with and without disambiguator, each with its confidence."""
    # Aliases found by reading prose have their mentions from there already.
    aliases = [
        (alias.text, _ALIAS_CONFIDENCE * alias.confidence)
        for alias in row.aliases
        if not alias.found and alias.confidence != LOOKUP_ONLY
    ]
    for name, confidence in [(row.title, 1.0), *aliases]:
        yield name, confidence
        bare = _DISAMBIGUATOR.sub("", name)
        if bare != name:
            yield (
                bare,
                min(confidence, _BARE_CONFIDENCE if len(content_words(bare)) > 1 else _BARE_WORD_CONFIDENCE),
            )


def is_name(name: str) -> bool:
    """Return whether a name is worth looking for: long enough, with letters, and more than a filler word."""
    if not name or len(name) > _MAX_NAME_CHARACTERS or name.count(" ") >= _MAX_NAME_WORDS:
        return False
    letters = sum(map(str.isalpha, name))
    # A name of two characters is usual in Chinese and Japanese; in other scripts it would be found everywhere.
    if _UNSPACED_CHARACTER.search(name):
        return letters >= 2
    if letters < 3:
        return False
    return " " in name or name.isupper() or fold_name(_OUTER_MARKS.sub("", name)) not in STOP_WORDS


def content_words(name: str) -> list[str]:
    """Return the words of a name that carry its meaning, as written, without punctuation around them."""
    words = (word if word.isalnum() else _OUTER_MARKS.sub("", word) for word in name.split())
    return [word for word in words if word and word.lower() not in STOP_WORDS]


def is_single(name: str) -> bool:
    """Return whether a name has at most one content word, so that its case and neighbours decide."""
    return len(content_words(name)) < 2 and not _UNSPACED_CHARACTER.search(name)


def certainty(owner: Owner, surface: str, setting: Setting) -> float:
    """Return how sure it is that a text which writes `surface` means this owner; 0 when the case speaks against
    it.

    Two or more content words may differ in case at a cost. A single one must be written as its owner writes it, or
    with a capital, because most single words also have a plain meaning; and next to another capital it is probably
    part of a longer name (the United of United States).
    """
    written = owner.written
    if not is_single(written):
        same = _same_case(_without_article(surface), _without_article(written))
        return owner.confidence * (1.0 if same else _OTHER_CASE_FACTOR)
    if not content_words(written):
        return owner.confidence if _same_case(surface, written) else 0.0
    return _single_certainty(owner, surface, setting)


def _single_certainty(owner: Owner, surface: str, setting: Setting) -> float:
    """Return the certainty of a match of a single content word."""
    written, found = _without_article(owner.written), _without_article(surface)
    # The owner's spelling, or the same at the head of a sentence; `apple` does not mean the company Apple.
    capital = written[:1].upper() + written[1:]
    if not (_same_case(found, written) or _same_case(found, capital)):
        return 0.0
    is_plain_word = " " not in surface and written[1:].islower()
    is_doubtful = is_plain_word and (Setting.OPENS_SENTENCE in setting or written.islower())
    sure = owner.confidence * (_OTHER_CASE_FACTOR if is_doubtful else 1.0)
    if Setting.INSIDE_NAME not in setting:
        return sure
    return 0.0 if owner.confidence <= _BARE_WORD_CONFIDENCE else sure * _INSIDE_NAME_FACTOR


def _without_article(name: str) -> str:
    first, _, rest = name.partition(" ")
    return rest if rest and first.lower() in _ARTICLES else name


def _same_case(left: str, right: str) -> bool:
    if left == right:
        return True
    # An accent may be a character of its own in one text and part of its letter in the other.
    left, right = normalize("NFC", left), normalize("NFC", right)
    return len(left) == len(right) and all(a.isupper() == b.isupper() for a, b in zip(left, right, strict=True))


def names_of(nodes: Iterable[Node]) -> list[tuple[str, str]]:
    """Return the names of some nodes, folded and as they write them, sorted."""
    rows = (NameRow(node.tenant, node.key, node.title, node.aliases, node.language) for node in nodes)
    return sorted({(folded, owner.written) for row in rows for folded, owner in owned_names(row)})


# --- matching --------------------------------------------------------------------------------------------


class Match(Struct, frozen=True):
    """A name found in a text: the owners it may mean with their certainty, how many nodes share it, its span."""

    owners: tuple[tuple[Owner, float], ...]
    sharers: int
    surface: str
    start: int
    end: int


class Matcher:
    """An automaton that finds all names in a text at once; building it costs some microseconds a name."""

    def __init__(self, names: Mapping[str, Sequence[Owner]]) -> None:
        from ahocorasick_rs import AhoCorasick, Implementation

        listed = list(names)
        self._owners = [tuple(names[name]) for name in listed]
        self._open_ends = [_has_open_ends(name) for name in listed]
        self._is_single = [is_single(name) for name in listed]
        # A name is written in few ways, so most judgements are repeated.
        self._judgements: dict[tuple[int, str, int], tuple[tuple[Owner, float], ...]] = {}
        # It is built faster than the DFA and takes less memory.
        kind = Implementation.ContiguousNFA
        self._automaton = AhoCorasick(listed, implementation=kind, store_patterns=False)

    def find(self, text: str, own: tuple[str, str] | None = None) -> list[Match]:
        """Return the names in the text from left to right, without overlaps, longer ones before those inside them.

        Names of the node that the text belongs to (`own`: its tenant and key) do not count and hide nothing.
        """
        folded, offsets = fold_text(text)
        # The negative end sorts longer matches before those that begin at the same offset and are shorter.
        spans = [
            (start, -end, index)
            for index, start, end in self._automaton.find_matches_as_indexes(folded, overlapping=True)
            if self._stands_alone(folded, index, start, end)
        ]
        return self._keep_longest(text, offsets, sorted(spans), own) if spans else []

    def holds_any(self, text: str) -> bool:
        """Return whether any of the names stands in the text, whatever its case."""
        folded, _ = fold_text(text)
        found = self._automaton.find_matches_as_indexes(folded, overlapping=True)
        return any(self._stands_alone(folded, index, start, end) for index, start, end in found)

    def _stands_alone(self, folded: str, index: int, start: int, end: int) -> bool:
        """Return whether no letter touches a match, where the name does not allow it."""
        open_start, open_end = self._open_ends[index]
        if start and not open_start and ((before := folded[start - 1]).isalnum() or before == "_"):
            return False
        return end == len(folded) or open_end or not ((after := folded[end]).isalnum() or after == "_")

    def _keep_longest(
        self, text: str, offsets: list[int] | None, spans: list[tuple[int, int, int]], own: tuple[str, str] | None
    ) -> list[Match]:
        """Judge spans sorted by start, longest first, and skip those inside a match that was taken."""
        matches: list[Match] = []
        reached = 0
        for start, negative_end, index in spans:
            if start < reached:
                continue
            low, high = (start, -negative_end) if offsets is None else (offsets[start], offsets[-negative_end])
            surface = text[low:high]
            # Only single words are judged by what stands around them.
            setting = _read_setting(text, low, high) if self._is_single[index] else Setting.PLAIN
            judged = self._judge(index, surface, setting)
            owners = tuple(pair for pair in judged if (pair[0].tenant, pair[0].key) != own)
            if owners:
                matches.append(Match(owners, len(self._owners[index]), " ".join(surface.split()), low, high))
                # Set only for a match with owners: the node's own name must not hide another name inside it.
                reached = -negative_end
        return matches

    def _judge(self, index: int, surface: str, setting: Setting) -> tuple[tuple[Owner, float], ...]:
        """Return the owners that a match may mean, with their certainty."""
        known = self._judgements.get((index, surface, setting))
        if known is None:
            plain = " ".join(surface.split())
            judged = ((owner, certainty(owner, plain, setting)) for owner in self._owners[index])
            known = tuple((owner, sure) for owner, sure in judged if sure > 0)
            self._judgements[index, surface, setting] = known
        return known


def _has_open_ends(name: str) -> tuple[bool, bool]:
    """Return whether a name may touch other characters before and after it, as names in unspaced scripts do."""
    first, last = name[0], name[-1]
    return (
        not _is_word(first) or _UNSPACED_CHARACTER.match(first) is not None,
        not _is_word(last) or _UNSPACED_CHARACTER.match(last) is not None,
    )


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _read_setting(text: str, start: int, end: int) -> Setting:
    """Return whether text[start:end] opens a sentence, or stands beside other words of a longer name."""
    before = _word_before(text, start)
    if not before:
        setting = Setting.OPENS_SENTENCE if _opens_sentence(text, start) else Setting.PLAIN
    else:
        is_opener = _opens_sentence(text, start - 1 - len(before))
        setting = Setting.INSIDE_NAME if _is_capital(before) and not is_opener else Setting.PLAIN
    after = _NEXT_WORD.match(text, end)
    if after and _is_capital(after.group(1)):
        setting |= Setting.INSIDE_NAME
    return setting


def _word_before(text: str, start: int) -> str:
    """Return the word that only a space parts from what begins at `start`, or ""."""
    if start < 2 or text[start - 1] != " ":
        return ""
    before = _LAST_WORD.search(text, max(0, start - _REACH_CHARACTERS), start - 1)
    return before.group() if before else ""


def _is_capital(word: str) -> bool:
    return word[:1].isupper() and word.lower() not in STOP_WORDS


def _opens_sentence(text: str, start: int) -> bool:
    before = start - 1
    while before >= 0 and text[before] == " ":
        before -= 1
    return before < 0 or text[before] in _SENTENCE_ENDS
