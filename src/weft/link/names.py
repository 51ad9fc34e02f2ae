"""Which names a node can be found by in other texts, and how sure a match of each is."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from enum import IntFlag
from typing import Final
from unicodedata import normalize

from weft.frozen import dataclass
from weft.link.folding import fold_name
from weft.model import FOUND_ENTITY, Node
from weft.ports import NameRow
from weft.text import is_code, looks_like_code
from weft.text.scripts import UNSPACED
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
