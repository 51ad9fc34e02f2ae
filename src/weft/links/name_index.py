"""Which names a node can be found by in other texts, and how sure a match of each is."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import IntFlag
from typing import Final
from unicodedata import normalize

from weft.frozen import dataclass
from weft.model import FOUND_ENTITY, Node
from weft.ports import NameRow
from weft.text import is_code, looks_like_code
from weft.text.folding import UNSPACED, fold_name, fold_text
from weft.text.terms import STOP_WORDS

MOST_OWNERS: Final = 8
ALIAS: Final = 0.8
BARE: Final = 0.8
BARE_WORD: Final = 0.4
OTHER_CASE: Final = 0.6
INSIDE_NAME: Final = 0.3

_LONGEST: Final = 100
_MOST_WORDS: Final = 12
_DISAMBIGUATOR: Final = re.compile(r"\s*\([^()]*\)\s*$|\s*（[^（）]*）\s*$")
_EDGES: Final = re.compile(r"^[^\w]+|[^\w]+$")
_ARTICLES: Final = frozenset({"the", "a", "an"})
_WORD: Final = re.compile(r"\w+")
_SPACED_RUN: Final = re.compile(f"[^{UNSPACED}]+")
UNSPACED_CHARACTER: Final = re.compile(f"[{UNSPACED}]")


@dataclass(frozen=True, slots=True)
class Owner:
    """A node that goes by a name: how its source writes the name, and how sure the name alone is."""

    tenant: str
    key: str
    written: str
    confidence: float


class Setting(IntFlag):
    """What stands around a match that makes it doubtful."""

    PLAIN = 0
    OPENS_SENTENCE = 1
    INSIDE_NAME = 2


@dataclass(slots=True)
class Lexicon:
    """Names in their folded form with the nodes that own them; with `words`, only names that begin with one."""

    words: frozenset[str] | None = None
    owners: dict[str, list[Owner]] = field(default_factory=dict)

    def add(self, row: NameRow) -> None:
        """Take up the names of a node."""
        for folded, owner in owned_names(row, self.words):
            self.owners.setdefault(folded, []).append(owner)

    def usable(self) -> dict[str, tuple[Owner, ...]]:
        """The names that few enough nodes share, in order, owners by tenant and key."""
        return {
            name: tuple(sorted(owners, key=lambda owner: (owner.tenant, owner.key)))
            for name, owners in sorted(self.owners.items())
            if len(owners) <= MOST_OWNERS
        }


def owned_names(row: NameRow, words: frozenset[str] | None = None) -> Iterator[tuple[str, Owner]]:
    """The folded names of a node (that begin with one of the words), each once with its best confidence."""
    if FOUND_ENTITY in row.key:
        # Whoever found it in prose knows where it is mentioned better than its name alone does.
        return
    seen: set[str] = set()
    from_code = is_code(row.language)
    for written, confidence in _written(row):
        if from_code and not looks_like_code(written):
            continue
        folded = fold_name(written)
        if words is not None and opening(folded) not in words:
            continue
        name = " ".join(written.split())
        if folded not in seen and is_name(name):
            seen.add(folded)
            yield folded, Owner(row.tenant, row.key, name, confidence)


def opening(folded: str) -> str:
    """What a folded name begins with: its first word, or its first character where words are not spaced."""
    first = _WORD.search(folded)
    if first is None:
        return ""
    spaced = _SPACED_RUN.match(first.group())
    return spaced.group() if spaced else first.group()[0]


def openings(folded: str) -> Iterator[str]:
    """Everything that a name standing in a folded text can begin with."""
    for word in _WORD.findall(folded):
        if UNSPACED_CHARACTER.search(word):
            yield from word
            yield from _SPACED_RUN.findall(word)
        else:
            yield word


def _written(row: NameRow) -> Iterator[tuple[str, float]]:
    # Whoever found a name in prose knows where it is meant better than the name alone does.
    aliases = [(alias.text, ALIAS * alias.confidence) for alias in row.aliases if not alias.found]
    for name, confidence in [(row.title, 1.0), *aliases]:
        yield name, confidence
        bare = _DISAMBIGUATOR.sub("", name)
        if bare != name:
            yield bare, min(confidence, BARE if len(content_words(bare)) > 1 else BARE_WORD)


def is_name(name: str) -> bool:
    """Whether a name is worth looking for: long enough, with letters, and more than a filler word."""
    if not name or len(name) > _LONGEST or name.count(" ") >= _MOST_WORDS:
        return False
    letters = sum(map(str.isalpha, name))
    if UNSPACED_CHARACTER.search(name):
        return letters >= 2
    if letters < 3:
        return False
    return " " in name or name.isupper() or fold_name(_EDGES.sub("", name)) not in STOP_WORDS


def content_words(name: str) -> list[str]:
    """The words of a name that carry its meaning, as written, without punctuation around them."""
    words = (word if word.isalnum() else _EDGES.sub("", word) for word in name.split())
    return [word for word in words if word and word.lower() not in STOP_WORDS]


def is_single(name: str) -> bool:
    """Whether a name has at most one telling word, so that its case and neighbours decide."""
    return len(content_words(name)) < 2 and not UNSPACED_CHARACTER.search(name)


def certainty(owner: Owner, surface: str, setting: Setting) -> float:
    """How sure it is that a text which writes `surface` means this owner; 0 when the case speaks against it.

    Two or more telling words may differ in case at a cost. A single one must be written as its owner writes
    it, or with a capital, because most single words also have a plain meaning; and next to another capital it
    is probably part of a longer name (the United of United States).
    """
    written = owner.written
    if not is_single(written):
        same = _same_case(_without_article(surface), _without_article(written))
        return owner.confidence * (1.0 if same else OTHER_CASE)
    if not content_words(written):
        return owner.confidence if _same_case(surface, written) else 0.0
    return _single(owner, surface, setting)


def _single(owner: Owner, surface: str, setting: Setting) -> float:
    written, found = _without_article(owner.written), _without_article(surface)
    capital = written[:1].upper() + written[1:]
    if not (_same_case(found, written) or _same_case(found, capital)):
        return 0.0
    plain_word = " " not in surface and written[1:].islower()
    doubtful = plain_word and (Setting.OPENS_SENTENCE in setting or written.islower())
    sure = owner.confidence * (OTHER_CASE if doubtful else 1.0)
    if Setting.INSIDE_NAME not in setting:
        return sure
    return 0.0 if owner.confidence <= BARE_WORD else sure * INSIDE_NAME


def _without_article(name: str) -> str:
    first, _, rest = name.partition(" ")
    return rest if rest and first.lower() in _ARTICLES else name


def _same_case(left: str, right: str) -> bool:
    if left == right:
        return True
    left, right = normalize("NFC", left), normalize("NFC", right)
    return len(left) == len(right) and all(a.isupper() == b.isupper() for a, b in zip(left, right, strict=True))


def names_of(nodes: Iterable[Node]) -> list[tuple[str, str]]:
    """The names of some nodes, folded and as they write them, sorted."""
    rows = (NameRow(node.tenant, node.key, node.title, node.aliases, node.language) for node in nodes)
    return sorted({(folded, owner.written) for row in rows for folded, owner in owned_names(row)})


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
